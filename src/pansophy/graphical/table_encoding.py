"""Tables of labels as small whole numbers: what the networks learn from and score.

A column of any kind (numbers, words, categories) has m_j states, its different values
in order, and x_ij is the place of the value of row i among them:

    codes_ij = c   if row i has the c-th state of column j,   -1 if it has none  (1)

None, NaN and the missing values of data frames are -1. Labels keep their kind: states
are Python numbers, words or booleans. The codes lie column by column in memory, a byte
each where m_j < 128, since counting reads a few whole columns at a time.

Shapes    codes (n, d)   states d tuples of m_j labels
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.labels import absent
from .variables import VariableSpace

MAX_INTEGER_STATES = 32  # different whole numbers up to which they are states
MAX_FRACTION_STATES = 12  # and with fractions
MAX_LOOKUP_SPAN = 1 << 16  # whole numbers that span less are coded through a table


def encode_table(data, space: VariableSpace | None = None, columns=None):
    """Codes of a table and the names and states they stand for, eq. (1).

    Parameters
    ----------
    data : array of shape (n, d), data frame, Arrow table, or dict of columns
        Rows. Arrays have columns named x0, x1, ... (or by `columns` or `space`).
    space : Space, optional
        Known names and states. Columns are taken in its order, one that the table
        does not have is missing in all rows, and a label that is no state is refused.
    columns : sequence of names, optional
        Which columns of a frame to read; the names of the columns of an array.

    Returns
    -------
    codes : array of shape (n, d)
        Whole numbers of 1, 2 or 4 bytes, column by column.
    space : Space

    Examples
    --------
    >>> from pansophy.graphical.table_encoding import encode_table
    >>> codes, space = encode_table({"rain": ["no", "yes", None], "wet": [0, 1, 1]})
    >>> codes, space.states
    (array([[ 0, 0], [ 1, 1], [-1, 1]], dtype=int8), (('no', 'yes'), (0, 1)))
    """
    names, read = column_reader(data, space, columns)
    wanted = names if space is None else space.names
    if space is not None and not set(names) & set(wanted):
        raise ValueError(f"no column is a variable of the model: {list(names)}.")
    n, made, states = None, [], []
    for j, name in enumerate(wanted):
        known = None if space is None else space.states[j]
        if name not in names:
            made.append(None)
            states.append(known)
            continue
        column, found = encode_column(read(name), known, name)
        if n is not None and len(column) != n:
            raise ValueError(f"column {name!r} has {len(column)} rows, others {n}.")
        n = len(column)
        made.append(column)
        states.append(found)
    return stack_codes(made, states, n or 0), space or VariableSpace(tuple(wanted), tuple(states))


def stack_codes(columns, states, n):
    """Columns of codes side by side, in the smallest whole numbers that hold them."""
    top = max((len(s) for s in states if s is not None), default=0)
    small = np.int8 if top <= 127 else np.int16 if top <= 32767 else np.int32
    out = np.full((n, len(columns)), -1, small, order="F")
    for j, column in enumerate(columns):
        if column is not None:
            out[:, j] = column
    return out


def column_reader(data, space, columns):
    """Names of the columns, and a function that reads one by its name."""
    if isinstance(data, Mapping):
        names = tuple(map(str, data if columns is None else columns))
        whole = {str(key): value for key, value in data.items()}
        return check_columns_exist(names, whole), lambda name: whole[name]
    if hasattr(data, "columns") or hasattr(data, "column_names"):
        import narwhals as nw

        frame = nw.from_native(data, eager_only=True, pass_through=True)
        if frame is not data:
            labels = {str(c): c for c in frame.columns}
            names = tuple(labels if columns is None else map(str, columns))
            return check_columns_exist(names, labels), lambda name: frame.get_column(labels[name])
    X = np.asarray(data)
    if X.ndim != 2:
        raise ValueError(f"a table has 2 dimensions, got an array of {X.ndim}.")
    names = space.names if columns is None and space is not None else columns
    names = [f"x{j}" for j in range(X.shape[1])] if names is None else names
    if len(names) != X.shape[1]:
        raise ValueError(f"the table has {X.shape[1]} columns for {len(names)} names.")
    place = {str(name): j for j, name in enumerate(names)}
    return tuple(place), lambda name: X[:, place[name]]


def numeric_columns(data, columns=None):
    """Columns of numbers as they are, (n, d), and a space without states."""
    names, read = column_reader(data, None, columns)
    parts = []
    for name in names:
        column = read(name)
        column = column.to_numpy() if hasattr(column, "to_numpy") else column
        try:
            parts.append(np.asarray(column, dtype=np.float64))
        except (TypeError, ValueError):
            raise ValueError(f"column {name!r} must hold numbers.") from None
        if not np.isfinite(parts[-1]).all():
            raise ValueError(f"column {name!r} contains NaN or infinity.")
    return np.column_stack(parts), VariableSpace(names, ((),) * len(names))


def has_many_fractions(column) -> bool:
    """Whether a column holds fractions, more than a dozen different ones."""
    column = column.to_numpy() if hasattr(column, "to_numpy") else column
    values = np.asarray(column)
    if values.dtype.kind != "f":
        return False
    values = values[~np.isnan(values)]
    return bool((values != np.floor(values)).any()) and len(np.unique(values)) > MAX_FRACTION_STATES


def reject_continuous_columns(data, what: str):
    """Columns of real numbers are no states to be counted."""
    names, read = column_reader(data, None, None)
    for name in names:
        if has_many_fractions(read(name)):
            raise ValueError(
                f"column {name!r} holds real numbers, and {what} counts states: cut "
                "them into classes first."
            )


def columns_are_continuous(data, hint: str) -> bool:
    """Whether columns hold real numbers (fractions, more than a dozen) or states.

    A table that has both is refused; `hint` says what a user can do.
    """
    names, read = column_reader(data, None, None)
    kinds: dict[bool, str] = {}
    for name in names:
        kinds.setdefault(has_many_fractions(read(name)), name)
    if len(kinds) == 2:
        raise ValueError(
            f"column {kinds[True]!r} holds real numbers and {kinds[False]!r} states: "
            f"cut the numbers into classes, or {hint}."
        )
    return True in kinds


def check_columns_exist(names, table):
    """The names, if the table has them all."""
    missing = [name for name in names if name not in table]
    if missing:
        raise ValueError(f"the table has no column named {missing[0]!r}.")
    return names


def encode_column(column, known, name):
    """One column as codes (n,), and its states in order."""
    labels = None
    if hasattr(column, "to_numpy") and not isinstance(column, np.ndarray):
        column, labels = column_from_frame(column)
    values = column if isinstance(column, np.ndarray) else as_flat_array(column)
    if values.ndim != 1:
        raise ValueError(f"column {name!r} must be flat, got shape {values.shape}.")
    codes, labels = (values, labels) if labels is not None else encode_values(values)
    if known is None:
        return codes, tuple(labels)
    return codes_among_states(codes, labels, known, name), tuple(known)


def is_categorical(column) -> bool:
    """Whether a column of a frame is declared to hold categories."""
    kind = getattr(column, "dtype", None)
    return type(kind).__name__ in ("Categorical", "Enum", "CategoricalDtype")


def filter_column(column, kept):
    """The rows of a column that a mask keeps; categories stay what they are."""
    if hasattr(column, "filter"):
        return column.filter(kept.tolist())
    return (column if isinstance(column, np.ndarray) else as_flat_array(column))[kept]


def as_flat_array(column):
    """A list as an array that keeps its labels: words beside None stay objects."""
    values = np.asarray(column)
    mixed = values.dtype.kind in "US" and not all(isinstance(v, str) for v in column)
    return np.array(column, dtype=object) if mixed else values


def column_from_frame(series):
    """A series of a data frame as an array, or words as codes and labels."""
    import narwhals as nw

    kind = getattr(series, "dtype", None)
    if not isinstance(series, nw.Series) or kind not in (
        nw.Categorical, nw.Enum, nw.String, nw.Object,
    ):  # fmt: skip
        values = series.to_numpy()
        if isinstance(kind, nw.dtypes.IntegerType) and values.dtype.kind == "f":
            codes, labels = encode_values(values)  # whole numbers beside missing ones
            return codes, tuple(int(v) for v in labels)
        return values, None
    native = series.to_native()
    held: Any = getattr(native, "array", None)
    if hasattr(held, "categories"):  # pandas
        return sort_category_codes(np.asarray(held.codes), held.categories.tolist())
    if hasattr(native, "factorize"):
        codes, labels = native.factorize()
        return sort_category_codes(np.asarray(codes), list(labels))
    if kind == nw.Object:
        return np.array(series.to_list(), dtype=object), None
    words = series.to_arrow()
    words = words if hasattr(words, "dictionary") else words.dictionary_encode()
    codes = np.asarray(words.indices.cast("int64").fill_null(-1))
    return sort_category_codes(codes, words.dictionary.to_pylist())


def sort_category_codes(codes, labels):
    """Codes of categories with their labels sorted; all of them, seen or not."""
    labels = [v.item() if isinstance(v, np.generic) else v for v in labels]
    order = sorted(range(len(labels)), key=lambda i: label_sort_key(labels[i]))
    if order == list(range(len(labels))):
        return codes, tuple(labels)
    place = np.empty(len(labels) + 1, np.int64)
    place[order] = np.arange(len(labels))
    place[-1] = -1
    return place[codes], tuple(labels[i] for i in order)


def encode_values(values):
    """Codes (n,) of an array of any kind, -1 where missing, and the sorted labels."""
    kind = values.dtype.kind
    if kind in "iub" and len(values):
        return encode_integers(values)
    if kind == "f":
        return encode_floats(values)
    if kind in "US":
        labels, codes = np.unique(values, return_inverse=True)
        return codes, labels.tolist()
    return encode_objects(values)


def encode_integers(values):
    """Whole numbers of a narrow range go through a table, others are sorted."""
    low, high = values.min(), values.max()
    span = int(high) - int(low)
    if values.dtype.kind == "b" or span >= MAX_LOOKUP_SPAN:
        labels, codes = np.unique(values, return_inverse=True)
        return codes, labels.tolist()
    shifted = values.astype(np.int64, copy=False) - int(low)
    seen = np.bincount(shifted, minlength=span + 1) > 0
    place = np.cumsum(seen) - 1
    return place[shifted], (np.flatnonzero(seen) + int(low)).tolist()


def encode_floats(values):
    """Floats: NaN is missing; whole ones are coded as whole numbers are."""
    gone = np.isnan(values)
    rest = values[~gone]
    small = len(rest) and np.abs(rest).max() < MAX_LOOKUP_SPAN and (rest == np.floor(rest)).all()
    if small:
        codes, labels = encode_integers(rest.astype(np.int64))
        labels = [float(v) for v in labels]
    else:
        labels, codes = np.unique(rest, return_inverse=True)
        labels = labels.tolist()
    if not gone.any():
        return codes, labels
    out = np.full(len(values), -1, np.int64)
    out[~gone] = codes
    return out, labels


def encode_objects(values):
    """Python objects, by a dictionary; labels that do not compare go by their text."""
    place: dict = {}
    codes = np.empty(len(values), np.int64)
    for i, v in enumerate(values.tolist()):
        try:
            at = place.get(v)
        except TypeError:
            kind = type(v).__name__
            raise TypeError(
                f"a state argument must be a string or a number, got a {kind}."
            ) from None
        if at is None:
            at = place[v] = -1 if absent(v) else len(place)
        codes[i] = at
    labels = [v for v, at in place.items() if at >= 0]
    numbers = {place[v]: i for i, v in enumerate(labels)}
    size = max(numbers, default=-1) + 1
    table = np.full(size + 1, -1, np.int64)
    for old, new in numbers.items():
        table[old] = new
    codes, labels = sort_category_codes(table[codes], labels)
    return codes, list(labels)


def label_sort_key(label):
    """A key by which labels of mixed kinds sort: numbers before words."""
    number = isinstance(label, (int, float, bool, np.number))
    return (0, label, "") if number else (1, 0, str(label))


def codes_among_states(codes, labels, known, name):
    """Codes of labels as places among known states."""
    place = {state: i for i, state in enumerate(known)}
    text = {str(state): i for i, state in enumerate(known)}  # 0 for "0", as in files
    table = np.full(len(labels) + 1, -1, np.int64)
    for i, label in enumerate(labels):
        plain = int(label) if isinstance(label, float) and label % 1 == 0 else label
        at = place.get(label, text.get(str(plain)))
        if at is None and np.any(codes == i):
            raise ValueError(
                f"{name!r} has no state {label!r}: its states are {list(known)}."
            )
        table[i] = -1 if at is None else at
    same = (table[:-1] == np.arange(len(labels))).all()
    return codes if same else table[codes]


def drop_zero_weight_rows(codes, space: VariableSpace, weights):
    """Codes, space and weights without the rows of weight 0, and without states that
    only those rows have."""
    if weights is None or (weights > 0).all():
        return codes, space, weights
    kept, gone = codes[weights > 0], codes[weights == 0]
    out, states = np.array(kept, order="F"), []
    for j, labels in enumerate(space.states):
        lost = set(np.unique(gone[:, j]).tolist()) - set(np.unique(kept[:, j]).tolist())
        place = np.full(len(labels) + 1, -1)
        left = [c for c in range(len(labels)) if c not in lost]
        place[left] = np.arange(len(left))
        out[:, j] = place[kept[:, j]]
        states.append(tuple(labels[c] for c in left))
    return out, VariableSpace(space.names, tuple(states)), weights[weights > 0]


def decode_table(codes, space: VariableSpace) -> dict:
    """The labels of codes, column by column; None where missing."""
    out = {}
    for j, name in enumerate(space.names):
        labels = np.empty(len(space.states[j]) + 1, dtype=object)
        labels[:-1] = space.states[j]
        out[name] = labels[codes[:, j]]
    return out

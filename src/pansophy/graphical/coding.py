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

from ..core.codes import is_missing
from .names import Space

FEW = 32  # different whole numbers up to which they are states
DOZEN = 12  # and with fractions
NARROW = 1 << 16  # whole numbers that span less are coded through a table


def encode(data, space: Space | None = None, columns=None):
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
    >>> from pansophy.graphical.coding import encode
    >>> codes, space = encode({"rain": ["no", "yes", None], "wet": [0, 1, 1]})
    >>> codes, space.states
    (array([[ 0, 0], [ 1, 1], [-1, 1]], dtype=int8), (('no', 'yes'), (0, 1)))
    """
    names, read = table_of(data, space, columns)
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
        column, found = coded(read(name), known, name)
        if n is not None and len(column) != n:
            raise ValueError(f"column {name!r} has {len(column)} rows, others {n}.")
        n = len(column)
        made.append(column)
        states.append(found)
    return stacked(made, states, n or 0), space or Space(tuple(wanted), tuple(states))


def stacked(columns, states, n):
    """Columns of codes side by side, in the smallest whole numbers that hold them."""
    top = max((len(s) for s in states if s is not None), default=0)
    small = np.int8 if top <= 127 else np.int16 if top <= 32767 else np.int32
    out = np.full((n, len(columns)), -1, small, order="F")
    for j, column in enumerate(columns):
        if column is not None:
            out[:, j] = column
    return out


def table_of(data, space, columns):
    """Names of the columns, and a function that reads one by its name."""
    if isinstance(data, Mapping):
        names = tuple(map(str, data if columns is None else columns))
        whole = {str(key): value for key, value in data.items()}
        return present(names, whole), lambda name: whole[name]
    if hasattr(data, "columns") or hasattr(data, "column_names"):
        import narwhals as nw

        frame = nw.from_native(data, eager_only=True, pass_through=True)
        if frame is not data:
            labels = {str(c): c for c in frame.columns}
            names = tuple(labels if columns is None else map(str, columns))
            return present(names, labels), lambda name: frame.get_column(labels[name])
    X = np.asarray(data)
    if X.ndim != 2:
        raise ValueError(f"a table has 2 dimensions, got an array of {X.ndim}.")
    names = space.names if columns is None and space is not None else columns
    names = [f"x{j}" for j in range(X.shape[1])] if names is None else names
    if len(names) != X.shape[1]:
        raise ValueError(f"the table has {X.shape[1]} columns for {len(names)} names.")
    place = {str(name): j for j, name in enumerate(names)}
    return tuple(place), lambda name: X[:, place[name]]


def numbers(data, columns=None):
    """Columns of numbers as they are, (n, d), and a space without states."""
    names, read = table_of(data, None, columns)
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
    return np.column_stack(parts), Space(names, ((),) * len(names))


def is_real(column) -> bool:
    """Whether a column holds fractions, more than a dozen different ones."""
    column = column.to_numpy() if hasattr(column, "to_numpy") else column
    values = np.asarray(column)
    if values.dtype.kind != "f":
        return False
    values = values[~np.isnan(values)]
    return bool((values != np.floor(values)).any()) and len(np.unique(values)) > DOZEN


def refuse_real(data, what: str):
    """Columns of real numbers are no states to be counted."""
    names, read = table_of(data, None, None)
    for name in names:
        if is_real(read(name)):
            raise ValueError(
                f"column {name!r} holds real numbers, and {what} counts states: cut "
                "them into classes first."
            )


def are_numbers(data, hint: str) -> bool:
    """Whether columns hold real numbers (fractions, more than a dozen) or states.

    A table that has both is refused; `hint` says what a user can do.
    """
    names, read = table_of(data, None, None)
    kinds: dict[bool, str] = {}
    for name in names:
        kinds.setdefault(is_real(read(name)), name)
    if len(kinds) == 2:
        raise ValueError(
            f"column {kinds[True]!r} holds real numbers and {kinds[False]!r} states: "
            f"cut the numbers into classes, or {hint}."
        )
    return True in kinds


def present(names, table):
    """The names, if the table has them all."""
    missing = [name for name in names if name not in table]
    if missing:
        raise ValueError(f"the table has no column named {missing[0]!r}.")
    return names


def coded(column, known, name):
    """One column as codes (n,), and its states in order."""
    labels = None
    if hasattr(column, "to_numpy") and not isinstance(column, np.ndarray):
        column, labels = from_frame(column)
    values = column if isinstance(column, np.ndarray) else flat(column)
    if values.ndim != 1:
        raise ValueError(f"column {name!r} must be flat, got shape {values.shape}.")
    codes, labels = (values, labels) if labels is not None else numbered(values)
    if known is None:
        return codes, tuple(labels)
    return placed(codes, labels, known, name), tuple(known)


def is_categorical(column) -> bool:
    """Whether a column of a frame is declared to hold categories."""
    kind = getattr(column, "dtype", None)
    return type(kind).__name__ in ("Categorical", "Enum", "CategoricalDtype")


def some_rows(column, kept):
    """The rows of a column that a mask keeps; categories stay what they are."""
    if hasattr(column, "filter"):
        return column.filter(kept.tolist())
    return (column if isinstance(column, np.ndarray) else flat(column))[kept]


def flat(column):
    """A list as an array that keeps its labels: words beside None stay objects."""
    values = np.asarray(column)
    mixed = values.dtype.kind in "US" and not all(isinstance(v, str) for v in column)
    return np.array(column, dtype=object) if mixed else values


def from_frame(series):
    """A series of a data frame as an array, or words as codes and labels."""
    import narwhals as nw

    kind = getattr(series, "dtype", None)
    if not isinstance(series, nw.Series) or kind not in (
        nw.Categorical, nw.Enum, nw.String, nw.Object,
    ):  # fmt: skip
        values = series.to_numpy()
        if isinstance(kind, nw.dtypes.IntegerType) and values.dtype.kind == "f":
            codes, labels = numbered(values)  # whole numbers beside missing ones
            return codes, tuple(int(v) for v in labels)
        return values, None
    native = series.to_native()
    held: Any = getattr(native, "array", None)
    if hasattr(held, "categories"):  # pandas
        return ordered(np.asarray(held.codes), held.categories.tolist())
    if hasattr(native, "factorize"):
        codes, labels = native.factorize()
        return ordered(np.asarray(codes), list(labels))
    if kind == nw.Object:
        return np.array(series.to_list(), dtype=object), None
    words = series.to_arrow()
    words = words if hasattr(words, "dictionary") else words.dictionary_encode()
    codes = np.asarray(words.indices.cast("int64").fill_null(-1))
    return ordered(codes, words.dictionary.to_pylist())


def ordered(codes, labels):
    """Codes of categories with their labels sorted; all of them, seen or not."""
    labels = [v.item() if isinstance(v, np.generic) else v for v in labels]
    order = sorted(range(len(labels)), key=lambda i: rank(labels[i]))
    if order == list(range(len(labels))):
        return codes, tuple(labels)
    place = np.empty(len(labels) + 1, np.int64)
    place[order] = np.arange(len(labels))
    place[-1] = -1
    return place[codes], tuple(labels[i] for i in order)


def numbered(values):
    """Codes (n,) of an array of any kind, -1 where missing, and the sorted labels."""
    kind = values.dtype.kind
    if kind in "iub" and len(values):
        return whole(values)
    if kind == "f":
        return fractional(values)
    if kind in "US":
        labels, codes = np.unique(values, return_inverse=True)
        return codes, labels.tolist()
    return objects(values)


def whole(values):
    """Whole numbers of a narrow range go through a table, others are sorted."""
    low, high = values.min(), values.max()
    span = int(high) - int(low)
    if values.dtype.kind == "b" or span >= NARROW:
        labels, codes = np.unique(values, return_inverse=True)
        return codes, labels.tolist()
    shifted = values.astype(np.int64, copy=False) - int(low)
    seen = np.bincount(shifted, minlength=span + 1) > 0
    place = np.cumsum(seen) - 1
    return place[shifted], (np.flatnonzero(seen) + int(low)).tolist()


def fractional(values):
    """Floats: NaN is missing; whole ones are coded as whole numbers are."""
    gone = np.isnan(values)
    rest = values[~gone]
    small = len(rest) and np.abs(rest).max() < NARROW and (rest == np.floor(rest)).all()
    if small:
        codes, labels = whole(rest.astype(np.int64))
        labels = [float(v) for v in labels]
    else:
        labels, codes = np.unique(rest, return_inverse=True)
        labels = labels.tolist()
    if not gone.any():
        return codes, labels
    out = np.full(len(values), -1, np.int64)
    out[~gone] = codes
    return out, labels


def objects(values):
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
            at = place[v] = -1 if is_missing(v) else len(place)
        codes[i] = at
    labels = [v for v, at in place.items() if at >= 0]
    numbers = {place[v]: i for i, v in enumerate(labels)}
    size = max(numbers, default=-1) + 1
    table = np.full(size + 1, -1, np.int64)
    for old, new in numbers.items():
        table[old] = new
    codes, labels = ordered(table[codes], labels)
    return codes, list(labels)


def rank(label):
    """A key by which labels of mixed kinds sort: numbers before words."""
    number = isinstance(label, (int, float, bool, np.number))
    return (0, label, "") if number else (1, 0, str(label))


def placed(codes, labels, known, name):
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


def trimmed(codes, space: Space, weights):
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
    return out, Space(space.names, tuple(states)), weights[weights > 0]


def decode(codes, space: Space) -> dict:
    """The labels of codes, column by column; None where missing."""
    out = {}
    for j, name in enumerate(space.names):
        labels = np.empty(len(space.states[j]) + 1, dtype=object)
        labels[:-1] = space.states[j]
        out[name] = labels[codes[:, j]]
    return out

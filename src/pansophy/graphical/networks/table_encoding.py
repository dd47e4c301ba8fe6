"""Tables of any kind as codes of states and back: what networks learn from and predict.

A column of numbers, text or categories has m_j states, its distinct values in order,
and

    codes_ij = c   if row i has the c-th state of column j,   -1 if it is missing  (1)

None, NaN and the missing values of data frames are -1. Labels keep their type: states
are Python numbers, strings or booleans. The codes lie column by column in memory, a
byte each where m_j < 128, since counting reads a few whole columns at a time.

Networks with continuous variables use rows A of numbers instead: codes of the discrete
variables, values of the continuous ones, NaN where missing.

Shapes    codes, A (n, d)   states d tuples of m_j labels
"""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ...core.arrays.codes import as_column, encode_values, is_missing, sort_key
from ...core.arrays.frames import lists_of_columns
from ...core.arrays.rows import refuse_table_on_disk
from ...core.arrays.unreadable import array_of_rows
from ...params import ParameterError
from .variables import VariableSpace, check_states, suggest_name

MAX_INTEGER_STATES = 32  # distinct integers up to which a column is discrete
MAX_FRACTION_STATES = 12  # the same for numbers with fractions
VARIABLE_KINDS = ("auto", "discrete", "gaussian")


def encode_table(data, space: VariableSpace | None = None, columns=None):
    """Codes of a table and the names and states they stand for, eq. (1).

    Parameters
    ----------
    data : array of shape (n, d), data frame, Arrow table, or dict of columns
        Rows. Arrays have columns named x0, x1, ... (or by `columns` or `space`).
    space : VariableSpace, optional
        Known names and states. Columns are read in its order; a column that the table
        lacks is missing in all rows, and a label that is not a state raises.
    columns : sequence of names, optional
        Columns of a frame to read, or names of the columns of an array.

    Returns
    -------
    codes : array of shape (n, d)
        Integers of 1, 2 or 4 bytes, in column order.
    space : VariableSpace

    Examples
    --------
    >>> from pansophy.graphical.networks.table_encoding import encode_table
    >>> codes, space = encode_table({"rain": ["no", "yes", None], "wet": [0, 1, 1]})
    >>> codes, space.states
    (array([[ 0, 0], [ 1, 1], [-1, 1]], dtype=int8), (('no', 'yes'), (0, 1)))
    """
    names, read = _named_column_reader(data, space, columns)
    variables = names if space is None else space.names
    if space is not None and not set(names) & set(variables):
        raise ValueError(f"no column is a variable of the model: {list(names)}.")
    n = None
    columns_of_codes = []
    states: list = []
    for j, name in enumerate(variables):
        known_states = None if space is None else space.states[j]
        if name not in names:
            columns_of_codes.append(None)
            states.append(known_states)
            continue
        column, column_states = _encode_column(read(name), known_states, name)
        if n is not None and len(column) != n:
            raise ValueError(f"column {name!r} has {len(column)} rows, others {n}.")
        n = len(column)
        columns_of_codes.append(column)
        states.append(column_states)
    return stack_codes(columns_of_codes, states, n or 0), space or VariableSpace(
        tuple(variables), tuple(states)
    )


def stack_codes(columns, states, n):
    """Columns of codes side by side, in the smallest integer type that holds them."""
    largest = max((len(s) for s in states if s is not None), default=0)
    dtype = np.int8 if largest <= 127 else np.int16 if largest <= 32767 else np.int32
    codes = np.full((n, len(columns)), -1, dtype, order="F")
    for j, column in enumerate(columns):
        if column is not None:
            codes[:, j] = column
    return codes


def _named_column_reader(data, space, columns):
    """Names of the columns, and a function that reads one by its name."""
    if isinstance(data, Mapping):
        names = tuple(map(str, data if columns is None else columns))
        by_name = {str(key): value for key, value in data.items()}
        return _check_columns_exist(names, by_name), lambda name: by_name[name]
    if hasattr(data, "columns") or hasattr(data, "column_names"):
        import narwhals as nw

        frame = nw.from_native(data, eager_only=True, pass_through=True)
        if frame is not data:
            labels = {str(c): c for c in frame.columns}
            names = tuple(labels if columns is None else map(str, columns))
            return _check_columns_exist(names, labels), lambda name: frame.get_column(
                labels[name]
            )
    X = np.asarray(data)
    if X.ndim != 2:
        raise ValueError(f"a table has 2 dimensions, got an array of {X.ndim}.")
    names = space.names if columns is None and space is not None else columns
    names = [f"x{j}" for j in range(X.shape[1])] if names is None else names
    if len(names) != X.shape[1]:
        raise ValueError(f"the table has {X.shape[1]} columns for {len(names)} names.")
    place = {str(name): j for j, name in enumerate(names)}
    return tuple(place), lambda name: X[:, place[name]]


def continuous_columns(data, columns=None):
    """Columns of numbers as an array (n, d), and a space of continuous variables."""
    names, read = _named_column_reader(data, None, columns)
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


def _has_many_fractions(column) -> bool:
    """Whether a column holds fractions and more than a dozen distinct values."""
    column = column.to_numpy() if hasattr(column, "to_numpy") else column
    values = np.asarray(column)
    if values.dtype.kind != "f":
        return False
    values = values[~np.isnan(values)]
    return (
        bool((values != np.floor(values)).any())
        and len(np.unique(values)) > MAX_FRACTION_STATES
    )


def reject_continuous_columns(data, what: str):
    """Raise if a column is continuous, so that its values cannot be counted."""
    names, read = _named_column_reader(data, None, None)
    for name in names:
        if _has_many_fractions(read(name)):
            raise ValueError(
                f"column {name!r} holds real numbers, and {what} counts states: cut "
                "them into classes first."
            )


def columns_are_continuous(data, hint: str) -> bool:
    """Whether all columns are continuous (True) or all are discrete (False).

    A table with both kinds raises; `hint` completes the message.
    """
    names, read = _named_column_reader(data, None, None)
    example_of: dict[bool, str] = {}
    for name in names:
        example_of.setdefault(_has_many_fractions(read(name)), name)
    if len(example_of) == 2:
        raise ValueError(
            f"column {example_of[True]!r} holds real numbers and "
            f"{example_of[False]!r} states: cut the numbers into classes, or {hint}."
        )
    return True in example_of


def _check_columns_exist(names, table):
    """The names, if they are all columns of the table."""
    missing = [name for name in names if name not in table]
    if missing:
        raise ValueError(f"the table has no column named {missing[0]!r}.")
    return names


def _encode_column(column, known_states, name):
    """One column as codes (n,), and its states in order (those that are known)."""
    labels = None
    if hasattr(column, "to_numpy") and not isinstance(column, np.ndarray):
        column, labels = _column_from_frame(column)
    values = column if isinstance(column, np.ndarray) else as_column(column)
    if values.ndim != 1:
        raise ValueError(f"column {name!r} must be flat, got shape {values.shape}.")
    codes, labels = (values, labels) if labels is not None else _encode_labels(values)
    if known_states is None:
        return codes, tuple(labels)
    return _codes_among_states(codes, labels, known_states, name), tuple(known_states)


def is_categorical(column) -> bool:
    """Whether a column of a data frame has a categorical type."""
    kind = getattr(column, "dtype", None)
    return type(kind).__name__ in ("Categorical", "Enum", "CategoricalDtype")


def filter_column(column, kept):
    """The rows of a column that a mask keeps; a categorical column stays one."""
    if hasattr(column, "filter"):
        return column.filter(kept.tolist())
    return (column if isinstance(column, np.ndarray) else as_column(column))[kept]


def _column_from_frame(series):
    """A series of a data frame as (values, None), or text as (codes, labels)."""
    import narwhals as nw

    dtype = getattr(series, "dtype", None)
    if not isinstance(series, nw.Series) or dtype not in (
        nw.Categorical,
        nw.Enum,
        nw.String,
        nw.Object,
    ):
        values = series.to_numpy()
        if isinstance(dtype, nw.dtypes.IntegerType) and values.dtype.kind == "f":
            codes, labels = _encode_labels(values)  # integers beside missing values
            return codes, tuple(int(v) for v in labels)
        return values, None
    native = series.to_native()
    array: Any = getattr(native, "array", None)
    if hasattr(array, "categories"):  # pandas
        return _sort_category_codes(np.asarray(array.codes), array.categories.tolist())
    if hasattr(native, "factorize"):
        codes, labels = native.factorize()
        return _sort_category_codes(np.asarray(codes), list(labels))
    if dtype == nw.Object:
        return np.array(series.to_list(), dtype=object), None
    dictionary = series.to_arrow()
    dictionary = (
        dictionary
        if hasattr(dictionary, "dictionary")
        else dictionary.dictionary_encode()
    )
    codes = np.asarray(dictionary.indices.cast("int64").fill_null(-1))
    return _sort_category_codes(codes, dictionary.dictionary.to_pylist())


def _sort_category_codes(codes, labels):
    """Codes of categories for sorted labels, whether the categories occur or not."""
    labels = [v.item() if isinstance(v, np.generic) else v for v in labels]
    order = sorted(range(len(labels)), key=lambda i: sort_key(labels[i]))
    if order == list(range(len(labels))):
        return codes, tuple(labels)
    rank = np.empty(len(labels) + 1, np.int64)
    rank[order] = np.arange(len(labels))
    rank[-1] = -1
    return rank[codes], tuple(labels[i] for i in order)


def _encode_labels(values):
    """Codes (n,) of an array of any type, -1 where missing, and the sorted labels."""
    try:
        codes, levels = encode_values(values)
    except TypeError:
        unhashable = next(v for v in values.tolist() if not isinstance(v, Hashable))
        raise TypeError(
            "a state argument must be a string or a number, got a "
            f"{type(unhashable).__name__}."
        ) from None
    labels = levels.tolist()
    return codes, [v.item() if isinstance(v, np.generic) else v for v in labels]


def _codes_among_states(codes, labels, states, name):
    """Codes of labels as positions among known states; an unknown label raises."""
    by_label = {state: i for i, state in enumerate(states)}
    by_text = {
        str(state): i for i, state in enumerate(states)
    }  # 0 for "0", as in files
    position_of = np.full(len(labels) + 1, -1, np.int64)
    for i, label in enumerate(labels):
        as_integer = (
            int(label) if isinstance(label, float) and label % 1 == 0 else label
        )
        position = by_label.get(label, by_text.get(str(as_integer)))
        if position is None and np.any(codes == i):
            raise ValueError(
                f"{name!r} has no state {label!r}: its states are {list(states)}."
            )
        position_of[i] = -1 if position is None else position
    unchanged = (position_of[:-1] == np.arange(len(labels))).all()
    return codes if unchanged else position_of[codes]


def drop_zero_weight_codes(codes, space: VariableSpace, weights):
    """Codes, space and weights without rows of weight 0 and states of only these."""
    if weights is None or (weights > 0).all():
        return codes, space, weights
    kept, dropped = codes[weights > 0], codes[weights == 0]
    compact_codes = np.array(kept, order="F")
    states = []
    for j, labels in enumerate(space.states):
        only_dropped = set(np.unique(dropped[:, j]).tolist()) - set(
            np.unique(kept[:, j]).tolist()
        )
        new_code = np.full(len(labels) + 1, -1)
        remaining = [c for c in range(len(labels)) if c not in only_dropped]
        new_code[remaining] = np.arange(len(remaining))
        compact_codes[:, j] = new_code[kept[:, j]]
        states.append(tuple(labels[c] for c in remaining))
    return (
        compact_codes,
        VariableSpace(space.names, tuple(states)),
        weights[weights > 0],
    )


def decode_table(codes, space: VariableSpace) -> dict:
    """Columns of labels by name; None where missing."""
    columns = {}
    for j, name in enumerate(space.names):
        labels = np.empty(len(space.states[j]) + 1, dtype=object)
        labels[:-1] = space.states[j]
        columns[name] = labels[codes[:, j]]
    return columns


def check_table_columns(model, X, *, reset: bool) -> dict:
    """The columns of a table by name, checked in `fit` (reset) or at prediction."""
    if not reset:
        check_is_fitted(model)
    refuse_table_on_disk(X)
    is_dict = isinstance(X, Mapping) and not issparse(X)  # some sparse matrices are
    X = lists_of_columns(X) if is_dict else X
    X = array_of_rows(X) if isinstance(X, (list, tuple)) else X
    is_frame = is_dict or hasattr(X, "columns")
    if is_frame or hasattr(X, "column_names"):
        names, read = _named_column_reader(X, None, None)
        columns = {name: read(name) for name in names}
        if not columns or not len(next(iter(columns.values()))):
            raise ValueError(
                "the table has 0 rows or 0 columns: a minimum of 1 is needed."
            )
        lengths = {len(column): name for name, column in columns.items()}
        if len(lengths) > 1:
            counts = ", ".join(f"{name!r} has {n}" for n, name in lengths.items())
            raise ValueError(f"columns need the same number of rows, but {counts}.")
        if reset:
            model.n_features_in_ = len(columns)
            model.feature_names_in_ = np.array(names, dtype=object)
            return columns
        variables = model.space_.names
        unknown = [name for name in names if name not in variables]
        if unknown:
            hint = suggest_name(unknown[0], variables, "variables")
            raise ValueError(f"no variable is called {unknown[0]!r}{hint}.")
        return columns
    if reset and hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    check_options: dict = {"dtype": None, "ensure_all_finite": "allow-nan"}
    if reset:
        X = validate_data(model, X, **check_options)
    else:  # columns of an array are matched by position
        X = model._check_width(check_array(X, estimator=model, **check_options))
    d = X.shape[1]
    names = [f"x{j}" for j in range(d)] if reset else model.space_.names[:d]
    return {name: X[:, j] for j, name in enumerate(names)}


def _is_continuous_column(column) -> bool:
    """Whether a column is continuous: fractions, or integers with many values."""
    if is_categorical(column):
        return False
    values = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    if values.dtype.kind == "O":
        known = [v for v in values.tolist() if not is_missing(v)]
        if not all(isinstance(v, (int, float, np.number)) for v in known):
            return False
        values = np.array(known, dtype=np.float64)
    if values.dtype.kind not in "iuf":
        return False
    known = values[~np.isnan(values)]
    is_integer = np.isfinite(known).all() and (known == np.floor(known)).all()
    return not is_integer or len(np.unique(known)) > MAX_INTEGER_STATES


def encode_training_columns(columns, kinds, states, hidden=()):
    """Variables of the columns, followed by hidden ones, and the columns as numbers.

    A discrete column is codes with -1 where missing, a continuous one numbers with NaN,
    a hidden variable None.
    """
    for by_name, field in ((states, "states"), (kinds, "kinds")):
        for name in by_name if isinstance(by_name, Mapping) else ():
            if name not in columns and name not in hidden:
                hint = suggest_name(name, tuple(columns), "columns")
                raise ValueError(f"{field} names {name!r}, which is no column{hint}.")
    labels, rows = [], []
    for name, column in columns.items():
        kind = kinds.get(name, "auto") if isinstance(kinds, Mapping) else kinds
        if kind not in VARIABLE_KINDS:
            raise ParameterError(
                f"kinds of BayesianNetwork must be 'auto', 'discrete' or 'gaussian', "
                f"got {kind!r} for {name!r}."
            )
        known_states = (
            check_states(states[name], name) if name in (states or {}) else None
        )
        if known_states is None and (
            kind == "gaussian" or (kind == "auto" and _is_continuous_column(column))
        ):
            labels.append(())
            rows.append(_numeric_column(column, name))
            continue
        codes, column_states = _encode_column(column, known_states, name)
        if not column_states:
            raise ValueError(
                f"column {name!r} is missing in every row (no sample shows it): give "
                "its states, or leave it out."
            )
        labels.append(column_states)
        rows.append(codes)
    labels += [check_states(states[name], name) for name in hidden]
    space = VariableSpace((*columns, *hidden), tuple(labels))
    return space, rows + [None] * len(hidden)


def encode_rows(columns: Mapping, space: VariableSpace) -> np.ndarray:
    """Rows A of a table; a column that the table lacks is missing in all rows."""
    n = max((len(c) for c in columns.values()), default=0)
    A = np.full((n, len(space.names)), np.nan)
    present = [j for j, name in enumerate(space.names) if name in columns]
    for j in present:
        name = space.names[j]
        if not space.is_discrete(j):
            A[:, j] = _numeric_column(columns[name], name)
            continue
        own_space = VariableSpace((name,), (space.states[j],))
        codes = encode_table({name: columns[name]}, own_space)[0][:, 0]
        A[:, j] = codes
        A[codes < 0, j] = np.nan
    return A


def _numeric_column(column, name) -> np.ndarray:
    """A column of numbers, NaN where missing; an infinity raises."""
    values = column.to_numpy() if hasattr(column, "to_numpy") else column
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"column {name!r} must hold numbers.") from None
    if np.isinf(numbers).any():
        raise ValueError(f"column {name!r} contains infinity.")
    return numbers


def decode_rows(A, space: VariableSpace) -> dict:
    """Columns of labels and numbers from rows A; None or NaN where missing."""
    columns = {}
    for j, name in enumerate(space.names):
        if not space.is_discrete(j):
            columns[name] = A[:, j]
            continue
        states = space.states[j]
        missing = np.isnan(A[:, j])
        codes = np.where(missing, 0, A[:, j]).astype(np.int64)
        labels = np.array(states)
        if labels.dtype.kind not in "biuf" or not _has_no_text(states):
            labels = np.empty(len(states), dtype=object)
            labels[:] = states
        column = labels[codes]
        if missing.any():
            column = column.astype(float if labels.dtype.kind in "biuf" else object)
            column[missing] = np.nan if labels.dtype.kind in "biuf" else None
        columns[name] = column
    return columns


def _has_no_text(states) -> bool:
    """Whether no label is a string."""
    return not any(isinstance(s, str) for s in states)


def as_table_like(columns: dict, like):
    """Columns as a table of the type of `like`: data frame, dict or array."""
    if isinstance(like, Mapping):
        return columns
    if hasattr(like, "columns") or hasattr(like, "column_names"):
        import narwhals as nw

        frame = nw.from_native(like, eager_only=True, pass_through=True)
        if frame is not like:
            return _as_frame_like(columns, frame)
    kinds = {c.dtype.kind for c in columns.values()}
    if "O" in kinds:
        out = np.empty((len(next(iter(columns.values()))), len(columns)), dtype=object)
        for j, c in enumerate(columns.values()):
            out[:, j] = c
        return out
    return np.column_stack(list(columns.values()))


def _as_frame_like(columns: dict, like):
    """Columns as a data frame with the labels, types and index of another one."""
    import narwhals as nw

    labels = {str(c): c for c in like.columns if str(c) in columns}
    frame = nw.from_dict(columns, backend=like.implementation)
    frame = frame.rename({name: c for name, c in labels.items() if name != c})
    new_schema = frame.schema
    old_schema = like.schema
    castable = [
        c for c in labels.values() if _is_castable(new_schema[c], old_schema[c])
    ]
    new_native = frame.to_native()
    old_native = like.to_native()
    if hasattr(old_native, "astype"):  # pandas: categories and their order are kept
        return new_native.astype({c: old_native[c].dtype for c in castable}).set_index(
            old_native.index
        )
    return frame.with_columns(
        nw.col(c).cast(old_schema[c]) for c in castable
    ).to_native()


def _is_castable(new, old) -> bool:
    """Whether a column can be cast to the type that it has in another frame."""
    if old.is_integer():
        return new.is_integer()
    if old.is_numeric():
        return new.is_numeric()
    type_name = type(old).__name__
    if type_name in ("Categorical", "Enum"):
        return True
    return type(new).__name__ == type_name and type_name in ("String", "Boolean")

"""Tables of any kind: names and columns of arrays, lists, dicts and data frames.

A table is a NumPy array, a list of rows, a sparse matrix, a dict of columns, an Arrow
table, or a data frame of pandas, polars or another library that narwhals knows.
"""

from collections.abc import Mapping

import numpy as np

from . import arrays
from .unreadable import array_of_rows


def column_names(X) -> list | None:
    """The names of the columns of a data frame or dict; None for an array.

    Examples
    --------
    >>> from pansophy.core.arrays.frames import column_names
    >>> column_names({"age": [31, 52]}), column_names([[1, 2]])
    (['age'], None)
    """
    if isinstance(X, Mapping):
        return list(X)
    names = getattr(X, "column_names", getattr(X, "columns", None))
    return None if names is None else list(names)


def rows_of_table(X, rows):
    """Some rows of an array, a list, a sparse matrix, a data frame or an Arrow table.

    Examples
    --------
    >>> from pansophy.core.arrays.frames import rows_of_table
    >>> rows_of_table([[1, 2], [3, 4]], [1]).tolist()
    [[3, 4]]
    """
    if hasattr(X, "column_names"):
        return X.take(rows)
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows]
    if isinstance(X, (list, tuple)) or not hasattr(X, "__getitem__"):
        X = array_of_rows(X)
    if getattr(X, "ndim", 1) == 0:
        raise ValueError(f"X must have rows and columns, got {X.item()!r}.")
    return X[rows]


def lists_of_columns(X):
    """A dict of columns, checked: each value must have an entry for each row.

    Examples
    --------
    >>> from pansophy.core.arrays.frames import lists_of_columns
    >>> lists_of_columns({"a": [1, 2]})
    {'a': [1, 2]}
    >>> lists_of_columns({"a": 1})
    Traceback (most recent call last):
    ValueError: column 'a' must have an entry for each row, got 1.
    """
    for name, values in X.items():
        if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
            raise ValueError(
                f"column {name!r} must have an entry for each row, got {values!r}."
            )
    return X


def column_reader(X):
    """A function that gives a column of X by its number, as it is stored.

    Columns of data frames come as narwhals Series, of which `column_as_array` makes
    arrays; those of dicts as their values, and all others as NumPy arrays.

    Examples
    --------
    >>> from pansophy.core.arrays.frames import column_reader
    >>> read = column_reader([["a", 1], ["b", 2]])
    >>> read(1).tolist()
    [1, 2]
    """
    if isinstance(X, Mapping):
        columns = list(X.values())
        return lambda j: columns[j]
    if column_names(X) is not None:
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        return lambda j: frame[:, j]
    if hasattr(X, "tocsc"):
        sparse = X.tocsc()
        return lambda j: sparse[:, [j]].toarray().ravel()
    if arrays.is_foreign(X):
        X = arrays.to_numpy(X)
    elif not hasattr(X, "dtype"):  # lists: text and numbers keep their types
        X = np.array(X, dtype=object)
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead.")
    return lambda j: X[:, j]


def column_place(X, column) -> int:
    """The number of a column given by its name or number.

    Examples
    --------
    >>> from pansophy.core.arrays.frames import column_place
    >>> column_place({"age": [31], "city": ["Bern"]}, "city")
    1
    """
    names = column_names(X)
    if names is not None and str(column) in map(str, names):
        return [str(name) for name in names].index(str(column))
    width = X.shape[1] if names is None and hasattr(X, "shape") else len(names or X[0])
    if isinstance(column, (int, np.integer)) and 0 <= column < width:
        return int(column)
    raise ValueError(f"column {column!r} is not in the table.")


def column_as_array(X, column) -> np.ndarray:
    """A column of any table, by its name or number, as a NumPy array.

    Examples
    --------
    >>> import pandas as pd
    >>> from pansophy.core.arrays.frames import column_as_array
    >>> column_as_array(pd.DataFrame({"age": [31, 52]}), "age")
    array([31, 52])
    """
    from .codes import as_column

    return as_column(column_reader(X)(column_place(X, column)))


def date_column(X) -> tuple | None:
    """The first column of a data frame with dates or durations, and which it has.

    Examples
    --------
    >>> import pandas as pd
    >>> from pansophy.core.arrays.frames import date_column
    >>> date_column(pd.DataFrame({"age": [3], "day": pd.to_datetime(["2024-02-01"])}))
    ('day', 'dates')
    """
    dtypes = getattr(X, "dtypes", None)
    if dtypes is None or not hasattr(X, "columns"):
        return None
    for name, dtype in zip(X.columns, dtypes):
        is_temporal = getattr(dtype, "is_temporal", None)  # of polars
        if getattr(dtype, "kind", "") in ("m", "M") or (is_temporal and is_temporal()):
            is_span = "timedelta" in str(dtype).lower() or "Duration" in str(dtype)
            return name, "durations" if is_span else "dates"
    return None


def object_column(X):
    """The first column of a data frame with values that are no text and no numbers."""
    import narwhals as nw

    frame = narwhals_frame(X)
    if frame is None:
        return None
    plain = (str, bytes, int, float, complex, np.generic, type(None))
    for name, dtype in frame.schema.items():
        if dtype.is_nested():
            return name
        if dtype == nw.Object and not all(isinstance(v, plain) for v in frame[name]):
            return name
    return None


def missing_column(X):
    """The first column of a data frame, or number of one of an array, with NaN."""
    frame = narwhals_frame(X)
    if frame is not None:
        for name in frame.columns:
            if any(v is None or v != v for v in frame[name].to_list()):
                return name
        return None
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f":
        missing = np.isnan(X).any(axis=0)
        return int(missing.argmax()) if missing.any() else None
    return None


def narwhals_frame(X):
    """A data frame as narwhals has it; None for anything else."""
    if not hasattr(X, "columns"):
        return None
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return None if frame is X else frame


def text_column(X):
    """The name of the first column of a data frame that holds text, or None.

    Examples
    --------
    >>> import pandas as pd
    >>> from pansophy.core.arrays.frames import text_column
    >>> text_column(pd.DataFrame({"age": [31, 52], "city": ["Pune", "Bern"]}))
    'city'
    """
    import narwhals as nw

    frame = narwhals_frame(X)
    if frame is None:
        return None
    text_types = (nw.Categorical, nw.Enum, nw.String)
    for name in frame.columns:
        dtype = frame.schema[name]
        if any(dtype == text_type for text_type in text_types):
            return name
        if dtype == nw.Object and any(isinstance(v, str) for v in frame[name]):
            return name
    return None

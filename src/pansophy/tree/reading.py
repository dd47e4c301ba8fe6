"""Reading a column of whatever holds a table: arrays, lists, data frames.

`reader` gives columns by number, as NumPy arrays or narwhals Series; `tabulate` lists
the distinct values of one, `as_numbers` makes floats of it.
"""

import numbers
from typing import Any

import numpy as np

from ..core import arrays


def names_of(X):
    """The column names of a data frame, or None."""
    names = getattr(X, "column_names", getattr(X, "columns", None))
    return None if names is None else list(names)


def reader(X):
    """A function from a column's number to the column."""
    if names_of(X) is not None:
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        return lambda f: frame[:, f]
    if arrays.is_foreign(X):
        X = arrays.to_numpy(X)
    elif not hasattr(X, "dtype"):  # lists: text and numbers keep their kinds
        X = np.array(X, dtype=object)
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead.")
    return lambda f: X[:, f]


def tabulate(column) -> tuple[Any, np.ndarray]:
    """Distinct values of a column and their numbers by row, -1 where missing."""
    import pyarrow as pa

    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        return tabulate_numbers(column)
    try:
        if isinstance(column, np.ndarray):
            column = pa.array(column, from_pandas=True)
        else:
            column = column.to_arrow()
    except pa.ArrowException:
        text = [None if absent(v) else str(v) for v in column]
        column = pa.array(text, pa.string())
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_floating(column.type):
        return tabulate_numbers(column.to_numpy(zero_copy_only=False))
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    index = column.indices.cast(pa.int64()).fill_null(-1).to_numpy()
    values = column.dictionary.to_numpy(zero_copy_only=False)
    if values.dtype.kind == "O" and any(v is None for v in values):
        gone = np.array([v is None for v in values])
        index = np.where((index >= 0) & gone[index], -1, index)
    return values, index


def tabulate_numbers(x):
    """The same for numbers; small whole ones are counted, not sorted."""
    gone = np.isnan(x) if x.dtype.kind == "f" else np.zeros(len(x), bool)
    present = x[~gone] if gone.any() else x
    index = np.full(len(x), -1, np.int64)
    small = len(present) and present.min() >= 0 and present.max() < 1 << 16
    codes = present.astype(np.int64) if small else None
    if codes is not None and np.array_equal(codes, present):
        used = np.bincount(codes) > 0
        index[~gone] = (np.cumsum(used) - 1)[codes]
        return np.flatnonzero(used).astype(float), index
    values, index[~gone] = np.unique(present, return_inverse=True)
    return values.astype(float), index


def absent(v) -> bool:
    """Whether a value is None, NaN or one of pandas' words for missing."""
    try:
        return v is None or bool(v != v)
    except TypeError:
        return True


def is_number(values) -> bool:
    """Whether levels are numbers (a column without any is)."""
    values = np.asarray(values)
    if values.dtype.kind in "biuf":
        return True
    kinds = (numbers.Real, np.bool_)
    return all(isinstance(v, kinds) for v in values.tolist())


def as_kind(values, text):
    """Levels as text or as numbers; a text that is no number is NaN."""
    if text:
        return np.array([str(v) for v in values], dtype=np.str_)
    try:
        return np.asarray(values, float)
    except (TypeError, ValueError):
        return np.array([as_number(v) for v in values], float)


def as_number(v) -> float:
    try:
        return float(v)
    except (TypeError, ValueError):
        return np.nan


def as_numbers(column, f=None):
    """A column of numbers as float64, NaN where missing."""
    if not isinstance(column, np.ndarray):
        column = column.to_arrow().to_numpy(zero_copy_only=False)
    if column.dtype.kind in "biuf":
        return column.astype(float)
    try:
        return np.array([np.nan if absent(v) else v for v in column], float)
    except (TypeError, ValueError) as error:
        place = "a directional column" if f is None else f"column {f}"
        raise ValueError(
            f"{place} of X holds {error.args[0]}; name it in categorical_features "
            "if it holds categories."
        ) from error

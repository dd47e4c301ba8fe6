"""Values as integer codes: the distinct values of a column, and the place of each one.

With the distinct values (levels) in order,

    codes_i = c   if value i is the c-th level,   -1 if it is missing              (1)

Levels are sorted, so that the codes do not depend on the order of the rows: numbers in
their order, text in that of its characters, and in columns of mixed type numbers before
text. Missing are None, NaN, NaT and pandas' NA.

Cost      O(n) for integers of a narrow range, else that of sorting or hashing
"""

from typing import Any, NamedTuple

import numpy as np

NARROW = 1 << 16  # integers that span less are coded through a table, not sorted
MANY = 1000  # texts from which on hashing is quicker than sorting


class Encoded(NamedTuple):
    """Codes of values and the levels that they stand for, eq. (1)."""

    codes: np.ndarray  # (n,) of int64, -1 where missing
    levels: np.ndarray  # distinct values in order


def is_missing(value) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA.

    Examples
    --------
    >>> from pansophy.core.arrays.codes import is_missing
    >>> [is_missing(v) for v in (None, float("nan"), 0, "")]
    [True, True, False, False]
    """
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # NA has no truth value; an array is not missing
        return not hasattr(value, "__len__")


def missing_mask(values) -> np.ndarray:
    """Mask of the missing values of a column: (n,) of bool.

    Examples
    --------
    >>> from pansophy.core.arrays.codes import missing_mask
    >>> missing_mask(["a", None, float("nan")]).tolist()
    [False, True, True]
    """
    values = as_column(values)
    kind = values.dtype.kind
    if kind == "f":
        return np.isnan(values)
    if kind in "mM":
        return np.isnat(values)
    if kind != "O":
        return np.zeros(values.shape, bool)
    flags = [is_missing(v) for v in values.ravel()]
    return np.array(flags, bool).reshape(values.shape)


def as_column(values) -> np.ndarray:
    """Values as an array in which text beside None or numbers keeps its type.

    Examples
    --------
    >>> from pansophy.core.arrays.codes import as_column
    >>> as_column(["a", None, 2])
    array(['a', None, 2], dtype=object)
    """
    if isinstance(values, np.ndarray):
        return values
    if hasattr(values, "to_numpy"):  # a column of a data frame, or of Arrow
        return np.asarray(without_dictionary(values).to_numpy())
    values = values if isinstance(values, (list, tuple)) else list(values)
    array = np.asarray(values)
    if array.dtype.kind in "US" and not all(isinstance(v, str) for v in values):
        array = np.empty(len(values), dtype=object)
        array[:] = values
    return array


def without_dictionary(values):
    """A column whose values Arrow stores once, as the values themselves.

    Chunks of such a column lose their nulls in `to_numpy`.
    """
    native = values.to_native() if hasattr(values, "to_native") else values
    dtype: Any = getattr(native, "type", None)
    if not str(dtype).startswith("dictionary<"):
        return values
    return native.cast(dtype.value_type)


def encode_values(values) -> Encoded:
    """Codes and levels of a column of any type, eq. (1).

    Parameters
    ----------
    values : array of shape (n,), list or column of a data frame
        Numbers, text, dates, booleans, or Python objects that can be hashed.

    Returns
    -------
    Encoded
        `levels[codes]` are the values, apart from missing ones.

    Examples
    --------
    >>> from pansophy.core.arrays.codes import encode_values
    >>> codes, levels = encode_values(["b", None, "a", "b"])
    >>> codes.tolist(), levels.tolist()
    ([1, -1, 0, 1], ['a', 'b'])
    """
    values = as_column(values)
    if values.ndim != 1:
        raise ValueError(f"values must be one column, got shape {values.shape}.")
    kind = values.dtype.kind
    if kind in "iu":
        return _encode_integers(values)
    if kind == "f":
        return _encode_floats(values)
    if kind == "U" and len(values) > MANY:
        return _encode_text(values)
    if kind == "O":
        return _encode_objects(values)
    if kind in "mM":
        return _without(np.isnat(values), values, _encode_sorted)
    return _encode_sorted(values)


def codes_of_levels(values, levels) -> np.ndarray:
    """The code of each value among known, sorted levels; -1 for one that is not there.

    Values and levels are arrays of numbers, or both of text.

    Examples
    --------
    >>> from pansophy.core.arrays.codes import codes_of_levels
    >>> codes_of_levels(["c", "b"], np.array(["a", "c"])).tolist()
    [1, -1]
    """
    values, levels = as_column(values), np.asarray(levels)
    if not len(values) or not len(levels):
        return np.full(len(values), -1, np.int64)
    at = np.minimum(np.searchsorted(levels, values), len(levels) - 1)
    return np.where(levels[at] == values, at, -1).astype(np.int64)


def _encode_sorted(values) -> Encoded:
    levels, codes = np.unique(values, return_inverse=True)
    return Encoded(codes.reshape(-1).astype(np.int64, copy=False), levels)


def _encode_integers(values) -> Encoded:
    """Integers of a narrow range go through a table, others are sorted."""
    if not len(values):
        return _encode_sorted(values)
    low = int(values.min())
    span = int(values.max()) - low
    if span >= max(NARROW, 4 * len(values)):
        return _encode_sorted(values)
    shifted = (values - values.dtype.type(low)).astype(np.int64)
    if low < 0:  # the difference may not fit into a small type
        shifted = values.astype(np.int64) - low
    seen = np.zeros(span + 1, bool)
    seen[shifted] = True
    levels = (np.flatnonzero(seen) + low).astype(values.dtype)
    return Encoded((np.cumsum(seen) - 1)[shifted], levels)


def _encode_floats(values) -> Encoded:
    """Floats: NaN is missing; whole ones are coded as integers are."""

    def encode(known):
        whole = len(known) and np.abs(known).max() < NARROW
        if whole and (known == np.floor(known)).all():
            codes, levels = _encode_integers(known.astype(np.int64))
            return Encoded(codes, levels.astype(values.dtype))
        return _encode_sorted(known)

    return _without(np.isnan(values), values, encode)


def _without(missing, values, encode) -> Encoded:
    """Codes of the values that are not missing, -1 for the others."""
    if not missing.any():
        return encode(values)
    known, levels = encode(values[~missing])
    codes = np.full(len(values), -1, np.int64)
    codes[~missing] = known
    return Encoded(codes, levels)


def _encode_text(values) -> Encoded:
    """Text through a hash table: only the distinct values are sorted."""
    import pyarrow as pa

    found = pa.array(values).dictionary_encode()
    distinct = np.asarray(found.dictionary.to_pylist(), np.str_)
    order = np.argsort(distinct, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return Encoded(place[np.asarray(found.indices)], distinct[order])


def _encode_objects(values) -> Encoded:
    """Python objects through a dict; True and 1 are the same value, as in Python."""
    place: dict = {}
    codes = np.empty(len(values), np.int64)
    for i, v in enumerate(values.tolist()):
        if is_missing(v):
            codes[i] = -1
            continue
        try:
            codes[i] = place.setdefault(v, len(place))
        except TypeError:
            kind = type(v).__name__
            raise TypeError(
                f"values must be strings, numbers or other constants, got a {kind}."
            ) from None
    found = list(place)
    order = sorted(range(len(found)), key=lambda i: sort_key(found[i]))
    rank = np.empty(len(found) + 1, np.int64)
    rank[order] = np.arange(len(found))
    rank[-1] = -1
    levels = as_column([found[i] for i in order]) if found else np.empty(0, object)
    if levels.dtype.kind not in "US":  # numbers of several types stay as they are
        levels = np.empty(len(found), object)
        levels[:] = [found[i] for i in order]
    return Encoded(rank[codes], levels)


def sort_key(value) -> tuple:
    """A key by which values of mixed types sort: numbers before text."""
    if isinstance(value, (int, float, np.number, np.bool_)):
        return (0, value, "")
    return (1, 0, str(value))

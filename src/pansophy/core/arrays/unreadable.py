"""Sentences about data that are no array of numbers: ragged rows, text, objects.

NumPy says "inhomogeneous shape" or "could not convert string to float" of such data;
these functions say which row and column it is. They look only after NumPy has failed,
so that good data cost nothing.
"""

import reprlib
from collections.abc import Iterable, Mapping

import numpy as np

from . import arrays

FOREIGN_TEXTS = (  # how NumPy and scikit-learn say that values are no numbers
    "could not convert",
    "inhomogeneous",
    "setting an array element",
    "argument must be a string or a real number",
    "arrays of bytes/strings",
    "at least 1 dimension i.e. satisfy",
)


def is_conversion_error(error) -> bool:
    """Whether an error of NumPy or scikit-learn says that values are no numbers."""
    return any(text in str(error) for text in FOREIGN_TEXTS)


def what_is_unreadable(values) -> str | None:
    """What keeps values from being an array of numbers; None if nothing is found.

    Examples
    --------
    >>> from pansophy.core.arrays.unreadable import what_is_unreadable
    >>> what_is_unreadable([[1, 2], [3]])
    'row 1 has 1 entry and row 0 has 2'
    >>> what_is_unreadable([[1, 2], [3, "a"]])
    "row 1 holds the text 'a' in column 1"
    >>> what_is_unreadable([4, {"a": 1}])
    'entry 1 is a dict'
    """
    if isinstance(values, (str, bytes)):
        return f"it is the text {reprlib.repr(values)}"
    if values is None:
        return "it is None"
    if isinstance(values, Mapping) or not isinstance(values, Iterable):
        return f"it is a {type(values).__name__}"
    if hasattr(values, "dtype") and values.dtype.kind not in "OUSV":
        return None
    if getattr(values, "ndim", 1) == 0:
        return f"it is the single value {values}"
    rows = values.tolist() if isinstance(values, np.ndarray) else list(values)
    first = entry_count(rows[0]) if rows else None
    for i, row in enumerate(rows):
        count = entry_count(row)
        if count != first:
            return f"row {i} has {in_words(count)} and row 0 has {count_of(first)}"
        problem = unreadable_row(i, row)
        if problem is not None:
            return problem
    return None


def unreadable_row(i, row) -> str | None:
    """What is no number in row i; None if nothing is."""
    if not is_row(row):
        kind = unreadable_value(row)
        return None if kind is None else f"entry {i} is {kind}"
    for j, value in enumerate(row):
        kind = unreadable_value(value)
        if kind is not None:
            return f"row {i} holds {kind} in column {j}"
    return None


def is_row(row) -> bool:
    """Whether a value is a row of entries rather than one entry."""
    return isinstance(row, Iterable) and not isinstance(row, (str, bytes, Mapping))


def entry_count(row) -> int | None:
    """Entries of a row; None for a single value."""
    if not is_row(row) or getattr(row, "ndim", 1) == 0:
        return None
    return len(list(row)) if not hasattr(row, "__len__") else len(row)


def count_of(count) -> str:
    return "none of its own" if count is None else str(count)


def in_words(count) -> str:
    if count is None:
        return "no entries of its own"
    return f"{count} entry" if count == 1 else f"{count} entries"


def unreadable_value(value) -> str | None:
    """What a value is if it is no number; None if it is one."""
    if is_row(value):
        return None  # a third axis: scikit-learn says what is wrong with it
    if isinstance(value, (str, bytes)):
        try:
            float(value)
        except ValueError:
            return f"the text {reprlib.repr(value)}"
        return None
    try:
        float(value)
    except (TypeError, ValueError):
        return "None" if value is None else f"a {type(value).__name__}"
    return None


def unreadable_error(what, values, error, advice="") -> Exception:
    """The error to raise for `what` (such as "X of Ridge") in the place of NumPy's.

    It has the type of the error that it replaces.
    """
    problem = what_is_unreadable(values)
    if problem is None and "inhomogeneous" in str(error):
        problem = "its entries have unequal lengths"
    elif problem is None:
        problem = str(error).partition("\n")[0].rstrip(".")
    kind = TypeError if isinstance(error, TypeError) else ValueError
    tail = "; an argument must be a string of digits or a number" * (kind is TypeError)
    return kind(f"{what} must hold numbers, but {problem}{tail}.{advice}")


def array_of_rows(values, what="X") -> np.ndarray:
    """A list of rows as an array; rows of unequal length are named in the error.

    Examples
    --------
    >>> from pansophy.core.arrays.unreadable import array_of_rows
    >>> array_of_rows([[1, 2], [3]], "X of PCA")
    Traceback (most recent call last):
    ValueError: X of PCA must hold numbers, but row 1 has 1 entry and row 0 has 2.
    """
    if arrays.is_foreign(values):
        return arrays.to_numpy(values)
    try:
        return np.asarray(values)
    except (ValueError, TypeError) as error:
        if not is_conversion_error(error):
            raise
        raise unreadable_error(what, values, error) from None


def array_of_numbers(values, what, *, allow_nan=False, allow_empty=False) -> np.ndarray:
    """At least one real number as a float array; the sentence about what is none.

    For arguments of functions: None, NaN and nothing at all are refused unless they are
    allowed, for a mean over them would be NaN.

    Examples
    --------
    >>> from pansophy.core.arrays.unreadable import array_of_numbers
    >>> array_of_numbers([0.5, None], "losses")
    Traceback (most recent call last):
    ValueError: losses must hold numbers, but entry 1 is None.
    """
    given = array_of_rows(values, what)
    if given.dtype.kind not in "biuf":
        problem = what_is_unreadable(values)
        if problem is not None or given.dtype.kind == "c":
            raise ValueError(
                f"{what} must hold numbers, but {problem or 'they are complex'}."
            )
    try:
        result = given.astype(float)
    except (TypeError, ValueError) as error:
        raise unreadable_error(what, values, error) from None
    if not allow_empty and not result.size:
        raise ValueError(f"{what} must hold at least one number.")
    if not allow_nan and np.isnan(result).any():
        raise ValueError(f"{what} must hold numbers, but it holds NaN.")
    return result

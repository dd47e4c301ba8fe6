"""Class labels: their codes, which of them are known, and the check for missing."""

from numbers import Integral, Real

import numpy as np

from . import arrays
from .codes import missing_mask
from .rows import DatasetRows
from .unreadable import array_of_rows

MAX_LABEL_RANGE = 1 << 16  # of whole numbers whose codes are read off a table


def class_codes(y, X=None, classes=None):
    """The classes in order, and the place of each label among them.

    Labels of a table X on disk come unchecked, and are checked here. Where `classes`
    are given, a label that is none of them is refused.

    Examples
    --------
    >>> from pansophy.core.arrays.labels import class_codes
    >>> class_codes(np.array(["b", "a", "b"]))
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1]))
    """
    if isinstance(X, DatasetRows):
        y = np.asarray(y)
        if y.ndim != 1 or len(y) != X.n:
            raise ValueError(f"X has {X.n} rows, but y has shape {y.shape}.")
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity.")
    if classes is None:
        found = codes_by_table(y) if arrays.is_torch(y) else None
        if found is not None:
            return found
        classes, codes = arrays.namespace(y).unique_inverse(y)
        codes = arrays.namespace(codes).reshape(codes, (-1,))
        if arrays.is_foreign(X) and not arrays.is_foreign(codes):  # labels are text
            codes = arrays.namespace(X).asarray(codes, device=arrays.device(X))
        return classes, codes
    names, labels = arrays.to_numpy(classes), arrays.to_numpy(y)
    try:
        codes = np.minimum(np.searchsorted(names, labels), len(names) - 1)
    except TypeError:
        raise ValueError(
            f"classes must be labels of the kind of y, got {names.tolist()}."
        ) from None
    unknown = np.unique(labels[names[codes] != labels])
    if len(unknown):
        raise ValueError(
            f"The target label(s) {unknown} in y do not exist in the initial classes "
            f"{names}"
        )
    like = X if arrays.is_foreign(X) else y
    return classes, arrays.namespace(like).asarray(codes, device=arrays.device(like))


def codes_by_table(y):
    """Classes and codes of a tensor of whole numbers in a small range, or None.

    A table over the range takes the place of sorting the labels.

    Examples
    --------
    >>> import torch
    >>> from pansophy.core.arrays.labels import codes_by_table
    >>> codes_by_table(torch.tensor([7, 3, 7]))
    (tensor([3, 7]), tensor([1, 0, 1]))
    """
    xp = arrays.namespace(y)
    if not xp.isdtype(y.dtype, "integral") or y.ndim != 1 or y.shape[0] == 0:
        return None
    low, high = xp.stack([xp.min(y), xp.max(y)]).tolist()
    if high - low >= MAX_LABEL_RANGE:
        return None
    place = xp.astype(y, xp.int64) - low
    present = xp.zeros(high - low + 1, dtype=xp.int64, device=y.device)
    present[place] = 1
    classes = xp.astype(xp.nonzero(present)[0] + low, y.dtype)
    return classes, xp.take(xp.cumulative_sum(present) - 1, place)


def labels_of_codes(classes, codes):
    """The labels at these places among the classes, where the codes are.

    Labels that are text are on the host, whatever holds the codes.

    Examples
    --------
    >>> from pansophy.core.arrays.labels import labels_of_codes
    >>> labels_of_codes(np.array(["a", "b"]), np.array([1, 0]))
    array(['b', 'a'], dtype='<U1')
    """
    if arrays.is_foreign(codes) and not arrays.is_foreign(classes):
        is_text = np.asarray(classes).dtype.kind not in "iufb"
        if is_text:
            codes = arrays.to_numpy(codes)
    classes = arrays.beside(classes, codes)
    xp = arrays.namespace(classes)
    return xp.take(classes, xp.astype(codes, xp.int64), axis=0)


def known_labels(y):
    """Mask of the known labels: a number unless it is -1, a text unless it is empty.

    Examples
    --------
    >>> from pansophy.core.arrays.labels import known_labels
    >>> known_labels([0, -1, 2]), known_labels(["a", "", "b"])
    (array([ True, False,  True]), array([ True, False,  True]))
    """
    y = np.asarray(arrays.to_numpy(y))
    if y.dtype.kind != "O":
        return y != ("" if y.dtype.kind in "US" else -1)
    unknown = lambda v: v == "" if isinstance(v, str) else v == -1
    return np.array([not unknown(v) for v in y], dtype=bool)


def plain_numbers(y):
    """An array of objects that are all numbers (or all booleans) as an array of these.

    Data frames often hold whole numbers or booleans as Python objects.

    Examples
    --------
    >>> from pansophy.core.arrays.labels import plain_numbers
    >>> plain_numbers(np.array([1, 0], dtype=object))
    array([1, 0])
    >>> plain_numbers(np.array([1, "a"], dtype=object))
    array([1, 'a'], dtype=object)
    """
    if getattr(y, "dtype", None) != np.object_ or not hasattr(y, "tolist"):
        return y
    array = np.asarray(y)
    values = array.ravel().tolist()
    for types in ((bool, np.bool_), (Integral, np.integer), (Real, np.floating)):
        if all(isinstance(v, types) for v in values):
            return np.array(values).reshape(array.shape)
    return y


def refuse_missing(y):
    """Raise ValueError if a target has missing values: NaN, None, NA or masked ones.

    Examples
    --------
    >>> from pansophy.core.arrays.labels import refuse_missing
    >>> refuse_missing(["a", None])
    Traceback (most recent call last):
    ValueError: Input y contains NaN or None: the target has 1 missing value.
    """
    if arrays.is_foreign(y):
        return
    if np.ma.isMaskedArray(y):
        missing = np.ma.getmaskarray(y) | missing_mask(np.ma.getdata(y))
    else:
        missing = missing_mask(array_of_rows(y, "y"))
    count = int(missing.sum())
    if count:
        plural = "s" if count > 1 else ""
        raise ValueError(
            f"Input y contains NaN or None: the target has {count} missing "
            f"value{plural}."
        )

"""Class labels: their codes, which of them are known, and the check for missing."""

import numpy as np

from . import arrays
from .codes import missing_mask
from .rows import DatasetRows


def class_codes(y, X=None, classes=None):
    """The classes in order, and the place of each label among them.

    Labels of a table X on disk come unchecked, and are checked here. Where `classes`
    are given, a label that is none of them is refused.

    Examples
    --------
    >>> from pansophy.core.labels import class_codes
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
        classes, codes = arrays.namespace(y).unique_inverse(y)
        codes = arrays.namespace(codes).reshape(codes, (-1,))
        if arrays.is_foreign(X) and not arrays.is_foreign(codes):  # labels are text
            codes = arrays.namespace(X).asarray(codes, device=arrays.device(X))
        return classes, codes
    names, labels = arrays.to_numpy(classes), arrays.to_numpy(y)
    codes = np.minimum(np.searchsorted(names, labels), len(names) - 1)
    unknown = np.unique(labels[names[codes] != labels])
    if len(unknown):
        raise ValueError(
            f"The target label(s) {unknown} in y do not exist in the initial classes "
            f"{names}"
        )
    like = X if arrays.is_foreign(X) else y
    return classes, arrays.namespace(like).asarray(codes, device=arrays.device(like))


def known_labels(y):
    """Which labels are known: a number unless it is -1, a text unless it is empty.

    Examples
    --------
    >>> from pansophy.core.labels import known_labels
    >>> known_labels([0, -1, 2]), known_labels(["a", "", "b"])
    (array([ True, False,  True]), array([ True, False,  True]))
    """
    y = np.asarray(arrays.to_numpy(y))
    if y.dtype.kind != "O":
        return y != ("" if y.dtype.kind in "US" else -1)
    unknown = lambda v: v == "" if isinstance(v, str) else v == -1
    return np.array([not unknown(v) for v in y], dtype=bool)


def refuse_missing(y):
    """Raise ValueError if labels are missing: NaN, None or pandas' NA.

    Examples
    --------
    >>> from pansophy.core.labels import refuse_missing
    >>> refuse_missing(["a", None])
    Traceback (most recent call last):
    ValueError: Input y contains NaN or None.
    """
    if arrays.is_foreign(y):
        return
    if missing_mask(np.asarray(y)).any():
        raise ValueError("Input y contains NaN or None.")

"""Names of users and items as codes: any numbers, dates or text become 0, 1, 2, ...

Names are kept sorted, so that the codes do not depend on the order of the rows.
"""

import numpy as np
import pyarrow as pa

from ..core.arrays.codes import codes_of_levels, encode_values

LABEL_KINDS = {"U": "text", "M": "dates"}


def check_labels(labels, what="names"):
    """Labels as a one-dimensional array of numbers, times or text; none missing."""
    if isinstance(labels, (pa.Array, pa.ChunkedArray)):
        array = labels
        if pa.types.is_integer(array.type) and not array.null_count:
            return np.asarray(array)
        return _arrow_to_labels(array, what)
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(f"{what} must be one column, got {array.ndim} dimensions.")
    kind = array.dtype.kind
    if kind in "OT":
        try:
            return _arrow_to_labels(pa.array(array.tolist()), what)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise TypeError(
                f"{what} must be all numbers or all text, not a mixture."
            ) from error
    if kind == "b":
        return array.astype(np.int64)
    if kind not in "iufUM":
        raise TypeError(f"{what} must be numbers or text, got {array.dtype}.")
    if (kind == "f" and not np.isfinite(array).all()) or (
        kind == "M" and np.isnat(array).any()
    ):
        raise ValueError(f"{what} contain NaN or infinity: every row needs a name.")
    return array


def _arrow_to_labels(array, what):
    """An Arrow column as a NumPy array of numbers or text."""
    if array.null_count:
        raise ValueError(f"{what} contain NaN or nothing: every row needs a name.")
    if pa.types.is_null(array.type):
        return np.empty(0, np.int64)
    values = array.to_numpy(zero_copy_only=False)
    return check_labels(
        np.asarray(values.tolist(), np.str_) if values.dtype == object else values
    )


def encode_names(labels, what="names"):
    """(codes, names): names[codes] are the labels, names sorted and distinct.

    Examples
    --------
    >>> codes, names = encode_names(["b", "a", "b"])
    >>> codes.tolist(), names.tolist()
    ([1, 0, 1], ['a', 'b'])
    """
    codes, names = encode_values(check_labels(labels, what))
    return codes.astype(np.int32), names


def codes_of_names(names, labels, what="names"):
    """The code of each label in sorted names, -1 for one that is not there.

    Examples
    --------
    >>> codes_of_names(np.array(["a", "c"]), ["c", "b"]).tolist()
    [1, -1]
    """
    a = check_labels(labels, what)
    if not len(a) or not len(names):
        return np.full(len(a), -1, np.int32)
    kind, label_kind = (LABEL_KINDS.get(x.dtype.kind, "numbers") for x in (a, names))
    if kind != label_kind:
        raise TypeError(f"{what} are {label_kind} in this model, got {kind}.")
    return codes_of_levels(a, names).astype(np.int32)


def check_distinct_names(names, n, what):
    """Given names of all rows or columns: as many as there are, sorted or sortable."""
    if names is None:
        return np.arange(n), None
    a = check_labels(names, what)
    if len(a) != n or len(np.unique(a)) != n:
        raise ValueError(f"{what} must be {n} different names, got {len(a)}.")
    order = np.argsort(a, kind="stable")
    if (order[1:] > order[:-1]).all():
        return a, None
    return a[order], np.argsort(order, kind="stable").astype(np.int32)


def check_ratings(values, n, what) -> np.ndarray:
    """A float column of length n without NaN."""
    r = np.asarray(values)
    if r.ndim == 2 and r.shape[1] == 1:
        r = r[:, 0]
    if r.dtype.kind not in "fiub":
        try:
            r = r.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{what} must be numbers, got {r.dtype}.") from error
    r = r if r.dtype in (np.float32, np.float64) else r.astype(np.float64)
    if r.shape != (n,):
        raise ValueError(f"{what} must have length {n}, got shape {r.shape}.")
    if not np.isfinite(r).all():
        raise ValueError(f"{what} contain NaN or infinity.")
    largest = float(np.abs(r).max(initial=0))
    if largest and largest > np.sqrt(np.finfo(r.dtype).max / n):
        raise ValueError(f"{what} are too large: the sum of their squares overflows.")
    return r


def frame_columns(frame):
    """(name, what -> that column, all names) of a data frame or dict."""
    if not isinstance(frame, dict):
        import narwhals as nw

        try:
            frame = nw.from_native(frame, eager_only=True)
        except TypeError as error:
            raise TypeError(
                f"a {type(frame).__name__} is not a data frame or dict of columns."
            ) from error

    names = list(frame) if isinstance(frame, dict) else frame.columns

    def take(name, what):
        if name not in names:
            raise ValueError(f"there is no column {name!r} for the {what}.")
        column = frame[name]
        if isinstance(frame, dict):
            return column
        return column.to_arrow() if column.dtype == nw.String else column.to_numpy()

    return take, names

"""Array libraries: which one holds X, on which device, and conversions between them.

Array mathematics elsewhere takes `xp = namespace(X)` and calls the functions of the
array API standard on it, so that NumPy goes in and out as NumPy and a torch tensor
stays on its device. torch is never imported here: a tensor can only exist when the
caller has imported it already.
"""

import sys
from typing import Any

import array_api_compat
import array_api_compat.numpy as numpy_namespace
import numpy as np


def is_numpy(x) -> bool:
    return isinstance(x, (np.ndarray, np.generic))


def is_torch(x) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def is_foreign(x) -> bool:
    """An array of a library other than NumPy that speaks the array API."""
    return not is_numpy(x) and (is_torch(x) or hasattr(x, "__array_namespace__"))


def is_in_main_memory(x) -> bool:
    """Whether the host can read an array without a transfer from a device.

    Examples
    --------
    >>> is_in_main_memory(np.ones(2))
    True
    """
    return not is_foreign(x) or "cpu" in str(device(x)).lower()


def namespace(*arrays) -> Any:
    """The array namespace shared by the arguments; lists and numbers count as NumPy."""
    found = [x for x in arrays if is_foreign(x)]
    return array_api_compat.array_namespace(*found) if found else numpy_namespace


def device(x):
    """Device of x, or None for NumPy."""
    return array_api_compat.device(x) if is_foreign(x) else None


def asarray(values, like):
    """`values` as an array of the library, device and dtype of `like`."""
    if not is_foreign(like):
        return np.asarray(to_numpy(values), dtype=like.dtype)
    xp = namespace(like)
    if is_torch(values) and is_torch(like):
        return values.to(dtype=like.dtype, device=like.device)
    if is_numpy(values):
        # torch warns of memory that it may not write, and takes no falling strides
        is_usable = values.flags.writeable and min(values.strides, default=0) >= 0
        values = values if is_usable else values.copy()
    return xp.asarray(values, dtype=like.dtype, device=device(like))


def beside(values, like):
    """`values` in the library and on the device of `like`, their own dtype kept.

    Examples
    --------
    >>> beside(np.arange(2), np.ones(3))
    array([0, 1])
    """
    if not is_foreign(like):
        return to_numpy(values)
    if is_foreign(values) and device(values) == device(like):
        return values
    return namespace(like).asarray(to_numpy(values), device=device(like))


def to_numpy(x):
    """x as a NumPy array, copied off its device if need be."""
    if is_torch(x):
        return x.detach().cpu().numpy()
    if hasattr(x, "__array_namespace__") and not is_numpy(x):
        return np.from_dlpack(x).copy()
    return np.asarray(x)


def to_scratch(x):
    """`to_numpy` for large temporaries: through page-locked memory, which is quicker.

    torch keeps such memory and uses it again, so the answer should not live long.
    """
    if not is_torch(x) or x.device.type != "cuda":
        return to_numpy(x)
    torch = sys.modules["torch"]
    copy = torch.empty(x.shape, dtype=x.dtype, device="cpu", pin_memory=True)
    return copy.copy_(x.detach()).numpy()


def to_host(*values) -> tuple:
    """Sums of rows as float64 arrays on the host, those of a device by one transfer.

    NumPy arrays and numbers stay as they are.

    Examples
    --------
    >>> from pansophy.core.arrays.arrays import to_host
    >>> to_host(2.0, np.ones(2))
    (2.0, array([1., 1.]))
    """
    if not is_foreign(values[0]):
        return values
    xp = namespace(values[0])
    flat = [xp.reshape(xp.astype(v, xp.float64), (-1,)) for v in values]
    host = to_numpy(xp.concat(flat))
    ends = np.cumsum([int(np.prod(v.shape)) for v in values])
    parts = np.split(host, ends[:-1])
    return tuple(p.reshape(tuple(v.shape)) for p, v in zip(parts, values, strict=True))


def largest_absolute_entry(x):
    """max |x| over all entries, NaN if one is; without a temporary of its size."""
    xp = namespace(x)
    if is_torch(x):
        return xp.linalg.vector_norm(x, ord=float("inf"))
    return xp.max(xp.abs(x))


def largest_places(values, count):
    """Places of the `count` largest entries of a vector, in no particular order."""
    count = min(count, values.shape[0])
    if is_torch(values):
        return values.topk(count, sorted=False).indices
    xp = namespace(values)
    if xp is numpy_namespace:
        return np.argpartition(-values, count - 1)[:count]
    return xp.argsort(values, descending=True)[:count]


def is_float(x) -> bool:
    xp = namespace(x)
    return xp.isdtype(x.dtype, "real floating")


def as_float(x):
    """x in floating point: float32 and float64 stay, the rest becomes float64."""
    xp = namespace(x)
    return x if is_float(x) else xp.astype(x, xp.float64)


def take_columns(X, columns):
    """Columns of an array or sparse matrix; X itself if all are wanted (or None)."""
    if columns is None or np.array_equal(columns, np.arange(X.shape[1])):
        return X
    if not is_foreign(X) and not isinstance(X, np.ndarray):  # sparse
        return X[:, columns]
    xp = namespace(X)
    return xp.take(X, xp.asarray(columns, device=device(X)), axis=1)


def all_finite(x) -> bool:
    """Whether every entry of x is finite, without a temporary of its size.

    The sum of a finite array is finite unless it overflows, so the sum is tried
    first and entries are looked at one by one only when it is not.
    """
    xp = namespace(x)
    if not is_float(x):
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        total = xp.sum(x)
    return bool(xp.isfinite(total)) or bool(xp.all(xp.isfinite(x)))

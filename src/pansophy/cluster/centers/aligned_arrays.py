"""Arrays that begin at a cache line: scratch of loops that use vector instructions.

NumPy's memory begins at a multiple of 16 bytes. Reading a vector of 32 or 64 bytes that
lies across two cache lines takes two reads, so that a loop over small arrays, which
stay in the cache, is up to a third slower or not, as chance has placed them.
"""

import math

import numpy as np

CACHE_LINE = 64  # bytes


def aligned_empty(shape, dtype) -> np.ndarray:
    """An array like `np.empty(shape, dtype)` whose first element begins a cache line.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.cluster.centers.aligned_arrays import aligned_empty
    >>> a = aligned_empty((3, 4), np.float32)
    >>> a.shape, a.flags.c_contiguous, a.ctypes.data % 64
    ((3, 4), True, 0)
    """
    dtype = np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    raw = np.empty(size + CACHE_LINE, np.uint8)
    start = -raw.ctypes.data % CACHE_LINE
    return raw[start : start + size].view(dtype).reshape(shape)


def aligned_zeros(shape, dtype) -> np.ndarray:
    """An aligned array filled with zeros."""
    found = aligned_empty(shape, dtype)
    found.fill(0)
    return found

"""Aligned arrays: like those of NumPy, at the beginning of a cache line."""

import numpy as np
import pytest

from pansophy.cluster.centers.aligned_arrays import (
    CACHE_LINE,
    aligned_empty,
    aligned_zeros,
)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.uint8])
@pytest.mark.parametrize("shape", [(7,), (3, 5), (0, 4), (4, 272)])
def test_aligned_arrays_are_plain_arrays(shape, dtype):
    for _ in range(5):  # NumPy itself would be right by chance
        for a in (aligned_empty(shape, dtype), aligned_zeros(shape, dtype)):
            assert a.shape == shape and a.dtype == dtype
            assert a.flags.c_contiguous and a.flags.writeable
            assert a.ctypes.data % CACHE_LINE == 0 or not a.size
        assert not a.any()


def test_workspace_of_k_means_is_aligned():
    from pansophy.cluster.centers._kmeans import nearest_workspace

    for k, d in ((3, 5), (20, 20), (64, 200)):
        for dtype in (np.float32, np.float64):
            for scratch in nearest_workspace(k, d, dtype):
                assert scratch.ctypes.data % CACHE_LINE == 0

"""Nearest rows of tensors by minima of groups: the lists of the search in NumPy."""

import numpy as np
import pytest

from pansophy.distances.neighbor_search import build_index, k_nearest

torch = pytest.importorskip("torch")

from pansophy.distances.tensor_search import k_nearest_by_groups  # noqa: E402
from pansophy.testing.stand_in_device import StandInDevice  # noqa: E402


def tables():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3403, 6))
    return {
        "cloud": X,
        "far from 0": X + 1000,
        "whole numbers": np.round(2 * X[:, :3]),  # with many exact ties
        "copies": np.ones((3403, 2)),
        "one column": X[:, :1],
    }


@pytest.mark.parametrize("name", tables())
@pytest.mark.parametrize("k", [1, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lists_are_those_of_numpy(name, k, dtype):
    X = tables()[name].astype(dtype)
    Q = np.ascontiguousarray(X[::17] + X.std(0) * 0.25).astype(dtype)
    Q = np.round(Q) if name == "whole numbers" else Q
    there = build_index(torch.as_tensor(X))
    here = build_index(X)
    # in copies and one column most lists are compared with all rows, which takes long
    for asked in (Q, None) if X.shape[1] > 2 else (Q[:40],):
        far, rows = k_nearest(here, asked, k)
        Qt = None if asked is None else torch.as_tensor(asked)
        found_far, found = k_nearest(there, Qt, k)
        np.testing.assert_allclose(found_far, far, rtol=1e-4, atol=1e-5)
        distinct = np.diff(far, axis=1).min(initial=1.0) > 1e-4
        if name == "whole numbers" or distinct:
            np.testing.assert_array_equal(found, rows)


def test_rows_too_near_to_tell_are_reported():
    X = torch.ones((4096, 3))
    unsure = k_nearest_by_groups(X, X[:5] + 1.0, 3)[2]
    assert bool(unsure.all())


def test_the_device_is_waited_for_a_few_times_in_all():
    X = np.random.default_rng(0).normal(size=(20_000, 4))
    with StandInDevice() as counts:
        there = torch.as_tensor(X).to("standin")
        index = build_index(there)
        counts.reset()
        rows = k_nearest(index, there[:3000], 5)[1]
        waits = counts.n_waits
        assert rows.device.type == "standin"
    assert waits <= 4 and counts.n_bytes_out < 100

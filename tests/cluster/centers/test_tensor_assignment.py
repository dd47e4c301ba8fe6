"""K-means on torch tensors: the labels and centres of NumPy, one transfer a pass."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pansophy.cluster import KMeans

torch = pytest.importorskip("torch")

from pansophy.testing.stand_in_device import StandInDevice  # noqa: E402


def groups(offset=0.0, dtype=np.float64):
    rng = np.random.default_rng(0)
    centers = 6 * rng.normal(size=(5, 4))
    X = centers[rng.integers(0, 5, 2000)] + rng.normal(size=(2000, 4))
    return (X + offset).astype(dtype)


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_centres_are_those_of_numpy(offset, dtype, weighted):
    X = groups(offset, dtype)
    w = np.random.default_rng(1).integers(0, 3, len(X)).astype(dtype)
    w = w if weighted else None
    options = {"init": X[:5], "n_init": 1, "tol": 0, "max_iter": 50}
    here = KMeans(5, **options).fit(X, sample_weight=w)
    there = KMeans(5, **options).fit(torch.as_tensor(X), sample_weight=w)
    room = 1e-5 if dtype is np.float32 else 1e-11
    scale = abs(offset) + 10
    np.testing.assert_allclose(
        there.cluster_centers_, here.cluster_centers_, atol=room * scale
    )
    np.testing.assert_array_equal(there.labels_, here.labels_)
    np.testing.assert_array_equal(there.predict(torch.as_tensor(X)), there.labels_)
    assert there.inertia_ == pytest.approx(here.inertia_, rel=1e-3 if offset else 1e-5)
    assert there.n_iter_ == here.n_iter_


def test_empty_clusters_take_the_farthest_rows():
    X = groups()
    start = np.vstack([X[:3], np.full((2, 4), 1e3)])  # two centres without rows
    options = {"init": start, "n_init": 1, "max_iter": 30}
    here = KMeans(5, **options).fit(X)
    there = KMeans(5, **options).fit(torch.as_tensor(X))
    np.testing.assert_allclose(there.cluster_centers_, here.cluster_centers_)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (6, 6), (7, 2)])
def test_few_rows(n, k):
    X = groups()[:n]
    found = KMeans(k, init=X[:k], n_init=1).fit(torch.as_tensor(X))
    right = KMeans(k, init=X[:k], n_init=1).fit(X)
    np.testing.assert_allclose(found.cluster_centers_, right.cluster_centers_)


def test_strided_rows():
    X = groups()
    wide = torch.as_tensor(np.hstack([X, X]))[:, ::2]
    plain = wide.contiguous()
    a, b = (
        KMeans(3, init=plain[:3].numpy(), n_init=1).fit(rows) for rows in (wide, plain)
    )
    np.testing.assert_array_equal(a.labels_, b.labels_)


def test_an_iteration_fetches_one_sum():
    """Beyond the first and last pass an iteration waits for the device once."""
    X = groups()
    seen = {}
    for n_iter in (3, 6):
        with StandInDevice() as counts:
            there = torch.as_tensor(X).to("standin")
            model = KMeans(5, init=X[:5], n_init=1, tol=0, max_iter=n_iter)
            counts.reset()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(there)
            seen[model.n_iter_] = counts.n_waits, counts.n_bytes_out
            assert model.labels_.device.type == "standin"
    (few, few_bytes), (more, more_bytes) = seen.values()
    steps = max(seen) - min(seen)
    assert more - few == steps
    assert more_bytes - few_bytes < 1000 * steps < X.nbytes

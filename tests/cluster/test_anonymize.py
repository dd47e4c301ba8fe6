"""Every released group has at least k members, and nothing else is told."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from pansophy.cluster import anonymize

EPS = np.finfo(float).eps


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 60))
@settings(max_examples=50, deadline=None)
def test_every_group_has_at_least_k_members(seed, k, n):
    rng = np.random.default_rng(seed)
    n = max(n, k)
    X = rng.integers(0, 4, size=(n, 2)).astype(float)
    r = anonymize(X, k)
    assert r.sizes.sum() == n and r.sizes.min() >= k
    assert r.sizes.max() <= max(2 * k - 1, 1)
    _, counts = np.unique(r.X, axis=0, return_counts=True)
    assert counts.min() >= k
    for j in range(len(r.sizes)):
        mean = X[r.labels == j].mean(axis=0)
        published = r.X[r.labels == j]
        # values up to 3, of which the mean of at most 60 is taken away and added again
        assert_allclose(published, np.tile(mean, (r.sizes[j], 1)), atol=200 * EPS)


def test_loss_grows_with_k_and_means_stay(rng):
    X = rng.normal(size=(400, 3))
    shares = [anonymize(X, k).relative_loss for k in (1, 2, 5, 20, 400)]
    assert shares[0] == pytest.approx(0, abs=1e-20)
    assert (np.diff(shares) > 0).all()
    assert shares[-1] == pytest.approx(1)
    r = anonymize(X, 7)
    assert_allclose(r.X.mean(axis=0), X.mean(axis=0), atol=1e-12)
    assert r.loss == pytest.approx(((X - r.X) ** 2).sum())
    assert r.centers.shape == (len(r.sizes), 3)


def test_units_of_a_column_do_not_decide(rng):
    X = rng.normal(size=(60, 2))
    a, b = anonymize(X, 4), anonymize(X * [1.0, 1000.0], 4)
    np.testing.assert_array_equal(a.labels, b.labels)
    c = anonymize(X * [1.0, 1000.0], 4, scale=False)
    assert (c.labels != a.labels).any()


def test_groups_are_kept_together():
    ages = np.array([[21.0], [64.0], [23.0], [60.0], [22.0], [62.0]])
    r = anonymize(ages, 3)
    assert_allclose(r.X.ravel(), [22, 62, 22, 62, 22, 62])


@pytest.mark.parametrize("k", [0, 6, 2.5, True])
def test_bad_k(k):
    with pytest.raises(ValueError, match="from 1 to the 5 rows"):
        anonymize(np.zeros((5, 1)), k)

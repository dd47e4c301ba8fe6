"""Moments of each class: as weighted moments, merged tiles, sums."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy.core.arrays.rows import Rows
from pansophy.distributions import Moments
from pansophy.distributions.gaussian._class_moments import diagonal_moments
from pansophy.distributions.gaussian.class_moments import class_moments, class_sums
from pansophy.distributions.gaussian.normal import moments
from pansophy.naive_bayes.column_families import sparse_class_totals
from tests.oracles import generative as slow


def rows(rng, n=300, d=4, k=3, holes=0.0):
    X = rng.standard_normal((n, d)) * 3 + 10
    X[rng.random((n, d)) < holes] = np.nan
    return X, rng.integers(0, k, n), rng.random(n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_diagonal_moments(holes, weighted, rng):
    X, codes, w = rows(rng, holes=holes)
    w = w if weighted else None
    m = class_moments(X, codes, 3, w, "diag")
    for a, b in zip(
        (m.weight, m.mean, m.scatter), slow.class_moments(X, codes, 3, w), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    single = class_moments(X.astype(np.float32), codes, 3, w, "diag")
    np.testing.assert_allclose(single.mean, m.mean, rtol=1e-6)


def test_moments_of_many_tiles_merge(rng):
    X, codes, w = rows(rng, n=5000, d=20)
    whole = diagonal_moments(X, codes, w, True, 3)
    parts = Rows(X, codes, w, block=700).sum(
        lambda x, c, v: class_moments(x, c, 3, v, "diag")
    )
    np.testing.assert_allclose(parts.mean, whole[1], rtol=1e-12)
    np.testing.assert_allclose(parts.scatter, whole[2], rtol=1e-12)


@pytest.mark.parametrize("shape", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
def test_class_moments_are_weighted_moments(shape, library, rng):
    xp = pytest.importorskip(library)
    X, codes, w = rows(rng)
    hot = w[:, None] * (codes[:, None] == np.arange(3))
    expected = moments(X, hot, shape)
    got = class_moments(*map(xp.asarray, (X, codes)), 3, xp.asarray(w), shape)
    assert isinstance(got, Moments)
    np.testing.assert_allclose(np.asarray(got.mean), expected.mean, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(got.scatter), expected.scatter, rtol=1e-11)
    if shape == "full":
        np.testing.assert_allclose(
            np.asarray(got.scatter), slow.class_scatters(X, codes, 3, w), rtol=1e-10
        )


def test_class_sums(rng):
    X, codes, w = rows(rng)
    expected = slow.class_sums(X, codes, 3, w)
    np.testing.assert_allclose(class_sums(X, codes, 3, w)[1], expected)
    S = sp.csr_array(np.where(X > 10, X, 0))
    expected = slow.class_sums(S.toarray(), codes, 3, w)
    np.testing.assert_allclose(sparse_class_totals(S, codes, 3, w), expected)
    np.testing.assert_allclose(sparse_class_totals(S.astype(int), codes, 3, None)[0], (
        slow.class_sums(S.astype(int).toarray(), codes, 3)[0]
    ))  # fmt: skip

"""Compiled loops against their slow twins, and statistics of labelled rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats as scipy_stats

from pansophy.core.rows import Rows
from pansophy.distributions import Moments, Normal
from pansophy.distributions._class_moments import diagonal_moments
from pansophy.distributions.class_moments import class_moments, class_sums
from pansophy.distributions.missing import incomplete_moments, observed_log_prob
from pansophy.distributions.normal import moments
from pansophy.naive_bayes import _column_families as loops
from pansophy.naive_bayes.column_families import (
    categorical_statistics,
    linear_scorer,
    sparse_class_totals,
)
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


def test_normal_scores(rng):
    X, _, _ = rows(rng, holes=0.3)
    M, V = rng.normal(10, 1, (3, 4)), rng.random((3, 4)) + 0.5
    P = 1 / np.sqrt(V)
    log_P = np.log(P) - 0.5 * np.log(2 * np.pi)
    out = np.empty((len(X), 3))
    loops.diagonal_normal_scores(X, M, P, log_P, log_P.sum(axis=1), out)
    np.testing.assert_allclose(out, slow.normal_scores(X, M, V), rtol=1e-12, atol=1e-12)


def test_tables(rng):
    X = rng.integers(0, 5, (200, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    codes, w = rng.integers(0, 2, 200), rng.random(200)
    t = categorical_statistics(X, codes, 2, w)
    for table, counts in zip(
        slow.table_counts(X, codes, 2, w), t.tables(), strict=True
    ):
        for (c, v), weight in table.items():
            assert abs(counts[c, v] - weight) < 1e-10
    part = categorical_statistics(
        X[:50], codes[:50], 2, w[:50]
    ) + categorical_statistics(X[50:], codes[50:], 2, w[50:])
    np.testing.assert_allclose(part.counts, t.counts)
    T = np.log(t.counts + 1).T.copy()
    out = np.empty((200, 2))
    assert loops.category_scores(X, t.start, T, out) == -1
    expected = [
        sum(T[t.start[j] + int(v)] for j, v in enumerate(x) if not np.isnan(v))
        for x in X
    ]
    np.testing.assert_allclose(out, np.array(expected) + np.zeros((200, 2)))
    top = np.full(3, -1)
    assert (
        loops.largest_categories(np.array([[0.0, 1.0, 2.0], [0.0, -1.0, 0.0]]), top)
        == 1
    )
    assert loops.largest_categories(np.array([[0.0, 1.0, 2.5]]), top) == 2


def test_linear_scores_with_impossible_events():
    one = np.log(np.array([[0.5, 1.0], [0.25, 0.75]]))
    with np.errstate(divide="ignore"):
        zero = np.log(1 - np.exp(one))
    score = linear_scorer(one, zero)
    X = np.array([[1.0, 1.0], [0.0, 0.0], [np.nan, 0.0], [np.nan, 1.0]])
    expected = [[0.5, 0.25 * 0.75], [0, 0.75 * 0.25], [0, 0.25], [1, 0.75]]
    np.testing.assert_allclose(np.exp(score(X)), expected)
    S = sp.csr_array(X[:2])
    np.testing.assert_allclose(np.exp(score(S)), expected[:2])


# --- missing values of a Normal ---------------------------------------------------

COV = np.array([[2.0, 0.6, 0.2], [0.6, 1.0, -0.3], [0.2, -0.3, 1.5]])


@pytest.mark.parametrize("shape", ["full", "tied", "diag", "spherical"])
def test_observed_density_is_the_marginal(shape, rng):
    mean = rng.standard_normal((2, 3))
    cov = {
        "full": np.stack([COV, 2 * COV]),
        "tied": COV,
        "diag": np.array([[1.0, 2.0, 3.0], [0.5, 1.0, 2.0]]),
        "spherical": np.array([1.0, 2.0]),
    }[shape]
    p = Normal(mean, cov, shape)
    X = rng.standard_normal((6, 3))
    X[1, 0] = X[2, 1] = X[2, 2] = np.nan
    X[3] = np.nan
    got = observed_log_prob(p, X)
    np.testing.assert_allclose(got[0], p.log_prob(X[:1])[0])
    np.testing.assert_allclose(got[3], 0)
    dense = p.dense
    for i, seen in [(1, [1, 2]), (2, [0])]:
        for c in range(2):
            q = scipy_stats.multivariate_normal(
                mean[c][seen], dense[c][np.ix_(seen, seen)]
            )
            np.testing.assert_allclose(got[i, c], q.logpdf(X[i, seen]))


def test_impute_is_the_conditional_mean():
    p = Normal(np.array([1.0, 2.0, 3.0]), COV)
    X = np.array(
        [[0.5, np.nan, 2.0], [np.nan] * 3, [1.0, 1.0, 1.0], [np.nan, 0.0, 1.0]]
    )
    filled = p.impute(X)
    np.testing.assert_allclose(filled[0, 1], p.condition([0, 2], [0.5, 2.0]).mean[0])
    np.testing.assert_allclose(filled[1], p.mean)
    np.testing.assert_array_equal(filled[2], X[2])
    np.testing.assert_allclose(filled[3, 0], p.condition([1, 2], [0.0, 1.0]).mean[0])
    with pytest.raises(TypeError, match="one Normal"):
        Normal(np.zeros((2, 1)), np.ones((2, 1, 1))).impute([[np.nan]])


def test_incomplete_rows_by_em(rng):
    """EM climbs to where no nearby Normal explains the seen values better."""
    X = rng.multivariate_normal([0, 1, 2], COV, size=300)
    X[rng.random(X.shape) < 0.3] = np.nan
    w = rng.integers(1, 3, 300).astype(float)
    m = incomplete_moments(X, w, tol=1e-12, max_iter=2000)
    again = incomplete_moments(np.repeat(X, w.astype(int), 0), tol=1e-12, max_iter=2000)
    np.testing.assert_allclose(m.scatter, again.scatter, rtol=1e-6)
    p = Normal.from_stats(m)
    loglik = lambda q: float(w @ observed_log_prob(q, X)[:, 0])
    best = loglik(p)
    for _ in range(10):
        shake = rng.standard_normal((3, 3)) * 0.05
        moved = Normal(p.mean + shake[0], p.cov + shake @ shake.T)
        assert loglik(moved) < best
    whole = np.nan_to_num(X)
    np.testing.assert_allclose(
        incomplete_moments(whole).scatter, moments(whole).scatter
    )

"""Compiled loops against their slow twins, and statistics of labelled rows."""

import numpy as np
import scipy.sparse as sp

from pansophy.naive_bayes import _column_families as loops
from pansophy.naive_bayes.column_families import (
    categorical_statistics,
    linear_scorer,
)
from tests.oracles import generative as slow


def rows(rng, n=300, d=4, k=3, holes=0.0):
    X = rng.standard_normal((n, d)) * 3 + 10
    X[rng.random((n, d)) < holes] = np.nan
    return X, rng.integers(0, k, n), rng.random(n)


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

"""Coordinate descent of L1 logistic regression against a plain oracle."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy.linear_model.classifiers import _logistic_l1 as loops
from pansophy.linear_model.classifiers import logistic_l1
from pansophy.linear_model.classifiers.logistic_l1 import recentre_classes
from tests.oracles import coordinate as oracle


def test_recentre_lowers_the_penalty(rng):
    W = rng.normal(size=(4, 7))
    for a, b2 in [(1.0, 0.0), (0.5, 0.3), (0.0, 1.0)]:
        size = lambda V, a=a, b2=b2: (a * np.abs(V) + b2 / 2 * V * V).sum(axis=0)
        best = size(recentre_classes(W, a, b2))
        for _ in range(50):
            assert np.all(best <= size(W - rng.normal(size=7)) + 1e-12)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("block", [0, 3, 8])
def test_newton_passes_match_the_oracle(intercept, block, rng, monkeypatch):
    monkeypatch.setattr(logistic_l1, "BLOCK_COLUMNS", block)
    X = rng.normal(size=(30, 8)) * (rng.uniform(size=(30, 8)) < 0.6)
    h, r, w = rng.uniform(size=30), rng.normal(size=30), rng.normal(size=8)
    best, move = oracle.newton_move(X, h, r, w, 1.5, 0.2, intercept, 500)
    columns = logistic_l1.partition_columns(sp.csc_matrix(X))
    mass = h.sum() if intercept else 0.0
    mean, curve = np.empty((2, 8))
    loops.column_curvatures(columns.csc, h, mass, mean, curve)
    G = np.zeros((block, block))
    loops.block_gram(*columns.block_csr, h, G)
    B = X[:, columns.block]
    np.testing.assert_allclose(G, np.tril(B.T @ (h[:, None] * B)), atol=1e-12)
    means = mean[columns.block]
    G = G + np.tril(G, -1).T - mass * np.outer(means, means)
    shift = loops.quadratic_epochs(
        columns.csc,
        loops.ColumnQuadratic(h, mass, mean, curve, columns.block, G),
        r.copy(),
        w,
        columns.others,
        *(1.5, 0.2, 0.0, 1e-10, 1000),
    )
    np.testing.assert_allclose(w, best, atol=1e-8)
    assert shift == pytest.approx(move, abs=1e-8)
    out = np.zeros(30)
    loops.add_column_changes(columns.csc, w, out)
    np.testing.assert_allclose(out, X @ w, atol=1e-12)

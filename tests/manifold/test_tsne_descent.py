"""Gradient and steps of t-SNE against finite differences and scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy.manifold import tsne_repulsion
from pansophy.manifold.any_metric_neighbors import neighbors_of_rows
from pansophy.manifold.tsne_affinities import (
    joint_affinities_dense,
    joint_affinities_sparse,
)
from pansophy.manifold.tsne_descent import (
    DescentPlan,
    array_steps,
    compiled_steps,
    kl_gradient,
)
from tests.oracles import manifold as oracle


def blobs(n=150, d=6, k=3, seed=0, far=15.0):
    rng = np.random.default_rng(seed)
    z = np.arange(n) % k
    return rng.normal(size=(n, d)) + far * np.eye(k, d)[z], z


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_gradient_against_finite_differences(m, dense):
    X, _ = blobs(25)
    a = max(m - 1, 1)
    if dense:
        P = full = joint_affinities_dense(
            ((X[:, None] - X[None]) ** 2).sum(axis=2), 5.0
        )
    else:
        far, rows = neighbors_of_rows(X, 12)
        P = joint_affinities_sparse(far**2, rows, 5.0, np.float64)
        at = (P.data, P.indices.astype(int), P.indptr.astype(int))
        full = sp.csr_array(at, (25, 25)).toarray()
    Y = np.random.default_rng(1).normal(size=(25, m))
    push = lambda Y: tsne_repulsion.direct_repulsion(Y, a)
    g, kl = kl_gradient(P, np.ascontiguousarray(Y.T), a, push)
    np.testing.assert_allclose(kl, oracle.divergence(full, Y, a), rtol=1e-9)
    for i, c in [(0, 0), (7, m - 1), (24, 0)]:
        up, down = Y.copy(), Y.copy()
        up[i, c] += 1e-5
        down[i, c] -= 1e-5
        slope = oracle.divergence(full, up, a) - oracle.divergence(full, down, a)
        np.testing.assert_allclose(g[c, i], slope / 2e-5, rtol=1e-5, atol=1e-9)


def test_objective_and_gradient_are_those_of_scikit_learn():
    from scipy.spatial.distance import squareform
    from sklearn.manifold import _t_sne

    X, _ = blobs(40)
    P = joint_affinities_dense(((X[:, None] - X[None]) ** 2).sum(axis=2), 8.0)
    Y = np.random.default_rng(0).normal(size=(40, 2))
    kl, slope = _t_sne._kl_divergence(Y.ravel(), squareform(P, checks=False), 1, 40, 2)
    g, ours = kl_gradient(
        P, np.ascontiguousarray(Y.T), 1, tsne_repulsion.direct_repulsion
    )
    np.testing.assert_allclose(ours, kl, rtol=1e-6)
    np.testing.assert_allclose(g.T.ravel(), slope, rtol=1e-5, atol=1e-9)


def test_steps_as_array_mathematics_are_the_same():
    X, _ = blobs(50)
    P = joint_affinities_dense(((X[:, None] - X[None]) ** 2).sum(axis=2), 8.0)
    Y = np.random.default_rng(0).normal(size=(50, 2)) * 1e-2
    plan = DescentPlan(rate=50.0)
    slow = array_steps(P, 1, plan)(Y, np.zeros_like(Y), np.ones_like(Y), 0, 8)
    columns = np.ascontiguousarray(Y.T)
    take = compiled_steps(P, 1, tsne_repulsion.direct_repulsion, plan)
    fast = take(columns, np.zeros_like(columns), np.ones_like(columns), 0, 8)
    np.testing.assert_allclose(fast[0].T, slow[0], rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(fast[3:], slow[3:], rtol=1e-6)

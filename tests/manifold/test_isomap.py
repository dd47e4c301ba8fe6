"""Isomap and its shortest paths, against oracles and scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import manifold as peer
from sklearn.datasets import make_swiss_roll

from pansophy.manifold import (
    ClassicalMDS,
    Isomap,
    _shortest_paths,
    shortest_paths,
)
from tests.manifold.embeddings import same_up_to_turns
from tests.oracles import manifold as oracle


@pytest.fixture(scope="module")
def roll():
    X, t = make_swiss_roll(500, random_state=0)
    return X, t


def arc_length(t):
    """Along the spiral (t cos t, t sin t)."""
    return 0.5 * (t * np.sqrt(1 + t * t) + np.arcsinh(t))


def test_shortest_paths_equal_the_oracle():
    rng = np.random.default_rng(0)
    W = np.where(rng.random((25, 25)) < 0.15, rng.random((25, 25)), np.inf)
    W = np.minimum(W, W.T)
    np.fill_diagonal(W, np.inf)
    i, j = np.nonzero(np.isfinite(W))
    G = sp.csr_array((W[i, j], (i, j)), shape=W.shape)
    np.testing.assert_allclose(shortest_paths(G), oracle.shortest_paths(W))
    np.testing.assert_allclose(shortest_paths(G, method="FW"), oracle.shortest_paths(W))


def test_edges_of_length_zero_are_edges():
    G = sp.csr_array((np.array([0.0, 2.0]), ([0, 1], [1, 2])), shape=(3, 3))
    np.testing.assert_array_equal(shortest_paths(G)[0], [0, 0, 2])


def test_isomap_of_the_complete_graph_is_classical_scaling_is_pca():
    X = np.random.default_rng(0).normal(size=(40, 5))
    Y = Isomap(n_neighbors=39).fit_transform(X)
    np.testing.assert_allclose(Y, ClassicalMDS().fit_transform(X), atol=1e-8)
    centred = X - X.mean(axis=0)
    U, S, _ = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(np.abs(Y), np.abs(U[:, :2] * S[:2]), atol=1e-8)


def test_isomap_unrolls_the_swiss_roll(roll):
    X, t = roll
    Y = Isomap(n_neighbors=8).fit_transform(X)
    assert abs(np.corrcoef(Y[:, 0], arc_length(t))[0, 1]) > 0.95


@pytest.mark.parametrize(
    "how", [{"n_neighbors": 7}, {"n_neighbors": None, "radius": 6}]
)
def test_isomap_equals_scikit_learn(roll, how):
    X, _ = roll
    ours, theirs = Isomap(**how).fit(X), peer.Isomap(**how).fit(X)
    np.testing.assert_allclose(ours.dist_matrix_, theirs.dist_matrix_, rtol=1e-9)
    assert same_up_to_turns(ours.embedding_, theirs.embedding_)
    new = X[:40] + 0.05
    np.testing.assert_allclose(
        np.abs(ours.transform(new)), np.abs(theirs.transform(new)), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        ours.reconstruction_error(), theirs.reconstruction_error(), rtol=1e-6
    )


@pytest.mark.parametrize("solver", ["auto", "arpack", "dense"])
def test_isomap_solvers_agree(roll, solver):
    X, _ = roll
    Y = Isomap(n_neighbors=8, eigen_solver=solver).fit_transform(X)
    assert same_up_to_turns(Y, Isomap(n_neighbors=8).fit_transform(X))


def test_isomap_joins_pieces_with_a_warning():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) + 50.0 * (np.arange(40) % 2)[:, None]
    with pytest.warns(UserWarning, match="connected components .* is 2"):
        model = Isomap(n_neighbors=4).fit(X)
    assert np.isfinite(model.dist_matrix_).all()
    sides = model.embedding_[:, 0] > 0
    assert len(set(sides[::2])) == 1
    assert sides[0] != sides[1]


def test_isomap_refuses(roll):
    X, _ = roll
    with pytest.raises(ValueError, match="n_neighbors or radius"):
        Isomap(radius=1.0).fit(X)
    with pytest.raises(ValueError, match="n_neighbors=5"):
        Isomap().fit(X[:4])


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), spread=st.sampled_from([0.1, 1.0, 8.0]))
def test_buckets_and_heap_agree_to_the_last_bit(seed, spread):
    rng = np.random.default_rng(seed)
    n = 40
    W = sp.random_array((n, n), density=0.08, rng=rng, format="csr")
    W.data = np.exp(spread * rng.normal(size=W.nnz))
    W = sp.csr_array(W.maximum(W.T))
    graph = (W.indptr.astype(np.int64), W.indices.astype(np.int32), W.data)
    heap, ring = np.empty((n, n)), np.empty((n, n))
    _shortest_paths.dijkstra_paths(*graph, 0, n, heap)
    width = np.quantile(W.data, 0.25)
    count = int(W.data.max() / width) + 3
    if count < 10**6:
        done = _shortest_paths.bucket_paths(*graph, width, count, 0, n, ring)
        np.testing.assert_array_equal(ring[:done], heap[:done])
    np.testing.assert_array_equal(shortest_paths(W), heap)


def test_buckets_give_up_where_they_do_not_suit():
    """All distances in one bucket, and many short steps better than few long ones."""
    n = 60
    x = np.random.default_rng(0).uniform(size=n)
    G = sp.csr_array(np.abs(x[:, None] - x) ** 3)
    graph = (G.indptr.astype(np.int64), G.indices.astype(np.int32), G.data)
    D, known = np.empty((n, n)), np.empty((n, n))
    done = _shortest_paths.bucket_paths(*graph, 10.0, 3, 0, n, D)
    _shortest_paths.dijkstra_paths(*graph, 0, n, known)
    assert done < n
    np.testing.assert_array_equal(D[:done], known[:done])
    np.testing.assert_array_equal(shortest_paths(G), known)


@pytest.mark.parametrize(
    "how", [{"n_neighbors": 7}, {"n_neighbors": None, "radius": 6}]
)
def test_new_rows_lie_beside_the_rows_that_they_repeat(roll, how):
    """Sign and order of the axes included: rows of the fit are where they were."""
    X, _ = roll
    model = Isomap(**how).fit(X)
    scale = np.abs(model.embedding_).max()
    np.testing.assert_allclose(
        model.transform(X[:30]), model.embedding_[:30], atol=1e-6 * scale
    )

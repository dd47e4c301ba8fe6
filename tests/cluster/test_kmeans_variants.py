"""Forms of the objective, farthest seeds, directions, rows that keep their label."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from pansophy.cluster import KMeans, kmeans_objective, lloyd, sample_initial_centers
from pansophy.cluster import _kmeans as loops
from pansophy.cluster.lloyd_iteration import CompiledAssignment, row_mean_and_variance
from tests.oracles import kmeans as oracle


def blobs(n=400, d=4, k=5, gap=3.0, seed=0):
    rng = np.random.default_rng(seed)
    C = gap * rng.normal(size=(k, d))
    return rng.normal(size=(n, d)) + C[rng.integers(0, k, n)]


def test_three_forms_of_the_objective():
    # joint form J(C, z): least over z is the form of centres, over C that of clusters
    X = np.array([[0.0], [1.0], [4.0], [6.0]])
    C, w = np.array([[0.0], [5.0]]), np.ones(4)
    labels = list(itertools.product([0, 1], repeat=4))
    joint = [oracle.objective(X, w, C, np.array(z)) for z in labels]
    assert min(joint) == kmeans_objective(X, C) == 3
    z = np.array([0, 0, 1, 1])
    means = oracle.means(X, w, z, C)
    by_clusters = oracle.objective(X, w, means, z)
    grid = np.linspace(-1, 7, 81)
    tried = (
        oracle.objective(X, w, np.array([[a], [b]]), z) for a in grid for b in grid
    )
    assert by_clusters == pytest.approx(min(tried))
    assert kmeans_objective(X, X) == 0


# -- farthest-first ----------------------------------------------------------------


def plain_farthest(X, first, k):
    chosen = [first]
    while len(chosen) < k:
        D = oracle.distances2(X, X[chosen]).min(axis=1)
        chosen.append(int(D.argmax()))
    return chosen


@pytest.mark.parametrize("kind", ["numpy", "csr", "torch"])
def test_farthest_first(kind):
    X = blobs()
    data = X
    if kind == "csr":
        data = sparse.csr_array(X)
    elif kind == "torch":
        data = pytest.importorskip("torch").asarray(X)
    w = np.ones(400) if kind != "torch" else data[:, 0] * 0 + 1
    for s in range(5):
        C, index = sample_initial_centers(
            data, w, 7, np.random.default_rng(s), method="farthest"
        )
        assert list(index) == plain_farthest(X, index[0], 7)
        np.testing.assert_allclose(np.asarray(C), X[index])


def test_farthest_first_takes_outliers_and_no_row_without_weight():
    X = np.vstack([blobs(), [[500.0] * 4], [[-900.0] * 4]])
    w = np.ones(402)
    w[-1] = 0
    _, index = sample_initial_centers(
        X, w, 2, np.random.default_rng(0), method="farthest"
    )
    assert index[1] == 400
    model = KMeans(5, init="farthest", n_init=3, random_state=0).fit(blobs(gap=20))
    assert model.inertia_ == pytest.approx(
        KMeans(5, n_init=10, random_state=0).fit(blobs(gap=20)).inertia_
    )


# -- directions --------------------------------------------------------------------


def cosine_oracle(X, C, turns):
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    C = C / np.linalg.norm(C, axis=1, keepdims=True)
    for _ in range(turns):
        z = (U @ C.T).argmax(axis=1)
        C = np.array([U[z == j].sum(axis=0) for j in range(len(C))])
        C /= np.linalg.norm(C, axis=1, keepdims=True)
    return C, (U @ C.T).argmax(axis=1), 2 * np.sum(1 - (U @ C.T).max(axis=1))


def test_spherical_k_means():
    X = blobs() + 1.0
    C, z, J = cosine_oracle(X, X[:5], 200)
    model = KMeans(5, init=X[:5], tol=0, metric="cosine").fit(X)
    np.testing.assert_allclose(model.cluster_centers_, C)
    np.testing.assert_array_equal(model.labels_, z)
    assert model.inertia_ == pytest.approx(J)
    assert np.all(np.diff(model.history_["objective"]) <= 1e-9)
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1)
    scale = np.random.default_rng(0).uniform(0.1, 50, size=(400, 1))
    np.testing.assert_array_equal(model.predict(X * scale), z)
    other = KMeans(5, init=X[:5], tol=0, metric="cosine").fit(X * scale)
    np.testing.assert_array_equal(other.labels_, z)
    assert model.score(X) == pytest.approx(-J)
    sparse_ = KMeans(5, init=X[:5], tol=0, metric="cosine").fit(sparse.csr_array(X))
    np.testing.assert_array_equal(sparse_.labels_, z)
    torch = pytest.importorskip("torch")
    tensor = KMeans(5, init=X[:5], tol=0, metric="cosine").fit(torch.asarray(X))
    np.testing.assert_array_equal(tensor.labels_.numpy(), z)


def test_directions_need_length(tmp_path):
    X = blobs(20)
    X[3] = 0
    with pytest.raises(ValueError, match="row 3 of X has length 0"):
        KMeans(2, metric="cosine").fit(X)
    with pytest.raises(ValueError, match="metric of KMeans must be one of"):
        KMeans(2, metric="manhattan").fit(X)


# -- rows that keep their label ----------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_held_rows_take_part_and_keep_their_label(seed):
    X, rng = blobs(80, seed=seed), np.random.default_rng(seed)
    held = np.arange(80) < 15
    z, w = rng.integers(0, 3, 80), np.ones(80)
    z[:3] = [0, 1, 2]
    C = np.array([X[held & (z == j)].mean(axis=0) for j in range(3)])
    free = (X[~held], w[~held], C)
    run = lloyd(*free, fixed=(X[held], w[held], z[held]), max_iter=50)
    D = C.copy()
    for _ in range(50):  # by the book
        z[~held] = oracle.assign(X[~held], D)
        D = oracle.means(X, w, z, D)
    np.testing.assert_allclose(run.state.centers, D, atol=1e-9)
    np.testing.assert_array_equal(run.state.labels, z[~held])
    assert run.state.objective == pytest.approx(oracle.objective(X, w, D, z))
    J = run.history["objective"]
    assert np.all(np.diff(J) <= 1e-9 * J[0])


# -- loops -------------------------------------------------------------------------


def test_means_of_cells():
    X, w = blobs(50, 3, 3), np.random.default_rng(0).random(50)
    C = X[:3].copy()
    z, m = oracle.assign(X, C), X.mean(axis=0)
    hot = (z[:, None] == np.arange(3)) * w[:, None]
    cells = (
        hot.T @ (X - m),
        hot.sum(0),
        hot.T @ ((X - m) ** 2).sum(1),
        np.ones(3, int),
    )
    new = np.empty_like(C)
    J, shift = loops.cluster_means(*cells, C, m, new)
    np.testing.assert_allclose(new, oracle.means(X, w, z, C))
    assert pytest.approx(oracle.objective(X, w, C, z)) == J
    assert shift == pytest.approx(((new - C) ** 2).sum())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tight", [False, True])
def test_rows_left_out_could_not_have_changed(dtype, tight):
    X = blobs(2000, 6, 12, gap=1.0).astype(dtype)
    w, C = np.ones(2000, dtype), X[:12].astype(float)
    turns = CompiledAssignment(X, w, 12, keep=True)
    m, before = row_mean_and_variance(X, w)[0].astype(dtype).astype(float), None
    for _ in range(12):
        turns.tight = tight
        z, cells = turns.turn(C, before, m)
        D = oracle.distances2(X.astype(float), C)
        own, best = D[np.arange(2000), z], D.min(axis=1)
        assert np.all(own <= best + 1e-4 if dtype == np.float32 else own <= best + 1e-9)
        far = np.sort(np.where(np.arange(12) == z[:, None], np.inf, D), axis=1)[:, 0]
        assert np.all(turns.u >= np.sqrt(own) * (1 - 1e-6))
        assert np.all(turns.low <= np.sqrt(far) * (1 + 1e-6))
        before, C = C, m + cells.sums / cells.mass[:, None]
    assert turns.noted
    assert cells.moved < 400


def test_bounds_rest_while_they_do_not_pay():
    X = np.random.default_rng(0).normal(size=(3000, 16))
    turns = CompiledAssignment(X, np.ones(3000), 8)
    assert turns.rest == 1
    turns._judge(3000, 0)
    assert turns.rest == 2
    assert turns.pause == 4
    assert turns._keep() == 0
    assert CompiledAssignment(np.zeros((10, 50)), np.ones(10), 50).rest == 0
    few, many = (
        CompiledAssignment(X[:, :2], np.ones(3000), 3),
        CompiledAssignment(X, np.ones(3000), 1500),
    )
    assert (few.keep, len(few.u)) == (False, 0)
    assert many.keep

"""t-SNE: affinities, the push three ways, its gradient, what it makes of blobs."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.manifold import TSNE, placing, trustworthiness, tsne_repulsion
from pansophy.manifold.any_metric_neighbors import neighbors_of_rows
from pansophy.manifold.tsne_affinities import (
    conditional_affinities,
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


def totals(found):
    """F (n, m) and Z from the tasks of a push."""
    F, tasks, _ = found
    Z = sum(task() for task in tasks)
    return F.T, Z


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 40), st.floats(1.5, 10))
def test_affinities_have_the_perplexity_asked_for(seed, n, perplexity):
    rng = np.random.default_rng(seed)
    D = rng.exponential(size=(3, n)) * 10 ** rng.uniform(-6, 6)
    perplexity = min(perplexity, 0.9 * n)
    P = conditional_affinities(D, perplexity)
    np.testing.assert_allclose(P, oracle.conditional(D, perplexity), atol=1e-4)
    entropy = -np.sum(P * np.log(np.where(P > 0, P, 1)), axis=1)
    np.testing.assert_allclose(np.exp(entropy), perplexity, rtol=1e-4)


def test_affinities_with_equal_and_missing_neighbours():
    P = conditional_affinities(np.array([[1.0, 1, 1, np.inf], [0, 0, 0, 0]]), 2.0)
    np.testing.assert_allclose(P[0], [1 / 3, 1 / 3, 1 / 3, 0])
    np.testing.assert_allclose(P[1], 0.25)


def test_joint_affinities_are_those_of_scikit_learn():
    from scipy.spatial.distance import squareform
    from sklearn.manifold import _t_sne

    X, _ = blobs(60)
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    theirs = squareform(_t_sne._joint_probabilities(D.copy(), 10.0, 0))
    np.testing.assert_allclose(
        joint_affinities_dense(D, 10.0), theirs, rtol=1e-3, atol=1e-7
    )
    far, rows = neighbors_of_rows(X, 31)
    P = joint_affinities_sparse(far**2, rows, 10.0, np.float64)
    P = sp.csr_array((P.data, P.indices.astype(int), P.indptr.astype(int)), (60, 60))
    np.testing.assert_allclose(P.sum(), 1)
    np.testing.assert_allclose(P.toarray(), P.toarray().T)


@pytest.mark.parametrize(("m", "a"), [(1, 1), (2, 1), (3, 2), (4, 3), (5, 4)])
def test_direct_push_equals_the_oracle(m, a):
    Y = np.random.default_rng(m).normal(size=(40, m)) * 3
    F, Z = totals(tsne_repulsion.direct_repulsion(np.ascontiguousarray(Y.T), a))
    slow_F, slow_Z = oracle.push(Y, a)
    np.testing.assert_allclose(F, slow_F, atol=1e-10)
    np.testing.assert_allclose(Z, slow_Z)


@pytest.mark.parametrize(("m", "a"), [(1, 1), (2, 1), (3, 2)])
def test_tree_push(m, a):
    Y = np.random.default_rng(m).normal(size=(m, 300)) * 5
    Y[:, :20] = Y[:, :1]  # points that coincide
    F, Z = totals(tsne_repulsion.direct_repulsion(Y, a))
    for angle, room in [(0.0, 1e-9), (0.2, 0.01), (0.5, 0.06)]:
        G, near_Z = totals(tsne_repulsion.barnes_hut_repulsion(Y, a, angle))
        assert np.linalg.norm(F - G) <= room * np.linalg.norm(F)
        assert abs(near_Z - Z) <= room * Z


@pytest.mark.parametrize("scale", [1e-5, 0.1, 3.0, 20.0, 60.0])
@pytest.mark.parametrize("m", [1, 2])
def test_grid_push(scale, m):
    """Both with the whole kernel and with the split, eq. (3)."""
    rng = np.random.default_rng(0)
    Y = (rng.normal(size=(m, 3000)) * scale).astype(np.float32)
    F, Z = totals(tsne_repulsion.direct_repulsion(Y))
    G, near_Z = totals(tsne_repulsion.grid_repulsion(Y))
    assert np.linalg.norm(F - G) <= 0.01 * np.linalg.norm(F)
    assert abs(near_Z - Z) <= 1e-3 * Z


def test_grid_of_one_place():
    F, tasks, _ = tsne_repulsion.grid_repulsion(np.ones((2, 5), np.float32))
    assert abs(tasks[0]() - 20) < 1e-4
    assert np.abs(F).max() < 1e-3


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


@pytest.mark.parametrize("method", ["auto", "exact", "barnes_hut", "fft"])
def test_blobs_stay_apart_and_the_objective_falls(method):
    X, z = blobs()
    model = TSNE(method=method, random_state=0, perplexity=15.0).fit(X)
    Y = model.embedding_
    assert Y.shape == (150, 2)
    # every row of a blob is far from all others, so only its own blob can be near
    assert trustworthiness(X, Y, n_neighbors=15) > 0.95
    near = neighbors_of_rows(np.asarray(Y, float), 10)[1]
    assert np.all(z[near] == z[:, None])
    kl = model.history_["objective"]
    assert kl[-1] < 0.5 * kl[0]
    assert kl[-1] == pytest.approx(model.kl_divergence_)
    assert model.n_iter_ == 999


def test_kl_is_no_worse_than_scikit_learn():
    from sklearn import manifold as peer

    X, _ = blobs(200, d=10, k=5, far=4.0)
    ours = TSNE(random_state=0).fit(X)
    theirs = peer.TSNE(random_state=0, method="exact").fit(X)
    assert ours.kl_divergence_ < theirs.kl_divergence_ + 0.03


@pytest.mark.parametrize("m", [1, 3, 4])
def test_other_dimensions(m):
    X, _ = blobs(80)
    Y = TSNE(m, random_state=0, perplexity=10.0).fit_transform(X)
    assert Y.shape == (80, m)
    assert np.isfinite(Y).all()
    assert trustworthiness(X, Y) > 0.85


def test_one_seed_one_map_for_any_number_of_threads():
    X, _ = blobs(700)
    maps = [
        TSNE(max_iter=300, init="random", random_state=3, n_jobs=j).fit_transform(X)
        for j in (1, 2, None)
    ]
    for other in maps[1:]:
        np.testing.assert_array_equal(maps[0], other)


def test_grid_is_the_same_for_any_number_of_threads():
    X, _ = blobs(1500)
    how = {"method": "fft", "max_iter": 250, "random_state": 0}
    a, b = (TSNE(n_jobs=j, **how).fit_transform(X) for j in (1, 2))
    np.testing.assert_array_equal(a, b)


def test_precomputed_sparse_and_other_metrics():
    from sklearn.metrics import pairwise_distances

    X, _ = blobs(60)
    how = {"perplexity": 8.0, "init": "random", "random_state": 0, "max_iter": 300}
    plain = TSNE(**how).fit(X)
    D = pairwise_distances(X)
    given = TSNE(metric="precomputed", **how).fit(D)
    assert given.kl_divergence_ == pytest.approx(plain.kl_divergence_, rel=0.05)
    rows = TSNE(**how).fit(sp.csr_array(X))
    assert rows.kl_divergence_ == pytest.approx(plain.kl_divergence_, rel=0.05)
    function = TSNE(metric=lambda a, b: np.abs(a - b).sum(), **how).fit(X)
    named = TSNE(metric="manhattan", **how).fit(X)
    assert function.kl_divergence_ == pytest.approx(named.kl_divergence_, rel=0.05)
    exact = TSNE(metric="manhattan", method="exact", **how).fit(X)
    assert exact.kl_divergence_ == pytest.approx(named.kl_divergence_, rel=0.3)


def test_a_tensor_stays_a_tensor():
    torch = pytest.importorskip("torch")
    X, _ = blobs(60)
    how = {"perplexity": 10.0, "random_state": 0, "max_iter": 500}
    model = TSNE(**how).fit(torch.asarray(X))
    assert isinstance(model.embedding_, torch.Tensor)
    assert trustworthiness(X, model.embedding_) > 0.9
    assert model.kl_divergence_ < 0.2 * model.history_["objective"][0]
    with pytest.raises(ValueError, match="tensor"):
        TSNE(method="fft").fit(torch.asarray(X))


def test_start_given():
    X, _ = blobs(60)
    Y = np.random.default_rng(0).normal(size=(60, 2))
    kept = Y.copy()
    TSNE(init=Y, max_iter=250, perplexity=5.0).fit(X)
    np.testing.assert_array_equal(Y, kept)
    with pytest.raises(ValueError, match="init has shape"):
        TSNE(init=Y[:3], perplexity=5.0).fit(X)


def test_stops_when_nothing_is_gained():
    X, _ = blobs(60)
    model = TSNE(perplexity=10.0, min_grad_norm=1e3, random_state=0).fit(X)
    assert model.n_iter_ == 49
    assert model.converged_
    model = TSNE(perplexity=10.0, n_iter_without_progress=-1, random_state=0).fit(X)
    assert model.n_iter_ == 299


def test_odd_data():
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same = TSNE(perplexity=3.0, random_state=0).fit_transform(np.ones((20, 3)))
        one = TSNE(perplexity=3.0, random_state=0).fit_transform(
            rng.normal(size=(30, 1))
        )
    assert np.isfinite(same).all()
    assert np.isfinite(one).all()
    with pytest.warns(UserWarning, match="perplexity"):
        few = TSNE(random_state=0).fit(rng.normal(size=(10, 2)))
    assert few.perplexity_ == 3.0
    with pytest.raises(ValueError, match="one or two"):
        TSNE(3, method="fft").fit(rng.normal(size=(40, 4)))
    with pytest.raises(ValueError, match="three"):
        TSNE(4, method="barnes_hut").fit(rng.normal(size=(40, 5)))
    with pytest.raises(ValueError, match="init"):
        TSNE(metric="precomputed").fit(np.zeros((40, 40)))


def kl_at(z, p, rows, Y, a):
    """KL of a place on a fixed map but for sum p log p, as the equation reads."""
    w = (1 + ((Y - z) ** 2).sum(axis=1) / a) ** (-(a + 1) / 2)
    return -np.sum(p * np.log(w[rows] / w.sum()))


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_new_rows_land_at_a_minimum(m):
    rng = np.random.default_rng(m)
    Y, a = 5.0 * rng.normal(size=(80, m)), max(m - 1, 1)
    D = np.sort(rng.uniform(1.0, 9.0, size=(6, 16)), axis=1)
    rows = np.array([np.argsort(((Y - y) ** 2).sum(axis=1))[:16] for y in Y[:6]])
    Z, value = placing.place_rows(D, rows, np.ascontiguousarray(Y.T), a, 5.0)
    P = conditional_affinities(D, 5.0)
    for i in range(6):
        here = kl_at(Z[i], P[i], rows[i], Y, a)
        assert value[i] == pytest.approx(here, rel=1e-9)
        starts = [kl_at(Y[j], P[i], rows[i], Y, a) for j in rows[i]]
        pulls = [
            P[i] @ np.log1p(((Y[rows[i]] - Y[j]) ** 2).sum(axis=1) / a) for j in rows[i]
        ]
        assert here <= starts[int(np.argmin(pulls))]
        for step in 0.05 * np.concatenate([np.eye(m), -np.eye(m)]):
            assert kl_at(Z[i] + step, P[i], rows[i], Y, a) > here - 1e-5


def test_new_rows_join_their_blob():
    X, labels = blobs(150)
    new = np.arange(len(X)) % 5 == 0
    how = {"perplexity": 10.0, "random_state": 0}
    model = TSNE(**how).fit(X[~new])
    kept = model.embedding_.copy()
    Z = model.place(X[new])
    np.testing.assert_array_equal(model.embedding_, kept)
    near = np.argmin(((Z[:, None] - kept[None]) ** 2).sum(axis=2), axis=1)
    np.testing.assert_array_equal(labels[~new][near], labels[new])
    np.testing.assert_array_equal(model.place(X[new][3:4])[0], Z[3])
    one = TSNE(n_jobs=1, **how).fit(X[~new])
    np.testing.assert_array_equal(one.place(X[new]), Z)
    np.testing.assert_array_equal(model.place(sp.csr_array(X[new])), Z)
    sparse = TSNE(**how).fit(sp.csr_array(X[~new]))
    Z = sparse.place(X[new])
    np.testing.assert_array_equal(sparse.place(sp.csr_array(X[new])), Z)

    def far(A, B):
        return np.sqrt(((A[:, None] - B[None]) ** 2).sum(axis=2))

    given = TSNE(metric="precomputed", init="random", **how)
    given.fit(far(X[~new], X[~new]))
    Z = given.place(far(X[new], X[~new]))
    near = np.argmin(((Z[:, None] - given.embedding_[None]) ** 2).sum(axis=2), axis=1)
    np.testing.assert_array_equal(labels[~new][near], labels[new])
    with pytest.raises(ValueError, match="perplexity"):
        model.place(X[new], perplexity=0.5)


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("method", ["auto", "fft", "exact", "barnes_hut"])
def test_very_few_rows(n, method):
    X = np.random.default_rng(0).normal(size=(n, 3))
    model = TSNE(perplexity=1.0, max_iter=250, method=method, random_state=0).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.place(X)).all()


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_float32_whose_squares_do_not_fit(scale):
    X = (blobs(60)[0] * scale).astype(np.float32)
    model = TSNE(perplexity=10.0, max_iter=300, random_state=0).fit(X)
    assert model.embedding_.dtype == np.float32
    assert trustworthiness(X.astype(np.float64) / scale, model.embedding_) > 0.7
    assert np.isfinite(model.place(X[:3])).all()

"""t-SNE: affinities, the push three ways, its gradient, what it makes of blobs."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import manifold as peer

from pansophy.manifold import TSNE, trustworthiness
from pansophy.manifold.any_metric_neighbors import neighbors_of_rows
from pansophy.manifold.tsne import place_rows
from pansophy.manifold.tsne_affinities import (
    conditional_affinities,
)


def blobs(n=150, d=6, k=3, seed=0, far=15.0):
    rng = np.random.default_rng(seed)
    z = np.arange(n) % k
    return rng.normal(size=(n, d)) + far * np.eye(k, d)[z], z


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
    assert exact.kl_divergence_ == pytest.approx(named.kl_divergence_, rel=0.1)


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
    assert model.n_iter_ == 299  # the first phase is never cut short
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
        zeros = TSNE(perplexity=3.0, random_state=0).fit_transform(np.zeros((20, 3)))
    assert np.isfinite(same).all()
    assert np.isfinite(zeros).all()
    assert np.isfinite(one).all()
    for perplexity in (10, 30):
        with pytest.raises(ValueError, match="must be less than n_samples"):
            TSNE(perplexity=perplexity).fit(rng.normal(size=(10, 2)))
    with pytest.raises(ValueError, match="one or two"):
        TSNE(3, method="fft").fit(rng.normal(size=(40, 4)))
    with pytest.raises(ValueError, match="at most 3"):
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
    Z, value = place_rows(D, rows, np.ascontiguousarray(Y.T), a, 5.0)
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


@pytest.mark.parametrize("method", ["exact", "barnes_hut"])
def test_few_rows_reach_the_objective_of_scikit_learn(method):
    """The mean KL over seeds, where neighbourhoods are nearly as large as the data."""
    for n, perplexity in ((50, 30.0), (40, 10.0)):
        ours, theirs = [], []
        for seed in range(3):
            X = np.random.RandomState(seed).randn(n, 2)
            how = {"method": method, "perplexity": perplexity, "random_state": seed}
            ours.append(TSNE(**how).fit(X).kl_divergence_)
            theirs.append(peer.TSNE(**how).fit(X).kl_divergence_)
        assert np.mean(ours) <= np.mean(theirs) * 1.1 + 0.002


@pytest.mark.parametrize("method", ["auto", "exact"])
def test_the_scale_of_the_rows_does_not_matter(method):
    X, _ = blobs(60)
    how = {"perplexity": 10.0, "random_state": 0, "max_iter": 300, "method": method}
    want = TSNE(**how).fit(X).kl_divergence_
    for scale in (2.0**600, 2.0**-600):
        got = TSNE(**how).fit(X * scale)
        assert got.kl_divergence_ == pytest.approx(want, rel=1e-6)
        assert np.isfinite(got.place(X[:3] * scale)).all()
    X[3, 2] = 1e300
    assert np.isfinite(TSNE(**how).fit(X).embedding_).all()

"""Variational latent Dirichlet allocation: scikit-learn's numbers, planted topics."""

import numpy as np
import pytest
from numba import njit
from scipy import sparse
from scipy.special import psi
from sklearn.decomposition import LatentDirichletAllocation as Peer

import pansophy
from pansophy.decomposition import LatentDirichletAllocation
from pansophy.decomposition._latent_dirichlet_allocation import exp_digamma
from pansophy.text import sample_topic_corpus


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(40, 0.1), size=4)
    X, theta = sample_topic_corpus(phi, rng.integers(20, 80, 150), random_state=1)
    return X.astype(float), phi, theta


def test_digamma():
    x = np.concatenate([10.0 ** np.arange(-8, 300, 4), np.linspace(0.01, 20, 300)])
    call = njit(lambda v: exp_digamma(v))
    found = np.array([call(v) for v in x])
    np.testing.assert_allclose(found, np.exp(psi(x)), rtol=2e-9, atol=1e-300)
    assert call(0.0) == 0.0


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("method", ["batch", "online"])
def test_numbers_of_scikit_learn(corpus, method, kind):
    X = sparse.csr_matrix(corpus[0]) if kind == "sparse" else corpus[0]
    options = {
        "learning_method": method, "random_state": 3, "max_iter": 4, "batch_size": 40,
        "mean_change_tol": 1e-4,
    }  # fmt: skip
    ours = LatentDirichletAllocation(4, **options).fit(X)
    peer = Peer(4, **options).fit(X)
    np.testing.assert_allclose(ours.components_, peer.components_, rtol=1e-5)
    np.testing.assert_allclose(
        ours.exp_dirichlet_component_, peer.exp_dirichlet_component_, rtol=1e-5
    )
    np.testing.assert_allclose(ours.transform(X), peer.transform(X), rtol=1e-5)
    np.testing.assert_allclose(
        ours.transform(X, normalize=False),
        peer.transform(X, normalize=False),
        rtol=1e-5,
    )
    assert ours.score(X) == pytest.approx(peer.score(X), rel=1e-7)
    assert ours.bound_ == pytest.approx(peer.bound_, rel=1e-7)
    for sub in (False, True):
        assert ours.perplexity(X[:50], sub) == pytest.approx(
            peer.perplexity(X[:50], sub), rel=1e-7
        )
    assert ours.n_batch_iter_ == peer.n_batch_iter_
    assert ours.n_iter_ == peer.n_iter_
    more = corpus[0][:60]
    ours.partial_fit(more)
    peer.partial_fit(more)
    np.testing.assert_allclose(ours.components_, peer.components_, rtol=1e-5)


def test_planted_topics(corpus):
    X, phi, theta = corpus
    starts = [
        LatentDirichletAllocation(4, max_iter=30, random_state=i).fit(X)
        for i in range(6)
    ]
    model = min(starts, key=lambda m: m.bound_)
    found = model.components_ / model.components_.sum(axis=1, keepdims=True)
    gaps = np.abs(found[:, None] - phi[None]).sum(axis=2)
    assert sorted(gaps.argmin(axis=1)) == [0, 1, 2, 3]
    assert gaps.min(axis=1).max() < 0.35
    shares = model.transform(X)[:, gaps.argmin(axis=0)]
    assert np.abs(shares - theta).mean() < 0.12
    bounds = model.history_["objective"]
    assert bounds[-1] < bounds[0]


def test_perplexity_stops_and_partial_fit_goes_on(corpus):
    X = corpus[0]
    model = LatentDirichletAllocation(
        4, evaluate_every=1, perp_tol=5.0, max_iter=50, random_state=0
    ).fit(X)
    assert model.n_iter_ < 50
    parts = LatentDirichletAllocation(4, random_state=0, total_samples=150)
    first = LatentDirichletAllocation(4, random_state=0, total_samples=150)
    for at in range(0, 150, 50):
        parts.partial_fit(X[at : at + 50])
    first.partial_fit(X[:50])
    assert parts.perplexity(X) < first.perplexity(X)
    assert LatentDirichletAllocation(3, max_iter=0).fit(X).n_iter_ == 0


def test_order_of_words_and_threads_do_not_matter(corpus, rng):
    X = corpus[0]
    one = LatentDirichletAllocation(3, random_state=0, n_jobs=1).fit(X)
    two = LatentDirichletAllocation(3, random_state=0, n_jobs=2).fit(X)
    np.testing.assert_array_equal(one.components_, two.components_)
    order = rng.permutation(X.shape[1])
    moved = LatentDirichletAllocation(3, random_state=0).fit(X)
    moved.components_ = one.components_[:, order]
    moved.exp_dirichlet_component_ = one.exp_dirichlet_component_[:, order]
    np.testing.assert_allclose(
        moved.transform(X[:, order]), one.transform(X), rtol=1e-9
    )


def test_types_and_files(corpus, tmp_path):
    X = corpus[0].astype(np.float32)
    model = LatentDirichletAllocation(3, random_state=0).fit(X)
    assert model.components_.dtype == model.transform(X).dtype == np.float32
    pansophy.save(model, tmp_path / "m.pansophy")
    again = pansophy.load(tmp_path / "m.pansophy")
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    again.partial_fit(X)
    empty = model.transform(np.zeros((1, X.shape[1]), np.float32))
    np.testing.assert_allclose(empty, 1 / 3, rtol=1e-5)
    with pytest.raises(ValueError, match="Negative values"):
        model.transform(-X)
    with pytest.raises(ValueError, match="learning_method"):
        LatentDirichletAllocation(learning_method="gibbs").fit(X)

"""pLSA: likelihood that never falls, both forms, factorisation, planted topics."""

import numpy as np
import pytest
from scipy import sparse

from pansophy.text import PLSA, sample_topic_corpus
from pansophy.text.topics.plsa import Topics, csr_arrays, expect_topics, maximise_topics

PHI = np.array([[5, 5, 4, 1, 0, 0], [0, 0, 1, 4, 5, 5]]) / 15
X, THETA = sample_topic_corpus(PHI, np.full(60, 80), alpha=0.3, random_state=0)


def test_likelihood_never_falls_and_rows_are_shares():
    model = PLSA(2, random_state=0, tol=1e-9, max_iter=500)
    theta = model.fit_transform(X)
    assert (np.diff(model.history_["objective"]) <= 1e-12).all()
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)
    np.testing.assert_allclose(theta.sum(axis=1), 1)
    assert model.topic_shares_.sum() == pytest.approx(1)


def test_planted_topics_are_found():
    model = PLSA(2, random_state=1, n_init=2).fit(X)
    order = np.argsort(model.components_[:, 0])[::-1]
    np.testing.assert_allclose(model.components_[order], PHI, atol=0.05)
    found = model.transform(X)[:, order]
    assert np.abs(found - THETA).mean() < 0.06


def test_step_is_that_of_kl_factorisation():
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(np.ones(3), 60)
    phi = rng.dirichlet(np.ones(6), 3).T.copy()
    stats, value = expect_topics(csr_arrays(X), np.ones(60), Topics(theta, phi))
    new = maximise_topics(stats)
    ratio = X / (theta @ phi.T)
    W = theta * (ratio @ phi)  # multiplicative updates, then rows that sum to 1
    H = phi.T * (theta.T @ ratio)
    np.testing.assert_allclose(new.theta, W / W.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(new.phi.T, H / H.sum(axis=1, keepdims=True))
    assert value == pytest.approx(np.sum(X * np.log(theta @ phi.T)))


def test_symmetric_form_is_the_same_model():
    model = PLSA(2, random_state=0, tol=1e-9, max_iter=2000)
    theta = model.fit_transform(X)
    p_d = X.sum(axis=1) / X.sum()
    p_z = p_d @ theta
    np.testing.assert_allclose(p_z, model.topic_shares_, atol=1e-3)
    p_d_given_z = theta * p_d[:, None] / p_z
    symmetric = (p_d_given_z * p_z) @ model.components_
    np.testing.assert_allclose(symmetric, p_d[:, None] * (theta @ model.components_))


def test_weights_sparse_and_empty_documents():
    w = np.arange(60) % 3
    weighted = PLSA(2, random_state=0).fit(X, sample_weight=w)
    repeated = PLSA(2, random_state=0).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-8)
    again = PLSA(2, random_state=0).fit(sparse.csr_array(X), sample_weight=w)
    np.testing.assert_array_equal(again.components_, weighted.components_)
    np.testing.assert_allclose(weighted.transform(np.zeros((1, 6))), [[0.5, 0.5]])
    assert weighted.perplexity(X) < 6
    with pytest.raises(ValueError, match="Negative values"):
        PLSA(2).fit(-X)

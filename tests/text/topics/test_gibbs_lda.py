"""LDA: planted topics, counts that stay consistent, the joint, new documents."""

import numpy as np
import pytest

from pansophy.text import (
    GibbsLDA,
    sample_topic_corpus,
    top_words,
    topic_coherence,
)
from pansophy.text.topics import _topic_models as loops
from pansophy.text.topics.gibbs_lda import initial_topics, topic_log_joint

PHI = np.array([[5, 5, 4, 1, 0, 0], [0, 0, 1, 4, 5, 5]]) / 15

ONES = np.ones(300, np.float32)


def no_words(shape, K):
    none = np.empty(0, np.int32)
    return initial_topics(none, none, ONES[:0], shape, K, np.random.default_rng(0))


@pytest.fixture(scope="module")
def corpus():
    return sample_topic_corpus(PHI, np.full(80, 60), alpha=0.3, random_state=0)


def test_planted_topics_are_found(corpus):
    X, theta = corpus
    model = GibbsLDA(2, random_state=0, doc_topic_prior=0.3).fit(X)
    order = np.argsort(model.components_[:, 0])[::-1]
    phi = (model.components_ / model.components_.sum(axis=1, keepdims=True))[order]
    np.testing.assert_allclose(phi, PHI, atol=0.05)
    assert np.abs(model.transform(X)[:, order] - theta).mean() < 0.06
    rises = -model.history_["objective"]
    assert rises[-20:].mean() > rises[:3].mean()
    assert model.perplexity(X) < 6


@pytest.mark.parametrize("K", [2, 17, 40])
def test_counts_stay_consistent(K):
    rng = np.random.default_rng(0)
    documents = rng.integers(0, 7, 300).astype(np.int32)
    words = rng.integers(0, 11, 300).astype(np.int32)
    state = initial_topics(documents, words, ONES, (7, 11), K, rng)
    beta = np.float32(0.1)
    inverse = (1 / (state.counts.topics + 11 * beta)).astype(np.float32)
    inverse[K:] = 0
    running = np.empty(len(inverse), np.float32)
    stream = np.array([7], np.uint64)
    for _ in range(5):
        loops.gibbs_sweep(
            documents, words, ONES, state.z, state.counts, np.float32(0.1), beta,
            stream, inverse, running,
        )  # fmt: skip
        again = no_words((7, 11), K)
        loops.add_assignments(documents, words, ONES, state.z, again.counts)
        for a, b in zip(state.counts, again.counts):
            np.testing.assert_array_equal(a, b)
        expected = 1 / (state.counts.topics + 11 * beta)
        np.testing.assert_allclose(inverse[:K], expected[:K], rtol=1e-6)
        assert state.z.max() < K


def test_draws_follow_the_conditional():
    # one word whose topic is drawn many times, given fixed others
    documents = np.zeros(4, np.int32)
    words = np.array([0, 0, 1, 1], np.int32)
    share = np.zeros(3)
    stream = np.array([1], np.uint64)
    for _ in range(4000):
        z = np.array([2, 0, 1, 1], np.int32)
        state = no_words((1, 2), 3)
        loops.add_assignments(documents, words, ONES, z, state.counts)
        inverse = (1 / (state.counts.topics + 2 * 0.5)).astype(np.float32)
        inverse[3:] = 0
        loops.gibbs_sweep(
            documents[:1], words[:1], ONES, z[:1], state.counts, np.float32(0.5),
            np.float32(0.5), stream, inverse, np.empty(8, np.float32),
        )  # fmt: skip
        share[z[0]] += 1 / 4000
    p = np.array([1.5 * 1.5 / 2, 2.5 * 0.5 / 3, 0.5 * 0.5 / 1])
    np.testing.assert_allclose(share, p / p.sum(), atol=0.03)


def test_joint_of_a_small_case():
    # two documents of one word each: enumerate p(w, z) by sequential draws
    documents, words = np.array([0, 1], np.int32), np.array([0, 0], np.int32)
    state = no_words((2, 2), 2)
    loops.add_assignments(documents, words, ONES, np.zeros(2, np.int32), state.counts)
    # p(z) = 1/2 each; p(w) = 1/2, then (1 + b) / (1 + 2 b) given the first
    expected = np.log(0.5 * 0.5) + np.log(0.5 * (1 + 0.1) / (1 + 0.2))
    assert topic_log_joint(state.counts, 0.3, 0.1, 2) == pytest.approx(expected)


def test_fractions_are_words_of_less_weight(corpus):
    X, _ = corpus
    whole = GibbsLDA(2, random_state=0, max_iter=60).fit(X)
    half = GibbsLDA(2, random_state=0, max_iter=60).fit(X + 0.25)
    total = half.components_.sum() - 2 * 6 * half.topic_word_prior_
    assert total == pytest.approx((X + 0.25).sum(), rel=1e-5)
    close = lambda m: np.sort(m.components_ / m.components_.sum(1, keepdims=True), 0)
    np.testing.assert_allclose(close(half), close(whole), atol=0.06)


def test_same_seed_same_topics(corpus):
    X, _ = corpus
    fit = lambda: GibbsLDA(3, max_iter=20, random_state=5).fit(X)
    np.testing.assert_array_equal(fit().components_, fit().components_)


def test_order_of_documents_does_not_matter(corpus):
    X, _ = corpus
    shares = []
    for rows in (np.arange(80), np.random.default_rng(1).permutation(80)):
        model = GibbsLDA(2, random_state=0, doc_topic_prior=0.3).fit(X[rows])
        C = model.components_[np.argsort(-model.components_[:, 0])]
        shares.append(C / C.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(shares[0], shares[1], atol=0.02)


def test_new_documents_leave_the_model_alone(corpus):
    X, _ = corpus
    model = GibbsLDA(2, random_state=0, max_iter=30).fit(X[:60])
    before = model.components_.copy()
    together = model.transform(X[60:])
    np.testing.assert_array_equal(model.components_, before)
    # a document's shares do not depend on those beside it
    alone = np.concatenate([model.transform(row[None]) for row in X[60:]])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    np.testing.assert_allclose(together.sum(axis=1), 1.0)


def test_words_and_coherence(corpus):
    X, _ = corpus
    words = top_words(PHI, list("abcdef"), 3)
    assert words == [["a", "b", "c"], ["e", "f", "d"]]
    good = topic_coherence(PHI, X, 3)
    mixed = topic_coherence(PHI[:, [0, 4, 1, 3, 5, 2]], X, 3)
    assert good.mean() > mixed.mean()


def test_bad_input():
    with pytest.raises(ValueError, match="Negative values"):
        GibbsLDA(2).fit([[-1.0, 1.0]])


def test_normalised_coherence_by_hand():
    X = np.array([[1, 1, 0, 2], [1, 0, 1, 1], [1, 1, 0, 0], [1, 0, 0, 3]])
    # words 1 and 3: p = 1/4, p_1 = 1/2, p_3 = 3/4
    expected = np.log((1 / 4) / (1 / 2 * 3 / 4)) / -np.log(1 / 4)
    weights = np.array([[0.0, 2.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.5]])
    found = topic_coherence(weights, X, n=2, measure="npmi")
    assert found[0] == pytest.approx(expected)
    assert found[1] == pytest.approx(0.0)  # word 0 is everywhere: independent
    everywhere = topic_coherence([[1.0, 1.0]], np.ones((3, 2)), n=2, measure="npmi")
    assert everywhere == pytest.approx([1.0])
    with pytest.raises(ValueError, match="measure"):
        topic_coherence(weights, X, measure="c_z")

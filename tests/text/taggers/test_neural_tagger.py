"""Neural taggers: BiLSTM-CRF and transformer, unknown words by their form."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from sklearn.exceptions import NotFittedError  # noqa: E402

import pansophy  # noqa: E402
from pansophy.text import NeuralTagger, most_frequent_tags  # noqa: E402
from tests.text.tagged_corpus import tagged_sentences  # noqa: E402

SMALL = {
    "embedding_size": 32, "hidden_size": 24, "n_epochs": 15, "learning_rate_init": 0.01,
    "random_state": 0, "device": "cpu",
}  # fmt: skip


@pytest.fixture(scope="module")
def corpus():
    return tagged_sentences(150, seed=0), tagged_sentences(60, seed=1)


@pytest.fixture(scope="module")
def bilstm(corpus):
    return NeuralTagger(**SMALL).fit(*corpus[0])


@pytest.mark.parametrize(
    "params",
    [
        {}, {"output": "softmax", "architecture": "gru"},
        {"architecture": "transformer", "n_heads": 2, "n_epochs": 25},
    ],
    ids=["bilstm_crf", "bigru", "transformer_crf"],
)  # fmt: skip
def test_context_and_unknown_words(corpus, params):
    (sentences, tags), (new, wanted) = corpus
    model = NeuralTagger(**{**SMALL, **params}).fit(sentences, tags)
    usual = most_frequent_tags(sentences, tags)
    words = [w for s in new for w in s]
    true = np.array([t for part in wanted for t in part])
    predicted = model.predict(new)
    assert [len(t) for t in predicted] == [len(s) for s in new]
    found = np.array([t for part in predicted for t in part])
    ambiguous = np.isin(words, ["can", "fish", "light"])
    baseline = np.mean([usual[w] == t for w, t, a in zip(words, true, ambiguous) if a])
    assert np.mean(found[ambiguous] == true[ambiguous]) > baseline + 0.15
    unknown = np.array([w not in usual for w in words])
    assert np.mean(found[unknown] == true[unknown]) > 0.9
    assert model.score(new, wanted) == np.mean(found == true)


def test_probabilities_and_padding(bilstm, corpus):
    new = corpus[1][0][:8]
    P = bilstm.predict_proba(new)
    assert [len(p) for p in P] == [len(s) for s in new]
    np.testing.assert_allclose(np.concatenate(P).sum(axis=1), 1.0)
    alone = bilstm.predict_proba(new[2:3])[0]
    np.testing.assert_allclose(alone, P[2], atol=1e-5)  # other sentences do not matter


def test_unknown_words_of_the_same_form_are_the_same(bilstm):
    one, two = bilstm.predict_proba([["the", "quulation"], ["the", "quwbvation"]])
    np.testing.assert_allclose(one, two, atol=1e-6)


def test_validation_warm_start_and_partial_fit(corpus):
    train, test = corpus
    stopped = NeuralTagger(**{**SMALL, "n_epochs": 6}).fit(*train, validation=test)
    assert "valid_loss" in stopped.history_
    warm = NeuralTagger(**{**SMALL, "n_epochs": 3}, warm_start=True).fit(*train)
    before = warm.loss_
    assert warm.fit(*train).loss_ < before
    online = NeuralTagger(**SMALL)
    classes = sorted({t for part in train[1] for t in part})
    online.partial_fit(train[0][:50], train[1][:50], classes=classes)
    first = online.score(*test)
    for _ in range(6):
        online.partial_fit(train[0], train[1])
    assert online.score(*test) > first
    assert online.transitions_.shape == (len(classes),) * 2


def test_save_load_same_seed_and_unfitted(bilstm, corpus, tmp_path):
    new = corpus[1][0]
    pansophy.save(bilstm, tmp_path / "model")
    assert pansophy.load(tmp_path / "model").predict(new) == bilstm.predict(new)
    again = NeuralTagger(**SMALL).fit(*corpus[0])
    np.testing.assert_array_equal(
        again.predict_proba(new)[0], bilstm.predict_proba(new)[0]
    )
    with pytest.raises(NotFittedError):
        NeuralTagger().predict(["a b"])
    with pytest.raises(ValueError, match="sentence 0 has 2 words, but 1 tags"):
        NeuralTagger().fit(["a b"], [["X"]])


def test_class_weight(corpus):
    (sentences, tags), (new, _) = corpus
    options = {**SMALL, "n_epochs": 2, "output": "softmax"}
    plain = NeuralTagger(**options).fit(sentences, tags)
    factors = {tag: 20.0 if tag == "R" else 1.0 for tag in plain.classes_.tolist()}
    weighted = NeuralTagger(**options, class_weight=factors).fit(sentences, tags)
    at = plain.classes_.tolist().index("R")
    mean = lambda model: np.concatenate(model.predict_proba(new))[:, at].mean()
    assert mean(weighted) > mean(plain)

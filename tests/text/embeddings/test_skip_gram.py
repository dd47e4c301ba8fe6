"""Skip-gram: the loop against plain Python, tables, planted meanings, repetition."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import pansophy
from pansophy.text import SkipGram
from pansophy.text.embeddings._skip_gram import SkipGramPlan, skip_gram_epoch
from pansophy.text.embeddings.skip_gram import (
    alias_table,
    keep_chances,
    sampling_tables,
)
from tests.oracles import skip_gram as oracle


def corpus(n=400, seed=0):
    """Animals and colours in sentences of their own kinds."""
    rng = np.random.default_rng(seed)
    kinds = [
        (["cat", "dog", "cow", "hen"], ["eats", "sleeps", "runs"]),
        (["red", "blue", "green", "grey"], ["paint", "cloth", "sky"]),
    ]
    sentences = []
    for _ in range(n):
        first, second = kinds[rng.integers(2)]
        sentences.append(["the", str(rng.choice(first)), str(rng.choice(second))])
    return sentences


@pytest.fixture(scope="module")
def model():
    return SkipGram(
        16, min_count=1, sample=0.0, n_epochs=10, learning_rate_init=0.1, random_state=0
    ).fit(corpus())


def test_alias_table_has_the_probabilities():
    p = np.array([5.0, 1.0, 3.0, 0.5])
    share, alias = alias_table(p)
    mass = np.zeros(4)
    for i in range(4):
        mass[i] += share[i] / (1 << 24) / 4
        mass[alias[i]] += (1 - share[i] / (1 << 24)) / 4
    np.testing.assert_allclose(mass, p / p.sum(), atol=1e-6)


def test_kept_tokens():
    """sqrt(t / f) + t / f by hand: f = 0.8 and 0.2 with t = 0.05."""
    found = keep_chances(np.array([80.0, 20.0]), 0.05)
    np.testing.assert_allclose(found, [0.25 + 0.0625, 0.5 + 0.25])
    assert keep_chances(np.array([80.0, 20.0]), 0.0).tolist() == [1.0, 1.0]
    assert keep_chances(np.array([1.0, 99.0]), 0.5)[0] == 1.0


def test_loop_is_the_plain_algorithm():
    rng = np.random.default_rng(0)
    sentences = [rng.integers(0, 7, n).tolist() for n in (5, 1, 9, 3)]
    counts = np.bincount(np.concatenate(sentences), minlength=7).astype(float)
    tables = sampling_tables(counts, 0.02)
    U = rng.normal(size=(7, 5)).astype(np.float32) / 2
    V = rng.normal(size=(7, 5)).astype(np.float32) / 2
    U_slow, V_slow = U.astype(float), V.astype(float)

    def draw(bits):
        word = (bits >> 32) % 7
        return (
            word if (bits & 0xFFFFFF) < tables.share[word] else int(tables.alias[word])
        )

    wanted = oracle.skip_gram_epoch(
        sentences, U_slow, V_slow, tables.keep, draw, (3, 4, 0.2, 0.1),
        oracle.Stream(17),
    )  # fmt: skip
    ids = np.concatenate(sentences).astype(np.int32)
    ends = np.cumsum([len(s) for s in sentences])
    plan = SkipGramPlan(3, 4, 0.2, 0.1, 8.0)
    stream = np.array([17], np.uint64)
    total, pairs = skip_gram_epoch(ids, ends, U, V, tables, plan, stream)
    assert pairs == wanted[1] > 10
    assert total == pytest.approx(wanted[0], rel=1e-3)
    np.testing.assert_allclose(U, U_slow, atol=2e-3)
    np.testing.assert_allclose(V, V_slow, atol=2e-3)


def test_words_of_a_kind_are_similar(model):
    animals, colours = {"cat", "dog", "cow", "hen"}, {"red", "blue", "green", "grey"}
    for kind in (animals, colours):
        for word in kind:
            near = [
                w.word
                for w in model.most_similar(word, n=6)
                if w.word in animals | colours
            ]
            assert near[0] in kind
            assert set(near[:3]) <= kind
    assert model.history_["objective"][-1] < 0.8 * model.history_["objective"][0]


def test_analogy_of_planted_relations():
    """man is to woman as king is to queen, where two features make the contexts."""
    rng = np.random.default_rng(0)
    contexts = {
        "man": ["he", "walks"], "woman": ["she", "walks"], "king": ["he", "rules"],
        "queen": ["she", "rules"],
    }  # fmt: skip
    sentences = []
    for _ in range(1500):
        word = str(rng.choice(list(contexts)))
        sentences.append([str(rng.choice(contexts[word])), word])
    model = SkipGram(
        8, min_count=1, sample=0.0, n_epochs=15, learning_rate_init=0.1, random_state=1
    ).fit(sentences)
    among = [w.word for w in model.analogy("man", "woman", "king", n=6)]
    order = [w for w in among if w in contexts]
    assert order[0] == "queen"
    same = model.most_similar(["woman", "king"], ["man"], n=1)
    assert same == model.analogy("man", "woman", "king")


def test_seeds_and_input_forms(model):
    again = SkipGram(**model.get_params()).fit(corpus())
    assert np.array_equal(again.vectors_, model.vectors_)
    texts = [" ".join(words).upper() for words in corpus()]
    again = SkipGram(**model.get_params()).fit(iter(texts))
    assert np.array_equal(again.vectors_, model.vectors_)
    other = SkipGram(**{**model.get_params(), "random_state": 1}).fit(corpus())
    assert not np.array_equal(other.vectors_, model.vectors_)


def test_mean_vectors_of_texts(model):
    found = model.transform(["The cat eats", "unknown words", "cat cat"])
    wanted = np.mean([model.vector(w) for w in ("the", "cat", "eats")], axis=0)
    np.testing.assert_allclose(found[0], wanted, atol=1e-6)
    assert not found[1].any()
    np.testing.assert_allclose(found[2], model.vector("cat"), atol=1e-6)
    listed = model.transform([["the", "cat", "eats"]])
    np.testing.assert_allclose(listed[0], wanted, atol=1e-6)


def test_vocabulary_and_errors(model, tmp_path):
    frequent = SkipGram(4, min_count=3, random_state=0).fit(["a b c a", "a b b d"])
    assert frequent.words_.tolist() == ["a", "b"]
    assert model.words_[0] == "the"
    with pytest.raises(KeyError, match="'zebra' has no vector"):
        model.vector("zebra")
    with pytest.raises(ValueError, match="lower min_count"):
        SkipGram().fit(["a b"])
    with pytest.raises(ValueError, match="have no words"):
        model.most_similar([])
    with pytest.raises(ValueError, match="all be texts or all lists"):
        SkipGram(min_count=1).fit(["a b", ["a", "b"]])
    with pytest.raises(NotFittedError):
        SkipGram().vector("a")
    pansophy.save(model, tmp_path / "model")
    again = pansophy.load(tmp_path / "model")
    assert again.most_similar("cat") == model.most_similar("cat")

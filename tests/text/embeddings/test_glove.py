"""GloVe: the objective falls to a fit of log counts, planted meanings."""

import numpy as np
import pytest

import pansophy
from pansophy.text import GloVe
from pansophy.text.embeddings._glove import GloVeVectors, glove_epoch
from pansophy.text.embeddings.cooccurrences import count_pairs
from tests.oracles.skip_gram import glove_objective
from tests.text.embeddings.test_skip_gram import corpus


def test_pairs_count_by_distance():
    X = count_pairs(
        np.array([0, 1, 2, 0]), np.array([3, 4]), 3, window=2, symmetric=True,
        by_distance=True,
    ).toarray()  # fmt: skip
    assert X.tolist() == [[0, 1, 0.5], [1, 0, 1], [0.5, 1, 0]]
    whole = count_pairs(np.array([0, 1, 2, 0]), np.array([3, 4]), 3, window=2)
    assert whole.dtype == np.int64
    assert whole.toarray().tolist() == [[0, 1, 1], [0, 0, 1], [0, 0, 0]]


def test_one_step_by_hand():
    one = lambda *values: np.array(values, np.float32)
    model = GloVeVectors(one([1.0]), one([2.0]), one(0.5), one(0.0))
    squares = GloVeVectors(*(np.ones_like(part) for part in model))
    total = glove_epoch(
        np.array([0]), np.array([0]), one(1.0), one(0.5), np.array([0]), model, squares,
        0.1,
    )  # fmt: skip
    error = 1 * 2 + 0.5 - 1.0  # 1.5; g = 0.75
    assert total == pytest.approx(0.5 * 0.5 * error**2)
    assert model.U[0, 0] == pytest.approx(1 - 0.1 * 1.5 / np.sqrt(1 + 1.5**2))
    assert model.V[0, 0] == pytest.approx(2 - 0.1 * 0.75 / np.sqrt(1 + 0.75**2))
    assert model.b[0] == pytest.approx(0.5 - 0.1 * 0.75 / np.sqrt(1 + 0.75**2))


def test_history_is_the_objective_and_products_are_log_counts():
    sentences = corpus(200)
    model = GloVe(12, min_count=1, n_epochs=200, x_max=5.0, random_state=0)
    model.fit(sentences)
    J = model.history_["objective"]
    assert J[-1] < 0.05 * J[0]
    X = np.array([[0.0, 3.0], [3.0, 1.0]])
    rng = np.random.default_rng(0)
    U, V, b, c = (rng.normal(size=s).astype(np.float32) for s in ((2, 3), (2, 3), 2, 2))
    wanted = glove_objective(X, U, V, b, c, 2.0, 0.5)
    i, j = np.nonzero(X)
    f = np.minimum(1, (X[i, j] / 2.0) ** 0.5).astype(np.float32)
    logs = np.log(X[i, j]).astype(np.float32)
    parts = GloVeVectors(U, V, b, c)
    squares = GloVeVectors(*(np.ones_like(part) for part in parts))
    found = glove_epoch(i, j, logs, f, np.arange(len(i)), parts, squares, 0.0)
    assert found == pytest.approx(wanted, rel=1e-5)


def test_words_of_a_kind_are_similar(tmp_path):
    options = {"min_count": 1, "x_max": 10.0, "n_epochs": 100, "random_state": 0}
    model = GloVe(8, **options).fit(corpus())
    for word, same, other in (("cat", "dog", "red"), ("blue", "green", "hen")):
        assert model.similarity(word, same) > model.similarity(word, other) + 0.02
    again = GloVe(8, **options).fit(corpus())
    assert np.array_equal(again.vectors_, model.vectors_)
    pansophy.save(model, tmp_path / "model")
    again = pansophy.load(tmp_path / "model")
    assert again.most_similar("cat") == model.most_similar("cat")


def test_no_pairs():
    with pytest.raises(ValueError, match="no two words"):
        GloVe(min_count=1).fit(["a", "b"])

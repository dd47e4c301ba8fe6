"""LSA over parts of words: the formulas by loops, forms of words, odd texts."""

import math
from collections import Counter

import numpy as np
import pytest

import pansophy
from pansophy.text import SubwordLSA
from pansophy.text.search.search_words import indexed_words
from pansophy.text.search.vector_index import parts_of_word

TEXTS = [
    "painting walls is work", "a painter paints walls", "paint paint the wall",
    "baking bread is work", "a baker bakes bread", "the bakery bakes", "naïve 日本 zz",
]  # fmt: skip


def weights_by_loops(texts, fitted_on, size):
    """t_g of texts, eq. (1), as dicts, and idf_g."""
    documents = [Counter(indexed_words(t)) for t in fitted_on]
    n = len(documents)
    held = Counter(w for d in documents for w in d)
    parts = Counter(
        g for d in documents for g in {g for w in d for g in parts_of_word(w, size)}
    )
    word_idf = lambda w: math.log(
        1 + (n - (held[w] or 1) + 0.5) / ((held[w] or 1) + 0.5)
    )
    gram_idf = {g: 1 + math.log((1 + n) / (1 + m)) for g, m in parts.items()}
    rows = []
    for text in texts:
        row = Counter()
        for word, count in Counter(indexed_words(text)).items():
            for gram in parts_of_word(word, size):
                if gram in gram_idf:
                    weight = (1 + math.log(count)) * word_idf(word)
                    row[gram] += weight * gram_idf[gram]
        rows.append(row)
    return rows, sorted(gram_idf)


@pytest.mark.parametrize("size", [3, 4])
def test_formulas_by_loops(size):
    model = SubwordLSA(3, ngram_size=size, random_state=0).fit(TEXTS)
    rows, grams = weights_by_loops(TEXTS, TEXTS, size)
    assert model.grams_.tolist() == grams
    T = np.array([[row[g] for g in grams] for row in rows])
    T /= np.linalg.norm(T, axis=1, keepdims=True)
    _, _, Vt = np.linalg.svd(T)
    new = ["repainted walls walls", "bakeries", "unknown baker", *TEXTS[:6]]
    rows, _ = weights_by_loops(new, TEXTS, size)
    Z = np.array([[row[g] for g in grams] for row in rows]) @ Vt[:3].T
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    found = model.transform(new)
    np.testing.assert_allclose(found @ found.T, Z @ Z.T, atol=1e-5)
    np.testing.assert_allclose(np.abs(found), np.abs(Z), atol=1e-5)
    # a text at right angles to all directions gets none
    assert (model.transform(["naïve zz"]) == 0).all()


def test_forms_of_words_are_near():
    model = SubwordLSA(2, random_state=0).fit(TEXTS[:6])
    Z = model.transform(["repainting", "painted", "bakeries", "qqqq", "", "? !"])
    assert Z[0] @ Z[1] > 0.95
    assert Z[0] @ Z[2] < 0.5
    assert (Z[3:] == 0).all()
    assert Z.dtype == np.float32


def test_order_of_texts_and_words():
    model = SubwordLSA(3, random_state=0).fit(TEXTS)
    other = SubwordLSA(3, random_state=0).fit(TEXTS[::-1])
    Z = model.transform(TEXTS)
    np.testing.assert_allclose(
        Z @ Z.T, other.transform(TEXTS) @ other.transform(TEXTS).T, atol=1e-4
    )
    turned = [" ".join(reversed(t.split())) for t in TEXTS]
    np.testing.assert_allclose(model.transform(turned), Z, atol=1e-6)


def test_small_and_odd_corpora(tmp_path):
    one = SubwordLSA(random_state=0).fit(["a single document"])
    assert one.projection_.shape[1] == 1
    assert abs(one.transform(["documents"])[0, 0]) == pytest.approx(1)
    with pytest.raises(ValueError, match="empty vocabulary"):
        SubwordLSA().fit(["", "!", "? ..."])
    with pytest.raises(ValueError, match="string object received"):
        SubwordLSA().fit("text")
    with pytest.raises(ValueError, match="ngram_size"):
        SubwordLSA(ngram_size=1).fit(TEXTS)
    few = SubwordLSA(2, max_features=5, random_state=0).fit(TEXTS)
    assert len(few.grams_) == 5
    many = SubwordLSA(2, random_state=0).fit(TEXTS * 40 + ["singular"])
    assert "singular" not in many.words_
    assert many.unknown_idf_ > many.word_idf_.max() - 1e-12
    pansophy.save(many, tmp_path / "model")
    np.testing.assert_array_equal(
        pansophy.load(tmp_path / "model").transform(TEXTS), many.transform(TEXTS)
    )
    assert few.get_feature_names_out().tolist() == ["subwordlsa0", "subwordlsa1"]

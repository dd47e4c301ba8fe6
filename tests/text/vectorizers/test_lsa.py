"""LSA: synonyms, the error of the approximation, texts without known words."""

import numpy as np
import pytest

from pansophy.text import LSA, CountVectorizer

TEXTS = ["car engine", "auto engine", "car road", "auto road", "sweet cake", "cake tea"]


def test_synonyms_have_the_same_direction():
    Z = LSA(2, random_state=0).fit(TEXTS).transform(["car", "auto", "cake"])
    cosine = Z @ Z.T
    assert cosine[0, 1] > 0.99
    assert abs(cosine[0, 2]) < 0.01
    model = LSA(2, random_state=0).fit(TEXTS)
    names = model.vectorizer_.get_feature_names_out().tolist()
    car, auto = (model.word_vectors()[names.index(w)] for w in ("car", "auto"))
    np.testing.assert_allclose(car, auto, atol=1e-8)


def test_error_is_the_sum_of_the_dropped_squares():
    model = LSA(3, vectorizer=CountVectorizer(), normalize=False, random_state=0)
    Z = model.fit_transform(TEXTS)
    T = CountVectorizer().fit_transform(TEXTS).toarray()
    s = np.linalg.svd(T, compute_uv=False)
    error = np.sum((T - Z @ model.components_) ** 2)
    assert error == pytest.approx(np.sum(s[3:] ** 2))
    np.testing.assert_allclose(model.singular_values_, s[:3])


def test_unknown_words_give_zeros():
    model = LSA(100, random_state=0).fit(TEXTS)
    assert len(model.components_) == len(TEXTS)
    assert (model.transform(["nothing known"]) == 0).all()
    assert model.get_feature_names_out()[:2].tolist() == ["lsa0", "lsa1"]

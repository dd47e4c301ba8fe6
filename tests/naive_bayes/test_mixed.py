"""Naive Bayes with any family, and with columns of several kinds."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from pansophy.distributions import Beta, Dirichlet, Gamma
from pansophy.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    MixedNB,
    MultinomialNB,
    NaiveBayes,
)
from pansophy.params import ParameterError

WEATHER = [
    row.split()
    for row in """Rainy Hot High F n; Rainy Hot High T n; Overcast Hot High F y
    Sunny Mild High F y; Sunny Cool Normal F y; Sunny Cool Normal T n
    Overcast Cool Normal T y; Rainy Mild High F n; Rainy Cool Normal F y
    Sunny Mild Normal F y; Rainy Mild Normal T y; Overcast Mild High T y
    Overcast Hot Normal F y; Sunny Mild High T n""".replace("\n", ";").split(";")
]


def close(a, b, tol=1e-10):
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol)


@pytest.mark.parametrize(
    ("day", "n"),
    [("Rainy Cool High T", 0.795417), ("Sunny Cool High T", 0.633431)],
)
def test_weather(day, n):
    X = np.array([row[:4] for row in WEATHER], dtype=object)
    y = [row[4] for row in WEATHER]
    model = make_pipeline(OrdinalEncoder(), NaiveBayes("categorical", alpha=0))
    p = model.fit(X, y).predict_proba([day.split()])[0]
    np.testing.assert_allclose(p, [n, 1 - n], atol=1e-6)
    joint = model[-1].predict_joint_log_proba(model[0].transform([day.split()]))
    expected = {"Rainy": [0.0205714, 0.0052910], "Sunny": [0.0137143, 1 / 126]}
    np.testing.assert_allclose(np.exp(joint[0]), expected[day[:5]], atol=1e-7)


def test_mixed_equals_pure_models(tables):
    X, C, y, w = tables
    for family, pure, A in [
        ("gaussian", GaussianNB(), X),
        ("multinomial", MultinomialNB(), C),
        ("categorical", CategoricalNB(), C),
        ("bernoulli", BernoulliNB(), (C > 1).astype(float)),
        ("poisson", NaiveBayes("poisson"), C),
    ]:
        mixed = MixedNB([family] * 5).fit(A, y, w)
        pure = pure.fit(A, y, w)
        close(mixed.predict_joint_log_proba(A), pure.predict_joint_log_proba(A))


def test_mixed_likelihood_is_the_product_of_its_blocks(rng):
    """Twenty columns, ten of categories and ten of numbers."""
    y = rng.integers(0, 2, 100)
    A = rng.integers(0, 3, (100, 10)).astype(float)
    B = rng.standard_normal((100, 10)) + y[:, None]
    X = np.hstack([A, B])
    cols = [("categorical", range(10)), ("gaussian", range(10, 20))]
    mixed = MixedNB(cols).fit(X, y)
    one, two = CategoricalNB().fit(A, y), GaussianNB().fit(B, y)
    log_prior = one.class_log_prior_
    close(
        mixed.predict_joint_log_proba(X),
        one.predict_joint_log_proba(A) + two.predict_joint_log_proba(B) - log_prior,
    )
    found = MixedNB().fit(X, y)
    close(found.predict_proba(X), mixed.predict_proba(X))
    assert [name for name, _ in found.groups_] == ["categorical", "gaussian"]


def test_mixed_columns_by_name_and_bad_ones(tables):
    pd = pytest.importorskip("pandas")
    X, _, y, _ = tables
    frame = pd.DataFrame({"a": X[:, 0], "b": (X[:, 1] > 0) * 1, "n": np.arange(240)})
    named = MixedNB({"gaussian": ["a"], "bernoulli": "b", "poisson": ["n"]})
    auto = MixedNB().fit(frame, y)
    close(named.fit(frame, y).predict_proba(frame), auto.predict_proba(frame))
    for bad, word in [
        (["gaussian"], "each of 3"),
        ([("gaussian", [0, 1])], "in one group"),
        ({"gaussian": ["a", "b"], "normal": ["n"]}, "normal"),
        ({"gaussian": ["a", "b", "z"]}, "'z'"),
    ]:
        with pytest.raises(ParameterError, match=word):
            MixedNB(bad).fit(frame, y)


def test_conjugate_priors(tables):
    _, C, y, _ = tables
    B = (C > 1).astype(float)
    pairs = [
        ("bernoulli", B, Beta(2.0, 2.0)),
        ("multinomial", C, Dirichlet(np.full(5, 2.0))),
    ]
    for family, A, prior in pairs:  # the mode under 1 + alpha is smoothing by alpha
        a = NaiveBayes(family, prior=prior).fit(A, y)
        b = NaiveBayes(family, alpha=1).fit(A, y)
        close(a.predict_proba(A), b.predict_proba(A))
    strong = NaiveBayes("poisson", prior=Gamma(3e9, 1e9)).fit(C, y)
    np.testing.assert_allclose(strong.distribution_[0].rate, 3, rtol=1e-6)
    with pytest.raises(ParameterError, match="conjugate"):
        NaiveBayes("bernoulli", prior=Gamma(1.0, 1.0)).fit(B, y)

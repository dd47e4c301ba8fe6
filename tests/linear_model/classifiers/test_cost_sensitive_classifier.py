"""Decisions by cost: thresholds, rejection, labels, any classifier underneath."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import Perceptron

from pansophy import losses
from pansophy.linear_model import CostSensitiveClassifier, LogisticRegression
from pansophy.params import ParameterError


def problem(k=2, n=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.argmax(X[:, :k] + rng.gumbel(size=(n, k)), axis=1)


@pytest.mark.parametrize(
    ("costs", "expected"), [((1, 1), 0.5), ((1, 9), 0.1), ((5, 1), 0.833333)]
)
def test_two_classes_are_a_threshold(costs, expected):
    X, y = problem()
    threshold = losses.cost_threshold(*costs)
    assert threshold == pytest.approx(expected, abs=1e-6)
    table = [[0, costs[0]], [costs[1], 0]]
    model = CostSensitiveClassifier(cost_matrix=table).fit(X, y)
    p = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
    assert (model.predict(X) == (p > threshold)).all()


def test_unit_costs_are_the_most_probable_class():
    X, y = problem(3)
    plain = LogisticRegression().fit(X, y)
    model = CostSensitiveClassifier(LogisticRegression()).fit(X, y)
    assert (model.predict(X) == plain.predict(X)).all()
    assert model.score(X, y) == plain.score(X, y)
    assert model.mean_cost(X, y) == pytest.approx(1 - plain.score(X, y))
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_allclose(model.expected_costs(X), 1 - model.predict_proba(X))


def test_costs_paid_are_lowest_with_the_true_probabilities():
    X, y = problem(3, n=3000)
    table = np.array([[0.0, 1, 4], [2, 0, 1], [9, 3, 0]])
    model = CostSensitiveClassifier(cost_matrix=table).fit(X, y)
    plain = LogisticRegression().fit(X, y)
    paid = table[y, plain.predict(X)].mean()
    assert model.mean_cost(X, y) < paid
    again = CostSensitiveClassifier(cost_matrix=10 * table).fit(X, y)
    assert (again.predict(X) == model.predict(X)).all()


def test_rejection():
    X, y = problem()
    model = CostSensitiveClassifier(reject_cost=0.2, reject_label=-1).fit(X, y)
    p = model.predict_proba(X)[:, 1]
    rule = losses.reject_rule(p, 0.2)
    said = model.predict(X)
    assert said.dtype.kind == "i"
    assert (said == np.select([rule == 1, rule == -1], [1, 0], -1)).all()
    assert {-1, 0, 1} == set(said.tolist())
    assert losses.reject_rule([0.85, 0.5, 0.1], 0.2).tolist() == [1, 0, -1]
    always = CostSensitiveClassifier(reject_cost=0.0, reject_label=-1).fit(X, y)
    assert (always.predict(X) == -1).all() and always.mean_cost(X, y) == 0
    words = CostSensitiveClassifier(reject_cost=0.2).fit(X, np.array(["n", "p"])[y])
    assert set(words.predict(X).tolist()) == {"n", "p", "reject"}
    mixed = CostSensitiveClassifier(reject_cost=0.2).fit(X, y).predict(X)
    assert set(mixed.tolist()) == {0, 1, "reject"}
    w = np.arange(len(y)) % 3
    a = CostSensitiveClassifier().fit(X, y, sample_weight=w)
    b = CostSensitiveClassifier().fit(
        sp.csr_matrix(np.repeat(X, w, axis=0)), np.repeat(y, w)
    )
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-6)


def test_bad_choices():
    X, y = problem()
    for bad, says in [
        ({"cost_matrix": [[0, 1]]}, "2 x 2"),
        ({"cost_matrix": [[0, np.inf], [1, 0]]}, "finite"),
        ({"reject_cost": -1.0}, "reject_cost"),
        ({"reject_cost": 0.1, "reject_label": 1}, "one of the classes"),
        ({"estimator": Perceptron()}, "with predict_proba"),
    ]:
        with pytest.raises(ParameterError, match=says):
            CostSensitiveClassifier(**bad).fit(X, y)
    model = clone(
        CostSensitiveClassifier(DummyClassifier(), cost_matrix=[[0, 1], [1, 0]])
    )
    assert model.fit(X, y).predict(X[:2]).tolist() == [int(y.mean() > 0.5)] * 2

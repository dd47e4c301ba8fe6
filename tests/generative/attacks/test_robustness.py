"""Robustness curves: monotone, exact on a linear victim, weights."""

import numpy as np
import pytest
import torch

from pansophy.generative import robustness
from pansophy.linear_model import LogisticRegression
from pansophy.neural_network import MLPClassifier


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    return X, (X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=200) > 0).astype(int)


def test_linear_victim_by_its_margins(rows):
    """A row falls as soon as the budget times |w|_1 exceeds its margin."""
    X, y = rows
    model = LogisticRegression().fit(X, y)
    before = model.coef_.copy()
    margin = (2 * y - 1) * model.decision_function(X) / np.abs(model.coef_).sum()
    budgets = [0.1, 0.3, 0.6, 1.2]
    for attack in ("fgsm", "pgd"):
        found = robustness(model, X, y, budgets, attack=attack)
        exact = [np.mean(margin > b) for b in (0, *budgets)]
        np.testing.assert_allclose(found.accuracy, exact, atol=0.011)
        assert (np.diff(found.accuracy) <= 0).all()
        assert found.accuracy[0] == model.score(X, y)
    np.testing.assert_array_equal(model.coef_, before)
    first = np.array([0, *budgets, np.inf])[np.searchsorted([0, *budgets], margin)]
    agree = np.mean(found.smallest_budget == np.where(margin <= 0, 0, first))
    assert agree > 0.98


def test_curve_never_rises_for_a_net(rows):
    X, y = rows
    model = MLPClassifier((16,), solver="lbfgs", max_iter=200, random_state=0).fit(X, y)
    found = robustness(model, X, y, np.linspace(0.05, 1, 6), n_steps=5)
    assert (np.diff(found.accuracy) <= 0).all()
    assert found.accuracy[-1] < 0.3 < found.accuracy[0]
    assert 0 < found.score < 1
    np.testing.assert_allclose(
        found.score, np.trapezoid(found.accuracy, found.budgets) / found.budgets[-1]
    )


def test_weights_and_modules(rows):
    X, y = rows
    model = LogisticRegression().fit(X, y)
    w = np.random.default_rng(0).integers(0, 3, 200)
    found = robustness(model, X, y, [0.2, 0.5], attack="fgsm", sample_weight=w)
    again = robustness(
        model, np.repeat(X, w, axis=0), np.repeat(y, w), [0.2, 0.5], attack="fgsm"
    )
    np.testing.assert_allclose(found.accuracy, again.accuracy)
    net = torch.nn.Linear(2, 2).double()
    with torch.no_grad():
        net.weight.copy_(torch.as_tensor(np.r_[-model.coef_, model.coef_]))
        net.bias.copy_(torch.as_tensor(np.r_[-model.intercept_, model.intercept_]))
    same = robustness(net, X, y, [0.2, 0.5], attack="fgsm")
    plain = robustness(model, X, y, [0.2, 0.5], attack="fgsm")
    np.testing.assert_array_equal(same.accuracy, plain.accuracy)


def test_refusals(rows):
    X, y = rows
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="budgets must be"):
        robustness(model, X, y, [-0.1])
    with pytest.raises(ValueError, match="attack must be"):
        robustness(model, X, y, [0.1], attack="deepfool")

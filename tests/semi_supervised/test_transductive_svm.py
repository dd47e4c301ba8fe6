"""The transductive support vector machine."""

import numpy as np
import pytest

from pansophy.optim import check_gradient
from pansophy.params import ParameterError
from pansophy.semi_supervised import (
    TransductiveSVM,
)
from pansophy.semi_supervised.transductive_svm import (
    TransductiveProblem,
    entropy_cost,
    transductive_risk,
)
from pansophy.svm import LinearSVC
from tests.semi_supervised.small_sets import two_blobs


@pytest.mark.parametrize("loss", ["exp", "entropy"])
def test_two_blobs_with_one_label_each_are_separated(loss):
    X, truth = two_blobs()
    # labels far off the middle: the supervised boundary cuts through a blob
    X = np.vstack((X, [[-2.5, 6.0], [6.0, -6.0]]))
    truth = np.append(truth, [0, 1])
    y = np.full(len(X), -1)
    y[-2:] = 0, 1
    alone = LinearSVC().fit(X[-2:], [0, 1])
    model = TransductiveSVM(unlabeled_weight=0.5, unlabeled_loss=loss).fit(X, y)
    assert np.mean(alone.predict(X) == truth) < 0.95
    assert np.mean(model.predict(X) == truth) > 0.99


def test_no_unlabelled_weight_is_the_supervised_machine():
    X, truth = two_blobs(gap=2.0)
    y = np.where(np.arange(len(X)) % 3, truth, -1)
    model = TransductiveSVM(unlabeled_weight=0.0).fit(X, y)
    alone = LinearSVC().fit(X[y >= 0], y[y >= 0])
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    np.testing.assert_array_equal(model.intercept_, alone.intercept_)


@pytest.mark.parametrize("entropy", [False, True])
def test_the_gradient_of_the_risk(rng, entropy):
    X, Z = rng.normal(size=(8, 3)), rng.normal(size=(9, 3))
    y, c, e = np.sign(rng.normal(size=8)), rng.random(8), rng.random(9)
    problem = TransductiveProblem(X, y, c, Z, e, b=0.2, C=0.7, entropy=entropy)
    f = lambda w: transductive_risk(problem, w, 0.9)
    assert check_gradient(f, rng.normal(size=3)) < 1e-6


def test_the_mean_of_the_unlabelled_rows_is_balanced():
    X, _ = two_blobs()
    y = np.full(len(X), -1)
    y[[0, -1]] = 0, 1
    model = TransductiveSVM().fit(X, y)
    assert model.decision_function(X[y < 0]).mean() == pytest.approx(0.0, abs=1e-9)
    tilted = TransductiveSVM(balance=0.25).fit(X, y)
    assert tilted.decision_function(X[y < 0]).mean() == pytest.approx(-0.5, abs=1e-9)


def test_three_classes():
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1, 2], 40)
    centre = np.array([[0, 0], [8, 0], [0, 8.0]])
    X = centre[truth] + rng.normal(size=(120, 2))
    y = np.full(120, -1)
    y[[0, 40, 80]] = 0, 1, 2
    model = TransductiveSVM(unlabeled_weight=0.5).fit(X, y)
    assert model.coef_.shape == (3, 2)
    assert np.mean(model.transduction_ == truth) > 0.97


def test_a_balance_is_refused_for_three_classes():
    X, y = np.arange(9.0)[:, None], [0, -1, 0, 1, -1, 1, 2, -1, 2]
    with pytest.raises(ParameterError, match="balance is for two classes"):
        TransductiveSVM(balance=0.3).fit(X, y)


def test_the_entropy_term_is_the_entropy_in_bits():
    f = np.array([-300.0, -1.0, -0.2, 0.0, 0.2, 1.0, 300.0])
    p = 1 / (1 + np.exp(-4 * f[1:-1]))
    H = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
    found, slope = entropy_cost(f)
    np.testing.assert_allclose(found[1:-1], H, rtol=1e-12)
    np.testing.assert_allclose(found[[0, -1]], 0, atol=1e-300)
    assert found[3] == 1 and np.isfinite(slope).all()


def test_a_heavier_entropy_term_makes_surer_predictions():
    X, truth = two_blobs(gap=4.0)
    y = np.where(np.arange(len(X)) % 15 == 0, truth, -1)
    sure = []
    for weight in (0.0, 0.05, 0.5):
        model = TransductiveSVM(unlabeled_weight=weight, unlabeled_loss="entropy")
        f = model.fit(X, y).decision_function(X[y < 0])
        sure.append(entropy_cost(f)[0].mean())
    assert sure[0] > sure[1] > sure[2]

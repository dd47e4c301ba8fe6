"""The SGD engine against a plain oracle, for every loss, penalty and step rule."""

from typing import get_args

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from pansophy import losses, optim
from pansophy.linear_model import SGDClassifier, SGDRegressor
from pansophy.linear_model.sgd import sgd
from pansophy.linear_model.sgd.sgd_classifier import ClassificationLoss, loss_by_name
from pansophy.linear_model.sgd.sgd_regressor import RegressionLoss
from pansophy.losses import Loss
from pansophy.params import ParameterError
from tests.linear_model.sgd_objective import sgd_objective
from tests.linear_model.small_problems import linear_rows
from tests.oracles import sgd as oracle

CLASS_LOSSES = get_args(ClassificationLoss)
NUMBER_LOSSES = get_args(RegressionLoss)


PENALTIES = ("l2", "l1", "elasticnet", None)


@pytest.fixture(scope="module")
def data():
    return linear_rows()


RULES = [
    ("hinge", "optimal"),
    ("log_loss", "optimal"),
    ("squared_error", "invscaling"),
    ("huber", "constant"),
    ("modified_huber", "constant"),
    ("hinge", "pa1"),
    ("hinge", "pa2"),
]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize(("loss", "step"), RULES)
def test_rows_against_the_oracle(data, loss, step, penalty, average, sparse):
    X, y = data[0][:60] * (np.abs(data[0][:60]) > 0.7), np.sign(data[1][:60])
    X[:, 0] = data[0][:60, 0]  # no row is empty
    w = np.linspace(0.5, 1.5, 60)
    model = SGDClassifier(
        loss,
        penalty=penalty,
        alpha=0.01,
        l1_ratio=0.4,
        learning_rate=step,
        eta0=0.1,
        average=average,
        shuffle=False,
        max_iter=2,
        tol=None,
    )
    model.fit(sp.csr_matrix(X) if sparse else X, y, sample_weight=w)
    rule = model._rule()._asdict() | {"step": step}
    part = loss_by_name(loss, 0.1)
    low = 0.0 if part.domain == "fraction" else -1.0
    targets = np.where(y > 0, 1.0, low)
    u, b = oracle.run(X, targets, w, part, rule, passes=2, average=average)
    np.testing.assert_allclose(model.coef_[0], u, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, [b], rtol=1e-8, atol=1e-10)


CHAINS = {
    "momentum": (optim.momentum(0.01), lambda s: 0.1),
    "nesterov": (optim.nesterov(0.01), lambda s: 0.1),
    "adagrad": (optim.adagrad(0.01), lambda s: np.sqrt(s[0]) + 1e-8),
    "rmsprop": (optim.rmsprop(0.01), lambda s: np.sqrt(s[0]) + 1e-8),
    "adam": (
        optim.adam(0.01),
        lambda s: np.sqrt(s[0][1][0] / (1 - 0.999 ** s[0][1][1])) + 1e-8,
    ),
}


@pytest.mark.parametrize("penalty", ["l2", "elasticnet"])
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("step", CHAINS)
def test_vector_rules_against_the_chains_of_optim(data, step, batch, penalty):
    X, y = data[0][:40], data[1][:40]
    how = {"alpha": 0.05, "l1_ratio": 0.5, "penalty": penalty, "batch_size": batch}
    model = SGDRegressor(
        learning_rate=step, eta0=0.01, shuffle=False, max_iter=2, tol=None, **how
    )
    l1, l2 = sgd.l1_l2_strengths(penalty, 0.05, 0.5)
    chain, divisor = CHAINS[step]
    args = (losses.half_squared, chain, divisor, l1, l2, 0.01, batch, 2)
    w, b = oracle.run_batches(X, y, *args)
    for rows in (X, sp.csr_matrix(X)):
        model.fit(rows, y)
        np.testing.assert_allclose(model.coef_, w, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(model.intercept_, [b], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("step", sgd.LEARNING_RATES)
@pytest.mark.parametrize("kind", ["class", "number"])
def test_every_loss_and_penalty_lowers_the_objective(data, kind, step):
    X, y = data
    cls, names = SGDClassifier, CLASS_LOSSES
    if kind == "number":
        cls, names = SGDRegressor, NUMBER_LOSSES
    if step in ("pa1", "pa2"):
        names = ["hinge" if kind == "class" else "epsilon_insensitive"]
    for loss in names:
        if step == "optimal" and loss in ("exponential", "poisson", "gamma"):
            with pytest.raises(ParameterError, match="steps too far"):
                cls(loss, learning_rate=step).fit(X, np.sign(y) + 2)
            continue
        targets = np.exp(y / 4) if loss in ("poisson", "gamma") else y
        targets = np.sign(y) if kind == "class" else targets
        for penalty in PENALTIES:
            how = {"learning_rate": step, "penalty": penalty, "alpha": 0.01}
            model = cls(loss, eta0=0.005, max_iter=6, tol=None, random_state=0, **how)
            model.fit(X, targets)
            before = cls(loss, penalty=penalty, alpha=0.01)
            before.coef_, before.intercept_ = 0 * model.coef_, 0 * model.intercept_
            after = sgd_objective(model, X, targets)
            if loss == "perceptron":  # 0 at 0 already: it must learn all the same
                assert model.score(X, targets) > 0.85
            else:
                assert after < 0.99 * sgd_objective(before, X, targets), (loss, penalty)


def own_loss(loss):
    """The same loss as a user would write it, unknown to compiled passes."""
    own = lambda function: lambda y, f, a: function(y, f)
    made = Loss(
        "own",
        losses.base.NO_LOOP,
        loss.domain,
        own(loss.value),
        own(loss.gradient),
        own(loss.curvature),
        lambda y, w, a: loss.constant(y, w),
        lipschitz=loss.lipschitz,
    )
    assert not made.has_loop
    return made


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("batch_size", [1, 7])
@pytest.mark.parametrize(
    "options",
    [
        {"learning_rate": "constant", "penalty": "l1", "alpha": 0.01},
        {"learning_rate": "invscaling", "penalty": "elasticnet", "average": 20},
        {"learning_rate": "optimal", "alpha": 0.1},
        {"learning_rate": "adaptive", "fit_intercept": False},
        {"learning_rate": "adam", "penalty": "l1", "alpha": 0.01},
        {"learning_rate": "nesterov"},
    ],
    ids=lambda options: options["learning_rate"],
)
def test_a_loss_of_ones_own_takes_the_same_steps(sparse, batch_size, options):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((90, 4)) * (rng.random((90, 4)) < 0.7)
    y = X @ [1.0, -2, 0, 0.5] + 0.3 * rng.standard_normal(90)
    rows = sp.csr_array(X) if sparse else X
    w = rng.integers(1, 4, 90).astype(float)
    options = {"eta0": 0.02, "random_state": 0, "max_iter": 5, "tol": None} | options
    options["batch_size"] = batch_size
    known = SGDRegressor(**options).fit(rows, y, sample_weight=w)
    own = SGDRegressor(own_loss(losses.half_squared), **options)
    own.fit(rows, y, sample_weight=w)
    np.testing.assert_allclose(own.coef_, known.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(own.intercept_, known.intercept_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(own.history_["objective"], known.history_["objective"])
    z = np.digitize(y, [-1, 1])
    hinge = SGDClassifier(class_weight="balanced", **options)
    known = hinge.fit(rows, z).coef_
    own = hinge.set_params(loss=own_loss(losses.hinge)).fit(rows, z).coef_
    np.testing.assert_allclose(own, known, rtol=1e-6, atol=1e-9)


def test_a_loss_without_a_name_comes_to_its_minimum():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    y = X @ [1.0, -1, 2] + 0.5 + rng.standard_t(2, 400)
    log_cosh = Loss(
        "log-cosh",
        losses.base.NO_LOOP,
        "real",
        lambda y, f, a: np.logaddexp(f - y, y - f) - np.log(2),
        lambda y, f, a: np.tanh(f - y),
        lambda y, f, a: 1 / np.cosh(f - y) ** 2,
        lambda y, w, a: np.median(y),
        lipschitz=1.0,
    )
    options = {"penalty": None, "learning_rate": "constant", "eta0": 1.0, "tol": None}
    model = SGDRegressor(log_cosh, batch_size=400, max_iter=300, **options).fit(X, y)
    A = np.column_stack([X, np.ones(400)])
    J = lambda b: np.mean(log_cosh.value(y, A @ b))
    right = minimize(J, np.zeros(4), tol=1e-12).x
    found = np.append(model.coef_, model.intercept_)
    np.testing.assert_allclose(found, right, atol=1e-5)


def test_which_losses_are_taken():
    X, y = np.array([[-1.0], [0.5], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    logistic = SGDClassifier(losses.logistic, random_state=0).fit(X, y)
    named = SGDClassifier("log_loss", random_state=0).fit(X, y)
    np.testing.assert_array_equal(logistic.coef_, named.coef_)
    np.testing.assert_array_equal(logistic.predict_proba(X), named.predict_proba(X))
    assert not hasattr(SGDClassifier(losses.hinge), "predict_proba")
    with pytest.raises(ParameterError, match="must be a loss for targets of the kind"):
        SGDClassifier(losses.poisson).fit(X, y)
    with pytest.raises(ParameterError, match="must be a loss for targets of the kind"):
        SGDRegressor(losses.hinge).fit(X, y)
    with pytest.raises(ValueError, match="needs y of at least 0"):
        SGDRegressor(losses.poisson).fit(X, X[:, 0])
    with pytest.raises(ParameterError, match="only works with loss"):
        SGDRegressor(losses.half_squared, learning_rate="pa1").fit(X, y)

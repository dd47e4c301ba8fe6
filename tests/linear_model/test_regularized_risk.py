"""Any loss plus any penalty: peers, paths, constraints, what is reported."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer
from scipy.optimize import minimize

from pansophy import links, losses, penalties
from pansophy.linear_model import Lasso, RegularizedRisk, RegularizedRiskClassifier


def problem(n=80, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.5
    return X, 3 * X[:, 0] - X[:, 1] + rng.normal(size=n)


def test_against_special_solvers():
    X, y = problem()
    for rows in (X, sp.csr_matrix(X)):
        lasso = RegularizedRisk(penalty="l1", alpha=0.1, tol=1e-10).fit(rows, y)
        np.testing.assert_allclose(
            lasso.coef_, Lasso(0.1, tol=1e-10).fit(X, y).coef_, atol=1e-8
        )
    ridge = RegularizedRisk("squared", alpha=0.2, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(
        ridge.coef_, peer.Ridge(alpha=0.1 * 80).fit(X, y).coef_, atol=1e-6
    )
    counts = np.random.default_rng(0).poisson(np.exp(0.3 * X[:, 0]))
    model = RegularizedRisk("poisson", alpha=0.1, tol=1e-8).fit(X, counts)
    same = peer.PoissonRegressor(alpha=0.1, tol=1e-10).fit(X, counts)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-6)
    np.testing.assert_allclose(model.predict(X), same.predict(X), rtol=1e-5)
    with pytest.raises(ValueError, match="at least 0"):
        RegularizedRisk("poisson").fit(X, y)


def test_a_loss_with_kinks():
    X, y = problem()
    model = RegularizedRisk(losses.quantile(0.3), penalty="l2", alpha=0.1, tol=1e-7)
    model.fit(X, y)
    J = lambda w, b: float(
        np.mean(losses.quantile(0.3).value(y, X @ w + b)) + 0.05 * w @ w
    )
    best = J(model.coef_, model.intercept_)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1):
        for _ in range(50):
            step = size * rng.normal(size=7)
            other = J(model.coef_ + step[:6], model.intercept_ + step[6])
            assert other >= best - 1e-7
    line = np.arange(5.0)[:, None]
    exact = RegularizedRisk("absolute", penalty=None, tol=1e-5)
    exact.fit(line, [0, 1, 2, 3, 40])
    np.testing.assert_allclose(exact.coef_, [1], atol=1e-2)


def test_constraints_hold():
    X, y = problem()
    simplex = RegularizedRisk(penalty=penalties.simplex(1.0)).fit(X, y).coef_
    assert np.all(simplex >= 0) and simplex.sum() == pytest.approx(1)
    A = np.array([[1.0, 1, 0, 0, 0, 0]])
    held = RegularizedRisk("huber", penalty=penalties.affine(A, [5.0])).fit(X, y)
    assert A @ held.coef_ == pytest.approx(5)
    assert RegularizedRisk(penalty=penalties.nonnegative()).fit(X, y).coef_.min() >= 0


@pytest.mark.parametrize("loss", ["half_squared", "huber"])
@pytest.mark.parametrize(
    "penalty", ["l1", "l2", penalties.group_l2(1.0, [0, 0, 1, 1, 2, 2])]
)
def test_risk_never_falls_along_the_path(loss, penalty):
    X, y = problem()
    how = {"penalty": penalty, "tol": 1e-9}
    alphas = [0.0, 0.01, 0.1, 1.0, 10.0, 1e4]
    fits = [RegularizedRisk(loss, alpha=a, **how).fit(X, y) for a in alphas]
    risks = [fit.risk_ for fit in fits]
    assert np.all(np.diff(risks) >= -1e-9)
    sizes = [np.linalg.norm(fit.coef_) for fit in fits]
    assert np.all(np.diff(sizes) <= 1e-6) and sizes[-1] < 1e-2
    plain = RegularizedRisk(loss, penalty=None, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(fits[0].coef_, plain.coef_, atol=1e-6)
    for fit in fits:  # the penalty is not part of what is reported as error
        f = X @ fit.coef_ + fit.intercept_
        assert fit.risk_ == pytest.approx(np.mean(losses.get_loss(loss).value(y, f)))


def test_classes():
    X, y = problem()
    z = np.where(y > np.median(y), "up", "down")
    model = RegularizedRiskClassifier(alpha=1 / 40, tol=1e-9).fit(X, z)
    same = peer.LogisticRegression(C=0.5, tol=1e-10).fit(X, z)
    np.testing.assert_allclose(model.coef_, same.coef_, atol=1e-6)
    three = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    many = RegularizedRiskClassifier("squared_hinge").fit(X, three)
    assert many.coef_.shape == (3, 6) and many.score(X, three) > 0.6
    with pytest.raises(ValueError, match="one for two classes"):
        RegularizedRiskClassifier("huber").fit(X, z)
    with pytest.raises(ValueError, match="one for numbers"):
        RegularizedRisk("hinge").fit(X, y)
    with pytest.raises(ValueError, match="must be convex"):
        RegularizedRisk(losses.get_loss("tukey")).fit(X, y)


def test_targets_at_the_end_of_a_link(rng):
    """A class that no weight is left of, and counts that are all 0."""
    X = rng.normal(size=(60, 3))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    w = (y != 1).astype(float)
    model = RegularizedRiskClassifier(alpha=0.1).fit(X, y, sample_weight=w)
    assert np.isfinite(model.decision_function(X)).all()
    assert not np.any(model.predict(X) == 1)
    flat = RegularizedRiskClassifier().fit(np.ones((60, 3)), y > 0)
    assert flat.n_iter_ < 10  # the start is the optimum
    none = RegularizedRisk("poisson").fit(X, np.zeros(60))
    np.testing.assert_allclose(none.predict(X), 0, atol=1e-9)


LOG_COSH = losses.Loss(
    "log_cosh",
    -1,
    "real",
    lambda y, f, a: np.logaddexp(f - y, y - f) - np.log(2),
    lambda y, f, a: np.tanh(f - y),
    lambda y, f, a: 1 - np.tanh(f - y) ** 2,
    lambda y, w, a: np.median(y),
)
STEEP_PINBALL = losses.Loss(
    "steep_pinball",
    losses.huber().kind,  # a number of another loss does not matter
    "real",
    lambda y, f, a: 50 * np.maximum(0.8 * (y - f), 0.2 * (f - y)),
    lambda y, f, a: np.where(f > y, 10.0, -40.0),
    lambda y, f, a: 0 * f,
    lambda y, w, a: np.quantile(y, 0.8),
)
FOURTH_POWER = dataclasses.replace(
    losses.squared,
    values=lambda y, f, a: (f - y) ** 4,
    gradients=lambda y, f, a: 4 * (f - y) ** 3,
    curvatures=lambda y, f, a: 12 * (f - y) ** 2,
    lipschitz=np.inf,
)


def best_objective(loss, X, t, alpha):
    """The least J that SciPy finds from several starts, and J."""
    J = lambda x: (
        np.mean(loss.value(t, X @ x[:-1] + x[-1])) + alpha / 2 * x[:-1] @ x[:-1]
    )
    found = []
    for method, options in (("BFGS", {"gtol": 1e-8}), ("Powell", {"ftol": 1e-14})):
        x = minimize(J, np.zeros(X.shape[1] + 1), method=method, options=options).x
        found.append(J(x))
    return min(found), J


@pytest.mark.parametrize("loss", [LOG_COSH, STEEP_PINBALL, FOURTH_POWER], ids=repr)
def test_a_loss_of_the_users_own_goes_through_its_array_functions(loss):
    assert loss.kind == -1 and not loss.has_loop
    X, y = problem(n=60, d=3)
    best, J = best_objective(loss, X, y, 0.1)
    for rows in (X, sp.csr_matrix(X), np.asfortranarray(X)):
        model = RegularizedRisk(loss, alpha=0.1).fit(rows, y)
        assert J(np.append(model.coef_, model.intercept_)) <= best * (1 + 1e-5) + 1e-9
    weighted = RegularizedRisk(loss, alpha=0.1).fit(X, y, sample_weight=np.full(60, 3))
    np.testing.assert_allclose(weighted.coef_, model.coef_, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "loss", [losses.logistic, losses.hinge, losses.squared_hinge, losses.exponential]
)
def test_costs_of_the_classes_reach_the_optimum(loss):
    X, y = problem(n=60, d=3)
    classes = (y > 2).astype(int)
    dear = losses.class_weighted_loss(loss, 3, 1)
    t = 2.0 * classes - 1 if loss.domain == "sign" else classes.astype(float)
    best, J = best_objective(dear, X, t, 0.01)
    model = RegularizedRiskClassifier(dear, alpha=0.01).fit(X, classes)
    assert J(np.append(model.coef_, model.intercept_)) <= best + 1e-5
    # costs are weights of the rows
    mean = np.where(classes == 1, 3.0, 1.0).mean()
    other = RegularizedRiskClassifier(loss, alpha=0.01 / mean, tol=1e-8)
    other.fit(X, classes, sample_weight=np.where(classes == 1, 3.0, 1.0))
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=2e-3, atol=2e-3)


def test_a_link_of_the_users_own_makes_a_loss():
    own = links.Link(
        "mine", links.logit.forward, links.logit.inverse, links.logit.slope
    )
    loss = losses.glm_loss(losses.get_family("binomial"), own)
    assert not loss.has_loop
    X, y = problem(n=60, d=3)
    model = RegularizedRiskClassifier(dataclasses.replace(loss, convex=True))
    same = RegularizedRiskClassifier().fit(X, y > 2)
    np.testing.assert_allclose(model.fit(X, y > 2).coef_, same.coef_, atol=1e-4)

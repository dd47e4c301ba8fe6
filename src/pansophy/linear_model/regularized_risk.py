"""Regularised empirical risk: any convex loss plus any penalty.

With row weights v_i of sum V,

    J(w, b) = 1/V sum_i v_i l(y_i, x_i w + b) + alpha g(w)                       (1)

The intercept is exempt from g. How eq. (1) is solved follows from its parts: least
squares with L1, L2 or both by the working sets of the lasso; other smooth losses by
accelerated proximal gradient steps (`optim/nonsmooth/proximal.py`); losses with kinks
(absolute, quantile, hinge, ...) by alternating directions (`optim/nonsmooth/admm.py`),
the prox of the loss being found row by row by bisection on its increasing derivative. A
`Loss` of your own is used by its array functions; whether it has kinks is seen from its
gradient. The reported `risk_` is the first part of eq. (1) alone, never with the
penalty.

Several classes are fitted one against the rest.

Cost      O(n d) a step, and d^3 once for losses with kinks
Shapes    X (n, d) dense or CSR   y (n,)   w (d,)
Refs      [Beck2009] [Boyd2011]
"""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
import scipy.sparse as sp

from .. import losses, penalties
from ..core.arrays import arrays
from ..core.arrays.rows import DatasetRows
from ..core.loops import threads
from ..losses.base import (
    ABSOLUTE,
    EPSILON_INSENSITIVE,
    HALF_SQUARED,
    HINGE,
    PERCEPTRON,
    QUANTILE,
    SQUARED,
)
from ..optim.nonsmooth.admm import admm
from ..optim.nonsmooth.centered_design import Design
from ..optim.nonsmooth.proximal import proximal_gradient
from ..optim.nonsmooth.working_set import start as start_at
from ..params import Count, Flag, NonNegative, ParameterRule
from ..penalties.base import ELASTIC_NET, L1, L2, POSITIVE
from ..predictors.abstract_linear import (
    AbstractLinearClassifier,
    AbstractLinearRegressor,
    encode_two_or_more_classes,
)
from .lasso.lasso_path import centre_targets, gram_store, minimise_lasso
from .risk import Risk

NON_SMOOTH = {ABSOLUTE, QUANTILE, EPSILON_INSENSITIVE, HINGE, PERCEPTRON}
LEAST_SQUARES = {SQUARED, HALF_SQUARED}
SHRINKING = {L1, L2, ELASTIC_NET, POSITIVE}
KINK_ROUNDS = 40  # halvings of an interval in which the gradient may jump
LARGEST_START = 30.0  # bound of the initial intercept, for infinite log-odds
LossLike = Annotated[
    Any,
    ParameterRule(
        "the name of a loss or a Loss",
        lambda v: isinstance(v, losses.Loss) or bool(losses.get_loss(v)),
    ),
]
PenaltyLike = penalties.Penalty | Literal["l1", "l2"] | None


def scale_penalty(penalty, alpha) -> penalties.Penalty:
    """The penalty alpha g; None is no penalty."""
    if penalty is None or alpha == 0:
        return penalties.l2(0.0)
    g = getattr(penalties, penalty)(1.0) if isinstance(penalty, str) else penalty
    return penalties.Penalty(
        g.name,
        g.kind,
        lambda w: alpha * g.value(w) if not g.indicator else g.value(w),
        lambda w, step: g.prox(w, alpha * step),
        lambda w, c: alpha * g.distance(w, c / alpha),
        g.a * alpha if g.kind in SHRINKING else g.a,
        g.b * alpha if g.kind in SHRINKING else g.b,
        g.indicator,
        g.convex,
    )


def exempt_intercept(g) -> penalties.Penalty:
    """The penalty g on all coordinates but the last, the intercept."""

    def prox(x, step):
        out = x.copy()
        out[:-1] = g.prox(x[:-1], step)
        return out

    return penalties.Penalty(
        g.name,
        -1,
        lambda x: g.value(x[:-1]),
        prox,
        lambda x, c: np.append(g.distance(x[:-1], c[:-1]), abs(c[-1])),
        indicator=g.indicator,
    )


def loss_prox(loss, y, v, f, step):
    """argmin_u v l(y, u) + (u - f)^2 / (2 step) per row: u + step v l'(y, u) = f.

    l' increases, so u lies between f and f - step v l'(y, f).
    """
    with np.errstate(over="ignore"):
        reach = np.clip(step * v * loss.gradient(y, f), -1e300, 1e300)
    low = f - np.maximum(reach, 0)
    high = f - np.minimum(reach, 0)
    for _ in range(54):
        u = (low + high) / 2
        over = u + step * v * loss.gradient(y, u) > f
        low = np.where(over, low, u)
        high = np.where(over, u, high)
    return (low + high) / 2


def solve_by_working_sets(X, y, v, loss, g, intercept, *, tol, max_iter, task):
    """Least squares with a penalty on single coefficients, by working sets."""
    X = X.tocsc() if sp.issparse(X) else X
    y = y.astype(X.dtype)
    v = v.astype(X.dtype)
    design = Design(X, v, centre=intercept)
    target, mean = centre_targets(y[:, None], v, intercept)
    double = 2.0 if loss.kind == SQUARED else 1.0  # the solver has half the square
    penalty = penalties.Penalty(
        g.name, g.kind, g.values, g.proxes, g.distances, g.a / double, g.b / double
    )
    store = gram_store(design, design.root * target[:, 0])
    state = start_at(store, np.zeros(design.d, X.dtype), penalty)
    run = minimise_lasso(store, penalty, state, tol=tol, max_iter=max_iter, task=task)
    w = run.state.w
    return w, float(mean[0] - design.mean @ w), run


def solve_by_proximal_gradient(X, y, v, loss, g, intercept, *, tol, max_iter, task):
    """A smooth loss, by proximal gradient steps."""
    J = Risk(X, y, v, loss, intercept=intercept)
    x = np.zeros(X.shape[1] + 1)
    if intercept:
        b = float(np.squeeze(loss.constant(y, v)))
        x[-1] = b if np.isfinite(b) else np.copysign(LARGEST_START, b)
    slope = float(np.abs(J(x)[1]).max())
    size = largest_moment_eigenvalue(X, v, intercept)
    eta = 1.0
    if np.isfinite(loss.lipschitz):
        eta = 2 / max(loss.lipschitz * size, 1e-300)
    # the start may be the optimum, where only rounding is left of the gradient
    rounding = 1e-12 * size**0.5 * float(v @ np.abs(loss.gradient(y, np.zeros(len(y)))))
    end = max(tol * slope, rounding)
    run = proximal_gradient(
        J, exempt_intercept(g), x, eta=eta, tol=end, max_iter=max_iter, task=task
    )
    w, b = J.split(run.state.position)
    return w[0], float(b[0]), run


def largest_moment_eigenvalue(X, v, intercept, rounds=20):
    """Approximate largest eigenvalue of sum_i v_i (x_i, 1) (x_i, 1)^T, by powers."""
    z = np.ones(X.shape[1] + 1)
    size = 1.0
    for _ in range(rounds):
        z = z / max(np.linalg.norm(z), 1e-300)
        f = v * (X @ z[:-1] + intercept * z[-1])
        z = np.append(X.T @ f, intercept * f.sum())
        size = float(np.linalg.norm(z))
    return size


def solve_by_admm(X, y, v, loss, g, intercept, *, tol, max_iter, task):
    """A loss with kinks, by alternating directions."""
    n, d = X.shape
    if not intercept:
        A = X
    elif sp.issparse(X):
        A = sp.csr_matrix(sp.hstack([X, np.ones((n, 1))]))
    else:
        A = np.column_stack([X, np.ones(n)])
    v = v.astype(float)
    A = A.astype(float)
    value = lambda f, z: float(v @ loss.value(y, f)) + float(g.value(z))
    prox = partial(loss_prox, loss, y, v)
    run = admm(
        A, d, prox, g.prox, value, rho=1 / n, tol=tol, max_iter=max_iter, task=task
    )
    w = run.state.z
    b = float(run.state.position[-1]) if intercept else 0.0
    return w, b, run


def has_kink(loss, y):
    """Whether the gradient of a loss jumps somewhere, for targets such as y.

    Intervals around 0 and around targets are halved towards the larger change of the
    gradient: where it is continuous, no change is left in a tiny interval.
    """
    if loss.has_loop or loss.smooth:
        return loss.kind in NON_SMOOTH
    grid = np.linspace(-1, 1, 258)
    reach = 4 * max(float(np.ptp(y)), 1.0)
    gradient = lambda f: np.asarray(loss.gradient(t, f), dtype=float)
    for target in np.unique(np.quantile(y, [0, 0.5, 1], method="nearest")):
        edges = np.unique(np.concatenate([8 * grid, target + reach * grid]))
        low, high = edges[:-1], edges[1:]
        t = np.full(len(low), target)
        for _ in range(KINK_ROUNDS):
            middle = (low + high) / 2
            with np.errstate(all="ignore"):
                left = np.abs(gradient(middle) - gradient(low))
                right = np.abs(gradient(high) - gradient(middle))
            low = np.where(right > left, middle, low)
            high = np.where(right > left, high, middle)
        with np.errstate(all="ignore"):
            size = np.abs(gradient(high)) + np.abs(gradient(low))
            jump = np.abs(gradient(high) - gradient(low))
            if np.any(np.isfinite(jump) & (jump > 1e-3 * size)):
                return True
    return False


def choose_risk_solver(loss, g, y):
    """The solver for a loss, a penalty and targets."""
    if loss.kind in LEAST_SQUARES and g.kind in SHRINKING:
        return solve_by_working_sets
    return solve_by_admm if has_kink(loss, y) else solve_by_proximal_gradient


def check_risk_inputs(model, X, y, sample_weight, y_kind):
    """Checked arrays, weights of sum 1, the loss and the scaled penalty."""
    X, y, w = model._check_training_data(
        X, y, sample_weight, y_kind=y_kind, accept_sparse="csr", dtype=np.float64
    )
    if isinstance(X, DatasetRows) or arrays.is_foreign(X):
        raise TypeError(
            f"{type(model).__name__} takes NumPy arrays and SciPy matrices."
        )
    w = np.ones(X.shape[0]) if w is None else w
    loss = losses.get_loss(model.loss) if isinstance(model.loss, str) else model.loss
    if not loss.convex:
        raise ValueError(f"loss of {type(model).__name__} must be convex, got {loss}.")
    return X, y, w / w.sum(), loss, scale_penalty(model.penalty, model.alpha)


def fit_regularized_risk(model, X, t, v, loss, g):
    """Minimise eq. (1) for targets t; returns w and b."""
    solve = choose_risk_solver(loss, g, t)
    solution: Any = None

    def run(task):
        nonlocal solution
        *solution, result = solve(
            X,
            t,
            v,
            loss,
            g,
            model.fit_intercept,
            tol=model.tol,
            max_iter=model.max_iter,
            task=task,
        )
        return result

    with threads.single_blas():
        model._run_driver(run, total=model.max_iter, X=X, y=t)
    w, b = solution
    return w, b


@dataclass(eq=False, repr=False)
class RegularizedRisk(AbstractLinearRegressor):
    """Linear regression with a loss and a penalty of choice, eq. (1).

    Parameters
    ----------
    loss : str or Loss, default="half_squared"
        A convex loss of `pansophy.losses` for numbers: "squared", "absolute",
        "huber", "poisson", `losses.quantile(0.9)`, ..., or a `losses.Loss` of your own.
    penalty : "l1", "l2", Penalty or None, default="l2"
        A penalty of `pansophy.penalties`, constraints among them.
    alpha : float, default=1.0
        What the penalty is multiplied by; it has no effect on a constraint.
    fit_intercept : bool, default=True
        Whether to fit b, which is exempt from the penalty.
    max_iter : int, default=10000
        Most steps.
    tol : float, default=1e-6
        Relative accuracy at which steps end: of the gap, the gradient or residuals.

    Attributes
    ----------
    coef_ : array of shape (d,)
    intercept_ : float
    risk_ : float
        The weighted mean of the loss, without the penalty.
    penalty_ : float
        alpha g(w).
    n_iter_ : int
    history_ : dict of arrays
        "objective" after each step.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import RegularizedRisk
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 2.0, 30.0])
    >>> model = RegularizedRisk("absolute", alpha=0.01).fit(X, y)
    >>> model.coef_.round(3), round(model.risk_, 3)
    (array([1.]), 6.75)
    """

    loss: LossLike = "half_squared"
    _: KW_ONLY
    penalty: PenaltyLike = "l2"
    alpha: NonNegative = 1.0
    fit_intercept: Flag = True
    max_iter: Count = 10000
    tol: NonNegative = 1e-6

    _tensors = False

    def fit(self, X, y, sample_weight=None):
        """Minimise eq. (1)."""
        X, y, v, loss, g = check_risk_inputs(self, X, y, sample_weight, "number")
        if loss.domain not in ("real", "nonnegative", "positive"):
            raise ValueError(
                f"loss of RegularizedRisk must be one for numbers, got {loss}; "
                "RegularizedRiskClassifier takes losses for classes."
            )
        y = y.astype(float)
        if loss.domain != "real" and np.any(y < 0):
            raise ValueError(f"{loss} takes targets of at least 0.")
        self.coef_, b = fit_regularized_risk(self, X, y, v, loss, g)
        self.intercept_ = b if self.fit_intercept else 0.0
        f = X @ self.coef_ + self.intercept_
        self.risk_ = float(v @ loss.value(y, f))
        self.penalty_ = float(g.value(self.coef_))
        return self

    def predict(self, X):
        """The mean that the loss's link makes of x w + b."""
        loss = losses.get_loss(self.loss) if isinstance(self.loss, str) else self.loss
        return loss.link.inverse(AbstractLinearRegressor.predict(self, X))


@dataclass(eq=False, repr=False)
class RegularizedRiskClassifier(AbstractLinearClassifier):
    """Linear classification with a loss and a penalty of choice, eq. (1).

    Parameters
    ----------
    loss : str or Loss, default="logistic"
        A convex loss of `pansophy.losses` for two classes: "logistic", "hinge",
        "squared_hinge", "exponential", `losses.class_weighted_loss(...)`, ..., or a
        `losses.Loss` of your own.
    penalty : "l1", "l2", Penalty or None, default="l2"
        A penalty of `pansophy.penalties`, constraints among them.
    alpha : float, default=0.01
        What the penalty is multiplied by; it has no effect on a constraint.
    fit_intercept : bool, default=True
        Whether to fit b, which is exempt from the penalty.
    max_iter : int, default=10000
        Most steps for each class.
    tol : float, default=1e-6
        Relative accuracy at which steps end: of the gradient or residuals.

    Attributes
    ----------
    classes_ : array of shape (k,)
    coef_ : array of shape (1, d) or (k, d)
    intercept_ : array of shape (1,) or (k,)
    risk_ : float
        The weighted mean of the loss, summed over the classes where there are more
        than two, without the penalty.
    penalty_ : float
        alpha g(w), summed likewise.
    n_iter_ : int
        Steps of the last class.
    history_ : dict of arrays

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import RegularizedRiskClassifier
    >>> X = np.array([[0.0, 1], [1, 0], [3, 1], [4, 0]])
    >>> model = RegularizedRiskClassifier("hinge").fit(X, [0, 0, 1, 1])
    >>> model.predict(X), model.coef_.round(2)
    (array([0, 0, 1, 1]), array([[0.8, 0.4]]))
    """

    loss: LossLike = "logistic"
    _: KW_ONLY
    penalty: PenaltyLike = "l2"
    alpha: NonNegative = 0.01
    fit_intercept: Flag = True
    max_iter: Count = 10000
    tol: NonNegative = 1e-6

    _tensors = False

    def fit(self, X, y, sample_weight=None):
        """Minimise eq. (1), for each class against the rest if there are several."""
        X, y, v, loss, g = check_risk_inputs(self, X, y, sample_weight, "class")
        if loss.domain not in ("sign", "fraction"):
            raise ValueError(
                f"loss of RegularizedRiskClassifier must be one for two classes, got "
                f"{loss}; RegularizedRisk takes losses for numbers."
            )
        self.classes_, codes = encode_two_or_more_classes(y)
        own = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        low = -1.0 if loss.domain == "sign" else 0.0
        W = []
        b = []
        risk = 0.0
        for k in own:
            t = np.where(codes == k, 1.0, low)
            w, shift = fit_regularized_risk(self, X, t, v, loss, g)
            W.append(w)
            b.append(shift)
            risk += float(v @ loss.value(t, X @ w + shift))
        self.coef_ = np.stack(W)
        self.intercept_ = np.asarray(b)
        self.risk_ = risk
        self.penalty_ = float(sum(g.value(w) for w in W))
        return self

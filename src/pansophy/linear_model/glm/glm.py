"""Generalised linear models: any family and link, offsets and inference.

The mean mu of a target is a function of a linear predictor and fixes its variance,

    g(mu_i) = f_i = x_i^T B + b + o_i,   Var[y_i] = phi V(mu_i) / w_i            (1)

with the link g of `links`, the variance function V of a family (`losses.glm_loss`),
known offsets o_i (for a log link the log of the exposure: the time, area or number of
persons that a count belongs to) and a dispersion phi. Family and link make a loss l,
and with W the sum of the weights w,

    minimise  1/W sum_i w_i l(y_i, f_i) + alpha/2 |B|^2                          (2)

which is the mean half deviance up to a constant. Solvers, all of which stop when no
entry of the gradient of eq. (2) exceeds tol:

    newton-cholesky  Newton steps with the Hessian of eq. (2), or the expected one
                     where that is not positive definite
    irls             always the expected one: each step is the weighted least squares
                     of [Nelder1972], shortened if it overshoots
    newton-cg        the same from products with the Hessian
    lbfgs            quasi-Newton

"auto" is newton-cholesky up to 1000 columns and lbfgs beyond. Steps that lead to
impossible means (below 0, say) cost infinity and are shortened. The start is B = 0
with b at the mean of y.

Without a penalty, with the Fisher information

    I = sum_i w_i mu'(f_i)^2 / V(mu_i) (x_i, 1) (x_i, 1)^T                       (3)

the estimates are close to Normal with covariance phi I^-1, where phi is 1 for counts
and fractions and elsewhere estimated by

    phi = 1/(N - p) sum_i w_i (y_i - mu_i)^2 / V(mu_i)                           (4)

with N rows (sum of w) and p coefficients. The deviance is twice the difference of the
log-likelihood to that of mu = y, times phi.

Weights are repetitions. For "binomial" y is a fraction of successes and w the number
of trials (or y has two columns, successes and failures); "bernoulli" takes 0 and 1.

Time O(n d) a pass and O(n d^2) a Hessian; memory n numbers beyond X. X may be dense,
CSR, a tensor, or a table on disk.

Shapes    X (n, d)   y, w, o (n,)   B (d,)   b ()   I (d + 1, d + 1)
Refs      [Nelder1972] [McCullagh1989]
"""

import math
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.special import gammaln

from ... import links
from ...base import Regressor
from ...core.arrays import arrays
from ...core.arrays.rows import DatasetRows
from ...core.information_criteria import aic, bic
from ...core.linalg.least_squares import least_squares
from ...core.linalg.linalg import scaled_cholesky
from ...core.numerics import LOG_2PI
from ...losses import get_family as family_of
from ...losses import glm_loss
from ...losses.glm import loss_at_mean
from ...optim import lbfgs, newton, newton_cg
from ...params import Count, Flag, NonNegative, Number, Verbosity
from ...predictors.abstract_linear import (
    AbstractLinearEstimator,
    array_like,
    numpy_float_name,
    raw_prediction,
    target_columns,
    target_vector,
    thread_budget,
)
from ..coefficient_tests import CoefficientCovariance, CoefficientTests
from ..risk import Risk
from ..summary import Summary, coefficient_names, wald_table

GLMFamily = Literal[
    "gaussian",
    "poisson",
    "gamma",
    "inverse_gaussian",
    "tweedie",
    "binomial",
    "bernoulli",
    "negative_binomial",
]
# eps times the condition number above which no digit of I^-1 is left
SINGULAR_INFORMATION = 1e-2
# eps times the condition number above which columns may be dependent
DEPENDENT_COLUMNS = 1e-5
MAX_HESSIAN_COLUMNS = 1000  # columns up to which a Hessian is made
TARGET_RANGES = {
    "nonnegative": ("at least 0", lambda y: y < 0),
    "positive": ("above 0", lambda y: y <= 0),
    "fraction": ("between 0 and 1", lambda y: (y < 0) | (y > 1)),
}


def check_glm_targets(y, family, name):
    """Refuse targets outside the range of the family."""
    if family.domain == "real":
        return
    says, wrong = TARGET_RANGES[family.domain]
    xp = arrays.namespace(y)
    bad = wrong(y)
    if family.name == "bernoulli":
        says = "0 or 1"
        bad = (y != 0) & (y != 1)
    if bool(xp.any(bad)):
        first = float(y[bad][0])
        raise ValueError(
            f"Some value(s) of y are out of the valid range of the loss: y of {name} "
            f"must be {says} for the family {family.name}, got {first:g}."
        )


def initial_glm_coefficients(J, X, y, v, loss, offset, *, intercept):
    """x = (B, b) of finite risk: the mean of y, or a least-squares fit to g(y)."""
    xp = arrays.namespace(y)
    shift = 0.0 if offset is None else float(xp.sum(v * offset))
    x = np.zeros(J.d + 1)
    if intercept:
        with np.errstate(all="ignore"):
            x[-1] = float(loss.constant(y, v)) - shift
        x[-1] = x[-1] if np.isfinite(x[-1]) else 0.0
    if np.isfinite(J(x)[0]):
        return x
    goal = loss.link((y + xp.sum(v * y)) / 2)
    goal = goal if offset is None else goal - offset
    result = least_squares(X, goal[:, None], v, intercept=intercept)
    x = np.append(result.coef[:, 0], result.intercept[0])
    if not np.isfinite(J(x)[0]):
        raise ValueError(
            f"no coefficients with possible means were found for {loss.name}: choose a "
            "link whose means are always possible, such as log."
        )
    return x


def glm_hessian(J, family, link, x, rough=False):
    """The Hessian of J at x, or the expected one if that is not positive definite."""
    H = J.hessian(x, rough)
    if J.alpha > 0 and J.loss.convex:
        return H
    factor = scaled_cholesky(H)
    if factor is None and not J.loss.convex:
        observed = J.loss
        J.loss = glm_loss(family, link, expected=True)
        H = J.hessian(x, rough)
        J.loss = observed
        factor = scaled_cholesky(H)
    return (
        H if factor is not None and factor.q < DEPENDENT_COLUMNS else fill_null_space(H)
    )


def fill_null_space(H):
    """H with curvature added in its null space, so that no step goes there.

    The gradient is 0 there, and of all optima the one nearest to the start is found.
    """
    s, V = np.linalg.eigh(H)
    null = V[:, s <= 8 * len(s) * float(np.finfo(float).eps) * s[-1]]
    return H + s[-1] * (null @ null.T)


def finite_objective(J, x):
    """J with a large value in place of infinity, for line searches by polynomials."""
    value = J(x)[0]
    ceiling = value + 100 * max(abs(value), 1.0)

    def call(x):
        value, g = J(x)
        return (value, g) if np.isfinite(value) else (ceiling, np.zeros_like(g))

    return call


class AbstractGLM(CoefficientTests, Regressor, AbstractLinearEstimator):
    """Fit, predictions and D^2 of a model that gives `_family_and_link()`."""

    coef_: Any
    intercept_: Any

    def _fit_glm(self, X, y, w, alpha, offset=None):
        """Minimise eq. (2); returns the risk and x = (B, b)."""
        family, link = self._family_and_link()
        check_glm_targets(y, family, type(self).__name__)
        solver = choose_glm_solver(self.solver, X)
        loss = glm_loss(family, link, expected=solver in ("irls", "newton-cg"))
        v = weights_of_sum_one(X, y, w)
        J = Risk(X, y, v, loss, alpha, intercept=self.fit_intercept, offset=offset)
        self.solver_ = solver
        with thread_budget(X):
            x = self._warm(J)
            if x is None:
                x = initial_glm_coefficients(
                    J, X, y, v, loss, offset, intercept=self.fit_intercept
                )
            x = self._minimise(J, x, solver, X, y)
        self._store(X, x)
        return J, x

    def _minimise(self, J, x, solver, X, y):
        steepest = float(np.max(np.abs(J(x)[1])))
        eps = float(np.finfo(numpy_float_name(X)).eps)
        tol = max(self.tol, 32 * eps * max(steepest, 1.0))
        runs = {
            "lbfgs": partial(lbfgs, finite_objective(J, x), x),
            "newton-cg": partial(newton_cg, J, J.hessian_product, x),
        }
        dense = partial(
            newton, J, partial(glm_hessian, J, *self._family_and_link()), x, rough=True
        )
        result = self._run_driver(
            lambda task: runs.get(solver, dense)(
                max_iter=self.max_iter, tol=tol, task=task
            ),
            total=self.max_iter,
            X=X,
            y=y,
            snapshot=lambda s: dict(
                zip(("coef_", "intercept_"), split_intercept(s.position))
            ),
        )
        return np.asarray(result.state.position)

    def _warm(self, J):
        """The last fit as initial x with `warm_start`, where its risk is finite."""
        if not (getattr(self, "warm_start", False) and hasattr(self, "coef_")):
            return None
        b = float(self.intercept_) if self.fit_intercept else 0.0
        x = np.append(arrays.to_numpy(self.coef_).astype(float), b)
        return x if len(x) == J.d + 1 and np.isfinite(J(x)[0]) else None

    def _store(self, X, x):
        B, b = split_intercept(x)
        if not arrays.is_foreign(X):
            self.coef_ = B.astype(X.dtype)
            self.intercept_ = self.coef_.dtype.type(b)
        else:
            self.coef_ = arrays.asarray(B, like=X)
            self.intercept_ = arrays.asarray(np.asarray(b), like=X)

    def _raw(self, X, offset=None):
        """f for every row."""
        f = raw_prediction(self, self._check_new_data(X, accept_sparse="csr"))
        return f if offset is None else f + array_like(offset, f)

    def _offset(self, offset, exposure, like):
        """o of eq. (1) from offsets and the exposure."""
        xp = arrays.namespace(like)
        o = None
        if offset is not None:
            o = array_like(offset, like)
        if exposure is not None:
            if self._family_and_link()[1] is not links.log:
                raise ValueError("exposure needs a log link; use offset for others.")
            e = array_like(exposure, like)
            if not bool(xp.all(e > 0)):
                raise ValueError("every exposure must be above 0.")
            o = xp.log(e) if o is None else o + xp.log(e)
        if o is not None and (o.shape != like.shape or not arrays.all_finite(o)):
            raise ValueError(
                f"offset and exposure must hold {like.shape[0]} finite numbers."
            )
        return o

    def _store_inference(self, J, x, y, w, o):
        """Deviances, dispersion, likelihood and covariance."""
        family, link = self._family_and_link()
        host = lambda a: arrays.to_numpy(a).astype(float)
        f = np.concatenate([host(part) for part in J.predictions_at(x)])
        y = host(y)
        w = np.ones(len(f)) if w is None else host(w)
        o = None if o is None else host(o)
        mu = link.inverse(f)
        N = float(np.sum(w > 0)) if family.name == "binomial" else float(w.sum())
        p = J.d + self.fit_intercept
        self.df_residual_ = N - p
        self._rows = N
        self.deviance_ = float(w @ family.deviance(y, mu))
        with np.errstate(all="ignore"):  # without an intercept f = 0 may be impossible
            null = null_means(family, link, y, w, o, intercept=self.fit_intercept)
            null_deviance = float(w @ family.deviance(y, null))
        self.null_deviance_ = (
            null_deviance if math.isfinite(null_deviance) else math.inf
        )
        pearson = float(w @ ((y - mu) ** 2 / family.variance(mu)))
        self.dispersion_ = 1.0
        if family.dispersed:
            self.dispersion_ = pearson / (N - p) if p < N else math.nan
        self.log_likelihood_ = family_log_likelihood(family, y, mu, w, self.dispersion_)
        known = self.log_likelihood_
        self.aic_ = None if known is None else aic(known, p)
        self.bic_ = None if known is None else float(bic(known, p, N))
        self.covariance_ = self._covariance(J, x, float(w.sum()))

    def _covariance(self, J, x, W):
        """phi I^-1, intercept first; None where there is no such thing."""
        if self.alpha > 0 or J.d > 10_000:
            return None
        J.loss = glm_loss(*self._family_and_link(), expected=True)
        H = W * J.hessian(x)
        order = [J.d, *range(J.d)] if self.fit_intercept else list(range(J.d))
        H = H[np.ix_(order, order)]
        factor = scaled_cholesky(H)
        if factor is None or factor.q > SINGULAR_INFORMATION:
            return None
        return self.dispersion_ * factor.solve(np.eye(len(H)))

    def predict(self, X, *, offset=None, exposure=None):
        """The mean of the target for every row."""
        f = self._raw(X)
        o = self._offset(offset, exposure, f)
        return self._family_and_link()[1].inverse(f if o is None else f + o)

    def summary(self, level=0.95) -> Summary:
        """Coefficients with standard errors, statistics, p values and intervals."""
        B, V, df, _ = self._checked_covariance()
        family, link = self._family_and_link()
        table = wald_table(B, np.sqrt(np.diagonal(V)), level=level, df=df)
        header = {
            "rows": int(self._rows) if self._rows == int(self._rows) else self._rows,
            "coefficients": len(B),
            "dispersion": self.dispersion_,
            "deviance": self.deviance_,
            "null deviance": self.null_deviance_,
        }
        if self.log_likelihood_ is not None:
            header |= {
                "log-likelihood": self.log_likelihood_,
                "AIC": self.aic_,
                "BIC": self.bic_,
            }
        title = f"Generalised linear model: {family.name}, {link.name} link"
        return Summary(title, header, coefficient_names(self), table)

    def _coefficient_covariance(self) -> CoefficientCovariance:
        if self.alpha > 0:
            raise ValueError(
                "there are no standard errors for penalised coefficients; fit with "
                "alpha=0, or bootstrap the model."
            )
        if getattr(self, "covariance_", None) is None:
            raise ValueError(
                "the columns of X are linearly dependent (or the fit has run to its "
                "limits), so the coefficients are not determined one by one."
            )
        family, link = self._family_and_link()
        B = arrays.to_numpy(self.coef_).astype(float)
        B = np.append(float(self.intercept_), B) if self.fit_intercept else B
        df = self.df_residual_ if family.dispersed else np.inf
        is_normal = family.name == "gaussian" and link is links.identity
        variance = self.dispersion_ if is_normal else None
        return CoefficientCovariance(B, self.covariance_, df, variance)

    def _mean_link(self):
        return self._family_and_link()[1]

    def score(self, X, y, sample_weight=None, *, offset=None, exposure=None):
        """D^2: the share of the deviance of the best constant that is explained."""
        mu = self.predict(X, offset=offset, exposure=exposure)
        null = None
        family, link = self._family_and_link()
        o = self._offset(offset, exposure, mu)
        if o is not None:
            host = lambda a: arrays.to_numpy(array_like(a, mu)).astype(float)
            w = arrays.to_numpy(weights_of_sum_one(mu, mu, sample_weight)).astype(float)
            null = null_means(family, link, host(y), w, host(o), intercept=True)
            null = array_like(null, mu)
        return self._explained(y, mu, sample_weight, null)

    def _explained(self, y, mu, w=None, null=None):
        family = self._family_and_link()[0]
        xp = arrays.namespace(mu)
        y = array_like(y, mu)
        check_glm_targets(y, family, type(self).__name__)
        w = xp.ones_like(y) if w is None else array_like(w, mu)
        if null is None:
            null = xp.zeros_like(y) + xp.sum(w * y) / xp.sum(w)
        left = float(xp.sum(w * family.deviance(y, mu)))
        null_deviance = float(xp.sum(w * family.deviance(y, null)))
        return 1 - left / null_deviance if null_deviance > 0 else float(left == 0)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        with suppress(ValueError, TypeError):  # parameters that fit will refuse
            tags.target_tags.positive_only = self._family_and_link()[0].domain != "real"
        return tags


def choose_glm_solver(solver, X):
    """The solver for "auto", or the given one."""
    if solver == "auto":
        return "newton-cholesky" if X.shape[1] <= MAX_HESSIAN_COLUMNS else "lbfgs"
    return solver


def weights_of_sum_one(X, y, w):
    """v = w / W in the library of y."""
    xp = arrays.namespace(y)
    w = xp.ones_like(y) if w is None else array_like(w, y)
    return w / xp.sum(w)


def split_intercept(x):
    """B and b of x = (B, b)."""
    return x[:-1], x[-1]


def family_log_likelihood(family, y, mu, w, phi):
    """Log-likelihood of all rows; None where the density has no closed form."""
    if family.name == "gaussian":
        N = w.sum()
        s = float(w @ (y - mu) ** 2)
        return -N / 2 * (LOG_2PI + math.log(s / N) + 1) if s > 0 else math.inf
    if family.name == "poisson":
        parts = y * np.log(np.where(y > 0, mu, 1.0)) - mu - gammaln(y + 1)
    elif family.dispersed and not phi > 0:
        return math.inf  # an exact fit
    elif family.name == "gamma":
        a = 1 / phi
        parts = a * np.log(a * y / mu) - a * y / mu - np.log(y) - gammaln(a)
    elif family.name == "inverse_gaussian":
        parts = -((y - mu) ** 2 / (phi * mu**2 * y) + np.log(phi * y**3) + LOG_2PI) / 2
    elif family.name == "negative_binomial":
        a = family.parameter
        k = 1 / a
        parts = gammaln(y + k) - gammaln(k) - gammaln(y + 1) - k * np.log1p(a * mu)
        parts = parts + y * np.log(np.where(y > 0, a * mu / (1 + a * mu), 1.0))
    elif family.name in ("binomial", "bernoulli"):
        total = -float(w @ loss_at_mean(family, y, mu, 1 - mu))
        if family.name == "binomial":
            ways = gammaln(w + 1) - gammaln(w * y + 1) - gammaln(w * (1 - y) + 1)
            total += float(ways.sum())
        return total
    else:
        return None
    return float(w @ parts)


def null_means(family, link, y, w, offset, *, intercept):
    """Means of the model without columns of X."""
    if offset is None:
        f = np.full(len(y), float(link(w @ y / w.sum())) if intercept else 0.0)
        return link.inverse(f)
    if not intercept:
        return link.inverse(offset)
    J = Risk(
        np.zeros((len(y), 1)), y, w / w.sum(), glm_loss(family, link, expected=True)
    )
    J.offset = offset
    start = np.array([0.0, float(link(w @ y / w.sum())) - float(w @ offset) / w.sum()])
    curve = lambda x: J.hessian(x) + np.diag([1.0, 0.0])
    x = newton(J, curve, start, tol=1e-10).state.position
    return link.inverse(x[-1] + offset)


@dataclass(eq=False, repr=False)
class GeneralizedLinearModel(AbstractGLM):
    """A generalised linear model with inference. See the module text.

    Parameters
    ----------
    family : str, default="gaussian"
        "gaussian", "poisson", "gamma", "inverse_gaussian", "tweedie", "binomial",
        "bernoulli" or "negative_binomial".
    link : str or None, default=None
        A name in `pansophy.links`: "identity", "log", "logit", "probit", "cloglog",
        "loglog", "cauchit", "tanh", "inverse", "inverse_squared" or "sqrt"; None is
        the canonical link of the family (log for Tweedie and negative binomial).
    alpha : float, default=0.0
        Strength of the L2 penalty.
    power : float, default=1.5
        p of "tweedie", V = mu^p; the other families have no use for it.
    overdispersion : float, default=1.0
        a of "negative_binomial", V = mu + a mu^2.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalised.
    solver : {"auto", "irls", "newton-cholesky", "newton-cg", "lbfgs"}, default="auto"
        How to reach the optimum; "auto" picks by the number of columns.
    max_iter : int, default=100
        Most iterations.
    tol : float, default=1e-8
        Stop when no entry of the gradient exceeds this.
    warm_start : bool, default=False
        Start at the coefficients of the last fit.
    verbose : int, default=0
        Above 0 shows a progress bar.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    dispersion_ : float
        phi, eq. (4) or 1.
    deviance_, null_deviance_ : float
        Of the fit, and of the best model without columns.
    log_likelihood_ : float or None
        None where the density has no closed form.
    aic_, bic_ : float or None
        With one parameter per coefficient, as usual for these models.
    covariance_ : array of shape (p, p) or None
        phi I^-1, intercept first; None with a penalty or where I is singular.
    df_residual_ : float
        N - p.
    n_iter_ : int
    solver_ : str
    history_ : dict of arrays
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import GeneralizedLinearModel
    >>> X = np.arange(6.0)[:, None]
    >>> model = GeneralizedLinearModel("poisson").fit(X, [1, 2, 2, 5, 7, 13])
    >>> model.coef_.round(4), round(float(model.intercept_), 4)
    (array([0.5142]), -0.0342)
    >>> print(model.summary())
    Generalised linear model: poisson, log link
    -------------------------------------------
    rows          6            null deviance   19.0047
    coefficients  2            log-likelihood  -9.65993
    dispersion    1            AIC             23.3199
    deviance      0.388619     BIC             22.9034
    <BLANKLINE>
                     coef  std error           z       p       low      high
    intercept  -0.0341782   0.536351  -0.0637236   0.949  -1.08541   1.01705
    x0            0.51418   0.132716     3.87429  <0.001  0.254062  0.774298
    """

    family: GLMFamily = "gaussian"
    _: KW_ONLY
    link: str | None = None
    alpha: NonNegative = 0.0
    power: Number = 1.5
    overdispersion: Number = 1.0
    fit_intercept: Flag = True
    solver: Literal["auto", "irls", "newton-cholesky", "newton-cg", "lbfgs"] = "auto"
    max_iter: Count = 100
    tol: NonNegative = 1e-8
    warm_start: Flag = False
    verbose: Verbosity = 0

    def fit(self, X, y, sample_weight=None, *, offset=None, exposure=None):
        """Fit to rows X and targets y; offsets and exposures are one per row."""
        kind = "numbers" if self.family == "binomial" else "number"
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind=kind, accept_sparse="csr"
        )
        y, w = self._trials(X, y, w)
        o = self._offset(offset, exposure, y)
        J, x = self._fit_glm(X, y, w, self.alpha, o)
        self._store_inference(J, x, y, w, o)
        return self

    def _family_and_link(self):
        parameter = {"tweedie": self.power, "negative_binomial": self.overdispersion}
        family = family_of(self.family, parameter.get(self.family))
        return family, family.link if self.link is None else links.get_link(self.link)

    def _trials(self, X, y, w):
        """Successes and failures as a fraction with trials as weights."""
        if self.family != "binomial" or getattr(y, "ndim", 1) == 1 or y.shape[1] == 1:
            return target_vector(y, X), w
        if y.shape[1] != 2:
            raise ValueError(
                "y of family='binomial' must have one column of fractions or two of "
                f"successes and failures, got {y.shape[1]}."
            )
        Y = target_columns(y, X)[0]
        xp = arrays.namespace(Y)
        if not isinstance(X, DatasetRows):
            Y = array_like(Y, X) if arrays.is_foreign(X) else Y.astype(X.dtype)
        trials = Y[:, 0] + Y[:, 1]
        if bool(xp.any(Y < 0)) or not bool(xp.any(trials > 0)):
            raise ValueError("successes and failures must be at least 0, not all 0.")
        share = Y[:, 0] / xp.where(trials > 0, trials, xp.ones_like(trials))
        return share, trials if w is None else trials * array_like(w, trials)

    def score(self, X, y, sample_weight=None, *, offset=None, exposure=None):
        """D^2: the share of the deviance of the best constant that is explained."""
        if np.ndim(y) == 2 and np.shape(y)[1] == 2:
            mu = self.predict(X, offset=offset, exposure=exposure)
            y, sample_weight = self._trials(mu[:, None], y, sample_weight)
        return super().score(X, y, sample_weight, offset=offset, exposure=exposure)

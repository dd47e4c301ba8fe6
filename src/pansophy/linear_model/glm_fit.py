"""Fits of generalised linear models: what all of them share.

A family gives the variance of a target as a function of its mean, a link the scale on
which the mean is linear; together they make a loss l (`losses.glm`). With weights w of
sum W and offsets o,

    minimise  1/W sum_i w_i l(y_i, x_i^T B + b + o_i) + alpha/2 |B|^2            (1)

which is the mean half deviance up to a constant. Solvers, all of which stop when no
entry of the gradient of eq. (1) exceeds tol:

    newton-cholesky  Newton steps with the Hessian of eq. (1), or the expected one
                     where that is not positive definite
    irls             always the expected one: each step is the weighted least squares
                     of [Nelder1972], shortened if it overshoots
    newton-cg        the same from products with the Hessian
    lbfgs            quasi-Newton

"auto" is newton-cholesky up to `MAX_HESSIAN_COLUMNS` columns and lbfgs beyond. Steps that lead to
impossible means (below 0, say) cost infinity and are shortened. The start is B = 0
with b at the mean of y.

Time O(n d) a pass and O(n d^2) a Hessian; memory n numbers beyond X. X may be dense,
CSR, a tensor, or a table on disk.

Shapes    X (n, d)   y, w, o (n,)   B (d,)   b ()
Refs      [Nelder1972] [McCullagh1989]
"""

from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from ..base import Estimator, Regressor
from ..core import arrays, threads
from ..core.least_squares import least_squares
from ..core.linalg import scaled_cholesky
from ..core.rows import DatasetRows
from ..losses import glm
from ..optim import lbfgs, newton, newton_cg
from .base import raw_prediction, target_columns
from .risk import Risk

MAX_HESSIAN_COLUMNS = 1000  # columns up to which a Hessian is made
SINGLE_THREAD_ENTRIES = (
    200_000  # entries of X below which a second thread costs more than it gives
)
DEPENDENT_COLUMNS = 1e-5  # eps times a condition above which columns may be dependent
TARGET_RANGES = {
    "nonnegative": ("at least 0", lambda y: y < 0),
    "positive": ("above 0", lambda y: y <= 0),
    "fraction": ("between 0 and 1", lambda y: (y < 0) | (y > 1)),
}


def check_glm_targets(y, family, name):
    """One sentence about the first target that the family cannot give."""
    if family.domain == "real":
        return
    says, wrong = TARGET_RANGES[family.domain]
    xp = arrays.namespace(y)
    bad = wrong(y)
    if family.name == "bernoulli":
        says, bad = "0 or 1", (y != 0) & (y != 1)
    if bool(xp.any(bad)):
        first = float(y[bad][0])
        raise ValueError(
            f"y of {name} must be {says} for the family {family.name}, got {first:g}."
        )


def initial_glm_coefficients(J, X, y, v, loss, offset, *, intercept):
    """x = (B, b) of finite risk: the mean of y, or a least squares fit to g(y)."""
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
    found = least_squares(X, goal[:, None], v, intercept=intercept)
    x = np.append(found.coef[:, 0], found.intercept[0])
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
        own, J.loss = J.loss, glm(family, link, expected=True)
        H = J.hessian(x, rough)
        J.loss, factor = own, scaled_cholesky(H)
    return (
        H if factor is not None and factor.q < DEPENDENT_COLUMNS else fill_null_space(H)
    )


def fill_null_space(H):
    """H with curvature in the directions that X leaves open, so that no step uses them.

    The gradient is 0 there, and of all optima the one nearest to the start is found.
    """
    s, V = np.linalg.eigh(H)
    open_ = V[:, s <= 8 * len(s) * float(np.finfo(float).eps) * s[-1]]
    return H + s[-1] * (open_ @ open_.T)


def finite_objective(J, x):
    """J with a high wall in the place of infinity, for a line search by polynomials."""
    value = J(x)[0]
    wall = value + 100 * max(abs(value), 1.0)

    def call(x):
        value, g = J(x)
        return (value, g) if np.isfinite(value) else (wall, np.zeros_like(g))

    return call


class AbstractGLM(Regressor, Estimator):
    """Fits, predictions and D^2 of a model that has `_parts()`: family and link."""

    coef_: Any
    intercept_: Any

    def _fit_glm(self, X, y, w, alpha, offset=None):
        """Minimise eq. (1); returns the risk and x = (B, b)."""
        family, link = self._parts()
        check_glm_targets(y, family, type(self).__name__)
        solver = choose_glm_solver(self.solver, X)
        loss = glm(family, link, expected=solver in ("irls", "newton-cg"))
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
        wide = float(np.max(np.abs(J(x)[1])))
        tol = max(
            self.tol, 32 * float(np.finfo(numpy_float_name(X)).eps) * max(wide, 1.0)
        )
        how = {"max_iter": self.max_iter, "tol": tol}
        runs = {
            "lbfgs": partial(lbfgs, finite_objective(J, x), x),
            "newton-cg": partial(newton_cg, J, J.hessian_product, x),
        }
        dense = partial(
            newton, J, partial(glm_hessian, J, *self._parts()), x, rough=True
        )
        result = self._drive(
            lambda task: runs.get(solver, dense)(**how, task=task),
            total=self.max_iter,
            X=X,
            y=y,
            snapshot=lambda s: dict(
                zip(("coef_", "intercept_"), split_intercept(s.position))
            ),
        )
        return np.asarray(result.state.position)

    def _warm(self, J):
        """The last fit as a start, where that is wanted and possible."""
        if not (getattr(self, "warm_start", False) and hasattr(self, "coef_")):
            return None
        b = float(self.intercept_) if self.fit_intercept else 0.0
        x = np.append(arrays.to_numpy(self.coef_).astype(float), b)
        return x if len(x) == J.d + 1 and np.isfinite(J(x)[0]) else None

    def _store(self, X, x):
        B, b = split_intercept(x)
        if not arrays.is_foreign(X):
            self.coef_, self.intercept_ = B.astype(X.dtype), float(b)
        else:
            self.coef_ = arrays.asarray(B, like=X)
            self.intercept_ = float(b)

    def _raw(self, X, offset=None):
        """f for every row."""
        f = raw_prediction(self, self._ready(X, accept_sparse="csr"))
        return f if offset is None else f + array_like(offset, f)

    def predict(self, X):
        """The mean of the target for every row."""
        return self._parts()[1].inverse(self._raw(X))

    def score(self, X, y, sample_weight=None):
        """D^2: the share of the deviance of the best constant that is explained."""
        return self._explained(y, self.predict(X), sample_weight)

    def _explained(self, y, mu, w=None, null=None):
        family = self._parts()[0]
        xp = arrays.namespace(mu)
        y = array_like(y, mu)
        check_glm_targets(y, family, type(self).__name__)
        w = xp.ones_like(y) if w is None else array_like(w, mu)
        if null is None:
            null = xp.zeros_like(y) + xp.sum(w * y) / xp.sum(w)
        left = float(xp.sum(w * family.deviance(y, mu)))
        whole = float(xp.sum(w * family.deviance(y, null)))
        return 1 - left / whole if whole > 0 else float(left == 0)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        with suppress(ValueError, TypeError):  # parameters that fit will refuse
            tags.target_tags.positive_only = self._parts()[0].domain != "real"
        return tags


def choose_glm_solver(solver, X):
    """The solver for "auto", and whether the one asked for can do it."""
    if solver == "auto":
        return "newton-cholesky" if X.shape[1] <= MAX_HESSIAN_COLUMNS else "lbfgs"
    return solver


def thread_budget(X):
    """Threads for passes over X: our own instead of BLAS's; one if X is small."""
    small = X.shape[0] * X.shape[1] < SINGLE_THREAD_ENTRIES
    return threads.limited(1) if small else threads.single_blas()


def target_vector(y, X):
    """y as a float vector next to X."""
    if isinstance(X, DatasetRows):
        return target_columns(np.asarray(y), X)[0][:, 0].astype(X.dtype)
    if arrays.is_foreign(X):
        return arrays.namespace(X).astype(y, X.dtype)
    return np.asarray(column_or_1d(y, warn=True), dtype=X.dtype)


def weights_of_sum_one(X, y, w):
    """v = w / W in y's library."""
    xp = arrays.namespace(y)
    w = xp.ones_like(y) if w is None else array_like(w, y)
    return w / xp.sum(w)


def array_like(a, like):
    """a next to `like`, in its dtype."""
    if arrays.is_foreign(a) and not arrays.is_foreign(like):
        a = arrays.to_numpy(a)
    return arrays.asarray(np.asarray(a) if not arrays.is_foreign(a) else a, like)


def numpy_float_name(X):
    """The NumPy name of X's dtype."""
    return "float32" if "float32" in str(X.dtype) else "float64"


def split_intercept(x):
    """B and b in x."""
    return x[:-1], x[-1]

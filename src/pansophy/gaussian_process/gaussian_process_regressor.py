"""Gaussian-process regression: a normal prior over functions, given noisy values.

    f ~ GP(0, k_theta),    y_i = f(x_i) + e_i,    e_i ~ N(0, s_i)                 (1)

Given the data f is a Gaussian process again, with the mean and covariance of `exact`
or of another of the `solvers`. theta maximises the log marginal likelihood log p(y),
plus a weak log-normal prior where the kernel has no bounds (`kernel_parameters`), by
L-BFGS with analytic gradients from one start or several. From COARSE_FROM rows the
search begins on COARSE_ROWS of them, which finds most of the way at a small part of
the cost.

Two kinds of noise. `alpha` is part of the training data alone: predictions are of f.
`White` in the kernel is part of the process: the standard deviation of a prediction is
then that of a new y. Between a training row and an equal new row there is none of it.

With `normalize_y` the targets are centred and scaled before, and everything that is
returned is in their own units again; `alpha` and the kernel are in scaled units.

Shapes    X (n, d)   y (n,) or (n, t)   theta (p,)
Refs      [Rasmussen2006] ch. 2, 5
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base import Regressor
from ..core.linalg import cholesky
from ..core.overflow import refuse_overflowing_squares
from ..core.random import make_rng
from ..kernels import RBF, AbstractKernel, Constant, Matern, White
from ..kernels.base import white_difference
from ..params import Count, Flag, Natural, ParameterError, ParameterRule, Positive
from ..persist.saved_state import IntArray, saved_state
from ..typing import Seed
from .abstract_gaussian_process import AbstractGaussianProcess, ProcessKernel
from .exact import (
    ExactPosterior,
    GPData,
    leave_one_out_moments,
    sample_count,
)
from .kernel_parameters import (
    KernelFamily,
    SearchOptions,
    kernel_family,
    maximize_evidence,
)
from .solvers import SOLVERS, AbstractSolver, choose_solver

COARSE_FROM = 1000  # rows from which the search begins on fewer
COARSE_ROWS = 400

NoiseVariances = Annotated[
    Any,
    ParameterRule(
        "a number of at least 0, or one for each row",
        lambda v: (
            np.ndim(v) <= 1
            and not isinstance(v, (str, bool))
            and np.asarray(v).dtype.kind in "fiu"
            and bool(np.all(np.asarray(v) >= 0))
        ),
    ),
]
SolverParameter = Annotated[
    Any,
    ParameterRule(
        f'"auto", {", ".join(repr(name) for name in SOLVERS)} or a solver',
        lambda v: (
            isinstance(v, AbstractSolver)
            or (isinstance(v, str) and v in ("auto", *SOLVERS))
        ),
    ),
]


def draw_normal_samples(mean, cov, rng, count):
    """Samples of N(mean, cov), (m, count), and the jitter that the factor needed.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.gaussian_process import draw_normal_samples
    >>> rng = np.random.default_rng(0)
    >>> samples, jitter = draw_normal_samples(np.zeros(2), np.eye(2), rng, 3)
    >>> samples.shape, jitter
    ((2, 3), 0.0)
    """
    z = rng.standard_normal((len(mean), count))
    cov = 0.5 * (cov + cov.T)
    if not np.any(np.diagonal(cov) > 0):
        return np.repeat(mean[:, None], count, axis=1), 0.0
    L, jitter = cholesky(cov)
    return mean[:, None] + L @ z, jitter


def data_scaled_kernel(X, Y=None) -> AbstractKernel:
    """kernel="auto": a Matern kernel of the scales of X and y, and noise."""
    spread = np.std(X, axis=0) * np.sqrt(X.shape[1])
    scales = np.where(spread > 0, spread, 1.0)
    power = 1.0 if Y is None else float(np.mean(Y**2))
    power = power if power > 0 else 1.0
    return Constant(power) * Matern(scales, nu=2.5) + White(0.1 * power)


class LeaveOneOut(NamedTuple):
    """Predictions of every training row by a process that has not seen it."""

    mean: np.ndarray  # (n,) or (n, t)
    std: np.ndarray  # of y with its noise
    log_density: np.ndarray  # of the y that was left out


@saved_state(_likelihood_rows=IntArray("m", low=0, optional=True))
@dataclass(eq=False, repr=False)
class GaussianProcessRegressor(Regressor, AbstractGaussianProcess):
    """Gaussian-process regression; the module text gives the method.

    Parameters
    ----------
    kernel : kernel, function, "auto" or None, default=None
        A kernel of `pansophy.kernels` or of `sklearn.gaussian_process.kernels`. None
        is 1.0 * RBF(1.0). "auto" is a Matern kernel with a length scale for each
        column, starting from the scales of the columns and of y, and noise.
    alpha : float or array of shape (n,), default=1e-10
        Variance of the noise, one for all rows or one for each.
    optimizer : "fmin_l_bfgs_b", function or None, default="fmin_l_bfgs_b"
        None keeps the kernel as it is. A function `optimizer(obj_func, initial_theta,
        bounds)` gives theta and the objective there.
    n_restarts_optimizer : int, default=0
        Further starts, drawn within the bounds of a scikit-learn kernel or from the
        prior.
    normalize_y : bool, default=False
        Centre and scale y.
    copy_X_train : bool, default=True
        False keeps X itself, which must not change then.
    n_targets : int or None, default=None
        Outputs of predictions before `fit` (None: 1), and a check of y.
    random_state : int, Generator or None, default=None
    solver : "auto", a name or a solver, default="auto"
        See `solvers`; "exact" makes a matrix of 8 n^2 bytes.
    prior : "auto", float or None, default="auto"
        Standard deviation of the logarithm of each kernel parameter about its start.
        "auto" is 3, and None where the kernel has bounds; None is maximum likelihood.

    Attributes
    ----------
    kernel_ : kernel
        With the parameters that were found.
    X_train_, y_train_ : arrays
        y as the process sees it: centred and scaled if asked for.
    L_ : array of shape (n, n)
        Cholesky factor of the covariance (exact solver).
    alpha_ : array of shape (n,) or (n, t)
        Covariance^-1 y (exact solver).
    log_marginal_likelihood_value_ : float
        Of the scaled y.
    jitter_ : float
        What was added to the diagonal so that a factor exists; 0 as a rule.
    solver_ : str
    solver_reason_ : str
        Why "auto" took it.
    n_evaluations_ : int
        Of the likelihood of all training rows, in the search for theta.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.gaussian_process import GaussianProcessRegressor
    >>> from pansophy.kernels import RBF
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0])
    >>> model = GaussianProcessRegressor(RBF(), alpha=0.1, optimizer=None).fit(X, y)
    >>> mean, std = model.predict([[0.5]], return_std=True)
    >>> mean.round(6), (std**2).round(6)
    (array([0.574548]), array([0.082395]))
    """

    kernel: ProcessKernel = None
    alpha: NoiseVariances = 1e-10
    optimizer: Literal["fmin_l_bfgs_b"] | Callable | None = "fmin_l_bfgs_b"
    n_restarts_optimizer: Natural = 0
    normalize_y: Flag = False
    copy_X_train: Flag = True
    n_targets: Count | None = None
    random_state: Seed = None
    solver: SolverParameter = "auto"
    prior: Literal["auto"] | Positive | None = "auto"

    def fit(self, X, y):
        """Find the kernel's parameters and condition on the data.

        Parameters
        ----------
        X : array of shape (n, d), or a list of objects that the kernel takes
        y : array of shape (n,) or (n, t)
        """
        X, y = self._check_rows_and_targets(X, y)
        data = self._scaled_data(X, y)
        family = self._family(X, data.Y)
        rng = make_rng(self.random_state)
        choice = choose_solver(self.solver, X)
        self._solver = choice.solver
        self.solver_ = choice.solver.name
        self.solver_reason_ = choice.reason
        # the rows of the likelihood; None stands for all
        part = choice.solver.training_rows(sample_count(X), rng)
        self._likelihood_rows = part
        chosen = data if part is None else data.take(part)
        theta = family.theta
        value = None
        if self.optimizer is not None and len(theta):
            theta, value = self._search(family, chosen, rng)
        self.kernel_ = family.public(theta)
        kernel = family.at(theta)
        posterior = choice.solver.condition(kernel, data, rng)
        if value is None:
            value = choice.solver.evidence(kernel, chosen, gradient=False).value
        self.log_marginal_likelihood_value_ = np.float64(value)
        self._store(posterior, data, y)
        return self

    def _store(self, posterior, data, y):
        self.X_train_ = data.X
        self.y_train_ = data.Y if y.ndim == 2 else data.Y[:, 0]
        self._noise = data.noise
        self.jitter_ = float(posterior.jitter)
        if isinstance(posterior, ExactPosterior):
            self.L_ = posterior.L
            self.alpha_ = posterior.A if y.ndim == 2 else posterior.A[:, 0]
        else:
            self._posterior = posterior

    # -- preparing -----------------------------------------------------------------

    def _check_rows_and_targets(self, X, y):
        X, y = self._check_rows(X, y, "numbers")
        y = np.asarray(y, np.float64)
        refuse_overflowing_squares(self, y if y.ndim == 2 else y[:, None], "y")
        t = y.shape[1] if y.ndim == 2 else 1
        if self.n_targets is not None and t != self.n_targets:
            raise ValueError(
                "The number of targets seen in `y` is not n_targets: "
                f"{t} != {self.n_targets}."
            )
        return X, y

    def _family(self, X, Y=None) -> KernelFamily:
        kernel: Any = self.kernel
        if kernel is None:
            kernel = Constant(1.0) * RBF(1.0)
        elif isinstance(kernel, str):
            kernel = data_scaled_kernel(X, Y)
        return kernel_family(kernel, X.shape[1] if X.ndim == 2 else None)

    def _scaled_data(self, X, y) -> GPData:
        n = sample_count(X)
        alpha = np.asarray(self.alpha, float)
        if alpha.ndim == 1 and len(alpha) not in (1, n):
            raise ValueError(
                "alpha must be a scalar or an array with same number of entries as "
                f"y: {len(alpha)} != {n}."
            )
        Y = y if y.ndim == 2 else y[:, None]
        t = Y.shape[1]
        self._y_train_mean = np.zeros(t)
        self._y_train_std = np.ones(t)
        if self.normalize_y:
            self._y_train_mean = Y.mean(axis=0)
            spread = Y.std(axis=0)
            # what rounding leaves of a constant column is no spread
            tiny = 10 * np.finfo(float).eps * np.abs(self._y_train_mean)
            self._y_train_std = np.where(spread > tiny, spread, 1.0)
        Y = (Y - self._y_train_mean) / self._y_train_std
        return GPData(X, np.ascontiguousarray(Y), np.broadcast_to(alpha, (n,)).copy())

    # -- hyper-parameters ----------------------------------------------------------

    def _search(self, family, data, rng):
        """theta of the largest posterior over all starts, and log p(y) there."""
        n = sample_count(data.X)
        coarse = None
        if n >= COARSE_FROM:
            part = data.take(np.sort(rng.permutation(n)[:COARSE_ROWS]))
            coarse = evidence_of_theta(family, self._solver, part)
        found = maximize_evidence(
            family,
            evidence_of_theta(family, self._solver, data),
            SearchOptions(self.prior, self.optimizer, self.n_restarts_optimizer),
            rng,
            coarse=coarse,
            growth=n / COARSE_ROWS,
        )
        self.n_evaluations_ = found.n_evaluations
        return found.theta, found.value

    def log_marginal_likelihood(
        self, theta=None, eval_gradient=False, clone_kernel=True
    ):
        """log p(y) of the scaled targets for the kernel of theta.

        Parameters
        ----------
        theta : array of shape (p,), optional
            None is the theta that was found.
        eval_gradient : bool, default=False
            Whether to give the gradient in theta too.
        clone_kernel : bool, default=True
            False leaves theta in `kernel_`.

        Returns
        -------
        float, or (float, array of shape (p,))
        """
        if theta is None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated for theta!=None")
            return self.log_marginal_likelihood_value_
        family = self._fitted_family()
        if not clone_kernel:
            self.kernel_ = family.public(theta)
        Y = self.y_train_ if self.y_train_.ndim == 2 else self.y_train_[:, None]
        data = GPData(self.X_train_, Y, self._noise)
        if self._likelihood_rows is not None:
            data = data.take(self._likelihood_rows)
        found = evidence_of_theta(family, self._solver, data)
        value, gradient = found(np.asarray(theta, float), eval_gradient)
        value = np.float64(value)
        return (value, gradient) if eval_gradient else value

    def _fitted_family(self) -> KernelFamily:
        X = self.X_train_
        return kernel_family(self.kernel_, X.shape[1] if X.ndim == 2 else None)

    # -- predictions ---------------------------------------------------------------

    def predict(self, X, return_std=False, return_cov=False, *, noise=True):
        """Mean and standard deviation or covariance at new rows; the prior before fit.

        Parameters
        ----------
        X : array of shape (m, d), or a list of objects that the kernel takes
        return_std, return_cov : bool, default=False
            At most one. The covariance is a matrix of 8 m^2 bytes.
        noise : bool, default=True
            Whether white noise of the kernel counts: True is about a new y, False
            about f.

        Returns
        -------
        mean : array of shape (m,) or (m, t)
        std : array of shape (m,) or (m, t)
        cov : array of shape (m, m) or (m, m, t)
        """
        if return_std and return_cov:
            raise RuntimeError(
                "At most one of return_std or return_cov can be requested."
            )
        X = self._check_new_rows(X)
        posterior, location, scale = self._posterior_and_units(X)
        if not (return_std or return_cov):
            return squeezed(posterior.mean(X) * scale + location)
        white = 0.0 if noise else self._white_variances(posterior.kernel, X)
        white = white * getattr(posterior, "inflation", 1.0)
        if return_std:
            mean, variance = posterior.moments(X)
            mean = squeezed(mean * scale + location)
            variance = np.maximum(variance - white, 0.0)
            return mean, squeezed(np.sqrt(variance)[:, None] * scale)
        mean = squeezed(posterior.mean(X) * scale + location)
        cov = posterior.covariance(X)
        cov.flat[:: len(cov) + 1] -= white
        return mean, squeezed(cov[:, :, None] * scale**2)

    def _posterior_and_units(self, X):
        """The posterior (the prior before `fit`), and location and scale of y."""
        if not hasattr(self, "X_train_"):
            family = self._family(X)
            t = self.n_targets or 1
            prior = PriorProcess(family.at(family.theta), t)
            return prior, np.zeros(t), np.ones(t)
        if self.solver_ == "exact":
            family = self._fitted_family()
            A = self.alpha_ if self.alpha_.ndim == 2 else self.alpha_[:, None]
            kernel = family.at(family.theta)
            posterior: Any = ExactPosterior(kernel, self.X_train_, A, self.L_)
        else:
            posterior = self._posterior
        return posterior, self._y_train_mean, self._y_train_std

    def _white_variances(self, kernel, X):
        return white_difference(kernel, X) if kernel.has_white_noise else 0.0

    def predict_component(self, X, kernel, return_std=False):
        """One summand of f at new rows, given all the data (exact solver).

        If f = f_1 + f_2 with kernels k_1 + k_2, f_1 given y has the mean k_1(x, X) a
        and the covariance of `exact` with k_1 in place of k, but for L and a.

        Parameters
        ----------
        X : array of shape (m, d), or a list of objects that the kernel takes
        kernel : kernel
            A summand of `kernel_`, with its parameters.
        return_std : bool, default=False

        Returns
        -------
        mean : array of shape (m,) or (m, t)
            In the units of y, without its mean.
        std : array of shape (m,) or (m, t)
        """
        X = self._check_new_rows(X)
        check_is_fitted(self)
        if self.solver_ != "exact":
            raise ParameterError("predict_component needs a fit with solver='exact'.")
        family = kernel_family(kernel, X.shape[1] if X.ndim == 2 else None)
        A = self.alpha_ if self.alpha_.ndim == 2 else self.alpha_[:, None]
        part = ExactPosterior(family.at(family.theta), self.X_train_, A, self.L_)
        mean = squeezed(part.mean(X) * self._y_train_std)
        if not return_std:
            return mean
        return mean, squeezed(np.sqrt(part.variance(X))[:, None] * self._y_train_std)

    def sample_y(self, X, n_samples=1, random_state=0):
        """Functions drawn from the process, at the rows of X; the prior before fit.

        Parameters
        ----------
        X : array of shape (m, d), or a list of objects that the kernel takes
        n_samples : int, default=1
        random_state : int, Generator or None, default=0

        Returns
        -------
        array of shape (m, n_samples) or (m, t, n_samples)
        """
        rng = make_rng(random_state)
        mean, cov = self.predict(X, return_cov=True)
        if mean.ndim == 1:
            return draw_normal_samples(mean, cov, rng, n_samples)[0]
        columns = [
            draw_normal_samples(mean[:, j], cov[:, :, j], rng, n_samples)[0]
            for j in range(mean.shape[1])
        ]
        return np.stack(columns, axis=1)

    def leave_one_out(self) -> LeaveOneOut:
        """Every training row predicted without it, in closed form (exact solver)."""
        check_is_fitted(self)
        if self.solver_ != "exact":
            raise ParameterError("leave_one_out needs a fit with solver='exact'.")
        A = self.alpha_ if self.alpha_.ndim == 2 else self.alpha_[:, None]
        Y = self.y_train_ if self.y_train_.ndim == 2 else self.y_train_[:, None]
        mean, variance = leave_one_out_moments(self.L_, A, Y)
        std = np.sqrt(variance)[:, None]
        scale = self._y_train_std
        density = -0.5 * ((Y - mean) / std) ** 2 - np.log(std * scale)
        density -= 0.5 * np.log(2 * np.pi)
        parts = (mean * scale + self._y_train_mean, std * scale, density)
        return LeaveOneOut(*(squeezed(part) for part in parts))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.requires_fit = False
        return tags


class PriorProcess(NamedTuple):
    """A Gaussian process before any data, with mean 0."""

    kernel: AbstractKernel
    n_targets: int

    def mean(self, X):
        return np.zeros((sample_count(X), self.n_targets))

    def variance(self, X):
        return np.array(self.kernel.diag(X), float)

    def moments(self, X):
        return self.mean(X), self.variance(X)

    def covariance(self, X):
        return self.kernel(X)


def evidence_of_theta(family, solver, data):
    """The function (theta, gradient) -> log p(y) and its gradient."""

    def evidence(theta, gradient):
        found = solver.evidence(family.at(theta), data, gradient=gradient)
        slope = family.pull_back(found.gradient) if gradient else None
        return found.value, slope

    return evidence


def squeezed(values):
    """Without the axis of outputs if there is one only."""
    return values[..., 0] if values.shape[-1] == 1 else values

"""Gaussian-process regression: a normal prior over functions, given noisy values.

    f ~ GP(0, k_theta),    y_i = f(x_i) + e_i,    e_i ~ N(0, s_i)                 (1)

Given the data f is a Gaussian process again, with the mean and covariance of `exact`
or of another of the `solvers`. theta maximises the log marginal likelihood log p(y),
plus a weak log-normal prior where the kernel has no bounds (`parameter_search`).

With another `likelihood` than the Normal one, y_i has the density p(y | f(x_i)) of
`likelihoods`: Student's t or any loss of residuals against outliers, Poisson for
counts, whose mean is exp(f). The posterior of f is then a Normal approximation
(`laplace`, `variational`), and predictions are of y: its mean is E[E[y | f]].

Two kinds of noise. `alpha` is part of the training data alone: predictions are of f.
`White` in the kernel is part of the process: the standard deviation of a prediction is
then that of a new y. Between a training row and an equal new row there is none of it.
Without either, equal rows whose y differ contradict (1): the likelihood is rounding
error, so that the kernel stays as it was given, with a warning.

With `normalize_y` the targets are centred and scaled before, and everything that is
returned is in their own units again; `alpha` and the kernel are in scaled units. For
counts it is the mean of the process that is set, to the logarithm of that of y.

Shapes    X (n, d)   y (n,) or (n, t)   theta (p,)
Refs      [Rasmussen2006] ch. 2, 5
"""

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base import Regressor
from ..core.arrays.arrays import asarray, is_foreign, namespace, to_numpy
from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.linalg.linalg import cholesky
from ..core.random import make_rng
from ..kernels import RBF, AbstractKernel, Constant, Matern, White
from ..kernels.base import white_difference
from ..links import identity
from ..losses import Loss
from ..params import Count, Flag, ParameterError, ParameterRule
from ..persist.saved_state import IntArray, saved_state
from .abstract_gaussian_process import (
    AbstractGaussianProcess,
    column_spreads,
    evidence_at,
    fit_process,
)
from .exact import (
    ExactPosterior,
    GPData,
    add_to_diagonal,
    leave_one_out_moments,
    sample_count,
)
from .likelihoods import Likelihood, get_likelihood
from .solvers import choose_solver

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
NO_NOISE = 1e-10  # the default of alpha
CONTRADICTION = 1e6  # spread of y in equal rows, in variances of the noise
LikelihoodParameter = Annotated[
    Any,
    ParameterRule(
        '"normal", "student_t", "poisson", a Likelihood or a loss of residuals',
        lambda v: (
            isinstance(v, (Likelihood, Loss))
            or (isinstance(v, str) and v in ("normal", "student_t", "poisson"))
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


def _data_scaled_kernel(X, Y=None) -> AbstractKernel:
    """kernel="auto": a Matern kernel of the scales of X and y, and noise."""
    power = 1.0 if Y is None else float(np.mean(to_numpy(Y) ** 2))
    power = power if power > 0 else 1.0
    return Constant(power) * Matern(column_spreads(X), nu=2.5) + White(0.1 * power)


class LeaveOneOut(NamedTuple):
    """Predictions of every training row by a process that has not seen it."""

    mean: np.ndarray  # (n,) or (n, t)
    std: np.ndarray  # of y with its noise
    log_density: np.ndarray  # of the y that was left out


def _contradicts_itself(kernel, data) -> bool:
    """Whether equal rows have values that noise as small as assumed cannot explain.

    The likelihood is rounding error then, whatever the parameters of the kernel.
    """
    normal = data.likelihood.name == "normal"
    if not normal or kernel.has_white_noise or not isinstance(data.X, np.ndarray):
        return False
    noise = float(np.max(data.noise, initial=0.0))
    scale = float(np.ptp(data.Y, axis=0).max(initial=0.0)) ** 2
    if data.X.dtype.kind != "f" or scale <= CONTRADICTION * noise:
        return False
    first, group = np.unique(data.X, axis=0, return_index=True, return_inverse=True)[1:]
    spread = (data.Y - data.Y[first[group]]) ** 2
    return bool(np.any(spread > CONTRADICTION * np.maximum(noise, 1e-12 * scale)))


def _warn_contradiction(name):
    warnings.warn(
        "equal rows of X have different y, which a process without noise cannot "
        f"explain: {name} did not search the parameters of its kernel. Raise alpha, "
        "or add White() to the kernel.",
        UserWarning,
        stacklevel=3,
    )


@saved_state(_likelihood_rows=IntArray("m", low=0, optional=True))
@dataclass(eq=False, repr=False)
class GaussianProcessRegressor(Regressor, AbstractGaussianProcess):
    """Gaussian-process regression; the module text gives the method.

    Parameters
    ----------
    kernel : kernel, function, "auto" or None, default=None
        A kernel of `pansophy.kernels` or of `sklearn.gaussian_process.kernels`. None
        is 1.0 * RBF(1.0), whose parameters are learnt as any. "auto" is a Matern kernel
        with a length scale for each column, starting from the scales of the columns and
        of y, and noise.
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
    likelihood : str, Likelihood or Loss, default="normal"
        Of y given f: "normal" with the noise of `alpha` and White, "student_t",
        "poisson", or another (`get_likelihood`); all but the first take one output.

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
    likelihood_ : Likelihood
        With the scale that was found.
    n_evaluations_ : int
        Of the likelihood of all training rows, in the search for theta, or batches.
    interrupted_ : bool
        Whether Ctrl-C ended the search.
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

    _: KW_ONLY
    alpha: NoiseVariances = NO_NOISE
    normalize_y: Flag = False
    n_targets: Count | None = None
    likelihood: LikelihoodParameter = "normal"

    def fit(self, X, y):
        """Find the kernel's parameters and condition on the data.

        Parameters
        ----------
        X : array of shape (n, d), or a list of objects that the kernel takes
        y : array of shape (n,) or (n, t)
        """
        X, y = self._check_rows_and_targets(X, y)
        data = self._scaled_data(X, y)
        kernel = self._start_kernel(X, data.Y)
        family = self._family(kernel, X)
        choice = choose_solver(self.solver, family.at(family.theta), data)
        rng = make_rng(self.random_state)
        options = self._search_options()
        if options.optimizer is not None and _contradicts_itself(family.ours, data):
            _warn_contradiction(type(self).__name__)
            options = options._replace(optimizer=None)
        result = fit_process(kernel, choice, data, options, rng)
        self._solver = choice.solver
        self.solver_ = choice.solver.name
        self.solver_reason_ = choice.reason
        self.kernel_ = result.kernel
        self.likelihood_ = result.likelihood
        self.log_marginal_likelihood_value_ = np.float64(result.value)
        self._solver_params = result.solver_params
        self._likelihood_rows = result.rows
        self._store(result.posterior, data, y)
        self._record_search([result])
        return self

    def _store(self, posterior, data, y):
        self.X_train_ = data.X
        self.y_train_ = data.Y if y.ndim == 2 else data.Y[:, 0]
        self._noise = data.noise
        self.jitter_ = float(getattr(posterior, "jitter", 0.0))
        if isinstance(posterior, ExactPosterior):
            self.L_ = posterior.L
            self.alpha_ = posterior.A if y.ndim == 2 else posterior.A[:, 0]
        else:
            self._posterior = posterior

    # -- preparing -----------------------------------------------------------------

    def _check_rows_and_targets(self, X, y):
        X, y = self._check_rows(X, y, "numbers")
        if not is_foreign(X):
            y = np.asarray(y, np.float64)
            refuse_overflowing_squares(self, y if y.ndim == 2 else y[:, None], "y")
        t = y.shape[1] if y.ndim == 2 else 1
        if self.n_targets is not None and t != self.n_targets:
            raise ValueError(
                "The number of targets seen in `y` is not n_targets: "
                f"{t} != {self.n_targets}."
            )
        return X, y

    def _start_kernel(self, X, Y=None):
        if self.kernel is None:
            return Constant(1.0) * RBF(1.0)
        if isinstance(self.kernel, str):
            return _data_scaled_kernel(X, Y)
        return self.kernel

    def _scaled_data(self, X, y) -> GPData:
        n = sample_count(X)
        alpha = np.asarray(self.alpha, float)
        if alpha.ndim == 1 and len(alpha) not in (1, n):
            raise ValueError(
                "alpha must be a scalar or an array with same number of entries as "
                f"y: {len(alpha)} != {n}."
            )
        Y = y if y.ndim == 2 else y[:, None]
        t = int(Y.shape[1])
        likelihood = get_likelihood(self.likelihood)
        self._y_train_mean = np.zeros(t)
        self._y_train_std = np.ones(t)
        if self.normalize_y and likelihood.loss.link is identity:
            host = np.asarray(to_numpy(Y), float)
            self._y_train_mean = host.mean(axis=0)
            spread = host.std(axis=0)
            # what rounding leaves of a constant column is no spread
            tiny = 10 * np.finfo(float).eps * np.abs(self._y_train_mean)
            self._y_train_std = np.where(spread > tiny, spread, 1.0)
        noise = np.broadcast_to(alpha, (n,)).copy()
        if is_foreign(X):
            location, scale = (asarray(v, like=X) for v in self._units())
            return GPData(X, (Y - location) / scale, asarray(noise, like=X))
        Y = np.ascontiguousarray((Y - self._y_train_mean) / self._y_train_std)
        if likelihood.name != "normal":
            likelihood = self._start_likelihood(likelihood, Y)
        return GPData(X, Y, noise, likelihood)

    def _units(self):
        """Location and scale of y, one entry for each output."""
        if not hasattr(self, "_y_train_mean"):
            t = self.n_targets or 1
            return np.zeros(t), np.ones(t)
        return self._y_train_mean, self._y_train_std

    def _start_likelihood(self, likelihood, Y):
        """The likelihood with a scale or an offset read off y."""
        name = likelihood.name
        if name in ("bernoulli", "categorical"):
            raise ParameterError(
                f"the likelihood {name!r} is that of GaussianProcessClassifier."
            )
        if Y.shape[1] != 1:
            raise ParameterError(
                f"the likelihood {name!r} takes one output, y has {Y.shape[1]}."
            )
        if np.any(np.asarray(self.alpha) != NO_NOISE):
            raise ParameterError(
                "alpha is the noise of the likelihood 'normal'; leave it out with "
                f"{name!r}."
            )
        if name == "poisson" and (Y.min() < 0 or np.any(np.round(Y) != Y)):
            raise ValueError(
                "y must hold whole numbers of at least 0 for the likelihood 'poisson'."
            )
        if likelihood.loss.link is not identity:
            if self.normalize_y:
                offset = float(likelihood.loss.link(max(Y.mean(), 1e-3)))
                return replace(likelihood, offset=offset)
            return likelihood
        if isinstance(self.likelihood, Likelihood):
            return likelihood
        spread = float(np.median(np.abs(Y - np.median(Y)))) or float(Y.std())
        return replace(likelihood, scale=0.5 * spread if spread > 0 else 1.0)

    # -- hyper-parameters ----------------------------------------------------------

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
        theta = np.asarray(theta, float)
        kernel = self.kernel_
        if not clone_kernel:
            self.kernel_ = self._fitted_family().public(theta)
        Y = self.y_train_ if self.y_train_.ndim == 2 else self.y_train_[:, None]
        data = GPData(self.X_train_, Y, self._noise, self.likelihood_)
        if self._likelihood_rows is not None:
            data = data.take(self._likelihood_rows)
        value, gradient = evidence_at(
            kernel,
            self.likelihood_,
            self._solver_params,
            self._solver,
            data,
            theta,
            eval_gradient,
        )
        return (value, gradient) if eval_gradient else value

    def _fitted_family(self):
        return self._family(self.kernel_, self.X_train_)

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
        posterior = self._posterior_at(X)
        if self._is_normal():
            return self._predict_normal(posterior, X, return_std, return_cov, noise)
        return self._predict_other(posterior, X, return_std, return_cov, noise)

    def _is_normal(self) -> bool:
        fitted = getattr(self, "likelihood_", None)
        return fitted is None or fitted.name == "normal"

    def _predict_normal(self, posterior, X, return_std, return_cov, noise):
        mean = posterior.mean(X) if return_cov or not return_std else None
        location, scale = self._units()
        if is_foreign(X):
            location, scale = (asarray(v, like=X) for v in (location, scale))
        xp = namespace(X) if is_foreign(X) else np
        if not (return_std or return_cov):
            return _squeezed(mean * scale + location)
        white = 0.0 if noise else self._white_variances(posterior.kernel, X)
        white = white * getattr(posterior, "inflation", 1.0)
        if return_std:
            mean, variance = posterior.moments(X)
            mean = _squeezed(mean * scale + location)
            variance = xp.maximum(variance - white, xp.zeros_like(variance))
            return mean, _squeezed(xp.sqrt(variance)[:, None] * scale)
        mean = _squeezed(mean * scale + location)
        cov = add_to_diagonal(posterior.covariance(X), -white)
        return mean, _squeezed(cov[:, :, None] * scale**2)

    def _predict_other(self, posterior, X, return_std, return_cov, noise):
        """Predictions of y through a likelihood that is not Normal."""
        (location,), (scale,) = self._units()
        f = posterior.mean(X).reshape(len(X))
        if return_cov:
            if self.likelihood_.loss.link is not identity:
                raise ParameterError(
                    "return_cov needs a likelihood whose mean is f; take "
                    "latent_mean_and_variance or return_std."
                )
            cov = posterior.covariance(X)
            if noise:
                cov = add_to_diagonal(cov, self.likelihood_.variance(f))
            return f * scale + location, cov * scale**2
        mean, spread, total = self.likelihood_.moments(f, posterior.variance(X))
        mean = mean * scale + location
        if not return_std:
            return mean
        return mean, np.sqrt(total if noise else spread) * scale

    def latent_mean_and_variance(self, X):
        """Mean and variance of the latent f at new rows, in the units of the process.

        Parameters
        ----------
        X : array of shape (m, d), or a list of objects that the kernel takes

        Returns
        -------
        mean : array of shape (m,) or (m, t)
        variance : array of shape (m,)
        """
        check_is_fitted(self)
        X = self._check_new_rows(X)
        posterior = self._posterior_at(X)
        mean = posterior.mean(X)
        variance = posterior.variance(X)
        return (_squeezed(mean) if mean.ndim == 2 else mean), variance

    def _posterior_at(self, X):
        """The posterior; the prior before `fit`."""
        if not hasattr(self, "X_train_"):
            family = self._family(self._start_kernel(X), X)
            return PriorProcess(family.at(family.theta), self.n_targets or 1)
        if self.solver_ != "exact":
            return self._posterior
        family = self._fitted_family()
        A = self.alpha_ if self.alpha_.ndim == 2 else self.alpha_[:, None]
        return ExactPosterior(family.at(family.theta), self.X_train_, A, self.L_)

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
        family = self._family(kernel, X)
        A = self.alpha_ if self.alpha_.ndim == 2 else self.alpha_[:, None]
        part = ExactPosterior(family.at(family.theta), self.X_train_, A, self.L_)
        mean = _squeezed(part.mean(X) * self._y_train_std)
        if not return_std:
            return mean
        return mean, _squeezed(np.sqrt(part.variance(X))[:, None] * self._y_train_std)

    def sample_y(self, X, n_samples=1, random_state=0):
        """Functions drawn from the process, at the rows of X; the prior before fit.

        With another likelihood than the Normal one, E[y | f] of functions f.

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
        if not self._is_normal():
            X = self._check_new_rows(X)
            posterior = self._posterior_at(X)
            f = posterior.mean(X).reshape(len(X))
            cov = posterior.covariance(X)
            samples, _ = draw_normal_samples(f, cov, rng, n_samples)
            (location,), (scale,) = self._units()
            return self.likelihood_.mean(samples) * scale + location
        mean, cov = (
            np.asarray(to_numpy(v), float) for v in self.predict(X, return_cov=True)
        )
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
        mean, variance, Y = (np.asarray(to_numpy(v)) for v in (mean, variance, Y))
        std = np.sqrt(variance)[:, None]
        scale = self._y_train_std
        density = -0.5 * ((Y - mean) / std) ** 2 - np.log(std * scale)
        density -= 0.5 * np.log(2 * np.pi)
        parts = (mean * scale + self._y_train_mean, std * scale, density)
        return LeaveOneOut(*(_squeezed(part) for part in parts))

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


def _squeezed(values):
    """Without the axis of outputs if there is one only."""
    return values[..., 0] if values.shape[-1] == 1 else values

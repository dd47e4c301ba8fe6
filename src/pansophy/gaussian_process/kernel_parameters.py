"""The kernel of a Gaussian process as a function of its hyper-parameters theta.

A user gives a kernel of `pansophy.kernels` or one of scikit-learn's. Both are seen as
one family k_theta here, theta being the vector that the user's own kernel has. Kernels
of scikit-learn are translated, so that matrices are made by our tiles; since every
parameter of ours is a power of one of theirs, the logarithms are related by a matrix,

    theta_ours = A theta_theirs + c,    gradient_theirs = A^T gradient_ours       (1)

whose columns are read off the translation of kernels one unit apart. A kernel without
a counterpart is called as it is (`kernels.SklearnKernel`).

Hyper-parameters have no hard bounds unless a kernel of scikit-learn brings some. They
have a log-normal prior, weak (a factor of 20 either way is one standard deviation) and
centred on where the kernel starts:

    log p(theta) = -|theta - theta_0|^2 / (2 s^2)                                 (2)

Shapes    theta (p,)   A (p_ours, p)   bounds (p, 2)
"""

import contextlib
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ..core.linalg import NotPositiveDefiniteError
from ..kernels import AbstractKernel, SklearnKernel, from_sklearn, get_kernel
from ..kernels.lookup import is_sklearn_kernel

REACH = 25.0  # largest change of a logarithm, where exp is still harmless
WEAK = 3.0  # standard deviation of eq. (2)
SLOPE = 1e-3  # largest gradient at which a search on many rows ends
FAR = 1e10  # added to the last objective where there is none


@dataclass(frozen=True)
class KernelFamily:
    """k_theta for a kernel that a user gave: the translation of eq. (1)."""

    given: Any  # the user's kernel, at the start
    ours: AbstractKernel  # the same, for computing
    A: np.ndarray | None = None  # eq. (1); None if theta is that of ours
    shift: np.ndarray | None = None
    bounds: np.ndarray | None = None

    @property
    def theta(self) -> np.ndarray:
        """theta of the kernel as it was given."""
        return np.array(self.given.theta, float)

    def at(self, theta) -> AbstractKernel:
        """Our kernel of theta."""
        theta = np.asarray(theta, float)
        if self.A is not None:
            theta = self.A @ theta + self.shift
        return self.ours.with_theta(theta)

    def pull_back(self, gradient) -> np.ndarray:
        """The gradient in theta of the user's kernel, eq. (1)."""
        return gradient if self.A is None else self.A.T @ gradient

    def public(self, theta):
        """The kernel of theta in the user's own form."""
        if isinstance(self.given, AbstractKernel):
            return self.given.with_theta(theta)
        return self.given.clone_with_theta(np.asarray(theta, float))

    def limits(self) -> np.ndarray:
        """The bounds, or where exp(theta) is still harmless."""
        if self.bounds is not None:
            return self.bounds
        return np.stack([self.theta - REACH, self.theta + REACH], axis=1)


def kernel_family(kernel, n_features) -> KernelFamily:
    """The family of a kernel of ours, of scikit-learn's, or of a function."""
    if not is_sklearn_kernel(kernel):
        ours = get_kernel(kernel, n_features=n_features)
        return KernelFamily(ours, ours)
    kernel = clone(kernel)
    theta = np.array(kernel.theta, float)
    bounds = np.array(kernel.bounds, float).reshape(len(theta), 2)
    ours = from_sklearn(kernel, n_features=n_features, wrap_unknown=True)
    if isinstance(ours, SklearnKernel):
        return KernelFamily(kernel, ours, bounds=bounds)
    start = ours.theta
    columns = [
        from_sklearn(kernel.clone_with_theta(t), n_features=n_features).theta - start
        for t in theta + np.eye(len(theta))
    ]
    A = np.zeros((len(start), len(theta)))
    if columns:
        A = np.round(np.stack(columns, axis=1))  # whole powers
    return KernelFamily(kernel, ours, A, start - A @ theta, bounds)


@dataclass(frozen=True)
class LogNormalPrior:
    """Eq. (2); sd = inf is no prior."""

    center: np.ndarray
    sd: float

    def value(self, theta) -> float:
        if np.isinf(self.sd):
            return 0.0
        return -0.5 * float(np.sum(((theta - self.center) / self.sd) ** 2))

    def gradient(self, theta) -> np.ndarray:
        if np.isinf(self.sd):
            return np.zeros(len(self.center))
        return (self.center - theta) / self.sd**2

    def draw(self, rng, bounds):
        """A start: uniform within bounds, or from the prior."""
        if bounds is not None:
            if not np.isfinite(bounds).all():
                raise ValueError(
                    "n_restarts_optimizer above 0 requires that all bounds are finite."
                )
            return rng.uniform(bounds[:, 0], bounds[:, 1])
        sd = self.sd if np.isfinite(self.sd) else WEAK
        return rng.normal(self.center, sd)


def parameter_prior(family, sd) -> LogNormalPrior:
    """The prior of a family: "auto" is weak, or none where there are bounds."""
    if sd == "auto":
        sd = WEAK if family.bounds is None else np.inf
    return LogNormalPrior(family.theta, np.inf if sd is None else float(sd))


class BestTheta:
    """The negative log posterior of theta, which remembers its best point.

    Where there is no value (a matrix that has no factor) the objective is infinite; a
    line search is told a value far above the last one instead, for it interpolates.
    """

    def __init__(self, evidence, prior):
        self.evidence = evidence  # evidence(theta, gradient) -> value, gradient
        self.prior = prior
        self.theta: np.ndarray | None = None
        self.value = np.inf
        self.slope: np.ndarray | None = None  # of the log likelihood at theta
        self.n_evaluations = 0
        self._last = 0.0

    def __call__(self, theta, eval_gradient=True):
        theta = np.array(theta, float)
        self.n_evaluations += 1
        value = -np.inf
        gradient = np.zeros(len(theta))
        with contextlib.suppress(NotPositiveDefiniteError, FloatingPointError):
            value, gradient = self.evidence(theta, eval_gradient)
        objective = -value - self.prior.value(theta)
        if not np.isfinite(objective):
            objective = self._last + FAR
            return (objective, np.zeros(len(theta))) if eval_gradient else objective
        self._last = objective
        if objective < self.value:
            self.theta = theta
            self.value = objective
            self.slope = gradient
        if not eval_gradient:
            return objective
        return objective, -gradient - self.prior.gradient(theta)


def descend(objective, theta, limits, optimizer):
    """One run from theta by L-BFGS-B or the user's own optimiser."""
    if callable(optimizer):
        found, _ = optimizer(objective, theta, bounds=limits)
        objective(found, eval_gradient=False)
        return
    theta = np.clip(theta, limits[:, 0], limits[:, 1])
    run = scipy.optimize.minimize(
        objective, theta, jac=True, bounds=limits, method="L-BFGS-B"
    )
    if run.status == 1:
        warnings.warn(
            f"the hyper-parameters did not converge in {run.nit} iterations.",
            ConvergenceWarning,
            stacklevel=4,
        )


def curvature_by_differences(objective, theta, step=1e-3):
    """The Hessian of an objective by differences of its gradient, made definite."""
    columns = [
        (objective(theta + e)[1] - objective(theta - e)[1]) / (2 * step)
        for e in step * np.eye(len(theta))
    ]
    H = np.stack(columns)
    values, vectors = np.linalg.eigh(0.5 * (H + H.T))
    values = np.maximum(np.abs(values), 1e-6 * np.abs(values).max())
    return (vectors * values) @ vectors.T


def descend_from_coarse(objective, coarse, limits, growth) -> bool:
    """BFGS from the optimum on fewer rows, with the curvature there.

    `growth` is by how many times there are more rows now. False if that optimum is at
    a limit or flat, where this start is of no use.
    """
    theta = coarse.theta
    if theta is None or np.any(np.abs(limits - theta[:, None]) < 0.1):
        return False
    H = growth * curvature_by_differences(coarse, theta)
    if not np.isfinite(H).all() or np.linalg.eigvalsh(H)[0] < 1e-3:
        return False

    def within(theta):
        outside = (theta < limits[:, 0]) | (theta > limits[:, 1])
        if outside.any():
            return FAR, np.zeros(len(theta))
        return objective(theta)

    inverse = np.linalg.inv(H)
    scipy.optimize.minimize(
        within,
        theta,
        jac=True,
        method="BFGS",
        options={"hess_inv0": 0.5 * (inverse + inverse.T), "gtol": SLOPE},
    )
    return objective.theta is not None


def warn_at_bounds(family, theta, slope):
    """Name each parameter that ended at a bound, and what moving on would gain.

    `slope` is the gradient of the log likelihood at theta.
    """
    if family.bounds is None:
        return
    at = 0
    for h in family.given.hyperparameters:
        if h.fixed:
            continue
        for j in range(h.n_elements):
            for side, word in enumerate(("lower", "upper")):
                if np.isclose(theta[at], family.bounds[at, side]):
                    text = f"{h.name}[{j}] ended at its {word} bound "
                    text += f"{np.exp(family.bounds[at, side]):.6g}"
                    if slope is not None:  # an optimiser may look at values alone
                        gain = abs(slope[at]) * np.log(2)
                        text += f": the log likelihood gains about {gain:.3g} for a "
                        text += "factor of 2 beyond it"
                    warnings.warn(
                        text + ".",
                        ConvergenceWarning,
                        stacklevel=4,
                    )
            at += 1


class SearchOptions(NamedTuple):
    prior: Any = "auto"  # as in `parameter_prior`
    optimizer: Any = "fmin_l_bfgs_b"
    n_restarts: int = 0


class FoundTheta(NamedTuple):
    theta: np.ndarray
    value: float | None  # of the log likelihood; None if there was none anywhere
    n_evaluations: int


def maximize_evidence(
    family, evidence, options: SearchOptions, rng, *, coarse=None, growth=1.0
) -> FoundTheta:
    """theta of the largest log likelihood and prior over all starts.

    Parameters
    ----------
    family : KernelFamily
    evidence : callable
        (theta, gradient) -> log p(y) and its gradient (None if not asked for).
    options : SearchOptions
    rng : Generator
    coarse : callable, optional
        `evidence` of fewer rows, where the search begins.
    growth : float
        Rows of `evidence` over those of `coarse`.
    """
    prior = parameter_prior(family, options.prior)
    limits = family.limits()
    starts = [family.theta]
    starts += [prior.draw(rng, family.bounds) for _ in range(options.n_restarts)]
    objective = BestTheta(evidence, prior)
    if coarse is not None and not callable(options.optimizer):
        fewer = BestTheta(coarse, prior)
        for start in starts:
            descend(fewer, start, limits, options.optimizer)
        starts = [family.theta if fewer.theta is None else fewer.theta]
        if descend_from_coarse(objective, fewer, limits, growth):
            starts = []
    for start in starts:
        descend(objective, start, limits, options.optimizer)
    if objective.theta is None:
        return FoundTheta(family.theta, None, objective.n_evaluations)
    warn_at_bounds(family, objective.theta, objective.slope)
    value = -objective.value - prior.value(objective.theta)
    return FoundTheta(objective.theta, value, objective.n_evaluations)

"""The search for all that a Gaussian process learns, as one vector x.

    x = (theta, phi, z)                                                           (1)

theta are the logarithms of the kernel's parameters, phi those of the likelihood, and z
what a solver learns of its own, such as inducing inputs in units of their columns. x
maximises the evidence plus a prior: theta and phi are log-normal, weakly (a factor of
20 either way is one standard deviation) about where they start, z has none,

    log p(x) = -sum ((x - x_0) / s)^2 / 2,    s = inf for z                       (2)

by L-BFGS with analytic gradients from one start or several. From COARSE_FROM rows the
search begins on COARSE_ROWS of them, which finds most of the way at a small part of
the cost, and goes on from there with the curvature that was found.

A matrix that has no factor is an infinite objective, not an error. Ctrl-C ends the
search at the best x so far.
"""

import contextlib
import warnings
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
from sklearn.exceptions import ConvergenceWarning

from ..base import InterruptedFitWarning
from ..core.linalg.linalg import NotPositiveDefiniteError
from .exact import NOTHING, GPData, sample_count
from .kernel_parameters import REACH, KernelFamily

WEAK = 3.0  # standard deviation of eq. (2)
SLOPE = 1e-3  # largest gradient at which a search on many rows ends
FAR = 1e10  # added to the last objective where there is none
COARSE_FROM = 1000  # rows from which the search begins on fewer
COARSE_ROWS = 400
LOOKED_AT = 50  # rows that are compared with all others
UNRELATED = 1e-12  # correlation that is none
OWN_STEPS = 100  # most iterations where the solver has parameters of its own


@dataclass(frozen=True)
class HyperparameterVector:
    """The vector x of eq. (1) for a kernel, a likelihood and a solver."""

    family: KernelFamily
    likelihood: Any
    solver_params: np.ndarray = field(default_factory=lambda: NOTHING)  # z at the start

    @property
    def start(self) -> np.ndarray:
        return np.concatenate(
            [self.family.theta, self.likelihood.parameters, self.solver_params]
        )

    def split(self, x):
        """theta, the likelihood of phi, and z."""
        p = len(self.family.theta)
        q = p + len(self.likelihood.parameters)
        return x[:p], self.likelihood.with_parameters(x[p:q]), x[q:]

    def pull_back(self, evidence) -> np.ndarray:
        """The gradient in x of an `MarginalLikelihood`."""
        theta = self.family.pull_back(evidence.gradient)
        z = evidence.solver_params if len(self.solver_params) else NOTHING
        return np.concatenate([theta, evidence.likelihood, z])

    def limits(self) -> np.ndarray:
        """Bounds of the kernel, or where exp is still harmless."""
        phi = self.likelihood.parameters
        wide = np.stack([phi - REACH, phi + REACH], axis=1)
        free = np.tile([-np.inf, np.inf], (len(self.solver_params), 1))
        return np.concatenate([self.family.limits(), wide, free])

    def with_solver_params(self, solver_params) -> "HyperparameterVector":
        return HyperparameterVector(self.family, self.likelihood, solver_params)

    def evidence(self, solver, data: GPData):
        """The function (x, gradient) -> log p(y) and its gradient."""
        solver = solver.for_search()

        def evidence(x, gradient):
            theta, likelihood, solver_params = self.split(x)
            evidence_found = solver.evidence(
                self.family.at(theta),
                data._replace(likelihood=likelihood),
                solver_params,
                gradient=gradient,
            )
            return evidence_found.value, self.pull_back(
                evidence_found
            ) if gradient else None

        return evidence


@dataclass(frozen=True)
class LogNormalPrior:
    """Eq. (2); an entry of sd that is inf has no prior."""

    center: np.ndarray
    sd: np.ndarray

    def value(self, x) -> float:
        return -0.5 * float(np.sum(((x - self.center) / self.sd) ** 2))

    def gradient(self, x) -> np.ndarray:
        return (self.center - x) / self.sd**2

    def draw(self, rng, bounds):
        """A start: uniform within the kernel's bounds, the rest from the prior."""
        sd = np.where(np.isfinite(self.sd), self.sd, WEAK)
        x = rng.normal(self.center, sd)
        if bounds is not None:
            if not np.isfinite(bounds).all():
                raise ValueError(
                    "n_restarts_optimizer above 0 requires that all bounds are finite."
                )
            x[: len(bounds)] = rng.uniform(bounds[:, 0], bounds[:, 1])
        return x


def parameter_prior(vector: HyperparameterVector, sd) -> LogNormalPrior:
    """The prior of x: "auto" is weak, or none for theta where there are bounds."""
    family = vector.family
    if sd == "auto":
        sd = WEAK if family.bounds is None else np.inf
    sizes = [
        len(family.theta),
        len(vector.likelihood.parameters),
        len(vector.solver_params),
    ]
    width = np.inf if sd is None else float(sd)
    return LogNormalPrior(
        vector.start, np.repeat([width, width if sd is None else WEAK, np.inf], sizes)
    )


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
        self.interrupted = False
        self._last = 0.0

    def __call__(self, theta, eval_gradient=True):
        theta = np.array(theta, float)
        self.n_evaluations += 1
        value = -np.inf
        gradient = np.zeros(len(theta))
        with contextlib.suppress(NotPositiveDefiniteError, FloatingPointError):
            value, gradient = self.evidence(theta, eval_gradient)
            if eval_gradient and not np.isfinite(gradient).all():
                value = -np.inf
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


def _descend(objective, theta, limits, optimizer, *, max_iter=None):
    """One run from theta by L-BFGS-B or the user's own optimiser.

    With `max_iter` as many iterations are enough, and no warning is given.
    """
    if callable(optimizer):
        result, _ = optimizer(objective, theta, bounds=limits)
        objective(result, eval_gradient=False)
        return
    theta = np.clip(theta, limits[:, 0], limits[:, 1])
    run = scipy.optimize.minimize(
        objective,
        theta,
        jac=True,
        bounds=limits,
        method="L-BFGS-B",
        options={} if max_iter is None else {"maxiter": max_iter},
    )
    if run.status == 1 and max_iter is None:
        warnings.warn(
            f"the hyper-parameters did not converge in {run.nit} iterations.",
            ConvergenceWarning,
            stacklevel=4,
        )


def _curvature_by_differences(objective, theta, step=1e-3):
    """The Hessian of an objective by differences of its gradient, made definite."""
    columns = [
        (objective(theta + e)[1] - objective(theta - e)[1]) / (2 * step)
        for e in step * np.eye(len(theta))
    ]
    H = np.stack(columns)
    values, vectors = np.linalg.eigh(0.5 * (H + H.T))
    values = np.maximum(np.abs(values), 1e-6 * np.abs(values).max())
    return (vectors * values) @ vectors.T


def _descend_from_coarse(objective, coarse, limits, growth) -> bool:
    """BFGS from the optimum on fewer rows, with the curvature there.

    `growth` is by how many times there are more rows now. False if that optimum is at
    a limit or flat, where this start is of no use.
    """
    theta = coarse.theta
    if theta is None or np.any(np.abs(limits - theta[:, None]) < 0.1):
        return False
    H = growth * _curvature_by_differences(coarse, theta)
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


def _warn_if_unrelated(family, theta, X):
    """Warn if the kernel related no two rows, neither at its start nor where it ended.

    The likelihood then has no slope in a length scale, which stays where it was.
    """
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind != "f":
        return
    for values in (family.theta, theta):
        kernel = family.at(values).without_noise()
        looked_at = np.linspace(0, len(X) - 1, min(len(X), LOOKED_AT)).astype(int)
        near = np.abs(kernel(X[looked_at], X))
        near[np.arange(len(looked_at)), looked_at] = 0.0
        size = np.sqrt(np.abs(kernel.diag(X)))
        if len(X) < 2 or (near > UNRELATED * size[looked_at][:, None] * size).any():
            return
    warnings.warn(
        "the kernel relates no row of X to any other, so that its length scales could "
        "not be learnt: scale X, or give length scales of the size of the distances "
        'between rows (kernel="auto" does).',
        ConvergenceWarning,
        stacklevel=4,
    )


def _warn_at_bounds(family, theta, slope):
    """Name each parameter that ended at a bound, and what moving on would gain.

    `slope` is the gradient of the log likelihood at theta.
    """
    if family.bounds is None:
        return
    theta_index = 0
    for h in family.given.hyperparameters:
        if h.fixed:
            continue
        for j in range(h.n_elements):
            for side, word in enumerate(("lower", "upper")):
                if np.isclose(theta[theta_index], family.bounds[theta_index, side]):
                    text = f"{h.name}[{j}] ended at its {word} bound "
                    text += f"{np.exp(family.bounds[theta_index, side]):.6g}"
                    if slope is not None:  # an optimiser may look at values alone
                        gain = abs(slope[theta_index]) * np.log(2)
                        text += f": the log likelihood gains about {gain:.3g} for a "
                        text += "factor of 2 beyond it"
                    warnings.warn(
                        text + ".",
                        ConvergenceWarning,
                        stacklevel=4,
                    )
            theta_index += 1


class SearchOptions(NamedTuple):
    prior: Any = "auto"  # as in `parameter_prior`
    optimizer: Any = "fmin_l_bfgs_b"
    n_restarts: int = 0


class FoundParameters(NamedTuple):
    """Parameters where the search ended."""

    theta: np.ndarray
    likelihood: Any
    solver_params: np.ndarray
    value: float | None  # of the evidence; None if there was none anywhere
    n_evaluations: int
    interrupted: bool = False


def _coarse_search(vector, solver, data, options, rng):
    """The best x on COARSE_ROWS rows, as the objective that found it."""
    n = sample_count(data.X)
    part = data.take(np.sort(rng.permutation(n)[:COARSE_ROWS]))
    prior = parameter_prior(vector, options.prior)
    objective = BestTheta(vector.evidence(solver.coarse(part), part), prior)
    try:
        for start in _search_starts(vector, prior, options, rng):
            _descend(objective, start, vector.limits(), options.optimizer)
    except KeyboardInterrupt:
        if objective.theta is None:
            raise
        objective.interrupted = True
    return objective


def _search_starts(vector, prior, options, rng):
    bounds = vector.family.bounds
    drawn = [prior.draw(rng, bounds) for _ in range(options.n_restarts)]
    return [vector.start, *drawn]


def search_parameters(family, solver, data, options, rng) -> FoundParameters:
    """x of the largest evidence and prior over all starts.

    Parameters
    ----------
    family : KernelFamily
    solver : AbstractSolver
    data : GPData
        With the likelihood at its start.
    options : SearchOptions
    rng : Generator
    """
    vector = HyperparameterVector(family, data.likelihood)
    if options.optimizer is None or not len(vector.start):
        z = solver.start(family.at(family.theta), data, rng)
        return FoundParameters(family.theta, data.likelihood, z, None, 0)
    fewer = None
    # batches refine what few rows have found: Adam's steps are short
    min_samples = COARSE_ROWS + 1 if solver.is_stochastic(data) else COARSE_FROM
    is_large = sample_count(data.X) >= min_samples
    if is_large and not callable(options.optimizer):
        fewer = _coarse_search(vector, solver, data, options, rng)
    best = vector.start if fewer is None or fewer.theta is None else fewer.theta
    theta, likelihood, _ = vector.split(best)
    z = solver.start(family.at(theta), data._replace(likelihood=likelihood), rng)
    if fewer is not None and fewer.interrupted:
        return FoundParameters(theta, likelihood, z, None, 0, True)
    vector = vector.with_solver_params(z)
    best = np.concatenate([best, z])
    prior = parameter_prior(vector, options.prior)
    if solver.is_stochastic(data):
        result = solver.stochastic_search(vector, data, best, prior, rng)
        x = vector.split(result.state.x)
        return FoundParameters(*x, None, result.n_iter, result.reason == "interrupted")
    objective = BestTheta(vector.evidence(solver, data), prior)
    try:
        _climb(objective, vector, best, fewer, data, options, rng)
    except KeyboardInterrupt:
        if objective.theta is None:
            raise
        objective.interrupted = True
    if objective.theta is None:
        x = vector.split(vector.start)
        return FoundParameters(*x, None, objective.n_evaluations)
    p = len(family.theta)
    _warn_if_unrelated(family, objective.theta[:p], data.X)
    slope = None if objective.slope is None else objective.slope[:p]
    _warn_at_bounds(family, objective.theta[:p], slope)
    value = -objective.value - prior.value(objective.theta)
    x = vector.split(objective.theta)
    return FoundParameters(*x, value, objective.n_evaluations, objective.interrupted)


def _climb(objective, vector, best, fewer, data, options, rng):
    """All runs of the search on all rows."""
    limits = vector.limits()
    if len(vector.solver_params):
        _descend(objective, best, limits, options.optimizer, max_iter=OWN_STEPS)
        return
    if fewer is None:
        for start in _search_starts(vector, objective.prior, options, rng):
            _descend(objective, start, limits, options.optimizer)
        return
    growth = sample_count(data.X) / COARSE_ROWS
    if not _descend_from_coarse(objective, fewer, limits, growth):
        _descend(objective, best, limits, options.optimizer)


def warn_interrupted(name):
    warnings.warn(
        f"{name}: the search for the hyper-parameters was interrupted; the model is "
        "that of the best ones so far.",
        InterruptedFitWarning,
        stacklevel=3,
    )

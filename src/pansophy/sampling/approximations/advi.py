"""Automatic differentiation variational inference (ADVI) with Gaussian families.

q = N(m, S) with S = diag(s^2) (mean field) or S = L L' (full rank) maximises

    ELBO = E_q log p(z) - E_q log q(z),    z = m + s e  or  m + L e,  e ~ N(0, I)   (1)

Because z is a smooth function of the parameters, gradients of (1) are means over e of

    g = grad log p(z) + s^-1 e  or  L^-T e         d/dm = g                         (2)
    d/dlog s = g s e,     d/dL = lower part of g e'                                 (3)

where g is the gradient in z of log p - log q with the parameters of q held fixed: the
omitted term has mean zero, and without it the noise of (2) and (3) vanishes where q
equals p. Two solvers:

    adam     new pairs e, -e at every step; the learning rate falls when the bound
             stalls over a round, until it is small; parameters are averaged from the
             first stall on
    fixed    one set of e for the whole run, symmetric and with covariance I exactly
             where there are more of them than dimensions; (1) is then an ordinary
             function, maximised by L-BFGS in few steps, and exact for a Gaussian p

The mean-field variances of a correlated Gaussian are 1 / Lambda_ii; the full-rank q
represents it exactly. Positive or bounded parameters enter by their logarithm or logit,
with the Jacobian in log_prob.

Cost      a step: a batch of n_samples evaluations of log p and its gradient
Shapes    m, s (d,)   L (d, d)   e (n_samples, d)
Refs      [Kucukelbir2017]; [Roeder2017] (2); [Giordano2024] fixed draws
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ...base import Estimator
from ...core.drivers.iterate import iterate
from ...core.drivers.progress import run_with_progress
from ...core.linalg.linalg import one_thread_if_small
from ...core.numerics import LOG_2PI
from ...core.random import make_rng
from ...distributions import Normal
from ...params import Count, Flag, Positive, check_params
from ..chains.driver import warn_not_finished
from ..densities.target_density import LogProb, as_target_density, ensure_gradient

STEPS_PER_ROUND = 50  # of Adam, between checks of the bound
FINAL_RATE = 1e-2  # learning rate, relative to the first, at which Adam stops
N_FINAL_DRAWS = 400  # for the reported bound


class GaussianFamily(NamedTuple):
    """Parameters theta as one vector: m, then log s or the rows of L below log diag."""

    d: int
    full: bool

    def parts(self, theta):
        """m and s, or m and L."""
        m, rest = theta[: self.d], theta[self.d :]
        if not self.full:
            return m, np.exp(rest)
        L = np.zeros((self.d, self.d))
        L[np.tril_indices(self.d)] = rest
        i = np.arange(self.d)
        L[i, i] = np.exp(L[i, i])
        return m, L

    def start(self, m, scale):
        s = np.full(self.d, np.log(scale))
        if not self.full:
            return np.concatenate([m, s])
        return np.concatenate([m, np.diag(s)[np.tril_indices(self.d)]])

    def at(self, theta, e):
        """z of eq. (1)."""
        m, S = self.parts(theta)
        return m + (e @ S.T if self.full else e * S)

    def log_q(self, theta, e):
        """log q(z) of draws e."""
        S = self.parts(theta)[1]
        log_det = np.log(np.diag(S) if self.full else S).sum()
        return -0.5 * (np.square(e).sum(axis=1) + self.d * LOG_2PI) - log_det

    def pull(self, theta, e):
        """- gradient in z of log q: s^-1 e or L^-T e."""
        S = self.parts(theta)[1]
        return np.linalg.solve(S.T, e.T).T if self.full else e / S

    def gradient(self, theta, e, g):
        """Eq. (2) and (3), averaged over draws."""
        S = self.parts(theta)[1]
        if not self.full:
            return np.concatenate([g.mean(axis=0), (g * e).mean(axis=0) * S])
        G = g.T @ e / len(e)
        i = np.arange(self.d)
        G[i, i] *= S[i, i]
        return np.concatenate([g.mean(axis=0), G[np.tril_indices(self.d)]])

    def normal(self, theta) -> Normal:
        m, S = self.parts(theta)
        return Normal(m, S @ S.T) if self.full else Normal(m, S * S, "diag")


class AdamState(NamedTuple):
    """State of Adam after a round."""

    objective: float  # minus the mean bound of the round
    theta: np.ndarray
    memory: Any
    rate: float
    best: float
    mean: np.ndarray | float = 0.0  # of theta since the bound first stalled
    count: int = 0


@dataclass(eq=False, repr=False)
class VariationalResult:
    """Result of `ADVI.run`.

    Attributes
    ----------
    normal : Normal
        q, with `sample(n, rng)` and `log_prob(X)`.
    elbo, se : float
        The bound at the end and its standard error over new draws.
    history : ndarray
        The bound after each round of 50 steps, or each step of L-BFGS.
    n_iter : int
        Number of steps.
    """

    normal: Normal
    elbo: float
    se: float
    history: np.ndarray
    n_iter: int
    reason: str
    seconds: float

    @property
    def mean(self):
        return self.normal.mean

    def sample(self, n, random_state=None):
        """n draws of q, (n, d)."""
        return self.normal.sample(n, make_rng(random_state))

    def __repr__(self):
        return (
            f"{self.normal.shape} Normal in {self.normal.d} dimensions, bound "
            f"{self.elbo:.4f} +- {self.se:.4f}, {self.n_iter} steps, "
            f"{self.seconds:.1f} s"
        )


@dataclass(eq=False, repr=False)
class ADVI(Estimator):
    """Gaussian variational inference for a differentiable log density.

    Parameters
    ----------
    log_prob : function or density
        As `as_target_density` takes it: torch function (gradient by autograd), compiled
        density, or NumPy or Numba function with `grad`.
    family : {"mean_field", "full_rank"}
    solver : {"adam", "fixed"}
        New draws at every step, or one fixed set of draws and L-BFGS.
    n_samples : int or None
        Draws in a step, in pairs. None is 10 for "adam"; for "fixed" 4 d + 40 in the
        full-rank and max(40, 2 d) in the mean-field family.
    learning_rate : float
        Initial learning rate of Adam.
    scale : float
        Initial standard deviations.
    max_iter : int
        Maximum number of steps.
    grad : function, True or None
    batched : bool or None

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.sampling import ADVI
    >>> P = np.linalg.inv([[1.0, 0.8], [0.8, 1.0]])
    >>> log_prob = lambda x: -0.5 * ((x @ P) * x).sum(axis=-1)
    >>> run = ADVI(log_prob, grad=lambda x: -x @ P).run([3.0, -3.0], 0)
    >>> run.mean.round(3) + 0.0
    array([0., 0.])
    >>> bool(abs(run.normal.variance - 0.36).max() < 0.02)  # 1 / Lambda_ii
    True
    """

    log_prob: LogProb
    _: KW_ONLY
    family: Literal["mean_field", "full_rank"] = "mean_field"
    solver: Literal["adam", "fixed"] = "adam"
    n_samples: Count | None = None
    learning_rate: Positive = 0.1
    scale: Positive = 1.0
    max_iter: Count = 20_000
    grad: Any = None
    batched: Flag | None = None

    def run(self, init, random_state=None, *, progress=False) -> VariationalResult:
        """Fit q from means at `init`.

        Parameters
        ----------
        init : array of shape (d,)
        random_state : int, Generator, RandomState or None
        progress : bool
        """
        check_params(self)
        m = np.atleast_1d(np.asarray(init, dtype=float))
        if m.ndim != 1:
            raise ValueError(f"init must be one position (d,), got shape {m.shape}.")
        rng = make_rng(random_state)
        density = ensure_gradient(
            as_target_density(self.log_prob, self.grad, self.batched), m[None]
        )
        if not np.isfinite(density.value(m[None]))[0]:
            raise ValueError("log_prob is not finite at init.")
        family = GaussianFamily(len(m), self.family == "full_rank")
        theta = family.start(m, self.scale)
        maximise = _maximise_by_adam if self.solver == "adam" else _maximise_fixed_draws
        run_task = lambda task: maximise(self, density, family, theta, rng, task)
        result = run_with_progress(self, run_task, total=None, verbose=progress)
        s = result.state
        warn_not_finished(result.reason, "max_iter", "the bound has not converged")
        theta = s.position if self.solver == "fixed" else s.mean if s.count else s.theta
        e = rng.standard_normal((N_FINAL_DRAWS, len(m)))
        terms = density.value(family.at(theta, e)) - family.log_q(theta, e)
        steps = result.n_iter * (STEPS_PER_ROUND if self.solver == "adam" else 1)
        return VariationalResult(
            family.normal(theta),
            float(terms.mean()),
            float(terms.std(ddof=1) / np.sqrt(N_FINAL_DRAWS)),
            -result.history["objective"],
            steps,
            result.reason,
            result.seconds,
        )


def _maximise_by_adam(model, density, family, theta, rng, task):
    """Stochastic ascent by Adam with new draws at every step."""
    from ...optim.stochastic.stochastic import by_moments

    pairs = (model.n_samples or 10) // 2 or 1
    transform = by_moments()

    def step(s):
        theta = s.theta
        memory = s.memory
        total = 0.0
        path = 0.0
        for _ in range(STEPS_PER_ROUND):
            half = rng.standard_normal((pairs, family.d))
            e = np.concatenate([half, -half])
            v, g = density.value_and_grad(family.at(theta, e))
            total += float(np.mean(v - family.log_q(theta, e)))
            ascent = family.gradient(theta, e, g + family.pull(theta, e))
            move, memory = transform.update(ascent, memory, theta)
            theta = theta + s.rate * move
            path = path + theta
        bound = total / STEPS_PER_ROUND
        stalled = not bound > s.best + 1e-4 * abs(bound) ** 0.5
        rate = s.rate * (0.7 if stalled else 1.0)
        mean = s.mean
        count = s.count + (s.rate < model.learning_rate)
        if count:
            mean = mean + (path / STEPS_PER_ROUND - mean) / count
        return AdamState(-bound, theta, memory, rate, max(bound, s.best), mean, count)

    start = AdamState(
        np.inf, theta, transform.init(theta), model.learning_rate, -np.inf
    )
    small = lambda old, new: new.rate / model.learning_rate
    rounds = max(model.max_iter // STEPS_PER_ROUND, 1)
    return iterate(
        step,
        start,
        max_iter=rounds,
        tol=FINAL_RATE,
        change=small,
        task=task,
        watch=("rate",),
    )


def _symmetric_draws(n, d, rng):
    """n draws e, symmetric about 0, their covariance made I where n / 2 >= d."""
    half = rng.standard_normal(((n + 1) // 2, d))
    if len(half) >= d:
        C = half.T @ half / len(half)
        half = np.linalg.solve(np.linalg.cholesky(C), half.T).T
    else:
        half /= np.sqrt(np.square(half).mean(axis=0))
    return np.concatenate([half, -half])


def _maximise_fixed_draws(model, density, family, theta, rng, task):
    """Ascent by L-BFGS on the bound of one fixed set of draws."""
    from ...optim.smooth.limited_memory_bfgs import lbfgs

    n = model.n_samples or (4 * family.d + 40 if family.full else 2 * max(20, family.d))
    e = _symmetric_draws(n, family.d, rng)

    def f(theta):
        v, g = density.value_and_grad(family.at(theta, e))
        value = float(np.mean(v - family.log_q(theta, e)))
        slope = family.gradient(theta, e, g)
        # the entropy, whose gradient is known: d/dlog s_j = 1
        if family.full:
            i = np.cumsum(np.arange(1, family.d + 1)) - 1  # positions of the diagonal
            slope[family.d + i] += 1.0
        else:
            slope[family.d :] += 1.0
        if not np.isfinite(value):
            return np.inf, -slope
        return -value, -slope

    with one_thread_if_small(family.d):
        return lbfgs(f, theta, max_iter=model.max_iter, tol=1e-6, task=task)

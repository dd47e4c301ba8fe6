"""Hamiltonian Monte Carlo: proposals along trajectories of Hamiltonian dynamics.

The position x gets a momentum p ~ N(0, M) and the energy

    H(x, p) = -log pi(x) + p' inv p / 2,      inv = M^-1                        (1)

so that exp(-H) has pi as its marginal. Leapfrog steps of size eps

    p <- p + eps/2 grad log pi(x);  x <- x + eps inv p;  p <- p + eps/2 grad    (2)

preserve volume, are reversible (change the sign of p), and conserve H up to O(eps^2)
over a trajectory of fixed length. The end of a trajectory of L steps is the proposal,
which is accepted with probability min(1, exp(H0 - H)); this leaves exp(-H) invariant.
An increase of H by 1000 or more is a divergence: the curvature is too high for the step
size.

With L = 1 this is the Metropolis-adjusted Langevin algorithm (`langevin.py`); a
trajectory that ends where it begins to turn back is NUTS (`nuts.py`). All three share
one compiled loop, `_hmc.py`: chains run on threads if the density is compiled, and a
Python density is evaluated for all chains at once.

Cost      a step: L gradients, and O(d) each, or O(d^2) with a dense metric
Shapes    x, p (m, d)   log_prob, eps (m,)   inv (1, d) or (d, d)
Refs      [Duane1987] [Neal2011] the method; `adaptation.py` for warm-up
"""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from ...base import Estimator
from ...core.loops import threads
from ...params import Count, Flag, Fraction, OpenFraction, Positive, check_params
from ..densities.target_density import (
    GradientFunction,
    LogProb,
    as_target_density,
    ensure_gradient,
)
from . import adaptation


class HamiltonianState(NamedTuple):
    """State of the chains."""

    position: np.ndarray  # x
    log_prob: np.ndarray
    grad: np.ndarray
    step_size: np.ndarray  # eps, NaN until initialised
    inverse: np.ndarray  # inv
    root: np.ndarray  # R with R R' = M
    density: Any


class HamiltonianInfo(NamedTuple):
    """Statistics of a step."""

    acceptance: np.ndarray  # of NUTS: mean over the trajectory
    accepted: np.ndarray  # whether the chain moved
    divergent: np.ndarray
    n_steps: np.ndarray  # leapfrog steps
    depth: np.ndarray  # of the tree of NUTS
    energy: np.ndarray  # H


class TrajectorySettings(NamedTuple):
    """Settings of a trajectory, for the compiled loop."""

    kind: int  # NUTS, HMC or UNADJUSTED of `_hmc.py`
    max_depth: int = 1
    steps: int = 0  # L, or 0: by length
    target: float = 0.8  # acceptance
    length: float = 0.0
    jitter: float = 0.0


INFO_TYPES = {"accepted": bool, "divergent": bool, "n_steps": int, "depth": int}
IGNORE_FLOAT_ERRORS = {"over": "ignore", "invalid": "ignore", "divide": "ignore"}


def leapfrog(value_and_grad, x, p, eps, steps, inv=None):
    """x, p and log pi after `steps` of eq. (2); x (m, d), inv (1, d) or (d, d).

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.sampling import leapfrog
    >>> normal = lambda x: (-0.5 * (x**2).sum(axis=1), -x)
    >>> x, p, _ = leapfrog(normal, np.array([[1.0]]), np.array([[0.0]]), 0.01, 157)
    >>> x.round(2), p.round(2)  # a quarter of a circle
    (array([[0.]]), array([[-1.]]))
    """
    x, p = np.array(x, dtype=float), np.array(p, dtype=float)
    inv = np.ones((1, x.shape[1])) if inv is None else inv
    value, grad = value_and_grad(x)
    for _ in range(steps):
        p = p + 0.5 * eps * grad
        x = x + eps * adaptation.velocity_of(inv, p)
        value, grad = value_and_grad(x)
        p = p + 0.5 * eps * grad
    return x, p, value


def _allocate_workspace(state, settings, tuning):
    """Workspace arrays V, F and N of `_hmc.py` for chains at their positions."""
    from . import _hmc as c

    m, d = state.position.shape
    levels = settings.max_depth
    first = c.STACK + c.LEVEL * levels
    V = np.zeros((m, first + 2 * (levels + 1), d))
    F = np.zeros((m, c.WEIGHTS + 3 * levels + 2))
    N = np.zeros((m, c.SIZES + 2 * levels + 1), np.int64)
    V[:, first + 2 * levels], V[:, first + 2 * levels + 1] = state.position, state.grad
    F[:, c.WEIGHTS + 3 * levels] = state.log_prob
    F[:, c.EPS] = state.step_size
    F[:, c.TARGET], F[:, c.LENGTH], F[:, c.JITTER] = settings[3:]
    F[:, c.BETA] = getattr(state.density, "beta", 1.0)
    N[:, c.KIND], N[:, c.LEVELS], N[:, c.PATH_STEPS] = settings[:3]
    N[:, c.SIZES + levels :] = np.arange(levels + 1)
    if tuning is not None:
        N[:, c.TUNE] = 1
        places = [c.MU, c.LOG_EPS, c.H_BAR, c.COUNT]
        F[:, places] = np.stack(tuning.averages, axis=1)
    return V, F, N


def _run_trajectories(
    rng, state, settings, n, tuning: Any = None
) -> tuple[HamiltonianState, dict, Any]:
    """n steps of every chain: new state, trace, tuning."""
    from . import _hmc as c

    m, d = state.position.shape
    seeds = rng.integers(2**64, size=(n, m), dtype=np.uint64)
    V, F, N = _allocate_workspace(state, settings, tuning)
    X, T = np.empty((m, n, d)), np.empty((m, n, len(c.INFO) + 1))
    seeds = np.ascontiguousarray(seeds.T)
    arrays = V, F, N, state.inverse, state.root, seeds, X, T
    density = state.density
    if density.compiled:
        target_arrays = density.address, density.table.ctypes.data
        advance = lambda i, j: c.run_chains(i, j, *target_arrays, *arrays)
        if n * m < 16:
            advance(0, m)
        else:
            list(threads.run_tasks(partial(advance, i, i + 1) for i in range(m)))
    else:
        with np.errstate(**IGNORE_FLOAT_ERRORS):  # a trajectory may diverge to infinity
            _evaluate_until_done(
                density,
                lambda: c.run_chains(0, m, 0, 0, *arrays),
                V,
                F,
                N[:, c.STEP],
                n,
            )
    row = c.STACK + c.LEVEL * settings.max_depth + 2 * N[:, -1]
    state = state._replace(
        position=X[:, -1].copy(),
        log_prob=T[:, -1, -1].copy(),
        grad=V[np.arange(m), row + 1],
        step_size=F[:, c.EPS].copy(),
    )
    if tuning is not None:
        averages = F[:, [c.MU, c.LOG_EPS, c.H_BAR, c.COUNT]].T
        tuning = tuning._replace(
            t=tuning.t + n, averages=adaptation.DualAveraging(*averages)
        )
    info = {
        name: T[:, :, k].astype(INFO_TYPES.get(name, float))
        for k, name in enumerate(c.INFO)
    }
    return state, {"position": X, "log_prob": T[:, :, -1]} | info, tuning


def _evaluate_until_done(density, advance, V, F, steps, n):
    """Evaluate a Python density for the compiled loop until all chains made n steps.

    A batched function always gets all chains: a matrix product may round a row
    differently when other rows are left out, and draws must not depend on n.
    """
    from . import _hmc as c

    Q = V[:, c.Q]
    G = V[:, c.G]
    LP = F[:, c.LP]
    while True:
        advance()
        running = steps < n
        if running.all():  # views: indexing could cost more than the density
            LP[:], G[:] = density.value_and_grad(Q.copy())
        elif running.any() and density.batched:
            value, grad = density.value_and_grad(Q.copy())
            LP[running], G[running] = value[running], grad[running]
        elif running.any():
            LP[running], G[running] = density.value_and_grad(Q[running])
        else:
            return


def _adapt_sampler(rng, state, settings, n, tuning, remaining, metric):
    """n steps of warm-up with `remaining` more to come: new state, trace, tuning."""
    if tuning is None:
        state = _with_step_size(rng, state)
        tuning = adaptation.start_tuning(state.step_size)
    total = tuning.t + n + remaining
    first, ends = adaptation.adaptation_windows(total)
    ends = [] if metric == "unit" else ends
    last = ends[-1] if ends else 0
    stops = [t for t in (first, *ends) if tuning.t < t < tuning.t + n]
    traces = []
    for stop in (*stops, tuning.t + n):
        learning = first <= tuning.t < last
        state, trace, tuning = _run_trajectories(
            rng, state, settings, stop - tuning.t, tuning
        )
        traces.append(trace)
        if learning:
            tuning = tuning._replace(window=(*tuning.window, trace["position"]))
        if stop in ends:
            inv = adaptation.estimate_inverse_metric(tuning.window, metric == "dense")
            if inv is not None:
                state = state._replace(inverse=inv, root=adaptation.momentum_root(inv))
            state = _with_step_size(rng, state, again=True)
            tuning = adaptation.start_tuning(state.step_size, stop)
    if remaining == 0:
        state = state._replace(step_size=adaptation.adapted_step_size(tuning.averages))
    join = lambda key: np.concatenate([trace[key] for trace in traces], axis=1)
    return state, {key: join(key) for key in traces[0]}, tuning


def _with_step_size(rng, state, again=False):
    """The state with an initial step size where it has none yet (or anew)."""
    eps = state.step_size
    if not again and not np.isnan(eps).any():
        return state
    eps = np.where(np.isnan(eps), 1.0, eps)
    x, log_prob, grad, _, inv, root, density = state
    f = density.value_and_grad
    with np.errstate(**IGNORE_FLOAT_ERRORS):
        eps = adaptation.find_initial_step_size(
            rng, f, x, log_prob, grad, inv, root, eps
        )
    return state._replace(step_size=eps)


class AbstractHamiltonian(Estimator):
    """Samplers whose step is a trajectory; subclasses define `_trajectory`."""

    def init(self, position) -> HamiltonianState:
        """State of m chains at positions (m, d)."""
        check_params(self)
        x = np.array(position, dtype=float)
        m, d = x.shape
        density = as_target_density(self.log_prob, self.grad, self.batched)
        density = ensure_gradient(density, x)
        log_prob, grad = density.value_and_grad(x)
        infinite = np.flatnonzero(
            np.isfinite(log_prob) & ~np.isfinite(grad).all(axis=1)
        )
        if infinite.size:
            raise ValueError(
                f"the gradient is not finite at the start of chain {infinite[0]}."
            )
        eps = np.full(m, np.nan if self.step_size is None else float(self.step_size))
        inv = _initial_inverse_metric(self.metric, d)
        return HamiltonianState(
            x, log_prob, grad, eps, inv, adaptation.momentum_root(inv), density
        )

    def step(self, rng, state) -> tuple[HamiltonianState, HamiltonianInfo]:
        """One step of every chain."""
        state, trace = self.steps(rng, state, 1)
        return state, HamiltonianInfo(
            *(trace[name][:, 0] for name in HamiltonianInfo._fields)
        )

    def steps(self, rng, state, n) -> tuple[HamiltonianState, dict]:
        """n steps of every chain, the same as `step` n times."""
        if np.isnan(state.step_size).any():  # no warm-up: half of the initial guess
            state = _with_step_size(rng, state)
            state = state._replace(step_size=0.5 * state.step_size)
        return _run_trajectories(rng, state, self._trajectory(), n)[:2]

    def warm(
        self, rng, state, n, tuning, remaining
    ) -> tuple[HamiltonianState, dict, Any]:
        """n steps that adapt the sampler, with `remaining` more to come."""
        if self.step_size is not None:
            return _run_trajectories(rng, state, self._trajectory(), n, None)
        metric = self.metric if isinstance(self.metric, str) else "unit"
        return _adapt_sampler(
            rng, state, self._trajectory(), n, tuning, remaining, metric
        )


def _initial_inverse_metric(metric, d):
    """The initial inverse metric: identity, or given variances or covariance."""
    if isinstance(metric, str):
        return np.eye(d) if metric == "dense" else np.ones((1, d))
    inv = np.ascontiguousarray(metric, dtype=float)
    if inv.shape not in ((d,), (d, d)):
        raise ValueError(f"metric must have shape ({d},) or ({d}, {d}): {inv.shape}.")
    inv = inv.reshape(-1, d)
    smallest = np.linalg.eigvalsh(inv)[0] if len(inv) == d else inv.min()
    if not (smallest > 0 and np.isfinite(inv).all()):
        raise ValueError("metric must be positive definite.")
    return inv


@dataclass(eq=False, repr=False)
class HMC(AbstractHamiltonian):
    """Hamiltonian Monte Carlo with trajectories of given length, to be run by `sample`.

    Parameters
    ----------
    log_prob : function, Distribution, compiled density or Target
        Logarithm of the target density up to a constant; see `as_target_density`.
    grad : function, True or None
        Its gradient; True if log_prob returns both; None for torch and compiled ones.
    length : float
        Length eps L of a trajectory, in units of the metric. With pi / 2 its end is
        nearly independent of its start if the target is a Normal with the covariance
        of the metric. A trajectory has at most 1023 steps.
    n_steps : int or None
        Number L of leapfrog steps, in place of `length`.
    jitter : float
        L is drawn between (1 - jitter) L and (1 + jitter) L, which avoids periodic
        trajectories.
    step_size : float or None
        eps; None is adapted in warm-up to `target_accept`. If it is given, nothing is
        adapted.
    metric : {"diag", "dense", "unit"} or array of shape (d,) or (d, d)
        What warm-up adapts: variances, covariances or nothing; or a given metric.
    target_accept : float
        Target acceptance probability of the step size adaptation.
    batched : bool or None
        Whether functions take all chains at once; None detects it.

    Examples
    --------
    >>> from pansophy.sampling import HMC, normal_density, sample
    >>> sampler = HMC(normal_density([0.0, 0.0], [[1.0, 0.9], [0.9, 1.0]]))
    >>> draws = sample(sampler, 1000, init=[0.0, 0.0], random_state=0)
    >>> bool((draws.summary().r_hat < 1.01).all())
    True
    """

    log_prob: LogProb
    _: KW_ONLY
    grad: GradientFunction = None
    length: Positive = np.pi / 2
    n_steps: Count | None = None
    jitter: Fraction = 0.2
    step_size: Positive | None = None
    metric: Literal["diag", "dense", "unit"] | np.ndarray = "diag"
    target_accept: OpenFraction = 0.8
    batched: Flag | None = None

    def _trajectory(self):
        steps = self.n_steps or 0
        return TrajectorySettings(
            1, 1, steps, self.target_accept, self.length, self.jitter
        )

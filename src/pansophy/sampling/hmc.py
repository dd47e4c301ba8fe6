"""Hamiltonian Monte Carlo: long moves along paths that keep the density high.

The position x gets a momentum p ~ N(0, M) and the energy

    H(x, p) = -log pi(x) + p' inv p / 2,      inv = M^-1                        (1)

so that exp(-H) has pi as its marginal. Leapfrog steps of size eps

    p <- p + eps/2 grad log pi(x);  x <- x + eps inv p;  p <- p + eps/2 grad    (2)

keep volume, can be run backwards (change the sign of p), and keep H up to O(eps^2)
over a path of fixed length. A path of L of them proposes its end, which is taken
with probability min(1, exp(H0 - H)); this leaves exp(-H) as it is. A rise of H by
1000 or more is a divergence: the path has met a place too sharp for the step size.

With L = 1 this is the Metropolis-adjusted Langevin method (`langevin.py`); a path
that ends where it begins to turn back is NUTS (`nuts.py`). All three are one compiled
loop, `_hmc.py`: chains run on threads where the density is compiled, and all chains'
densities are asked for at once where it is a function of Python's.

Cost of a step: L gradients, O(d) or with a dense metric O(d^2) each. A function of
Python's costs about 10 microseconds a leapfrog step of all chains beside its own time;
that is what a compiled density saves.

Shapes    x, p (m, d)   log_prob, eps (m,)   inv (1, d) or (d, d)
Refs      [Duane1987] [Neal2011] the method; `adaptation.py` for warm-up
"""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from ..base import Estimator
from ..core import threads
from ..params import Count, Flag, Fraction, OpenFraction, Positive, check_params
from . import adaptation
from .target_density import (
    GradientFunction,
    LogProb,
    as_target_density,
    ensure_gradient,
)


class HamiltonianState(NamedTuple):
    """What a step hands to the next."""

    position: np.ndarray  # x
    log_prob: np.ndarray
    grad: np.ndarray
    step_size: np.ndarray  # eps, NaN until it is found
    inverse: np.ndarray  # inv
    root: np.ndarray  # R with R R' = M
    density: Any


class HamiltonianInfo(NamedTuple):
    """What a step tells."""

    acceptance: np.ndarray  # of NUTS: mean over the path
    accepted: np.ndarray  # whether the chain moved
    divergent: np.ndarray
    n_steps: np.ndarray  # leapfrog steps
    depth: np.ndarray  # of the tree of NUTS
    energy: np.ndarray  # H


class TrajectorySettings(NamedTuple):
    """How a path is made, for the compiled loop."""

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


def allocate_workspace(state, path, tuning):
    """Tables V, F and N of `_hmc.py` with the chains at their places."""
    from . import _hmc as c

    m, d = state.position.shape
    levels = path.max_depth
    first = c.STACK + c.LEVEL * levels
    V = np.zeros((m, first + 2 * (levels + 1), d))
    F = np.zeros((m, c.WEIGHTS + 3 * levels + 2))
    N = np.zeros((m, c.SIZES + 2 * levels + 1), np.int64)
    V[:, first + 2 * levels], V[:, first + 2 * levels + 1] = state.position, state.grad
    F[:, c.WEIGHTS + 3 * levels] = state.log_prob
    F[:, c.EPS] = state.step_size
    F[:, c.TARGET], F[:, c.LENGTH], F[:, c.JITTER] = path[3:]
    F[:, c.BETA] = getattr(state.density, "beta", 1.0)
    N[:, c.KIND], N[:, c.LEVELS], N[:, c.PATH_STEPS] = path[:3]
    N[:, c.SIZES + levels :] = np.arange(levels + 1)
    if tuning is not None:
        N[:, c.TUNE] = 1
        places = [c.MU, c.LOG_EPS, c.H_BAR, c.COUNT]
        F[:, places] = np.stack(tuning.averages, axis=1)
    return V, F, N


def run_trajectories(
    rng, state, path, n, tuning: Any = None
) -> tuple[HamiltonianState, dict, Any]:
    """n steps of every chain: new state, trace, tuning."""
    from . import _hmc as c

    m, d = state.position.shape
    seeds = rng.integers(2**64, size=(n, m), dtype=np.uint64)
    V, F, N = allocate_workspace(state, path, tuning)
    X, T = np.empty((m, n, d)), np.empty((m, n, len(c.INFO) + 1))
    seeds = np.ascontiguousarray(seeds.T)
    rest = V, F, N, state.inverse, state.root, seeds, X, T
    density = state.density
    if density.compiled:
        where = density.address, density.table.ctypes.data
        go = lambda i, j: c.run_chains(i, j, *where, *rest)
        if n * m < 16:
            go(0, m)
        else:
            list(threads.run(partial(go, i, i + 1) for i in range(m)))
    else:
        with np.errstate(
            **IGNORE_FLOAT_ERRORS
        ):  # a path may leave the numbers that are finite
            evaluate_until_done(
                density, lambda: c.run_chains(0, m, 0, 0, *rest), V, F, N[:, c.STEP], n
            )
    row = c.STACK + c.LEVEL * path.max_depth + 2 * N[:, -1]
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
    told = {
        name: T[:, :, k].astype(INFO_TYPES.get(name, float))
        for k, name in enumerate(c.INFO)
    }
    return state, {"position": X, "log_prob": T[:, :, -1]} | told, tuning


def evaluate_until_done(density, advance, V, F, steps, n):
    """Give the loop what it asks of a function of Python's, until n steps are done.

    A function of all chains always gets them all: a product of matrices may round a
    row otherwise when other rows are left out, and draws must not depend on n.
    """
    from . import _hmc as c

    Q, G, LP = V[:, c.Q], V[:, c.G], F[:, c.LP]
    while True:
        advance()
        left = steps < n
        if left.all():  # views, where picking rows would cost more than a density
            LP[:], G[:] = density.value_and_grad(Q.copy())
        elif left.any() and density.batched:
            value, grad = density.value_and_grad(Q.copy())
            LP[left], G[left] = value[left], grad[left]
        elif left.any():
            LP[left], G[left] = density.value_and_grad(Q[left])
        else:
            return


def adapt_sampler(rng, state, path, n, tuning, left, metric):
    """n steps of warm-up with `left` more to come: new state, trace, tuning."""
    if tuning is None:
        state = with_step_size(rng, state)
        tuning = adaptation.start_tuning(state.step_size)
    total = tuning.t + n + left
    first, ends = adaptation.adaptation_windows(total)
    ends = [] if metric == "unit" else ends
    last = ends[-1] if ends else 0
    stops = [t for t in (first, *ends) if tuning.t < t < tuning.t + n]
    traces = []
    for stop in (*stops, tuning.t + n):
        learning = first <= tuning.t < last
        state, told, tuning = run_trajectories(
            rng, state, path, stop - tuning.t, tuning
        )
        traces.append(told)
        if learning:
            tuning = tuning._replace(window=(*tuning.window, told["position"]))
        if stop in ends:
            inv = adaptation.estimate_inverse_metric(tuning.window, metric == "dense")
            if inv is not None:
                state = state._replace(inverse=inv, root=adaptation.momentum_root(inv))
            state = with_step_size(rng, state, again=True)
            tuning = adaptation.start_tuning(state.step_size, stop)
    if left == 0:
        state = state._replace(step_size=adaptation.adapted_step_size(tuning.averages))
    join = lambda key: np.concatenate([told[key] for told in traces], axis=1)
    return state, {key: join(key) for key in traces[0]}, tuning


def with_step_size(rng, state, again=False):
    """The state with a step size of its own where it has none yet."""
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
    """Samplers whose step is a path of leapfrog steps; a final class gives `_path`."""

    def init(self, position) -> HamiltonianState:
        """State of m chains at positions (m, d)."""
        check_params(self)
        x = np.array(position, dtype=float)
        m, d = x.shape
        density = as_target_density(self.log_prob, self.grad, self.batched)
        density = ensure_gradient(density, x)
        log_prob, grad = density.value_and_grad(x)
        bad = np.flatnonzero(np.isfinite(log_prob) & ~np.isfinite(grad).all(axis=1))
        if bad.size:
            raise ValueError(
                f"the gradient is not finite at the start of chain {bad[0]}."
            )
        eps = np.full(m, np.nan if self.step_size is None else float(self.step_size))
        inv = initial_inverse_metric(self.metric, d)
        return HamiltonianState(
            x, log_prob, grad, eps, inv, adaptation.momentum_root(inv), density
        )

    def step(self, rng, state) -> tuple[HamiltonianState, HamiltonianInfo]:
        """One step of every chain."""
        state, told = self.steps(rng, state, 1)
        return state, HamiltonianInfo(
            *(told[name][:, 0] for name in HamiltonianInfo._fields)
        )

    def steps(self, rng, state, n) -> tuple[HamiltonianState, dict]:
        """n steps of every chain, the same as `step` n times."""
        if np.isnan(state.step_size).any():  # no warm-up: half of what is found
            state = with_step_size(rng, state)
            state = state._replace(step_size=0.5 * state.step_size)
        return run_trajectories(rng, state, self._path(), n)[:2]

    def warm(self, rng, state, n, tuning, left) -> tuple[HamiltonianState, dict, Any]:
        """n steps that tune the sampler, with `left` more to come."""
        if self.step_size is not None:
            return run_trajectories(rng, state, self._path(), n, None)
        metric = self.metric if isinstance(self.metric, str) else "unit"
        return adapt_sampler(rng, state, self._path(), n, tuning, left, metric)


def initial_inverse_metric(metric, d):
    """inv to begin with, from variances (d,) or a covariance (d, d) if given."""
    if isinstance(metric, str):
        return np.eye(d) if metric == "dense" else np.ones((1, d))
    inv = np.ascontiguousarray(metric, dtype=float)
    if inv.shape not in ((d,), (d, d)):
        raise ValueError(f"metric must have shape ({d},) or ({d}, {d}): {inv.shape}.")
    inv = inv.reshape(-1, d)
    least = np.linalg.eigvalsh(inv)[0] if len(inv) == d else inv.min()
    if not (least > 0 and np.isfinite(inv).all()):
        raise ValueError("metric must be positive definite.")
    return inv


@dataclass(eq=False, repr=False)
class HMC(AbstractHamiltonian):
    """Hamiltonian Monte Carlo with paths of given length, to be run by `sample`.

    Parameters
    ----------
    log_prob : function, Distribution, compiled density or Target
        Logarithm of the target density up to a constant; see `target`.
    grad : function, True or None
        Its gradient, True if log_prob gives both, None for torch and compiled ones.
    length : float
        Length eps L of a path, in units of the metric. pi / 2 makes the end of a path
        nearly free of its start when the target is a normal of the metric's shape.
        Where eps has become very small a path stops at 1023 steps.
    n_steps : int or None
        Number L of leapfrog steps, in place of `length`.
    jitter : float
        L is drawn between (1 - jitter) L and (1 + jitter) L, which keeps paths from
        closing on themselves.
    step_size : float or None
        eps; None is learnt in warm-up, for `target_accept`. A given one goes with
        the metric as it is, and warm-up learns nothing.
    metric : {"diag", "dense", "unit"} or array of shape (d,) or (d, d)
        What warm-up learns: variances, covariances or nothing; or these given.
    target_accept : float
        Acceptance that the step size aims at.
    batched : bool or None
        Whether functions take all chains at once. None finds out by trying.

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

    def _path(self):
        steps = self.n_steps or 0
        return TrajectorySettings(
            1, 1, steps, self.target_accept, self.length, self.jitter
        )

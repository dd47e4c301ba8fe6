"""Metropolis-Hastings sampling of a target density known up to a constant.

With target pi and proposal q, move from x to y ~ q(. | x) with probability

    alpha(x, y) = min(1, pi(y) q(x | y) / (pi(x) q(y | x)))                     (1)

and stay otherwise. Then pi(x) q(y | x) alpha(x, y) is symmetric in x and y (detailed
balance), so pi is invariant; constants of pi cancel. m chains move together.

A proposal is called as `proposal(rng, x)` and gives y, or (y, h) with the Hastings term

    h = log q(x | y) - log q(y | x)                                             (2)

which is 0 for a symmetric proposal and may then be left out. Any function of one
position x of shape (d,) will do. A proposal with `batched = True` takes all chains at
once, x (m, d), and gives y (m, d) and h (m,).

In warm-up a `RandomWalk` adapts its scale s and covariance C from all chains:

    log s <- log s + 2 k^-0.6 (mean alpha - alpha*)                             (3)
    C = ((N S + (d + 1) diag S)) / (N + d + 1)                                  (4)

with alpha* = 0.44 in one dimension and 0.234 in more, k the steps since C last
changed, and S the covariance of a window with N accepted moves. Windows double in
length, so that the initial transient is forgotten; C last changes when a tenth of the
warm-up remains. The shrinkage in (4) keeps C positive definite when a window has fewer
moves than dimensions. After warm-up nothing changes.

Cost      a step: one call of log_prob, O(m d^2)
Shapes    x (m, d)   log_prob (m,)   C (d, d)
Refs      [Metropolis1953] [Hastings1970]; [Roberts1997] alpha*; [Haario2001] (4);
          [Andrieu2008] (3)
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...base import Estimator
from ...core.drivers.metropolis import (
    acceptance_probability,
    acceptance_threshold,
    is_accepted,
)
from ...params import Flag, OpenFraction, check_params
from ..densities.target_density import LogProb, as_target_density, ensure_values


@dataclass(frozen=True, eq=False)
class RandomWalk:
    """Gaussian random walk proposal y = x + scale * N(0, covariance).

    Parameters
    ----------
    scale : float or None
        Scale of the steps; None starts at 2.38 / sqrt(d), the optimum for a Gaussian
        target with this covariance in many dimensions [Roberts1997].
    covariance : array of shape (d, d) or (d,), or None
        Covariance of the steps; (d,) holds variances, None is the identity.
    adapt : bool
        Whether warm-up adapts scale and covariance.
    """

    scale: float | None = None
    covariance: Any = None
    adapt: bool = True

    batched = True

    def __post_init__(self):
        if self.scale is not None and not 0 < self.scale < np.inf:
            raise ValueError(
                f"scale of RandomWalk must be a number above 0, got {self.scale!r}."
            )

    @cached_property
    def root(self):
        """A square root of the covariance, or of its diagonal, or None."""
        if self.covariance is None:
            return None
        C = np.asarray(self.covariance, dtype=float)
        if C.ndim == 1 and (C > 0).all():
            return np.sqrt(C)
        try:
            return np.linalg.cholesky(C).T
        except np.linalg.LinAlgError:  # also when C is not a square matrix
            raise ValueError(
                "covariance of RandomWalk must be positive definite."
            ) from None

    def sized(self, d) -> "RandomWalk":
        """The proposal for d dimensions, its scale filled in."""
        if self.root is not None and self.root.shape[-1] != d:
            raise ValueError(
                f"covariance of RandomWalk is for {self.root.shape[-1]} dimensions, "
                f"but the chains have {d}."
            )
        return self if self.scale is not None else self.rescaled(2.38 / np.sqrt(d))

    def rescaled(self, scale) -> "RandomWalk":
        """A copy with another scale; the root is kept."""
        new = replace(self, scale=float(scale))
        if "root" in self.__dict__:
            new.__dict__["root"] = self.root
        return new

    def __call__(self, rng, x):
        z = rng.standard_normal(x.shape)
        if self.root is not None:
            z = z @ self.root if self.root.ndim == 2 else z * self.root
        z *= self.scale
        z += x
        return z


@dataclass(frozen=True, eq=False)
class IndependenceProposal:
    """Independence proposal: y from a fixed distribution, h = log q(x) - log q(y).

    Parameters
    ----------
    distribution : Distribution
        Anything with `sample(n, rng)` and `log_prob(X)`; its tails should be no
        lighter than those of the target.
    """

    distribution: Any

    batched = True

    def __call__(self, rng, x):
        q = self.distribution
        y = np.asarray(q.sample(len(x), rng)).reshape(x.shape)
        h = np.asarray(q.log_prob(x)) - np.asarray(q.log_prob(y))
        return y, h.reshape(len(x))


def _propose_moves(proposal, rng, x):
    """(y, h) for all chains, from a batched proposal or a function of one position."""
    if getattr(proposal, "batched", False):
        proposed = proposal(rng, x)
        return proposed if isinstance(proposed, tuple) else (proposed, 0.0)
    outs = [proposal(rng, row) for row in x]
    if isinstance(outs[0], tuple):
        y, h = zip(*outs, strict=True)
        return np.asarray(y).reshape(x.shape), np.asarray(h, dtype=float).reshape(-1)
    return np.asarray(outs).reshape(x.shape), 0.0


class MetropolisState(NamedTuple):
    """State of the chains."""

    position: np.ndarray  # x
    log_prob: np.ndarray  # log pi(x)
    proposal: Any  # q, as adapted so far
    density: Any  # the target


class MetropolisInfo(NamedTuple):
    """Statistics of a step."""

    acceptance: np.ndarray  # alpha, eq. (1)
    accepted: np.ndarray


class RandomWalkTuning(NamedTuple):
    """State of the adaptation."""

    t: int = 0  # warm-up steps made
    k: int = 0  # steps since C last changed
    window: int = 100  # length of this window
    moves: float = 0.0  # N
    count: int = 0  # positions in the sums below
    center: Any = 0.0  # near the mean, so that the sums lose no digits
    total: Any = 0.0
    outer: Any = 0.0


def _add_to_window(tuning, x, info):
    """Add the positions of one step to the sums of the window."""
    first = tuning.count == 0
    center = x.mean(axis=0) if first else tuning.center
    e = x - center
    return tuning._replace(
        t=tuning.t + 1,
        k=tuning.k + 1,
        moves=tuning.moves + float(info.accepted.sum()),
        count=tuning.count + len(x),
        center=center,
        total=tuning.total + e.sum(axis=0),
        outer=tuning.outer + e.T @ e,
    )


def _estimate_covariance(tuning):
    """C of eq. (4), or None if a coordinate has not moved."""
    mean = tuning.total / tuning.count
    S = tuning.outer / tuning.count - np.outer(mean, mean)
    variances = np.diag(S)
    if not (np.isfinite(S).all() and (variances > 0).all()):
        return None
    prior = len(S) + 1
    return (tuning.moves * S + prior * np.diag(variances)) / (tuning.moves + prior)


@dataclass(eq=False, repr=False)
class Metropolis(Estimator):
    """Metropolis-Hastings sampler, to be run by `sample`.

    Parameters
    ----------
    log_prob : function, Distribution, compiled density or Target
        Logarithm of the target density, up to a constant: of positions (m, d), giving
        (m,), which is fast; or of one position (d,), giving a number. See
        `as_target_density`.
    proposal : RandomWalk, function or None
        Proposal distribution, see the module text; None is `RandomWalk()`.
    target_accept : float or None
        Target acceptance rate of the adaptation of a `RandomWalk`; None is 0.44 in one
        dimension and 0.234 in more.
    batched : bool or None
        Whether log_prob takes all chains at once; None detects it.

    Examples
    --------
    >>> from pansophy.sampling import Metropolis, sample
    >>> sampler = Metropolis(lambda x: -0.5 * (x**2).sum(axis=-1))
    >>> draws = sample(sampler, 2000, init=[0.0, 0.0], random_state=0)
    >>> draws.positions.shape
    (4, 2000, 2)
    >>> bool(abs(draws.summary().sd - 1).max() < 0.15)
    True
    """

    log_prob: LogProb
    _: KW_ONLY
    proposal: Callable | None = None
    target_accept: OpenFraction | None = None
    batched: Flag | None = None

    def init(self, position) -> MetropolisState:
        """State of m chains at positions (m, d)."""
        check_params(self)
        proposal = self.proposal or RandomWalk()
        x = np.array(position)
        if isinstance(proposal, RandomWalk):
            x = x.astype(float)
            proposal = proposal.sized(x.shape[1])
        density = ensure_values(
            as_target_density(self.log_prob, batched=self.batched), x
        )
        return MetropolisState(x, density.value(x), proposal, density)

    def step(self, rng, state) -> tuple[MetropolisState, MetropolisInfo]:
        """One move of every chain, eq. (1)."""
        x, log_x, proposal, density = state
        y, h = _propose_moves(proposal, rng, x)
        log_y = density.value(y)
        log_ratio = log_y - log_x + h
        alpha = acceptance_probability(log_ratio)
        accepted = is_accepted(log_ratio, 0.0, acceptance_threshold(1.0, len(x), rng))
        position = np.where(accepted[:, None], y, x)
        log_prob = np.where(accepted, log_y, log_x)
        return MetropolisState(position, log_prob, proposal, density), MetropolisInfo(
            alpha, accepted
        )

    def adapt(
        self, state, info, tuning, remaining
    ) -> tuple[MetropolisState, RandomWalkTuning | None]:
        """Adapt after one of the warm-up steps, `remaining` to go, eq. (3) and (4)."""
        proposal = state.proposal
        if not isinstance(proposal, RandomWalk) or not proposal.adapt:
            return state, None
        tuning = _add_to_window(tuning or RandomWalkTuning(), state.position, info)
        d = state.position.shape[1]
        target = self.target_accept or (0.44 if d == 1 else 0.234)
        gain = 2.0 * tuning.k**-0.6
        proposal = proposal.rescaled(
            proposal.scale * np.exp(gain * (float(info.acceptance.mean()) - target))
        )
        total = tuning.t + remaining
        last = max(
            total // 10, min(50, total // 2)
        )  # final steps, which adapt the scale only
        ends = tuning.k >= tuning.window and remaining >= last + 2 * tuning.window
        ends |= remaining == last and tuning.k >= 25
        if ends and (C := _estimate_covariance(tuning)) is not None:
            proposal = RandomWalk(2.38 / np.sqrt(d), C)
            tuning = RandomWalkTuning(tuning.t, window=2 * tuning.window)
        return state._replace(proposal=proposal), tuning

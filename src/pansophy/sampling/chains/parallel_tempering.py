"""Parallel tempering (replica exchange) for multimodal targets.

Replica k samples pi^beta_k, 1 = beta_0 > beta_1 > ... > beta_K-1 > 0, by any sampler.
After every step neighbours k and k + 1 exchange positions with probability

    min(1, exp((beta_k - beta_k+1) (log pi(x_k+1) - log pi(x_k)))),             (1)

which leaves the product of all pi^beta_k invariant; the draws are those of replica 0.
Pairs (0, 1), (2, 3), ... and (1, 2), (3, 4), ... alternate, so that a position travels
further than with random pairs.

In warm-up the ladder is spaced so that all pairs exchange equally often: with a_k the
mean of (1), log(beta_k / beta_k+1) is raised where a_k is above 0.4 and lowered where
it is below; beta_K-1 is fixed.

Cost      a step: K steps of the sampler; an exchange needs no density
Shapes    x (m, d) by replica   betas (K,)
Refs      [Swendsen1986] [Geyer1991]; [Okabe2001] alternating pairs
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from ...base import Estimator
from ...params import Count, OpenFraction, check_params
from .driver import (
    advance_chains,
    check_sampler,
    stack_records,
    step_record,
    warm_up_chains,
)


class TemperedTarget(NamedTuple):
    """A target density with log pi multiplied by beta."""

    density: Any
    beta: float

    def __getattr__(self, name):  # compiled, address, ...
        return getattr(self.density, name)

    def value(self, x):
        """beta log pi (m,)."""
        return self.beta * self.density.value(x)

    def value_and_grad(self, x):
        """beta log pi (m,) and its gradient (m, d)."""
        value, grad = self.density.value_and_grad(x)
        return self.beta * value, self.beta * grad


class TemperingState(NamedTuple):
    """State of all replicas."""

    position: np.ndarray  # of replica 0
    log_prob: np.ndarray
    replicas: tuple  # states of the sampler, one for each beta
    betas: np.ndarray
    t: int


class TemperingInfo(NamedTuple):
    """Statistics of a step."""

    acceptance: np.ndarray  # of the sampler at beta = 1, NaN if it has none
    exchange: np.ndarray  # mean probability (1) of the pairs


def _tempered_state(state, beta, before=1.0):
    """A sampler state for pi^before converted to pi^beta."""
    density = getattr(state.density, "density", state.density)
    ratio = beta / before
    parts = {
        "log_prob": ratio * state.log_prob,
        "density": TemperedTarget(density, beta),
    }
    if hasattr(state, "grad"):
        parts["grad"] = ratio * state.grad
    return state._replace(**parts)


def _swap_positions(a, b, beta_a, beta_b, rows):
    """States a and b with the positions of some chains swapped."""

    def with_swapped(own_state, other_state, ratio):
        where_swapped = lambda x, y: np.where(
            rows.reshape(-1, *[1] * (x.ndim - 1)), y, x
        )
        parts = {"position": where_swapped(own_state.position, other_state.position)}
        for name in ("log_prob", "grad"):
            if hasattr(own_state, name):
                x, y = getattr(own_state, name), getattr(other_state, name)
                parts[name] = where_swapped(x, ratio * y)
        return own_state._replace(**parts)

    return with_swapped(a, b, beta_a / beta_b), with_swapped(b, a, beta_b / beta_a)


def _exchange_replicas(rng, replicas, betas, parity):
    """Exchange every other pair by eq. (1): new replicas and probabilities."""
    replicas = list(replicas)
    probabilities = {}
    for k in range(parity % 2, len(betas) - 1, 2):
        a, b = replicas[k], replicas[k + 1]
        rise = b.log_prob / betas[k + 1] - a.log_prob / betas[k]
        probability = np.exp(np.minimum((betas[k] - betas[k + 1]) * rise, 0.0))
        rows = rng.random(len(probability)) < probability
        pair = _swap_positions(a, b, betas[k], betas[k + 1], rows)
        replicas[k], replicas[k + 1] = pair
        probabilities[k] = probability
    return tuple(replicas), probabilities


def _respace_ladder(betas, probabilities, gain):
    """Betas with gaps adapted to the exchange probabilities; the ends are fixed."""
    if len(betas) == 1:
        return betas
    gaps = np.log(betas[:-1] / betas[1:])
    total = gaps.sum()
    for k, a in probabilities.items():
        gaps[k] *= np.exp(gain * (a.mean() - 0.4))
    gaps *= total / gaps.sum()
    return np.exp(-np.concatenate([[0.0], np.cumsum(gaps)]))


@dataclass(eq=False, repr=False)
class ParallelTempering(Estimator):
    """Replica exchange around any sampler of this package, to be run by `sample`.

    Parameters
    ----------
    sampler : Sampler
        The sampler of the replicas, such as `Metropolis(log_prob)` or `NUTS(log_prob)`.
    n_replicas : int
        Number K of temperatures.
    hottest : float
        beta of the last replica; near 0 its target is nearly flat.
    n_steps : int
        Steps of the sampler between exchanges.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.sampling import Metropolis, ParallelTempering, sample
    >>> hills = lambda x: np.logaddexp(-((x[:, 0] - 8) ** 2), -((x[:, 0] + 8) ** 2))
    >>> sampler = ParallelTempering(Metropolis(hills))
    >>> draws = sample(sampler, 2000, init=[8.0], random_state=0)
    >>> bool(abs(draws.positions.mean()) < 2)  # both hills are seen
    True
    """

    sampler: Any
    _: KW_ONLY
    n_replicas: Count = 6
    hottest: OpenFraction = 0.02
    n_steps: Count = 1

    def init(self, position) -> TemperingState:
        """All replicas at the positions (m, d)."""
        check_params(self)
        check_sampler(self.sampler)
        first = self.sampler.init(position)
        if not hasattr(first, "density"):
            raise TypeError(
                "sampler of ParallelTempering must hold its density in its state."
            )
        k = np.arange(self.n_replicas) / max(self.n_replicas - 1, 1)
        betas = self.hottest**k
        replicas = tuple(_tempered_state(first, beta) for beta in betas)
        return TemperingState(first.position, first.log_prob, replicas, betas, 0)

    def step(self, rng, state) -> tuple[TemperingState, TemperingInfo]:
        """Steps of all replicas, then exchanges."""
        moved = [
            advance_chains(self.sampler, rng, r, self.n_steps) for r in state.replicas
        ]
        return self._exchange(rng, state, moved)[:2]

    def warm(
        self, rng, state, n, tuning, remaining
    ) -> tuple[TemperingState, dict, Any]:
        """n steps in which every replica and the ladder adapt."""
        records = []
        for i in range(n):
            tuning = tuning or [None] * self.n_replicas
            remaining_steps = (remaining + n - 1 - i) * self.n_steps
            moved = []
            for k, r in enumerate(state.replicas):
                r, trace, tuning[k] = warm_up_chains(
                    self.sampler, rng, r, self.n_steps, tuning[k], remaining_steps
                )
                moved.append((r, trace))
            state, info, probabilities = self._exchange(rng, state, moved)
            gain = 2.0 * (state.t + 10) ** -0.6
            betas = _respace_ladder(state.betas, probabilities, gain)
            pairs = zip(state.replicas, betas, state.betas, strict=True)
            replicas = tuple(_tempered_state(r, new, old) for r, new, old in pairs)
            state = state._replace(replicas=replicas, betas=betas)
            records.append(step_record(state, info))
        return state, stack_records(records), tuning

    def _exchange(self, rng, state, moved):
        replicas, probabilities = _exchange_replicas(
            rng, [r for r, _ in moved], state.betas, state.t
        )
        m = len(state.position)
        trace = moved[0][1]
        rate = trace.get("acceptance", np.full((m, 1), np.nan)).mean(axis=1)
        probability = (
            np.mean([*probabilities.values()], axis=0) if probabilities else np.ones(m)
        )
        cold = replicas[0]
        state = TemperingState(
            cold.position, cold.log_prob, replicas, state.betas, state.t + 1
        )
        return state, TemperingInfo(rate, probability), probabilities

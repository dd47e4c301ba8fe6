"""Slice sampling: uniform points under the density, one coordinate at a time.

A point (x, u) uniform under the graph of pi has x ~ pi. The alternating updates

    u ~ uniform(0, pi(x)),                 the height of the slice              (1)
    x_j ~ uniform on {x_j : pi(x) > u},    the slice along coordinate j         (2)

leave that distribution invariant. (2) needs no gradient and no tuning to be correct: an
interval of width w_j, placed at random around x_j, is stepped out by w_j until both
ends are outside the slice; points are drawn from it until one is inside, and each point
outside becomes the new end on its side. Both operations are reversible.

A step updates all coordinates in random order, for all chains together. In warm-up w_j
is adapted to the mean length of the intervals, so that few evaluations are needed.

Cost      a step: about 5 d densities, in batches of the chains
Shapes    x (m, d)   w (d,)
Refs      [Neal2003]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from ...base import Estimator
from ...params import Count, Flag, Positive, check_params
from ..densities.target_density import LogProb, as_target_density, ensure_values


class SliceState(NamedTuple):
    """State of the chains."""

    position: np.ndarray
    log_prob: np.ndarray
    width: np.ndarray  # w
    density: Any


class SliceInfo(NamedTuple):
    """Statistics of a step."""

    n_calls: np.ndarray  # density evaluations
    length: np.ndarray  # mean |move| of a coordinate, in units of w


def _value_with_coordinate(density, x, j, value, rows):
    """log pi of the rows with coordinate j replaced."""
    y = x[rows].copy()
    y[:, j] = value
    return density.value(y)


def _step_out_interval(density, x, j, height, low, high, w, max_steps, rng):
    """Step out the ends of an interval, at most max_steps in all; numbers of calls."""
    m = len(x)
    left_budget = np.floor(max_steps * rng.random(m)).astype(
        int
    )  # steps allowed each way
    calls = np.zeros(m)
    for end, sign, budget in (
        (low, -1, left_budget),
        (high, 1, max_steps - 1 - left_budget),
    ):
        budget = budget.copy()
        rows = np.flatnonzero(budget > 0)
        while rows.size:
            calls[rows] += 1
            rows = rows[
                _value_with_coordinate(density, x, j, end[rows], rows) > height[rows]
            ]
            end[rows] += sign * w
            budget[rows] -= 1
            rows = rows[budget[rows] > 0]
    return calls


def _shrink_interval(density, x, j, height, low, high, log_prob, rng):
    """Draw points of the slice within [low, high] into x; numbers of calls."""
    calls = np.zeros(len(x))
    rows = np.arange(len(x))
    current = x[:, j].copy()
    while rows.size:
        v = low[rows] + rng.random(rows.size) * (high[rows] - low[rows])
        value = _value_with_coordinate(density, x, j, v, rows)
        calls[rows] += 1
        inside = value > height[rows]
        inside |= v == current[rows]  # the interval has shrunk to a point
        accepted = rows[inside]
        x[accepted, j] = v[inside]
        log_prob[accepted] = np.where(v == current[rows], log_prob[rows], value)[inside]
        rows, v = rows[~inside], v[~inside]
        is_low_side = v < current[rows]
        low[rows[is_low_side]] = v[is_low_side]
        high[rows[~is_low_side]] = v[~is_low_side]
    return calls


@dataclass(eq=False, repr=False)
class SliceSampler(Estimator):
    """Slice sampler, one coordinate at a time, to be run by `sample`.

    Parameters
    ----------
    log_prob : function, Distribution, compiled density or Target
        Logarithm of the target density up to a constant; see `as_target_density`.
    width : float or array of shape (d,)
        Initial widths of the intervals, adapted in warm-up.
    max_steps : int
        Maximum length of a stepped-out interval, in widths.
    batched : bool or None
        Whether log_prob takes all chains at once; None detects it.

    Examples
    --------
    >>> from pansophy.sampling import SliceSampler, sample
    >>> sampler = SliceSampler(lambda x: -abs(x[..., 0]) - abs(x[..., 1]) / 3)
    >>> draws = sample(sampler, 1000, init=[0.0, 0.0], random_state=0)
    >>> bool((draws.summary().r_hat < 1.02).all())
    True
    """

    log_prob: LogProb
    _: KW_ONLY
    width: Positive | np.ndarray = 1.0
    max_steps: Count = 64
    batched: Flag | None = None

    def init(self, position) -> SliceState:
        """State of m chains at positions (m, d)."""
        check_params(self)
        x = np.array(position, dtype=float)
        density = ensure_values(
            as_target_density(self.log_prob, batched=self.batched), x
        )
        w = np.asarray(self.width, dtype=float)
        if w.shape not in ((), (x.shape[1],)) or not (w > 0).all():
            raise ValueError(f"width must be positive, of shape () or ({x.shape[1]},).")
        return SliceState(x, density.value(x), np.broadcast_to(w, x.shape[1:]), density)

    def step(self, rng, state) -> tuple[SliceState, SliceInfo]:
        """Update all coordinates by eq. (1) and (2)."""
        x, log_prob, w, density = state
        x_before = x
        x = x.copy()
        log_prob = log_prob.copy()
        m, d = x.shape
        calls = np.zeros(m)
        for j in rng.permutation(d):
            height = log_prob - rng.standard_exponential(m)  # log u, eq. (1)
            low = x[:, j] - w[j] * rng.random(m)
            high = low + w[j]
            calls += _step_out_interval(
                density, x, j, height, low, high, w[j], self.max_steps, rng
            )
            calls += _shrink_interval(density, x, j, height, low, high, log_prob, rng)
        length = (np.abs(x - x_before) / w).mean(axis=1)
        return SliceState(x, log_prob, w, density), SliceInfo(calls, length)

    def adapt(self, state, info, tuning, remaining) -> tuple[SliceState, Any]:
        """Adapt the widths to the mean moves of all chains so far."""
        last, total, n = tuning or (state.position, 0.0, 0)
        moves = np.abs(state.position - last).mean(axis=0)
        total, n = total + moves, n + (tuning is not None)
        w = state.width
        if (
            n >= 10 and n % 10 == 0
        ):  # two uniform points of an interval are 1/3 of it apart
            w = np.where(total > 0, 3 * total / n, w)
        return state._replace(width=w), (state.position, total, n)

"""Slice sampling: uniform points under the density, a coordinate at a time.

A point (x, u) uniform under the graph of pi has x ~ pi. In turn,

    u ~ uniform(0, pi(x)),                 the height of the slice              (1)
    x_j ~ uniform on {x_j : pi(x) > u},    the slice along coordinate j         (2)

leave that as it is. (2) needs no gradient and no tuning to be right: an interval of
width w_j, laid at random about x_j, is stepped out by w_j until both ends are outside
the slice; points are drawn from it until one is inside, and each that is outside
becomes the new end on its side. Both can be run backwards with the same probability.

A step goes through all coordinates in random order. All chains move together: each
asks for the density at its own point. In warm-up w_j becomes the mean length of the
last intervals, so that few steps out and few draws are needed.

Cost of a step: some 5 d densities, a few in each round of calls.

Shapes    x (m, d)   w (d,)
Refs      [Neal2003]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base import Estimator
from ..params import Count, Flag, Positive, check_params
from .target_density import LogProb, as_target_density, ensure_values


class SliceState(NamedTuple):
    """What a step hands to the next."""

    position: np.ndarray
    log_prob: np.ndarray
    width: np.ndarray  # w
    density: Any


class SliceInfo(NamedTuple):
    """What a step tells."""

    n_calls: np.ndarray  # densities asked for
    length: np.ndarray  # mean |move| of a coordinate, in units of w


def value_with_coordinate(density, x, j, value, rows):
    """log pi of the rows with coordinate j replaced."""
    y = x[rows].copy()
    y[:, j] = value
    return density.value(y)


def step_out_interval(density, x, j, height, low, high, w, most, rng):
    """Ends of an interval that holds the slice, at most `most` steps in all."""
    m = len(x)
    left = np.floor(most * rng.random(m)).astype(int)  # steps allowed each way
    calls = np.zeros(m)
    for end, sign, budget in ((low, -1, left), (high, 1, most - 1 - left)):
        budget = budget.copy()
        rows = np.flatnonzero(budget > 0)
        while rows.size:
            calls[rows] += 1
            rows = rows[
                value_with_coordinate(density, x, j, end[rows], rows) > height[rows]
            ]
            end[rows] += sign * w
            budget[rows] -= 1
            rows = rows[budget[rows] > 0]
    return calls


def shrink_interval(density, x, j, height, low, high, log_prob, rng):
    """Points of the slice within [low, high], and log pi there; changes x."""
    calls = np.zeros(len(x))
    rows, here = np.arange(len(x)), x[:, j].copy()
    while rows.size:
        v = low[rows] + rng.random(rows.size) * (high[rows] - low[rows])
        value = value_with_coordinate(density, x, j, v, rows)
        calls[rows] += 1
        inside = value > height[rows]
        inside |= v == here[rows]  # nothing else is left of the interval
        done = rows[inside]
        x[done, j] = v[inside]
        log_prob[done] = np.where(v == here[rows], log_prob[rows], value)[inside]
        rows, v = rows[~inside], v[~inside]
        below = v < here[rows]
        low[rows[below]] = v[below]
        high[rows[~below]] = v[~below]
    return calls


@dataclass(eq=False, repr=False)
class SliceSampler(Estimator):
    """Slice sampler, a coordinate at a time, to be run by `sample`.

    Parameters
    ----------
    log_prob : function, Distribution, compiled density or Target
        Logarithm of the target density up to a constant; see `target`.
    width : float or array of shape (d,)
        First guess of the widths of slices; warm-up improves it.
    max_steps : int
        Greatest length of an interval stepped out, in widths.
    batched : bool or None
        Whether log_prob takes all chains at once. None finds out by trying.

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
        """New values of all coordinates in turn, eq. (1) and (2)."""
        x, log_prob, w, density = state
        x, log_prob, before = x.copy(), log_prob.copy(), x
        m, d = x.shape
        calls = np.zeros(m)
        for j in rng.permutation(d):
            height = log_prob - rng.standard_exponential(m)  # log u, eq. (1)
            low = x[:, j] - w[j] * rng.random(m)
            high = low + w[j]
            calls += step_out_interval(
                density, x, j, height, low, high, w[j], self.max_steps, rng
            )
            calls += shrink_interval(density, x, j, height, low, high, log_prob, rng)
        length = (np.abs(x - before) / w).mean(axis=1)
        return SliceState(x, log_prob, w, density), SliceInfo(calls, length)

    def adapt(self, state, info, tuning, left) -> tuple[SliceState, Any]:
        """Widths from the mean moves of all chains so far in warm-up."""
        last, total, n = tuning or (state.position, 0.0, 0)
        moves = np.abs(state.position - last).mean(axis=0)
        total, n = total + moves, n + (tuning is not None)
        w = state.width
        if n >= 10 and n % 10 == 0:  # a uniform pair in a slice is 1/3 of it apart
            w = np.where(total > 0, 3 * total / n, w)
        return state._replace(width=w), (state.position, total, n)

"""Prediction: the values of the policy that made some experience, without a model.

From episodes s_0, r_1, s_1, r_2, ... the value of a state is estimated

    Monte Carlo   by the mean of the returns that followed its visits,
                  G_t = r_{t+1} + gamma G_{t+1}                                  (1)
    TD(lambda)    by moving V(s_t) along the differences
                  d_t = r_{t+1} + gamma V(s_{t+1}) - V(s_t)                      (2)

with traces that carry d_t back to the states before, each shrinking by gamma lambda a
step; lambda 0 moves only s_t, lambda 1 moves towards (1). Monte Carlo takes every visit
or the first of each episode.

After a termination G = V = 0. Where an episode is cut off, by a time limit or because
the experience ends, the return goes on with V of the state where it was: (1) then has V
on both sides, and is repeated until it changes no more, a contraction by gamma. To
count the end as a termination instead would make an endless world look finite.

Refs      [Sutton1988]; [Singh1996] first and every visit
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from ...core.random import make_rng
from ...params import Count, Fraction, PositiveFraction, check_argument
from ..experience.rollout import Experience
from .schedules import ScheduleReader, VisitDecay

MOST_PASSES = 100_000


class ValueEstimate(NamedTuple):
    """Estimated values of a policy."""

    V: np.ndarray  # (S,) 0 where a state was never met
    visits: np.ndarray  # (S,) returns that were averaged, or steps


class TransitionSequence(NamedTuple):
    """Transitions as arrays, in their order."""

    state: np.ndarray  # (n,)
    reward: np.ndarray  # (n,)
    after: np.ndarray  # (n,)
    terminated: np.ndarray  # (n,)
    last: np.ndarray  # (n,) whether the episode ended here, in either way


def _as_transition_sequence(experience, n_states) -> TransitionSequence:
    """Arrays of an `Experience` that kept its transitions, or of a list of those."""
    steps = experience.transitions if isinstance(experience, Experience) else experience
    steps = list(steps)
    if not steps:
        raise ValueError("no transitions: run `rollout` with keep=True.")
    state = np.array([t.observation for t in steps])
    successor = np.array([t.next_observation for t in steps])
    for values in (state, successor):
        is_integer = np.issubdtype(values.dtype, np.integer) and values.ndim == 1
        if not is_integer or values.min() < 0 or values.max() >= n_states:
            raise ValueError(
                f"observations must be whole numbers from 0 to {n_states - 1}."
            )
    terminated = np.array([bool(t.terminated) for t in steps])
    last = terminated | np.array([bool(t.truncated) for t in steps])
    last[-1] = True
    return TransitionSequence(
        state, np.array([float(t.reward) for t in steps]), successor, terminated, last
    )


def monte_carlo_values(
    experience,
    n_states,
    *,
    gamma=0.99,
    visits: Literal["first", "every"] = "first",
    tol=1e-10,
) -> ValueEstimate:
    """Values by the mean of the returns, eq. (1).

    Parameters
    ----------
    experience : Experience or list of Transition
        Of `rollout(..., keep=True)`; observations are numbers of states.
    n_states : int
        S.
    gamma : float
        Discount, from 0 to 1.
    visits : {"first", "every"}
        Which visits of a state within an episode count.
    tol : float
        Change at which repeating stops, where episodes were cut off.

    Examples
    --------
    >>> from pansophy.rl import Policy, monte_carlo_values, rollout
    >>> from pansophy.rl.envs import Corridor
    >>> run = rollout(Corridor(3), Policy([1, 1, 1]), n_episodes=5, keep=True)
    >>> monte_carlo_values(run, 3, gamma=0.5).V
    array([0.25, 0.5 , 1.  ])
    """
    _check_prediction(gamma, n_states)
    if visits not in ("first", "every"):
        raise ValueError(f"visits must be 'first' or 'every', got {visits!r}.")
    flow = _as_transition_sequence(experience, n_states)
    counted = (
        _first_visits(flow) if visits == "first" else np.ones(len(flow.state), bool)
    )
    n = np.bincount(flow.state[counted], minlength=n_states)
    V = np.zeros(n_states)
    cut = flow.last & ~flow.terminated
    change = np.inf
    for _ in range(MOST_PASSES):
        G = _returns_to_go(flow, V, gamma)
        sums = np.bincount(flow.state[counted], G[counted], minlength=n_states)
        W = sums / np.maximum(n, 1)
        change = float(np.abs(W - V).max())
        V = W
        if not cut.any() or change <= tol:
            return ValueEstimate(V, n)
    raise ValueError(
        f"values still change by {change:.3g} after {MOST_PASSES} passes: with gamma 1 "
        "episodes that are cut off have no value."
    )


def _returns_to_go(flow: TransitionSequence, V, gamma) -> np.ndarray:
    """G after every step, eq. (1); V follows where an episode was cut off."""
    G = np.empty(len(flow.reward))
    follow = 0.0
    for t in range(len(G) - 1, -1, -1):
        if flow.last[t]:
            follow = 0.0 if flow.terminated[t] else V[flow.after[t]]
        follow = flow.reward[t] + gamma * follow
        G[t] = follow
    return G


def _first_visits(flow: TransitionSequence) -> np.ndarray:
    """Whether each step is the first of its episode in its state."""
    episode = np.cumsum(np.append(0, flow.last[:-1]))
    pairs = np.column_stack([episode, flow.state])
    _, first = np.unique(pairs, axis=0, return_index=True)
    mark = np.zeros(len(flow.state), bool)
    mark[first] = True
    return mark


def td_values(
    experience,
    n_states,
    *,
    gamma=0.99,
    trace_decay=0.0,
    learning_rate=0.1,
    n_passes=1,
    random_state=None,
) -> ValueEstimate:
    """Values by temporal differences, eq. (2).

    Parameters
    ----------
    experience, n_states, gamma
        As for `monte_carlo_values`.
    trace_decay : float
        lambda, from 0 to 1.
    learning_rate : float, VisitDecay, Schedule, function or None
        Step: a number, `VisitDecay(power)` for visits^-power, a function of the number
        of updates; None is `VisitDecay(1)`, for lambda 0 the steps whose limit is
        exact.
    n_passes : int
        How often the experience is gone through; episodes in random order from the
        second pass on.
    random_state : int, Generator, RandomState or None

    Examples
    --------
    >>> from pansophy.rl import Policy, rollout, td_values
    >>> from pansophy.rl.envs import Corridor
    >>> run = rollout(Corridor(3), Policy([1, 1, 1]), n_episodes=200, keep=True)
    >>> td_values(run, 3, gamma=0.5).V.round(3)
    array([0.25, 0.5 , 1.  ])
    """
    _check_prediction(gamma, n_states)
    check_argument("trace_decay", trace_decay, Fraction)
    check_argument(
        "learning_rate", learning_rate, PositiveFraction | VisitDecay | Callable | None
    )
    if learning_rate is None:
        learning_rate = VisitDecay(1.0)
    power = learning_rate.power if isinstance(learning_rate, VisitDecay) else 0.0
    steps = ScheduleReader(1.0 if power else learning_rate)
    n_updates = 0
    check_argument("n_passes", n_passes, Count)
    flow = _as_transition_sequence(experience, n_states)
    rng = make_rng(random_state)
    V, n = np.zeros(n_states), np.zeros(n_states, np.int64)
    ends = np.flatnonzero(flow.last) + 1
    episodes = np.split(np.arange(len(flow.state)), ends[:-1])
    for sweep in range(n_passes):
        order = (
            np.arange(len(episodes)) if sweep == 0 else rng.permutation(len(episodes))
        )
        for e in order:
            trace = np.zeros(n_states)
            for t in episodes[e]:
                s = flow.state[t]
                follow = 0.0 if flow.terminated[t] else V[flow.after[t]]
                d = flow.reward[t] + gamma * follow - V[s]
                n[s] += 1
                rate = steps.at(n_updates) * (n[s] ** -power if power else 1.0)
                n_updates += 1
                if trace_decay == 0:
                    V[s] += rate * d
                    continue
                trace *= gamma * trace_decay
                trace[s] = 1.0  # replacing
                V += rate * d * trace
    return ValueEstimate(V, n)


def _check_prediction(gamma, n_states):
    """One sentence about what is out of range."""
    check_argument("gamma", gamma, Fraction)
    check_argument("n_states", n_states, Count)

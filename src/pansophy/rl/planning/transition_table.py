"""Transition tables: a tabular environment as arrays, so that compiled loops can step.

Outcome k of action a in state s is row k of the slice offset[i] .. offset[i + 1],
i = s A + a: it happens with probability cum[k] - cum[k - 1], leads to next_state[k],
pays reward[k] and ends the episode where done[k]. A step takes the first k with
cum[k] > u for a uniform u, as Gymnasium's own tabular environments do.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse

TRANSPARENT_WRAPPERS = ("TimeLimit", "OrderEnforcing", "PassiveEnvChecker")
# what may be set on one environment so that it does not do what its class does
REPLACEABLE = {"step", "reset", "step_batch", "start_batch"}
KNOWN_WORLDS = ("gymnasium.envs.", "pansophy.rl.envs.")


class TransitionTable(NamedTuple):
    """Arrays of the module text."""

    offset: np.ndarray  # (S A + 1,)
    next_state: np.ndarray  # (K,)
    cumulative: np.ndarray  # (K,)
    reward: np.ndarray  # (K,)
    terminated: np.ndarray  # (K,) bool
    start: np.ndarray  # (S,) cumulative probabilities of the first state
    n_actions: int
    max_steps: int  # steps after which an episode is cut off; 0: never

    @property
    def n_states(self) -> int:
        return len(self.start)

    def probability(self):
        """Probability of every outcome."""
        p = np.diff(self.cumulative, prepend=0.0)
        first = self.offset[:-1]
        p[first] = self.cumulative[first]
        return p

    def outcomes(self) -> dict:
        """Transitions as Gymnasium's {s: {a: [(p, s', reward, terminated), ...]}}."""
        p = self.probability().tolist()
        A = self.n_actions
        columns = (
            self.next_state.tolist(),
            self.reward.tolist(),
            self.terminated.tolist(),
        )
        rows = list(zip(p, *columns, strict=True))
        cut = lambda i: rows[self.offset[i] : self.offset[i + 1]]
        states = range(self.n_states)
        return {s: {a: cut(s * A + a) for a in range(A)} for s in states}


def first_cumulative_above(cum, lo, hi, u) -> int:
    """The first k in lo..hi-1 with cum[k] > u."""
    return min(lo + int(np.searchsorted(cum[lo:hi], u, side="right")), hi - 1)


def table_from_dict(P, start=None, max_steps=0) -> TransitionTable:
    """A table from {s: {a: [(p, s', reward, terminated), ...]}}."""
    S = len(P)
    if not S or set(P) != set(range(S)):
        raise ValueError("the keys of P must be the states 0, 1, ..., without a gap.")
    A = len(P[0])
    lists = []
    for s in range(S):
        if len(P[s]) != A:
            raise ValueError(f"state {s} has {len(P[s])} actions, state 0 has {A}.")
        if not A or set(P[s]) != set(range(A)):
            raise ValueError(f"the keys of P[{s}] must be the actions 0, 1, ...")
        lists += [P[s][a] for a in range(A)]
    for i, outcomes in enumerate(lists):
        if not len(outcomes) or any(len(outcome) != 4 for outcome in outcomes):
            raise ValueError(
                f"P[{i // A}][{i % A}] must be a list of (probability, next state, "
                f"reward, terminated), got {outcomes!r}."
            )
    offset = np.concatenate([[0], np.cumsum([len(outcomes) for outcomes in lists])])
    rows = [outcome for outcomes in lists for outcome in outcomes]
    p, next_state, reward, terminal = (np.array(c) for c in zip(*rows, strict=True))
    p = p.astype(float)
    cum = np.empty(len(p))
    for i, (lo, hi) in enumerate(pairwise(offset)):
        sums = np.cumsum(p[lo:hi])
        if abs(sums[-1] - 1) > 1e-8 or p[lo:hi].min() < 0:
            raise ValueError(
                f"outcomes of action {i % A} in state {i // A} must have "
                "probabilities that sum to 1."
            )
        cum[lo:hi] = sums
        cum[hi - 1] = 1.0  # rounding must not leave a gap at the top
    is_integer = next_state.dtype.kind in "iu"
    if not is_integer or next_state.min() < 0 or next_state.max() >= S:
        raise ValueError(f"next states must be whole numbers from 0 to {S - 1}.")
    reward = reward.astype(float)
    if not np.isfinite(reward).all():
        raise ValueError("a reward in P is NaN or infinite.")
    start = np.full(S, 1 / S) if start is None else np.asarray(start, dtype=float)
    if start.shape != (S,) or abs(start.sum() - 1) > 1e-8 or start.min() < 0:
        raise ValueError(f"start must hold {S} probabilities that sum to 1.")
    start = np.cumsum(start)
    start[np.flatnonzero(start >= start[-1])[0] :] = 1.0
    return TransitionTable(
        offset,
        next_state.astype(np.int64),
        cum,
        reward,
        terminal.astype(bool),
        start,
        A,
        int(max_steps),
    )


def is_mdp(model) -> bool:
    """Whether an object is an `MDP` (`mdp.py`, which imports this module)."""
    return type(model).__name__ == "MDP" and hasattr(model, "ends")


def _table_from_mdp(model) -> TransitionTable:
    """A table of an `MDP`: its expected rewards, first states drawn evenly.

    What the rows of T lack to 1 is the chance that the episode ends.
    """
    S, A = model.r.shape
    row, column, chance = [], [], []
    for a in range(A):
        T = sparse.coo_array(model.T[a])
        lacking = 1 - np.asarray(T.sum(axis=1)).ravel()
        ends = np.flatnonzero(lacking > 1e-9) if model.ends else np.empty(0, int)
        is_possible = T.data > 0
        row += [T.row[is_possible] * A + a, ends * A + a]
        column += [T.col[is_possible], np.full(len(ends), -1)]
        chance += [T.data[is_possible], lacking[ends]]
    pair, successor, p = (np.concatenate(parts) for parts in (row, column, chance))
    order = np.argsort(pair, kind="stable")
    pair, successor, p = pair[order], successor[order], p[order]
    offset = np.append(0, np.cumsum(np.bincount(pair, minlength=S * A)))
    total = np.cumsum(p)
    total_before = np.append(0.0, total)[offset[:-1]]
    cumulative = total - total_before[pair]
    cumulative /= cumulative[offset[1:] - 1][pair]  # rounding leaves no gap at the top
    ended = successor < 0
    successor = np.where(ended, pair // A, successor)
    start = np.cumsum(np.full(S, 1 / S))
    start[-1] = 1.0
    return TransitionTable(
        offset,
        successor.astype(np.int64),
        cumulative,
        model.r.reshape(-1)[pair],
        ended,
        start,
        A,
        0,
    )


def as_transition_table(env) -> TransitionTable:
    """The table of a dict of outcomes, or of an environment that has one.

    Parameters
    ----------
    env : dict, Table, MDP, Gymnasium environment or its name
        A dict and an MDP give a uniform first state, an MDP its expected rewards. An
        environment must show its outcomes as `P` (FrozenLake, Taxi, CliffWalking, those
        of `rl.envs`) and have no wrapper but a time limit, since others may change what
        the agent sees.
    """
    if isinstance(env, TransitionTable):
        return env
    if isinstance(env, dict):
        return table_from_dict(env)
    if is_mdp(env):
        return _table_from_mdp(env)
    env = environment_of_name(env)
    reason = reason_not_tabular(env)
    if reason is not None:
        raise ValueError(f"the environment is no table: {reason}.")
    core = env.unwrapped
    limit = time_limit(env)
    env_table = getattr(core, "table", None)
    if isinstance(env_table, TransitionTable):
        limits = [n for n in (limit, env_table.max_steps) if n]
        return env_table._replace(max_steps=min(limits, default=0))
    return table_from_dict(core.P, core.initial_state_distrib, limit)


def environment_of_name(env):
    """The environment of a name in Gymnasium's registry, or of a table or an MDP.

    Anything else is returned as it is.
    """
    if isinstance(env, (dict, TransitionTable)) or is_mdp(env):
        from ..envs import TabularEnv

        return TabularEnv(env)
    if not isinstance(env, str):
        return env
    import gymnasium

    return gymnasium.make(env)


def reason_not_tabular(env) -> str | None:
    """Why an environment cannot be read as a table, or None if it can."""
    layer = env
    while layer is not env.unwrapped:
        if not is_transparent(layer):
            return f"its wrapper {type(layer).__name__} may change it"
        layer = layer.env
    for needed in ("P", "initial_state_distrib"):
        if not hasattr(layer, needed):
            return f"it does not show {needed}"
    for method in ("step", "reset"):
        if method in vars(layer) or _overrides_known_world(type(layer), method):
            return f"its {method} is not that of the class that shows P"
    for space in (env.observation_space, env.action_space):
        if not hasattr(space, "n") or getattr(space, "start", 0) != 0:
            return f"its space {space} does not count from 0"
    if getattr(layer, "fickle_passenger", False):
        return "its passenger may change the destination outside P"
    return None


def is_transparent(wrapper) -> bool:
    """Whether a wrapper is one of Gymnasium's that leave all numbers as they are."""
    kind = type(wrapper)
    is_gymnasium = kind.__module__.startswith("gymnasium.")
    replaced = REPLACEABLE & vars(wrapper).keys()
    return is_gymnasium and kind.__name__ in TRANSPARENT_WRAPPERS and not replaced


def overrides_method(kind, method, needed) -> bool:
    """Whether a class has overridden `method` later than its base gave `needed`."""
    for base in kind.__mro__:
        if needed in vars(base):
            return False
        if method in vars(base):
            return True
    return False


def _overrides_known_world(kind, method) -> bool:
    """Whether a class changes a method of a world of Gymnasium or of `rl.envs`."""
    for base in kind.__mro__:
        known = base.__module__.startswith(KNOWN_WORLDS)
        if method in vars(base):
            return not known and any(
                base.__module__.startswith(KNOWN_WORLDS) and method in vars(base)
                for base in kind.__mro__
            )
    return False


def time_limit(env) -> int:
    """The step limit set by TimeLimit wrappers; 0 for none."""
    limits = []
    while env is not env.unwrapped:
        if type(env).__name__ == "TimeLimit":
            limits.append(int(env._max_episode_steps))
        env = env.env
    return min(limits, default=0)

"""Experience of many environments at once: arrays of time steps by environments.

`gather` steps N environments together, T times, and hands back arrays (T, N). Gymnasium
knows three ways for a vector environment to begin the next episode (`AutoresetMode`);
all give the same `Steps` here:

    DISABLED    we reset the environments that are done. Nothing is lost or added.
    SAME_STEP   step returns the first observation of the next episode; the last one of
                the old episode is in info["final_obs"], and is taken from there.
    NEXT_STEP   the step after the end ignores its action and only resets. It is no
                transition: `valid` is False there.

The observation after a step is that of the next row, except where an episode ended.
Only those are kept besides: `final_observation`, K of them, at (`final_time`,
`final_env`). A value function bootstraps from them where `truncated` and uses 0 where
`terminated`; the last row bootstraps from `position.observation`.

An agent for many environments gives

    act_batch(observations, rng) -> actions, or (actions, {name: array (N, ...)})

(what else it returns, such as log-probabilities and values, is kept in `extras`), asks
for the allowed actions with a parameter `mask`, and may give `begin_batch(observations,
first)`, called whenever an episode begins in those environments where `first`. An agent
that has only `act` is asked once for each environment.

Shapes    observation (T, N, ...)   action (T, N, ...)   reward (T, N)
"""

from typing import Any, NamedTuple

import numpy as np

from ...core.random import draw_seed, make_rng
from ...params import Count, check_argument
from ..planning.transition_table import environment_of_name
from .environment_contract import (
    check_gathered_rewards,
    check_vector_env,
    checked_environment,
)
from .rollout import takes_mask


class Position(NamedTuple):
    """State of the environments between two calls of `gather`."""

    observation: np.ndarray  # (N, ...) the agent acts on this next
    mask: Any  # (N, A) actions allowed there, or None
    first: np.ndarray  # (N,) whether it begins an episode
    ended: np.ndarray  # (N,) whether the next step only resets (NEXT_STEP)
    returns: np.ndarray  # (N,) rewards of the episode so far
    lengths: np.ndarray  # (N,) and its steps


class Steps(NamedTuple):
    """Transitions of N environments over T steps; see the module text."""

    observation: np.ndarray  # (T, N, ...)
    action: np.ndarray  # (T, N, ...)
    reward: np.ndarray  # (T, N)
    terminated: np.ndarray  # (T, N) the world is over: the value after it is 0
    truncated: np.ndarray  # (T, N) cut off: the value after it is that of the state
    first: np.ndarray  # (T, N) the observation begins an episode
    valid: np.ndarray  # (T, N) False where a step only reset the environment
    mask: Any  # (T, N, A) allowed actions, or None
    extras: dict  # what the agent returned besides its actions, (T, N, ...) each
    final_time: np.ndarray  # (K,) rows at which an episode ended
    final_env: np.ndarray  # (K,) and their environments
    final_observation: np.ndarray  # (K, ...) the observation after those rows
    final_mask: Any  # (K, A) or None
    returns: np.ndarray  # (K,) sum of rewards of each finished episode
    lengths: np.ndarray  # (K,) its steps, those of earlier calls included
    position: Position  # pass it to the next call

    @property
    def done(self) -> np.ndarray:
        """Whether the episode ended after each step, in either way."""
        return self.terminated | self.truncated

    @property
    def n_steps(self) -> int:
        """Number of transitions."""
        return int(np.count_nonzero(self.valid))

    def next_observation(self) -> np.ndarray:
        """The observation after every step, (T, N, ...)."""
        next_rows = np.empty_like(self.observation)
        next_rows[:-1] = self.observation[1:]
        next_rows[-1] = self.position.observation
        if len(self.final_env):
            next_rows[self.final_time, self.final_env] = self.final_observation
        return next_rows

    def next_mask(self):
        """The actions allowed after every step, (T, N, A); None without masks."""
        if self.mask is None:
            return None
        next_rows = np.empty_like(self.mask)
        next_rows[:-1] = self.mask[1:]
        next_rows[-1] = self.position.mask
        if self.final_mask is not None:
            next_rows[self.final_time, self.final_env] = self.final_mask
        return next_rows


def as_vector_env(envs):
    """A Gymnasium vector environment: `envs` itself, or made of an Env or several."""
    envs = environment_of_name(envs)
    if hasattr(envs, "num_envs"):
        check_vector_env(envs)
        return envs
    if hasattr(envs, "step"):
        envs = [envs]
    if not isinstance(envs, (list, tuple)) or not envs:
        raise TypeError(
            "envs must be a Gymnasium VectorEnv, an Env, its name or a list of Envs, "
            f"got {type(envs).__name__}."
        )
    from gymnasium.vector import AutoresetMode, SyncVectorEnv

    checked = [
        env if hasattr(env, "row_layout") else checked_environment(env) for env in envs
    ]
    makers = [lambda env=env: env for env in checked]
    return SyncVectorEnv(makers, autoreset_mode=AutoresetMode.DISABLED)


def _reset_mode(envs) -> str:
    """Name of the way in which the next episode begins; Gymnasium's own if unstated."""
    mode = envs.metadata.get("autoreset_mode", "NEXT_STEP")
    return getattr(mode, "name", str(mode))


def _stack_parts(observation) -> np.ndarray:
    """Observations as one array: the parts of a Tuple become columns."""
    if isinstance(observation, tuple):
        return np.stack(observation, axis=-1)
    if isinstance(observation, dict):
        raise ValueError(
            "observations are dictionaries; flatten them with "
            "gymnasium.wrappers.FlattenObservation (or its vector twin)."
        )
    return np.asarray(observation)


def _merge_masks(old, info):
    """Masks after a reset, which may tell only those of some environments."""
    new = info.get("action_mask")
    if new is None:
        return old
    mask_present = info.get("_action_mask")
    if old is None or mask_present is None:
        return np.array(new)
    return np.where(mask_present[:, None], new, old)


def _masks_after_step(old, info):
    """Masks after a step; where an environment tells none, every action is allowed."""
    if old is None and "action_mask" not in info:
        return None
    if old is None:
        raise ValueError(
            "the environment gives info['action_mask'] after a step, but not after a "
            "reset."
        )
    return _merge_masks(np.ones_like(old), info)


class SeparateActs:
    """An agent that chooses for one environment, asked N times."""

    def __init__(self, agent):
        if hasattr(agent, "begin"):
            raise TypeError(
                f"{type(agent).__name__} remembers one episode (it has `begin`), so it "
                "needs act_batch and begin_batch to act in several environments."
            )
        self.act = agent.act
        self.masked = takes_mask(agent.act)

    def act_batch(self, observations, rng, mask=None):
        if not self.masked:
            return np.array(
                [self.act(observation, rng) for observation in observations]
            )
        masks = [None] * len(observations) if mask is None else mask
        pairs = zip(observations, masks, strict=True)
        return np.array(
            [self.act(observation, rng, allowed) for observation, allowed in pairs]
        )


def start_position(envs, agent, rng) -> Position:
    """Reset every environment, seeded, and tell the agent."""
    observation, info = envs.reset(seed=draw_seed(rng))
    N = envs.num_envs
    position = Position(
        _stack_parts(observation),
        _merge_masks(None, info),
        np.ones(N, bool),
        np.zeros(N, bool),
        np.zeros(N),
        np.zeros(N, np.int64),
    )
    begin_episodes(agent, position)
    return position


def begin_episodes(agent, position):
    """Tell an agent with memory in which environments an episode begins."""
    if hasattr(agent, "begin_batch") and position.first.any():
        agent.begin_batch(position.observation, position.first)


def gather(envs, agent, horizon, *, position=None, random_state=None) -> Steps:
    """Let an agent act `horizon` times in each of many environments.

    Parameters
    ----------
    envs : Gymnasium VectorEnv, Env, its name or list of Env
        Of any autoreset mode.
    agent : object with `act_batch` or `act`
        See the module text. It does not learn here; the caller has the steps.
    horizon : int
        T, the steps in each environment.
    position : Position or None
        Where the last call stopped, `steps.position`; None resets every environment.
    random_state : int, Generator, RandomState or None
        Seeds the first reset and the agent's choices; give the same Generator to
        successive calls.

    Returns
    -------
    Steps
        Arrays (T, N).

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.rl import Policy, gather
    >>> from pansophy.rl.envs import Corridor
    >>> steps = gather([Corridor(3), Corridor(3)], Policy([1, 1, 1]), 4, random_state=0)
    >>> steps.terminated.astype(int).T
    array([[0, 0, 1, 0],
           [0, 0, 1, 0]])
    >>> steps.lengths
    array([3, 3])
    """
    check_argument("horizon", horizon, Count)
    envs = as_vector_env(envs)
    rng = make_rng(random_state)
    if not hasattr(agent, "act_batch"):
        agent = SeparateActs(agent)
    if position is None:
        position = start_position(envs, agent, rng)
    _check_position(position, envs)
    lengths = position.lengths
    masked = takes_mask(agent.act_batch)
    mode = _reset_mode(envs)
    rows: dict[str, Any] = {"mask": None}
    extra_rows: dict[str, np.ndarray] = {}
    finals: list[Ending] = []
    times: list[int] = []
    for t in range(horizon):
        previous = position
        action, extras = _choose_actions(agent, previous, rng, masked)
        outcome, ending, position = step_environments(envs, mode, action, previous)
        begin_episodes(agent, position)
        _store_row(rows, t, horizon, _row_before_step(previous, action) | outcome)
        _store_row(extra_rows, t, horizon, extras)
        if ending is not None:
            finals.append(ending)
            times.append(t)
    check_gathered_rewards(rows["reward"], rows["first"], lengths)
    end = _join_endings(finals) if finals else _no_endings(position)
    return Steps(
        **rows,
        extras=extra_rows,
        final_time=_end_times(times, finals),
        final_env=end.env,
        final_observation=end.observation,
        final_mask=None if rows["mask"] is None else end.mask,
        returns=end.returns,
        lengths=end.lengths,
        position=position,
    )


def _check_position(position, envs) -> None:
    """Raise if a position belongs to other environments."""
    if len(position.first) != envs.num_envs:
        raise ValueError(
            f"position is of {len(position.first)} environments, envs of "
            f"{envs.num_envs}."
        )


def _choose_actions(agent, position, rng, masked) -> tuple[Any, dict]:
    """The agent's actions, and what it returned besides them."""
    chosen = (position.observation, rng, position.mask)
    action = agent.act_batch(*(chosen if masked else chosen[:2]))
    return action if isinstance(action, tuple) else (action, {})


def _row_before_step(position, action) -> dict:
    """Values of a step that are known before it is made."""
    return {
        "observation": position.observation,
        "action": np.asarray(action),
        "first": position.first,
        "valid": ~position.ended,
        "mask": position.mask,
    }


def _store_row(rows, t, horizon, row):
    """Copy what belongs to step t into arrays of `horizon` rows, made at t = 0."""
    for name, value in row.items():
        if value is None:
            continue
        if horizon == 1:
            rows[name] = np.array(value)[None]
            continue
        if t == 0:
            value = np.asarray(value)
            rows[name] = np.empty((horizon, *value.shape), value.dtype)
        rows[name][t] = value


class Ending(NamedTuple):
    """Episodes that ended at one step."""

    env: np.ndarray
    observation: np.ndarray
    mask: np.ndarray
    returns: np.ndarray
    lengths: np.ndarray


def _end_times(times, finals) -> np.ndarray:
    """The row at which each episode ended."""
    if not finals:
        return np.empty(0, np.int64)
    return np.repeat(times, [len(ending.env) for ending in finals])


def _join_endings(finals) -> Ending:
    """Endings of several steps, one after the other."""
    if len(finals) == 1:
        return finals[0]
    return Ending(*(np.concatenate(column) for column in zip(*finals, strict=True)))


def _no_endings(position) -> Ending:
    """Arrays of no episodes."""
    no_index = np.empty(0, np.int64)
    mask = np.empty((0, 0)) if position.mask is None else position.mask[:0]
    return Ending(no_index, position.observation[:0], mask, np.empty(0), no_index)


def step_environments(envs, mode, action, position):
    """One step of all environments: what came of it, what ended, where they stand.

    What ended is None if nothing did, which is nearly always, and kept short.
    """
    next_rows, reward, terminated, truncated, info = envs.step(action)
    next_rows = _stack_parts(next_rows)
    terminated, truncated = np.asarray(terminated, bool), np.asarray(truncated, bool)
    reward = np.asarray(reward, float)
    mask = _masks_after_step(position.mask, info)
    truncated = truncated & ~terminated
    returns = position.returns + reward
    lengths = position.lengths + 1
    if mode == "NEXT_STEP":
        real = ~position.ended
        terminated, truncated = terminated & real, truncated & real
        returns, lengths = returns * real, lengths * real
    finished = terminated | truncated
    outcome = {"reward": reward, "terminated": terminated, "truncated": truncated}
    first = position.ended if mode == "NEXT_STEP" else finished
    ended = finished if mode == "NEXT_STEP" else position.ended
    if not np.count_nonzero(finished):
        position = Position(next_rows, mask, first, ended, returns, lengths)
        return outcome, None, position
    ended_at = np.flatnonzero(finished)
    if mode == "SAME_STEP":
        final = _final_parts(info, ended_at)
        final_mask = _final_masks(info, ended_at, mask)
    else:
        final = next_rows[ended_at]
        final_mask = np.empty((len(ended_at), 0)) if mask is None else mask[ended_at]
    ending = Ending(ended_at, final, final_mask, returns[ended_at], lengths[ended_at])
    returns[ended_at] = 0.0
    lengths[ended_at] = 0
    if mode == "DISABLED":
        observation, info = envs.reset(options={"reset_mask": finished.copy()})
        next_rows = _stack_parts(observation)
        mask = _merge_masks(mask, info)
    return outcome, ending, Position(next_rows, mask, first, ended, returns, lengths)


def _final_parts(info, at) -> np.ndarray:
    """Last observations of episodes that ended, where the step has reset already."""
    final = info["final_obs"]
    if isinstance(final, tuple) or final.dtype.kind != "O":  # Gymnasium's own: objects
        return _stack_parts(final)[at]
    return np.stack([np.asarray(_stack_parts(final[i])) for i in at])


def _final_masks(info, at, mask) -> np.ndarray:
    """Masks that came with `_final_parts`; those of the next episode where untold."""
    if mask is None:
        return np.empty((len(at), 0))
    final = info.get("final_info", {}).get("action_mask")
    return mask[at] if final is None else np.asarray(final)[at]

"""Rollouts: the driver that lets an agent act and learn in a Gymnasium environment.

An agent (`typing.Agent`) gives `act(observation, rng) -> action` and, if it learns,
`update(transition)`, called after every step. An episode ends when the environment
says so, in one of two ways that an agent must tell apart: *terminated*, the world is
over and the value after it is 0; *truncated*, someone stopped watching (a time limit)
and the value after it is that of the next state as always.

Two more things are told to an agent that asks for them. One with memory (a belief, a
recurrent state) gives `begin(observation)`, called at the start of every episode
whether it learns or not. One whose `act` has a parameter `mask` is given the
environment's `info["action_mask"]`, None where there is none; transitions carry the
masks of both observations. `gather` (`gather.py`) is the same for many environments
at once.

One seed sets everything: it seeds the environment at its first reset and gives the
generator that the agent draws from. Ctrl-C keeps what was seen and marks it.
"""

import copy
import inspect
import sys
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...core.drivers.progress import SILENT
from ...core.random import draw_seed, make_rng
from ...params import Count, check_argument
from ..planning.transition_table import environment_of_name
from .environment_contract import as_reward, reset_environment, wrong_step

BLOCK = 4096  # steps between two reports
INFINITE = float("inf")


class Transition(NamedTuple):
    """One step in the world."""

    observation: Any
    action: Any
    reward: float
    next_observation: Any
    terminated: bool
    truncated: bool
    mask: Any = None  # actions that were allowed after observation
    next_mask: Any = None  # and after next_observation


class EpisodePosition(NamedTuple):
    """Where a run stopped within an episode, for one that goes on from there."""

    observation: Any
    mask: Any
    total: float  # rewards of the episode so far
    length: int  # and its steps
    ended: bool  # whether the episode is over and the next one has not begun


class StepWatch:
    """Calls `observe(learner, n)` after n = 0, every, 2 every, ... steps of a run.

    Parameters
    ----------
    observe : function (learner, n) or None
        It must not draw from the run's generator; True ends the run.
    every : int or None
    """

    def __init__(self, observe=None, every=None):
        self.observe = observe
        self.every = sys.maxsize if every is None else int(every)

    def next_look(self, done) -> int:
        """The number of steps at which to look next."""
        return done + self.every - done % self.every

    def ends_run(self, learner, done) -> bool:
        """Look, if it is time; whether the run is to end."""
        if self.observe is None or done % self.every:
            return False
        return bool(self.observe(learner, done))


UNWATCHED = StepWatch()


@dataclass(eq=False, repr=False)
class Experience:
    """Returns, lengths and end of a run in an environment.

    Attributes
    ----------
    returns : ndarray of shape (episodes,)
        Sum of rewards of each finished episode.
    lengths : ndarray of shape (episodes,)
        Steps of each finished episode.
    n_steps : int
        Steps in all, those of an unfinished episode included.
    reason : str
        Why the run ended: "steps", "episodes", "callback" or "interrupted".
    seconds : float
        Time it took.
    transitions : list of Transition
        Every step, if they were to be kept.
    position : EpisodePosition or None
        Where the run stopped, if that is known.
    """

    returns: np.ndarray
    lengths: np.ndarray
    n_steps: int
    reason: str
    seconds: float
    transitions: list[Transition]
    position: EpisodePosition | None = None

    @property
    def interrupted(self) -> bool:
        return self.reason == "interrupted"

    @property
    def n_iter(self) -> int:
        return self.n_steps

    @property
    def converged(self) -> None:
        """A run spends a budget; nothing in it tests convergence."""

    @property
    def history(self) -> dict[str, np.ndarray]:
        return {"return": self.returns, "length": self.lengths}

    def __repr__(self):
        text = f"{self.n_steps} steps, {len(self.returns)} episodes"
        if len(self.returns):
            text += f", mean return {self.returns.mean():.4g}"
        return text + (", interrupted" if self.interrupted else "")


@dataclass(eq=False)
class Policy:
    """An agent that follows a table and learns nothing.

    Parameters
    ----------
    table : array of shape (S,) or (S, A)
        An action for each state, or probabilities of the actions.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.rl import Policy
    >>> rng = np.random.default_rng(0)
    >>> Policy([2, 0]).act(0, rng), Policy([[0, 0, 1], [1, 0, 0]]).act(0, rng)
    (2, 2)
    """

    table: Any

    def __post_init__(self):
        table = np.asarray(self.table)
        if table.ndim == 2:
            ok = (table >= 0).all() and np.allclose(table.sum(axis=1), 1)
            if not ok:
                raise ValueError("rows of a policy must be probabilities.")
            cumulative = np.cumsum(table, axis=1)
            self.rows = (cumulative / cumulative[:, -1:]).tolist()
        elif table.ndim == 1 and np.issubdtype(table.dtype, np.integer):
            if (table < 0).any():
                raise ValueError("actions of a policy are counted from 0.")
            self.rows = table.tolist()
        else:
            raise ValueError("a policy is an array of actions or of probabilities.")

    def act(self, observation, rng) -> int:
        if not 0 <= observation < len(self.rows):
            raise ValueError(
                f"the policy has the states 0 to {len(self.rows) - 1}, not "
                f"{observation!r}."
            )
        row = self.rows[observation]
        if isinstance(row, int):
            return row
        u = rng.random()
        return next(a for a, c in enumerate(row) if c > u)

    def update(self, transition) -> None:
        """A policy stays as it is."""


def takes_mask(function) -> bool:
    """Whether a function or method has a parameter `mask`."""
    return _has_mask_parameter(getattr(function, "__func__", function))


@lru_cache(maxsize=64)
def _has_mask_parameter(function) -> bool:
    """`takes_mask` of a plain function; signatures take longer to read than steps."""
    return "mask" in inspect.signature(function).parameters


def _check_rollout_limits(n_steps, n_episodes, max_episode_steps) -> None:
    """Raise if a rollout would never stop, or a limit is none."""
    if n_steps is None and n_episodes is None:
        raise ValueError("give n_steps or n_episodes: when should the run stop?")
    check_argument("n_steps", n_steps, Count | None)
    check_argument("n_episodes", n_episodes, Count | None)
    check_argument("max_episode_steps", max_episode_steps, Count | None)


def _own_observation(observation):
    """An observation that stays as it is when the environment goes on.

    Some environments hand out their state, which the next step changes.
    """
    if type(observation) is int:
        return observation
    if isinstance(observation, np.ndarray):
        return observation.copy()
    if isinstance(observation, (dict, tuple, list)):
        return copy.deepcopy(observation)
    return observation


def _begin_episode(env, own, begin, seed=None) -> tuple:
    """First observation, of which the agent is told, and the mask of its actions."""
    observation, info = reset_environment(env, seed)
    observation = own(observation)
    begin(observation)
    return observation, info.get("action_mask")


def _begin_run(env, own, begin, rng, position) -> EpisodePosition:
    """Where a run begins: where the last one stopped, or at a reset with a seed."""
    if position is not None and not position.ended:
        return position
    seed = draw_seed(rng) if position is None else None
    observation, mask = _begin_episode(env, own, begin, seed)
    return EpisodePosition(observation, mask, 0.0, 0, False)


def rollout(
    env,
    agent,
    *,
    n_steps=None,
    n_episodes=None,
    max_episode_steps=None,
    learn=None,
    keep=False,
    random_state=None,
    watch=UNWATCHED,
    position=None,
    task=SILENT,
) -> Experience:
    """Let an agent act in an environment, and learn if it can.

    Parameters
    ----------
    env : Gymnasium environment or its name
    agent : Agent
        Gives `act(observation, rng)`, where a further parameter `mask` asks for the
        allowed actions; to learn, `update(transition)`; to be told of each start of
        an episode, `begin(observation)`.
    n_steps, n_episodes : int or None
        When to stop; with both, whichever comes first.
    max_episode_steps : int or None
        Steps after which an episode is truncated, for environments without a limit of
        their own.
    learn : bool or None
        Whether to call `update`. None: if the agent has it.
    keep : bool
        Whether to keep every transition.
    random_state : int, Generator, RandomState or None
        Seeds the environment and the agent's choices.
    watch : StepWatch
        Looks at the agent along the way.
    position : EpisodePosition or None
        Where the last run with this environment stopped, which nobody has used since;
        None resets it.

    Returns
    -------
    Experience
        Returns and lengths of the episodes, and the transitions if kept.
    """
    _check_rollout_limits(n_steps, n_episodes, max_episode_steps)
    start_time = time.perf_counter()
    env = environment_of_name(env)
    learn = hasattr(agent, "update") if learn is None else learn
    act = agent.act
    step = env.step
    begin = getattr(agent, "begin", None) or (lambda observation: None)
    update = getattr(agent, "update", None)
    masked = takes_mask(act)
    rng = make_rng(random_state)
    seen, returns, lengths = [], [], []
    n_done, reason = 0, ""
    limit, longest = (
        sys.maxsize if n is None else int(n) for n in (n_steps, max_episode_steps)
    )
    try:
        own_form = (
            _own_observation if learn or keep else lambda observation: observation
        )
        observation, mask, total, length, _ = _begin_run(
            env, own_form, begin, rng, position
        )
        reason = "callback" if watch.ends_run(agent, n_done) else ""
        while not reason:
            child = task.child(f"from step {n_done}")
            block_end = min(n_done + BLOCK, limit, watch.next_look(n_done))
            for _ in range(block_end - n_done):
                action = (
                    act(observation, rng, mask) if masked else act(observation, rng)
                )
                outcome = step(action)
                try:
                    next_observation, reward, terminated, truncated, info = outcome
                except (TypeError, ValueError):
                    raise wrong_step(env, outcome) from None
                n_done += 1
                if type(reward) is not float or not -INFINITE < reward < INFINITE:
                    reward = as_reward(reward, n_done)
                next_observation = own_form(next_observation)
                total += reward
                length += 1
                truncated = truncated or (length == longest and not terminated)
                next_mask = info.get("action_mask")
                if learn or keep:
                    transition = Transition(
                        observation,
                        action,
                        reward,
                        next_observation,
                        terminated,
                        truncated,
                        mask,
                        next_mask,
                    )
                    if learn and update:
                        update(transition)
                    if keep:
                        seen.append(transition)
                observation = next_observation
                mask = next_mask
                if terminated or truncated:
                    returns.append(total)
                    lengths.append(length)
                    total, length = 0.0, 0
                    if len(returns) == n_episodes:
                        reason = "episodes"
                        break
                    if n_done < limit:
                        observation, mask = _begin_episode(env, own_form, begin)
            reason = (
                reason
                or ("callback" if watch.ends_run(agent, n_done) else "")
                or ("steps" if n_done == limit else "")
            )
            if child.end() and not reason:
                reason = "callback"
        stopped_at = EpisodePosition(observation, mask, total, length, not length)
    except KeyboardInterrupt:
        reason = "interrupted"
        stopped_at = None
    seconds = time.perf_counter() - start_time
    return Experience(
        np.array(returns, float), np.array(lengths, int), n_done, reason, seconds, seen,
        stopped_at,
    )  # fmt: skip

"""Many copies of one world at once, on arrays, as a Gymnasium vector environment.

The state of N worlds is one array of F rows and N columns, so that a compiled loop
walks along each row. A world that wants to be stepped in this way (`BatchedWorld`)
gives four things:

    new_state(n)                                    an empty state of n columns
    start_batch(state, stream, which)               a first state for some columns
    observe_batch(state, which, observation)        what is seen in some columns
    step_batch(state, action, stream, outcome, columns)   one step of some columns

Chance comes from one counter a column (`core/_random.py`), so that a run depends on the
seed and neither on the number of threads nor on what other columns do.

An episode that ends begins anew within the same step (`AutoresetMode.SAME_STEP`, the
last observation being in info["final_obs"]) or when `reset` is called with
options={"reset_mask": ...} (`DISABLED`).
"""

import itertools
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Protocol

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from ...core.loops import threads
from . import _vector as loops
from .pictures import draw_observation

COLUMNS_PER_THREAD = 8192  # fewer are not worth a second thread


class Outcome(NamedTuple):
    """Output arrays of a step of N worlds."""

    observation: np.ndarray  # (N, ...)
    reward: np.ndarray  # (N,)
    terminated: np.ndarray  # (N,)


class BatchedWorld(Protocol):
    """A world that `VectorWorld` can run; see the module text."""

    observation_space: Any
    action_space: Any
    max_steps: int  # after which an episode is cut off; 0: never

    def new_state(self, n): ...
    def start_batch(self, state, stream, which): ...
    def observe_batch(self, state, which, observation): ...
    def step_batch(self, state, action, stream, outcome, columns): ...


class VectorWorld(gymnasium.vector.VectorEnv):
    """N copies of a world, stepped together by compiled loops.

    Parameters
    ----------
    world : environment of `pansophy.rl.envs`
        What is copied: its size, limits and chances, not the state it is in.
    num_envs : int
        N. From 16384 on the columns are shared out to threads.
    autoreset_mode : AutoresetMode
        SAME_STEP or DISABLED; see the module text.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.rl.envs import CartPole, VectorWorld
    >>> envs = VectorWorld(CartPole(), 1000)
    >>> observation, info = envs.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = envs.step(np.ones(1000, int))
    >>> observation.shape, float(reward.sum())
    ((1000, 4), 1000.0)
    """

    def __init__(self, world, num_envs, *, autoreset_mode=AutoresetMode.SAME_STEP):
        if not num_envs >= 1:
            raise ValueError(f"num_envs must be at least 1, got {num_envs!r}.")
        if not hasattr(world, "step_batch"):
            raise TypeError(
                f"{type(world).__name__} has no step for arrays; use "
                "gymnasium.vector.SyncVectorEnv, or `gather` with a list of it."
            )
        if autoreset_mode not in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED):
            raise ValueError("autoreset_mode must be SAME_STEP or DISABLED.")
        self.world: BatchedWorld = world
        self.num_envs = int(num_envs)
        self.metadata = {"render_modes": [], "autoreset_mode": autoreset_mode}
        self.single_observation_space = world.observation_space
        self.single_action_space = world.action_space
        self.observation_space = batch_space(world.observation_space, self.num_envs)
        self.action_space = batch_space(world.action_space, self.num_envs)
        # asked here, not at every step
        spaces = gymnasium.spaces
        discrete = isinstance(world.action_space, spaces.Discrete)
        self.n_actions = world.action_space.n if discrete else None
        is_tuple = isinstance(world.observation_space, spaces.Tuple)
        self.observation_parts = len(world.observation_space.spaces) if is_tuple else 0
        self.state = world.new_state(self.num_envs)
        self.stream = np.zeros(self.num_envs, np.uint64)
        self.steps = np.zeros(self.num_envs, np.int64)
        self.started = False

    def reset(self, *, seed=None, options=None):
        """Begin new episodes, in all worlds or where options["reset_mask"]."""
        super().reset(seed=seed)
        mask = (options or {}).get("reset_mask")
        if mask is None:
            columns = np.arange(self.num_envs)
        elif np.shape(mask) == (self.num_envs,) and self.started:
            columns = np.flatnonzero(mask)
        else:
            raise ValueError(
                f"reset_mask must have shape ({self.num_envs},) and follow a reset of "
                "all worlds."
            )
        if seed is not None or not self.started:
            self.stream[:] = self.np_random.integers(
                2**64, size=self.num_envs, dtype=np.uint64
            )
        self.started = True
        self._start(columns)
        observation = self._new_observation()
        self.world.observe_batch(self.state, np.arange(self.num_envs), observation)
        return self._as_space(observation), self._info(observation)

    def step(self, actions):
        """One step of every world."""
        if not self.started:
            raise RuntimeError("call reset before step.")
        n = self.num_envs
        actions = self._check_actions(actions)
        outcome = Outcome(self._new_observation(), np.empty(n), np.empty(n, bool))
        truncated = np.empty(n, bool)

        def part(lo, hi):
            columns = (lo, hi)
            self.world.step_batch(self.state, actions, self.stream, outcome, columns)
            loops.count_steps(
                self.steps, outcome.terminated, truncated, self.world.max_steps, lo, hi
            )

        pieces = n // COLUMNS_PER_THREAD
        if pieces > 1:  # to count the threads takes as long as a thousand columns
            pieces = min(pieces, threads.usable_threads())
        if pieces <= 1:
            part(0, n)
        else:
            cuts = np.linspace(0, n, pieces + 1).astype(int).tolist()
            tasks = [
                lambda lo=lo, hi=hi: part(lo, hi) for lo, hi in itertools.pairwise(cuts)
            ]
            list(threads.run_tasks(tasks))
        observation, reward, terminated = outcome
        info = {}
        if self.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP:
            ended = terminated | truncated
            if np.count_nonzero(ended):
                columns = np.flatnonzero(ended)
                final = observation.copy()
                info["final_obs"] = self._as_space(final)
                info["_final_obs"] = ended
                info["final_info"] = self._info(final)
                self._start(columns)
                self.world.observe_batch(self.state, columns, observation)
        info |= self._info(observation)
        return self._as_space(observation), reward, terminated, truncated, info

    def _start(self, which):
        self.world.start_batch(self.state, self.stream, which)
        self.steps[which] = 0

    def _new_observation(self):
        """An empty array (N, ...); the parts of a Tuple are its columns."""
        if self.observation_parts:
            return np.empty((self.num_envs, self.observation_parts), np.int64)
        space = self.single_observation_space
        return np.empty((self.num_envs, *space.shape), space.dtype)

    def _as_space(self, observation):
        if self.observation_parts:
            return tuple(np.ascontiguousarray(observation.T))
        return observation

    def _info(self, observation) -> dict:
        masks = getattr(self.world, "action_masks", None)
        return {} if masks is None else {"action_mask": masks[observation]}

    def _check_actions(self, actions):
        space = self.single_action_space
        actions = np.ascontiguousarray(actions)
        if actions.shape != (self.num_envs, *space.shape):
            raise ValueError(
                f"actions must have shape {(self.num_envs, *space.shape)}, got "
                f"{actions.shape}."
            )
        if self.n_actions is not None:
            if actions.dtype.kind not in "iu":
                raise ValueError(f"actions must be integers, got {actions.dtype}.")
            actions = actions.astype(np.int64, copy=False)
            # negative ones are large as unsigned numbers
            if actions.view(np.uint64).max() >= self.n_actions:
                raise ValueError(f"actions must be 0 to {self.n_actions - 1}.")
            return actions
        return actions.astype(space.dtype, copy=False)


def checked_render_mode(env, mode):
    """A mode that the environment knows, or the clear error."""
    known = env.metadata["render_modes"]
    if mode is not None and mode not in known:
        raise ValueError(
            f"render_mode of {type(env).__name__} must be None or one of {known}, got "
            f"{mode!r}."
        )
    return mode


class SingleWorld(gymnasium.Env, ABC):
    """One world: the loops of `VectorWorld` on a single column.

    A world is a subclass that sets the spaces and gives the four functions of
    `BatchedWorld`; one that Gymnasium has too overrides `draw_start`, so that the same
    seed begins in the same state. With render_mode "rgb_array", `render` gives a
    picture of what was last seen.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}

    def __init__(self, observation_space, action_space, max_steps, render_mode=None):
        if not max_steps >= 0:
            raise ValueError(f"max_steps must be at least 0, got {max_steps!r}.")
        self.render_mode = checked_render_mode(self, render_mode)
        self.observation_space = observation_space
        self.action_space = action_space
        self.max_steps = int(max_steps)
        self.state = self.new_state(1)
        self.stream = np.zeros(1, np.uint64)
        self.steps = None
        self.seen: Any = None  # the last observation

    @abstractmethod
    def new_state(self, n) -> np.ndarray:
        """An empty state of n columns."""

    @abstractmethod
    def start_batch(self, state, stream, which) -> None:
        """A first state for some columns."""

    @abstractmethod
    def observe_batch(self, state, which, observation) -> None:
        """Observations of some columns."""

    @abstractmethod
    def step_batch(self, state, action, stream, outcome, columns) -> None:
        """One step of the columns from columns[0] to columns[1] - 1."""

    def draw_start(self) -> None:
        """The first state, drawn by the environment's generator."""
        self.stream[0] = self.np_random.integers(2**64, dtype=np.uint64)
        self.start_batch(self.state, self.stream, np.zeros(1, np.int64))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.draw_start()
        self.steps = 0
        observation = self._new_observation()
        self.observe_batch(self.state, np.zeros(1, np.int64), observation)
        self.seen = self._as_space(observation)
        return self.seen, {}

    def step(self, action):
        if self.steps is None:
            raise RuntimeError("call reset before step.")
        if not self.action_space.contains(action):
            raise ValueError(f"{action!r} is not in {self.action_space}.")
        outcome = Outcome(self._new_observation(), np.empty(1), np.empty(1, bool))
        action = np.asarray(action)[None]
        self.step_batch(self.state, action, self.stream, outcome, (0, 1))
        self.steps += 1
        terminated = bool(outcome.terminated[0])
        truncated = not terminated and self.steps == self.max_steps
        self.seen = self._as_space(outcome.observation)
        return self.seen, float(outcome.reward[0]), terminated, truncated, {}

    def render(self):
        """A picture (height, width, 3) in the mode "rgb_array", otherwise None."""
        return self.picture() if self.render_mode == "rgb_array" else None

    def picture(self) -> np.ndarray:
        """The world as an array of pixels, in any mode."""
        if self.steps is None:
            raise RuntimeError("call reset before render.")
        return draw_observation(type(self).__name__, self.seen)

    def _new_observation(self):
        space = self.observation_space
        if isinstance(space, gymnasium.spaces.Tuple):
            return np.empty((1, len(space.spaces)), np.int64)
        return np.empty((1, *space.shape), space.dtype)

    def _as_space(self, observation):
        space = self.observation_space
        if isinstance(space, gymnasium.spaces.Box):
            return observation[0]
        if isinstance(space, gymnasium.spaces.Tuple):
            return tuple(observation[0].tolist())
        return int(observation[0])

"""What an environment has to give, and the sentences said where it gives less.

`reset(seed=..., options=...)` returns (observation, info), and `step(action)` returns
(observation, reward, terminated, truncated, info), where the reward is one finite
number and the observation has the shape of its space.
"""

import math

import numpy as np

CHECKER = "pansophy.rl.envs.check_environment(env) lists what is wrong with it."
RESET_FORM = "reset(self, *, seed=None, options=None) that returns (observation, info)"
LARGEST = 1e30  # of a reward: nets compute in single precision


def reset_environment(env, seed=None) -> tuple:
    """First observation and info; the clear error if an environment resets otherwise.

    `options` are not passed, and `seed` only where there is one.
    """
    try:
        answer = env.reset() if seed is None else env.reset(seed=seed)
    except TypeError as error:
        if "'seed'" not in str(error):
            raise
        raise TypeError(
            f"{_name_of(env)} takes no seed: it needs a {RESET_FORM}. {CHECKER}"
        ) from None
    if not (isinstance(answer, tuple) and len(answer) == 2 and is_info(answer[1])):
        raise TypeError(
            f"reset of {_name_of(env)} does not return (observation, info): it needs a "
            f"{RESET_FORM}. {CHECKER}"
        )
    return answer


def is_info(value) -> bool:
    """Whether the second thing that `reset` returned is an info."""
    return hasattr(value, "get")


def wrong_step(env, outcome) -> TypeError:
    """The error about a step that does not return five things."""
    old = isinstance(outcome, tuple) and len(outcome) == 4
    got = f"{len(outcome)} things" if hasattr(outcome, "__len__") else repr(outcome)
    form = " (the form of Gym before 0.26)" if old else ""
    return TypeError(
        f"step of {_name_of(env)} returned {got}{form}, not (observation, reward, "
        f"terminated, truncated, info). {CHECKER}"
    )


def _name_of(env) -> str:
    """The name of an environment's class, without wrappers."""
    return type(getattr(env, "unwrapped", env)).__name__


def check_spaces_exist(env) -> None:
    """Raise if an environment does not say what is seen and done in it."""
    for name in ("observation_space", "action_space"):
        if getattr(env, name, None) is None:
            raise TypeError(
                f"{_name_of(env)} has no {name}: set it to one of gymnasium.spaces. "
                f"{CHECKER}"
            )


def check_vector_env(envs) -> None:
    """Raise if an object with `num_envs` is not a vector environment of Gymnasium."""
    if not hasattr(envs, "single_observation_space"):
        raise TypeError(
            f"{type(envs).__name__} is no vector environment of Gymnasium (it has no "
            "single_observation_space): give the environment itself, a function that "
            "makes one, or a gymnasium.vector.VectorEnv."
        )


def as_reward(reward, n) -> float:
    """The reward of step n as a number; the clear error if it is none."""
    if np.ndim(reward):
        raise ValueError(
            f"the reward of step {n} is an array of shape {np.shape(reward)}, not a "
            f"number. {CHECKER}"
        )
    try:
        number = float(reward)
    except (TypeError, ValueError):
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(
            f"the reward of step {n} is {reward}, no finite number. {CHECKER}"
        )
    return number


def check_gathered_rewards(reward, first, lengths) -> None:
    """Raise if a reward (T, N) is not finite, or too great for single precision.

    Where `first` (T, N), an episode begins; `lengths` (N,) are the steps before.
    """
    if np.abs(reward).max(initial=0.0) < LARGEST:  # False for NaN
        return
    t, i = np.argwhere(~(np.abs(reward) < LARGEST))[0]
    begun = np.flatnonzero(first[: t + 1, i])
    n = t - begun[-1] + 1 if len(begun) else lengths[i] + t + 1
    value = reward[t, i]
    if np.isfinite(value):
        raise ValueError(
            f"the reward of step {n} of an episode is {value:g}, too great for nets in "
            f"single precision: divide rewards. {CHECKER}"
        )
    raise ValueError(
        f"the reward of step {n} of an episode is {value}, no finite number. {CHECKER}"
    )


def check_gathered_observations(seen, done) -> None:
    """Raise if observations (T, N, ...) after `done` steps of a run are not finite."""
    if seen.dtype.kind != "f" or np.isfinite(seen).all():
        return
    t, i = np.argwhere(~np.isfinite(seen))[0][:2]
    n = done + t * seen.shape[1] + i
    raise ValueError(
        f"an observation of the environment, after step {n} of the run, holds NaN or "
        f"an infinite number. {CHECKER}"
    )


class CheckedSteps:
    """The `reset` and `step` of an environment, with the checks of the module text."""

    def __init__(self, env):
        check_spaces_exist(env)
        self.env = env
        space = env.observation_space
        self.shape = space.shape if type(space).__name__ == "Box" else None
        self.n = 0  # steps of the episode

    def reset(self, seed=None):
        self.n = 0
        observation, info = reset_environment(self.env, seed)
        self.check_shape(observation)
        return observation, info

    def step(self, action):
        outcome = self.env.step(action)
        try:
            observation, reward, terminated, truncated, info = outcome
        except (TypeError, ValueError):
            raise wrong_step(self.env, outcome) from None
        self.n += 1
        if type(reward) is not float or not -LARGEST < reward < LARGEST:
            reward = as_reward(reward, self.n)
        if self.shape is not None and np.shape(observation) != self.shape:
            self.check_shape(observation)
        return observation, reward, terminated, truncated, info

    def check_shape(self, observation):
        """Raise if an observation has not the shape of its space."""
        if self.shape is not None and np.shape(observation) != self.shape:
            raise ValueError(
                f"the observation after step {self.n} of an episode has the shape "
                f"{np.shape(observation)}, its space {self.shape}. {CHECKER}"
            )


def checked_environment(env):
    """An environment for Gymnasium's vector environments whose steps are checked."""
    import gymnasium

    class CheckedEnvironment(gymnasium.Env):
        """Forwards to the environment, through `CheckedSteps`."""

        def __init__(self, inner):
            self.env = inner
            self.checked = CheckedSteps(inner)
            for name in ("metadata", "render_mode", "spec"):
                setattr(self, name, getattr(inner, name, getattr(self, name)))
            self.observation_space = inner.observation_space
            self.action_space = inner.action_space
            self.step = self.checked.step

        @property
        def unwrapped(self):
            return getattr(self.env, "unwrapped", self.env)

        def reset(self, *, seed=None, options=None):
            return self.checked.reset(seed)

        def render(self):
            return self.env.render()

        def close(self):
            if hasattr(self.env, "close"):
                self.env.close()

    return CheckedEnvironment(env)

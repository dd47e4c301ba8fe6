"""Environment checker: what in an environment would mislead an agent.

Gymnasium's own checker asks whether the interface is kept. This one plays episodes with
random actions and looks for what breaks learning without an error: observations outside
their space, NaN, rewards that are not numbers, ends that are not flags, the same seed
giving different episodes, episodes that never end, masks that forbid everything, an
environment that ignores time limits, spaces of unbounded actions.
"""

from typing import NamedTuple

import numpy as np

from ...core.random import make_rng
from ..experience.environment_contract import RESET_FORM, is_info, wrong_step


class EnvironmentProblem(NamedTuple):
    """One finding of `check_environment`."""

    kind: str  # a short name, such as "observation outside its space"
    step: int  # at which step it was first seen; 0 at a reset
    detail: str

    def __str__(self):
        return f"{self.kind} (step {self.step}): {self.detail}"


def check_environment(env, *, n_steps=1000, random_state=0):
    """Plays an environment with random actions and lists what is wrong with it.

    Parameters
    ----------
    env : Gymnasium environment
        It is reset and stepped.
    n_steps : int
        Steps to play.
    random_state : int or Generator
        Seeds the actions.

    Returns
    -------
    list of EnvironmentProblem
        The first of each kind; empty if all is well.

    Examples
    --------
    >>> from pansophy.rl.envs import CartPole, check_environment
    >>> check_environment(CartPole())
    []
    """
    problems: dict[str, EnvironmentProblem] = {}

    def report(kind, step, detail):
        problems.setdefault(kind, EnvironmentProblem(kind, step, detail))

    _check_spaces(env, report)
    try:
        _compare_two_runs(env, n_steps, random_state, report)
    except BrokenContractError as fault:
        report(*fault.args)
    return list(problems.values())


class BrokenContractError(Exception):
    """The environment cannot be played on: kind, step and detail of the problem."""


def _compare_two_runs(env, n_steps, random_state, report):
    """Play twice with the same seeds; all problems, and where the runs differ."""
    seeds = make_rng(random_state).integers(2**31, size=2).tolist()
    first = _play_randomly(env, seeds, n_steps, report)
    second = _play_randomly(env, seeds, n_steps, lambda *_: None)
    for t, (entry, other_entry) in enumerate(zip(first, second, strict=False)):
        if not _equal_values(entry, other_entry):
            report(
                "same seed, different episode", t, f"{entry!r} and then {other_entry!r}"
            )
            break


def _check_spaces(env, report):
    """Spaces that agents cannot use."""
    for name in ("observation_space", "action_space"):
        if not hasattr(getattr(env, name, None), "contains"):
            raise TypeError(f"the environment has no {name}.")
    space = env.action_space
    low, high = getattr(space, "low", None), getattr(space, "high", None)
    if low is not None and not (np.isfinite(low).all() and np.isfinite(high).all()):
        report("unbounded actions", 0, f"{space} has infinite bounds")


def _play_randomly(env, seeds, n_steps, report) -> list:
    """Observations, rewards and ends of a run with random actions."""
    env.action_space.seed(seeds[1])
    observation, info = _try_reset(env, 0, report, seed=seeds[0])
    _check_seen(env, observation, 0, report)
    seen = [observation]
    ended = 0
    for t in range(1, n_steps + 1):
        mask = _check_mask(env, info, t, report)
        action = env.action_space.sample(mask)
        outcome = env.step(action)
        if not (isinstance(outcome, (tuple, list)) and len(outcome) == 5):
            raise BrokenContractError(
                "step does not return five things", t, str(wrong_step(env, outcome))
            )
        observation, reward, terminated, truncated, info = outcome
        seen += [observation, reward, terminated, truncated]
        _check_seen(env, observation, t, report)
        if not _is_finite_number(reward):
            report("reward is no finite number", t, repr(reward))
        for name, flag in (("terminated", terminated), ("truncated", truncated)):
            if not isinstance(flag, (bool, np.bool_)):
                report("end is no flag", t, f"{name} is a {type(flag).__name__}")
        if terminated or truncated:
            ended += 1
            observation, info = _try_reset(env, t, report)
            _check_seen(env, observation, t, report)
            seen.append(observation)
    if not ended and n_steps >= 1000:
        report(
            "no episode ended", n_steps, "set a limit with gymnasium.wrappers.TimeLimit"
        )
    return seen


def _try_reset(env, t, report, **options):
    """First observation and info, or the problem that there are none."""
    try:
        answer = env.reset(**options)
    except TypeError as error:
        if "'seed'" not in str(error):
            raise
        report("reset takes no seed", t, f"it needs a {RESET_FORM}")
        answer = env.reset()
    if not (isinstance(answer, tuple) and len(answer) == 2 and is_info(answer[1])):
        report("reset returns no info", t, f"it needs a {RESET_FORM}")
        return answer, {}
    return answer


def _is_finite_number(value) -> bool:
    """Whether a value is one finite number, not an array, text or None."""
    number = isinstance(value, (int, float, np.number, np.bool_))
    return number and bool(np.isfinite(float(value)))


def _check_seen(env, observation, t, report):
    """An observation must be in its space and finite."""
    if not env.observation_space.contains(observation):
        report("observation outside its space", t, repr(observation))
    values = observation if isinstance(observation, np.ndarray) else np.zeros(0)
    if np.issubdtype(values.dtype, np.floating) and not np.isfinite(values).all():
        report("observation is not finite", t, repr(observation))


def _check_mask(env, info, t, report):
    """The mask to draw actions with; None without one or with a useless one."""
    mask = info.get("action_mask")
    if mask is None:
        return None
    mask = np.asarray(mask)
    if mask.shape != (getattr(env.action_space, "n", -1),):
        report("mask does not fit the actions", t, f"its shape is {mask.shape}")
        return None
    if not mask.any():
        report("mask forbids every action", t, repr(mask))
        return None
    return mask.astype(np.int8)


def _equal_values(one, two) -> bool:
    """Whether two observations, rewards or flags are the same."""
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(
            _equal_values(one[key], two[key]) for key in one
        )
    if isinstance(one, tuple):
        return len(one) == len(two) and all(map(_equal_values, one, two))
    numbers = np.issubdtype(np.asarray(one).dtype, np.number)
    return np.array_equal(one, two, equal_nan=numbers)

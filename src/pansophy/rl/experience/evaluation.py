"""Judging agents: evaluation on seeds of its own, and statistics over runs.

`evaluate_agent` plays whole episodes, one for each seed, and neither learns nor draws
from a generator of the learner, so that a learner is the same before and after. Episode
i has the same seed for every agent: differences between agents are paired. Every
episode counts once, whatever its length.

A single run says little about a method: returns differ more between seeds than between
most methods. With scores s of m runs on each of k tasks,

    interquartile mean       the mean of the middle half of all m k scores       (1)
    performance profile      share of scores above tau, as a function of tau     (2)
    P(X > Y)                 mean over tasks of [x > y] + [x = y] / 2 over all
                             pairs of runs                                       (3)

(1) is less moved by outliers than the mean and needs fewer runs than the median. Their
intervals come from a bootstrap that draws runs anew within each task (stratified).

Shapes    scores (m,) or (m, k)
Refs      [Agarwal2021] (1)-(3); [Henderson2018] why
"""

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from ...core.random import draw_seed, make_rng
from ...params import OpenFraction, check_argument, check_count
from ..planning.transition_table import environment_of_name, time_limit
from .environment_copies import copy_environments
from .gather import begin_episodes, start_position, step_environments
from .rollout import rollout, takes_mask

LONGEST_EPISODE = 10_000  # where an environment states no limit


@dataclass(eq=False, repr=False)
class Evaluation:
    """Returns of an agent on episodes of their own.

    Attributes
    ----------
    returns, lengths : ndarray of shape (n_episodes,)
    """

    returns: np.ndarray
    lengths: np.ndarray

    @property
    def mean(self) -> float:
        return float(self.returns.mean())

    @property
    def standard_error(self) -> float:
        n = len(self.returns)
        return float(self.returns.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")

    def quantiles(self, levels=(0.05, 0.25, 0.5, 0.75, 0.95)) -> np.ndarray:
        """Quantiles of the returns."""
        return np.quantile(self.returns, levels)

    def __repr__(self):
        n = len(self.returns)
        error = f" +- {self.standard_error:.2g}" if n > 1 else ""
        low = self.returns.min()
        high = self.returns.max()
        return (
            f"mean return {self.mean:.4g}{error} of {n} episodes, from {low:.4g} to "
            f"{high:.4g}"
        )


def evaluate_agent(
    agent, env, n_episodes=100, *, max_episode_steps=None, random_state=0
) -> Evaluation:
    """Play episodes with an agent that does not learn.

    Parameters
    ----------
    agent : object with `act`
        A fitted agent is greedy; others act as they do.
    env : Env, world of `rl.envs`, or name of an environment
        Not the one that is being learnt in: its state would be disturbed. Worlds on
        compiled loops play all episodes at once.
    n_episodes : int
    max_episode_steps : int or None
        Steps after which an episode is cut off. None: the limit of the environment, or
        10 000 where it states none, with a warning if an episode was cut off there.
    random_state : int, Generator, RandomState or None
        The same number gives the same episodes to every agent.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from pansophy.rl import Policy, evaluate_agent
    >>> from pansophy.rl.envs import Corridor
    >>> evaluate_agent(Policy([1, 1, 1]), Corridor(3), n_episodes=5)
    mean return 1 +- 0 of 5 episodes, from 1 to 1
    """
    n_episodes = check_count("n_episodes", n_episodes)
    if hasattr(env, "num_envs"):
        raise TypeError(
            "evaluate_agent needs one environment, got a vector environment of "
            f"{env.num_envs}."
        )
    if max_episode_steps is not None:
        check_count("max_episode_steps", max_episode_steps)
    rng = make_rng(random_state)
    memory = copy.copy(getattr(agent, "memory_state_", None))
    try:
        world = _batched_world(env) if hasattr(agent, "act_batch") else None
        played = made_environment(env) if world is None else world
        longest = max_episode_steps or episode_limit(played)
        if world is not None:
            evaluation = _evaluate_batch(agent, world, n_episodes, rng, longest)
        else:
            seeds = [draw_seed(rng) for _ in range(n_episodes)]
            evaluation = _evaluate_one_by_one(agent, played, seeds, longest)
    finally:
        if hasattr(agent, "memory_state_"):
            agent.memory_state_ = memory
    if max_episode_steps is None and longest and (evaluation.lengths == longest).any():
        warnings.warn(
            f"{np.count_nonzero(evaluation.lengths == longest)} of {n_episodes} "
            f"episodes were cut off after {longest} steps: the environment has no time "
            "limit; "
            "give max_episode_steps.",
            stacklevel=2,
        )
    return evaluation


def _evaluate_one_by_one(agent, env, seeds, longest) -> Evaluation:
    """An episode for each seed."""
    runs = [
        rollout(
            env,
            agent,
            n_episodes=1,
            max_episode_steps=longest,
            learn=False,
            random_state=seed,
        )
        for seed in seeds
    ]
    join = lambda name: np.concatenate([getattr(run, name) for run in runs])
    return Evaluation(join("returns"), join("lengths"))


def episode_limit(env) -> int | None:
    """None if an environment states a time limit, otherwise one to play by."""
    inner = getattr(env, "unwrapped", env)
    spec = getattr(env, "spec", None)
    stated = getattr(inner, "max_steps", 0) or getattr(spec, "max_episode_steps", 0)
    if not stated and inner is not env:
        stated = time_limit(env)
    return None if stated else LONGEST_EPISODE


def made_environment(env):
    """An environment from its name, from a function that makes it, or as it is."""
    env = environment_of_name(env)
    return env if hasattr(env, "step") else env()


def _batched_world(env):
    """The world on compiled loops that an environment is or equals, or None."""
    from .compiled_worlds import compiled_world

    return compiled_world(env if isinstance(env, str) else environment_of_name(env))


def _evaluate_batch(agent, world, n_episodes, rng, longest=None) -> Evaluation:
    """The first episode of each of n worlds that are stepped together.

    Episodes of `longest` steps are cut off.
    """
    from ..envs import VectorWorld

    envs = VectorWorld(world, n_episodes)
    masked = takes_mask(agent.act_batch)
    position = start_position(envs, agent, rng)
    returns = np.zeros(n_episodes)
    lengths = np.zeros(n_episodes, np.int64)
    playing = np.ones(n_episodes, bool)
    while playing.any():
        arguments = (position.observation, rng, position.mask)
        action = agent.act_batch(*(arguments if masked else arguments[:2]))
        action = action[0] if isinstance(action, tuple) else action
        _, ending, position = step_environments(envs, "SAME_STEP", action, position)
        begin_episodes(agent, position)
        if longest and position.lengths.max() >= longest:
            late = playing & (position.lengths >= longest)
            returns[late] = position.returns[late]
            lengths[late] = position.lengths[late]
            playing &= ~late
        if ending is None:
            continue
        counted = playing[ending.env]  # later episodes of short ones do not count
        finished = ending.env[counted]
        returns[finished] = ending.returns[counted]
        lengths[finished] = ending.lengths[counted]
        playing[finished] = False
    return Evaluation(returns, lengths)


class ReturnCurve(NamedTuple):
    """Returns of evaluations along a run."""

    steps: np.ndarray  # (k,) steps of the run at each evaluation
    returns: np.ndarray  # (k, n_episodes)

    @property
    def mean(self) -> np.ndarray:
        return self.returns.mean(axis=1)

    @property
    def area(self) -> float:
        """Mean return along the run: how well, and how early."""
        if len(self.steps) < 2:
            return float(self.mean.mean())
        span = self.steps[-1] - self.steps[0]
        return float(np.trapezoid(self.mean, self.steps) / span)


def evaluate_every(
    agent,
    env,
    every,
    *,
    n_episodes=20,
    evaluation_env=None,
    stop_at=None,
    random_state=0,
) -> ReturnCurve:
    """Fit an agent and evaluate it along the way.

    The fit is the same, bit for bit, as without: evaluations have environments and
    generators of their own.

    Parameters
    ----------
    agent : estimator with `fit(env)`
        Fitted in place.
    env : Env, or name of an environment
    every : int
        Steps between evaluations; the first is of the agent before it learns.
    n_episodes : int
        Of each evaluation, the same seeds every time.
    evaluation_env : Env, name or None
        None copies `env`.
    stop_at : float or None
        Mean return of an evaluation that ends the fit. The last evaluation was then
        chosen for being good: judge the agent again on other seeds.
    random_state : int
        Of the evaluations.

    Returns
    -------
    ReturnCurve

    Examples
    --------
    >>> from pansophy.rl import QLearning, evaluate_every
    >>> from pansophy.rl.envs import Corridor
    >>> agent = QLearning(400, random_state=0)
    >>> curve = evaluate_every(agent, Corridor(2, max_steps=9), 200, n_episodes=2)
    >>> curve.steps, curve.mean[-1]
    (array([  0, 200, 400]), np.float64(1.0))
    """
    interval = check_count("every", every)
    other_env = _other_environment(env) if evaluation_env is None else evaluation_env
    if not isinstance(random_state, (int, np.integer)):
        random_state = draw_seed(make_rng(random_state))
    steps, returns = [], []

    def look(judged, n) -> bool:
        evaluation = evaluate_agent(
            judged, other_env, n_episodes, random_state=random_state
        )
        steps.append(n)
        returns.append(evaluation.returns)
        return stop_at is not None and evaluation.mean >= stop_at

    if not hasattr(agent, "_fit"):
        raise TypeError(
            f"evaluate_every cannot look into the fit of {type(agent).__name__}; it "
            "knows the neural agents, QLearning, TDControl, MonteCarloControl and "
            "LinearQ. Fit in parts yourself and call evaluate_agent after each."
        )

    def observe(learner, n) -> bool:
        judged = copy.copy(agent)
        judged._keep(learner)
        return look(judged, n)

    agent._fit(env, observe=observe, observe_every=interval)
    if steps[-1] != agent.n_iter_:
        look(agent, agent.n_iter_)
    return ReturnCurve(np.array(steps), np.array(returns))


def _other_environment(env):
    """What to evaluate in while an agent learns in an environment."""
    return copy_environments(env, 2)[1] if hasattr(env, "step") else env


# -- statistics over runs ----------------------------------------------------------


def _check_scores(scores) -> np.ndarray:
    """Finite scores as (runs, tasks)."""
    S = np.asarray(scores, float)
    S = S[:, None] if S.ndim == 1 else S
    if S.ndim != 2 or not S.size or not np.isfinite(S).all():
        raise ValueError(
            f"scores must be finite, of shape (runs,) or (runs, tasks), got {S.shape}."
        )
    return S


def interquartile_mean(scores) -> float:
    """Mean of the middle half of all scores, eq. (1).

    Examples
    --------
    >>> from pansophy.rl import interquartile_mean
    >>> interquartile_mean([0, 1, 2, 3, 4, 5, 6, 1000])
    3.5
    """
    return float(stats.trim_mean(_check_scores(scores), 0.25, axis=None))


class StatisticInterval(NamedTuple):
    """A statistic and a confidence interval of it."""

    value: float
    low: float
    high: float

    def __str__(self):
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


def stratified_bootstrap(
    statistic: Callable, *scores, n_resamples=2000, level=0.95, random_state=0
) -> StatisticInterval:
    """A percentile interval, runs being drawn anew within each task.

    Parameters
    ----------
    statistic : function of as many score arrays (runs, tasks) as are given
    scores : arrays of shape (runs,) or (runs, tasks)
        One for each method; their numbers of runs may differ.
    n_resamples : int
    level : float
    random_state : int, Generator, RandomState or None

    Examples
    --------
    >>> from pansophy.rl import interquartile_mean, stratified_bootstrap
    >>> found = stratified_bootstrap(interquartile_mean, range(20))
    >>> found.value, bool(found.low < 9.5 < found.high)
    (9.5, True)
    """
    if not scores:
        raise ValueError("scores are needed, of one method or of several.")
    check_count("n_resamples", n_resamples)
    check_argument("level", level, OpenFraction)
    checked = [_check_scores(S) for S in scores]
    rng = make_rng(random_state)
    values = np.empty(n_resamples)
    for b in range(n_resamples):
        drawn = [
            np.take_along_axis(S, rng.integers(0, len(S), S.shape), axis=0)
            for S in checked
        ]
        values[b] = statistic(*drawn)
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return StatisticInterval(float(statistic(*checked)), float(low), float(high))


def performance_profile(scores, thresholds) -> np.ndarray:
    """Share of scores above each threshold, eq. (2).

    Examples
    --------
    >>> from pansophy.rl import performance_profile
    >>> performance_profile([1.0, 2.0, 3.0, 4.0], [0.0, 2.5, 5.0])
    array([1. , 0.5, 0. ])
    """
    S = np.sort(_check_scores(scores).ravel())
    n_above = len(S) - np.searchsorted(S, np.asarray(thresholds, float), side="right")
    return n_above / len(S)


def probability_of_improvement(x, y) -> float:
    """Probability that a run of X beats a run of Y, ties counting half, eq. (3).

    Examples
    --------
    >>> from pansophy.rl import probability_of_improvement
    >>> probability_of_improvement([2, 3], [1, 2])
    0.875
    """
    X, Y = _check_scores(x), _check_scores(y)
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"both methods need the same tasks, got {X.shape[1]} and {Y.shape[1]}."
        )
    d = X[:, None] - Y[None]
    return float(((d > 0) + 0.5 * (d == 0)).mean(axis=(0, 1)).mean())

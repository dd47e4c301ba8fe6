"""Comparison of agents over seeds: all are evaluated on the same episodes.

Each agent is fitted once for each seed and evaluated along the way and at the end, on
episodes that no run has learnt in and that are the same for all. What is reported is of
all runs, none left out: interquartile means with stratified bootstrap intervals, the
probability that a run of one agent beats one of another, learning curves with bands.

A random agent is always among them: a method that does not beat it has learnt nothing.
The run that is kept is the best of the best agent; since it was chosen by its score, it
is scored again on fresh episodes.

Ctrl-C ends the comparison: it is then of the runs that had finished, or of the one that
was interrupted if none had.

Refs      [Agarwal2021]
"""

import time
import warnings
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.base import clone

from ...base import InterruptedFitWarning
from ...params import check_count
from ..deep.space_layouts import action_layout, check_action_mask
from .evaluation import (
    Evaluation,
    ReturnCurve,
    StatisticInterval,
    evaluate_agent,
    evaluate_every,
    interquartile_mean,
    made_environment,
    probability_of_improvement,
    stratified_bootstrap,
)

RANDOM = "random"


class RandomAgent:
    """Draws actions evenly; of forbidden ones none."""

    def __init__(self, space):
        self.space = space

    def act(self, observation, rng, mask=None):
        kind = type(self.space).__name__
        if kind == "Discrete" or mask is not None:
            return self._draw_allowed(rng, mask)
        self.space.seed(int(rng.integers(2**31)))
        return self.space.sample()

    def _draw_allowed(self, rng, mask):
        layout = action_layout(self.space, "a random agent")
        if mask is None:
            mask = np.ones(sum(layout.sizes), bool)
        mask = check_action_mask(np.asarray(mask)[None], layout, 1)[0]
        parts = np.split(mask, np.cumsum(layout.sizes)[:-1])
        allowed = [np.flatnonzero(part) for part in parts]
        chosen = np.array([[part[rng.integers(len(part))] for part in allowed]])
        action = layout.to_environment(chosen)[0]
        return int(action) if action.ndim == 0 else action


class AgentRun(NamedTuple):
    """One run of one agent."""

    agent: Any  # fitted
    curve: ReturnCurve
    score: float  # mean return at the end
    seconds: float


@dataclass(eq=False, repr=False)
class AgentComparison:
    """Result of `compare_agents`.

    Attributes
    ----------
    names : list of str
        Best first.
    scores : dict of arrays (n_seeds,)
        Mean return of each run at its end.
    intervals : dict of StatisticInterval
        Interquartile mean over runs.
    curves : dict of lists of ReturnCurve
    improvement : dict
        {(a, b): StatisticInterval} of the probability that a run of a beats one of b.
    seconds : dict of arrays (n_seeds,)
    best : str
        Name of the best agent.
    agent : fitted estimator
        Its best run.
    check : Evaluation
        Of that run, on fresh episodes.
    interrupted : bool
        Whether Ctrl-C came before the last run had finished.
    planning : Evaluation or None
        Of the best policy of the environment's known table, where `play` looked.
    """

    names: list[str]
    scores: dict[str, np.ndarray]
    intervals: dict[str, StatisticInterval]
    curves: dict[str, list[ReturnCurve]]
    improvement: dict[tuple[str, str], StatisticInterval]
    seconds: dict[str, np.ndarray]
    best: str
    agent: Any
    check: Evaluation
    interrupted: bool = False
    planning: Evaluation | None = None

    def __repr__(self):
        lines = [
            f"{name:<12} {self.intervals[name]}  ({len(self.scores[name])} runs, "
            f"{self.seconds[name].mean():.1f} s each)"
            for name in self.names
        ]
        return "\n".join(lines)


def compare_agents(
    agents, env, *, n_seeds=5, every=None, n_episodes=20, random_state=0, report=None,
    finished=None,
) -> AgentComparison:  # fmt: skip
    """Fit agents with several seeds and compare them on the same episodes.

    Parameters
    ----------
    agents : dict of str to estimators
        They are cloned; `random_state` is set.
    env : Env or name of an environment
    n_seeds : int
        Runs of each agent.
    every : int or None
        Steps between evaluations; None makes ten.
    n_episodes : int
        Of each evaluation; five times as many at the end.
    random_state : int
    report : function of a sentence, or None
        Told before each run.
    finished : object with `get(name, i)` and `put(name, i, run)`, or None
        Where finished runs are kept, and taken from instead of running them.

    Returns
    -------
    AgentComparison

    Examples
    --------
    >>> from pansophy.rl import QLearning, compare_agents
    >>> from pansophy.rl.envs import Corridor
    >>> agents = {"table": QLearning(2000)}
    >>> found = compare_agents(agents, Corridor(4, max_steps=9), n_seeds=2)
    >>> found.best, float(found.scores["table"].min())
    ('table', 1.0)
    """
    if not isinstance(agents, dict):
        raise TypeError(
            "agents must be a dict of name to agent, such as {'table': QLearning()}, "
            f"got {type(agents).__name__}."
        )
    check_count("n_seeds", n_seeds)
    if not agents or RANDOM in agents:
        raise ValueError(f"give at least one agent, and none called {RANDOM!r}.")
    evaluation = (every, n_episodes, random_state)
    runs, interrupted = _run_agents(agents, env, n_seeds, evaluation, report, finished)
    curves = {
        name: [run.curve for run in agent_runs] for name, agent_runs in runs.items()
    }
    scores = {
        name: np.array([run.score for run in agent_runs])
        for name, agent_runs in runs.items()
    }
    seconds = {
        n: np.array([run.seconds for run in agent_runs])
        for n, agent_runs in runs.items()
    }
    space = made_environment(env).action_space
    idle = evaluate_agent(
        RandomAgent(space), env, 5 * n_episodes, random_state=random_state
    )
    scores[RANDOM] = np.array([idle.mean])
    seconds[RANDOM] = np.zeros(1)
    intervals = {
        name: stratified_bootstrap(interquartile_mean, agent_scores, n_resamples=1000)
        for name, agent_scores in scores.items()
    }
    names = sorted(scores, key=lambda name: -intervals[name].value)
    best = max(runs, key=lambda name: intervals[name].value)
    improvement = {
        (a, b): stratified_bootstrap(
            probability_of_improvement, scores[a], scores[b], n_resamples=1000
        )
        for a in names
        for b in names
        if a != b
    }
    agent = runs[best][int(np.argmax(scores[best]))].agent
    fresh = evaluate_agent(
        agent, env, 5 * n_episodes, random_state=random_state + 10**6
    )
    return AgentComparison(
        names, scores, intervals, curves, improvement, seconds, best, agent, fresh,
        interrupted,
    )  # fmt: skip


def equal_agents_p_value(x, y) -> float:
    """Probability of so great a difference between runs of two agents that are equal.

    All ways to divide the runs between the two are compared by the probability of
    improvement. Three runs of each cannot give less than 0.1, four 0.029.

    Examples
    --------
    >>> from pansophy.rl.experience.agent_comparison import equal_agents_p_value
    >>> round(equal_agents_p_value([3.0, 4.0, 5.0], [0.0, 1.0, 2.0]), 3)
    0.1
    """
    if min(len(x), len(y)) < 2 or np.ptp(np.append(x, y)) == 0:
        return 1.0
    test = stats.permutation_test(
        (np.asarray(x, float), np.asarray(y, float)),
        probability_of_improvement,
        n_resamples=5000,
        rng=np.random.default_rng(0),
    )
    return float(test.pvalue)


def _run_agents(agents, env, n_seeds, evaluation, report, finished):
    """Runs of every agent by name, and whether Ctrl-C ended them.

    `evaluation` is (every, n_episodes, random_state).
    """
    runs: dict[str, list[AgentRun]] = defaultdict(list)
    for name, agent in agents.items():
        for i in range(n_seeds):
            run = None if finished is None else finished.get(name, i)
            if report is not None:
                kept = "" if run is None else ", which had finished"
                report(f"{name}: run {i + 1} of {n_seeds}{kept}")
            if run is None:
                run = _fit_one_run(agent, env, evaluation[2] + i, *evaluation)
                if getattr(run.agent, "interrupted_", False):
                    if not runs:
                        runs[name].append(run)
                    return dict(runs), True
                if finished is not None:
                    finished.put(name, i, run)
            runs[name].append(run)
    return dict(runs), False


def _fit_one_run(agent, env, seed, every, n_episodes, random_state) -> AgentRun:
    """Fit a clone, with its curve, its score at the end, and the seconds it took."""
    run = clone(agent).set_params(random_state=int(seed))
    start_time = time.perf_counter()
    with warnings.catch_warnings():  # the comparison tells it itself
        warnings.simplefilter("ignore", InterruptedFitWarning)
        curve = evaluate_every(
            run,
            env,
            every or max(run.n_steps // 10, 1),
            n_episodes=n_episodes,
            random_state=random_state + 10**5,
        )
    spent = time.perf_counter() - start_time
    final = evaluate_agent(run, env, 5 * n_episodes, random_state=random_state)
    return AgentRun(run, curve, float(final.mean), spent)

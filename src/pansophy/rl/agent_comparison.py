"""Comparison of agents over seeds: all are evaluated on the same episodes.

Each agent is fitted once for each seed and evaluated along the way and at the end, on
episodes that no run has learnt in and that are the same for all. What is reported is of
all runs, none left out: interquartile means with stratified bootstrap intervals, the
probability that a run of one agent beats one of another, learning curves with bands.

A random agent is always among them: a method that does not beat it has learnt nothing.
The run that is kept is the best of the best agent; since it was chosen by its score, it
is scored again on fresh episodes.

Refs      [Agarwal2021]
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..params import check_count
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
        if kind == "Discrete":
            allowed = np.arange(self.space.n) if mask is None else np.flatnonzero(mask)
            return int(self.space.start + allowed[rng.integers(len(allowed))])
        self.space.seed(int(rng.integers(2**31)))
        return self.space.sample()


@dataclass(eq=False, repr=False)
class AgentComparison:
    """What `compare_agents` found.

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

    def __repr__(self):
        lines = [
            f"{name:<12} {self.intervals[name]}  ({len(self.scores[name])} runs, "
            f"{self.seconds[name].mean():.1f} s each)"
            for name in self.names
        ]
        return "\n".join(lines)


def compare_agents(
    agents, env, *, n_seeds=5, every=None, n_episodes=20, random_state=0, report=None
) -> AgentComparison:
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
        Told after each run.

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
    check_count("n_seeds", n_seeds)
    if not agents or RANDOM in agents:
        raise ValueError(f"give at least one agent, and none called {RANDOM!r}.")
    scores, curves, seconds = {}, {}, {}
    fitted: dict[str, list] = {}
    for name, agent in agents.items():
        runs = [
            fit_one_run(agent, env, seed, every, n_episodes, random_state)
            for seed in seeds_of_runs(n_seeds, random_state, report, name)
        ]
        fitted[name], curves[name], score, spent = map(list, zip(*runs, strict=True))
        scores[name], seconds[name] = np.array(score), np.array(spent)
    space = made_environment(env).action_space
    idle = evaluate_agent(
        RandomAgent(space), env, 5 * n_episodes, random_state=random_state
    )
    scores[RANDOM] = np.array([idle.mean])
    seconds[RANDOM] = np.zeros(1)
    intervals = {
        name: stratified_bootstrap(interquartile_mean, found, n_resamples=1000)
        for name, found in scores.items()
    }
    names = sorted(scores, key=lambda name: -intervals[name].value)
    best = max(agents, key=lambda name: intervals[name].value)
    improvement = {
        (a, b): stratified_bootstrap(
            probability_of_improvement, scores[a], scores[b], n_resamples=1000
        )
        for a in names
        for b in names
        if a != b
    }
    agent = fitted[best][int(np.argmax(scores[best]))]
    fresh = evaluate_agent(
        agent, env, 5 * n_episodes, random_state=random_state + 10**6
    )
    return AgentComparison(
        names, scores, intervals, curves, improvement, seconds, best, agent, fresh
    )


def seeds_of_runs(n_seeds, random_state, report, name):
    """Seeds of the runs of one agent, told one by one."""
    for i in range(n_seeds):
        if report is not None:
            report(f"{name}: run {i + 1} of {n_seeds}")
        yield random_state + i


def fit_one_run(agent, env, seed, every, n_episodes, random_state):
    """A fitted clone, its curve, its score at the end, and the seconds it took."""
    run = clone(agent).set_params(random_state=int(seed))
    begun = time.perf_counter()
    curve = evaluate_every(
        run,
        env,
        every or max(run.n_steps // 10, 1),
        n_episodes=n_episodes,
        random_state=random_state + 10**5,
    )
    spent = time.perf_counter() - begun
    final = evaluate_agent(run, env, 5 * n_episodes, random_state=random_state)
    return run, curve, final.mean, spent

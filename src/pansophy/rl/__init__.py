"""Reinforcement learning: planning in known worlds, learning in unknown ones.

Environments speak Gymnasium (the extra `rl`, needed by `rl.envs` only); planning needs
nothing but arrays.
"""

import importlib

from .exploration import Boltzmann, EpsilonGreedy
from .mdp import (
    MDP,
    bellman_residual,
    discounted_return,
    evaluate_policy,
    greedy_path,
    greedy_policy,
    mdp,
    q_from_v,
    shift_rewards,
)
from .q_learning import Learner, QLearning
from .rollout import Experience, Policy, Transition, rollout
from .schedules import Schedule, Visits
from .tabular import Table, tabular
from .value_iteration import Values, policy_iteration, value_iteration

__all__ = [
    "MDP",
    "Boltzmann",
    "EpsilonGreedy",
    "Experience",
    "Learner",
    "Policy",
    "QLearning",
    "Schedule",
    "Table",
    "Transition",
    "Values",
    "Visits",
    "bellman_residual",
    "discounted_return",
    "envs",
    "evaluate_policy",
    "greedy_path",
    "greedy_policy",
    "mdp",
    "policy_iteration",
    "q_from_v",
    "rollout",
    "shift_rewards",
    "tabular",
    "value_iteration",
]


def __getattr__(name):
    if name == "envs":  # imports Gymnasium
        return importlib.import_module(".envs", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Reinforcement learning: planning in known worlds, learning in unknown ones.

Environments speak Gymnasium (the extra `rl`, needed by `rl.envs` only); planning needs
nothing but arrays.
"""

import importlib

from .exploration import Boltzmann, EpsilonGreedy
from .gather import Position, Steps, as_vector_env, gather
from .mdp import (
    MDP,
    as_mdp,
    bellman_residual,
    discounted_return,
    evaluate_policy,
    greedy_path,
    greedy_policy,
    q_from_v,
    shift_rewards,
)
from .q_learning import QLearner, QLearning
from .rollout import Experience, Policy, Transition, rollout
from .schedules import Schedule, VisitDecay
from .transition_table import TransitionTable, as_transition_table
from .value_iteration import MDPSolution, policy_iteration, value_iteration

__all__ = [
    "MDP",
    "Boltzmann",
    "EpsilonGreedy",
    "Experience",
    "QLearner",
    "Policy",
    "Position",
    "QLearning",
    "Schedule",
    "Steps",
    "TransitionTable",
    "Transition",
    "MDPSolution",
    "VisitDecay",
    "as_vector_env",
    "bellman_residual",
    "discounted_return",
    "envs",
    "evaluate_policy",
    "gather",
    "greedy_path",
    "greedy_policy",
    "as_mdp",
    "policy_iteration",
    "q_from_v",
    "rollout",
    "shift_rewards",
    "as_transition_table",
    "value_iteration",
]


def __getattr__(name):
    if name == "envs":  # imports Gymnasium
        return importlib.import_module(".envs", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Reinforcement learning: planning in known worlds, learning in unknown ones.

Environments speak Gymnasium (the extra `rl`, needed by `rl.envs` only); planning needs
nothing but arrays.
"""

import importlib

from .average_reward import AverageRewardSolution, average_reward, policy_gain
from .compare_policies import PolicyComparison, compare_policies, enumerate_policies
from .exploration import Boltzmann, EpsilonGreedy
from .finite_horizon import FiniteHorizonSolution, TimedPolicy, finite_horizon
from .gather import Position, Steps, as_vector_env, gather
from .linear_programming import linear_programming
from .mdp import (
    MDP,
    as_mdp,
    bellman_residual,
    discounted_return,
    evaluate_policy,
    greedy_path,
    greedy_policy,
    mdp_from_function,
    q_from_v,
    shift_rewards,
)
from .prioritized_sweeping import prioritized_sweeping
from .q_learning import QLearner, QLearning
from .rollout import Experience, Policy, Transition, rollout
from .schedules import Schedule, VisitDecay
from .transition_table import TransitionTable, as_transition_table
from .value_iteration import (
    MDPSolution,
    modified_policy_iteration,
    policy_iteration,
    value_iteration,
)

__all__ = [
    "MDP",
    "AverageRewardSolution",
    "Boltzmann",
    "EpsilonGreedy",
    "Experience",
    "FiniteHorizonSolution",
    "MDPSolution",
    "Policy",
    "PolicyComparison",
    "Position",
    "QLearner",
    "QLearning",
    "Schedule",
    "Steps",
    "TimedPolicy",
    "Transition",
    "TransitionTable",
    "VisitDecay",
    "as_mdp",
    "as_transition_table",
    "as_vector_env",
    "average_reward",
    "bellman_residual",
    "compare_policies",
    "discounted_return",
    "enumerate_policies",
    "envs",
    "evaluate_policy",
    "finite_horizon",
    "gather",
    "greedy_path",
    "greedy_policy",
    "linear_programming",
    "mdp_from_function",
    "modified_policy_iteration",
    "policy_gain",
    "policy_iteration",
    "prioritized_sweeping",
    "q_from_v",
    "rollout",
    "shift_rewards",
    "value_iteration",
]


def __getattr__(name):
    if name == "envs":  # imports Gymnasium
        return importlib.import_module(".envs", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Reinforcement learning: planning in known worlds, learning in unknown ones.

Environments speak Gymnasium (the extra `rl`, needed by `rl.envs` only); planning needs
nothing but arrays.
"""

import importlib

from .evaluation import (
    Evaluation,
    LearningCurve,
    StatisticInterval,
    evaluate,
    evaluate_every,
    interquartile_mean,
    performance_profile,
    probability_of_improvement,
    stratified_bootstrap,
)
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
from .returns import generalized_advantages, n_step_returns
from .rollout import Experience, Policy, Transition, rollout
from .schedules import Schedule, VisitDecay
from .transition_table import TransitionTable, as_transition_table
from .value_iteration import MDPSolution, policy_iteration, value_iteration

__all__ = [
    "A2C",
    "DQN",
    "PPO",
    "REINFORCE",
    "SAC",
    "TD3",
    "MDP",
    "Boltzmann",
    "EpsilonGreedy",
    "Evaluation",
    "Experience",
    "LearningCurve",
    "QLearner",
    "Policy",
    "Position",
    "QLearning",
    "Schedule",
    "StatisticInterval",
    "Steps",
    "TransitionTable",
    "Transition",
    "MDPSolution",
    "VisitDecay",
    "as_vector_env",
    "bellman_residual",
    "discounted_return",
    "envs",
    "evaluate",
    "evaluate_every",
    "evaluate_policy",
    "gather",
    "generalized_advantages",
    "greedy_path",
    "greedy_policy",
    "interquartile_mean",
    "as_mdp",
    "n_step_returns",
    "performance_profile",
    "policy_iteration",
    "probability_of_improvement",
    "q_from_v",
    "rollout",
    "shift_rewards",
    "stratified_bootstrap",
    "as_transition_table",
    "value_iteration",
]


# modules that import torch or Gymnasium, by the names they offer
LAZY = {
    "A2C": "a2c",
    "DQN": "dqn",
    "PPO": "ppo",
    "REINFORCE": "reinforce",
    "SAC": "sac",
    "TD3": "td3",
    "envs": "envs",
}


def __getattr__(name):
    if name not in LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f".{LAZY[name]}", __name__)
    return module if name == "envs" else getattr(module, name)


def __dir__():
    return sorted({*globals(), *LAZY})

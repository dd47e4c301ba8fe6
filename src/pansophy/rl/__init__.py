"""Reinforcement learning: planning in known worlds, learning in unknown ones.

Environments speak Gymnasium (the extra `rl`, needed by `rl.envs` only); planning needs
nothing but arrays.
"""

import importlib
import importlib.util
import sys

from .average_reward import AverageRewardSolution, average_reward, policy_gain
from .bandits import (
    EXP3,
    KLUCB,
    UCB1,
    Bandit,
    BanditLearner,
    BanditRun,
    BayesUCB,
    BestArm,
    Pull,
    ThompsonSampling,
    exp3_bound,
    find_best_arm,
    lai_robbins_bound,
    play_bandit,
    running_mean,
    ucb1_bound,
)
from .batch_q import LSPI, FittedQ
from .belief_value_iteration import (
    BeliefSolution,
    belief_value_iteration,
    finite_horizon_vectors,
)
from .compare_policies import PolicyComparison, compare_policies, enumerate_policies
from .contextual_bandits import ContextualBandit, LinUCB
from .exploration import Boltzmann, EpsilonGreedy
from .features import Fourier, LinearFeatures, OneHotFeatures, TileCoding
from .finite_horizon import FiniteHorizonSolution, TimedPolicy, finite_horizon
from .gather import Position, Steps, as_vector_env, gather
from .history_policy import HistoryPolicy
from .linear_programming import linear_programming
from .linear_q import LinearQ, LinearQLearner
from .linear_value import LinearValue
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
from .monte_carlo_control import MonteCarloControl, MonteCarloLearner
from .off_policy_evaluation import (
    BanditLog,
    OffPolicyEstimate,
    cross_fitted_rewards,
    evaluate_off_policy,
)
from .point_based import PointBasedSolution, point_based_value_iteration
from .pomcp import POMCP, TreeSearchResult
from .pomdp import (
    POMDP,
    AlphaVectors,
    BeliefAgent,
    as_pomdp,
    belief_update,
    observation_probabilities,
    tiger_problem,
)
from .prediction import ValueEstimate, monte_carlo_values, td_values
from .prioritized_sweeping import prioritized_sweeping
from .q_learning import QLearner, QLearning
from .qmdp import fast_informed_bound, qmdp
from .rollout import Experience, Policy, Transition, rollout
from .schedules import Schedule, VisitDecay
from .solve_pomdp import solve_pomdp
from .td_control import TDControl, TDLearner
from .transition_table import TransitionTable, as_transition_table
from .value_iteration import (
    MDPSolution,
    modified_policy_iteration,
    policy_iteration,
    q_iteration,
    value_iteration,
)

__all__ = [
    "AlphaVectors",
    "AverageRewardSolution",
    "Bandit",
    "BanditLearner",
    "BanditLog",
    "BanditRun",
    "BayesUCB",
    "BeliefAgent",
    "BeliefSolution",
    "BestArm",
    "Boltzmann",
    "ContextualBandit",
    "EXP3",
    "EpsilonGreedy",
    "Experience",
    "FiniteHorizonSolution",
    "FittedQ",
    "Fourier",
    "HistoryPolicy",
    "KLUCB",
    "LSPI",
    "LinUCB",
    "LinearFeatures",
    "LinearQ",
    "LinearQLearner",
    "LinearValue",
    "MDP",
    "MDPSolution",
    "MonteCarloControl",
    "MonteCarloLearner",
    "OffPolicyEstimate",
    "OneHotFeatures",
    "POMCP",
    "POMDP",
    "PointBasedSolution",
    "Policy",
    "PolicyComparison",
    "Position",
    "Pull",
    "QLearner",
    "QLearning",
    "Schedule",
    "TreeSearchResult",
    "Steps",
    "TDControl",
    "TDLearner",
    "ThompsonSampling",
    "TileCoding",
    "TimedPolicy",
    "Transition",
    "TransitionTable",
    "UCB1",
    "ValueEstimate",
    "VisitDecay",
    "as_mdp",
    "as_pomdp",
    "as_transition_table",
    "as_vector_env",
    "average_reward",
    "belief_update",
    "belief_value_iteration",
    "bellman_residual",
    "compare_policies",
    "cross_fitted_rewards",
    "discounted_return",
    "enumerate_policies",
    "evaluate_off_policy",
    "evaluate_policy",
    "exp3_bound",
    "fast_informed_bound",
    "find_best_arm",
    "finite_horizon",
    "finite_horizon_vectors",
    "gather",
    "greedy_path",
    "greedy_policy",
    "lai_robbins_bound",
    "linear_programming",
    "mdp_from_function",
    "modified_policy_iteration",
    "monte_carlo_values",
    "observation_probabilities",
    "play_bandit",
    "point_based_value_iteration",
    "policy_gain",
    "policy_iteration",
    "prioritized_sweeping",
    "q_from_v",
    "q_iteration",
    "qmdp",
    "rollout",
    "running_mean",
    "shift_rewards",
    "solve_pomdp",
    "td_values",
    "tiger_problem",
    "ucb1_bound",
    "value_iteration",
]

# names whose modules import torch or Gymnasium, or are needed by those who train
LAZY = {
    "A2C": "a2c",
    "DQN": "dqn",
    "Evaluation": "evaluation",
    "ReturnCurve": "evaluation",
    "PPO": "ppo",
    "REINFORCE": "reinforce",
    "ReplayBuffer": "replay",
    "SAC": "sac",
    "TD3": "td3",
    "compare_agents": "agent_comparison",
    "envs": "envs",
    "evaluate_agent": "evaluation",
    "evaluate_every": "evaluation",
    "generalized_advantages": "returns",
    "interquartile_mean": "evaluation",
    "n_step_returns": "returns",
    "performance_profile": "evaluation",
    "probability_of_improvement": "evaluation",
    "stratified_bootstrap": "evaluation",
}
__all__ += list(LAZY)


NEEDS = {
    "torch": {"A2C", "DQN", "PPO", "REINFORCE", "SAC", "TD3"},
    "gymnasium": {"envs"},
}
EXTRAS = {"torch": "deep", "gymnasium": "rl"}  # that install a package


def __getattr__(name):
    if name not in LAZY:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}",
            name=name,
            obj=sys.modules[__name__],
        )
    try:
        module = importlib.import_module(f".{LAZY[name]}", __name__)
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        raise ImportError(
            f"{name} needs {error.name}, which is not installed: pip install "
            f"'pansophy[{EXTRAS[error.name]}]'."
        ) from error
    return module if name == LAZY[name] == "envs" else getattr(module, name)


def __dir__():
    names = {*globals(), *LAZY}
    for package, own in NEEDS.items():
        if importlib.util.find_spec(package) is None:
            names -= own
    return sorted(names)

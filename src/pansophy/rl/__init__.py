"""Reinforcement learning: planning in known worlds, learning in unknown ones.

Environments speak Gymnasium (the extra `rl`, needed by `rl.envs` only); planning needs
nothing but arrays.

Rooms

    planning    planning in known worlds: Markov decision processes and their solvers
    pomdp       worlds that are seen in part: beliefs, exact and point-based solvers,
                tree search
    bandits     bandits: arms without states, with contexts, and from logs of another
                policy
    tabular     learning with tables and linear functions: Q-learning, SARSA, Monte
                Carlo, prediction
    deep        neural agents: policy gradients (PPO, A2C, REINFORCE) and values (DQN,
                SAC, TD3)
    experience  steps in environments: how they are collected, valued and judged
"""

from ..core.lazy_names import lazy_names
from .bandits.bandits import (
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
from .bandits.contextual_bandits import ContextualBandit, LinUCB
from .bandits.off_policy_evaluation import (
    BanditLog,
    OffPolicyEstimate,
    cross_fitted_rewards,
    evaluate_off_policy,
)
from .experience.gather import Position, Steps, as_vector_env, gather
from .experience.rollout import Experience, Policy, Transition, rollout
from .planning.average_reward import AverageRewardSolution, average_reward, policy_gain
from .planning.compare_policies import (
    PolicyComparison,
    compare_policies,
    enumerate_policies,
)
from .planning.finite_horizon import FiniteHorizonSolution, TimedPolicy, finite_horizon
from .planning.linear_programming import linear_programming
from .planning.mdp import (
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
from .planning.prioritized_sweeping import prioritized_sweeping
from .planning.transition_table import TransitionTable, as_transition_table
from .planning.value_iteration import (
    MDPSolution,
    modified_policy_iteration,
    policy_iteration,
    q_iteration,
    value_iteration,
)
from .pomdp.belief_value_iteration import (
    BeliefSolution,
    belief_value_iteration,
    finite_horizon_vectors,
)
from .pomdp.history_policy import HistoryPolicy
from .pomdp.point_based import PointBasedSolution, point_based_value_iteration
from .pomdp.pomcp import POMCP, TreeSearchResult
from .pomdp.pomdp import (
    POMDP,
    AlphaVectors,
    BeliefAgent,
    as_pomdp,
    belief_update,
    observation_probabilities,
    tiger_problem,
)
from .pomdp.qmdp import fast_informed_bound, qmdp
from .pomdp.solve_pomdp import solve_pomdp
from .tabular.batch_q import LSPI, FittedQ
from .tabular.exploration import Boltzmann, EpsilonGreedy
from .tabular.features import Fourier, LinearFeatures, OneHotFeatures, TileCoding
from .tabular.linear_q import LinearQ, LinearQLearner
from .tabular.linear_value import LinearValue
from .tabular.monte_carlo_control import MonteCarloControl, MonteCarloLearner
from .tabular.prediction import ValueEstimate, monte_carlo_values, td_values
from .tabular.q_learning import QLearner, QLearning
from .tabular.schedules import Schedule, VisitDecay
from .tabular.td_control import TDControl, TDLearner

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
HOMES = {
    ".deep.a2c": "A2C",
    ".deep.dqn": "DQN",
    ".deep.ppo": "PPO",
    ".deep.reinforce": "REINFORCE",
    ".deep.replay": "ReplayBuffer",
    ".deep.sac": "SAC",
    ".deep.td3": "TD3",
    ".envs": "envs",
    ".experience.agent_comparison": "compare_agents",
    ".experience.evaluation": """Evaluation ReturnCurve evaluate_agent evaluate_every
        interquartile_mean performance_profile probability_of_improvement
        stratified_bootstrap""",
    ".experience.returns": "generalized_advantages n_step_returns",
}
NEEDS = {"torch": "A2C DQN PPO REINFORCE SAC TD3", "gymnasium": "envs"}

lazy, __getattr__, __dir__ = lazy_names(__name__, HOMES, NEEDS)
__all__ += lazy

"""State-space models: hidden Markov models, Kalman and particle filters, chains."""

from .autoregressive import AutoRegressive
from .autoregressive_hmm import AutoregressiveHMM
from .categorical_hmm import CategoricalHMM
from .dynamic_system import DynamicSystem
from .forced_alignment import Alignment, forced_align
from .gaussian_hmm import GaussianHMM
from .gmm_hmm import GMMHMM
from .hmm_inference import (
    backward_messages,
    enumerate_paths,
    forward_messages,
    k_best_paths,
)
from .kalman_filter import KalmanFilter
from .lti import StateSpace, companion_system, discretize, mass_spring_damper, poles
from .markov_chain import MarkovChain, MarkovTest, choose_order
from .mixed_hmm import MixedHMM
from .multinomial_hmm import MultinomialHMM
from .nonlinear_kalman import ExtendedKalmanFilter, UnscentedKalmanFilter
from .particle_filter import ParticleFilter
from .poisson_hmm import PoissonHMM
from .state_selection import StateChoice, choose_states
from .structural_time_series import StructuralTimeSeries
from .switching_kalman_filter import SwitchingKalmanFilter
from .transition_matrix import (
    CommunicatingClasses,
    absorption_probabilities,
    communicating_classes,
    distance_to_stationary,
    hitting_times,
    is_reversible,
    mixing_time,
    n_step_transitions,
    second_eigenvalue,
    stationary_distribution,
    time_reversal,
)

__all__ = [
    "Alignment",
    "AutoRegressive",
    "AutoregressiveHMM",
    "CategoricalHMM",
    "CommunicatingClasses",
    "DynamicSystem",
    "ExtendedKalmanFilter",
    "GMMHMM",
    "GaussianHMM",
    "KalmanFilter",
    "MarkovChain",
    "MarkovTest",
    "MixedHMM",
    "MultinomialHMM",
    "ParticleFilter",
    "PoissonHMM",
    "StateChoice",
    "StateSpace",
    "StructuralTimeSeries",
    "SwitchingKalmanFilter",
    "UnscentedKalmanFilter",
    "absorption_probabilities",
    "backward_messages",
    "choose_order",
    "choose_states",
    "communicating_classes",
    "companion_system",
    "distance_to_stationary",
    "discretize",
    "enumerate_paths",
    "forced_align",
    "forward_messages",
    "hitting_times",
    "is_reversible",
    "k_best_paths",
    "mass_spring_damper",
    "mixing_time",
    "n_step_transitions",
    "poles",
    "time_reversal",
    "second_eigenvalue",
    "stationary_distribution",
]

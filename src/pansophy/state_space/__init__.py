"""State-space models: hidden Markov models, Kalman and particle filters, chains.

Rooms

    hidden_markov  chains of hidden states: Markov chains and hidden Markov models
    kalman         hidden vectors: Kalman filters, linear and not, switching,
                   structural, particles
"""

from .autoregressive import AutoRegressive
from .dynamic_system import DynamicSystem
from .hidden_markov.autoregressive_hmm import AutoregressiveHMM
from .hidden_markov.categorical_hmm import CategoricalHMM
from .hidden_markov.forced_alignment import Alignment, forced_align
from .hidden_markov.gaussian_hmm import GaussianHMM
from .hidden_markov.gmm_hmm import GMMHMM
from .hidden_markov.hmm_inference import (
    backward_messages,
    enumerate_paths,
    forward_messages,
    k_best_paths,
)
from .hidden_markov.markov_chain import MarkovChain, MarkovTest, choose_order
from .hidden_markov.mixed_hmm import MixedHMM
from .hidden_markov.multinomial_hmm import MultinomialHMM
from .hidden_markov.poisson_hmm import PoissonHMM
from .hidden_markov.state_selection import StateChoice, choose_states
from .hidden_markov.transition_matrix import (
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
from .kalman.kalman_filter import KalmanFilter
from .kalman.nonlinear_kalman import ExtendedKalmanFilter, UnscentedKalmanFilter
from .kalman.particle_filter import ParticleFilter
from .kalman.structural_time_series import StructuralTimeSeries
from .kalman.switching_kalman_filter import SwitchingKalmanFilter
from .lti import StateSpace, companion_system, discretize, mass_spring_damper, poles

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

"""Models of hidden states that change over time."""

from .alignment import Alignment, forced_align
from .autoregressive import AutoRegressive
from .autoregressive_hmm import AutoregressiveHMM
from .categorical_hmm import CategoricalHMM
from .chains import (
    Classes,
    absorption,
    classify,
    convergence,
    hitting_times,
    is_reversible,
    mixing_time,
    n_step,
    reverse,
    second_eigenvalue,
    stationary,
)
from .choice import StateChoice, choose_states
from .decoding import backward, enumerate_paths, forward, k_best
from .dynamic_system import DynamicSystem
from .gaussian_hmm import GaussianHMM
from .gmm_hmm import GMMHMM
from .kalman import KalmanFilter
from .lti import StateSpace, companion, discretize, mass_spring_damper, poles
from .markov_chain import MarkovChain, MarkovTest, choose_order
from .mixed_hmm import MixedHMM
from .multinomial_hmm import MultinomialHMM
from .nonlinear import ExtendedKalmanFilter, UnscentedKalmanFilter
from .particle import ParticleFilter
from .poisson_hmm import PoissonHMM
from .structural import StructuralTimeSeries
from .switching_kalman import SwitchingKalmanFilter

__all__ = [
    "Alignment",
    "AutoRegressive",
    "AutoregressiveHMM",
    "CategoricalHMM",
    "Classes",
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
    "absorption",
    "backward",
    "choose_order",
    "choose_states",
    "classify",
    "companion",
    "convergence",
    "discretize",
    "enumerate_paths",
    "forced_align",
    "forward",
    "hitting_times",
    "is_reversible",
    "k_best",
    "mass_spring_damper",
    "mixing_time",
    "n_step",
    "poles",
    "reverse",
    "second_eigenvalue",
    "stationary",
]

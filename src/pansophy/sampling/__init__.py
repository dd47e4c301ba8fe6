"""Markov chains and what they tell: samplers, their driver, diagnostics."""

from .advi import ADVI
from .ancestral_sampling import ancestral
from .densities import (
    banana,
    eight_schools,
    funnel,
    linear_density,
    logistic_density,
    normal_density,
)
from .diagnostics import (
    bfmi,
    diagnose,
    ess_bulk,
    ess_mean,
    ess_tail,
    mcse_mean,
    mcse_sd,
    r_hat,
)
from .draws import Draws
from .driver import sample
from .evidence_bound import elbo, likelihood_gain
from .gibbs import ErgodicityWarning, Gibbs
from .hmc import HMC, leapfrog
from .importance_sampling import importance, pareto_smooth
from .integration import monte_carlo
from .inverse import inverse_transform
from .langevin import MALA, Langevin, StochasticLangevin
from .laplace_approximation import laplace
from .mean_field import MeanField, Updates
from .metropolis import Metropolis
from .nested import NestedSampling
from .nuts import NUTS
from .proposals import Independent, RandomWalk
from .rejection_sampling import EnvelopeError, rejection
from .resampling import resample
from .slice_sampler import Slice
from .smc import SMC
from .tangent_rejection import adaptive_rejection
from .targets import gradient_error, target
from .tempering import ParallelTempering
from .transforms import interval, positive, real, simplex, transformed

__all__ = [
    "transformed",
    "simplex",
    "real",
    "positive",
    "interval",
    "bfmi",
    "ParallelTempering",
    "Slice",
    "StochasticLangevin",
    "Langevin",
    "MALA",
    "target",
    "normal_density",
    "logistic_density",
    "linear_density",
    "leapfrog",
    "gradient_error",
    "funnel",
    "eight_schools",
    "banana",
    "NUTS",
    "HMC",
    "Draws",
    "Independent",
    "Metropolis",
    "RandomWalk",
    "diagnose",
    "ess_bulk",
    "ess_mean",
    "ess_tail",
    "mcse_mean",
    "mcse_sd",
    "r_hat",
    "ADVI",
    "adaptive_rejection",
    "ancestral",
    "elbo",
    "likelihood_gain",
    "ErgodicityWarning",
    "Gibbs",
    "importance",
    "pareto_smooth",
    "inverse_transform",
    "laplace",
    "MeanField",
    "Updates",
    "monte_carlo",
    "NestedSampling",
    "EnvelopeError",
    "rejection",
    "SMC",
    "resample",
    "sample",
]

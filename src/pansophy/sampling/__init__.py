"""Monte Carlo and variational inference: samplers, their driver, diagnostics."""

from .adaptive_rejection_sampling import adaptive_rejection
from .advi import ADVI
from .ancestral_sampling import ancestral_sample
from .compiled_densities import (
    banana_density,
    eight_schools_density,
    funnel_density,
    linear_density,
    logistic_density,
    normal_density,
)
from .constrained_parameters import (
    interval,
    positive,
    real,
    simplex,
    unconstrained_density,
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
from .evidence_lower_bound import elbo, likelihood_gain
from .gibbs import ErgodicityWarning, Gibbs
from .hmc import HMC, leapfrog
from .importance_sampling import importance_sample, pareto_smooth
from .inverse_transform_sampling import inverse_transform
from .langevin import MALA, Langevin, StochasticLangevin
from .laplace_approximation import laplace_approximate
from .mean_field import MeanField, MeanFieldModel
from .metropolis import IndependenceProposal, Metropolis, RandomWalk
from .monte_carlo_integration import monte_carlo
from .nested_sampling import NestedSampling
from .nuts import NUTS
from .parallel_tempering import ParallelTempering
from .rejection_sampling import EnvelopeError, rejection_sample
from .resampling import resample
from .slice_sampler import SliceSampler
from .smc import SMC
from .target_density import as_target_density, gradient_error

__all__ = [
    "unconstrained_density",
    "simplex",
    "real",
    "positive",
    "interval",
    "bfmi",
    "ParallelTempering",
    "SliceSampler",
    "StochasticLangevin",
    "Langevin",
    "MALA",
    "as_target_density",
    "normal_density",
    "logistic_density",
    "linear_density",
    "leapfrog",
    "gradient_error",
    "funnel_density",
    "eight_schools_density",
    "banana_density",
    "NUTS",
    "HMC",
    "Draws",
    "IndependenceProposal",
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
    "ancestral_sample",
    "elbo",
    "likelihood_gain",
    "ErgodicityWarning",
    "Gibbs",
    "importance_sample",
    "pareto_smooth",
    "inverse_transform",
    "laplace_approximate",
    "MeanField",
    "MeanFieldModel",
    "monte_carlo",
    "NestedSampling",
    "EnvelopeError",
    "rejection_sample",
    "SMC",
    "resample",
    "sample",
]

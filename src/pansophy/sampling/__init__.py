"""Monte Carlo and variational inference: samplers, their driver, diagnostics.

Rooms

    densities       densities to sample from: written by users, compiled, transformed,
                    conjugate
    chains          Markov chains: their driver, the samplers, diagnostics
    direct          independent draws: inversion, rejection, importance, ancestral
    particles       populations of particles: sequential Monte Carlo, nested sampling,
                    resampling
    approximations  variational and Laplace approximations
"""

from .approximations.advi import ADVI
from .approximations.evidence_lower_bound import elbo, likelihood_gain
from .approximations.laplace_approximation import laplace_approximate
from .approximations.mean_field import MeanField, MeanFieldModel
from .chains.diagnostics import (
    bfmi,
    diagnose,
    ess_bulk,
    ess_mean,
    ess_tail,
    mcse_mean,
    mcse_sd,
    r_hat,
)
from .chains.draws import Draws
from .chains.driver import sample
from .chains.gibbs import ErgodicityWarning, Gibbs
from .chains.hmc import HMC, leapfrog
from .chains.langevin import MALA, Langevin, StochasticLangevin
from .chains.metropolis import IndependenceProposal, Metropolis, RandomWalk
from .chains.nuts import NUTS
from .chains.parallel_tempering import ParallelTempering
from .chains.slice_sampler import SliceSampler
from .densities.compiled_densities import (
    banana_density,
    eight_schools_density,
    funnel_density,
    linear_density,
    logistic_density,
    normal_density,
)
from .densities.constrained_parameters import (
    interval,
    positive,
    real,
    simplex,
    unconstrained_density,
)
from .densities.target_density import as_target_density, gradient_error
from .direct.adaptive_rejection_sampling import adaptive_rejection
from .direct.ancestral_sampling import ancestral_sample
from .direct.importance_sampling import importance_sample, pareto_smooth
from .direct.inverse_transform_sampling import inverse_transform
from .direct.monte_carlo_integration import monte_carlo
from .direct.rejection_sampling import EnvelopeError, rejection_sample
from .particles.nested_sampling import NestedSampling
from .particles.resampling import resample
from .particles.smc import SMC

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

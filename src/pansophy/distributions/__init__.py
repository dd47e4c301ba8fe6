"""Probability distributions: log_prob, sample, sufficient statistics, information.

Each is one distribution or a batch of k components; see `base` for the contract and
`DISTRIBUTIONS` for the list that the battery of tests runs over.

Rooms

    information  information: entropies, divergences, transport, description lengths
    gaussian     normal distributions: shapes of covariance, priors, missing values, kin
"""

from .categorical import Categorical, Multinomial
from .counts import Bernoulli, Binomial, NegativeBinomial, Poisson
from .densities import Histogram, fit
from .expectation import expectation, gaussian_integral, grouped_mean, variance
from .gaussian.covariance import SHAPES
from .gaussian.normal import Moments, Normal
from .gaussian.projection import Projection, fit_forward_kl, fit_reverse_kl
from .gaussian.student_t import StudentT
from .gaussian.wishart import NormalInverseWishart
from .grid import GridPosterior
from .hypotheses import HypothesisSet, bayes_optimal
from .information.density_ratio import (
    DensityRatio,
    density_ratio,
    discriminator_value,
    optimal_discriminator,
)
from .information.description_length import description_length, mdl_prior
from .information.gaussian_kl import kl_gaussian
from .information.information import (
    conditional_entropy,
    cross_entropy,
    entropy,
    f_divergence,
    joint_entropy,
    js,
    kl,
    mutual_information,
    total_variation,
)
from .information.mutual_information_bound import mi_lower_bound
from .information.transport import Transport, kr_dual, transport, wasserstein
from .joint_table import Independence, JointTable, bayes_rule, independent
from .mle import MLE, Simulation, fit_mle, negative_log_likelihood, simulate_mle
from .priors import Beta, Dirichlet, Gamma
from .transform_density import TransformedDensity, transform_density

DISTRIBUTIONS = [
    Normal,
    Categorical,
    Multinomial,
    Bernoulli,
    Binomial,
    Poisson,
    Dirichlet,
    Beta,
    Gamma,
]  # each learns from data by stats and from_stats
PRIORS = {
    Categorical: Dirichlet,
    Multinomial: Dirichlet,
    Bernoulli: Beta,
    Poisson: Gamma,
    Normal: NormalInverseWishart,
}  # family -> its conjugate prior; prior.posterior(stats) is of the same class

__all__ = [
    "Normal",
    "Moments",
    "Categorical",
    "Multinomial",
    "Bernoulli",
    "Binomial",
    "Poisson",
    "NegativeBinomial",
    "StudentT",
    "Dirichlet",
    "Beta",
    "Gamma",
    "NormalInverseWishart",
    "GridPosterior",
    "DensityRatio",
    "Histogram",
    "HypothesisSet",
    "Independence",
    "JointTable",
    "MLE",
    "Projection",
    "Simulation",
    "Transport",
    "bayes_optimal",
    "bayes_rule",
    "conditional_entropy",
    "cross_entropy",
    "density_ratio",
    "description_length",
    "discriminator_value",
    "entropy",
    "expectation",
    "f_divergence",
    "fit",
    "fit_forward_kl",
    "fit_mle",
    "fit_reverse_kl",
    "gaussian_integral",
    "grouped_mean",
    "independent",
    "joint_entropy",
    "js",
    "kl",
    "kl_gaussian",
    "kr_dual",
    "mdl_prior",
    "mi_lower_bound",
    "mutual_information",
    "negative_log_likelihood",
    "optimal_discriminator",
    "simulate_mle",
    "total_variation",
    "transform_density",
    "transport",
    "variance",
    "wasserstein",
    "SHAPES",
    "DISTRIBUTIONS",
    "PRIORS",
    "TransformedDensity",
]

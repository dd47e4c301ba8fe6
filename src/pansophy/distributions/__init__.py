"""Distributions: log_prob, sample, statistics that add up, and what they say.

Each is one distribution or a batch of k components; see `base` for the contract and
`DISTRIBUTIONS` for the list that the battery of tests runs over.
"""

from .categorical import Categorical, Multinomial
from .counts import Bernoulli, Binomial, Poisson
from .covariance import SHAPES
from .grid import GridPosterior
from .normal import Moments, Normal
from .priors import Beta, Dirichlet, Gamma
from .wishart import NormalInverseWishart

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
    "Dirichlet",
    "Beta",
    "Gamma",
    "NormalInverseWishart",
    "GridPosterior",
    "SHAPES",
    "DISTRIBUTIONS",
    "PRIORS",
]

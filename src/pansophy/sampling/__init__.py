"""Markov chains and what they tell: samplers, their driver, diagnostics."""

from .diagnostics import (
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
from .metropolis import Metropolis
from .proposals import Independent, RandomWalk

__all__ = [
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
    "sample",
]

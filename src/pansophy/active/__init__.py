"""Active learning: query strategies that choose which rows to label."""

from .active_learning import ActiveLearningReport, farthest_first, run_active_learning
from .query_strategies import (
    ExpectedEntropyReduction,
    QueryByCommittee,
    QueryStrategy,
    RandomSampler,
    UncertaintySampler,
    information_density,
    least_confidence,
    margin,
    predictive_entropy,
)

__all__ = [
    "ExpectedEntropyReduction",
    "QueryByCommittee",
    "RandomSampler",
    "ActiveLearningReport",
    "QueryStrategy",
    "UncertaintySampler",
    "information_density",
    "farthest_first",
    "run_active_learning",
    "least_confidence",
    "margin",
    "predictive_entropy",
]

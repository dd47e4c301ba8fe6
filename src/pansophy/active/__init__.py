"""Active learning: which row is worth a label next."""

from .loop import Report, farthest, learn
from .samplers import (
    ExpectedEntropyReduction,
    QueryByCommittee,
    RandomSampler,
    Sampler,
    UncertaintySampler,
    crowding,
    entropy,
    least_confidence,
    margin,
)

__all__ = [
    "ExpectedEntropyReduction",
    "QueryByCommittee",
    "RandomSampler",
    "Report",
    "Sampler",
    "UncertaintySampler",
    "crowding",
    "entropy",
    "farthest",
    "learn",
    "least_confidence",
    "margin",
]

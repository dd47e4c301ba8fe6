"""Feature selection: filters, sequential and exhaustive search, stability selection."""

from .exhaustive import ExhaustiveSelector
from .filters import CorrelationFilter, FilterWarning, MutualInformationFilter
from .sequential import SequentialFeatureSelector
from .stability import StabilitySelection
from .subset import SubsetSelector

__all__ = [
    "CorrelationFilter",
    "ExhaustiveSelector",
    "FilterWarning",
    "MutualInformationFilter",
    "SequentialFeatureSelector",
    "StabilitySelection",
    "SubsetSelector",
]

"""Feature selection: filters, sequential and exhaustive search, stability selection.

`SelectFromModel`, which keeps the columns that a fitted model gives weight to, is
scikit-learn's and takes our models: `SelectFromModel(Lasso(alpha=0.1))`.
"""

from sklearn.feature_selection import SelectFromModel

from ..scikit_learn import share_names
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
    "SelectFromModel",
    "SequentialFeatureSelector",
    "StabilitySelection",
    "SubsetSelector",
]

__getattr__, __dir__ = share_names(__name__)

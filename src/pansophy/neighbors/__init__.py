"""Models made of nearby rows: neighbours, densities, outliers."""

from .histogram_density import HistogramDensity
from .kernel_density import KernelDensity
from .nearest import NearestNeighbors
from .outliers import KNNOutlier, LocalOutlierFactor
from .rows import kernel_distance
from .vote import KNeighborsClassifier, KNeighborsRegressor, local_vote

__all__ = [
    "HistogramDensity",
    "KNNOutlier",
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "KernelDensity",
    "LocalOutlierFactor",
    "NearestNeighbors",
    "kernel_distance",
    "local_vote",
]

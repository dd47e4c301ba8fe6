"""Neighbours: nearest neighbours, kernel and histogram densities, outliers."""

from ..scikit_learn import share_names
from .histogram_density import HistogramDensity
from .k_neighbors import KNeighborsClassifier, KNeighborsRegressor, local_vote
from .kernel_density import KernelDensity
from .nearest_centroid import NearestCentroid
from .nearest_neighbors import NearestNeighbors
from .neighbor_queries import kernel_distance
from .outliers import KNNOutlier, LocalOutlierFactor

__all__ = [
    "HistogramDensity",
    "KNNOutlier",
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "KernelDensity",
    "LocalOutlierFactor",
    "NearestCentroid",
    "NearestNeighbors",
    "kernel_distance",
    "local_vote",
]

__getattr__, __dir__ = share_names(__name__)

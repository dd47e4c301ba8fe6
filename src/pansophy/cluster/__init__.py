"""Clustering: k-means and its relatives, hierarchies, density, spectra, validity.

Rooms

    centers    clusters around centres: k-means and its kin, medoids, fuzzy, maps
    hierarchy  hierarchies of merges and divisions
    density    dense regions: DBSCAN, HDBSCAN, OPTICS

Called, the package is a cluster of machines: with `with pansophy.cluster("local:4"):`
tables are fitted by the workers of a dask cluster (docs/scale.md).
"""

import sys
from types import ModuleType

from ..core.arrays.cluster_connection import connected_cluster
from ..scikit_learn import share_names
from .anonymize import AnonymizedData, anonymize
from .centers.bisecting_kmeans import BisectingKMeans
from .centers.fuzzy_c_means import FuzzyCMeans
from .centers.initialization import sample_initial_centers
from .centers.kernel_kmeans import KernelKMeans
from .centers.kmeans import KMeans, kmeans_objective, kmeans_plusplus, lloyd
from .centers.kmeans_report import KMeansReport, diagnose_kmeans
from .centers.kmedians import KMedians
from .centers.kmedoids import KMedoids
from .centers.minibatch_kmeans import MiniBatchKMeans
from .centers.self_organizing_map import SelfOrganizingMap
from .centers.trimmed_kmeans import TrimmedKMeans
from .centers.vector_quantizer import (
    CodingRate,
    QuantizedImage,
    VectorQuantizer,
    quantize_image,
)
from .choose_k import KChoice, choose_k
from .cluster_imputer import ClusterImputer
from .density.dbscan import DBSCAN, dbscan_labels
from .density.hdbscan import HDBSCAN
from .density.optics import OPTICS
from .hierarchy.agglomerative import AgglomerativeClustering, FeatureAgglomeration
from .hierarchy.cluster_features import ClusterFeatures
from .hierarchy.diana import Diana, diana_splits
from .hierarchy.linkage import cophenetic, cut_tree, leaf_order, linkage_matrix
from .partition import Partition
from .spectral_clustering import SpectralClustering
from .validity import (
    Validity,
    cophenetic_correlation,
    dunn_index,
    purity_score,
    validity,
)

__all__ = [
    "AgglomerativeClustering",
    "BisectingKMeans",
    "ClusterFeatures",
    "ClusterImputer",
    "DBSCAN",
    "Diana",
    "FeatureAgglomeration",
    "FuzzyCMeans",
    "HDBSCAN",
    "KChoice",
    "KMeans",
    "KMeansReport",
    "KMedians",
    "KMedoids",
    "KernelKMeans",
    "MiniBatchKMeans",
    "OPTICS",
    "Partition",
    "QuantizedImage",
    "CodingRate",
    "AnonymizedData",
    "SelfOrganizingMap",
    "SpectralClustering",
    "TrimmedKMeans",
    "Validity",
    "VectorQuantizer",
    "anonymize",
    "choose_k",
    "cophenetic",
    "cophenetic_correlation",
    "cut_tree",
    "dbscan_labels",
    "diagnose_kmeans",
    "diana_splits",
    "dunn_index",
    "kmeans_objective",
    "kmeans_plusplus",
    "leaf_order",
    "linkage_matrix",
    "lloyd",
    "purity_score",
    "quantize_image",
    "sample_initial_centers",
    "validity",
]


class _ClusterPackage(ModuleType):
    """This package, which `pansophy.cluster(address)` calls."""

    def __call__(self, cluster):
        """`core.arrays.cluster_connection.connected_cluster`."""
        return connected_cluster(cluster)


__getattr__, __dir__ = share_names(__name__)
sys.modules[__name__].__class__ = _ClusterPackage

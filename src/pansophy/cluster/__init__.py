"""Clustering: k-means and its relatives, hierarchies, density, spectra, validity."""

from ..scikit_learn import share_names
from .agglomerative import AgglomerativeClustering, FeatureAgglomeration
from .anonymize import AnonymizedData, anonymize
from .bisecting_kmeans import BisectingKMeans
from .choose_k import KChoice, choose_k
from .cluster_features import ClusterFeatures
from .cluster_imputer import ClusterImputer
from .dbscan import DBSCAN, dbscan_labels
from .diana import Diana, diana_splits
from .fuzzy_c_means import FuzzyCMeans
from .hdbscan import HDBSCAN
from .initialization import sample_initial_centers
from .kernel_kmeans import KernelKMeans
from .kmeans import KMeans, kmeans_objective, kmeans_plusplus, lloyd
from .kmeans_report import KMeansReport, diagnose_kmeans
from .kmedians import KMedians
from .kmedoids import KMedoids
from .linkage import cophenetic, cut_tree, leaf_order, linkage_matrix
from .minibatch_kmeans import MiniBatchKMeans
from .optics import OPTICS
from .partition import Partition
from .self_organizing_map import SelfOrganizingMap
from .spectral_clustering import SpectralClustering
from .trimmed_kmeans import TrimmedKMeans
from .validity import (
    Validity,
    cophenetic_correlation,
    dunn_index,
    purity_score,
    validity,
)
from .vector_quantizer import (
    CodingRate,
    QuantizedImage,
    VectorQuantizer,
    quantize_image,
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

__getattr__, __dir__ = share_names(__name__)

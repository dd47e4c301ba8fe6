"""Clustering: rows into groups, without being told any."""

from .agglomerative import AgglomerativeClustering, FeatureAgglomeration
from .anonymize import Release, anonymize
from .bisecting import BisectingKMeans
from .choose_k import KChoice, choose_k
from .cluster_features import ClusterFeatures
from .cluster_imputer import ClusterImputer
from .dbscan import DBSCAN, dbscan_labels
from .diagnose import KMeansReport, diagnose_kmeans
from .diana import Diana, diana_splits
from .fuzzy_c_means import FuzzyCMeans
from .hdbscan import HDBSCAN
from .kernel_kmeans import KernelKMeans
from .kmeans import KMeans, kmeans_objective, lloyd
from .kmedians import KMedians
from .kmedoids import KMedoids
from .linkage import cophenetic, cut, leaf_order, linkage_matrix
from .minibatch import MiniBatchKMeans
from .optics import OPTICS
from .partition import Partition
from .seeding import kmeans_plusplus, seed
from .som import SelfOrganizingMap
from .spectral_clustering import SpectralClustering
from .trimmed_kmeans import TrimmedKMeans
from .validity import Validity, cophenetic_correlation, dunn, purity, validity
from .vector_quantizer import Picture, Rate, VectorQuantizer, quantize_image

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
    "Picture",
    "Rate",
    "Release",
    "SelfOrganizingMap",
    "SpectralClustering",
    "TrimmedKMeans",
    "Validity",
    "VectorQuantizer",
    "anonymize",
    "choose_k",
    "cophenetic",
    "cophenetic_correlation",
    "cut",
    "dbscan_labels",
    "diagnose_kmeans",
    "diana_splits",
    "dunn",
    "kmeans_objective",
    "kmeans_plusplus",
    "leaf_order",
    "linkage_matrix",
    "lloyd",
    "purity",
    "quantize_image",
    "seed",
    "validity",
]

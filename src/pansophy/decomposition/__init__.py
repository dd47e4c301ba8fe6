"""Matrix decompositions: PCA and its variants, factor analysis, ICA, NMF, SVD."""

from ..scikit_learn import share_names
from .factor_analysis import FactorAnalysis
from .fast_ica import FastICA
from .incremental_pca import IncrementalPCA
from .kernel_pca import KernelPCA
from .latent_dirichlet_allocation import LatentDirichletAllocation
from .matrix_factorization import MatrixFactorization
from .nmf import NMF
from .pca import PCA
from .probabilistic_pca import ProbabilisticPCA
from .truncated_svd import TruncatedSVD, svd

__all__ = [
    "NMF",
    "PCA",
    "FactorAnalysis",
    "FastICA",
    "IncrementalPCA",
    "KernelPCA",
    "LatentDirichletAllocation",
    "MatrixFactorization",
    "ProbabilisticPCA",
    "TruncatedSVD",
    "svd",
]

__getattr__, __dir__ = share_names(__name__)

"""Manifold learning: embeddings of rows in few dimensions that keep neighbours."""

from ..scikit_learn import share_names
from .classical_mds import ClassicalMDS
from .embedding_quality import trustworthiness
from .gplvm import GPLVM
from .isomap import Isomap, shortest_paths
from .locally_linear import LocallyLinearEmbedding, locally_linear_embedding
from .mds import MDS, smacof
from .spectral_embedding import SpectralEmbedding, spectral_embedding
from .tsne import TSNE

__all__ = [
    "GPLVM",
    "MDS",
    "TSNE",
    "ClassicalMDS",
    "Isomap",
    "LocallyLinearEmbedding",
    "SpectralEmbedding",
    "locally_linear_embedding",
    "shortest_paths",
    "smacof",
    "spectral_embedding",
    "trustworthiness",
]

__getattr__, __dir__ = share_names(__name__)

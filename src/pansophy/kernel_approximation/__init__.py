"""Explicit feature maps that approximate a kernel: Nystroem and random features."""

from ..scikit_learn import share_names
from .nystroem import Nystroem
from .random_features import PolynomialCountSketch, RBFSampler

__all__ = ["Nystroem", "PolynomialCountSketch", "RBFSampler"]

__getattr__, __dir__ = share_names(__name__)

"""Explicit feature maps that approximate a kernel: Nystroem and random features."""

from .nystroem import Nystroem
from .random_features import PolynomialCountSketch, RBFSampler

__all__ = ["Nystroem", "PolynomialCountSketch", "RBFSampler"]

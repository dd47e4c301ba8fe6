"""Kernel ridge regression."""

from ..scikit_learn import share_names
from .kernel_ridge import KernelRidge

__all__ = ["KernelRidge"]

__getattr__, __dir__ = share_names(__name__)

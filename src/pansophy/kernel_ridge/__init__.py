"""Kernel ridge regression."""

from .kernel_ridge import KernelRidge

__all__ = ["KernelRidge"]

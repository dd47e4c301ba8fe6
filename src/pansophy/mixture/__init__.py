"""Mixtures: densities that are sums of simpler ones, fitted by EM."""

from .gaussian_mixture import DegenerateWarning, GaussianMixture

__all__ = ["DegenerateWarning", "GaussianMixture"]

"""Kernels by name: those of scikit-learn.

    "linear"  "poly" or "polynomial"  "rbf"

with `gamma`, `degree` and `coef0` as in `sklearn.metrics.pairwise`; gamma = None is 1.
"""

from .base import AbstractKernel
from .dot import Linear, Polynomial
from .stationary import RBF


def get_kernel(kernel, *, gamma=None, degree=3, coef0=0.0):
    """A kernel from a name of scikit-learn's ("rbf", "linear", "poly"), or itself.

    Examples
    --------
    >>> get_kernel("poly", gamma=1.0, degree=2, coef0=1.0)
    Polynomial(degree=2, gamma=1.0, coef0=1.0)
    """
    if isinstance(kernel, AbstractKernel):
        return kernel
    if kernel == "linear":
        return Linear()
    if kernel == "rbf":
        return RBF(gamma=1.0 if gamma is None else gamma)
    if kernel in ("poly", "polynomial"):
        return Polynomial(degree, 1.0 if gamma is None else gamma, coef0)
    raise ValueError(
        f"kernel must be a kernel or one of 'rbf', 'linear', 'poly', got {kernel!r}."
    )

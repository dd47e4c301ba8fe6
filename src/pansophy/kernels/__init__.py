"""Kernels k(x, z): the algebra, Gaussian, linear and polynomial members, a PSD test.

`KERNELS` lists instances of every kernel and of the algebra; the common battery runs
over it. `get_kernel("rbf", gamma=0.1)` makes one from scikit-learn's names.
"""

from typing import NamedTuple

import numpy as np

from ..core.arrays import to_numpy
from .base import (
    AbstractKernel,
    Constant,
    Exponential,
    Power,
    Product,
    Sum,
    TransformedInput,
)
from .dot import Linear, Polynomial
from .stationary import RBF

KERNELS = [
    RBF(0.7),
    RBF([0.5, 1.0, 2.0]),
    Linear(1.5),
    Polynomial(2),
    Polynomial(3, 0.5, 0.0),
    Constant(2.0),
    RBF() + Linear(),
    2.0 * RBF(2.0) + 0.5,
    RBF(1.5) * Polynomial(2, 0.3, 0.4),
    Linear(0.5) ** 2,
    (0.1 * Linear()).exp(),
]

__all__ = [
    "KERNELS",
    "RBF",
    "AbstractKernel",
    "Constant",
    "Exponential",
    "Linear",
    "TransformedInput",
    "Polynomial",
    "Power",
    "Product",
    "Sum",
    "PSDCheck",
    "check_psd",
    "get_kernel",
]


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


class PSDCheck(NamedTuple):
    """Whether a Gram matrix is positive semi-definite, and a witness if it is not."""

    psd: bool
    smallest: float  # least eigenvalue
    witness: np.ndarray | None  # v with v^T K v < 0


def check_psd(K, X=None, *, tol=1e-10) -> PSDCheck:
    """Test a Gram matrix, or a kernel on the rows of X.

    Eigenvalues down to -tol times the largest in size count as 0. A matrix that is
    not symmetric is refused.

    Examples
    --------
    >>> check_psd(np.diag([0.0, -1.0])).psd
    False
    """
    K = np.asarray(to_numpy(K if X is None else K(X, X)), dtype=np.float64)
    size = np.abs(K).max(initial=0.0)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or np.abs(K - K.T).max() > 1e-8 * size:
        raise ValueError("a Gram matrix must be square and symmetric.")
    values, vectors = np.linalg.eigh(0.5 * (K + K.T))
    good = bool(values[0] >= -tol * np.abs(values).max())
    return PSDCheck(good, float(values[0]), None if good else vectors[:, 0])

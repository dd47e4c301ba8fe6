"""Kernels for histograms and fingerprints: rows of numbers of at least 0.

    HistogramIntersection    sum_j min(x_j, z_j)                                  (1)
    ChiSquared               exp(-g sum_j (x_j - z_j)^2 / (x_j + z_j))            (2)
    AdditiveChiSquared       -sum_j (x_j - z_j)^2 / (x_j + z_j)                   (3)
    Tanimoto                 x.z / (x.x + z.z - x.z)                              (4)

A term 0 / 0 counts 0 in (2) and (3), and (4) of two rows of zeros is 1. (2) and (3) are
scikit-learn's `chi2_kernel` and `additive_chi2_kernel`; (3) is only conditionally
positive definite: use it where constants do not matter, or take (2). (4), Jaccard's
index for rows of 0 and 1, is a kernel for all real rows: it is the geometric series of
x.z / (x.x + z.z), whose size is at most 1/2.

Refs      [Barla2003]; [Vedaldi2012]; [Ralaivola2005]
"""

from dataclasses import dataclass

from ..core.arrays.arrays import namespace
from .base import AbstractKernel, check_positive_parameter, empty_block, full_diag
from .dot import inner_products, row_squared_norms


def _nonnegative_rows(kernel, X, Z):
    """Rows in floating point; a negative entry is refused by the kernel's name."""
    X, Z = AbstractKernel.as_rows(kernel, X, Z)
    for A in (X,) if Z is X else (X, Z):
        if A.shape[0] and A.shape[1] and float(namespace(A).min(A)) < 0:
            raise ValueError(
                f"{type(kernel).__name__} takes numbers of at least 0, X holds "
                f"{float(namespace(A).min(A)):.3g}."
            )
    return X, Z


def _chi_squared_block(X, Z):
    """sum_j (x_j - z_j)^2 / (x_j + z_j) for all pairs of rows."""
    xp = namespace(X)
    total = empty_block(X, Z)
    for j in range(int(X.shape[1])):
        x, z = X[:, j][:, None], Z[:, j][None, :]
        sums = x + z
        total = total + (x - z) ** 2 / xp.where(sums == 0, xp.ones_like(sums), sums)
    return total


@dataclass(frozen=True)
class HistogramIntersection(AbstractKernel):
    """sum_j min(x_j, z_j), eq. (1), for numbers of at least 0.

    Examples
    --------
    >>> from pansophy.kernels import HistogramIntersection
    >>> HistogramIntersection()([[1.0, 3.0]], [[2.0, 1.0]])
    array([[2.]])
    """

    def as_rows(self, X, Z=None):
        return _nonnegative_rows(self, X, Z)

    def block(self, X, Z):
        total = empty_block(X, Z)
        for j in range(int(X.shape[1])):
            total += namespace(X).minimum(X[:, j][:, None], Z[:, j][None, :])
        return total

    def diag(self, X):
        X, _ = self.as_rows(X)
        return namespace(X).sum(X, axis=1)


@dataclass(frozen=True)
class ChiSquared(AbstractKernel):
    """exp(-g sum_j (x_j - z_j)^2 / (x_j + z_j)), eq. (2).

    Parameters
    ----------
    gamma : float, default=1.0
        g, above 0.

    Examples
    --------
    >>> from pansophy.kernels import ChiSquared
    >>> ChiSquared()([[1.0, 3.0]], [[3.0, 3.0]]).round(6)
    array([[0.367879]])
    """

    gamma: float = 1.0

    learnt = ("gamma",)

    def __post_init__(self):
        check_positive_parameter(self, "gamma")

    def as_rows(self, X, Z=None):
        return _nonnegative_rows(self, X, Z)

    def block(self, X, Z):
        return namespace(X).exp(-self.gamma * _chi_squared_block(X, Z))

    def diag(self, X):
        return full_diag(self.as_rows(X)[0], 1.0)

    def gradient_block(self, X, Z):
        D = -self.gamma * _chi_squared_block(X, Z)
        return [D * namespace(X).exp(D)]


@dataclass(frozen=True)
class AdditiveChiSquared(AbstractKernel):
    """-sum_j (x_j - z_j)^2 / (x_j + z_j), eq. (3): conditionally positive definite.

    Examples
    --------
    >>> from pansophy.kernels import AdditiveChiSquared
    >>> AdditiveChiSquared()([[1.0, 3.0]], [[3.0, 3.0]])
    array([[-1.]])
    """

    is_psd = False

    def as_rows(self, X, Z=None):
        return _nonnegative_rows(self, X, Z)

    def block(self, X, Z):
        return -_chi_squared_block(X, Z)

    def diag(self, X):
        return full_diag(self.as_rows(X)[0], 0.0)


@dataclass(frozen=True)
class Tanimoto(AbstractKernel):
    """x.z / (x.x + z.z - x.z), eq. (4): shared over all bits of two fingerprints.

    Examples
    --------
    >>> from pansophy.kernels import Tanimoto
    >>> Tanimoto()([[1, 1, 0, 1]], [[1, 0, 1, 1]])
    array([[0.5]])
    """

    takes_sparse = True

    def block(self, X, Z):
        dot = inner_products(X, Z)
        divisor = row_squared_norms(X)[:, None] + row_squared_norms(Z)[None, :] - dot
        xp = namespace(dot)
        ones = xp.ones_like(dot)
        return xp.where(divisor > 0, dot / xp.where(divisor > 0, divisor, ones), ones)

    def diag(self, X):
        return full_diag(self.as_rows(X)[0], 1.0)

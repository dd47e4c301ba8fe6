"""Dot-product kernels: linear and polynomial.

    Linear        k(x, z) = s x.z                                               (1)
    Polynomial    k(x, z) = (g x.z + c)^p                                       (2)

scikit-learn's `SVC(kernel="poly", gamma=g, coef0=c, degree=p)` is (2), and its Gaussian
process `DotProduct(sigma_0)` is Linear() + sigma_0^2. With c = 0, (2) is homogeneous:
the monomials of degree p exactly; with c > 0, all up to p. c < 0 is no kernel.

Refs      [ScholkopfSmola2002] 2.1, 13.2
"""

from dataclasses import dataclass

import numpy as np

from ..core.arrays import namespace
from ..distances.pairwise_metrics import as_float_rows
from ..params import check_count
from .base import AbstractKernel, check_positive_parameter


def row_squared_norms(X):
    """x . x for every row."""
    X, _ = as_float_rows(X)
    return namespace(X).sum(X * X, axis=1)


def inner_products(X, Z):
    return X @ namespace(X).matrix_transpose(Z)


@dataclass(frozen=True)
class Linear(AbstractKernel):
    """The inner product, eq. (1).

    Parameters
    ----------
    scale : float, default=1.0
        s, above 0.

    Examples
    --------
    >>> from pansophy.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, -1.0]])
    array([[1.]])
    """

    scale: float = 1.0

    def __post_init__(self):
        check_positive_parameter(self, "scale")

    def block(self, X, Z):
        K = inner_products(X, Z)
        return K if self.scale == 1 else K * self.scale

    def diag(self, X):
        return row_squared_norms(X) * self.scale

    @property
    def theta(self):
        return np.log([self.scale])

    def with_theta(self, theta):
        return Linear(float(np.exp(theta[0])))

    def gradient_block(self, X, Z):
        return [self.block(X, Z)]


@dataclass(frozen=True)
class Polynomial(AbstractKernel):
    """The polynomial kernel, eq. (2).

    Parameters
    ----------
    degree : int, default=3
        p, at least 1; not part of theta.
    gamma : float, default=1.0
        g, above 0.
    coef0 : float, default=1.0
        c, at least 0; at 0 it is not part of theta.

    Examples
    --------
    >>> from pansophy.kernels import Polynomial
    >>> Polynomial(2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 1.0

    def __post_init__(self):
        check_count("degree of Polynomial", self.degree)
        check_positive_parameter(self, "gamma")
        check_positive_parameter(self, "coef0", zero=True)

    def block(self, X, Z):
        return (self.gamma * inner_products(X, Z) + self.coef0) ** self.degree

    def diag(self, X):
        return (self.gamma * row_squared_norms(X) + self.coef0) ** self.degree

    @property
    def theta(self):
        return np.log([self.gamma, self.coef0] if self.coef0 > 0 else [self.gamma])

    def with_theta(self, theta):
        gamma, *rest = (float(v) for v in np.exp(theta))
        return Polynomial(self.degree, gamma, rest[0] if rest else 0.0)

    def gradient_block(self, X, Z):
        """dk / d log g = p g x.z base^(p-1), dk / d log c = p c base^(p-1)."""
        dot = self.gamma * inner_products(X, Z)
        outer = self.degree * (dot + self.coef0) ** (self.degree - 1)
        out = [outer * dot]
        return [*out, outer * self.coef0] if self.coef0 > 0 else out

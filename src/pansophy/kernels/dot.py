"""Dot-product kernels: linear, polynomial, sigmoid and cosine.

    Linear        k(x, z) = s x.z                                               (1)
    Polynomial    k(x, z) = (g x.z + c)^p                                       (2)
    Sigmoid       k(x, z) = tanh(g x.z + c)                                     (3)
    Cosine        k(x, z) = x.z / (|x| |z|)                                     (4)

scikit-learn's `SVC(kernel="poly", gamma=g, coef0=c, degree=p)` is (2), and its Gaussian
process `DotProduct(sigma_0)` is Linear() + sigma_0^2. With c = 0, (2) is homogeneous:
the monomials of degree p exactly; with c > 0, all up to p. c < 0 is no kernel.

(3) is not positive semi-definite for any g > 0 and c: its power series has negative
terms. It may be so on some rows; k(X) warns where it is not.
(4) of a row of zeros is 0, as in scikit-learn's `cosine_similarity`.

Refs      [ScholkopfSmola2002] 2.1, 4.6, 13.2
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..core.arrays.arrays import namespace
from ..distances.pairwise_metrics import as_float_rows, unit_rows
from ..params import check_count
from .base import AbstractKernel, array_namespace, check_positive_parameter


def row_squared_norms(X):
    """x . x for every row."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    X, _ = as_float_rows(X)
    return namespace(X).sum(X * X, axis=1)


def inner_products(X, Z):
    """x . z for all pairs of rows, dense whatever the rows are."""
    if sparse.issparse(X):
        return (X @ Z.T).toarray()
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

    learnt = ("scale",)
    takes_sparse = True

    def __post_init__(self):
        check_positive_parameter(self, "scale")

    def block(self, X, Z):
        K = inner_products(X, Z)
        return K if self.scale == 1 else K * self.scale

    def diag(self, X):
        return row_squared_norms(X) * self.scale

    def gradient_block(self, X, Z):
        return [self.block(X, Z)]

    def input_block(self, X, Z, W):
        return self.scale * (W @ Z)


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

    learnt = ("gamma", "coef0")
    takes_sparse = True

    def __post_init__(self):
        check_count("degree of Polynomial", self.degree)
        check_positive_parameter(self, "gamma")
        check_positive_parameter(self, "coef0", zero=True)

    def block(self, X, Z):
        return (self.gamma * inner_products(X, Z) + self.coef0) ** self.degree

    def diag(self, X):
        return (self.gamma * row_squared_norms(X) + self.coef0) ** self.degree

    def input_block(self, X, Z, W):
        base = self.gamma * inner_products(X, Z) + self.coef0
        return self.degree * self.gamma * ((W * base ** (self.degree - 1)) @ Z)

    def gradient_block(self, X, Z):
        """dk / d log g = p g x.z base^(p-1), dk / d log c = p c base^(p-1)."""
        dot = self.gamma * inner_products(X, Z)
        outer = self.degree * (dot + self.coef0) ** (self.degree - 1)
        gradients = [outer * dot]
        return [*gradients, outer * self.coef0] if self.coef0 > 0 else gradients


@dataclass(frozen=True)
class Sigmoid(AbstractKernel):
    """tanh(g x.z + c), eq. (3): not positive semi-definite in general.

    k(X) warns with an `IndefiniteKernelWarning` where it has a negative eigenvalue.

    Parameters
    ----------
    gamma : float, default=1.0
        g, above 0.
    coef0 : float, default=0.0
        c; part of theta only if above 0.

    Examples
    --------
    >>> from pansophy.kernels import Sigmoid
    >>> Sigmoid(0.1)([[1.0, 2.0]], [[3.0, -1.0]]).round(6)
    array([[0.099668]])
    """

    gamma: float = 1.0
    coef0: float = 0.0

    learnt = ("gamma", "coef0")
    takes_sparse = True
    is_psd = False

    def __post_init__(self):
        check_positive_parameter(self, "gamma")
        if not np.isfinite(self.coef0):
            raise ValueError(f"coef0 of Sigmoid must be finite, got {self.coef0}.")

    @property
    def _free(self):
        return ["gamma", "coef0"] if self.coef0 > 0 else ["gamma"]

    def block(self, X, Z):
        K = self.gamma * inner_products(X, Z) + self.coef0
        return namespace(K).tanh(K)

    def diag(self, X):
        K = self.gamma * row_squared_norms(X) + self.coef0
        return namespace(K).tanh(K)

    def gradient_block(self, X, Z):
        dot = self.gamma * inner_products(X, Z)
        outer = 1 - namespace(dot).tanh(dot + self.coef0) ** 2
        gradients = [outer * dot]
        return [*gradients, outer * self.coef0] if self.coef0 > 0 else gradients


@dataclass(frozen=True)
class Cosine(AbstractKernel):
    """The cosine of the angle between two rows, eq. (4).

    Examples
    --------
    >>> from pansophy.kernels import Cosine
    >>> Cosine()([[3.0, 4.0]], [[1.0, 0.0], [0.0, 0.0]])
    array([[0.6, 0. ]])
    """

    takes_sparse = True

    def block(self, X, Z):
        if sparse.issparse(X):
            inverse = lambda A: _inverse_or_zero(np.sqrt(row_squared_norms(A)))
            return inverse(X)[:, None] * inner_products(X, Z) * inverse(Z)[None, :]
        return inner_products(unit_rows(X, 0.0)[0], unit_rows(Z, 0.0)[0])

    def diag(self, X):
        X, _ = self.as_rows(X)
        xp = array_namespace(X)
        length = row_squared_norms(X)
        return xp.where(length > 0, xp.ones_like(length), xp.zeros_like(length))


def _inverse_or_zero(v):
    """1 / v, and 0 where v is."""
    return np.where(v > 0, 1 / np.where(v > 0, v, 1.0), 0.0)

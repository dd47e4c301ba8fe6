"""Base class of kernels k(x, z), and their algebra: sums, products, powers.

A kernel is a positive semi-definite function; sums, products, whole powers, positive
multiples and exponentials of kernels are kernels again, and so is k(g(x), g(z)):

    (k + l)(x, z) = k + l      (k * l)(x, z) = k l      (k ** p)(x, z) = k^p    (1)
    k.exp()(x, z) = exp(k)     k.on(g)(x, z) = k(g(x), g(z))                    (2)

`2.0 * k` and `k + 1.0` use a `Constant`. The parameters that can be learnt are seen as
one vector theta of their logarithms, in which GP practice optimises: `k.theta` reads
it, `k.with_theta(theta)` gives the kernel with others (kernels never change), and
`k.gradient(X, Z)` is dK / d theta.

A member gives `block(X, Z)` for arrays of rows, `diag(X)`, `theta`, `with_theta` and
`gradient_block(X, Z)`; everything is array mathematics, so NumPy arrays and tensors
both work. `k(X, Z)` is made of tiles, by threads; k(X) computes half of the symmetric
matrix and mirrors it, with diag(X) exactly on the diagonal.

Shapes    X (n, d)   Z (m, d)   K (n, m)   theta (p,)   gradient (p, n, m)
Refs      [ScholkopfSmola2002] ch. 13; [Rasmussen2006] ch. 4, 5
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from ..core import threads
from ..core.arrays import is_foreign, namespace
from ..distances.pairwise_metrics import TILE, as_float_rows, block_slices, map_tiles
from ..params import check_count


class AbstractKernel(ABC):
    """What every kernel gives; members write the five methods below the line."""

    def __call__(self, X, Z=None):
        """The matrix of k(x, z); Z = None means X."""
        rows, other = as_float_rows(X, Z)
        if Z is not None:
            return map_tiles(self.block, rows, other)
        return symmetric_gram_matrix(self, rows)

    def gradient(self, X, Z=None):
        """dK / d theta, of shape (p, n, m)."""
        X, Z = as_float_rows(X, Z)
        parts = self.gradient_block(X, Z)
        xp = namespace(X)
        if not parts:
            return xp.zeros((0, X.shape[0], Z.shape[0]), dtype=X.dtype)
        return xp.stack(parts)

    def __add__(self, other):
        return combine_kernels(Sum, self, other)

    def __radd__(self, other):
        return combine_kernels(Sum, other, self)

    def __mul__(self, other):
        return combine_kernels(Product, self, other)

    def __rmul__(self, other):
        return combine_kernels(Product, other, self)

    def __pow__(self, power):
        return Power(self, power)

    def exp(self):
        """exp(k), eq. (2)."""
        return Exponential(self)

    def on(self, function: Callable):
        """k(g(x), g(z)) for a function g of an array of rows, eq. (2)."""
        return TransformedInput(self, function)

    # -- what a member writes ------------------------------------------------------

    @abstractmethod
    def block(self, X, Z) -> Any:
        """k for all pairs of rows, without cutting into blocks."""

    @abstractmethod
    def diag(self, X) -> Any:
        """k(x, x) for every row."""

    @property
    @abstractmethod
    def theta(self) -> np.ndarray:
        """Logarithms of the parameters."""

    @abstractmethod
    def with_theta(self, theta) -> "AbstractKernel":
        """The same kernel with other parameters."""

    @abstractmethod
    def gradient_block(self, X, Z) -> list:
        """dK / d theta_i for each i."""


def symmetric_gram_matrix(kernel, X):
    """k(X, X): the lower half by tiles, mirrored."""
    n = int(X.shape[0])
    if is_foreign(X):
        xp = namespace(X)
        K = map_tiles(kernel.block, X, X)
        K = 0.5 * (K + xp.matrix_transpose(K))
        on = xp.eye(n, dtype=xp.bool, device=X.device)
        return xp.where(on, kernel.diag(X)[:, None], K)
    K = np.empty((n, n), X.dtype)

    def fill(rows):
        for columns in block_slices(rows.stop, TILE):
            part = kernel.block(X[rows], X[columns])
            K[rows, columns] = part
            K[columns, rows] = part.T
        square = K[rows, rows]
        square[...] = 0.5 * (square + square.T)

    for _ in threads.run_tasks(
        ((lambda r=r: fill(r)) for r in block_slices(n, TILE)), blas=True
    ):
        pass
    K.flat[:: n + 1] = kernel.diag(X)
    return K


def combine_kernels(kind, a, b):
    a, b = (Constant(float(k)) if isinstance(k, Real) else k for k in (a, b))
    if not (isinstance(a, AbstractKernel) and isinstance(b, AbstractKernel)):
        return NotImplemented
    return kind(a, b)


@dataclass(frozen=True)
class Constant(AbstractKernel):
    """k(x, z) = value, at least 0.

    Examples
    --------
    >>> from pansophy.kernels import Constant
    >>> Constant(2.0)([[1.0]], [[5.0], [6.0]])
    array([[2., 2.]])
    """

    value: float = 1.0

    def __post_init__(self):
        check_positive_parameter(self, "value", zero=True)

    def block(self, X, Z):
        xp = namespace(X)
        ones = xp.ones_like(X[:, :1]) * xp.ones_like(Z[:, 0])[None, :]
        return ones * self.value

    def diag(self, X):
        X, _ = as_float_rows(X)
        return namespace(X).full_like(X[:, 0], self.value)

    @property
    def theta(self):
        return np.log([self.value]) if self.value > 0 else np.empty(0)

    def with_theta(self, theta):
        return Constant(float(np.exp(theta[0]))) if self.value > 0 else self

    def gradient_block(self, X, Z):
        return [self.block(X, Z)] if self.value > 0 else []


@dataclass(frozen=True)
class Sum(AbstractKernel):
    """k + l, eq. (1)."""

    left: AbstractKernel
    right: AbstractKernel

    def block(self, X, Z):
        return self.left.block(X, Z) + self.right.block(X, Z)

    def diag(self, X):
        return self.left.diag(X) + self.right.diag(X)

    @property
    def theta(self):
        return np.concatenate([self.left.theta, self.right.theta])

    def with_theta(self, theta):
        return Sum(*split_theta(self, theta))

    def gradient_block(self, X, Z):
        return self.left.gradient_block(X, Z) + self.right.gradient_block(X, Z)


@dataclass(frozen=True)
class Product(AbstractKernel):
    """k l, eq. (1)."""

    left: AbstractKernel
    right: AbstractKernel

    def block(self, X, Z):
        return self.left.block(X, Z) * self.right.block(X, Z)

    def diag(self, X):
        return self.left.diag(X) * self.right.diag(X)

    @property
    def theta(self):
        return np.concatenate([self.left.theta, self.right.theta])

    def with_theta(self, theta):
        return Product(*split_theta(self, theta))

    def gradient_block(self, X, Z):
        K, L = self.left.block(X, Z), self.right.block(X, Z)
        lefts = [g * L for g in self.left.gradient_block(X, Z)]
        return lefts + [K * g for g in self.right.gradient_block(X, Z)]


def split_theta(pair, theta):
    p = len(pair.left.theta)
    return pair.left.with_theta(theta[:p]), pair.right.with_theta(theta[p:])


@dataclass(frozen=True)
class Power(AbstractKernel):
    """k^p for a whole p of at least 1, eq. (1)."""

    kernel: AbstractKernel
    power: int

    def __post_init__(self):
        check_count("a power of a kernel", self.power)

    def block(self, X, Z):
        return self.kernel.block(X, Z) ** self.power

    def diag(self, X):
        return self.kernel.diag(X) ** self.power

    @property
    def theta(self):
        return self.kernel.theta

    def with_theta(self, theta):
        return Power(self.kernel.with_theta(theta), self.power)

    def gradient_block(self, X, Z):
        outer = self.power * self.kernel.block(X, Z) ** (self.power - 1)
        return [outer * g for g in self.kernel.gradient_block(X, Z)]


@dataclass(frozen=True)
class Exponential(AbstractKernel):
    """exp(k), eq. (2)."""

    kernel: AbstractKernel

    def block(self, X, Z):
        return namespace(X).exp(self.kernel.block(X, Z))

    def diag(self, X):
        K = self.kernel.diag(X)
        return namespace(K).exp(K)

    @property
    def theta(self):
        return self.kernel.theta

    def with_theta(self, theta):
        return Exponential(self.kernel.with_theta(theta))

    def gradient_block(self, X, Z):
        outer = self.block(X, Z)
        return [outer * g for g in self.kernel.gradient_block(X, Z)]


@dataclass(frozen=True)
class TransformedInput(AbstractKernel):
    """k(g(x), g(z)), eq. (2)."""

    kernel: AbstractKernel
    function: Callable

    def block(self, X, Z):
        return self.kernel.block(self.function(X), self.function(Z))

    def diag(self, X):
        return self.kernel.diag(self.function(as_float_rows(X)[0]))

    @property
    def theta(self):
        return self.kernel.theta

    def with_theta(self, theta):
        return TransformedInput(self.kernel.with_theta(theta), self.function)

    def gradient_block(self, X, Z):
        return self.kernel.gradient_block(self.function(X), self.function(Z))


def check_positive_parameter(kernel, name, *, zero=False):
    """Refuse a parameter that is not a number above (or at) 0."""
    value = getattr(kernel, name)
    good = np.isfinite(value) & (
        np.asarray(value) >= 0 if zero else np.asarray(value) > 0
    )
    if not np.all(good):
        raise ValueError(
            f"{name} of {type(kernel).__name__} must be "
            f"{'at least' if zero else 'above'} 0, got {value}."
        )

"""Kernels made of kernels on parts of the columns: sums, products and interactions.

With k_b a kernel on the block b of columns (one column each by default), and k_j one
kernel on each single column j,

    Additive      sum_b k_b(x_b, z_b)                                             (1)
    Blocks        prod_b k_b(x_b, z_b)                                            (2)
    Anova         e_D(k_1, ..., k_d): the sum over all sets of D columns of the
                  product of their k_j                                            (3)
    AllSubsets    prod_j (1 + x_j z_j): the inner product of the 2^d products of
                  subsets of the coordinates                                      (4)

A function fitted with (1) is a sum of functions of the blocks, `Additive.components`.
(3) has interactions of exactly D columns in O(d D) by e_m <- e_m + k_j e_(m-1);
D = 1 is (1) with one kernel for all columns. The derivative of e_D in k_j is e_(D-1)
without column j.

Refs      [ScholkopfSmola2002] 13.4; [Duvenaud2011]
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations
from typing import Any

import numpy as np

from ..core.arrays.arrays import namespace
from ..distances.pairwise_metrics import as_float_rows
from ..params import check_count
from .base import (
    AbstractKernel,
    Columns,
    Product,
    Sum,
    WrappedKernel,
    empty_block,
    full_diag,
)


@dataclass(frozen=True)
class KernelBlocks(AbstractKernel):
    """Kernels on blocks of columns, put together by `_joined`."""

    kernels: Any
    blocks: Any = None

    def __post_init__(self):
        kernels = tuple(self.kernels)
        blocks = self.blocks
        blocks = range(len(kernels)) if blocks is None else blocks
        if len(kernels) == 0 or len(kernels) != len(blocks):
            raise ValueError(
                f"{type(self).__name__} needs one kernel for each block, got "
                f"{len(kernels)} kernels and {len(blocks)} blocks."
            )
        parts = [Columns(k, b) for k, b in zip(kernels, blocks, strict=True)]
        object.__setattr__(self, "kernels", kernels)
        object.__setattr__(self, "blocks", tuple(part.columns for part in parts))

    @cached_property
    def _parts(self):
        return [Columns(k, b) for k, b in zip(self.kernels, self.blocks, strict=True)]

    @abstractmethod
    def _joined(self, left, right) -> AbstractKernel:
        """The kernel of two parts."""

    @cached_property
    def _whole(self) -> AbstractKernel:
        return reduce(self._joined, self._parts)

    @property
    def takes_sparse(self):  # pyrefly: ignore
        return self._whole.takes_sparse

    @property
    def is_psd(self):  # pyrefly: ignore
        return self._whole.is_psd

    @property
    def has_white_noise(self):  # pyrefly: ignore
        return self._whole.has_white_noise

    @property
    def theta(self):
        return self._whole.theta

    @property
    def theta_names(self):
        named = enumerate(self.kernels)
        return tuple(f"kernels[{i}].{name}" for i, k in named for name in k.theta_names)

    def with_theta(self, theta):
        sizes = [len(k.theta) for k in self.kernels]
        cuts = np.split(np.asarray(theta, dtype=float), np.cumsum(sizes)[:-1])
        pairs = zip(self.kernels, cuts, strict=True)
        return type(self)(tuple(k.with_theta(t) for k, t in pairs), self.blocks)

    def without_noise(self):
        return type(self)(tuple(k.without_noise() for k in self.kernels), self.blocks)

    def block(self, X, Z):
        return self._whole.block(X, Z)

    def diag(self, X):
        return self._whole.diag(X)

    def gradient_block(self, X, Z):
        return self._whole.gradient_block(X, Z)

    def contract_block(self, X, Z, W):
        return self._whole.contract_block(X, Z, W)

    def input_block(self, X, Z, W):
        return self._whole.input_block(X, Z, W)

    def gradient_diag(self, X):
        return self._whole.gradient_diag(X)


@dataclass(frozen=True)
class Additive(KernelBlocks):
    """A sum of kernels on blocks of columns, eq. (1).

    Parameters
    ----------
    kernels : list of kernels
        One for each block.
    blocks : list of columns, optional
        The columns of each block; by default kernel j sees column j.

    Examples
    --------
    >>> from pansophy.kernels import Additive, Linear
    >>> Additive([Linear(), Linear(10.0)])([[1.0, 2.0]], [[3.0, 4.0]])
    array([[83.]])
    """

    def _joined(self, left, right):
        return Sum(left, right)

    def components(self, X, Z, V):
        """The parts f_b(x) = sum_i v_i k_b(x, z_i) of a fitted function, (n, blocks).

        Parameters
        ----------
        X : array of shape (n, d)
        Z : array of shape (m, d)
            Training rows.
        V : array of shape (m,)
            Their coefficients.
        """
        X, Z = as_float_rows(X, Z)
        parts = [part.matmul(X, Z, V) for part in self._parts]
        return namespace(X).stack(parts, axis=1)


@dataclass(frozen=True)
class Blocks(KernelBlocks):
    """A product of kernels on blocks of columns, eq. (2).

    Parameters
    ----------
    kernels, blocks
        As for `Additive`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.kernels import Blocks, RBF
    >>> x, z = np.array([[0.0, 1.0, 2.0]]), np.array([[1.0, 1.0, 0.0]])
    >>> np.allclose(Blocks([RBF(2.0), RBF(2.0)], [[0, 1], [2]])(x, z), RBF(2.0)(x, z))
    True
    """

    def _joined(self, left, right):
        return Product(left, right)


@dataclass(frozen=True)
class Anova(WrappedKernel):
    """Interactions of exactly `degree` columns of one kernel, eq. (3).

    Parameters
    ----------
    kernel : kernel
        On single columns; its parameters are shared by all columns.
    degree : int, default=2
        D; a degree above the number of columns gives 0.

    Examples
    --------
    >>> from pansophy.kernels import Anova, Linear
    >>> Anova(Linear(), 2)([[1.0, 2.0, 3.0]], [[1.0, 1.0, 1.0]])
    array([[11.]])
    """

    degree: int = 2

    def __post_init__(self):
        check_count("degree of Anova", self.degree)
        if self.kernel.has_white_noise or not self.kernel.requires_vector_input:
            raise ValueError("Anova needs a kernel of numbers without white noise.")

    def as_rows(self, X, Z=None):
        return as_float_rows(X, Z)

    @property
    def takes_sparse(self):  # pyrefly: ignore
        return False

    def _column_kernels(self, X, Z):
        d = int(X.shape[1])
        return [self.kernel.block(X[:, j : j + 1], Z[:, j : j + 1]) for j in range(d)]

    def block(self, X, Z):
        zero = empty_block(X, Z)
        return _symmetric_polynomials(self._column_kernels(X, Z), self.degree, zero)[-1]

    def diag(self, X):
        X, _ = self.as_rows(X)
        d = int(X.shape[1])
        parts = [self.kernel.diag(X[:, j : j + 1]) for j in range(d)]
        return _symmetric_polynomials(parts, self.degree, full_diag(X, 0.0))[-1]

    def gradient_block(self, X, Z):
        zero = empty_block(X, Z)
        parts = self._column_kernels(X, Z)
        total: list = [zero for _ in range(len(self.kernel.theta))]
        for j in range(len(parts)):
            other_parts = parts[:j] + parts[j + 1 :]
            outer = _symmetric_polynomials(other_parts, self.degree - 1, zero)[-1]
            inner = self.kernel.gradient_block(X[:, j : j + 1], Z[:, j : j + 1])
            total = [t + outer * g for t, g in zip(total, inner, strict=True)]
        return total


def _symmetric_polynomials(values, degree, zero) -> list:
    """The elementary symmetric polynomials e_0 to e_degree of some arrays, eq. (3)."""
    e = [zero + 1] + [zero] * degree
    for value in values:
        for m in range(degree, 0, -1):
            e[m] = e[m] + value * e[m - 1]
    return e


@dataclass(frozen=True)
class AllSubsets(AbstractKernel):
    """prod_j (1 + x_j z_j), eq. (4): products of all subsets of the coordinates.

    Examples
    --------
    >>> from pansophy.kernels import AllSubsets
    >>> AllSubsets()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[36.]])
    """

    def block(self, X, Z):
        K = empty_block(X, Z) + 1
        for j in range(int(X.shape[1])):
            K = K * (1 + X[:, j][:, None] * Z[:, j][None, :])
        return K

    def diag(self, X):
        X, _ = self.as_rows(X)
        return namespace(X).prod(1 + X * X, axis=1)

    def features(self, X):
        """The 2^d products whose inner product this is: (n, 2^d)."""
        X, _ = self.as_rows(X)
        d = int(X.shape[1])
        xp = namespace(X)
        subsets = [s for size in range(d + 1) for s in combinations(range(d), size)]
        ones = xp.ones_like(xp.sum(X, axis=1))
        parts = [reduce(lambda v, j: v * X[:, j], s, ones) for s in subsets]
        return xp.stack(parts, axis=1)

"""Kernel values between rows, by matrix products: what kernel machines compute with.

The named kernels are functions of inner products,

    linear    x.z                      poly     (gamma x.z + coef0)^degree
    rbf       exp(-gamma |x - z|^2)    sigmoid  tanh(gamma x.z + coef0)

so a block of them is one product and one pass over it. For "rbf" two columns are added
to the rows, such that the product is the exponent itself,

    [s x, -|s x|^2 / 2, 1] . [s z, 1, -|s z|^2 / 2] = -gamma |x - z|^2            (1)

with s^2 = 2 gamma, after the mean of the rows has been subtracted, which changes no
distance and avoids cancellation. The sigmoid is not positive definite in general: the
dual has no unique solution then, as in libsvm.

Kernels of `pansophy.kernels` and functions k(X, Z) are called with blocks of rows.
Sparse rows stay sparse if they would be large as a dense matrix.

Shapes    X (n, d)   Z (m, d)   block (n, m)
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..core.arrays import arrays
from ..core.loops import threads
from ..kernels import AbstractKernel
from .device_rows import take_tensor_rows

DENSE_BYTES = 128 << 20  # a sparse X of at most this size is made dense
SINGLE_RANGE = 16.0  # largest exponent scale at which float32 products are exact enough
TILE_ENTRIES = 1 << 19


class KernelSpec(NamedTuple):
    """A kernel and its parameters."""

    kernel: Any  # a name, a kernel of `pansophy.kernels` or a function
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0

    @property
    def named(self) -> bool:
        return isinstance(self.kernel, str)

    def apply(self, T):
        """The kernel of inner products (of the exponent for "rbf"), in place."""
        if self.kernel == "rbf":
            np.minimum(T, 0, out=T)
            return np.exp(T, out=T)
        if self.kernel == "linear":
            return T
        T *= T.dtype.type(self.gamma)
        T += T.dtype.type(self.coef0)
        if self.kernel == "sigmoid":
            return np.tanh(T, out=T)
        return _integer_power(T, self.degree)


def _integer_power(T, degree):
    """T^degree by repeated multiplication; T may be overwritten."""
    if degree == 0:
        return np.ones_like(T)
    power = T.copy() if degree > 1 else T
    for _ in range(degree - 1):
        power *= T
    return power


class ProductRows(NamedTuple):
    """Rows prepared for products: the two factors of a block, eq. (1)."""

    left: Any
    right: Any
    center: Any  # mean that was subtracted

    def block(self, spec, index, other, columns):
        """Kernel values between rows `index` of this and `columns` of another."""
        left = self.left[_as_slice(index)]
        right = other.right[_as_slice(columns)]
        if sp.issparse(left):
            T = np.asarray((left @ right.T).todense())
        else:
            T = left @ right.T
        return spec.apply(T)


def _as_slice(index):
    """An index of consecutive rows as a slice, which copies nothing."""
    if isinstance(index, slice) or len(index) == 0:
        return index
    first, last = int(index[0]), int(index[-1])
    if last - first + 1 == len(index) and (
        len(index) < 2 or (np.diff(index) == 1).all()
    ):
        return slice(first, last + 1)
    return index


def _prepare_products(spec, X, dtype=np.float64, center=None) -> ProductRows:
    """Rows X as factors of blocks of a named kernel."""
    if sp.issparse(X) and X.shape[0] * X.shape[1] * 8 <= DENSE_BYTES:
        X = X.toarray()
    if spec.kernel != "rbf":
        X = X.astype(dtype, copy=False)
        return ProductRows(X, X, center)
    scale = np.sqrt(2 * spec.gamma)
    if sp.issparse(X):
        scaled = sp.csr_array(X, dtype=np.float64) * scale
        half = 0.5 * np.asarray(scaled.multiply(scaled).sum(axis=1)).reshape(-1, 1)
        join = lambda *parts: sp.csr_array(sp.hstack(parts))
    else:
        center = X.mean(axis=0) if center is None else center
        scaled = (X - center) * scale
        half = 0.5 * np.einsum("ij,ij->i", scaled, scaled)[:, None]
        join = lambda *parts: np.hstack(parts)
    ones = np.ones_like(half)
    left = join(scaled, -half, ones).astype(dtype)
    return ProductRows(left, join(scaled, ones, -half).astype(dtype), center)


def exponent_range(spec, X) -> float:
    """Largest gamma |x - mean|^2 over the rows: how much products may cancel."""
    if spec.kernel != "rbf" or sp.issparse(X):
        return 0.0
    if X.shape[0] == 0:
        return 0.0
    xp = arrays.namespace(X)
    centred = X - xp.mean(X, axis=0)
    return float(spec.gamma * xp.max(xp.sum(centred * centred, axis=1)))


class TrainingRows:
    """Blocks of the kernel matrix of the training rows.

    Parameters
    ----------
    spec : KernelSpec
    X : array, CSR matrix or sequence
        The rows; for a function kernel anything that it takes.
    dtype : dtype
        In which blocks are computed.
    """

    def __init__(self, spec, X, dtype=np.float64):
        self.spec = spec
        self.X = X
        self.n = X.shape[0] if hasattr(X, "shape") else len(X)
        self.dtype = np.dtype(dtype)
        self.products = _prepare_products(spec, X, dtype) if spec.named else None
        self.threaded = spec.named

    def __call__(self, index, columns):
        """K[index][:, columns]."""
        if self.products is not None:
            return self.products.block(self.spec, index, self.products, columns)
        return call_kernel(
            self.spec.kernel,
            take_training_rows(self.X, index),
            take_training_rows(self.X, columns),
        )

    def square(self, index):
        """K[index][:, index] in float64; symmetric up to rounding."""
        n = len(index)
        K = np.empty((n, n))
        if self.products is None:
            K[...] = self(index, index)
            return K
        step = max(32, TILE_ENTRIES // max(n, 1))
        left = self.products.left[_as_slice(index)]
        right = self.products.right[_as_slice(index)]

        def fill(begin):
            end = min(begin + step, n)
            T = left[begin:end] @ right[:end].T
            T = np.asarray(T.todense()) if sp.issparse(T) else T
            K[begin:end, :end] = self.spec.apply(T)
            K[:begin, begin:end] = K[begin:end, :begin].T

        for _ in threads.run_tasks(partial(fill, b) for b in range(0, n, step)):
            pass
        if self.spec.kernel == "rbf":
            K.flat[:: n + 1] = 1.0  # without the rounding of eq. (1)
        return K

    def whole(self, index):
        """`square` made exactly symmetric, for Newton steps that are exact.

        The two factors of eq. (1) round k(x, z) and k(z, x) differently.
        """
        K = self.square(index)
        return np.tril(K) + np.tril(K, -1).T if self.spec.named else K


class SubsetRows:
    """Blocks of the kernel matrix of some of the training rows, by their numbers."""

    def __init__(self, training, members):
        self.training = training
        self.members = members
        self.threaded = training.threaded

    def __call__(self, index, columns):
        return self.training(self.members[index], self.members[columns])

    def square(self, index):
        return self.training.square(self.members[index])


class PrecomputedRows:
    """`TrainingRows` of a kernel matrix that is given."""

    threaded = True

    def __init__(self, K):
        self.K = K
        self.n = len(K)

    def __call__(self, index, columns):
        return self.K[np.ix_(index, columns)]

    def square(self, index):
        if len(index) == self.n and (np.diff(index) == 1).all():
            return self.K
        return self.K[np.ix_(index, index)]

    whole = square


def take_training_rows(X, index) -> Any:
    """Rows of an array, CSR matrix or sequence of objects."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if arrays.is_foreign(X):
        return take_tensor_rows(X, index)
    if hasattr(X, "shape"):
        return X[index]
    return [X[i] for i in index]


def call_kernel(kernel, X, Z):
    """A kernel object or function on two sets of rows, as a matrix."""
    if isinstance(kernel, AbstractKernel) and sp.issparse(X):
        X = X.toarray()
    if isinstance(kernel, AbstractKernel) and sp.issparse(Z):
        Z = Z.toarray()
    K = kernel(X, Z)
    K = K.toarray() if sp.issparse(K) else np.asarray(K, dtype=np.float64)
    rows = [part.shape[0] if hasattr(part, "shape") else len(part) for part in (X, Z)]
    if K.shape != tuple(rows):
        raise ValueError(
            f"the function kernel gave a matrix of shape {K.shape} for {rows[0]} and "
            f"{rows[1]} rows: X.shape[0] should be equal to X.shape[1] for one set."
        )
    return K


def map_kernel_blocks(spec, X, support, combine, width):
    """combine(K(X_block, support)) for blocks of rows of X, on threads.

    Parameters
    ----------
    spec : KernelSpec
    X : array, CSR matrix or sequence of n rows
    support : the rows on the other side
    combine : function of a block (rows, m), gives (rows, width)
    width : int

    Returns
    -------
    array of shape (n, width)
    """
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    out = np.empty((n, width))
    if not spec.named:
        step = 512
        for begin in range(0, n, step):
            rows = np.arange(begin, min(begin + step, n))
            K = call_kernel(spec.kernel, take_training_rows(X, rows), support)
            out[rows] = combine(K)
        return out
    dense_support = _prepare_products(spec, support)
    m = support.shape[0]
    step = max(16, TILE_ENTRIES // max(m, 1))

    def fill(begin):
        part = X[begin : begin + step]
        if sp.issparse(part) and not sp.issparse(dense_support.right):
            part = part.toarray()
        elif sp.issparse(dense_support.right) and not sp.issparse(part):
            part = sp.csr_array(part)
        rows = _prepare_products(spec, part, center=dense_support.center)
        K = rows.block(spec, slice(None), dense_support, slice(None))
        out[begin : begin + step] = combine(K)

    with threads.single_blas():
        for _ in threads.run_tasks(partial(fill, s) for s in range(0, n, step)):
            pass
    return out

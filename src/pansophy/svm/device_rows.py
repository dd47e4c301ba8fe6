"""Kernel rows of tensors: computed on their device each time they are used.

The solver of `optim/constraints/smo.py` keeps multipliers and scores where the rows
are. What takes the time of large fits, blocks of the kernel matrix and their products
with the changes of a working set, is done there too:

    sum_{i in S} c_i k(x_i, x_j)  for all rows j                                   (1)

by tiles, in memory O(n) plus a tile. To main memory comes a working set only: its
scores, its bounds and the square of the kernel matrix, on which pair steps are made. On
a device a block costs little more than reading it from a cache would, so that nothing
is cached, and nothing is shrunk; a round trip costs more than on a CPU, so that the
working sets are larger. Kernels are computed in the type that `kernel_row_dtype` allows
and the sums (1) are added to scores in float64; float32 sums are computed anew in
float64 at the end (see `optim/constraints/smo.py`).

The exponent of a Gaussian kernel is the product of two factors, which are made once
for all rows. Tensors in main memory are read as NumPy arrays.

Fitted attributes are NumPy arrays, which a model that was saved can use on any machine;
predictions come back in the library and on the device of the rows that are asked about.
"""

from copy import copy
from typing import Any

import numpy as np

from ..core.arrays import arrays
from ..kernels import get_kernel
from ..kernels.base import exponential_in_place, exponential_product

DEVICE_WORKING = 1024  # variables of a working set at first


def is_on_device(X) -> bool:
    """Whether X is a tensor outside main memory."""
    return arrays.is_foreign(X) and not str(arrays.device(X)).startswith("cpu")


def take_tensor_rows(X, index):
    """Some rows of a tensor."""
    xp = arrays.namespace(X)
    return xp.take(X, xp.asarray(index, device=arrays.device(X)), axis=0)


class DeviceRows:
    """Blocks of the kernel matrix of a tensor of rows; see the module text.

    Parameters
    ----------
    spec : KernelSpec
    X : tensor of shape (n, d), float64
    dtype : dtype
        In which blocks are computed unless they must be exact.
    """

    threaded = True

    def __init__(self, spec, X, dtype=np.float64):
        self.kernel = _device_kernel(spec)
        self.dtype = np.dtype(dtype)
        factors = self.kernel.exponent_factors(X, X)
        self.exponential = factors is not None
        self.keep_parts((X, X) if factors is None else factors)

    def keep_parts(self, double):
        """Keep what blocks are made of, the rows or the factors, in both types."""
        xp = arrays.namespace(*double)
        self.n = int(double[0].shape[0])
        self.double = self.single = double
        if self.dtype == np.float32:
            self.single = tuple(xp.astype(part, xp.float32) for part in double)

    def subset(self, members):
        """Rows of some of the members."""
        rows = copy(self)
        rows.keep_parts(tuple(take_tensor_rows(part, members) for part in self.double))
        return rows

    def asarray(self, values, dtype=None) -> Any:
        """An array on the device of the rows."""
        values = np.asarray(values)
        values = values if values.flags.writeable else values.copy()
        X = self.double[0]
        return arrays.namespace(X).asarray(values, dtype=dtype, device=arrays.device(X))

    def __call__(self, index, columns):
        """K[index][:, columns] in main memory."""
        return arrays.to_numpy(self.block(index, columns))

    def block(self, index, columns, exact=True) -> Any:
        """K[index][:, columns] on the device."""
        A, B = self.double if exact else self.single
        A, B = take_tensor_rows(A, index), take_tensor_rows(B, columns)
        if not self.exponential:
            return self.kernel.block(A, B)
        return exponential_in_place(A @ arrays.namespace(A).matrix_transpose(B))

    def square(self, index, exact=True):
        """K[index][:, index] in main memory and float64, for a short time."""
        K = self.block(index, index, exact)
        xp = arrays.namespace(K)
        return arrays.to_scratch(xp.astype(K, xp.float64, copy=False))

    def whole(self, index):
        """`square`, exactly symmetric."""
        K = self.square(index)
        return np.tril(K) + np.tril(K, -1).T

    def weighted_sum(self, index, weights, exact=True) -> Any:
        """sum_i weights_i k(x_i, x_j) for all rows j, eq. (1), on the device."""
        A, B = self.double if exact else self.single
        xp = arrays.namespace(A)
        weights = self.asarray(weights, A.dtype)[:, None]
        B = take_tensor_rows(B, index)
        if self.exponential:
            sums = exponential_product(A, B, weights)
        else:
            sums = self.kernel.matmul(A, B, weights)
        return xp.astype(sums[:, 0], xp.float64)


class ComputedRows:
    """Rows of a kernel matrix that are not cached: what `RowCache` gives the solver.

    Parameters
    ----------
    training : DeviceRows
    members : array of int
        The rows that the problem has.
    """

    whole = None
    evicted = False  # so that no columns are dropped

    def __init__(self, training, members):
        is_every_row = np.array_equal(members, np.arange(training.n))
        self.training = training if is_every_row else training.subset(members)
        self.n = len(members)
        self.columns = np.arange(self.n)
        self.capacity = self.n
        self.working = DEVICE_WORKING
        self.dtype = training.dtype
        self.rounded = training.dtype == np.float32
        self.asarray = self.training.asarray

    def slots_of(self, index):
        return index

    def square(self, index, slots, places):
        return self.training.square(index, exact=not self.rounded)

    def add_rows(self, slots, weights, out):
        """out += weights @ K[slots], on the device."""
        if len(slots):
            out += self.training.weighted_sum(slots, weights, exact=not self.rounded)

    def products(self, index, b):
        """(K b)[index] for multipliers b of all rows, in float64."""
        support = np.flatnonzero(b)
        sums = self.asarray(np.zeros(self.n))
        if len(support):
            sums = self.training.weighted_sum(support, b[support])
        return take_tensor_rows(sums, index)


def _device_kernel(spec):
    """The kernel of a `KernelSpec` as one of `pansophy.kernels`."""
    return get_kernel(
        spec.kernel, gamma=spec.gamma, degree=spec.degree, coef0=spec.coef0
    )


def device_expansion(spec, X, support, coef) -> Any:
    """k(X, support) coef^T in main memory for a tensor X; coef (t, n_support)."""
    support = arrays.asarray(np.asarray(support, dtype=np.float64), like=X)
    sums = _device_kernel(spec).matmul(X, support, np.ascontiguousarray(coef.T))
    return arrays.to_numpy(sums)


def answer_like(answer, X) -> Any:
    """A NumPy answer in the library of X and on its device; labels of text stay."""
    if not arrays.is_foreign(X) or answer.dtype.kind not in "fiub":
        return answer
    return arrays.namespace(X).asarray(answer, device=arrays.device(X))

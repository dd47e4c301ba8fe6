"""Kernel rows of tensors: computed on their device each time they are used.

The solver of `optim/smo.py` keeps multipliers and scores in main memory, 8 bytes a row,
and makes its pair steps there. What takes the time of large fits, blocks of the kernel
matrix and their products with the changes of a working set, is done where the rows are:

    sum_{i in S} c_i k(x_i, x_j)  for all rows j                                   (1)

by the tiles of `matmul` of a kernel, in float64 and in memory O(n) plus a tile; only
the n sums come back. On a device a block costs less than reading it from a cache in
main memory, so that nothing is cached, and nothing is shrunk. Tensors in main memory
are read as NumPy arrays.

Fitted attributes are NumPy arrays, which a model that was saved can use on any machine;
predictions come back in the library and on the device of the rows that are asked about.
"""

from typing import Any

import numpy as np

from ..core import arrays
from ..kernels import get_kernel


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
    """

    dtype = np.dtype(np.float64)
    threaded = True

    def __init__(self, spec, X):
        self.kernel = device_kernel(spec)
        self.X = X
        self.n = int(X.shape[0])

    def rows(self, index):
        every = len(index) == self.n and (np.diff(index) == 1).all()
        return self.X if every else take_tensor_rows(self.X, index)

    def __call__(self, index, columns):
        """K[index][:, columns] in main memory."""
        K = self.kernel(self.rows(index), self.rows(columns))
        return np.ascontiguousarray(arrays.to_numpy(K))

    def square(self, index):
        """K[index][:, index] in main memory."""
        return self(index, index)

    def whole(self, index):
        """`square`, exactly symmetric."""
        K = self.square(index)
        return np.tril(K) + np.tril(K, -1).T

    def weighted_sum(self, index, weights, columns):
        """sum_i weights_i K[index_i][columns], eq. (1), in main memory."""
        sums = self.kernel.matmul(self.rows(columns), self.rows(index), weights)
        return arrays.to_numpy(sums)


class ComputedRows:
    """Rows of a kernel matrix that are not cached: what `RowCache` gives the solver.

    Parameters
    ----------
    training : DeviceRows
    members : array of int
        The rows of X that the problem has.
    """

    whole = None
    evicted = False  # so that no columns are dropped

    def __init__(self, training, members):
        self.training = training
        self.members = members
        self.n = len(members)
        self.dtype = training.dtype
        self.columns = np.arange(self.n)
        self.capacity = self.n

    def slots_of(self, index):
        return index

    def square(self, index, slots, places):
        return self.training.square(self.members[index])

    def add_rows(self, slots, weights, out):
        """out += weights @ K[slots]."""
        if len(slots):
            out += self.training.weighted_sum(
                self.members[slots], weights, self.members
            )

    def products(self, index, b):
        """(K b)[index] for multipliers b of all rows."""
        support = np.flatnonzero(b)
        if not len(support):
            return np.zeros(len(index))
        return self.training.weighted_sum(
            self.members[support], b[support], self.members[index]
        )


def device_kernel(spec):
    """The kernel of a `KernelSpec` as one of `pansophy.kernels`."""
    return get_kernel(
        spec.kernel, gamma=spec.gamma, degree=spec.degree, coef0=spec.coef0
    )


def device_expansion(spec, X, support, coef) -> Any:
    """k(X, support) coef^T in main memory for a tensor X; coef (t, n_support)."""
    support = arrays.asarray(np.asarray(support, dtype=np.float64), like=X)
    sums = device_kernel(spec).matmul(X, support, np.ascontiguousarray(coef.T))
    return arrays.to_numpy(sums)


def answer_like(answer, X) -> Any:
    """A NumPy answer in the library of X and on its device; labels of text stay."""
    if not arrays.is_foreign(X) or answer.dtype.kind not in "fiub":
        return answer
    return arrays.namespace(X).asarray(answer, device=arrays.device(X))

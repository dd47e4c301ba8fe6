"""Base class of kernels k(x, z), and their algebra: sums, products, powers.

A kernel is a positive semi-definite function; sums, products, whole powers, positive
multiples and exponentials of kernels are kernels again, and so is k(g(x), g(z)):

    (k + l)(x, z) = k + l      (k * l)(x, z) = k l      (k ** p)(x, z) = k^p    (1)
    k.exp()(x, z) = exp(k)     k.on(g)(x, z) = k(g(x), g(z))                    (2)

`2.0 * k` and `k + 1.0` use a `Constant`; `k.on([0, 2])` sees those columns only. The
parameters that can be learnt are seen as one vector theta of their logarithms, in which
Gaussian-process practice optimises: `k.theta` reads it, `k.theta_names` says what its
entries are, `k.with_theta(theta)` gives the kernel with others (kernels never change).
`k.fixed()` takes a kernel's parameters out of theta. `k.get_params()` and
`k.with_params(left__noise=0.1)` know every field by its name, as searches name them.

Five things are computed, all of them by tiles and by threads:

    k(X, Z)              K, (n, m); k(X) is symmetric with diag(X) on its diagonal  (3)
    k.matmul(X, Z, V)    K V, in memory O(n + m) and a tile                         (4)
    k.contract(X, Z, W)  sum_ij W_ij dK_ij / d theta, (p,), a tile at a time        (5)
    k.contract_inputs(X, Z, W)   sum_j W_ij dk(x_i, z_j) / dx_i, (n, d)             (6)
    k.gradient(X, Z)     dK / d theta, (p, n, m): for small problems and tests

W of (5) is a matrix (n, m) or a pair (U, V) that stands for U V^T. Z = None means the
rows of X themselves. That matters for `White`, whose value is that of a row with
itself: it is in k(X), k.matmul(X, None, V) and k.contract(X, None, W), and zero between
two sets of rows even where they hold equal ones.

A member gives `block(X, Z)` and `gradient_block(X, Z)` for arrays of rows, `diag(X)`
and, as `learnt`, the names of its fields that make up theta. A better `contract_block`
or a `gradient_diag` may be added, and an `input_block` in place of the differences
that (6) otherwise takes. Everything is array mathematics, so NumPy arrays and
tensors both work and stay on their device; kernels with `takes_sparse` also take
SciPy's sparse matrices, and those without `requires_vector_input` take other objects
than rows of numbers.

Shapes    X (n, d)   Z (m, d)   K (n, m)   V (m, k)   theta (p,)   gradient (p, n, m)
Refs      [ScholkopfSmola2002] ch. 13; [Rasmussen2006] ch. 4, 5
"""

import dataclasses
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ..core.arrays.arrays import (
    asarray,
    device,
    is_foreign,
    is_torch,
    namespace,
    to_numpy,
)
from ..core.loops import threads
from ..core.loops.triton_support import has_triton
from ..distances.pairwise_metrics import (
    DEVICE,
    TILE,
    as_float_rows,
    block_slices,
    map_tiles,
)
from ..params import check_count

ON_DEVICE = 1 << 26  # entries of a tile on a device that is used at once
TILE_BYTES = 1 << 27  # of a tile of exponentials on a device
WIDE = 512  # rows by columns of a tile that is used at once and not kept
LOOKED_AT = 500  # rows of which the eigenvalues are looked at
LISTED = 8  # numbers of a parameter that are printed


class IndefiniteKernelWarning(UserWarning):
    """A function used as a kernel is not positive semi-definite."""


class AbstractKernel(ABC):
    """Contract of every kernel; members write the methods below the line."""

    learnt: ClassVar[tuple[str, ...]] = ()  # fields whose logarithms are theta
    takes_sparse: ClassVar[bool] = False
    requires_vector_input: ClassVar[bool] = True
    takes_any_input: ClassVar[bool] = False  # does not look at the values of X
    has_white_noise: ClassVar[bool] = False  # k(x, x) of a row with itself is special
    is_psd: ClassVar[bool] = True  # whatever the rows; if not, k(X) looks and warns

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        cls.__repr__ = cls.__repr__  # so that `dataclass` does not write another

    def __repr__(self):
        arguments = [
            f"{field.name}={_short_text(getattr(self, field.name))}"
            for field in dataclasses.fields(self)  # pyrefly: ignore
            if field.repr
        ]
        return f"{type(self).__name__}({', '.join(arguments)})"

    def __sklearn_clone__(self):
        return self  # kernels never change

    def get_params(self, deep=True) -> dict[str, Any]:
        """The fields by name, and with `deep` those of inner kernels as "left__noise".

        Examples
        --------
        >>> from pansophy.kernels import RBF, White
        >>> sorted((RBF(2.0) + White()).get_params())
        ['left', 'left__length_scale', 'right', 'right__noise']
        """
        known: Any = self
        params = {f.name: getattr(self, f.name) for f in dataclasses.fields(known)}
        parts = {k: v for k, v in params.items() if isinstance(v, AbstractKernel)}
        if deep:
            for name, part in parts.items():
                inner = part.get_params().items()
                params |= {f"{name}__{key}": value for key, value in inner}
        return params

    def with_params(self, **params) -> "AbstractKernel":
        """A copy with other parameters, named as in `get_params`.

        Examples
        --------
        >>> from pansophy.kernels import RBF, White
        >>> (RBF() + White()).with_params(left__length_scale=2, right__noise=0.5)
        RBF(length_scale=2) + White(noise=0.5)
        """
        known = self.get_params(deep=False)
        changed = {}
        inner: dict[str, dict] = {}
        for key, value in params.items():
            name, _, rest = key.partition("__")
            part = params.get(name, known.get(name))
            if name not in known or (rest and not isinstance(part, AbstractKernel)):
                raise ValueError(
                    f"{type(self).__name__} has no parameter {key!r}; it has "
                    f"{', '.join(self.get_params()) or 'none'}."
                )
            if rest:
                inner.setdefault(name, {})[rest] = value
            else:
                changed[name] = value
        for name, values in inner.items():
            changed[name] = changed.get(name, known[name]).with_params(**values)
        kernel: Any = self
        return dataclasses.replace(kernel, **changed)

    def __call__(self, X, Z=None):
        """The matrix of k(x, z), eq. (3); Z = None means X."""
        rows, other_rows = self.as_rows(X, Z)
        if 0 in (rows.shape[0], other_rows.shape[0]):
            return empty_block(rows, other_rows)
        if Z is not None:
            return map_tiles(self.block, rows, other_rows, dtype=_block_dtype(rows))
        K = symmetric_gram_matrix(self, rows)
        if not self.is_psd:
            warn_if_indefinite(self, K)
        return K

    def matmul(self, X, Z, V):
        """k(X, Z) V by tiles, eq. (4), for a vector or a matrix V; Z = None means X.

        Examples
        --------
        >>> import numpy as np
        >>> from pansophy.kernels import Linear
        >>> Linear().matmul([[1.0], [2.0]], [[3.0], [4.0]], np.array([1.0, 1.0]))
        array([ 7., 14.])
        """
        rows, other_rows = self.as_rows(X, Z)
        V = _values_like(V, rows)
        if V.ndim not in (1, 2) or V.shape[0] != other_rows.shape[0]:
            raise ValueError(
                f"V of matmul must have {other_rows.shape[0]} rows, got shape "
                f"{tuple(V.shape)}."
            )
        columns = V if V.ndim == 2 else V[:, None]
        if 0 in (rows.shape[0], other_rows.shape[0]):
            product = empty_block(rows, other_rows) @ columns
        elif Z is None:
            product = _symmetric_product(self, rows, columns)
        else:
            product = _cross_product(self, rows, other_rows, columns)
        return product if V.ndim == 2 else product[:, 0]

    def contract(self, X, Z, W) -> np.ndarray:
        """sum_ij W_ij dK_ij / d theta by tiles, eq. (5); a NumPy array of shape (p,).

        Parameters
        ----------
        X, Z : rows; Z = None means X
        W : array of shape (n, m), or a pair (U, V) for U V^T

        Examples
        --------
        >>> import numpy as np
        >>> from pansophy.kernels import RBF
        >>> X = np.array([[0.0], [1.0]])
        >>> RBF().contract(X, None, np.ones((2, 2))).round(6)
        array([1.213061])
        """
        rows, other_rows = self.as_rows(X, Z)
        n, m = int(rows.shape[0]), int(other_rows.shape[0])
        weights = ContractionWeights.of(W, rows, (n, m))
        total = np.zeros(len(self.theta))
        if len(total) == 0 or 0 in (n, m):
            return total
        tasks = _contraction_tasks(
            self, rows, None if Z is None else other_rows, weights
        )
        if is_foreign(rows):
            parts = (task() for task in tasks)
        else:
            parts = threads.run_tasks(tasks, blas=True)
        for part in parts:
            total += part
        return total

    def contract_inputs(self, X, Z, W):
        """sum_j W_ij dk(x_i, z_j) / dx_i by blocks of rows, eq. (6); (n, d).

        What white noise adds to a row with itself does not count.

        Examples
        --------
        >>> import numpy as np
        >>> from pansophy.kernels import Linear
        >>> Linear().contract_inputs([[1.0]], [[3.0], [4.0]], np.array([[1.0, 2.0]]))
        array([[11.]])
        """
        rows, other_rows = self.as_rows(X, Z)
        n, m = int(rows.shape[0]), int(other_rows.shape[0])
        W = ContractionWeights.of(W, rows, (n, m))
        all_columns = slice(0, m)

        def block(cut):
            return self.input_block(
                row_slice(rows, cut), other_rows, W.tile(cut, all_columns)
            )

        if is_foreign(rows):
            parts = [block(cut) for cut in block_slices(n, _device_step(m))]
        else:
            tasks = [(lambda c=c: block(c)) for c in block_slices(n, WIDE)]
            parts = list(threads.run_tasks(tasks, blas=True))
        return array_namespace(rows).concat(parts)

    def gradient(self, X, Z=None):
        """dK / d theta, of shape (p, n, m): all of it at once."""
        rows, other_rows = self.as_rows(X, Z)
        parts = self.gradient_block(rows, other_rows)
        xp = array_namespace(rows)
        if not parts:
            return empty_block(rows, other_rows)[None, :, :][:0, :, :]
        G = xp.stack(parts)
        if Z is None and self.has_white_noise:
            diagonal = xp.eye(rows.shape[0], dtype=xp.bool, device=device(rows))
            G = xp.where(diagonal, xp.stack(self.gradient_diag(rows))[:, :, None], G)
        return G

    def as_rows(self, X, Z=None):
        """X and Z (X itself if None) as `block` takes them."""
        if self.takes_any_input and holds_objects(X):
            return object_rows(X, Z)
        if sparse.issparse(X) or sparse.issparse(Z):
            if not self.takes_sparse:
                raise TypeError(
                    f"{type(self).__name__} does not take sparse rows: give X.toarray()"
                    "."
                )
            return _sparse_float_rows(X, Z)
        return as_float_rows(X, Z)

    @property
    def theta(self) -> np.ndarray:
        """Logarithms of the parameters that can be learnt, (p,)."""
        parts = [np.atleast_1d(getattr(self, name)) for name in self._free]
        return np.log(np.concatenate(parts)) if parts else np.empty(0)

    @property
    def theta_names(self) -> tuple[str, ...]:
        """Names of the entries of theta: "length_scale", "left.length_scale[1]", ..."""
        names: list[str] = []
        for name in self._free:
            value = getattr(self, name)
            is_scalar = not isinstance(value, tuple)
            names += (
                [name] if is_scalar else [f"{name}[{j}]" for j in range(len(value))]
            )
        return tuple(names)

    def with_theta(self, theta) -> "AbstractKernel":
        """A copy with other parameters."""
        values = np.exp(np.asarray(theta, dtype=float))
        changed: dict[str, Any] = {}
        start = 0
        for name in self._free:
            old = getattr(self, name)
            size = len(old) if isinstance(old, tuple) else 1
            new = values[start : start + size]
            changed[name] = tuple(new.tolist()) if isinstance(old, tuple) else new[0]
            start += size
        if start != len(values):
            raise ValueError(
                f"theta of {self!r} has {start} entries, got {len(values)}."
            )
        kernel: Any = self
        return dataclasses.replace(kernel, **changed) if changed else self

    @property
    def _free(self):
        """Learnt fields that are not at 0, where there is no logarithm."""
        return [name for name in self.learnt if np.all(getattr(self, name))]

    def __add__(self, other):
        return _combine_kernels(Sum, self, other)

    def __radd__(self, other):
        return _combine_kernels(Sum, other, self)

    def __mul__(self, other):
        return _combine_kernels(Product, self, other)

    def __rmul__(self, other):
        return _combine_kernels(Product, other, self)

    def __pow__(self, power):
        return Power(self, power)

    def exp(self):
        """exp(k), eq. (2)."""
        return Exponential(self)

    def on(self, columns):
        """k on some columns, or k(g(x), g(z)) for a function g of rows, eq. (2).

        Examples
        --------
        >>> from pansophy.kernels import Linear
        >>> Linear().on([1])([[5.0, 2.0]], [[7.0, 3.0]])
        array([[6.]])
        """
        if callable(columns):
            return TransformedInput(self, columns)
        return Columns(self, columns)

    def fixed(self, *names):
        """A copy with some parameters, or all, taken out of theta.

        Examples
        --------
        >>> from pansophy.kernels import RationalQuadratic
        >>> RationalQuadratic().fixed("alpha").theta_names
        ('length_scale',)
        """
        return Fixed(self, names or None)

    def without_noise(self) -> "AbstractKernel":
        """A copy, theta included, without what white noise adds to a row.

        Examples
        --------
        >>> from pansophy.kernels import RBF, White
        >>> (RBF() + White(0.5)).without_noise().diag([[1.0], [2.0]])
        array([1., 1.])
        """
        return WithoutNoise(self) if self.has_white_noise else self

    # -- what a member writes ------------------------------------------------------

    @abstractmethod
    def block(self, X, Z) -> Any:
        """k for all pairs of rows, without cutting into blocks."""

    @abstractmethod
    def diag(self, X) -> Any:
        """k(x, x) for every row."""

    def gradient_block(self, X, Z) -> list:
        """dK / d theta_i for each i; none for a kernel without parameters."""
        return []

    # -- what a member may write ---------------------------------------------------

    def contract_block(self, X, Z, W) -> list:
        """sum W_ij dK_ij / d theta of one tile, one number for each parameter."""
        xp = array_namespace(X)
        return [xp.sum(g * W) for g in self.gradient_block(X, Z)]

    def input_block(self, X, Z, W) -> Any:
        """Eq. (6) for arrays of rows: central differences, column by column."""
        xp = namespace(X)
        step = float(xp.finfo(X.dtype).eps) ** (1 / 3)
        columns = []
        for j in range(int(X.shape[1])):
            h = step * max(1.0, float(xp.max(xp.abs(X[:, j]))))
            unit = np.zeros(int(X.shape[1]))
            unit[j] = h
            move = asarray(unit, like=X)
            change = self.block(X + move, Z) - self.block(X - move, Z)
            columns.append(xp.sum(W * change, axis=1) / (2 * h))
        return xp.stack(columns, axis=1)

    def exponent_factors(self, X, Z) -> tuple | None:
        """A and B with k(X, Z) = exp(A B^T), for tensors; None if there are none.

        Then a product by tiles makes them once instead of once a tile.
        """
        return None

    def tile_function(self, X, Z) -> Callable:
        """A function of slices of the rows of X and Z that gives tiles of k(X, Z).

        A member may make what all tiles need once.
        """
        return lambda r, c: self.block(row_slice(X, r), row_slice(Z, c))

    def tensor_matmul(self, X, Z, V):
        """k(X, Z) V, eq. (4), for tensors X, Z and V (m, k)."""
        factors = self.exponent_factors(X, Z)
        if factors is not None:
            A, B = factors
            return exponential_product(A, B, V)
        cuts = block_slices(int(X.shape[0]), _device_step(int(Z.shape[0])))
        parts = [self.block(X[cut, :], Z) @ V for cut in cuts]
        return parts[0] if len(parts) == 1 else namespace(X).concat(parts)

    def gradient_diag(self, X) -> list:
        """d k(x, x) / d theta_i for each i, (n,) each."""
        xp = array_namespace(X)
        parts = []
        for cut in block_slices(int(X.shape[0]), 64):
            x = row_slice(X, cut)
            parts.append([xp.linalg.diagonal(g) for g in self.gradient_block(x, x)])
        return [xp.concat(list(column)) for column in zip(*parts, strict=True)]


def array_namespace(X):
    """The namespace of the arrays made from X: NumPy's for a sparse matrix."""
    return namespace() if sparse.issparse(X) else namespace(X)


def row_slice(X, cut):
    """Some rows: array libraries other than NumPy want an index for each axis."""
    return X[cut, :] if is_foreign(X) else X[cut]


def _values_like(V, X):
    """V in the library, dtype and device of the rows X."""
    if is_foreign(X):
        return asarray(V, like=X)
    return np.asarray(to_numpy(V), dtype=_block_dtype(X))


def holds_objects(X) -> bool:
    """Whether rows are strings or other objects rather than numbers."""
    if sparse.issparse(X) or is_foreign(X):
        return False
    if hasattr(X, "dtype"):
        return X.dtype.kind in "OUST"
    return len(X) > 0 and isinstance(X[0], (str, bytes))


def takes_objects(kernel) -> bool:
    """Whether a parameter `kernel` is a kernel of strings or other objects."""
    return isinstance(kernel, AbstractKernel) and not kernel.requires_vector_input


def object_rows(X, Z=None):
    """Sequences or other objects as arrays of one object a row."""
    rows = []
    for A in (X,) if Z is None else (X, Z):
        if isinstance(A, (str, bytes)):
            raise ValueError("rows must be a list of sequences, got one text.")
        out = np.empty(len(A), dtype=object)
        for i, a in enumerate(A):
            out[i] = a
        rows.append(out)
    return rows[0], rows[-1]


def _block_dtype(X):
    """The NumPy dtype of numbers computed from rows; None for a tensor."""
    if is_foreign(X):
        return None
    dtype = getattr(X, "dtype", None)
    return dtype if dtype is not None and dtype.kind == "f" else np.dtype(float)


def _sparse_float_rows(X, Z=None):
    """Sparse rows in CSR form and floating point; a dense Z becomes sparse too."""
    X = sparse.csr_array(X)
    Z = X if Z is None else sparse.csr_array(Z)
    if X.shape[1] != Z.shape[1]:
        raise ValueError(
            f"rows of {X.shape[1]} columns cannot be compared with an array of shape "
            f"{tuple(Z.shape)}."
        )
    common = np.result_type(X.dtype, Z.dtype)
    common = common if common.kind == "f" else np.dtype(np.float64)
    is_same = X is Z
    X = X.astype(common, copy=False)
    return X, X if is_same else Z.astype(common, copy=False)


def empty_block(X, Z):
    """Zeros of shape (n, m), in the library of the rows."""
    if is_foreign(X):
        shape = (X.shape[0], Z.shape[0])
        return namespace(X).zeros(shape, dtype=X.dtype, device=device(X))
    return np.zeros((X.shape[0], Z.shape[0]), _block_dtype(X))


def full_diag(X, value):
    """`value` for every row."""
    if is_foreign(X):
        return namespace(X).full((X.shape[0],), value, dtype=X.dtype, device=device(X))
    return np.full(X.shape[0], value, _block_dtype(X))


def symmetric_gram_matrix(kernel, X, *, mirrored=True):
    """k(X, X): the lower half by tiles, mirrored unless that is not needed."""
    n = int(X.shape[0])
    if is_foreign(X):
        return _symmetric_gram_tensor(kernel, X)
    K = (np.empty if mirrored else np.zeros)((n, n), _block_dtype(X))
    fill = partial(_fill_gram_rows, kernel.tile_function(X, X), K, TILE, mirrored)
    for _ in threads.run_tasks(
        (partial(fill, r) for r in block_slices(n, TILE)), blas=True
    ):
        pass
    K.flat[:: n + 1] = kernel.diag(X)
    return K


def _symmetric_gram_tensor(kernel, X):
    """k(X, X) on the device of X."""
    xp = namespace(X)
    n = int(X.shape[0])
    K = xp.empty((n, n), dtype=X.dtype, device=device(X))
    tile = max(1, int(ON_DEVICE**0.5))
    tile_of = kernel.tile_function(X, X)
    for rows in block_slices(n, tile):
        _fill_gram_rows(tile_of, K, tile, True, rows)
    if is_torch(K):
        K.diagonal().copy_(kernel.diag(X))
        return K
    diagonal = xp.eye(n, dtype=xp.bool, device=device(X))
    return xp.where(diagonal, kernel.diag(X)[:, None], K)


def _fill_gram_rows(tile_of, K, tile, mirrored, rows):
    """Write k(x, z) for some rows x and the rows z up to them, and its mirror image."""
    transpose = namespace(K).matrix_transpose
    for columns in block_slices(rows.start, tile):
        part = tile_of(rows, columns)
        K[rows, columns] = part
        if mirrored:
            K[columns, rows] = transpose(part)
    square = tile_of(rows, rows)
    K[rows, rows] = 0.5 * (square + transpose(square))


def exponential_in_place(T):
    """exp(T), in place where the library can."""
    if is_torch(T):
        return T.exp_()
    return namespace(T).exp(T) if is_foreign(T) else np.exp(T, out=T)


def warn_if_indefinite(kernel, K):
    """Warn if the first rows of a Gram matrix show a negative eigenvalue."""
    part = np.asarray(to_numpy(K[:LOOKED_AT, :LOOKED_AT]), dtype=np.float64)
    values = np.linalg.eigvalsh(part) if np.isfinite(part).all() else np.zeros(1)
    if values[0] < -1e-8 * max(values[-1], 0.0):
        warnings.warn(
            f"{kernel!r} is not positive semi-definite on these rows (least eigenvalue "
            f"{values[0]:.3g}): a fit with it may have no optimum or several.",
            IndefiniteKernelWarning,
            stacklevel=3,
        )


def _device_step(m) -> int:
    """Rows of a block with m columns that is used at once, on a device."""
    return max(1, ON_DEVICE // max(m, 1))


def _cross_product(kernel, X, Z, V):
    """k(X, Z) V, eq. (4): each task makes some rows of the answer."""
    if is_foreign(X):
        return kernel.tensor_matmul(X, Z, V)
    n, m = int(X.shape[0]), int(Z.shape[0])
    out = np.empty((n, V.shape[1]), V.dtype)
    tile_of = kernel.tile_function(X, Z)

    def fill(rows):
        total = np.zeros((rows.stop - rows.start, V.shape[1]), V.dtype)
        for columns in block_slices(m, WIDE):
            total += tile_of(rows, columns) @ V[columns]
        out[rows] = total

    for _ in threads.run_tasks(
        ((lambda r=r: fill(r)) for r in block_slices(n, WIDE)), blas=True
    ):
        pass
    return out


def exponential_product(A, B, V):
    """exp(A B^T) V for tensors: one kernel on CUDA, elsewhere by tiles.

    A tile is written by a matrix product, exponentiated in place and read once.
    """
    if is_torch(A) and A.is_cuda and has_triton():
        from . import _exponential_product_triton as fused

        if fused.takes(A, B, V):
            return fused.exponential_product(A, B, V)
    xp = namespace(A)
    n, m = int(A.shape[0]), int(B.shape[0])
    entries = TILE_BYTES // (xp.finfo(A.dtype).bits // 8)
    width = min(m, max(1, int(entries**0.5)))
    height = min(n, max(1, entries // width))
    out = xp.zeros((n, V.shape[1]), dtype=A.dtype, device=device(A))
    columns = block_slices(m, max(1, entries // height))
    for rows in block_slices(n, height):
        a = A[rows, :]
        for cut in columns:
            T = exponential_in_place(a @ xp.matrix_transpose(B[cut, :]))
            out[rows, :] += T @ V[cut, :]
    return out


def _symmetric_product(kernel, X, V):
    """k(X, X) V, eq. (4): each tile below the diagonal is made once and used twice.

    The task of rows r adds to the rows before r too; its parts are summed in the
    order of the tasks, so the answer does not depend on the number of threads.
    """
    n = int(X.shape[0])
    if is_foreign(X):
        product = _cross_product(kernel, X, X, V)
        if not kernel.has_white_noise:
            return product
        return product + white_difference(kernel, X)[:, None] * V
    product = np.zeros((n, V.shape[1]), V.dtype)
    tile_of = kernel.tile_function(X, X)

    def products(rows):
        part = np.zeros((rows.stop, V.shape[1]), V.dtype)
        for columns in block_slices(rows.start, WIDE):
            T = tile_of(rows, columns)
            part[rows] += T @ V[columns]
            part[columns] += T.T @ V[rows]
        T = tile_of(rows, rows)
        np.fill_diagonal(T, kernel.diag(X[rows]))
        part[rows] += T @ V[rows]
        return part

    for part in threads.run_tasks(
        ((lambda r=r: products(r)) for r in block_slices(n, WIDE)), blas=True
    ):
        product[: len(part)] += part
    return product


def white_difference(kernel, X):
    """k(x, x) of a row with itself, less that of two equal rows."""
    return kernel.diag(X) - kernel.without_noise().diag(X)


@dataclass(frozen=True)
class ContractionWeights:
    """W of eq. (5): a matrix, or the factors U, V of U V^T."""

    matrix: Any = None
    U: Any = None
    V: Any = None

    @classmethod
    def of(cls, W, X, shape):
        """W checked against the shape it must have, beside the rows X."""
        if isinstance(W, tuple):
            U, V = (_values_like(A, X) for A in W)
            U, V = (A if A.ndim == 2 else A[:, None] for A in (U, V))
            explanation = (U.shape[0], V.shape[0])
            weights = cls(U=U, V=V)
        else:
            weights = cls(matrix=_values_like(W, X))
            explanation = tuple(weights.matrix.shape)
        if explanation != shape:
            raise ValueError(
                f"W of contract must be of shape {shape}, got {explanation}."
            )
        return weights

    def tile(self, rows, columns):
        """W for one tile."""
        if self.matrix is not None:
            return self.matrix[rows, columns]
        right = self.V[columns, :]
        return self.U[rows, :] @ namespace(right).matrix_transpose(right)


def _contraction_tasks(kernel, X, Z, weights):
    """Functions without arguments whose sums are eq. (5); Z = None means X.

    The symmetric case adds W_ij and W_ji on the tiles below the diagonal.
    """
    n = int(X.shape[0])
    m = n if Z is None else int(Z.shape[0])
    wide = WIDE if not is_foreign(X) else max(1, int(DEVICE**0.5))

    def cross(rows):
        x = row_slice(X, rows)
        total: Any = 0.0
        for columns in block_slices(m, wide):
            part = kernel.contract_block(
                x, row_slice(Z, columns), weights.tile(rows, columns)
            )
            total = total + _numbers_of(part)
        return total

    def symmetric(rows):
        x = row_slice(X, rows)
        total = _contract_square(kernel, x, weights.tile(rows, rows))
        for columns in block_slices(rows.start, wide):
            mirrored = weights.tile(columns, rows)
            W = weights.tile(rows, columns) + namespace(mirrored).matrix_transpose(
                mirrored
            )
            total = total + _numbers_of(
                kernel.contract_block(x, row_slice(X, columns), W)
            )
        return total

    contract_rows = symmetric if Z is None else cross
    return [(lambda r=r: contract_rows(r)) for r in block_slices(n, wide)]


def _contract_square(kernel, X, W):
    """Eq. (5) for a tile on the diagonal: a row with itself counts by its own rule."""
    if not kernel.has_white_noise:
        return _numbers_of(kernel.contract_block(X, X, W))
    xp = namespace(W)
    w = xp.linalg.diagonal(W)
    off_diagonal = W * (1 - xp.eye(W.shape[0], dtype=W.dtype, device=device(W)))
    total = _numbers_of(kernel.contract_block(X, X, off_diagonal))
    return total + _numbers_of([xp.sum(g * w) for g in kernel.gradient_diag(X)])


def _numbers_of(parts) -> np.ndarray:
    """Scalars of any array library as one float64 vector, in one transfer."""
    if parts and is_foreign(parts[0]):
        return np.asarray(to_numpy(namespace(parts[0]).stack(parts)), dtype=np.float64)
    return np.array([float(v) for v in parts])


def _short_text(value) -> str:
    """A parameter in a few characters: six digits, and an array by its shape."""
    if isinstance(value, Real) and not isinstance(value, (Integral, np.bool_)):
        return f"{float(value):.6g}"
    if isinstance(value, (tuple, list)):
        texts = [_short_text(v) for v in value]
        if len(texts) > LISTED:
            texts = [*texts[: LISTED - 2], "...", texts[-1]]
        comma = "," if isinstance(value, tuple) and len(texts) == 1 else ""
        joined = ", ".join(texts)
        return f"({joined}{comma})" if isinstance(value, tuple) else f"[{joined}]"
    if hasattr(value, "shape") and len(value.shape):
        return f"<array of shape {tuple(value.shape)}>"
    if callable(value) and not isinstance(value, AbstractKernel):
        return getattr(value, "__name__", type(value).__name__)
    return repr(value)


def _grouped_text(kernel, loose) -> str:
    """A kernel as a part of an expression, in brackets if it is one of `loose`."""
    return f"({kernel!r})" if isinstance(kernel, loose) else repr(kernel)


def _combine_kernels(kind, a, b):
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

    learnt = ("value",)
    takes_sparse = True
    takes_any_input = True

    def __post_init__(self):
        check_positive_parameter(self, "value", zero=True)

    def block(self, X, Z):
        return empty_block(X, Z) + self.value

    def diag(self, X):
        return full_diag(self.as_rows(X)[0], self.value)

    def exponent_factors(self, X, Z):
        if not self.value > 0:
            return None
        logarithms = full_diag(X, float(np.log(self.value)))
        return logarithms[:, None], full_diag(Z, 1.0)[:, None]

    def gradient_block(self, X, Z):
        return [self.block(X, Z)] if self.value > 0 else []

    def input_block(self, X, Z, W):
        return 0 * X


@dataclass(frozen=True)
class White(AbstractKernel):
    """White noise: k is `noise` for a row with itself and 0 otherwise.

    Two equal rows are two rows: k(X, X) of two sets is 0 even where they are equal.

    Parameters
    ----------
    noise : float, default=1.0
        The variance, at least 0.

    Examples
    --------
    >>> from pansophy.kernels import White
    >>> White(0.5)([[1.0], [1.0]])
    array([[0.5, 0. ], [0. , 0.5]])
    >>> White(0.5)([[1.0]], [[1.0]])
    array([[0.]])
    """

    noise: float = 1.0

    learnt = ("noise",)
    takes_sparse = True
    takes_any_input = True
    has_white_noise = True

    def __post_init__(self):
        check_positive_parameter(self, "noise", zero=True)

    def block(self, X, Z):
        return empty_block(X, Z)

    def diag(self, X):
        return full_diag(self.as_rows(X)[0], self.noise)

    def tensor_matmul(self, X, Z, V):
        shape = (int(X.shape[0]), int(V.shape[1]))
        return namespace(X).zeros(shape, dtype=X.dtype, device=device(X))

    def gradient_block(self, X, Z):
        return [empty_block(X, Z)] if self.noise > 0 else []

    def input_block(self, X, Z, W):
        return 0 * X

    def gradient_diag(self, X):
        return [full_diag(X, self.noise)] if self.noise > 0 else []


@dataclass(frozen=True)
class KernelPair(AbstractKernel):
    """Two kernels made one: what sums and products share."""

    left: AbstractKernel
    right: AbstractKernel

    sign: ClassVar[str] = ""

    def __repr__(self):
        """The parts with a sign between them; one constant is its number."""
        left, right = self.left, self.right
        loose = (Sum,) if isinstance(self, Product) else ()
        texts = [_grouped_text(left, loose), _grouped_text(right, (*loose, type(self)))]
        if isinstance(left, Constant) and not isinstance(right, Constant):
            texts[0] = _short_text(left.value)
        if isinstance(right, Constant) and not isinstance(left, Constant):
            texts[1] = _short_text(right.value)
        return f" {self.sign} ".join(texts)

    def as_rows(self, X, Z=None):
        for part in (self.left, self.right):
            part.as_rows(X, Z)  # a part that does not take X says so
        return (self.right if self.left.takes_any_input else self.left).as_rows(X, Z)

    @property
    def takes_any_input(self):  # pyrefly: ignore
        return self.left.takes_any_input and self.right.takes_any_input

    @property
    def takes_sparse(self):  # pyrefly: ignore
        return self.left.takes_sparse and self.right.takes_sparse

    @property
    def requires_vector_input(self):  # pyrefly: ignore
        parts = (self.left, self.right)
        known = [k.requires_vector_input for k in parts if not k.takes_any_input]
        return any(known) or not known

    @property
    def is_psd(self):  # pyrefly: ignore
        return self.left.is_psd and self.right.is_psd

    @property
    def has_white_noise(self):  # pyrefly: ignore
        return self.left.has_white_noise or self.right.has_white_noise

    def without_noise(self):
        return type(self)(self.left.without_noise(), self.right.without_noise())

    @property
    def theta(self):
        return np.concatenate([self.left.theta, self.right.theta])

    @property
    def theta_names(self):
        left = [f"left.{name}" for name in self.left.theta_names]
        return (*left, *(f"right.{name}" for name in self.right.theta_names))

    def with_theta(self, theta):
        p = len(self.left.theta)
        left = self.left.with_theta(theta[:p])
        return type(self)(left, self.right.with_theta(theta[p:]))


@dataclass(frozen=True)
class Sum(KernelPair):
    """k + l, eq. (1)."""

    sign = "+"

    def block(self, X, Z):
        return self.left.block(X, Z) + self.right.block(X, Z)

    def tile_function(self, X, Z):
        left, right = (k.tile_function(X, Z) for k in (self.left, self.right))
        return lambda r, c: left(r, c) + right(r, c)

    def tensor_matmul(self, X, Z, V):
        return self.left.tensor_matmul(X, Z, V) + self.right.tensor_matmul(X, Z, V)

    def diag(self, X):
        return self.left.diag(X) + self.right.diag(X)

    def gradient_block(self, X, Z):
        return self.left.gradient_block(X, Z) + self.right.gradient_block(X, Z)

    def contract_block(self, X, Z, W):
        left = self.left.contract_block(X, Z, W)
        return left + self.right.contract_block(X, Z, W)

    def input_block(self, X, Z, W):
        return self.left.input_block(X, Z, W) + self.right.input_block(X, Z, W)

    def gradient_diag(self, X):
        return self.left.gradient_diag(X) + self.right.gradient_diag(X)


@dataclass(frozen=True)
class Product(KernelPair):
    """k l, eq. (1)."""

    sign = "*"

    def block(self, X, Z):
        return self.left.block(X, Z) * self.right.block(X, Z)

    def tile_function(self, X, Z):
        left, right = (k.tile_function(X, Z) for k in (self.left, self.right))
        return lambda r, c: left(r, c) * right(r, c)

    def exponent_factors(self, X, Z):
        """exp(A B^T) exp(C D^T) = exp([A, C] [B, D]^T)."""
        left = self.left.exponent_factors(X, Z)
        right = None if left is None else self.right.exponent_factors(X, Z)
        if left is None or right is None:
            return None
        xp = namespace(X)
        return tuple(
            xp.concat(list(factor_pair), axis=1)
            for factor_pair in zip(left, right, strict=True)
        )

    def diag(self, X):
        return self.left.diag(X) * self.right.diag(X)

    def gradient_block(self, X, Z):
        K, L = self.left.block(X, Z), self.right.block(X, Z)
        lefts = [g * L for g in self.left.gradient_block(X, Z)]
        return lefts + [K * g for g in self.right.gradient_block(X, Z)]

    def contract_block(self, X, Z, W):
        """W moves inside: sum W dK L = sum (W L) dK."""
        contractions = []
        if len(self.left.theta):
            contractions += self.left.contract_block(X, Z, W * self.right.block(X, Z))
        if len(self.right.theta):
            contractions += self.right.contract_block(X, Z, W * self.left.block(X, Z))
        return contractions

    def input_block(self, X, Z, W):
        left = self.left.input_block(X, Z, W * self.right.block(X, Z))
        return left + self.right.input_block(X, Z, W * self.left.block(X, Z))

    def gradient_diag(self, X):
        K, L = self.left.diag(X), self.right.diag(X)
        lefts = [g * L for g in self.left.gradient_diag(X)]
        return lefts + [K * g for g in self.right.gradient_diag(X)]


@dataclass(frozen=True)
class WrappedKernel(AbstractKernel):
    """One kernel inside another: what powers, exponentials and `on` share."""

    kernel: AbstractKernel

    def as_rows(self, X, Z=None):
        return self.kernel.as_rows(X, Z)

    @property
    def takes_sparse(self):  # pyrefly: ignore
        return self.kernel.takes_sparse

    @property
    def takes_any_input(self):  # pyrefly: ignore
        return self.kernel.takes_any_input

    @property
    def requires_vector_input(self):  # pyrefly: ignore
        return self.kernel.requires_vector_input

    @property
    def is_psd(self):  # pyrefly: ignore
        return self.kernel.is_psd

    @property
    def has_white_noise(self):  # pyrefly: ignore
        return self.kernel.has_white_noise

    def without_noise(self):
        return dataclasses.replace(self, kernel=self.kernel.without_noise())

    @property
    def theta(self):
        return self.kernel.theta

    @property
    def theta_names(self):
        return self.kernel.theta_names

    def with_theta(self, theta):
        return dataclasses.replace(self, kernel=self.kernel.with_theta(theta))


@dataclass(frozen=True)
class WithoutNoise(WrappedKernel):
    """A kernel whose value of a row with itself is that of two equal rows."""

    def __repr__(self):
        return f"{_grouped_text(self.kernel, (KernelPair, Power))}.without_noise()"

    has_white_noise = False  # pyrefly: ignore

    def without_noise(self):
        return self

    def block(self, X, Z):
        return self.kernel.block(X, Z)

    def diag(self, X):
        X, _ = self.as_rows(X)
        if isinstance(self.kernel, White):
            return full_diag(X, 0.0)
        xp = array_namespace(X)
        parts = []
        for cut in block_slices(int(X.shape[0]), 64):
            x = row_slice(X, cut)
            parts.append(xp.linalg.diagonal(self.kernel.block(x, x)))
        return xp.concat(parts)

    def gradient_block(self, X, Z):
        return self.kernel.gradient_block(X, Z)

    def gradient_diag(self, X):
        if isinstance(self.kernel, White):
            return [full_diag(X, 0.0) for _ in self.kernel.theta]
        return super().gradient_diag(X)

    def input_block(self, X, Z, W):
        return self.kernel.input_block(X, Z, W)


@dataclass(frozen=True)
class Power(WrappedKernel):
    """k^p for a whole p of at least 1, eq. (1)."""

    power: int

    def __repr__(self):
        return f"{_grouped_text(self.kernel, (KernelPair, Power))} ** {self.power}"

    def __post_init__(self):
        check_count("a power of a kernel", self.power)

    def block(self, X, Z):
        return self.kernel.block(X, Z) ** self.power

    def diag(self, X):
        return self.kernel.diag(X) ** self.power

    def _outer(self, K):
        return self.power * K ** (self.power - 1)

    def gradient_block(self, X, Z):
        outer = self._outer(self.kernel.block(X, Z))
        return [outer * g for g in self.kernel.gradient_block(X, Z)]

    def contract_block(self, X, Z, W):
        return self.kernel.contract_block(
            X, Z, W * self._outer(self.kernel.block(X, Z))
        )

    def input_block(self, X, Z, W):
        return self.kernel.input_block(X, Z, W * self._outer(self.kernel.block(X, Z)))

    def gradient_diag(self, X):
        outer = self._outer(self.kernel.diag(X))
        return [outer * g for g in self.kernel.gradient_diag(X)]


@dataclass(frozen=True)
class Exponential(WrappedKernel):
    """exp(k), eq. (2)."""

    def __repr__(self):
        return f"{_grouped_text(self.kernel, (KernelPair, Power))}.exp()"

    def block(self, X, Z):
        return array_namespace(X).exp(self.kernel.block(X, Z))

    def diag(self, X):
        K = self.kernel.diag(X)
        return namespace(K).exp(K)

    def gradient_block(self, X, Z):
        outer = self.block(X, Z)
        return [outer * g for g in self.kernel.gradient_block(X, Z)]

    def contract_block(self, X, Z, W):
        return self.kernel.contract_block(X, Z, W * self.block(X, Z))

    def input_block(self, X, Z, W):
        return self.kernel.input_block(X, Z, W * self.block(X, Z))

    def gradient_diag(self, X):
        outer = self.diag(X)
        return [outer * g for g in self.kernel.gradient_diag(X)]


@dataclass(frozen=True)
class TransformedInput(WrappedKernel):
    """k(g(x), g(z)), eq. (2)."""

    function: Callable

    def as_rows(self, X, Z=None):
        return as_float_rows(X, Z)

    def block(self, X, Z):
        return self.kernel.block(self.function(X), self.function(Z))

    def diag(self, X):
        return self.kernel.diag(self.function(as_float_rows(X)[0]))

    def gradient_block(self, X, Z):
        return self.kernel.gradient_block(self.function(X), self.function(Z))

    def contract_block(self, X, Z, W):
        return self.kernel.contract_block(self.function(X), self.function(Z), W)

    def gradient_diag(self, X):
        return self.kernel.gradient_diag(self.function(X))


@dataclass(frozen=True)
class Columns(WrappedKernel):
    """A kernel that sees some columns only.

    Parameters
    ----------
    kernel : kernel
    columns : int or whole numbers
        Which columns, counted from 0.
    """

    columns: Any

    def __post_init__(self):
        listed_columns = self.columns
        listed_columns = (
            [listed_columns]
            if isinstance(listed_columns, Integral)
            else list(listed_columns)
        )
        listed = tuple(check_count("a column of `on`", j, 0) for j in listed_columns)
        object.__setattr__(self, "columns", listed)

    def __repr__(self):
        inner = _grouped_text(self.kernel, (KernelPair, Power))
        return f"{inner}.on({_short_text(list(self.columns))})"

    def _take(self, X):
        if max(self.columns, default=-1) >= X.shape[1]:
            raise ValueError(
                f"a kernel on column {max(self.columns)} got rows of {X.shape[1]} "
                "columns."
            )
        if sparse.issparse(X):
            return X[:, list(self.columns)]
        xp = namespace(X)
        indices = xp.asarray(list(self.columns), dtype=xp.int64, device=device(X))
        return xp.take(X, indices, axis=1)

    def block(self, X, Z):
        return self.kernel.block(self._take(X), self._take(Z))

    def diag(self, X):
        return self.kernel.diag(self._take(self.as_rows(X)[0]))

    def gradient_block(self, X, Z):
        return self.kernel.gradient_block(self._take(X), self._take(Z))

    def contract_block(self, X, Z, W):
        return self.kernel.contract_block(self._take(X), self._take(Z), W)

    def input_block(self, X, Z, W):
        inner = self.kernel.input_block(self._take(X), self._take(Z), W)
        # columns back to their places, a repeated one added up
        places = np.zeros((len(self.columns), int(X.shape[1])))
        places[np.arange(len(self.columns)), list(self.columns)] = 1.0
        return inner @ asarray(places, like=X)

    def gradient_diag(self, X):
        return self.kernel.gradient_diag(self._take(X))


@dataclass(frozen=True)
class Fixed(WrappedKernel):
    """A kernel some or all of whose parameters are not learnt.

    Parameters
    ----------
    kernel : kernel
    names : tuple of str, optional
        Which ones, as in `theta_names` or without "[j]"; all by default.
    """

    names: tuple[str, ...] | None = None

    def __repr__(self):
        inner = _grouped_text(self.kernel, (KernelPair, Power))
        return f"{inner}.fixed({', '.join(map(repr, self.names or ()))})"

    def __post_init__(self):
        known = {part for name in self.kernel.theta_names for part in _both_forms(name)}
        unknown = set(self.names or ()) - known
        if unknown:
            raise ValueError(
                f"{self.kernel!r} has no parameter {min(unknown)!r} to fix; it has "
                f"{', '.join(self.kernel.theta_names) or 'none'}."
            )

    def exponent_factors(self, X, Z):
        return self.kernel.exponent_factors(X, Z)

    def tensor_matmul(self, X, Z, V):
        return self.kernel.tensor_matmul(X, Z, V)

    @property
    def _kept(self):
        """Places in the theta of the inner kernel that are learnt."""
        if self.names is None:
            return []
        names = self.kernel.theta_names
        return [
            i
            for i, name in enumerate(names)
            if not set(_both_forms(name)) & set(self.names)
        ]

    @property
    def theta(self):
        return self.kernel.theta[self._kept] if self._kept else np.empty(0)

    @property
    def theta_names(self):
        return tuple(self.kernel.theta_names[i] for i in self._kept)

    def with_theta(self, theta):
        kept = self._kept
        if len(theta) != len(kept):
            raise ValueError(
                f"theta of {self!r} has {len(kept)} entries, got {len(theta)}."
            )
        if not kept:
            return self
        full = self.kernel.theta.copy()
        full[kept] = theta
        return Fixed(self.kernel.with_theta(full), self.names)

    def block(self, X, Z):
        return self.kernel.block(X, Z)

    def diag(self, X):
        return self.kernel.diag(X)

    def _only_kept(self, parts, *args):
        kept = self._kept
        if not kept:
            return []
        result = parts(*args)
        return [result[i] for i in kept]

    def gradient_block(self, X, Z):
        return self._only_kept(self.kernel.gradient_block, X, Z)

    def contract_block(self, X, Z, W):
        return self._only_kept(self.kernel.contract_block, X, Z, W)

    def input_block(self, X, Z, W):
        return self.kernel.input_block(X, Z, W)

    def gradient_diag(self, X):
        return self._only_kept(self.kernel.gradient_diag, X)


def _both_forms(name):
    """The name "length_scale[1]" with and without its index."""
    return name, name.split("[")[0]


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

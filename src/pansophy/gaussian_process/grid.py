"""Exact Gaussian processes on full grids: the covariance is a Kronecker product.

If the rows are all combinations of the points of q axes (an axis is a column, or some
columns together) and k(x, z) = prod_j k_j(x_j, z_j), a kernel for each axis, then

    K = K_1 (x) ... (x) K_q = (U_1 (x) ... ) diag(l_1 (x) ... ) (U_1 (x) ... )^T  (1)

by the eigenvectors U_j and eigenvalues l_j of the small matrices. With one noise
variance s for all rows, C = K + s I has the eigenvalues e = l_1 (x) ... (x) l_q + s:

    a = U ((U^T y) / e),   log p(y) = -1/2 tr(y^T a) - t/2 sum (log e + log 2 pi) (2)

where products with U = U_1 (x) ... are taken axis by axis. A parameter of axis j enters
through K_j alone,

    d log p = 1/2 sum_ab dK_j,ab (A_j - t U_j diag(c_j) U_j^T)_ab                 (3)
    A_j = unfolding of a along axis j times that of (prod_i!=j K_i) a
    c_j = sums of (prod_i!=j l_i) / e over the other axes

and s through 1/2 (|a|^2 - t sum 1 / e). New rows need not be on the grid:

    mean(x) = k(x, X) a,    var(x) = k(x, x) - sum (prod_j k_j(x_j, .) U_j)^2 / e (4)

Constants are factors of the first axis, White and `alpha` are s. A Gaussian kernel
with a length scale for each column is a product over columns as it is.

Assumes   a full grid, each combination once; the same noise for all rows
Cost      sum n_j^3 + n sum n_j an evaluation, n m for m new rows; memory O(n)
Shapes    X (n, d)   Y (n, t)   K_j, U_j (n_j, n_j)   e (n_1, ..., n_q)
Refs      [Saatci2011] ch. 5
"""

from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from ..core.linalg.linalg import EPS, NotPositiveDefiniteError
from ..distances.pairwise_metrics import block_slices
from ..kernels import (
    RBF,
    AbstractKernel,
    Blocks,
    Columns,
    Constant,
    Fixed,
    Product,
    Sum,
    White,
)
from ..params import ParameterError
from .exact import BLOCK, LOG_2PI, MarginalLikelihood


class GridFactor(NamedTuple):
    """A factor of the kernel that sees some columns; None is a constant."""

    columns: Any  # tuple of columns, or None
    kernel: AbstractKernel  # of these columns alone
    places: np.ndarray  # of its theta in that of the whole kernel


class SeparableKernel(NamedTuple):
    """k = prod of factors, plus white noise."""

    factors: list[GridFactor]
    noise: list  # of (kernel, places): White and its constants


def _separable_kernel(kernel, d) -> SeparableKernel | None:
    """A kernel of d columns as a product over groups of them, or None."""
    summands = list(_split_kernel(kernel, Sum, np.arange(len(kernel.theta))))
    noise = [part for part in summands if _is_white(part[0])]
    smooth = [part for part in summands if not _is_white(part[0])]
    if len(smooth) != 1 or any(part.has_white_noise for part, _ in smooth):
        return None
    product, smooth_columns = smooth[0]
    factors: list[GridFactor] = []
    for part, places in _split_kernel(product, Product, smooth_columns):
        result = _factors_of(part, places, d)
        if result is None:
            return None
        factors += result
    return SeparableKernel(factors, noise)


def _split_kernel(kernel, kind, places):
    """(part, places in theta) of a nested Sum or Product."""
    if not isinstance(kernel, kind):
        yield kernel, places
        return
    cut = len(kernel.left.theta)
    yield from _split_kernel(kernel.left, kind, places[:cut])
    yield from _split_kernel(kernel.right, kind, places[cut:])


def _is_white(kernel) -> bool:
    """White noise, or that times constants."""
    if isinstance(kernel, Product):
        parts = [kernel.left, kernel.right]
        return any(map(_is_white, parts)) and all(
            _is_white(k) or _is_constant(k) for k in parts
        )
    if isinstance(kernel, Fixed):
        return _is_white(kernel.kernel)
    return isinstance(kernel, White)


def _is_constant(kernel) -> bool:
    if isinstance(kernel, Fixed):
        return _is_constant(kernel.kernel)
    if isinstance(kernel, (Sum, Product)):
        return _is_constant(kernel.left) and _is_constant(kernel.right)
    return isinstance(kernel, Constant)


def _factors_of(part, places, d) -> list[GridFactor] | None:
    """The factors of a kernel that is not a product itself."""
    if _is_constant(part):
        return [GridFactor(None, part, places)]
    if isinstance(part, Columns):
        return [GridFactor(part.columns, part.kernel, places)]
    if isinstance(part, Blocks):
        sizes = np.cumsum([len(k.theta) for k in part.kernels])[:-1]
        cuts = np.split(places, sizes)
        return [
            GridFactor(b, k, c)
            for b, k, c in zip(part.blocks, part.kernels, cuts, strict=True)
        ]
    inner = part.kernel if isinstance(part, Fixed) else part
    if d > 1 and isinstance(inner, RBF):
        scales = np.broadcast_to(inner.length_scale, d)
        has_own_scales = isinstance(inner.length_scale, tuple)
        kept = list(part._kept) if isinstance(part, Fixed) else list(range(len(places)))
        factors = []
        for j in range(d):
            scale_index = j if has_own_scales else 0
            factor_kernel = RBF(float(scales[j]))
            place = places[kept.index(scale_index)] if scale_index in kept else None
            own_places = places[:0] if place is None else np.array([place])
            factors.append(
                GridFactor(
                    (j,),
                    factor_kernel.fixed() if place is None else factor_kernel,
                    own_places,
                )
            )
        return factors
    return [GridFactor(tuple(range(d)), part, places)]


class Grid(NamedTuple):
    """The axes of a full grid, and the place of each row on it."""

    columns: list[tuple]  # of each axis
    points: list[np.ndarray]  # (n_j, columns of the axis)
    places: np.ndarray  # (n,), flat index of each row

    @property
    def shape(self):
        return tuple(len(p) for p in self.points)


def find_grid(X, groups) -> Grid | None:
    """The grid that the rows fill, each axis one group of columns, or None."""
    points, index = [], []
    for columns in groups:
        values, axis_index = np.unique(X[:, list(columns)], axis=0, return_inverse=True)
        points.append(values)
        index.append(axis_index.ravel())
    shape = tuple(len(p) for p in points)
    if np.prod(shape, dtype=float) != len(X):
        return None
    places = np.ravel_multi_index(index, shape)
    if len(np.unique(places)) != len(X):
        return None
    return Grid(list(groups), points, places)


def _separable_column_groups(factors, d) -> list[tuple] | None:
    """Axes: groups of columns that no two factors share but as a whole."""
    groups: list[set] = []
    for factor in factors:
        if factor.columns is None:
            continue
        joined = set(factor.columns)
        apart = []
        for group in groups:
            if group & joined:
                joined |= group
            else:
                apart.append(group)
        groups = [*apart, joined]
    covered = set().union(*groups) if groups else set()
    # columns that no factor sees cannot be axes: rows that differ there are equal
    if covered != set(range(d)):
        return None
    return [tuple(sorted(group)) for group in sorted(groups, key=min)]


class GridAxis(NamedTuple):
    """The kernel of one axis, its matrix and its eigenvectors."""

    kernel: Any  # of the columns of the axis; None if a constant 1
    places: np.ndarray  # of its theta
    points: np.ndarray
    K: np.ndarray
    U: np.ndarray
    values: np.ndarray


class GridSystem(NamedTuple):
    """Eq. (1) and the noise."""

    grid: Grid
    axes: list[GridAxis]
    separable: SeparableKernel
    noise: float  # s
    values: np.ndarray  # e, of the shape of the grid
    jitter: float

    def fold(self, Y):
        """Columns of the rows as tensors on the grid, (n_1, ..., n_q, t)."""
        flat = np.empty_like(Y)
        flat[self.grid.places] = Y
        return flat.reshape(*self.grid.shape, Y.shape[1])

    def unfold(self, T):
        return T.reshape(-1, T.shape[-1])[self.grid.places]

    def along_axes(self, matrices, T, skip=None):
        """T multiplied by a matrix along every axis but `skip`."""
        for j, M in enumerate(matrices):
            if j != skip:
                T = np.moveaxis(np.tensordot(M, T, axes=(1, j)), 0, j)
        return T

    def solve(self, T):
        """C^-1 T, eq. (2)."""
        T = self.along_axes([axis.U.T for axis in self.axes], T)
        T = T / self.values[..., None]
        return self.along_axes([axis.U for axis in self.axes], T)


def grid_structure(kernel, X):
    """The factors of the kernel and the grid of the rows, or a reason why not."""
    if np.ndim(X) != 2:
        return None, "objects have no grid"
    d = X.shape[1]
    separable = _separable_kernel(kernel, d)
    if separable is None:
        return None, "the kernel is not a product of kernels of single columns"
    groups = _separable_column_groups(separable.factors, d)
    if groups is None:
        return None, "the kernel does not see every column"
    grid = find_grid(X, groups)
    if grid is None:
        return None, "the rows do not fill a grid, each combination once"
    return (separable, grid), ""


def _grid_system(kernel, data) -> GridSystem:
    """Eigenvectors of every axis, eq. (1)."""
    result, reason = grid_structure(kernel, data.X)
    if result is None:
        raise ParameterError(f"solver='grid' cannot be used: {reason}.")
    if np.ptp(data.noise) > 0:
        raise ParameterError("solver='grid' needs the same alpha for all rows.")
    separable, grid = result
    unit_row = np.zeros((1, 1))
    axes = []
    for j, columns in enumerate(grid.columns):
        own_factors = [f for f in separable.factors if belongs(f, columns, j)]
        parts = [placed(f, columns) for f in own_factors]
        axis_kernel: Any = reduce(Product, parts)
        places = np.concatenate([f.places for f in own_factors]).astype(int)
        K = np.asarray(axis_kernel(grid.points[j]), float)
        if not np.isfinite(K).all():
            raise NotPositiveDefiniteError("the kernel gives values not finite.")
        values, U = np.linalg.eigh(K)
        axes.append(
            GridAxis(axis_kernel, places, grid.points[j], K, U, np.maximum(values, 0.0))
        )
    white = sum(float(k.diag(unit_row)[0]) for k, _ in separable.noise)
    noise = float(data.noise[0]) + white
    products = reduce(np.multiply.outer, [axis.values for axis in axes])
    level = len(data.X) * EPS * float(products.mean())
    jitter = level if products.min() + noise < level else 0.0
    values = products + noise + jitter
    return GridSystem(grid, axes, separable, noise, values, jitter)


def belongs(factor, columns, j) -> bool:
    """Whether a factor is part of axis j; constants go to the first."""
    if factor.columns is None:
        return j == 0
    return set(factor.columns) <= set(columns)


def placed(factor, columns):
    """The kernel of a factor as one of the columns of its axis."""
    if factor.columns is None or factor.columns == columns:
        return factor.kernel
    return factor.kernel.on([columns.index(c) for c in factor.columns])


def grid_evidence(kernel, data, *, gradient=True) -> MarginalLikelihood:
    """Eqs. (2) and (3)."""
    system = _grid_system(kernel, data)
    n, t = data.Y.shape
    T = system.fold(data.Y)
    A = system.solve(T)
    value = -0.5 * float(np.sum(T * A))
    value -= 0.5 * t * (float(np.sum(np.log(system.values))) + n * LOG_2PI)
    if not gradient:
        return MarginalLikelihood(value, None)
    slope = np.zeros(len(kernel.theta))
    inverse = 1.0 / system.values
    matrices = [axis.K for axis in system.axes]
    for j, axis in enumerate(system.axes):
        if not len(axis.places):
            continue
        other_axes = system.along_axes(matrices, A, skip=j)
        flat = lambda S, j=j: np.moveaxis(S, j, 0).reshape(S.shape[j], -1)
        W = flat(A) @ flat(other_axes).T
        share = inverse
        for i, neighbour in enumerate(system.axes):
            if i != j:
                shape = [1] * inverse.ndim
                shape[i] = -1
                share = share * neighbour.values.reshape(shape)
        c = np.moveaxis(share, j, 0).reshape(len(axis.points), -1).sum(axis=1)
        W = 0.5 * (W - t * (axis.U * c) @ axis.U.T)
        own_slope = axis.kernel.contract(axis.points, None, 0.5 * (W + W.T))
        np.add.at(slope, axis.places, own_slope)
    by_noise = 0.5 * (float(np.sum(A * A)) - t * float(np.sum(inverse)))
    row = np.zeros((1, 1))
    for part, places in system.separable.noise:
        for place, g in zip(places, part.gradient_diag(row), strict=True):
            slope[place] += by_noise * float(g[0])
    return MarginalLikelihood(value, slope)


class KroneckerPosterior(NamedTuple):
    """A Gaussian process given values on a grid, eq. (4)."""

    kernel: Any
    X: np.ndarray
    A: np.ndarray  # C^-1 Y in the order of the rows
    noise: float
    jitter: float = 0.0

    def mean(self, X):
        return self.kernel.matmul(X, self.X, self.A)

    def projections(self, system, X):
        """k_j(x_j, points) U_j for each axis, (m, n_j)."""
        return [
            axis.kernel(X[:, list(columns)], axis.points) @ axis.U
            for axis, columns in zip(system.axes, system.grid.columns, strict=True)
        ]

    def system(self):
        """The eigenvectors again: they are smaller than the rows."""
        from .exact import GPData

        n = len(self.X)
        noise = np.full(n, self.noise)
        return _grid_system(self.kernel, GPData(self.X, self.A, noise))

    def variance(self, X):
        system = self.system()
        variances = np.array(self.kernel.diag(X), float)
        for cut in block_slices(len(X), max(1, BLOCK // system.values.size)):
            parts = [p**2 for p in self.projections(system, X[cut])]
            inverse = 1.0 / system.values
            total = np.tensordot(parts[0], inverse, axes=(1, 0))
            for p in parts[1:]:
                total = np.einsum("ma,ma...->m...", p, total)
            variances[cut] -= total
        return np.maximum(variances, 0.0)

    def moments(self, X):
        return self.mean(X), self.variance(X)

    def covariance(self, X):
        """(m, m), by an m x n matrix."""
        system = self.system()
        parts = self.projections(system, X)
        V = parts[0]
        for p in parts[1:]:
            V = (V[:, :, None] * p[:, None, :]).reshape(len(X), -1)
        return self.kernel(X) - (V / system.values.ravel()) @ V.T


def grid_posterior(kernel, data) -> KroneckerPosterior:
    """Condition on values on a grid."""
    system = _grid_system(kernel, data)
    A = system.unfold(system.solve(system.fold(data.Y)))
    return KroneckerPosterior(kernel, data.X, A, float(data.noise[0]), system.jitter)

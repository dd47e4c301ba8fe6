"""The repulsion between all points of a t-SNE embedding, by three algorithms.

t-SNE needs, for points y_1 .. y_n and q(r) = (1 + r^2 / a)^(-(a+1)/2),

    F_i = sum_j q_ij (y_i - y_j) / (1 + |y_i - y_j|^2 / a)                          (1)
    Z = sum_{i != j} q_ij

*Direct* sums are exact and O(n^2), but run in vector registers: below a few thousand
points nothing is faster. The *tree* takes a cell that appears small from a point (its
side below `angle` times its distance) as one point at its mean: O(n log n), in few
dimensions. The *grid* uses that for a = 1, in one or two dimensions,
the push is the slope of the potential whose values sum to Z:

    f(y) = sum_j 1 / (1 + |y - y_j|^2)                                              (2)
    F_i = -f'(y_i) / 2      Z + n = sum_i f(y_i)

f is a convolution. Charges are spread on a grid of step h with splines of order 6, one
real Fourier transform there and back multiplies by the transform of the kernel over
the square of the spline's (so that splines interpolate the kernel in both of its
arguments), and the same splines and their slopes read f and f' at the points. One pair
of transforms gives everything, where interpolating each component apart needs four.

The transform of the kernel falls off as exp(-k) only, which asks for a fine grid. So
where points lie scattered over a wide plane the kernel is split as Ewald did,

    1 / (1 + s) = (1 - exp(-T (1 + s))) / (1 + s)  +  exp(-T (1 + s)) / (1 + s)     (3)

with s = r^2: the transform of the first part falls off as a Gaussian, so a coarse grid
does for it, and the second has no reach, so it is summed over near pairs found in
square cells. Either way F is right to a few parts in a thousand. An embedding that is
still small gets a step in proportion and double precision: f is then nearly flat.

Costs     direct O(n^2)   tree O(n log n)   grid O(n + g log g), g nodes
Shapes    Y, F (m, n): points in columns
Refs      [vanDerMaaten2014] the tree; [Linderman2019] interpolation and transforms;
          [Essmann1995] the split, and splines whose slopes give the forces
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import fft

from . import _barnes_hut, _tsne, _tsne_grid

STEP = 0.3  # of the grid for the whole kernel, whose width is 1
COARSE, SPLIT, REACH = 0.75, 0.5, 3.3  # for eq. (3): the step, T, and what is near
LEAST = 48  # cells along the longest axis, at least
DOUBLE = 160  # nodes along an axis up to which transforms are in double precision
ORDER = _tsne_grid.ORDER
FEW = 3000  # points up to which direct sums are always taken
PAIR, POINT, NODE, NEAR = 0.08, 100.0, 5.0, 0.4  # rough costs in nanoseconds


def point_ranges(n, least=512):
    """Cuts of the points, the same for any number of threads."""
    step = max(least, -(-n // 8))
    return [(lo, min(lo + step, n)) for lo in range(0, n, step)]


def direct_repulsion(Y, a=1):
    """Eq. (1) by direct sums: F, tasks that fill it and return parts of Z, and True."""
    F = np.empty_like(Y)
    task = lambda lo, hi: _tsne.repulsion_direct(Y, a, lo, hi, F)
    return F, [lambda c=c: task(*c) for c in point_ranges(Y.shape[1])], True


def barnes_hut_repulsion(Y, a=1, angle=0.5):
    """Eq. (1) with far cells of a tree as one point: F, tasks, and False."""
    m, n = Y.shape
    low = Y.min(axis=1).astype(np.float64)
    side = max(float(np.max(Y.max(axis=1) - low)) * (1 + 1e-6), 1e-300)
    code = _barnes_hut.morton_codes(Y, low, side)
    order = np.argsort(code, kind="stable")
    start, stop, following = (np.empty(2 * n, np.int64) for _ in range(3))
    size, centre = np.empty(2 * n), np.empty((2 * n, m))
    count = _barnes_hut.build_nodes(code[order], m, side, start, stop, size, following)
    _barnes_hut.node_means(Y, order, start, stop, count, centre)
    F = np.empty_like(Y)
    nodes = (order, start, stop, size, following, centre, count)
    task = lambda lo, hi: _barnes_hut.tree_repulsion(Y, nodes, angle, a, lo, hi, F)
    return F, [lambda c=c: task(*c) for c in point_ranges(n)], False


def grid_repulsion(Y, workers=1):
    """Eq. (2) for a = 1, in one or two dimensions, as one task."""
    F = np.empty_like(Y)
    return F, [lambda: _fill_grid_repulsion(Y, F, workers)], False


class InterpolationGrid(NamedTuple):
    """A grid for some points."""

    low: np.ndarray  # (m,), where it begins
    h: float  # its step
    cells: list  # nodes along each axis
    sizes: tuple  # the same when padded, so that nothing wraps around
    T: float  # of eq. (3); inf for the whole kernel


def _interpolation_grid(Y, step=STEP, T=math.inf):
    """A grid that covers the points."""
    low = Y.min(axis=1).astype(np.float64)
    extent = Y.max(axis=1) - low
    h = min(step, max(float(extent.max()), 1e-5) / LEAST)
    cells = [int(e / h) + ORDER + 1 for e in extent]
    sizes = tuple(fft.next_fast_len(2 * c, real=True) for c in cells)
    return InterpolationGrid(low, h, cells, sizes, T)


def _near_cells(Y):
    """Points sorted into squares of side REACH: (order, start, shape)."""
    low = Y.min(axis=1).astype(np.float64)
    shape = tuple(int(e / REACH) + 1 for e in Y.max(axis=1) - low)
    return *_tsne_grid.sort_into_cells(Y, low, REACH, shape), shape


def _fill_grid_repulsion(Y, F, workers):
    """Fill F of eq. (2) and return Z, by the whole or the split kernel."""
    n = Y.shape[1]
    net = _interpolation_grid(Y)
    work = NODE * math.prod(net.sizes)
    Z = -n
    coarse = _interpolation_grid(Y, COARSE, SPLIT)
    if len(Y) == 2 and coarse.h == COARSE:
        order, start, shape = _near_cells(Y)
        pairs = _tsne_grid.count_near_pairs(start, *shape)
        if NEAR * pairs + NODE * math.prod(coarse.sizes) < work:
            Z += _smooth_grid_part(Y, F, coarse, workers)
            x, y = (Y[c][order].astype(np.float32, copy=False) for c in range(2))
            Z += _tsne_grid.add_near_repulsion(
                x, y, order, start, *shape, SPLIT, REACH, F
            )
            return max(Z, np.finfo(Y.dtype).tiny)
    return max(Z + _smooth_grid_part(Y, F, net, workers), np.finfo(Y.dtype).tiny)


def _smooth_grid_part(Y, F, net, workers):
    """F by the grid, and the sum of the field at the points."""
    m, n = Y.shape
    kind = np.float64 if max(net.cells) <= DOUBLE else np.float32
    W, S = np.empty((m, n, ORDER), kind), np.empty((m, n, ORDER), kind)
    cells = np.empty((m, n), np.int32)
    charges = np.zeros((net.cells[0], net.cells[1] if m == 2 else 1), kind)
    _tsne_grid.spread_charges(Y, net.low, net.h, W, S, cells, charges)
    K = _kernel_transform(net.sizes, net.h, net.T, kind)
    field = _grid_potential(charges, net.sizes, K, workers)
    return _tsne_grid.field_gradient(field, W, S, cells, -0.5 / net.h, F)


def cheapest_repulsion(Y, workers=1):
    """Direct sums or the grid, whichever is less work for these points."""
    n = Y.shape[1]
    if n <= FEW:
        return direct_repulsion(Y)
    if PAIR * n * n < POINT * n + NODE * math.prod(
        _interpolation_grid(Y, COARSE).sizes
    ):
        return direct_repulsion(Y)
    return grid_repulsion(Y, workers)


def _grid_potential(charges, sizes, K, workers):
    """The field on the grid: charges convolved with the kernel, without wrapping.

    Only the rows and columns that hold charges or are read are transformed.
    """
    r, s = charges.shape
    if len(sizes) == 1:
        C = fft.rfft(charges, sizes[0], axis=0)
        return fft.irfft(C * K[:, None], sizes[0], axis=0)[:r]
    C = fft.rfft(charges, sizes[1], axis=1, workers=workers)
    C = fft.fft(C, sizes[0], axis=0, workers=workers, overwrite_x=True)
    C *= K
    C = fft.ifft(C, axis=0, workers=workers, overwrite_x=True)[:r]
    return fft.irfft(C, sizes[1], axis=1, workers=workers, overwrite_x=True)[:, :s]


@lru_cache(maxsize=8)
def _kernel_transform(sizes, h, T, kind):
    """The kernel's transform over the squared transforms of the splines."""
    places = [np.minimum(np.arange(s), s - np.arange(s)) for s in sizes]
    symbols = [_spline_symbol(s) for s in sizes]
    symbols[-1] = symbols[-1][: sizes[-1] // 2 + 1]
    s = (h * places[0]) ** 2
    if len(sizes) == 2:
        s = s[:, None] + (h * places[1][None, :]) ** 2
        symbols = [np.multiply.outer(*symbols)]
    K = -np.expm1(-T * (1 + s)) / (1 + s)
    K = fft.rfftn(K).real / symbols[0] ** 2
    return K.astype(kind)


def _spline_symbol(size):
    """The transform of the spline's values at whole numbers, periodic in `size`."""
    values = (66 / 120, 26 / 120, 1 / 120)  # at 0, 1 and 2
    t = 2 * np.pi * np.arange(size) / size
    return values[0] + 2 * values[1] * np.cos(t) + 2 * values[2] * np.cos(2 * t)

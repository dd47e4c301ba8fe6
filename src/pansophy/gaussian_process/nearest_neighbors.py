"""Gaussian-process predictions from the nearest training rows alone.

For many rows the posterior at x hardly depends on those far away. With J the k nearest
training rows of x, in the metric of the kernel's length scales,

    w = C_JJ^-1 k(X_J, x),   mean(x) = w^T y_J,   var(x) = c (k(x, x) - w^T k(X_J, x))
                                                                                  (1)

The hyper-parameters maximise the exact likelihood of a random subset of the rows. The
factor c is calibrated: rows of the training set are predicted from their neighbours
without themselves, and c is the mean of their squared errors over (1) with noise, so
that standardised errors have a mean square of 1. It leaves the means as they are.

The covariance of several new rows is that given the union of their neighbours.

Assumes   a kernel that falls with distance; rows of numbers
Cost      fit: the exact likelihood of n_fit rows; predict: k^3 / 3 and a search a row
Shapes    X (n, d)   J (m, k)   w (k,)
Refs      [Rasmussen2006] 2.2
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.linalg.linalg import EPS
from ..distances.neighbor_search import build_index, k_nearest
from ..distances.pairwise_metrics import block_slices
from .exact import ExactPosterior, jittered_cholesky, solve_factored

QUERIES = 512  # new rows whose small systems are solved together
CALIBRATION_ROWS = 1000


def length_scales_of(kernel, d):
    """Length scales of the first part of a kernel that has one for each column."""
    scale = getattr(kernel, "length_scale", None)
    if isinstance(scale, tuple) and len(scale) == d:
        return np.array(scale)
    for name in ("left", "right", "kernel"):
        part = getattr(kernel, name, None)
        result = None if part is None else length_scales_of(part, d)
        if result is not None:
            return result
    return None


class NeighborPosterior(NamedTuple):
    """A Gaussian process given data, seen from near by; eq. (1)."""

    kernel: Any
    X: np.ndarray
    Y: np.ndarray  # (n, t)
    noise: np.ndarray
    scales: np.ndarray  # by which the columns are divided for the search
    k: int
    inflation: float = 1.0  # c
    jitter: float = 0.0

    def neighbors(self, X, k):
        index = build_index(self.X / self.scales)
        return np.asarray(k_nearest(index, X / self.scales, k)[1])

    def moments(self, X):
        """Mean (m, t) and variance (m,), by blocks of new rows."""
        J = self.neighbors(X, self.k)
        return self.moments_from(X, J)

    def moments_from(self, X, J):
        """Conditional moments given the neighbours J, (m, k)."""
        own_variance = np.asarray(self.kernel.diag(self.X), float) + self.noise
        mean = np.empty((len(X), self.Y.shape[1]))
        variance = np.array(self.kernel.diag(X), float)
        k = J.shape[1]
        block = self.kernel.block
        for cut in block_slices(len(X), QUERIES):
            rows, near = X[cut], J[cut]
            C = np.empty((len(rows), k, k))
            cross = np.empty((len(rows), k))
            for i, x in enumerate(rows):
                Z = self.X[near[i]]
                C[i] = block(Z, Z)
                cross[i] = block(x[None, :], Z)[0]
            level = k * EPS * own_variance[near].mean(axis=1)[:, None]
            C[:, np.arange(k), np.arange(k)] = own_variance[near] + 10 * level
            w = np.linalg.solve(C, cross[:, :, None])[:, :, 0]
            mean[cut] = np.einsum("ik,ikt->it", w, self.Y[near])
            variance[cut] -= np.einsum("ik,ik->i", w, cross)
        return mean, self.inflation * np.maximum(variance, 0.0)

    def mean(self, X):
        return self.moments(X)[0]

    def variance(self, X):
        return self.moments(X)[1]

    def covariance(self, X):
        """(m, m), given the union of the neighbours."""
        J = np.unique(self.neighbors(X, self.k))
        L, _ = jittered_cholesky(self.kernel, self.X[J], self.noise[J])
        A = solve_factored(L, self.Y[J])
        joint = ExactPosterior(self.kernel, self.X[J], A, L)
        return self.inflation * joint.covariance(X)


def neighbor_posterior(kernel, data, k, rng) -> NeighborPosterior:
    """Eq. (1) with c calibrated on random rows."""
    X, Y, noise = data.X, data.Y, data.noise
    n, d = X.shape
    scales = length_scales_of(kernel, d)
    if scales is None:
        spread = X.std(axis=0)
        scales = np.where(spread > 0, spread, 1.0)
    k = min(k, n)
    posterior = NeighborPosterior(kernel, X, Y, noise, scales, k)
    if n == 1:
        return posterior
    rows = np.sort(rng.permutation(n)[:CALIBRATION_ROWS])
    J = posterior.neighbors(X[rows], min(k + 1, n))
    # a row is not its own neighbour: drop it, or the farthest where equal rows hide it
    is_other = rows[:, None] != J
    is_other[is_other.all(axis=1), -1] = False
    J = J[is_other].reshape(len(rows), -1)
    mean, variance = posterior.moments_from(X[rows], J)
    expected = variance + noise[rows]
    known = expected > 0
    if not known.any():
        return posterior
    squares = np.mean((Y[rows] - mean) ** 2, axis=1)
    c = float(np.mean(squares[known] / expected[known]))
    return posterior._replace(inflation=c if c > 0 else 1.0)

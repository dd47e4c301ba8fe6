"""Maximum likelihood for linear Gaussian chains: the vector that BFGS moves.

Covariances are L L' with a lower triangular L, whose entries are measured in units
of the start; other arrays enter as they are. With G the derivative by S = L L',

    d/dL = lower triangle of 2 G L                                               (1)

A stationary start makes m and P functions of F, Q and c. With G_P and g_m the
derivatives by P and m,

    X = F'X F + G_P,   y = (I - F')^-1 g_m                                        (2)
    d/dQ += X,   d/dF += 2 X F P + y m',   d/dc += y

Refs      [KoopmanShephard1992]
"""

import numpy as np
import scipy.linalg

from ..core.linalg import cholesky
from .kalman_learning import Gradient, expect, gradient
from .kalman_parameters import Parameters


class Vector:
    """Parameters of some letters to and from one vector."""

    def __init__(self, params: Parameters, letters):
        self.params, self.letters = params, [x for x in params._fields if x in letters]
        self.scale = {}
        for x in self.letters:
            a = getattr(params, x)
            if x in "QRP":
                d = np.diag(a)
                size = np.sqrt(np.where(d > 0, d, max(d.mean(), 1e-8)))
                self.scale[x] = np.broadcast_to(size[:, None], a.shape)
            else:
                self.scale[x] = np.ones(a.shape)

    def pack(self):
        """The start. A singular covariance gets a little noise, so that it can move."""
        parts = []
        for x in self.letters:
            a = getattr(self.params, x)
            if x in "QRP":
                scale = self.scale[x][:, 0]
                L = cholesky(a + np.diag(1e-8 * scale**2))[0]
                a = (L / self.scale[x])[np.tril_indices(len(a))]
            parts.append(a.ravel())
        return np.concatenate(parts)

    def unpack(self, v) -> tuple[Parameters, dict]:
        """Parameters at v, and the factors L of the covariances among them."""
        new, factors, begin = {}, {}, 0
        for x in self.letters:
            a = getattr(self.params, x)
            if x in "QRP":
                rows = np.tril_indices(len(a))
                L = np.zeros(a.shape)
                L[rows] = v[begin : begin + len(rows[0])]
                L, begin = L * self.scale[x], begin + len(rows[0])
                factors[x], new[x] = L, L @ L.T
            else:
                new[x] = v[begin : begin + a.size].reshape(a.shape)
                begin += a.size
        return self.params._replace(**new), factors

    def slope(self, g: Gradient, factors):
        """The gradient of the vector from that of the matrices, eq. (1)."""
        parts = []
        for x in self.letters:
            d = getattr(g, x)
            if x in "QRP":
                d = (2 * d @ factors[x] * self.scale[x])[np.tril_indices(len(d))]
            parts.append(np.ravel(d))
        return np.concatenate(parts)


def through_start(g: Gradient, params: Parameters, model) -> Gradient:
    """Eq. (2)."""
    F = params.F
    X = scipy.linalg.solve_discrete_lyapunov(F.T, g.P)
    y = np.linalg.solve(np.eye(len(F)) - F.T, g.m)
    GF = g.F + 2 * X @ F @ model.P + np.outer(y, model.m)
    return g._replace(F=GF, Q=g.Q + X, c=g.c + y, m=0 * g.m, P=0 * g.P)


def objective(vector: Vector, X, ends, u, steady=True):
    """v -> (-log p / n, its gradient)."""
    n = len(X)

    def f(v):
        params, factors = vector.unpack(v)
        try:
            stats, loglik = expect(params, X, ends, u, steady)
        except ValueError:  # a transition that is not stable has no stationary start
            return np.inf, np.zeros_like(v)
        if not np.isfinite(loglik):
            return np.inf, np.zeros_like(v)
        g = gradient(stats.back, X, u)
        if params.start == "stationary":
            g = through_start(g, params, stats.back.forward.model)
        return -loglik / n, -vector.slope(g, factors) / n

    return f

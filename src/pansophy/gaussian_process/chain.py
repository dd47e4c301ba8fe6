"""Exact Gaussian processes of one column in O(n): a Matern process as a linear system.

A process f(x) with a Matern kernel of nu = 1/2, 3/2 or 5/2, length scale l and
variance s2 is the first entry of a Markov chain z along x. With the rate
r = sqrt(2 nu) / l, q = nu + 1/2 entries z = (f, f'/r, f''/r^2) and u = r (x' - x),

    z(x') = F z(x) + Normal(0, Q),   F = exp(A u),   Q = s2 (S - F S F^T)         (1)
    A = -I + M,  M nilpotent:   F = exp(-u) (I + u M + u^2 M^2 / 2)               (2)

A and the stationary covariance S are the same for every l (`MATERN_SYSTEMS`). For
small u, (1) is a difference of almost equal numbers; there Q is the integral

    Q = s2 g int_0^u (exp(A v) e) (exp(A v) e)^T dv,    e = (0, .., 0, 1)         (3)

by Gauss-Legendre nodes, a sum of squares. A constant kernel is an entry that never
moves. A sum of kernels is the sum of their chains, and a product with constants
changes s2, so that any kernel made of these is one chain whose matrices are block
diagonal. Sorted rows, equal rows included (u = 0), then have the likelihood of a Kalman
filter and the posterior of its smoother (`state_space.kalman.kalman_recursions`); new
rows are rows without an observation, and so are rows whose y is NaN.

With the adjoints (r_t, N_t) of the smoother and G_t = (r_t r_t^T - N_t) / 2,

    d log p / d log s2 = sum_t <G_t, Q_t>  (the start S s2 in place of Q_1)       (4)
    d log p / d log l = -sum_t u_t (<r_t a_t-1^T + 2 G_t F P_t-1, A F>
                                    + s2 g <G_t, F e e^T F^T>)                    (5)

since dF / du = A F and dQ / du = s2 g F e e^T F^T; a_t-1 and P_t-1 are filtered.

Cost      n (2 k^3 + 3 k^2), k the entries of all chains; prediction n + m rows again
Shapes    x (n,)   Y (n, t)   F, Q, P (n, k, k)   theta (p,)
Refs      [HartikainenSarkka2010]; [Rasmussen2006] B.2
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.linalg.linalg import EPS
from ..core.quadrature import gauss_legendre
from ..kernels import (
    Columns,
    Constant,
    Fixed,
    Laplacian,
    Matern,
    Product,
    Sum,
    White,
)
from ..params import ParameterError
from ..state_space.kalman.kalman_recursions import run_filter, run_smoother
from ..state_space.kalman.linear_gaussian import LinearGaussianModel
from .exact import MarginalLikelihood

NODES, WEIGHTS = gauss_legendre(12)
SHORT = 1.0  # u up to which eq. (3) is used


class MaternSystem(NamedTuple):
    """A, S and the intensity g of eqs. (1) to (3) for one nu."""

    A: np.ndarray
    S: np.ndarray
    g: float


MATERN_SYSTEMS = {
    0.5: MaternSystem(np.array([[-1.0]]), np.array([[1.0]]), 2.0),
    1.5: MaternSystem(np.array([[0.0, 1.0], [-1.0, -2.0]]), np.eye(2), 4.0),
    2.5: MaternSystem(
        np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, -3.0, -3.0]]),
        np.array([[1.0, 0.0, -1 / 3], [0.0, 1 / 3, 0.0], [-1 / 3, 0.0, 1.0]]),
        16 / 3,
    ),
}


class ChainTerm(NamedTuple):
    """A summand of the kernel: s2 times a Matern kernel, a constant or white noise."""

    kind: str  # "matern", "constant" or "white"
    variance: float  # s2
    variance_slope: np.ndarray  # d log s2 / d theta, (p,)
    nu: float = 0.0
    length_scale: float = 1.0
    scale_slope: Any = 0.0  # d log l / d theta, (p,)

    @property
    def size(self) -> int:
        """Entries of its chain."""
        if self.kind == "white":
            return 0
        return 1 if self.kind == "constant" else int(self.nu + 0.5)

    def over(self, columns, p):
        """A copy with slopes in a longer theta, where its own stand at `columns`."""
        slopes = []
        for slope in (self.variance_slope, self.scale_slope):
            wide = np.zeros(p)
            wide[columns] = slope
            slopes.append(wide)
        return self._replace(variance_slope=slopes[0], scale_slope=slopes[1])


def _single_scale(kernel):
    scale = np.atleast_1d(kernel.length_scale)
    return float(scale[0]) if len(scale) == 1 else None


def chain_terms(kernel) -> list[ChainTerm] | None:
    """The summands of a kernel of one column, or None if it is not of that form."""
    p = len(kernel.theta)
    if isinstance(kernel, (Constant, White)):
        kind = "constant" if isinstance(kernel, Constant) else "white"
        value = kernel.value if isinstance(kernel, Constant) else kernel.noise
        return [ChainTerm(kind, value, np.ones(p), scale_slope=np.zeros(p))]
    if isinstance(kernel, (Matern, Laplacian)):
        nu = kernel.nu if isinstance(kernel, Matern) else 0.5
        scale = _single_scale(kernel)
        if nu not in MATERN_SYSTEMS or scale is None:
            return None
        return [ChainTerm("matern", 1.0, np.zeros(p), nu, scale, np.ones(p))]
    if isinstance(kernel, (Fixed, Columns)):
        if isinstance(kernel, Columns) and kernel.columns != (0,):
            return None
        inner = chain_terms(kernel.kernel)
        if inner is None or isinstance(kernel, Columns):
            return inner
        kept = list(kernel._kept)
        take_kept = lambda slope: np.asarray(slope)[kept]
        return [
            t._replace(
                variance_slope=take_kept(t.variance_slope),
                scale_slope=take_kept(t.scale_slope),
            )
            for t in inner
        ]
    if not isinstance(kernel, (Sum, Product)):
        return None
    left, right = chain_terms(kernel.left), chain_terms(kernel.right)
    if left is None or right is None:
        return None
    cut = len(kernel.left.theta)
    left = [t.over(slice(0, cut), p) for t in left]
    right = [t.over(slice(cut, p), p) for t in right]
    if isinstance(kernel, Sum):
        return left + right
    products = []
    for a in left:
        for b in right:
            term = _multiply_terms(a, b)
            if term is None:
                return None
            products.append(term)
    return products


def _multiply_terms(a: ChainTerm, b: ChainTerm):
    """The product of two summands; None unless one of them is a constant.

    White noise times a Matern kernel is white noise, of its variance at distance 0.
    """
    if "constant" in (a.kind, b.kind):
        kept_term = b if a.kind == "constant" else a
    elif "white" in (a.kind, b.kind):
        kept_term = a if a.kind == "white" else b
    else:
        return None
    return kept_term._replace(
        variance=a.variance * b.variance,
        variance_slope=a.variance_slope + b.variance_slope,
    )


def _require_chain_terms(kernel) -> list[ChainTerm]:
    terms = chain_terms(kernel)
    if terms is None:
        raise ParameterError(
            "solver='chain' needs a kernel made of Matern kernels of nu 0.5, 1.5 or "
            f"2.5, constants and White by sums and products with constants, got "
            f"{kernel!r}."
        )
    return terms


def transition(system: MaternSystem, u):
    """F of eq. (2) for an array of u, (n, q, q)."""
    q = len(system.A)
    M = system.A + np.eye(q)
    powers = [np.eye(q), M, M @ M / 2][:q]
    polynomial = sum(u[:, None, None] ** i * B for i, B in enumerate(powers))
    return np.exp(-u)[:, None, None] * polynomial


def transition_noise(system: MaternSystem, u, F):
    """Q / s2 of eqs. (1) and (3), (n, q, q)."""
    Q = system.S - F @ system.S @ np.swapaxes(F, 1, 2)
    short = np.flatnonzero(u < SHORT)
    if len(short):
        half = 0.5 * u[short]
        total = np.zeros((len(short), *system.A.shape))
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            column = transition(system, half * (1 + node))[:, :, -1]
            total += weight * column[:, :, None] * column[:, None, :]
        Q[short] = system.g * half[:, None, None] * total
    return Q


class ChainParts(NamedTuple):
    """The blocks of a kernel's chain along sorted rows."""

    terms: list  # without white noise
    slices: list  # of the entries of z
    units: list  # u of each row (0 for the first), None for a constant
    model: LinearGaussianModel


def _chain_model(terms, x, noise) -> ChainParts:
    """Eq. (1) for sorted x and noise variances of the rows."""
    n = len(x)
    moving = [t for t in terms if t.kind != "white"]
    if not moving:  # white noise alone: a constant of variance 0
        moving = [ChainTerm("constant", 0.0, 0.0 * terms[0].variance_slope)]
    k = sum(t.size for t in moving)
    F, Q = np.zeros((n, k, k)), np.zeros((n, k, k))
    P, H = np.zeros((k, k)), np.zeros((1, k))
    gaps = np.diff(x, prepend=x[0])
    slices, units = [], []
    start = 0
    for term in moving:
        cut = slice(start, start + term.size)
        start += term.size
        H[0, cut.start] = 1.0
        slices.append(cut)
        if term.kind == "constant":
            F[:, cut, cut] = 1.0
            P[cut, cut] = term.variance
            units.append(None)
            continue
        system = MATERN_SYSTEMS[term.nu]
        u = np.sqrt(2 * term.nu) / term.length_scale * gaps
        F[:, cut, cut] = transition(system, u)
        Q[:, cut, cut] = term.variance * transition_noise(system, u, F[:, cut, cut])
        P[cut, cut] = term.variance * system.S
        units.append(u)
    model = LinearGaussianModel(
        F, Q, H, noise[:, None, None], np.zeros(k), np.zeros(1), np.zeros(k), P
    )
    return ChainParts(moving, slices, units, model)


def _white_variance(terms) -> float:
    return sum(t.variance for t in terms if t.kind == "white")


def _jitter_of_equal_rows(terms, x, noise) -> float:
    """Jitter that equal rows without noise need so that a likelihood exists."""
    if noise.min() > 0 or np.diff(x).min(initial=np.inf) > 0:
        return 0.0
    return len(x) * EPS * sum(t.variance for t in terms)


def markov_chain_evidence(kernel, data, *, gradient=True) -> MarginalLikelihood:
    """log p(y) by the Kalman filter, and eqs. (4) and (5)."""
    terms = _require_chain_terms(kernel)
    order = np.argsort(data.X[:, 0], kind="stable")
    x = data.X[order, 0]
    noise = data.noise[order] + _white_variance(terms)
    noise = noise + _jitter_of_equal_rows(terms, x, noise)
    parts = _chain_model(terms, x, noise)
    ends = np.array([len(x)])
    value = 0.0
    slope = np.zeros(len(kernel.theta))
    for y in data.Y[order].T:
        run = run_filter(parts.model, y[:, None], ends, steady=False)
        value += run.loglik
        if gradient:
            slope += _chain_gradient(parts, terms, run)
    return MarginalLikelihood(value, slope if gradient else None)


def _chain_gradient(parts: ChainParts, terms, run) -> np.ndarray:
    """Eqs. (4) and (5), and the derivative in white noise, for one output."""
    back = run_smoother(run, keep=True)
    model = parts.model
    r = back.r
    outer = r[:, :, None] * r[:, None, :] - back.N[back.slot]  # 2 G
    F = model.F[1:]
    Q = model.Q[1:]
    P = run.cov[run.slot][:-1]
    by_F = r[1:, :, None] * run.mean[:-1, None, :] + outer[1:] @ F @ P
    slope = np.zeros(len(parts.terms[0].variance_slope))
    for term, cut, u in zip(parts.terms, parts.slices, parts.units, strict=True):
        inside = 0.5 * outer[:, cut, cut]
        by_variance = np.sum(inside[0] * model.P[cut, cut])
        by_variance += np.sum(inside[1:] * Q[:, cut, cut])
        slope += by_variance * term.variance_slope
        if u is None:
            continue
        system = MATERN_SYSTEMS[term.nu]
        turned = system.A @ F[:, cut, cut]
        column = F[:, cut, cut][:, :, -1]
        by_u = np.sum(by_F[:, cut, cut] * turned, axis=(1, 2))
        by_u += (
            term.variance
            * system.g
            * np.einsum("ti,tij,tj->t", column, inside[1:], column)
        )
        slope -= (u[1:] @ by_u) * term.scale_slope
    by_noise = 0.5 * np.nansum(back.u**2 - back.D[back.slot])
    for term in terms:
        if term.kind == "white":
            slope += by_noise * term.variance * term.variance_slope
    return slope


class ChainPosterior(NamedTuple):
    """A Gaussian process of one column given data: the rows, sorted."""

    kernel: Any
    x: np.ndarray  # (n,)
    Y: np.ndarray  # (n, t)
    noise: np.ndarray  # (n,), white noise included
    jitter: float = 0.0

    def merged(self, X):
        """Old and new rows in one order, the new ones without noise or y."""
        new = np.asarray(X, float)[:, 0]
        n = len(self.x)
        x = np.concatenate([self.x, new])
        order = np.argsort(x, kind="stable")
        places = np.argsort(order, kind="stable")[n:]  # of the new rows
        Y = np.vstack([self.Y, np.full((len(new), self.Y.shape[1]), np.nan)])[order]
        noise = np.concatenate([self.noise, np.zeros(len(new))])[order]
        terms = _require_chain_terms(self.kernel)
        return _chain_model(terms, x[order], noise), Y, places, _white_variance(terms)

    def mean(self, X):
        return self.moments(X)[0]

    def variance(self, X):
        return self.moments(X)[1]

    def moments(self, X):
        """Mean (m, t) and variance (m,), by one pass over old and new rows."""
        parts, Y, places, white = self.merged(X)
        h = parts.model.H[0]
        ends = np.array([len(Y)])
        mean = np.empty((len(places), Y.shape[1]))
        variance = np.empty(len(places))
        for j, y in enumerate(Y.T):
            back = run_smoother(run_filter(parts.model, y[:, None], ends, steady=False))
            mean[:, j] = back.mean[places] @ h
            if j == 0:
                V = back.cov[back.slot[places]]
                variance = np.einsum("i,mij,j->m", h, V, h)
        return mean, np.maximum(variance, 0.0) + white

    def covariance(self, X):
        """Covariance of new rows, (m, m).

        With P_s before row s, L_t = F_t+1 (I - K_t h^T) and N_t before row t,
        Cov[z_s, z_t | y] = P_s L_s^T ... L_t-1^T (I - N_t P_t) for s < t.
        """
        parts, Y, places, white = self.merged(X)
        model = parts.model
        run = run_filter(model, Y[:, :1], np.array([len(Y)]), steady=False)
        back = run_smoother(run, keep=True)
        h = model.H[0]
        k = len(h)
        eye = np.eye(k)
        m = len(places)
        order = np.argsort(places, kind="stable")
        out = np.empty((m, m))
        left = np.zeros((m, k))  # h^T P_s L_s^T ... of the rows met so far
        met = 0
        P = model.P  # before the current row
        for t in range(len(Y)):
            if t:
                F = model.F[t]
                K = run.gain[run.slot[t - 1], 0, :k]
                seen = run.f[run.slot[t - 1], 0] > 0
                L = F @ (eye - np.outer(K, h)) if seen else F
                left[:met] = left[:met] @ L.T
                P = F @ run.cov[run.slot[t - 1]] @ F.T + model.Q[t]
            if met < m and t == places[order[met]]:
                left[met] = h @ P
                met += 1
                tail = h - back.N[back.slot[t]] @ (P @ h)
                row = left[:met] @ tail
                out[order[met - 1], order[:met]] = row
                out[order[:met], order[met - 1]] = row
        out.flat[:: m + 1] = np.maximum(np.diagonal(out), 0.0) + white
        return out


def chain_posterior(kernel, data) -> ChainPosterior:
    """Condition on the data: sort the rows."""
    terms = _require_chain_terms(kernel)
    order = np.argsort(data.X[:, 0], kind="stable")
    x = data.X[order, 0]
    noise = data.noise[order] + _white_variance(terms)
    jitter = _jitter_of_equal_rows(terms, x, noise)
    return ChainPosterior(kernel, x, data.Y[order], noise + jitter, jitter)

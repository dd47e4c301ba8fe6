"""Linear Gaussian state-space model, and one step of its Kalman filter and smoother.

    z_t = F_t z_t-1 + c_t + q_t,   q_t ~ Normal(0, Q_t)                           (1)
    x_t = H_t z_t + d_t + r_t,     r_t ~ Normal(0, R_t),    z_1 ~ Normal(m, P)    (2)

with offsets c_t = c + B u_t and d_t = d + D u_t where there is a control input u. The
belief in z_t is Normal(a, P), and `LinearGaussianFilter` is its
`core.chains.filtering.Filter`:

    predict   a <- F a + c,   P <- F P F' + Q                                     (3)
    update    e = x - H a - d,   S = H P H' + R,   K = P H' S^-1
              a <- a + K e,   P <- (I - K H) P (I - K H)' + K R K'                (4)
              log p(x_t | x_1..t-1) = log Normal(e; 0, S)
    reverse   J = P F' (F P F' + Q)^-1,   a <- a + J (a+ - F a - c)
              P <- (I - J F) P (I - J F)' + J Q J' + J P+ J'                      (5)

(4) and (5) are sums of squares (Joseph's form) and stay positive semi-definite
whatever the rounding. Entries of x_t that are NaN are left out of (4). This file is
the readable form; whole series run through the loops of `kalman_recursions`.

With constant matrices P converges: it solves P = F P F' + Q - F P H' S^-1 H P F', the
Riccati equation, and (4) becomes a fixed linear filter. A stable F has a stationary
belief, P = F P F' + Q (Lyapunov).

Shapes    F, Q (k, k)   H (p, k)   R (p, p)   c, m (k,)   d (p,); or (n, ...) by step
Refs      [Kalman1960]; [Rauch1965]; [Sarkka2013]; [AndersonMoore1979]
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from ...core.numerics import LOG_2PI


class LinearGaussianModel(NamedTuple):
    """Eq. (1) and (2); an array with a leading time axis changes with the row."""

    F: np.ndarray
    Q: np.ndarray
    H: np.ndarray
    R: np.ndarray
    c: np.ndarray
    d: np.ndarray
    m: np.ndarray
    P: np.ndarray
    diffuse: Any = None  # (k, k): z_1 has covariance P + infinity times this

    @property
    def constant(self) -> bool:
        """Whether covariances do not depend on the row."""
        return all(a.ndim == 2 for a in self[:4])


class GaussianBelief(NamedTuple):
    """Normal(mean, cov) of z_t, and t."""

    mean: np.ndarray
    cov: np.ndarray
    t: int = 0


def at_time(a, t, ndim):
    """The array of row t: itself if it has no time axis."""
    return a[t] if a.ndim > ndim else a


class LinearGaussianFilter(NamedTuple):
    """The filter of a linear Gaussian chain, eq. (3) to (5)."""

    model: LinearGaussianModel

    def predict(self, belief):
        t = belief.t + 1
        F, Q = at_time(self.model.F, t, 2), at_time(self.model.Q, t, 2)
        mean = F @ belief.mean + at_time(self.model.c, t, 1)
        return GaussianBelief(mean, symmetrize(F @ belief.cov @ F.T + Q), t)

    def update(self, belief, x):
        a, P, t = belief
        is_seen = ~np.isnan(x)
        H, R = (
            at_time(self.model.H, t, 2)[is_seen],
            at_time(self.model.R, t, 2)[np.ix_(is_seen, is_seen)],
        )
        e = x[is_seen] - H @ a - at_time(self.model.d, t, 1)[is_seen]
        S = symmetrize(H @ P @ H.T + R)
        K = np.linalg.lstsq(S, H @ P)[0].T
        G = np.eye(len(a)) - K @ H
        new = GaussianBelief(a + K @ e, symmetrize(G @ P @ G.T + K @ R @ K.T), t)
        return new, log_residual_density(e, S)

    def reverse(self, filtered, predicted, smoothed):
        t = predicted.t
        P = filtered.cov
        F, Q = at_time(self.model.F, t, 2), at_time(self.model.Q, t, 2)
        J = np.linalg.lstsq(predicted.cov, F @ P)[0].T
        G = np.eye(len(P)) - J @ F
        mean = filtered.mean + J @ (smoothed.mean - predicted.mean)
        cov = G @ P @ G.T + J @ (Q + smoothed.cov) @ J.T
        return GaussianBelief(mean, symmetrize(cov), filtered.t)


def symmetrize(A):
    return (A + A.swapaxes(-1, -2)) / 2


def nearest_semidefinite(S):
    """The nearest symmetric positive semi-definite matrix, or a stack of them."""
    S = symmetrize(S)
    w, U = np.linalg.eigh(S)
    if w.min(initial=0.0) >= 0:
        return S
    return symmetrize((U * np.maximum(w, 0.0)[..., None, :]) @ U.swapaxes(-1, -2))


def check_covariance(S, name):
    """S made exactly symmetric; it must be positive semi-definite but for rounding."""
    if not np.isfinite(S).all():
        raise ValueError(f"{name} contains NaN or infinity.")
    size = np.abs(S).max(initial=0.0)
    if np.abs(S - S.swapaxes(-1, -2)).max(initial=0.0) > 1e-8 * size:
        raise ValueError(f"{name} is not a covariance: it is not symmetric.")
    S = symmetrize(S)
    try:
        np.linalg.cholesky(S + (1e-8 * size or 1.0) * np.eye(S.shape[-1]))
    except np.linalg.LinAlgError as error:
        low = np.linalg.eigvalsh(S).min(initial=0.0)
        raise ValueError(
            f"{name} is not positive semi-definite: it has an eigenvalue of {low:.3g}."
        ) from error
    return S


def log_residual_density(e, S) -> float:
    """log Normal(e; 0, S)."""
    if len(e) == 0:
        return 0.0
    det = np.linalg.slogdet(S)[1]
    return float(-0.5 * (len(e) * LOG_2PI + det + e @ np.linalg.lstsq(S, e)[0]))


def stationary_moments(F, Q, c):
    """Mean and covariance that eq. (1) leaves as they are."""
    size = np.abs(np.linalg.eigvals(F)).max()
    if size >= 1:
        raise ValueError(
            "a stationary start needs transition_matrices whose eigenvalues lie "
            f"inside the unit circle; the largest is {size:.4g}."
        )
    mean = np.linalg.solve(np.eye(len(F)) - F, c)
    return mean, symmetrize(scipy.linalg.solve_discrete_lyapunov(F, Q))


class SteadyState(NamedTuple):
    """The limit of eq. (3) and (4)."""

    gain: np.ndarray  # K (k, p)
    predicted: np.ndarray  # P before an observation
    filtered: np.ndarray  # P after it


def steady_state(model: LinearGaussianModel) -> SteadyState:
    """The solution of the Riccati equation and its gain."""
    F, Q, H, R = model[:4]
    if not model.constant:
        raise ValueError("a steady state needs matrices that do not change with time.")
    try:
        P = scipy.linalg.solve_discrete_are(F.T, H.T, Q, R)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "the filter has no steady state: some direction of the state grows and "
            "is not seen, or R is singular."
        ) from error
    P = symmetrize(P)
    K = np.linalg.solve(H @ P @ H.T + R, H @ P).T
    G = np.eye(len(P)) - K @ H
    return SteadyState(K, P, symmetrize(G @ P @ G.T + K @ R @ K.T))


def matrix_square_root(S):
    """L with L L' = S for positive semi-definite S, or a stack of them."""
    w, U = np.linalg.eigh(S)
    return U * np.sqrt(np.maximum(w, 0.0))[..., None, :]


def simulate_linear_gaussian(model: LinearGaussianModel, n: int, rng, first=None):
    """States (n, k) and observations (n, p) drawn from eq. (1) and (2)."""
    k = len(model.m)
    p = model.H.shape[-2]
    e, w = rng.standard_normal((n, k)), rng.standard_normal((n, p))
    LQ, LR = matrix_square_root(model.Q), matrix_square_root(model.R)
    q = np.einsum("...ij,...j->...i", LQ, e) + model.c
    z = np.empty((n, k))
    z[0] = model.m + matrix_square_root(model.P) @ e[0] if first is None else first
    for t in range(1, n):
        z[t] = at_time(model.F, t, 2) @ z[t - 1] + q[t]
    noise = np.einsum("...ij,...j->...i", LR, w)
    return z, np.einsum("...ij,...j->...i", model.H, z) + model.d + noise

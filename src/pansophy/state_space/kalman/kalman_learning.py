"""Learning the matrices of a linear Gaussian model: EM and maximum likelihood.

With w_t = (z_t-1, 1, u_t), [F c B] are the coefficients of a regression of z_t on
w_t, and likewise [H d D] one of x_t on (z_t, 1, u_t), so the M-step of EM is least
squares on expected moments, which the smoother gives [Shumway1982]:

    [F c B] = sum E[z_t w_t'] (sum E[w_t w_t'])^-1,   Q = mean E[q_t q_t']        (1)
    m = mean E[z_1],   P = mean Cov[z_1] + the spread of E[z_1]

Columns that are not learned are moved to the left side first. While [F c B] stay, q_t
has the moments of `kalman_recursions` (5), without cancellation [Koopman1993]:

    E[q_t q_t'] = Q + Q (r_t r_t' - N_t) Q                                        (2)

Noise of missing entries is a part of what EM does not see: given that of the seen
ones it is Normal(R_ms R_ss^-1 e_s, R_mm - R_ms R_ss^-1 R_sm).                    (3)

The adjoints r and N are derivatives of log p(x) by the beliefs, so by the chain rule

    d/dQ = sum (r r' - N) / 2,   d/dF = sum r a_t-1' + (r r' - N) F P_t-1         (4)
    d/dm = r_1,   d/dP = (r_1 r_1' - N_1) / 2,   d/dc = sum r

and by Fisher's identity, from the expected noise,

    d/dH = R^-1 sum E[r_t z_t'],   d/dR = R^-1 (sum E[r_t r_t'] - n R) R^-1 / 2   (5)

with which BFGS maximises the likelihood. Covariances are S = L L' with a lower
triangular L, whose entries are measured in units of the start; other arrays enter as
they are. With G the derivative by S,

    d/dL = lower triangle of 2 G L                                               (6)

A stationary start makes m and P functions of F, Q and c. With G_P and g_m the
derivatives by P and m,

    X = F'X F + G_P,   y = (I - F')^-1 g_m                                        (7)
    d/dQ += X,   d/dF += 2 X F P + y m',   d/dc += y

Refs      [Shumway1982]; [Koopman1993]; [KoopmanShephard1992]
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg

from ...core.linalg.linalg import cholesky
from .kalman_parameters import KalmanParameters
from .kalman_recursions import SmootherPass, run_filter, run_smoother
from .linear_gaussian import at_time, nearest_semidefinite, symmetrize


def _sum_of_rows(table, which):
    """sum over t of table[which[t]], each row read once."""
    rows, counts = np.unique(which, return_counts=True)
    return np.tensordot(counts.astype(float), table[rows], axes=1)


def _rows_with_predecessor(run):
    """Rows that have one before them in their sequence, but for diffuse ones."""
    begins = np.concatenate([[0], run.ends[:-1]])
    first = np.zeros(len(run.mean), bool)
    first[begins] = True
    for steps in run.steps:
        for step in steps:
            if step.t + 1 < len(first):
                first[step.t + 1] = True  # its share comes with the diffuse rows
    return np.flatnonzero(~first)


def rows_after_first(run):
    """Rows that are not the first of a sequence."""
    return np.setdiff1d(np.arange(len(run.mean)), np.append(0, run.ends[:-1]))


def _adjoint_pairs(back: SmootherPass, rows):
    """N of the rows, P of those before them, and how often each pair occurs."""
    run = back.forward
    n = len(run.mean)
    keys, counts = np.unique(
        back.slot[rows] * n + run.slot[rows - 1], return_counts=True
    )
    return back.N[keys // n], run.cov[keys % n], counts.astype(float)


def _rowwise_product(v, table, which):
    """v_t' table[which[t]] row by row; rows that share the commonest in one product."""
    if len(which) == 0:
        return v
    rows, counts = np.unique(which, return_counts=True)
    shared = which == rows[counts.argmax()]
    out = np.empty_like(v)
    out[shared] = v[shared] @ table[rows[counts.argmax()]]
    out[~shared] = np.einsum("ti,tij->tj", v[~shared], table[which[~shared]])
    return out


class RegressionMoments(NamedTuple):
    """Sums over rows; they add."""

    ww: np.ndarray  # E[w w']
    yw: np.ndarray  # E[y w'], or E[(noise of y) w']
    yy: np.ndarray  # E[y y'], or of the noise
    n: float


def _regression_design(z, u):
    """(z, 1, u) row by row."""
    parts = [z, np.ones((len(z), 1))]
    return np.hstack(parts if u is None else [*parts, u])


def transition_moments(back: SmootherPass, u) -> RegressionMoments:
    """The sums of eq. (1) for y = z_t and w = (z_t-1, 1, u_t)."""
    run = back.forward
    rows = rows_after_first(back.forward)
    F, Q = run.model.F, run.model.Q
    k = len(F)
    w = _regression_design(back.mean[rows - 1], None if u is None else u[rows])
    y = back.mean[rows]
    plain = np.setdiff1d(
        _rows_with_predecessor(run), np.array(list(back.lags), int) + 1
    )
    N, P, counts = _adjoint_pairs(back, plain)
    G = F @ P
    lag = (np.eye(k) - (G @ F.T + Q) @ N) @ G
    cross = np.tensordot(counts, lag, axes=1)
    for part in (part for parts in back.diffuse for part in parts):
        cross = cross + (0.0 if part.lag is None else part.lag)
    cross = cross + sum(back.lags.values(), np.zeros((k, k)))
    ww, yw, yy = w.T @ w, y.T @ w, y.T @ y
    ww[:k, :k] += _sum_of_rows(back.cov, back.slot[rows - 1])
    yw[:, :k] += cross
    return RegressionMoments(
        ww, yw, yy + _sum_of_rows(back.cov, back.slot[rows]), len(rows)
    )


def _noise_moments(back: SmootherPass, X, u) -> RegressionMoments:
    """Sums of E[w w'], E[r w'], E[r r'] over rows with something seen, eq. (3)."""
    run = back.forward
    model = run.model
    n, p = X.shape
    gone = np.isnan(X)
    if gone.any():
        masks, pattern = np.unique(gone, axis=0, return_inverse=True)
    else:
        masks, pattern = np.zeros((1, p), bool), np.zeros(n, int)
    k = len(model.m)
    z = back.mean
    e = X - np.einsum("...ij,...j->...i", model.H, z) - model.d
    w = _regression_design(z, u)
    q = w.shape[1]
    moments = RegressionMoments(
        np.zeros((q, q)), np.zeros((p, q)), np.zeros((p, p)), 0.0
    )
    for j, mask in enumerate(masks):
        s = ~mask
        if not s.any():
            continue
        rows = np.flatnonzero(pattern.ravel() == j)
        T, left = _impute_noise(model.R, s, rows)
        H = model.H[:, s] if model.H.ndim == 3 else model.H[s]
        ww = w[rows].T @ w[rows]
        V = _sum_of_rows(back.cov, back.slot[rows])
        ww[:k, :k] += V
        rw, rr = e[rows][:, s].T @ w[rows], e[rows][:, s].T @ e[rows][:, s]
        if H.ndim == 2:
            rw[:, :k] -= H @ V
            rr = rr + H @ V @ H.T
        else:
            HV = H[rows] @ back.cov[back.slot[rows]]
            rw[:, :k] -= HV.sum(axis=0)
            rr = rr + (HV @ H[rows].swapaxes(1, 2)).sum(axis=0)
        part = RegressionMoments(ww, T @ rw, T @ rr @ T.T + left, float(len(rows)))
        moments = RegressionMoments(
            *(a + b for a, b in zip(moments, part, strict=True))
        )
    return moments


def _impute_noise(R, s, rows):
    """T with E[r] = T e_s, and the covariance that is left, over the rows; eq. (3)."""
    T = np.eye(len(s))[:, s]
    if s.all():
        return T, 0.0
    if R.ndim == 3:
        raise ValueError(
            "rows with some entries missing cannot be learned from while "
            "observation_covariance changes with time."
        )
    T = np.linalg.lstsq(R[np.ix_(s, s)], R[s])[0].T
    return T, len(rows) * symmetrize(R - T @ R[s])


class KalmanStats(NamedTuple):
    """Result of an E-step: the smoothed run and its parameters."""

    back: SmootherPass
    params: KalmanParameters
    X: np.ndarray
    u: np.ndarray | None


def kalman_e_step(
    params: KalmanParameters, X, ends, u=None, steady=True
) -> tuple[KalmanStats, float]:
    """E-step: the smoothed run under params, and log p(x)."""
    run = run_filter(params.model(len(X), u), X, ends, steady=steady)
    back = run_smoother(run, keep=True)
    return KalmanStats(back, params, X, u), float(run.logliks.sum())


def _regress_moments(old, M: RegressionMoments, free, noise=False):
    """Coefficients over the free columns; the others as in `old` (y, w).

    With `noise` yw holds E[(y - old w) w'], otherwise E[y w'].
    """
    left = M.yw if noise else M.yw - old @ M.ww
    new = old.copy()
    A = M.ww[np.ix_(free, free)]
    new[:, free] += np.linalg.lstsq(A, left[:, free].T)[0].T
    return new


def kalman_m_step(stats: KalmanStats, letters) -> KalmanParameters:
    """M-step, eq. (1), of the letters given."""
    back, p = stats.back, stats.params
    new = dict(zip(p._fields, p, strict=True))
    k = p.F.shape[-1]
    run = back.forward
    moved, seen = [x for x in "FcB" if x in letters], [x for x in "HdD" if x in letters]
    if moved:
        M = transition_moments(back, stats.u)
        old = _stack_coefficients(p.F, p.c, p.B, stats.u)
        C = _regress_moments(old, M, _coefficient_columns("FcB", moved, old, k))
        new["F"] = C[:, :k]
        new["c"] = C[:, k]
        new["B"] = _control_coefficients(C, k, p.B)
        if "Q" in letters:
            Q = M.yy - C @ M.yw.T - M.yw @ C.T + C @ M.ww @ C.T
            new["Q"] = nearest_semidefinite(Q / max(M.n, 1))
    elif "Q" in letters and len(rows_after_first(run)):
        rows = rows_after_first(run)
        G = back.r[rows].T @ back.r[rows] - _sum_of_rows(back.N, back.slot[rows])
        new["Q"] = nearest_semidefinite(p.Q + p.Q @ G @ p.Q / len(rows))
    if seen or "R" in letters:
        M = _noise_moments(back, stats.X, stats.u)
        if M.n > 0:
            step = np.zeros_like(M.yw)
            if seen:
                old = _stack_coefficients(p.H, p.d, p.D, stats.u)
                C = _regress_moments(
                    old, M, _coefficient_columns("HdD", seen, old, k), noise=True
                )
                new["H"] = C[:, :k]
                new["d"] = C[:, k]
                new["D"] = _control_coefficients(C, k, p.D)
                step = C - old
            if "R" in letters:
                R = M.yy - step @ M.yw.T - M.yw @ step.T + step @ M.ww @ step.T
                new["R"] = nearest_semidefinite(R / M.n)
    first = np.append(0, run.ends[:-1])
    z = back.mean[first]
    if "m" in letters:
        new["m"] = z.mean(axis=0)
    if "P" in letters:
        deviation = z - new["m"]
        P = back.cov[back.slot[first]].mean(axis=0) + deviation.T @ deviation / len(
            deviation
        )
        new["P"] = nearest_semidefinite(P)
    return KalmanParameters(**new)


def _stack_coefficients(A, b, C, u):
    """[A b C], the coefficients of (z, 1, u)."""
    return np.hstack([A, b[:, None]] + ([] if u is None else [C]))


def _coefficient_columns(names, wanted, old, k):
    """The columns of the letters wanted."""
    kind = np.repeat([0, 1, 2], [k, 1, old.shape[1] - k - 1])
    return np.flatnonzero(np.isin(kind, [names.index(x) for x in wanted]))


def _control_coefficients(C, k, old):
    return C[:, k + 1 :] if C.shape[1] > k + 1 else old


class LikelihoodGradient(NamedTuple):
    """Derivatives of log p(x) by the letters of a model, eq. (4) and (5)."""

    F: np.ndarray
    Q: np.ndarray
    H: np.ndarray
    R: np.ndarray
    c: np.ndarray
    d: np.ndarray
    m: np.ndarray
    P: np.ndarray
    B: np.ndarray | None
    D: np.ndarray | None


def gradient_by_covariance(back: SmootherPass, rows):
    """d/dQ of the rows, eq. (4)."""
    r = back.r[rows]
    return (r.T @ r - _sum_of_rows(back.N, back.slot[rows])) / 2


def gradient_by_transition(back: SmootherPass):
    """d/dF of eq. (4), for an F that does not change."""
    run = back.forward
    rows = _rows_with_predecessor(back.forward)
    F = run.model.F
    r = back.r[rows]
    N, P, counts = _adjoint_pairs(back, rows)
    G = r.T @ run.mean[rows - 1] - np.tensordot(counts, N @ F @ P, axes=1)
    G = G + r.T @ _rowwise_product(r @ F, run.cov, run.slot[rows - 1])
    for part in (part for parts in back.diffuse for part in parts):
        G = G + (0.0 if part.by_F is None else part.by_F)
    return G


def gradient_by_noise(back: SmootherPass) -> float:
    """d/dR where one number is observed: no R^-1, so R may be zero."""
    return float((back.u**2 - back.D).sum() / 2)


def likelihood_gradient(back: SmootherPass, X, u=None) -> LikelihoodGradient:
    """Eq. (4) and (5); by F only where it does not change."""
    run = back.forward
    rows = rows_after_first(back.forward)
    model = run.model
    first = np.append(0, run.ends[:-1])
    r = back.r
    k = len(model.m)
    GQ, GP = gradient_by_covariance(back, rows), gradient_by_covariance(back, first)
    GF = gradient_by_transition(back) if model.F.ndim == 2 else np.zeros((k, k))
    M = _noise_moments(back, X, u)
    Rinv = np.linalg.pinv(at_time(model.R, 0, 2), hermitian=True)
    Hw = Rinv @ M.yw
    GR = Rinv @ (M.yy - M.n * at_time(model.R, 0, 2)) @ Rinv / 2
    if X.shape[1] == 1:  # without R^-1: R may be zero
        GR = np.array([[gradient_by_noise(back)]])
    GB = GD = None
    if u is not None:
        GB = r[rows].T @ u[rows]
        GD = Hw[:, k + 1 :]
    return LikelihoodGradient(
        GF, GQ, Hw[:, :k], GR, r[rows].sum(axis=0), Hw[:, k], r[first].sum(axis=0), GP,
        GB, GD,
    )  # fmt: skip


class ParameterVector:
    """Parameters of some letters to and from one vector."""

    def __init__(self, params: KalmanParameters, letters):
        self.params = params
        self.letters = [x for x in params._fields if x in letters]
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

    def unpack(self, v) -> tuple[KalmanParameters, dict]:
        """Parameters at v, and the factors L of the covariances among them."""
        new = {}
        factors = {}
        begin = 0
        for x in self.letters:
            a = getattr(self.params, x)
            if x in "QRP":
                rows = np.tril_indices(len(a))
                L = np.zeros(a.shape)
                L[rows] = v[begin : begin + len(rows[0])]
                L, begin = L * self.scale[x], begin + len(rows[0])
                factors[x] = L
                new[x] = L @ L.T
            else:
                new[x] = v[begin : begin + a.size].reshape(a.shape)
                begin += a.size
        return self.params._replace(**new), factors

    def slope(self, g: LikelihoodGradient, factors):
        """The gradient of the vector from that of the matrices, eq. (6)."""
        parts = []
        for x in self.letters:
            d = getattr(g, x)
            if x in "QRP":
                d = (2 * d @ factors[x] * self.scale[x])[np.tril_indices(len(d))]
            parts.append(np.ravel(d))
        return np.concatenate(parts)


def _stationary_start_gradient(
    g: LikelihoodGradient, params: KalmanParameters, model
) -> LikelihoodGradient:
    """Eq. (7): the gradient where the start is the stationary distribution."""
    F = params.F
    X = scipy.linalg.solve_discrete_lyapunov(F.T, g.P)
    y = np.linalg.solve(np.eye(len(F)) - F.T, g.m)
    GF = g.F + 2 * X @ F @ model.P + np.outer(y, model.m)
    return g._replace(F=GF, Q=g.Q + X, c=g.c + y, m=0 * g.m, P=0 * g.P)


def kalman_objective(vector: ParameterVector, X, ends, u, steady=True):
    """v -> (-log p / n, its gradient)."""
    n = len(X)

    def f(v):
        params, factors = vector.unpack(v)
        try:
            stats, loglik = kalman_e_step(params, X, ends, u, steady)
        except ValueError:  # a transition that is not stable has no stationary start
            return np.inf, np.zeros_like(v)
        if not np.isfinite(loglik):
            return np.inf, np.zeros_like(v)
        g = likelihood_gradient(stats.back, X, u)
        if params.start == "stationary":
            g = _stationary_start_gradient(g, params, stats.back.forward.model)
        return -loglik / n, -vector.slope(g, factors) / n

    return f

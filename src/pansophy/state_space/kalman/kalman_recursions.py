"""Kalman filter and smoother over whole series: the fast form of `linear_gaussian`.

Observed numbers enter one at a time. Where R is not diagonal, R = C C' and C^-1 x has
independent noise, so that each entry is h'z + Normal(0, r) and an update needs no
inverse; a missing entry is left out. With e = x - h'a and f = h'P h + r:

    K = P h / f,   a <- a + K e                                                   (1)
    P <- (I - K h') P (I - K h')' + r K K'                                        (2)
    log p(x_t | past) = -1/2 sum (log 2 pi f + e^2 / f) - log det C               (3)
    a <- F a + c,   P <- F P F' + Q                                               (4)

Smoothing goes back along the same path. Let r and -N be the first and second
derivative of log p(later x) by the mean of the belief; then, with L = I - K h',

    u = e/f - K'r,  D = 1/f + K'N K,   r <- r + h u,  N <- L'N L + h h'/f         (5)
    r <- F'r,   N <- F'N F                                                        (6)
    E[z_t | x] = a + P r,   Cov[z_t | x] = P - P N P        (a, P after x_t)      (7)
    Cov[z_t+1, z_t | x] = (I - P+ N+) F P                   (+: before x_t+1)     (8)

No covariance is inverted, so singular Q, R and P are welcome. Where the later rows
take most of a variance away, as after a very wide start, (7) is a difference of large
numbers; such rows are done again by `linear_gaussian` (5), a sum of squares. The
adjoints are also the exact derivatives of the likelihood, such as d log p / dQ =
sum (r r' - N) / 2, see `kalman_learning`.

Where matrices do not change with time, P and N converge; from then on a step changes
the means only. A covariance has converged when what is left of its geometric approach
is below 1e-14 of its size. Complete sequences also share the covariances of an earlier
one with the same start. So every step has a `slot`, the row in which its covariance is
stored, and the memory of the other rows is never touched. Users get the covariances of
long series in that form too (`repeated_array`).

Cost      n (2 k^3 + 3 p k^2) before P converges, n (k^2 + 2 p k) after; backwards twice
Shapes    x (n, p)   a, r (n, k)   P, N (n, k, k) by slot   ends (s,)
Refs      [Joseph1968]; [Bierman1977]; [DurbinKoopman2012] ch. 4, 6; [deJong1989]
"""

from typing import NamedTuple

import numpy as np

from ...core.chains.filtering import group_sequences
from ...core.loops import threads
from . import kalman_diffuse
from .linear_gaussian import LinearGaussianModel, at_time, symmetrize
from .repeated_array import repeated_rows

COPY_BYTES = 1 << 22  # bytes copied by a task


class WhitenedObservations(NamedTuple):
    """Observations with independent noise, and the h and r of each."""

    x: np.ndarray  # (n, p), NaN where missing
    H: np.ndarray  # (g, p, k)
    r: np.ndarray  # (g, p)
    pattern: np.ndarray  # (n,), which of the g
    complete: np.ndarray  # (n,), rows that may share their covariance
    log_det: np.ndarray  # (n,), log det C


def _noise_whitening(R):
    """C^-1 and r with C^-1 R C^-T = diag(r) for a stack of R; also log det C."""
    try:
        C = np.linalg.cholesky(R)
        log_det = np.log(np.diagonal(C, axis1=1, axis2=2)).sum(axis=1)
        return np.linalg.inv(C), np.ones(R.shape[:2]), log_det
    except np.linalg.LinAlgError:
        w, U = np.linalg.eigh(R)
        return U.swapaxes(1, 2), np.maximum(w, 0.0), np.zeros(len(R))


def _whiten_observations(
    model: LinearGaussianModel, X, steady=True
) -> WhitenedObservations:
    """Subtract the offsets and make the noise of the entries independent."""
    n, p = X.shape
    k = len(model.m)
    x = _writable_contiguous(X - model.d)
    gone = np.isnan(x)
    H, R = model.H, model.R
    varies = H.ndim == 3 or R.ndim == 3
    steady = steady and model.constant
    complete = ~gone.any(axis=1) if steady and gone.any() else np.full(n, steady)
    pattern = np.arange(n) if varies else np.zeros(n, np.int64)
    if not np.any(R * (1 - np.eye(p))):
        g = n if varies else 1
        r = np.broadcast_to(np.diagonal(R, axis1=-2, axis2=-1), (g, p))
        H = np.broadcast_to(H, (g, p, k))
        H, r = _writable_contiguous(H), _writable_contiguous(r)
        return WhitenedObservations(x, H, r, pattern, complete, np.zeros(n))
    if varies:
        masks = gone
    elif gone.any():
        masks, pattern = np.unique(gone, axis=0, return_inverse=True)
        pattern = pattern.ravel().astype(np.int64)
    else:
        masks = np.zeros((1, p), bool)
    g = len(masks)
    hidden = masks[:, :, None] | masks[:, None, :]
    # a missing entry gets noise of its own, so that it says nothing of the others
    R = np.where(hidden, np.eye(p), np.broadcast_to(R, (g, p, p)))
    H = np.where(masks[:, :, None], 0.0, np.broadcast_to(H, (g, p, k)))
    T, r, log_det = _noise_whitening(R)
    filled = np.where(gone, 0.0, x)
    if g == 1:
        x = filled @ T[0].T
    else:
        x = np.einsum("nij,nj->ni", T[pattern], filled)
    x[gone] = np.nan
    H = _writable_contiguous(T @ H)
    return WhitenedObservations(
        _writable_contiguous(x),
        H,
        _writable_contiguous(r),
        pattern,
        complete,
        log_det[pattern],
    )


def _writable_contiguous(a):
    """A contiguous array that can be written: loops compile once for each kind."""
    a = np.ascontiguousarray(a, dtype=float)
    return a if a.flags.writeable else a.copy()


def _with_time_axis(a, ndim):
    """An array with a time axis, of one entry if it does not change."""
    return _writable_contiguous(a if a.ndim > ndim else a[None])


def _pad_to_four(a):
    """The last axis filled up with zeros to a multiple of 4."""
    short = -a.shape[-1] % 4
    return np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, short)]) if short else a


def _take_rows(table, which):
    """table[which]; pieces on threads, since new memory costs more than the copy."""
    out = np.empty((len(which), *table.shape[1:]))
    m = max(COPY_BYTES // table[:1].nbytes, 1)
    take_piece = lambda i: np.take(table, which[i : i + m], 0, out[i : i + m], "clip")
    list(threads.run_tasks(lambda i=i: take_piece(i) for i in range(0, len(which), m)))
    return out


def _scratch_arrays(k):
    """Zeroed matrices and vectors for the loops, k padded to a multiple of 4."""
    from ._kalman_recursions import Scratch

    w = k + -k % 4
    return Scratch(np.zeros((7, w, w)), np.zeros((5, w)))


class FilterPass(NamedTuple):
    """Filtered beliefs of every row; the covariance of row t is cov[slot[t]]."""

    model: LinearGaussianModel
    observations: WhitenedObservations
    begins: np.ndarray  # (s,), after the diffuse rows
    ends: np.ndarray
    mean: np.ndarray
    cov: np.ndarray
    gain: np.ndarray  # K (n, p, k or more), by slot
    f: np.ndarray  # (n, p), by slot; -1 where missing
    residual: np.ndarray  # e (n, p)
    logliks: np.ndarray  # (n,)
    slot: np.ndarray
    steps: list  # of DiffuseStep for each sequence
    n_computed: int  # rows whose covariance was computed

    @property
    def covs(self):
        """Covariances of every row, with infinite variances in diffuse directions."""
        cov, steps = self.cov, [step for steps in self.steps for step in steps]
        finite_covs = [cov[step.t].copy() for step in steps]
        for step in steps:
            cov[step.t] = kalman_diffuse.with_infinite_variances(
                step.B, np.diag(step.A) > 0
            )
        covariances = repeated_rows(cov, self.slot, _take_rows)
        for step, finite in zip(steps, finite_covs, strict=True):
            cov[step.t] = finite
        return covariances

    @property
    def loglik(self) -> float:
        return float(self.logliks.sum())

    @property
    def standardized(self):
        """Residuals divided by their standard deviation: independent, variance 1."""
        f = np.where(np.isnan(self.residual), np.nan, self.f[self.slot])
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(f > 0, self.residual / np.sqrt(np.abs(f)), np.nan)


def run_filter(model: LinearGaussianModel, X, ends, *, steady=True) -> FilterPass:
    """Eq. (1) to (4) for all sequences, groups of them on threads."""
    from . import _kalman_recursions as loops

    n, p = X.shape
    k, s = len(model.m), len(ends)
    observed = _whiten_observations(model, X, steady)
    begins = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    ends = np.asarray(ends, np.int64)
    mean, cov = np.empty((n, k)), np.empty((n, k, k))
    H = _pad_to_four(observed.H)
    gain = np.empty((n, *H.shape[1:]))
    f, residual = np.empty((n, p)), np.empty((n, p))
    log_f, logliks = np.empty(n), np.empty(n)
    slot = np.arange(n)
    first_mean = np.array(np.broadcast_to(model.m, (s, k)), order="C")
    first_cov = np.array(np.broadcast_to(model.P, (s, k, k)), order="C")
    steps = [[] for _ in range(s)] if model.diffuse is not None else []
    for q in range(s if steps else 0):
        steps[q], first_mean[q], first_cov[q] = kalman_diffuse.diffuse_filter(
            model, observed, begins[q], ends[q]
        )
        for step in steps[q]:
            t = step.t
            mean[t], cov[t], logliks[t] = step.a, step.B, step.loglik
            f[t] = -1.0
            residual[t] = np.nan
        begins[q] += len(steps[q])
    F, Q = _with_time_axis(model.F, 2), _with_time_axis(model.Q, 2)
    c = _with_time_axis(model.c, 1)
    in_time = lambda a, rows: a[rows] if len(a) > 1 else a

    def task(base, stops, first):
        rows = slice(base, base + int(stops[-1]))
        piece = slice(first, first + len(stops))  # numbers of the sequences
        local = np.arange(len(slot[rows]))
        computed = loops.filter_sequences(
            loops.Sequences(
                begins[piece] - base, stops, first_mean[piece], first_cov[piece]
            ),
            loops.Dynamics(in_time(F, rows), in_time(Q, rows), in_time(c, rows)),
            loops.Observation(
                observed.x[rows],
                H,
                observed.r,
                observed.pattern[rows],
                observed.complete[rows],
            ),
            loops.FilterArrays(
                mean[rows], cov[rows], gain[rows], f[rows], residual[rows], local
            ),
            log_f[rows],
            logliks[rows],
            _scratch_arrays(k),
        )
        slot[rows] = local + base
        return computed

    n_computed = sum(threads.run_tasks(_group_tasks(task, ends)))
    logliks -= observed.log_det
    return FilterPass(
        model,
        observed,
        begins,
        ends,
        mean,
        cov,
        gain,
        f,
        residual,
        logliks,
        slot,
        steps,
        n_computed,
    )


def _group_tasks(task, ends):
    """A call for each group of sequences: its first row, its ends, its first number."""
    first = 0
    for base, stops in group_sequences(ends):
        yield lambda a=base, b=np.asarray(stops, np.int64), c=first: task(a, b, c)
        first += len(stops)


class SmootherPass(NamedTuple):
    """Smoothed beliefs; the covariance of row t is cov[slot[t]]."""

    forward: FilterPass
    mean: np.ndarray  # E[z_t | x]
    cov: np.ndarray  # by slot
    slot: np.ndarray
    r: np.ndarray  # (n, k), eq. (5) before x_t; of no rows unless kept
    N: np.ndarray  # (n, k, k), by slot
    u: np.ndarray  # (n, p)
    D: np.ndarray  # (n, p)
    diffuse: list  # of DiffuseSmoothed for each sequence
    lags: dict  # t -> eq. (8) for rows that `_recompute_lossy_rows` has computed anew

    @property
    def covs(self):
        """Cov[z_t | x] of every row."""
        return repeated_rows(self.cov, self.slot, _take_rows)


def run_smoother(run: FilterPass, *, keep=False) -> SmootherPass:
    """Eq. (5) to (7); `keep` stores the adjoints, which learning needs."""
    from . import _kalman_recursions as loops

    n, k = run.mean.shape
    p = run.f.shape[1]
    s = len(run.ends)
    m = n if keep else 1
    mean = np.empty((n, k))
    cov = np.empty((n, k, k))
    slot = np.arange(n)
    r, N, u, D = (np.empty((m, *shape)) for shape in ((k,), (k, k), (p,), (p,)))
    first_r, first_N = np.empty((s, k)), np.empty((s, k, k))
    F = _with_time_axis(run.model.F, 2)
    H = _pad_to_four(run.observations.H)
    observed = run.observations

    def task(base, stops, first):
        rows = slice(base, base + int(stops[-1]))
        piece = slice(first, first + len(stops))
        local = np.arange(len(slot[rows]))
        adjoints = [a[rows] if keep else np.empty_like(a) for a in (r, N, u, D)]
        lossy = loops.smooth_sequences(
            run.begins[piece] - base,
            stops,
            F[rows] if len(F) > 1 else F,
            loops.Observation(
                observed.x[rows],
                H,
                observed.r,
                observed.pattern[rows],
                observed.complete[rows],
            ),
            loops.FilterArrays(
                run.mean[rows],
                run.cov[rows],
                run.gain[rows],
                run.f[rows],
                run.residual[rows],
                run.slot[rows] - base,
            ),
            keep,
            loops.SmootherArrays(mean[rows], cov[rows], local, *adjoints),
            (first_r[piece], first_N[piece]),
            _scratch_arrays(k),
        )
        slot[rows] = local + base
        return lossy

    lossy = sum(threads.run_tasks(_group_tasks(task, run.ends)))
    lags = _recompute_lossy_rows(run, mean, cov, slot) if lossy else {}
    diffuse = []
    for q, steps in enumerate(run.steps):
        back = kalman_diffuse.diffuse_smoother(
            run.model, steps, first_r[q], first_N[q], run.ends[q]
        )
        diffuse.append(back)
        for step, row in zip(steps, back, strict=True):
            t = step.t
            mean[t], cov[t] = row.z, row.V
            if keep:
                r[t] = row.r
                N[t] = row.N
                u[t] = 0.0
                D[t] = 0.0
                is_seen = ~np.isnan(observed.x[t])
                if len(row.u) == is_seen.sum():
                    u[t, is_seen], D[t, is_seen] = np.transpose(
                        row.u or np.empty((0, 2))
                    )
    return SmootherPass(run, mean, cov, slot, r, N, u, D, diffuse, lags)


def _recompute_lossy_rows(run: FilterPass, mean, cov, slot):
    """Rows whose variance falls by LOSSY_FACTOR, again by the sum of squares.

    Changes mean and cov in place, backwards; gives Cov[z_t+1, z_t | x] of the rows.
    """
    from ._kalman_recursions import LOSSY_FACTOR

    vague = [
        step.t for steps in run.steps for step in steps
    ]  # rows of `kalman_diffuse`
    own_slots = np.setdiff1d(np.flatnonzero(slot == np.arange(len(slot))), vague)
    prior_variance = np.diagonal(run.cov, axis1=1, axis2=2)[run.slot[own_slots]]
    smoothed_variance = np.diagonal(cov, axis1=1, axis2=2)[own_slots]
    lossy = own_slots[(prior_variance > LOSSY_FACTOR * smoothed_variance).any(axis=1)]
    rows = np.setdiff1d(np.flatnonzero(np.isin(slot, lossy)), run.ends - 1)[::-1]
    first = slot[rows] == rows  # before those that share their covariances
    lags = {}
    F, Q, c = run.model.F, run.model.Q, run.model.c
    for t in np.concatenate([rows[first], rows[~first]]):
        A = at_time(F, t + 1, 2)
        P = run.cov[run.slot[t]]
        J = np.linalg.lstsq(symmetrize(A @ P @ A.T + at_time(Q, t + 1, 2)), A @ P)[0].T
        G = np.eye(len(P)) - J @ A
        V = cov[slot[t + 1]]
        difference = mean[t + 1] - A @ run.mean[t] - at_time(c, t + 1, 1)
        mean[t] = run.mean[t] + J @ difference
        if slot[t] == t:
            cov[t] = symmetrize(G @ P @ G.T + J @ (at_time(Q, t + 1, 2) + V) @ J.T)
        lags[int(t)] = V @ J.T
    return lags

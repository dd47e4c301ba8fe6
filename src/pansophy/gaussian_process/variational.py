"""Variational inference in a latent Gaussian process, by inducing values.

The process is carried by its values at m inducing inputs Z, whitened: with
k(Z, Z) = L L^T they are L v, v ~ N(0, I) a priori, and q(v) = N(mu, S). A row x has

    a = L^-1 k(Z, x),   mean = a^T mu,   var = k(x, x) - a^T a + a^T S a          (1)
    bound = sum_i E_q[log p(y_i | f_i)] - KL(q(v) | N(0, I)) <= log p(y)          (2)

With g = E[d log p / df] and w = E[-d2 log p / df2], which are also the derivatives of
(2) by the mean and (times -1/2) by the variance of f_i, a natural-gradient step of
length h is

    S^-1 <- (1 - h) S^-1 + h (I + sum_i w_i a_i a_i^T)
    S^-1 mu <- (1 - h) S^-1 mu + h sum_i (g_i + w_i mean_i) a_i                   (3)

For a Normal likelihood h = 1 ends at the optimum, Titsias's bound (`inducing`); for
others (3) is a Newton iteration, whose step is halved when it does not climb. At the
optimum of q the derivative of (2) in theta, Z and the likelihood's parameters is the
partial one. By a_i it is abar = g_i mu - w_i (S - I) a_i; through A = L^-1 k(Z, X),

    by k(Z, X)   L^-T Abar,    by k(Z, Z)   -L^-T sym(tril(Abar A^T)) L^-1 / 2    (4)

where tril takes half the diagonal. With more rows than a batch, every step sees random
rows whose sums are multiplied by n over their number: (3) with h of a schedule, and
Adam on the other parameters. White noise of the kernel is noise of y for a Normal
likelihood, and of f for others.

Cost      m^3 + b m^2 a step of b rows; memory O(b m + m^2)
Shapes    Z (m, d)   A (m, b)   mu (t, m)   S^-1 (t, m, m)   t latent processes
Refs      [Hensman2013]; [Hensman2015]; [Salimbeni2018]; [Khan2017]
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.drivers.iterate import iterate
from ..core.drivers.progress import SILENT
from ..core.linalg.linalg import NotPositiveDefiniteError, cholesky, solve_triangular
from ..core.numerics import softmax
from ..distances.pairwise_metrics import block_slices
from ..optim.stochastic.stochastic import (
    by_moments,
    chain_transforms,
    scale_by_schedule,
)
from .exact import NOTHING, GPData, MarginalLikelihood
from .inducing import ROWS, contract_variances, white_and_smooth_variances
from .likelihoods import hermite_rule, normal_points

TOL = 1e-13  # relative change of the bound at which q is found
MAX_ITER = 100
HALVINGS = 12
POINTS = 128  # quasi-random, at which a softmax is averaged
NUMBERS = 1_000_000  # that are worked on together
LEAST_VARIANCE = 1e-12  # of f relative to its prior: rounding may leave less


class Expectations(NamedTuple):
    """E[log p(y | f)] for each row and its derivatives."""

    value: np.ndarray  # (b,)
    g: np.ndarray  # by the mean, (b, t)
    w: np.ndarray  # -2 times that by the variance, (b, t)
    phi: np.ndarray  # summed, by the likelihood's parameters
    noise: np.ndarray  # by the noise variance of the rows, for a Normal likelihood


def _expected_log_likelihood(likelihood, Y, noise, mean, variance) -> Expectations:
    """E over f ~ N(mean, variance), by Gauss-Hermite or quasi-random points."""
    if likelihood.name == "normal":
        D = noise[:, None]
        gap = Y - mean
        square = gap**2 + variance
        value = -0.5 * np.sum(np.log(2 * np.pi * D) + square / D, axis=1)
        w = np.broadcast_to(1.0 / D, mean.shape)
        by_noise = 0.5 * np.sum(square / D**2 - 1.0 / D, axis=1)
        return Expectations(value, gap / D, w, NOTHING, by_noise)
    y = Y[:, 0]
    if likelihood.name == "categorical":
        return _expected_softmax_likelihood(likelihood, y, mean, variance)
    z, weight = hermite_rule()
    f = mean + np.sqrt(variance) * z
    wide = np.broadcast_to(y[:, None], f.shape)
    slopes = likelihood.gradient(wide, f)
    g = slopes @ weight
    # the derivative of the quadrature itself: E[-d2 log p / df2] = -E[g z] / std
    w = -(slopes @ (weight * z)) / np.sqrt(variance[:, 0])
    phi = NOTHING
    if likelihood.scale is not None:
        phi = np.array([np.sum(likelihood.scale_slopes(wide, f)[0] @ weight)])
    value = likelihood.log_prob(wide, f) @ weight
    return Expectations(value, g[:, None], w[:, None], phi, NOTHING)


def _expected_softmax_likelihood(likelihood, y, mean, variance) -> Expectations:
    """Expected log likelihood of the softmax of several processes."""
    points = normal_points(mean.shape[1], POINTS)
    std = np.sqrt(variance)
    n, k = mean.shape
    one_hot = np.eye(k)[y.astype(int)]
    total = np.zeros(n)
    g = np.zeros_like(mean)
    w = np.zeros_like(mean)
    for cut in block_slices(POINTS, max(1, NUMBERS // mean.size)):
        z = points[cut, None, :]
        f = mean + std * z
        slope = one_hot - softmax(f)
        labels = np.broadcast_to(one_hot, f.shape).reshape(-1, k)
        total += likelihood.log_prob(labels, f.reshape(-1, k)).reshape(-1, n).sum(0)
        g += slope.sum(axis=0)
        w -= (slope * z).sum(axis=0) / std
    return Expectations(total / POINTS, g / POINTS, w / POINTS, NOTHING, NOTHING)


class NaturalNormal(NamedTuple):
    """q(v) by natural parameters, one for each of t latent processes."""

    precision: np.ndarray  # S^-1, (t, m, m)
    shift: np.ndarray  # S^-1 mu, (t, m)

    @classmethod
    def prior(cls, t, m):
        return cls(np.repeat(np.eye(m)[None], t, axis=0), np.zeros((t, m)))

    def factors(self):
        """The factor of S^-1 and mu of each process."""
        factors, means = [], []
        for precision, shift in zip(self.precision, self.shift, strict=True):
            try:
                R = np.linalg.cholesky(precision)
            except np.linalg.LinAlgError as error:
                raise NotPositiveDefiniteError("q has no covariance.") from error
            factors.append(R)
            half = solve_triangular(R, shift)
            means.append(solve_triangular(R, half, transposed=True))
        return factors, means

    def moved(self, target, h):
        """Eq. (3)."""
        return NaturalNormal(
            (1 - h) * self.precision + h * target.precision,
            (1 - h) * self.shift + h * target.shift,
        )


class VariationalSystem(NamedTuple):
    """L of Z, and prior variances and noise of all rows."""

    kernel: Any
    Z: np.ndarray
    L: np.ndarray
    jitter: float


def variational_system(kernel, Z) -> VariationalSystem:
    L, jitter = cholesky(kernel(Z, np.array(Z)))
    return VariationalSystem(kernel, Z, L, jitter)


class RowPass(NamedTuple):
    """Eq. (1) for some rows, and what their likelihood adds to eqs. (2) and (3)."""

    A: np.ndarray
    expected: Expectations
    precision: np.ndarray  # sum w a a^T, (t, m, m)
    shift: np.ndarray  # sum (g + w mean) a, (t, m)


class BatchPass(NamedTuple):
    """Eqs. (2) and (3)."""

    bound: float
    target: NaturalNormal  # where a full step of eq. (3) would go


def _row_pass(system, data: GPData, factors, means) -> RowPass:
    """The sums over rows of eqs. (2) and (3), with the factors of q."""
    kernel, Z, L, _ = system
    normal = data.likelihood.name == "normal"
    white, prior = white_and_smooth_variances(kernel, data.X)
    noise = data.noise + white if normal else NOTHING
    prior = prior if normal else prior + white
    A = solve_triangular(L, kernel(Z, data.X))
    known = np.einsum("ij,ij->j", A, A)
    mean = np.stack([A.T @ mu for mu in means], axis=1)
    spread = []
    for R in factors:
        V = solve_triangular(R, A)
        spread.append(prior - known + np.einsum("ij,ij->j", V, V))
    variance = np.maximum(np.stack(spread, axis=1), LEAST_VARIANCE * prior[:, None])
    expected = _expected_log_likelihood(data.likelihood, data.Y, noise, mean, variance)
    precision = np.stack([(A * w) @ A.T for w in expected.w.T])
    shift = (expected.g + expected.w * mean).T @ A.T
    return RowPass(A, expected, precision, shift)


def _divergence_from_prior(factors, means) -> float:
    """KL of q from N(0, I), over all processes."""
    total = 0.0
    for R, mu in zip(factors, means, strict=True):
        m = len(mu)
        trace = float(np.sum(solve_triangular(R, np.eye(m)) ** 2))
        log_det = 2 * float(np.sum(np.log(np.diagonal(R))))
        total += 0.5 * (trace + float(mu @ mu) - m + log_det)
    return total


def _batch_pass(rows: RowPass, factors, means, growth=1.0) -> BatchPass:
    """The bound and the target from sums over rows, times `growth`."""
    bound = growth * float(np.sum(rows.expected.value))
    bound -= _divergence_from_prior(factors, means)
    eye = np.eye(len(rows.shift[0]))
    target = NaturalNormal(eye + growth * rows.precision, growth * rows.shift)
    return BatchPass(bound, target)


def _full_pass(system, data: GPData, q) -> BatchPass:
    """Eqs. (2) and (3) over all rows, by blocks."""
    factors, means = q.factors()
    bound = -_divergence_from_prior(factors, means)
    t, m = q.shift.shape
    precision = np.repeat(np.eye(m)[None], t, axis=0)
    shift = np.zeros((t, m))
    for cut in block_slices(len(data.Y), ROWS):
        rows = _row_pass(system, data.take(cut), factors, means)
        bound += float(np.sum(rows.expected.value))
        precision += rows.precision
        shift += rows.shift
    return BatchPass(bound, NaturalNormal(precision, shift))


def _bound_gradient(
    system, data, rows: RowPass, factors, means, growth=1.0
) -> MarginalLikelihood:
    """Eq. (4): partial derivatives in theta, the likelihood and Z, of these rows."""
    kernel, Z, L, _ = system
    A, expected = rows.A, rows.expected
    Abar = np.zeros_like(A)
    for j, (R, mu) in enumerate(zip(factors, means, strict=True)):
        g, w = growth * expected.g[:, j], growth * expected.w[:, j]
        SA = solve_triangular(R, solve_triangular(R, A), transposed=True)
        Abar += np.outer(mu, g) - (SA - A) * w
    W = solve_triangular(L, Abar, transposed=True)
    lower = np.tril(Abar @ A.T)
    lower[np.diag_indices(len(lower))] *= 0.5
    M = -0.5 * (lower + lower.T)
    M = solve_triangular(L, M, transposed=True)
    M = solve_triangular(L, M.T, transposed=True)
    slope = kernel.contract(Z, data.X, W) + kernel.contract(Z, np.array(Z), M)
    by_Z = kernel.contract_inputs(Z, data.X, W)
    by_Z = by_Z + 2 * kernel.contract_inputs(Z, np.array(Z), M)
    by_prior = -0.5 * growth * np.sum(expected.w, axis=1)
    normal = data.likelihood.name == "normal"
    by_white = growth * expected.noise if normal else by_prior
    slope = slope + contract_variances(kernel, data.X, by_white, by_prior)
    value = growth * float(np.sum(expected.value))
    return MarginalLikelihood(value, slope, growth * expected.phi, by_Z.ravel())


class NaturalState(NamedTuple):
    objective: float  # minus the bound
    q: NaturalNormal
    target: NaturalNormal


def fit_posterior(system, data: GPData, t) -> NaturalNormal:
    """q of the largest bound for all rows: eq. (3), halved where it does not climb."""
    q = NaturalNormal.prior(t, len(system.Z))
    run = _full_pass(system, data, q)

    def step(state):
        h = 1.0
        for _ in range(HALVINGS):
            moved = state.q.moved(state.target, h)
            try:
                run = _full_pass(system, data, moved)
            except NotPositiveDefiniteError:
                run = None
            slack = 1e-12 * abs(state.objective)
            if run is not None and -run.bound <= state.objective + slack:
                return NaturalState(-run.bound, moved, run.target)
            h *= 0.5
        return state

    start = NaturalState(-run.bound, q, run.target)
    return iterate(step, start, max_iter=MAX_ITER, tol=TOL).state.q


def variational_evidence(kernel, data: GPData, Z, t, *, gradient=True):
    """The largest bound over q for all rows, its gradient, and q."""
    system = variational_system(kernel, Z)
    q = fit_posterior(system, data, t)
    factors, means = q.factors()
    bound = -_divergence_from_prior(factors, means)
    parts = []
    for cut in block_slices(len(data.Y), ROWS):
        part = data.take(cut)
        rows = _row_pass(system, part, factors, means)
        bound += float(np.sum(rows.expected.value))
        if gradient:
            parts.append(_bound_gradient(system, part, rows, factors, means))
    if not gradient:
        return MarginalLikelihood(bound, None), q
    slopes = (sum(column) for column in zip(*(part[1:] for part in parts), strict=True))
    return MarginalLikelihood(bound, *slopes), q


class SparseVariationalPosterior(NamedTuple):
    """The latent processes at new rows, eq. (1)."""

    kernel: Any
    Z: np.ndarray
    mu: np.ndarray  # (t, m)
    L: np.ndarray
    factors: np.ndarray  # of S^-1, (t, m, m)
    jitter: float = 0.0

    def mean(self, X):
        """(b, t)."""
        weights = solve_triangular(self.L, self.mu.T, transposed=True)
        return self.kernel.matmul(X, self.Z, weights)

    def variances(self, X):
        """(b, t)."""
        prior = np.array(self.kernel.diag(X), float)
        out = np.empty((len(prior), len(self.mu)))
        for cut in block_slices(len(X), ROWS):
            A = solve_triangular(self.L, self.kernel(self.Z, X[cut]))
            rest = prior[cut] - np.einsum("ij,ij->j", A, A)
            for j, R in enumerate(self.factors):
                V = solve_triangular(R, A)
                out[cut, j] = rest + np.einsum("ij,ij->j", V, V)
        return np.maximum(out, 0.0)

    def variance(self, X):
        """Variance of the first process, (b,)."""
        return self.variances(X)[:, 0]

    def moments(self, X):
        return self.mean(X), self.variance(X)

    def class_covariance(self, X):
        """Covariance of the processes at each row: they are independent, (b, t, t)."""
        return self.variances(X)[:, :, None] * np.eye(len(self.mu))

    def covariance(self, X):
        """Covariance of the first process, (b, b)."""
        A = solve_triangular(self.L, self.kernel(self.Z, X))
        V = solve_triangular(self.factors[0], A)
        return self.kernel(X) - A.T @ A + V.T @ V


def variational_posterior(kernel, Z, q: NaturalNormal) -> SparseVariationalPosterior:
    system = variational_system(kernel, Z)
    factors, means = q.factors()
    return SparseVariationalPosterior(
        kernel,
        np.array(Z),
        np.stack(means),
        system.L,
        np.stack(factors),
        system.jitter,
    )


class StochasticState(NamedTuple):
    objective: float  # minus a moving average of the bound
    x: np.ndarray  # theta, the likelihood's parameters and Z, in one vector
    q: NaturalNormal
    memory: Any
    t: int


class StochasticOptions(NamedTuple):
    batch_size: int
    max_steps: int
    rate: float  # of Adam
    step: float  # h of eq. (3) after the first steps


def stochastic_search(model_at, data, x, q, options, prior, rng, task=SILENT):
    """Batches of random rows: eq. (3) for q and Adam for the other parameters.

    Parameters
    ----------
    model_at : callable
        x -> (kernel, likelihood, Z, pull_back), the last mapping a
        `MarginalLikelihood` to the gradient in x.
    data : GPData
    x : array
        Where the search begins.
    q : NaturalNormal
    options : StochasticOptions
    prior : object with `value(x)` and `gradient(x)`
    rng : Generator
    task : FitTask

    Returns
    -------
    Result
        Its state has `x` and `q`.
    """
    n = len(data.Y)
    b = min(options.batch_size, n)
    total = options.max_steps
    # constant, then down to a twentieth over the last half
    fade = lambda t: 1.0 if 2 * t < total else 0.05 ** (2 * t / total - 1)
    rule = chain_transforms(
        by_moments(), scale_by_schedule(lambda t: options.rate * fade(t))
    )
    order = {"rows": rng.permutation(n), "at": 0}

    def next_rows():
        if order["at"] + b > n:
            order["rows"] = rng.permutation(n)
            order["at"] = 0
        rows = order["rows"][order["at"] : order["at"] + b]
        order["at"] += b
        return np.sort(rows)

    def step(state):
        batch = data.take(next_rows())
        kernel, likelihood, Z, pull_back = model_at(state.x)
        batch = batch._replace(likelihood=likelihood)
        system = variational_system(kernel, Z)
        factors, means = state.q.factors()
        rows = _row_pass(system, batch, factors, means)
        h = min(1.0, options.step * fade(state.t) * min(1.0, (state.t + 1) / 10))
        run = _batch_pass(rows, factors, means, n / b)
        q = state.q.moved(run.target, h)
        result = _bound_gradient(system, batch, rows, factors, means, n / b)
        gradient = pull_back(result) + prior.gradient(state.x)
        move, memory = rule.update(-gradient / n, state.memory, state.x)
        bound = run.bound + prior.value(state.x)
        share = max(0.02, 1.0 / (state.t + 1))
        mean = (1 - share) * state.objective - share * bound if state.t else -bound
        return StochasticState(mean, state.x + move, q, memory, state.t + 1)

    start = StochasticState(0.0, x, q, rule.init(x), 0)
    return iterate(
        step, start, max_iter=total, tol=0.0, change=lambda old, new: 1.0, task=task
    )

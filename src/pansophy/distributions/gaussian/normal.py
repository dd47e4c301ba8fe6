"""The Normal distribution, one or a batch of k, in every covariance shape.

    log N(x; m, S) = -(d log 2 pi + log det S + (x - m)' S^-1 (x - m)) / 2       (1)

evaluated through the factor P of the precision, S^-1 = P P', so that the quadratic
form is |P'(x - m)|^2 and no small number is the difference of large ones. What it
learns from are `Moments`: weight, mean and scatter about that mean, merged by

    m = m_a + (w_b / w) (m_b - m_a),   S = S_a + S_b + (w_a w_b / w) dd'         (2)

with d = m_b - m_a, exact where sums of squares about zero lose every digit. With
blocks a (asked) and b (given) of the coordinates, the conditional is

    m_a|b = m_a + S_ab S_bb^-1 (x_b - m_b),   S_a|b = S_aa - S_ab S_bb^-1 S_ba   (3)

Shapes    mean (d,) or (k, d)   cov as in `covariance.py`, without k for one
Refs      [Chan1983] eq. (2); [Bishop2006] section 2.3
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import arrays
from ...core.numerics import LOG_2PI, safe_divide
from ..base import (
    as_events,
    float_parameter,
    require_all,
    sum_of_weights,
    weight_along_components,
    weighted_sum,
)
from .covariance import ALL_SHAPES, SHAPES, CovarianceShape, factor_analysis


@dataclass(frozen=True, eq=False)
class Moments:
    """Weight, mean and scatter of weighted rows; `a + b` merges them, eq. (2)."""

    weight: Any  # () or (k,); of each coordinate where a diagonal shape misses values
    mean: Any  # (d,) or (k, d)
    scatter: Any  # about the mean, stored as the covariance is
    shape: str = "full"

    @property
    def single(self) -> bool:
        return self.mean.ndim == 1

    def batch(self) -> "Moments":
        """A copy with a leading axis of one component."""
        if not self.single:
            return self
        S = self.scatter if self.shape == "tied" else self.scatter[None, ...]
        return Moments(self.weight[None, ...], self.mean[None, :], S, self.shape)

    def __add__(self, other: "Moments") -> "Moments":
        a, b = self.batch(), other.batch()
        w = a.weight + b.weight
        share = safe_divide(b.weight, w)
        D = b.mean - a.mean
        mean = a.mean + weight_along_components(share, D) * D
        S = a.scatter + b.scatter + SHAPES[a.shape].outer(D, a.weight * share)
        merged = Moments(w, mean, S, a.shape)
        return unbatched_moments(merged) if self.single else merged


def unbatched_moments(m: Moments) -> Moments:
    S = m.scatter if m.shape == "tied" else m.scatter[0, ...]
    return Moments(m.weight[0, ...], m.mean[0, :], S, m.shape)


def moments(X, weights=None, shape="full") -> Moments:
    """Moments of rows X under weights (n,), or one set per column of weights (n, k)."""
    X = arrays.as_float(X)
    xp = arrays.namespace(X)
    weight = sum_of_weights(X, weights)
    first = weighted_sum(X, weights)
    if weights is None:
        weights = xp.ones(X.shape[0], dtype=X.dtype, device=arrays.device(X))
    R = arrays.asarray(weights, like=X)
    single = R.ndim == 1
    if single:
        R, weight, first = R[:, None], weight[None, ...], first[None, :]
    mean = safe_divide(first, weight[:, None] + xp.zeros_like(first))
    m = Moments(weight, mean, SHAPES[shape].scatter(X, mean, R), shape)
    return unbatched_moments(m) if single else m


class PrecisionBlocks(NamedTuple):
    """Blocks of a precision matrix between coordinates a and the others b.

    The covariance of a given b is the inverse of `aa`, and its mean is
    m_a - aa^-1 ab (x_b - m_b).
    """

    aa: Any
    ab: Any
    ba: Any
    bb: Any


@dataclass(frozen=True, eq=False)
class Normal:
    """Multivariate Normal distribution, or a batch of k of them.

    Parameters
    ----------
    mean : array of shape (d,) or (k, d)
        A number stands for (d,) = (1,).
    cov : array
        In the storage of `shape`: for one, (d, d), (d,) or a number; for a batch,
        (k, d, d), (d, d) if tied, (k, d) or (k,); loadings and noise, (d, r + 1) or
        (k, d, r + 1), for a low rank.
    shape : {"full", "tied", "diag", "spherical", "low_rank"}
        Covariance shape.

    Examples
    --------
    >>> from pansophy.distributions import Normal
    >>> p = Normal([1.0, 2.0], [[2.0, 0.6], [0.6, 1.0]])
    >>> q = p.condition([1], [3.0])  # first coordinate given the second
    >>> q.mean, q.cov
    (array([1.6]), array([[1.64]]))
    """

    mean: Any
    cov: Any
    shape: str = "full"

    def __post_init__(self):
        if self.shape not in ALL_SHAPES:
            raise ValueError(
                f"shape must be one of {list(ALL_SHAPES)}, got {self.shape!r}."
            )
        mean, cov = float_parameter(self.mean), float_parameter(self.cov)
        if mean.ndim == 0:
            mean = mean[None]
            if cov.ndim == 0 and self.shape in ("full", "tied"):
                cov = cov[None, None]
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "cov", cov)
        k = mean.shape[0] if mean.ndim == 2 else None
        d = mean.shape[-1]
        lead = () if k is None or self.shape == "tied" else (k,)
        tail = {"full": (d, d), "tied": (d, d), "diag": (d,), "spherical": ()}
        tail["low_rank"] = (d, max(int(cov.shape[-1]), 2) if cov.ndim else 2)
        want = (*lead, *tail[self.shape])
        if tuple(cov.shape) != want:
            raise ValueError(
                f"a {self.shape} covariance for means of shape {tuple(mean.shape)} "
                f"has shape {want}, got {tuple(cov.shape)}."
            )

    @property
    def single(self) -> bool:
        return self.mean.ndim == 1

    @property
    def d(self) -> int:
        return int(self.mean.shape[-1])

    @property
    def k(self) -> int:
        return 1 if self.single else int(self.mean.shape[0])

    @property
    def part(self) -> CovarianceShape:
        return ALL_SHAPES[self.shape]

    @property
    def means(self):
        """(k, d), also for one."""
        return self.mean[None, :] if self.single else self.mean

    @property
    def covs(self):
        """The covariances in batch storage, also for one."""
        return self.cov[None, ...] if self.single and self.shape != "tied" else self.cov

    @cached_property
    def factor(self):
        """P with S^-1 = P P', in batch storage."""
        return self.part.factor(self.covs)

    @cached_property
    def half_log_det(self):
        """log det P, (k,), or () if tied."""
        return self.part.half_log_det(self.factor, self.d)

    @property
    def dense(self):
        """The covariance matrices, (d, d) or (k, d, d)."""
        S = self.part.dense(self.covs, self.k, self.d)
        return S[0, ...] if self.single else S

    @property
    def precision(self):
        """The inverses of the covariance matrices, (d, d) or (k, d, d)."""
        return arrays.namespace(self.mean).linalg.inv(self.dense)

    def precision_blocks(self, index) -> "PrecisionBlocks":
        """The precision of one Normal, cut by the coordinates in `index` (a)."""
        if not self.single:
            raise TypeError("cut one Normal at a time: normal[j].precision_blocks(...)")
        xp = arrays.namespace(self.mean)
        a = np.atleast_1d(np.asarray(index))
        b = np.setdiff1d(np.arange(self.d), a)
        indices = lambda i: xp.asarray(i, device=arrays.device(self.mean))
        L = self.precision
        block = lambda i, j: xp.take(xp.take(L, indices(i), axis=0), indices(j), axis=1)
        return PrecisionBlocks(block(a, a), block(a, b), block(b, a), block(b, b))

    @property
    def variance(self):
        """Variance of each coordinate, of the shape of the mean."""
        from .covariance import batch_diagonals

        S = self.dense
        v = batch_diagonals(S[None, ...] if self.single else S)
        return v[0, :] if self.single else v

    @property
    def mode(self):
        return self.mean

    @property
    def free(self) -> int:
        """Number of free parameters of the batch, means included."""
        rank = (self.cov.shape[-1] - 1,) if self.shape == "low_rank" else ()
        return self.k * self.d + self.part.free(self.k, self.d, *rank)

    def __len__(self):
        return self.k

    def __getitem__(self, j) -> "Normal":
        """Component j, or a batch of several."""
        if self.single:
            raise TypeError("this is one Normal, not a batch.")
        shape = self.shape
        if shape == "tied" and isinstance(j, (int, np.integer)):
            return Normal(self.mean[j, :], self.cov, "full")
        cov = self.cov if shape == "tied" else self.cov[j, ...]
        return Normal(self.mean[j, ...], cov, shape)

    def log_prob(self, X):
        """Eq. (1): (n,), or (n, k) for a batch."""
        X = arrays.asarray(as_events(X, self.d), like=self.mean)
        dist = self.part.distance(X, self.means, self.factor)
        log_p = self.half_log_det - 0.5 * (self.d * LOG_2PI + dist)
        return log_p[:, 0] if self.single else log_p

    @property
    def entropy(self):
        """d (1 + log 2 pi) / 2 - log det P: () or (k,)."""
        h = 0.5 * self.d * (1 + LOG_2PI) - self.half_log_det
        if self.single:
            return h if h.ndim == 0 else h[0]
        return h + 0 * self.mean[:, 0]

    def sample(self, n: int, rng: np.random.Generator):
        """n draws: (n, d), or (n, k, d) for a batch."""
        xp = arrays.namespace(self.mean)
        L = xp.linalg.cholesky(self.dense)
        E = rng.standard_normal((n, *self.mean.shape))
        E = arrays.asarray(E, like=self.mean)
        if self.single:
            return self.mean + xp.matmul(E, L.T)
        return self.mean + xp.matmul(L, E[..., None])[..., 0]

    def draw(self, z, rng: np.random.Generator):
        """One draw from component z_i for each i: (n, d)."""
        z = np.asarray(z)
        L = np.linalg.cholesky(
            arrays.to_numpy(self.dense).reshape(self.k, self.d, self.d)
        )
        E = rng.standard_normal((len(z), self.d))
        points = arrays.to_numpy(self.means)[z]
        for j in np.unique(z):
            points[z == j] += E[z == j] @ L[j].T
        return arrays.asarray(points, like=self.mean)

    def stats(self, X, weights=None) -> Moments:
        """`Moments` of the rows: of one for weights (n,), of k for (n, k)."""
        kept = "full" if self.shape == "low_rank" else self.shape
        return moments(as_events(X, self.d), weights, kept)

    @classmethod
    def from_stats(
        cls,
        stats: Moments,
        prior=None,
        floor: float = 0.0,
        rank: int | None = None,
        ddof: int = 0,
    ) -> "Normal":
        """The maximum-likelihood Normal, or MAP with a `NormalInverseWishart` prior.

        `floor` is added to the diagonal of every covariance afterwards. A `rank`
        presses full covariances into that many factors and noise. With `ddof` 1 the
        scatter of n rows is divided by n - 1 instead of n.
        """
        if ddof not in (0, 1) or (ddof and prior is not None):
            raise ValueError(f"ddof must be 0 or 1, and 0 with a prior, got {ddof!r}.")
        if ddof and bool(arrays.namespace(stats.mean).any(stats.weight <= 1)):
            raise ValueError("ddof 1 needs more than one row.")
        if rank is not None:
            p = cls.from_stats(stats, prior, floor, ddof=ddof)
            C = factor_analysis(p.dense.reshape(-1, p.d, p.d), rank, floor=floor)
            return cls(p.mean, C[0] if p.single else C, "low_rank")
        if prior is not None:
            return prior.posterior(stats).normal(stats.shape, floor)
        m = stats.batch()
        part = SHAPES[stats.shape]
        xp = arrays.namespace(m.mean)
        tiny = 10 * xp.finfo(m.mean.dtype).eps  # as scikit-learn: no division by zero
        cov = part.floor(
            part.estimate(m.scatter, m.weight - ddof + tiny, m.mean.shape[1]), floor
        )
        if stats.single:
            cov = cov if stats.shape == "tied" else cov[0, ...]
        return cls(stats.mean, cov, stats.shape)

    def marginal(self, index) -> "Normal":
        """The distribution of the coordinates in `index`; of one Normal."""
        xp = arrays.namespace(self.mean)
        a = xp.asarray(np.asarray(index), device=arrays.device(self.mean))
        take_rows = lambda A, axis: xp.take(A, a, axis=axis)
        return Normal(take_rows(self.mean, 0), take_rows(take_rows(self.dense, 0), 1))

    def condition(self, index, values) -> "Normal":
        """The other coordinates given that those in `index` have `values`, eq. (3)."""
        if not self.single:
            raise TypeError("condition one Normal at a time: normal[j].condition(...).")
        xp = arrays.namespace(self.mean)
        b = np.asarray(index)
        a = np.setdiff1d(np.arange(self.d), b)
        a_, b_ = (xp.asarray(i, device=arrays.device(self.mean)) for i in (a, b))
        S = self.dense
        block = lambda i, j: xp.take(xp.take(S, i, axis=0), j, axis=1)
        gain = xp.linalg.solve(block(b_, b_), block(b_, a_)).T  # S_ab S_bb^-1
        gap = arrays.asarray(values, like=self.mean) - xp.take(self.mean, b_, axis=0)
        mean = xp.take(self.mean, a_, axis=0) + xp.matmul(gain, gap)
        return Normal(mean, block(a_, a_) - xp.matmul(gain, block(b_, a_)))

    def posterior(self, X, known_cov, weights=None) -> "Normal":
        """The mean of rows whose covariance is known, with this Normal as its prior.

        Precisions add: S'^-1 = S^-1 + n C^-1 and S'^-1 m' = S^-1 m + C^-1 sum x_i,
        for rows X (n, d) with covariance C = `known_cov`, a number or (d, d).
        """
        if not self.single:
            raise TypeError("update one Normal at a time: normal[j].posterior(...).")
        X = arrays.asarray(as_events(X, self.d), like=self.mean)
        xp = arrays.namespace(X)
        C = self.known_covariance(known_cov)
        n = sum_of_weights(X, weights)
        total = weighted_sum(X, weights)
        S = self.dense
        # S' = S - S (S + C / n)^-1 S, without the inverse of either covariance
        gain = xp.linalg.solve(n * S + C, S).T  # S (n S + C)^-1
        cov = S - n * xp.matmul(gain, S)
        mean = self.mean + xp.matmul(gain, total - n * self.mean)
        return Normal(mean, (cov + cov.T) / 2)

    def predictive(self, known_cov) -> "Normal":
        """The next row, if this is the distribution of its mean: N(m, S + C)."""
        return Normal(self.mean, self.dense + self.known_covariance(known_cov))

    def known_covariance(self, known_cov):
        """A known covariance as a matrix (d, d); a number is a multiple of I."""
        C = arrays.asarray(float_parameter(known_cov), like=self.mean)
        xp = arrays.namespace(self.mean)
        if C.ndim == 0:
            C = C * arrays.asarray(np.eye(self.d), like=self.mean)
        if tuple(C.shape) != (self.d, self.d):
            raise ValueError(f"known_cov must be a number or {(self.d, self.d)}.")
        require_all(xp.linalg.eigvalsh(C) >= 0, "known_cov must not be negative.")
        return C

    def impute(self, X):
        """Rows of X with each NaN at its mean given the rest of the row, eq. (3)."""
        from .missing import impute_normal

        if not self.single:
            raise TypeError("impute by one Normal at a time: normal[j].impute(X).")
        return impute_normal(self, as_events(X, self.d))

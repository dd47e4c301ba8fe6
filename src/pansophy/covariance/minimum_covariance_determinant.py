"""Minimum covariance determinant: a robust mean and covariance, by FAST-MCD.

The minimum covariance determinant takes, of all subsets H of h rows,

    the H of least det S(H),   m and S being the moments of its rows            (1)

so that up to n - h outliers cannot affect it much. From any m, S the C-step

    H' = the h rows of smallest (x - m)^T S^-1 (x - m)                          (2)

has det S(H') <= det S(H), with equality only if nothing changes, so steps converge.
Where the rows of H lie in a plane, S^-1 is a pseudo-inverse and a step may leave the
plane; that is warned of, for no H is better than one in a plane.
FAST-MCD makes two steps from many small random subsets, keeps the best ten and iterates
those until they converge; many rows are first split into groups of about 300. With one
column the best H is an interval of the sorted rows, found exactly. Then

    S_c = c(h / n) S      c(a) = a / P(chi2_{d+2} <= q_a)                       (3)

with q_a the a-quantile of chi2_d makes S consistent for normal rows, and m, S are
computed once more, with c(.975), from all rows of squared distance below the .975
quantile of chi2_d, which regains efficiency.

All subsets of a group go through a step together, as stacks of small matrices.

Cost      O(n d^2) for each of a few dozen steps
Shapes    X (n, d)   stacks of r subsets: H (r, h), m (r, d), S (r, d, d)
Refs      [Rousseeuw1999]; [Croux1999]
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, NamedTuple

import numpy as np
from scipy.stats import chi2

from ..base import OneClass
from ..core.random import make_rng
from ..params import ParameterRule
from ..typing import Seed
from .empirical import (
    AbstractCovariance,
    mean_and_covariance,
    rows_for_moments,
    squared_mahalanobis,
)

STARTS = 500  # random subsets in all
BEST = 10  # subsets that are iterated further
GROUP = 300  # rows of a group
POOL = 1500  # rows on which the best subsets of the groups are compared
MAX_C_STEPS = 100
RISE = 1e-6  # of a log-determinant, relative, beyond rounding
MAX_STACK_SIZE = 1 << 22  # numbers in a stack of distances
Share = Annotated[
    float, ParameterRule("a number above 0, at most 0.5", lambda v: 0 < v <= 0.5)
]


SupportFraction = Annotated[
    float, ParameterRule("a number above 0, at most 1", lambda v: 0 < v <= 1)
]


class Subsets(NamedTuple):
    """Moments of a stack of subsets, best first after `_smallest_determinants`."""

    m: np.ndarray  # (r, d)
    S: np.ndarray  # (r, d, d)
    log_det: np.ndarray  # (r,), -inf where the rows lie in a plane
    rose: np.ndarray  # (r,), whether a C-step has raised a determinant


def stacked_moments(X, H) -> Subsets:
    """m, S and log det S of the subsets H of the rows."""
    rows = X[H]
    m = rows.mean(axis=1)
    A = rows - m[:, None, :]
    S = np.matmul(A.transpose(0, 2, 1), A) / H.shape[1]
    sign, log_det = np.linalg.slogdet(S)
    log_det = np.where(sign > 0, log_det, -np.inf)
    return Subsets(m, S, log_det, np.zeros(len(m), bool))


def _stacked_distances(X, m, S):
    """(x - m)^T S^-1 (x - m) for each of a stack: (r, n), by pseudo-inverses."""
    values, V = np.linalg.eigh(S)
    tiny = np.finfo(float).eps * S.shape[1] * np.abs(values).max(axis=1, initial=1e-300)
    with np.errstate(divide="ignore"):
        scale = np.where(values > tiny[:, None], 1 / np.sqrt(np.abs(values)), 0.0)
    root = V * scale[:, None, :]
    Z = np.matmul(X, root) - np.matmul(m[:, None, :], root)
    return np.einsum("rnd,rnd->rn", Z, Z)


def c_step(X, at: Subsets, h, first=False):
    """Eq. (2) for a stack: the new subsets and their moments.

    `first` is a step from subsets of fewer rows, whose determinants may be lower.
    """
    if len(at.m) > 1 and at.m.size * len(X) > MAX_STACK_SIZE:  # one by one
        ones = [Subsets(*(part[[r]] for part in at)) for r in range(len(at.m))]
        results = [c_step(X, subset, h, first) for subset in ones]
        return np.concatenate([H for H, _ in results]), _concatenated_subsets(
            [a for _, a in results]
        )
    D = _stacked_distances(X, at.m, at.S)
    H = np.argpartition(D, h - 1, axis=1)[:, :h] if h < len(X) else _all_rows(D)
    moments_after = stacked_moments(X, H)
    size = np.where(np.isfinite(at.log_det), np.abs(at.log_det), 0.0)
    rose = (moments_after.log_det > at.log_det + RISE * size) & (not first)
    return H, moments_after._replace(rose=at.rose | rose)


def _all_rows(D):
    """The numbers of all rows, for each of a stack."""
    return np.broadcast_to(np.arange(D.shape[1]), D.shape)


def _smallest_determinants(at: Subsets, count) -> Subsets:
    """The subsets of least determinant."""
    order = np.argsort(at.log_det, kind="stable")[:count]
    best = Subsets(*(part[order] for part in at))
    return best._replace(rose=np.full(len(order), at.rose.any()))


def _converged_c_steps(X, at: Subsets, h, count, first=False):
    """C-steps until no determinant falls: `count` best subsets, rows of the best."""
    H, current = c_step(X, at, h, first)
    for _ in range(MAX_C_STEPS):
        going = current.log_det > -np.inf
        G, following = c_step(X, current, h)
        fell = going & (
            following.log_det < current.log_det - 1e-12 * np.abs(current.log_det)
        )
        if not fell.any():
            break
        H = np.where(fell[:, None], G, H)
        current = Subsets(
            np.where(fell[:, None], following.m, current.m),
            np.where(fell[:, None, None], following.S, current.S),
            np.where(fell, following.log_det, current.log_det),
            following.rose,
        )
    return _smallest_determinants(current, count), H[np.argmin(current.log_det)]


def _initial_subsets(X, h, starts, rng) -> Subsets:
    """Two C-steps from random subsets of d + 1 rows, larger where S is singular."""
    n, d = X.shape
    size = min(d + 1, n)
    order = np.argsort(rng.random((starts, n)), axis=1)
    subsets = stacked_moments(X, order[:, :size])
    while np.isneginf(subsets.log_det).any() and size < h:
        size = min(2 * size, h)
        flat = np.isneginf(subsets.log_det)
        larger = stacked_moments(X, order[flat, :size])
        for old, new in zip(subsets, larger, strict=True):
            old[flat] = new
    _, subsets = c_step(X, subsets, h, first=True)
    _, subsets = c_step(X, subsets, h)
    return _smallest_determinants(subsets, BEST)


def _concatenated_subsets(parts) -> Subsets:
    """One stack of several."""
    return Subsets(*(np.concatenate(p) for p in zip(*parts, strict=True)))


def fast_mcd(X, h, rng):
    """Eq. (1): the best subset as a mask (n,), and whether any determinant rose."""
    n, d = X.shape
    mask = np.zeros(n, bool)
    rose = False
    if h >= n:
        mask[:] = True
    elif d == 1:
        mask[_tightest_interval(X[:, 0], h)] = True
    elif n <= 2 * GROUP:
        best, H = _converged_c_steps(X, _initial_subsets(X, h, STARTS, rng), h, 1)
        mask[H] = True
        rose = bool(best.rose.any())
    else:
        groups = min(5, n // GROUP)
        order = rng.permutation(n)[: groups * GROUP if n > POOL else n]
        parts = np.array_split(order, groups)
        share = lambda rows: max(d + 1, int(np.ceil(len(rows) * h / n)))
        tries = STARTS // groups
        subsets = _concatenated_subsets(
            [_initial_subsets(X[g], share(g), tries, rng) for g in parts]
        )
        pool, _ = _pooled_c_steps(X[order], subsets, share(order))
        best, H = _converged_c_steps(X, pool, h, 1, first=True)
        mask[H] = True
        rose = bool(best.rose.any())
    return mask, rose


def _pooled_c_steps(X, at, h):
    """The best subsets after two C-steps on the pooled rows."""
    _, subsets = c_step(X, at, h, first=True)
    H, subsets = c_step(X, subsets, h)
    return _smallest_determinants(subsets, BEST), H


def _tightest_interval(x, h):
    """Eq. (1) for one column: the h neighbouring sorted rows of least variance."""
    order = np.argsort(x, kind="stable")
    s = x[order] - np.median(x)
    sums, square_sums = (np.concatenate([[0.0], np.cumsum(v)]) for v in (s, s * s))
    spread = (square_sums[h:] - square_sums[:-h]) - (sums[h:] - sums[:-h]) ** 2 / h
    start = int(np.argmin(spread))
    return order[start : start + h]


def consistency_factor(d, share):
    """c of eq. (3)."""
    return share / chi2.cdf(chi2.ppf(share, d), d + 2)  # 1 for a = 1


class RobustMoments(NamedTuple):
    """The raw estimate, eq. (1), and the reweighted one."""

    raw_m: np.ndarray
    raw_S: np.ndarray
    raw_support: np.ndarray
    m: np.ndarray
    S: np.ndarray
    support: np.ndarray


def _reweighted_mcd(
    X, *, support_fraction=None, assume_centered=False, rng
) -> RobustMoments:
    """Eqs. (1) to (3), in columns of about unit scale.

    The estimate is equivariant under scaling. Powers of 2 leave all digits as they are.
    """
    scale = _power_of_two_scale(X)
    X = X / scale
    n, d = X.shape
    h = min(int(np.ceil(0.5 * (n + d + 1))), n)
    h = h if support_fraction is None else max(1, int(support_fraction * n))
    flat = np.linalg.matrix_rank(X - (0 if assume_centered else X.mean(axis=0))) < d
    if flat:
        warnings.warn(
            "The covariance matrix associated to your dataset is not full rank",
            UserWarning,
            stacklevel=3,
        )
    raw, rose = fast_mcd(X, h, rng)
    if rose and not flat:
        warnings.warn(
            f"Determinant has increased in a C-step: {h} of the {n} rows lie in a "
            "plane or nearly so, and have no inverse covariance. You may want to try "
            f"a higher support_fraction than {h / n:.3f}.",
            RuntimeWarning,
            stacklevel=4,
        )
    m, S = mean_and_covariance(X[raw], assume_centered)
    rounding = (n * np.finfo(float).eps * np.abs(X).max()) ** 2
    if h < n and np.abs(S).max() <= rounding:
        raise ValueError(
            "The covariance matrix of the support data is equal to 0, try to "
            "increase support_fraction"
        )
    D = _stacked_distances(X, m[None], S[None])[0] / consistency_factor(d, raw.mean())
    is_near = chi2.ppf(0.975, d) > D
    m2, S2 = mean_and_covariance(X[is_near], assume_centered)
    S2 = S2 * consistency_factor(d, 0.975)
    square = scale * scale[:, None]
    return RobustMoments(m * scale, S * square, raw, m2 * scale, S2 * square, is_near)


def _power_of_two_scale(X):
    """The power of 2 next to the standard deviation of each column; 1 where it is 0."""
    size = np.abs(X).max(axis=0)
    spread = (X / np.where(size > 0, size, 1.0)).std(axis=0) * size
    exponent = np.round(np.log2(np.where(spread > 0, spread, 1.0)))
    return np.exp2(np.clip(exponent, -500, 500))


def _fit_mcd(model, X):
    """Fit a model by `_reweighted_mcd`."""
    X = rows_for_moments(model, X)
    result = _reweighted_mcd(
        X,
        support_fraction=model.support_fraction,
        assume_centered=model.assume_centered,
        rng=make_rng(model.random_state),
    )
    model.raw_location_ = result.raw_m
    model.raw_covariance_ = result.raw_S
    model.raw_support_ = result.raw_support
    model.support_ = result.support
    model._store(result.m, result.S)
    model.dist_ = squared_mahalanobis(X, model.location_, model.get_precision())
    return model


@dataclass(eq=False, repr=False)
class MinCovDet(AbstractCovariance):
    """The minimum covariance determinant, eq. (1), reweighted.

    Parameters
    ----------
    store_precision, assume_centered
        As in `EmpiricalCovariance`.
    support_fraction : float or None, default=None
        h / n, at most 1. None is about a half, which bears the most outliers.
    random_state : None, int, RandomState or Generator
        Where the first subsets come from.

    Attributes
    ----------
    location_, covariance_, precision_
        The reweighted estimate.
    support_ : array of shape (n,)
        The rows it was taken from.
    dist_ : array of shape (n,)
        Squared distances of the rows by it.
    raw_location_, raw_covariance_, raw_support_
        Mean, covariance and rows of the tightest subset, before eq. (3).
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.covariance import MinCovDet
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> X[:20] += 50
    >>> bool(np.abs(MinCovDet(random_state=0).fit(X).location_).max() < 0.5)
    True
    """

    _: KW_ONLY
    support_fraction: SupportFraction | None = None
    random_state: Seed = None

    def fit(self, X, y=None):
        """Find the tightest subset and reweight.

        Parameters
        ----------
        X : array of shape (n, d)
        y : None
            Not used.

        Returns
        -------
        self : MinCovDet
        """
        X, _ = self._check_training_data(X, ensure_min_samples=2)
        return _fit_mcd(self, X)

    def correct_covariance(self, data):
        """The raw covariance times c(h / n), eq. (3)."""
        return _consistent_covariance(self)

    def reweight_covariance(self, data):
        """Mean, covariance and mask of the rows near the raw estimate."""
        return _reweighted_moments(self, np.asarray(data, np.float64))


def _consistent_covariance(model):
    """The raw covariance times c(h / n), eq. (3)."""
    S = model.raw_covariance_
    return S * consistency_factor(len(S), model.raw_support_.mean())


def _reweighted_moments(model, X):
    """Mean, covariance and mask of the rows near the raw estimate."""
    d = X.shape[1]
    S = _consistent_covariance(model)
    D = _stacked_distances(X, model.raw_location_[None], S[None])[0]
    is_near = chi2.ppf(0.975, d) > D
    return *mean_and_covariance(X[is_near], model.assume_centered), is_near


@dataclass(eq=False, repr=False)
class EllipticEnvelope(OneClass, AbstractCovariance):
    """Flags rows far from the centre by a robust covariance.

    Parameters
    ----------
    store_precision, assume_centered, support_fraction, random_state
        As in `MinCovDet`.
    contamination : float, default=0.1
        Share of the fitted rows to be flagged.

    Attributes
    ----------
    offset_ : float
        Rows with minus their squared distance below it are outliers.
    location_, covariance_, precision_, support_, dist_
        As in `MinCovDet`.
    raw_location_, raw_covariance_, raw_support_
        As in `MinCovDet`.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.covariance import EllipticEnvelope
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> EllipticEnvelope(random_state=0).fit(X).predict([[0, 0], [9, 9]])
    array([ 1, -1])
    """

    _: KW_ONLY
    support_fraction: SupportFraction | None = None
    contamination: Share = 0.1
    random_state: Seed = None

    def fit(self, X, y=None):
        """Find the envelope.

        Parameters
        ----------
        X : array of shape (n, d)
        y : None
            Not used.

        Returns
        -------
        self : EllipticEnvelope
        """
        X, _ = self._check_training_data(X, ensure_min_samples=2)
        _fit_mcd(self, X)
        self.offset_ = float(np.percentile(-self.dist_, 100.0 * self.contamination))
        return self

    def score_samples(self, X):
        """Minus the squared distance of each row: (n,)."""
        return -self.mahalanobis(X)

    def decision_function(self, X):
        """score - offset: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X):
        """-1 for outliers and 1 for the others."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def score(self, X, y, sample_weight=None):  # pyrefly: ignore
        """The share of rows whose flags are right."""
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    def correct_covariance(self, data):
        """The raw covariance times c(h / n), eq. (3)."""
        return _consistent_covariance(self)

    def reweight_covariance(self, data):
        """Mean, covariance and mask of the rows near the raw estimate."""
        return _reweighted_moments(self, np.asarray(data, np.float64))

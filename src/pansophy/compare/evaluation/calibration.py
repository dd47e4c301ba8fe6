"""Calibration of probabilities: measured by bins, corrected on held-out rows.

Rows are put into bins b of like probability, with mean probability p_b, observed share
o_b and n_b rows of n. Then

    ECE   = sum_b n_b/n |o_b - p_b|                                              (1)
    Brier = REL - RES + UNC + WITHIN                                             (2)
    REL = sum_b n_b/n (p_b - o_b)^2     RES = sum_b n_b/n (o_b - o)^2
    UNC = o (1 - o)

where WITHIN is what the bins hide, and 0 if every distinct probability is a bin. The
band of the curve comes from rows drawn with replacement. Bins stay, so that draws are
multinomial over (bin, outcome) and cost nothing.

Calibration maps are fitted to out-of-fold rows only, since probabilities for the
training rows of a fit are too confident.

    sigmoid      1/(1 + exp(-(a logit p + c))), targets (N+ + 1)/(N+ + 2) and
                 1/(N- + 2) in place of 1 and 0, which keeps a and c finite      (3)
    isotonic     the best rising step function                                   (4)
    temperature  p_k^(1/T) / sum_j p_j^(1/T), one T for all classes              (5)

(3) and (4) are fitted for each of K > 2 classes against the rest and normalised; (5)
never changes which class is most probable. (4) is kept 1/(n + 2) away from 0 and 1: n
rows do not show that something is impossible.

Shapes    p (n,) or (n, K)   y (n,) codes 0..K-1
Refs      [Murphy1973] [Stephenson2008] (2); [Platt2000] (3); [Zadrozny2002] (4);
          [Guo2017] (1), (5)
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.isotonic import IsotonicRegression

from ...core.arrays.weighted import check_sample_weight
from ...core.random import make_rng
from ...core.score_calibration import (
    fit_inverse_temperature,
    fit_platt_sigmoid,
    scale_temperature,
)
from ...diagnose.data.row_counts import effective_counts
from .statistics import check_level, finite_array

TINY = 1e-12
CALIBRATION_METHODS = ("none", "sigmoid", "isotonic", "temperature")


class ReliabilityCurve(NamedTuple):
    """The points of a reliability curve, empty bins left out."""

    predicted: np.ndarray  # mean probability of the bin
    observed: np.ndarray  # share of yes
    low: np.ndarray  # band of the share
    high: np.ndarray
    count: np.ndarray


class BrierDecomposition(NamedTuple):
    """Eq. (2)."""

    brier: float
    reliability: float  # 0 is perfect
    resolution: float  # more is better
    uncertainty: float
    within: float


def _event_and_probability(y, p, of=None):
    """(happened, probability) of one event from any of the accepted shapes.

    (n,) and (n, 2) are the probability of class 1. With K > 2 classes it is class
    `of` if given, otherwise that of the most probable class being right.
    """
    p, y = finite_array(p, "probabilities"), np.asarray(y)
    if len(y) != len(p) or y.ndim != 1:
        raise ValueError(f"y must have {len(p)} entries, got shape {y.shape}.")
    if np.any(p < -TINY) or np.any(p > 1 + TINY):
        raise ValueError("Probabilities must lie between 0 and 1.")
    if p.ndim == 2:
        if of is None and p.shape[1] > 2:
            return (p.argmax(1) == y).astype(float), p.max(1)
        of = 1 if of is None else of
        return (y == of).astype(float), p[:, of]
    if not np.isin(y, (0, 1)).all():
        raise ValueError("y must hold 0 and 1 only.")
    return y.astype(float), p


def _probability_bins(p, bins, strategy) -> np.ndarray:
    """The bin of each row, 0, 1, ...; equal probabilities share one."""
    if bins is None:
        return np.unique(p, return_inverse=True)[1]
    if strategy not in ("quantile", "uniform"):
        raise ValueError(f"strategy must be 'quantile' or 'uniform', got {strategy!r}.")
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}.")
    edges = np.linspace(0, 1, bins + 1)[1:-1]
    edges = np.quantile(p, edges) if strategy == "quantile" else edges
    return np.unique(
        np.searchsorted(np.unique(edges), p, "right"), return_inverse=True
    )[1]


def _binned_statistics(y, p, bins, strategy, weights=None):
    """(n_b, p_b, o_b, bin of each row); weights add up to what rows are worth."""
    checked = check_sample_weight(weights, len(p), "weights")
    w = np.ones(len(p)) if checked is None else checked
    if np.any(w == 0):
        is_weighted = w > 0
        return _binned_statistics(
            y[is_weighted], p[is_weighted], bins, strategy, w[is_weighted]
        )
    w = effective_counts(w, False)  # Kish's number of equal rows in all
    bin_index = _probability_bins(p, bins, strategy)
    n = np.bincount(bin_index, w)
    return (
        n,
        np.bincount(bin_index, w * p) / n,
        np.bincount(bin_index, w * y) / n,
        bin_index,
    )


def reliability_curve(
    y,
    p,
    bins=10,
    *,
    of=None,
    strategy="quantile",
    level=0.95,
    n_resamples=1000,
    weights=None,
    random_state=0,
) -> ReliabilityCurve:
    """Observed frequencies against predicted probabilities, with a band.

    `weights` (n,) say how much each row counts.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare import reliability_curve
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> curve = reliability_curve(rng.random(2000) < p, p, bins=5)
    >>> print(curve.predicted.round(1), curve.observed.round(1))
    [0.1 0.3 0.5 0.7 0.9] [0.1 0.3 0.5 0.7 0.9]
    """
    check_level(level)
    y, p = _event_and_probability(y, p, of)
    n, mean, share, bin_index = _binned_statistics(y, p, bins, strategy, weights)
    cells = np.r_[n * share, n * (1 - share)] / n.sum()
    rows, cells = max(round(n.sum()), 1), cells / cells.sum()
    draws = make_rng(random_state).multinomial(rows, cells, n_resamples)
    yes, n_no = np.split(draws, 2, axis=1)
    rate = np.where(yes + n_no > 0, yes / np.maximum(yes + n_no, 1), share)
    low, high = np.quantile(rate, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return ReliabilityCurve(mean, share, low, high, np.bincount(bin_index))


def calibration_error(
    y, p, bins=10, *, of=None, strategy="quantile", weights=None
) -> float:
    """Eq. (1): the mean gap between what was said and what happened.

    Examples
    --------
    >>> from pansophy.compare import calibration_error
    >>> round(calibration_error([0, 0, 0, 1], [0.5, 0.5, 0.5, 0.5]), 4)
    0.25
    """
    n, mean, share, _ = _binned_statistics(
        *_event_and_probability(y, p, of), bins, strategy, weights
    )
    return float((n * np.abs(share - mean)).sum() / n.sum())


def brier_decomposition(
    y, p, bins=None, *, of=None, strategy="quantile"
) -> BrierDecomposition:
    """Eq. (2); `bins` None makes every distinct probability one.

    Examples
    --------
    >>> from pansophy.compare import brier_decomposition
    >>> b = brier_decomposition([0, 1, 1, 1], [0.2, 0.2, 0.9, 0.9])
    >>> [round(v, 4) for v in b]
    [0.175, 0.05, 0.0625, 0.1875, 0.0]
    """
    y, p = _event_and_probability(y, p, of)
    n, mean, share, bin_index = _binned_statistics(y, p, bins, strategy)
    w = n / n.sum()
    o = y.mean()
    rel, res = float(w @ (mean - share) ** 2), float(w @ (share - o) ** 2)
    residual = p - mean[bin_index]
    within_bins = (
        0.0
        if bins is None
        else float((residual**2 - 2 * residual * (y - share[bin_index])).mean())
    )
    unc = float(o * (1 - o))
    return BrierDecomposition(float(((p - y) ** 2).mean()), rel, res, unc, within_bins)


@dataclass(frozen=True)
class CalibrationMap:
    """A fitted calibration map; `apply` it to the probabilities of new rows."""

    method: str
    values: tuple = ()  # (a, c) or (knots, heights) for each class, or (1/T,)

    def apply(self, p) -> np.ndarray:
        """Calibrated probabilities of the shape of p."""
        p = finite_array(p, "rows of probabilities", 0)
        if self.method == "none":
            return p
        if p.ndim == 1:
            return self.apply(np.column_stack([1 - p, p]))[:, 1]
        if self.method == "temperature":
            return scale_temperature(p, self.values[0])
        if len(self.values) == 1:
            q = _calibrate_class(self.method, p[:, 1], self.values[0])
            return np.column_stack([1 - q, q])
        if len(self.values) != p.shape[1]:
            raise ValueError(
                f"p must have {len(self.values)} columns, got {p.shape[1]}."
            )
        q = [
            _calibrate_class(self.method, p[:, k], v) for k, v in enumerate(self.values)
        ]
        return _normalise_rows(np.column_stack(q))


def _normalise_rows(q):
    total = q.sum(1, keepdims=True)
    return np.where(total > 0, q / np.where(total > 0, total, 1), 1 / q.shape[1])


def clipped_logit(p):
    p = np.clip(p, TINY, 1 - TINY)
    return np.log(p) - np.log1p(-p)


def _calibrate_class(method, p, value):
    """Eq. (3) or (4) of the probability of one class."""
    if method == "isotonic":
        return np.interp(p, *value)
    a, c = value
    return 1 / (1 + np.exp(-np.clip(a * clipped_logit(p) + c, -700, 700)))


def fit_sigmoid(p, y, w):
    """(a, c) of eq. (3)."""
    return fit_platt_sigmoid(clipped_logit(p), np.asarray(y) > 0, w)


def calibration_line(y, p, weights=None) -> tuple[float, float]:
    """(slope, intercept) of the log odds of the truth on those that were given.

    1 and 0 for probabilities that mean what they say; a slope below 1 is overconfident.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare.evaluation.calibration import calibration_line
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=20_000)
    >>> y = rng.random(20_000) < 1 / (1 + np.exp(-z))
    >>> slope, intercept = calibration_line(y, 1 / (1 + np.exp(-2 * z)))
    >>> bool(abs(slope - 0.5) < 0.03), bool(abs(intercept) < 0.05)
    (True, True)
    """
    y, p = _event_and_probability(y, p)
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    slope, intercept = fit_sigmoid(p, y, w)
    return float(slope), float(intercept)


def _fit_isotonic(p, y, w):
    """(knots, heights) of eq. (4)."""
    line = IsotonicRegression(out_of_bounds="clip").fit(p, y, w)
    edge = 1 / (w.sum() + 2)
    heights = np.clip(line.y_thresholds_, edge, 1 - edge)
    return np.asarray(line.X_thresholds_), heights


def fit_calibration(p, y, method="sigmoid", weights=None) -> CalibrationMap:
    """Fit a map of probabilities to out-of-fold rows.

    Parameters
    ----------
    p : array (n,) or (n, K)
        Probabilities from models that had not seen the rows.
    y : array (n,) of codes 0..K-1
    method : {"sigmoid", "isotonic", "temperature", "none"}
        Isotonic needs many rows (a thousand or more); the others few.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare import fit_calibration
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> y = rng.random(5000) < p**2  # too sure of a yes
    >>> calibration = fit_calibration(p, y, "isotonic")
    >>> bool(abs(calibration.apply(np.array([0.5]))[0] - 0.25) < 0.05)
    True
    """
    if method not in CALIBRATION_METHODS:
        raise ValueError(
            f"method must be one of {', '.join(CALIBRATION_METHODS)}, got {method!r}."
        )
    p, y = finite_array(p, "rows of probabilities"), np.asarray(y)
    P = np.column_stack([1 - p, p]) if p.ndim == 1 else p
    K = P.shape[1]
    if y.shape != (len(P),) or not np.isin(y, range(K)).all():
        raise ValueError(f"y must hold {len(P)} codes from 0 to {K - 1}.")
    y = y.astype(int)
    w = np.ones(len(P)) if weights is None else finite_array(weights, "weights")
    if w.shape != (len(P),) or np.any(w < 0) or not w.sum() > 0:
        raise ValueError(f"weights must be {len(P)} numbers of at least 0.")
    if method == "none":
        return CalibrationMap(method)
    if method == "temperature":
        return CalibrationMap(method, (fit_inverse_temperature(P, y, w),))
    fit = fit_sigmoid if method == "sigmoid" else _fit_isotonic
    classes = (1,) if K == 2 else range(K)
    return CalibrationMap(
        method, tuple(fit(P[:, k], (y == k) * 1.0, w) for k in classes)
    )


def calibrate_folds(p, y, fold, method="sigmoid", weights=None) -> np.ndarray:
    """Out-of-fold probabilities, each fold calibrated on the others: honest to score.

    `fold` (n,) says which fold held a row out (any labels).
    """
    p, y, fold = np.asarray(p, dtype=float), np.asarray(y), np.asarray(fold)
    if len(np.unique(fold)) < 2:
        raise ValueError(
            "At least two folds are needed, to calibrate one by the others."
        )
    out = np.empty_like(p)
    for f in np.unique(fold):
        rest = fold != f
        w = None if weights is None else np.asarray(weights)[rest]
        out[~rest] = fit_calibration(p[rest], y[rest], method, w).apply(p[~rest])
    return out

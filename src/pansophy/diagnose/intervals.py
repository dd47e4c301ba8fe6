"""Confidence intervals of cross-validated means, of rates, and of differences.

Scores s_1 ... s_J of overlapping folds with n2 test and n1 training rows each have

    mean(s) +- t_{J-1} sqrt((1/J + n2/n1) var(s));                              (1)

a rate of k in n rows lies, at the normal quantile z, between

    (k + z^2/2 -+ z sqrt(k (n - k) / n + z^2/4)) / (n + z^2),                    (2)

which stays within [0, 1] and keeps its level where k is near 0 or n. The difference of
two rates p, q with limits (l, u) and (l', u') from (2) lies between

    p - q - sqrt((p - l)^2 + (u' - q)^2),  p - q + sqrt((u - p)^2 + (q - l')^2),  (3)

and that of two means of different variances uses Welch's t (4). A value that
counts c times is the same as c equal values: n is then the sum of c. Of M simultaneous
intervals each has the level 1 - (1 - level) / M (5), and the i-th smallest p value is
multiplied by M - i + 1, keeping the order (6).

Refs      [Nadeau2003] (1); [Wilson1927] (2); [Newcombe1998] (3); [Welch1947] (4);
          [Holm1979] (6)
"""

from typing import NamedTuple

import numpy as np
from scipy import special, stats


class Interval(NamedTuple):
    """A value, its limits at some level of confidence, and its standard error."""

    mean: float
    low: float
    high: float
    error: float

    def __str__(self):
        return f"{self.mean:.3g} [{self.low:.3g}, {self.high:.3g}]"


def symmetric_interval(mean, reach, error) -> Interval:
    return Interval(*(float(v) for v in (mean, mean - reach, mean + reach, error)))


def fold_interval(scores, ratio, level=0.95) -> Interval:
    """Interval of a cross-validated mean, eq. (1), with `ratio` = n2/n1.

    A single score has no limits: NaN.

    Examples
    --------
    >>> from pansophy.diagnose.intervals import fold_interval
    >>> print(fold_interval([0.8, 0.9, 0.7, 0.8, 0.8], ratio=0.25))
    0.8 [0.668, 0.932]
    """
    s = np.asarray(scores, float)
    J = len(s)
    if J < 2:
        return Interval(float(s.mean()), np.nan, np.nan, np.nan)
    error = np.sqrt((1 / J + ratio) * s.var(ddof=1))
    return symmetric_interval(
        s.mean(), stats.t.ppf((1 + level) / 2, J - 1) * error, error
    )


def mean_interval(values, level=0.95, counts=None) -> Interval:
    """Student's t interval of a mean; `counts` are the repetitions of each value.

    Examples
    --------
    >>> from pansophy.diagnose.intervals import mean_interval
    >>> print(mean_interval([1.0, 2.0], counts=[3, 1]))
    1.25 [0.454, 2.05]
    >>> print(mean_interval([1.0, 1.0, 1.0, 2.0]))
    1.25 [0.454, 2.05]
    """
    n, mean, var = _counted_mean_variance(values, counts)
    if n < 2:
        return Interval(float(mean), np.nan, np.nan, np.nan)
    error = np.sqrt(1 / n * var)
    return symmetric_interval(mean, stats.t.ppf((1 + level) / 2, n - 1) * error, error)


def _counted_mean_variance(values, counts=None):
    """(n, mean, variance) of repeated values; the variance is NaN for n below 2."""
    v = np.asarray(values, float)
    if counts is None:
        return len(v), v.mean(), v.var(ddof=1) if len(v) > 1 else np.nan
    c = np.asarray(counts, float)
    n = float(c.sum())
    mean = c @ v / n
    return n, mean, c @ (v - mean) ** 2 / (n - 1) if n >= 2 else np.nan


def wilson_limits(k, n, level=0.95):
    """Wilson's lower and upper limits of the rates of k in n rows, eq. (2).

    Arrays give arrays; without rows the limits are 0 and 1.

    Examples
    --------
    >>> from pansophy.diagnose.intervals import wilson_limits
    >>> [round(float(limit), 3) for limit in wilson_limits(10, 10)]
    [0.722, 1.0]
    """
    k, n = np.broadcast_arrays(np.asarray(k, float), np.asarray(n, float))
    z = special.ndtri((1 + level) / 2)
    variance = np.divide(k * (n - k), n, out=np.zeros(np.shape(n)), where=n > 0)
    half_width = z * np.sqrt(variance + z * z / 4)
    low, high = ((s * half_width + k + z * z / 2) / (n + z * z) for s in (-1, 1))
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def rate_interval(k, n, level=0.95) -> Interval:
    """Wilson's interval of a rate of k in n rows, eq. (2).

    Examples
    --------
    >>> from pansophy.diagnose.intervals import rate_interval
    >>> print(rate_interval(0, 10))
    0 [0, 0.278]
    """
    if n <= 0:
        return Interval(np.nan, 0.0, 1.0, np.nan)
    low, high = wilson_limits(k, n, level)
    p = k / n
    low, high = min(low, p), max(high, p)
    return Interval(float(p), float(low), float(high), float(np.sqrt(p * (1 - p) / n)))


def rate_gap(a: Interval, b: Interval) -> Interval:
    """Newcombe's interval of the first rate minus the second, eq. (3)."""
    d = a.mean - b.mean
    low = d - np.hypot(a.mean - a.low, b.high - b.mean)
    high = d + np.hypot(a.high - a.mean, b.mean - b.low)
    return Interval(d, float(low), float(high), float(np.hypot(a.error, b.error)))


def mean_gap(a, b, level=0.95, counts=(None, None)) -> Interval:
    """Welch's interval of mean(a) - mean(b), eq. (4).

    `counts` are the repetitions of the values of a and of b.
    """
    na, ma, va = _counted_mean_variance(a, counts[0])
    nb, mb, vb = _counted_mean_variance(b, counts[1])
    d = ma - mb
    if min(na, nb) < 2:
        return Interval(float(d), np.nan, np.nan, np.nan)
    error, df = welch_test_terms(va / na, na, vb / nb, nb)
    return symmetric_interval(d, stats.t.ppf((1 + level) / 2, df) * error, error)


def welch_test_terms(va, na, vb, nb):
    """Standard error and degrees of freedom of Welch's test from two squared errors."""
    v = va + vb
    with np.errstate(divide="ignore", invalid="ignore"):
        df = v**2 / (va**2 / (na - 1) + vb**2 / (nb - 1))
    return np.sqrt(v), np.where(v > 0, df, np.minimum(na, nb) - 1.0)


def shared_level(level, m) -> float:
    """Bonferroni level of each of m simultaneous intervals, eq. (5)."""
    return 1 - (1 - level) / max(int(m), 1)


def holm(p) -> np.ndarray:
    """p values adjusted for multiple tests by Holm's method, eq. (6)."""
    p = np.asarray(p, float)
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    out = np.empty_like(p)
    out[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return out

"""The arithmetic of an honest comparison on one data set.

Folds of a cross-validation share training rows, so their scores are correlated and
the ordinary variance is far too small. With J = repeats * folds scores s_j of
variance v, and n1 training and n2 test rows a fold, the corrected variance of the
mean is

    V = (1/J + n2/n1) v,                                                       (1)

used with J - 1 degrees of freedom both for the interval of one mean,

    mean(s) +- t_{J-1} sqrt(V),                                                (2)

and for paired differences d_j = s_j(a) - s_j(b) on the same folds,

    t = mean(d) / sqrt(V).                                                     (3)

M - 1 comparisons with the best are adjusted step-down: the i-th smallest p value is
multiplied by the number of those not yet decided, keeping the order (4).

The best of M observed scores is too good to be true. Drawing rows with replacement,
choosing the best method on the drawn rows and scoring it on the rest shows by how
much (5).

Refs      [Nadeau2003] (1)-(3); [Bouckaert2004] repeats; [Holm1979] (4);
          [Tsamardinos2018] (5)
"""

from typing import NamedTuple

import numpy as np
from scipy import special, stats

from ..core.random import rng_from


class Interval(NamedTuple):
    """A mean, its standard error and the limits at some confidence level."""

    mean: float
    low: float
    high: float
    error: float


def corrected_error(values, ratio) -> float:
    """sqrt(V) of eq. (1); `ratio` is n2/n1, test rows over training rows."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        raise ValueError("At least two scores are needed for a variance.")
    return float(np.sqrt((1 / len(values) + ratio) * values.var(ddof=1)))


def corrected_interval(scores, ratio, level=0.95) -> Interval:
    """Eq. (2): the mean of cross-validated scores with an honest interval.

    Examples
    --------
    >>> from pansophy.compare import corrected_interval
    >>> i = corrected_interval([0.8, 0.9, 0.7, 0.8, 0.8], ratio=0.25)
    >>> print(f"{i.mean:.2f} [{i.low:.2f}, {i.high:.2f}]")
    0.80 [0.67, 0.93]
    """
    error = corrected_error(scores, ratio)
    mean = float(np.mean(scores))
    reach = stats.t.ppf((1 + level) / 2, len(scores) - 1) * error
    return Interval(mean, float(mean - reach), float(mean + reach), error)


def corrected_t(differences, ratio) -> tuple[float, float]:
    """Eq. (3): t and its two-sided p value for paired differences of scores."""
    error = corrected_error(differences, ratio)
    mean = float(np.mean(differences))
    if error == 0:  # the same difference in every fold
        return (0.0, 1.0) if mean == 0 else (float(np.copysign(np.inf, mean)), 0.0)
    t = mean / error
    return t, float(2 * stats.t.sf(abs(t), len(differences) - 1))


def holm(p) -> np.ndarray:
    """Eq. (4): p values adjusted for having made all these comparisons.

    Examples
    --------
    >>> from pansophy.compare import holm
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p, dtype=float)
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted


def error_interval(rate, n, level=0.95) -> tuple[float, float]:
    """Limits of an error rate seen on n independent rows, cut to [0, 1].

    Examples
    --------
    >>> from pansophy.compare import error_interval
    >>> low, high = error_interval(0.30, 40)
    >>> round((high - low) / 2, 6)
    0.142013
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must be a number from 0 to 1, got {rate}.")
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}.")
    reach = special.ndtri((1 + level) / 2) * np.sqrt(rate * (1 - rate) / n)
    return float(max(rate - reach, 0)), float(min(rate + reach, 1))


def bootstrap(statistic, rows, n_resamples=1000, random_state=None) -> np.ndarray:
    """The values of a statistic on rows drawn with replacement.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare import bootstrap
    >>> values = bootstrap(np.mean, np.arange(100.0), random_state=0)
    >>> bool(abs(values.std() - 2.9) < 0.2)
    True
    """
    rows = np.asarray(rows)
    if len(rows) == 0:
        raise ValueError("bootstrap needs at least one row.")
    rng = rng_from(random_state)
    n = len(rows)
    draws = (rows[rng.integers(0, n, n)] for _ in range(n_resamples))
    return np.array([statistic(draw) for draw in draws])


def expected_of_best(losses, n_resamples=200, random_state=None) -> float:
    """Eq. (5): the mean loss to expect of whichever method looks best.

    `losses` (n, M) holds the loss of each row under each method, from models that
    had not seen the row; lower is better. What being picked costs is the loss on rows
    not drawn of the method best on the drawn rows, less that of the best on all rows.
    """
    losses = np.asarray(losses, dtype=float)
    n = len(losses)
    rng = rng_from(random_state)
    means = losses.mean(0)
    best = int(np.argmin(means))
    costs = [0.0]
    for _ in range(n_resamples):
        drawn = np.bincount(rng.integers(0, n, n), minlength=n)
        chosen = int(np.argmin(drawn @ losses))
        left = drawn == 0
        same = chosen == best or not left.any()
        gap = 0.0 if same else np.mean(losses[left, chosen] - losses[left, best])
        costs.append(float(gap))
    return float(means[best] + max(np.mean(costs), 0.0))

"""Row-level inference: intervals over held-out rows, and paired tests of two methods.

Rows held out of the fit are independent (or groups of them are), so their losses l_i
with weights w_i have a mean m = sum w_i l_i / sum w_i whose error follows from the
rows alone. With sums S_g = sum w l and W_g = sum w of the G units drawn as one,

    se(m)^2 = G/(G-1) sum_g (S_g - m W_g)^2 / (sum_g W_g)^2                      (1)

and a Student interval with G - 1 degrees of freedom; where losses are skewed, the
bootstrap corrected for bias and acceleration (BCa) is asymmetric as it should be. It
measures the variance due to test rows, not that due to training rows: `statistics`
measures both. Losses of
several repeats (n, R) are averaged for each row first.

Two methods answer the same rows, so what counts is where they differ.

    paired bootstrap    score(a) - score(b) on rows drawn with replacement       (2)
    McNemar             b rows only the first has right, c only the second: under
                        equality b is Binomial(b + c, 1/2); the mid-p value counts
                        the seen outcome half, since the exact one is cautious   (3)

Refs      [Efron1987] BCa; [Dietterich1998] (3); [Fagerland2013] mid-p
"""

import warnings
from typing import NamedTuple

import numpy as np
from scipy import special, stats

from ...core.random import make_rng
from .statistics import Interval, resampled_means, resampling_units, student_quantile

FEW = 5  # draws, too few to be counted
SMALL = 2000  # units up to which the shape of the losses matters


def row_interval(
    losses,
    level=0.95,
    *,
    method="auto",
    weights=None,
    groups=None,
    n_resamples=2000,
    random_state=0,
) -> Interval:
    """The mean loss of held-out rows with an interval over rows, eq. (1) or BCa.

    Parameters
    ----------
    losses : array (n,) or (n, R)
        The loss of each row, under models that had not seen it; R repeats.
    method : {"auto", "bca", "normal"}
        "auto" is BCa up to 2000 units; beyond, the two agree.
    weights, groups : arrays (n,) or None
        Rows of one group are drawn together.

    Examples
    --------
    >>> from pansophy.compare import row_interval
    >>> i = row_interval([0, 0, 1, 0, 1, 0, 0, 0, 1, 0] * 10, method="normal")
    >>> print(f"{i.mean:.2f} [{i.low:.2f}, {i.high:.2f}]")
    0.30 [0.21, 0.39]
    """
    if method not in ("auto", "bca", "normal"):
        raise ValueError(f"method must be 'auto', 'bca' or 'normal', got {method!r}.")
    losses = np.asarray(losses, dtype=float)
    losses = losses if losses.ndim == 1 else losses.mean(1)
    S, w = resampling_units(losses, weights, groups)
    s = S[w > 0, 0]
    w = w[w > 0]
    if len(w) < 2:
        raise ValueError("At least two rows (or groups) are needed for an interval.")
    G = len(w)
    m = float(s.sum() / w.sum())
    deviation = s - m * w
    error = float(np.sqrt(G / (G - 1) * (deviation**2).sum()) / w.sum())
    if error <= 1e-12 * max(abs(m), 1e-300):  # every unit the same
        return Interval(m, m, m, 0.0)
    if method == "bca" or (method == "auto" and G <= SMALL):
        low, high = _bca_interval(s, w, level, n_resamples, make_rng(random_state))
        return Interval(m, low, high, error)
    reach = student_quantile(level, G - 1) * error
    return Interval(m, m - reach, m + reach, error)


def _bca_interval(s, w, level, n_resamples, rng):
    """Limits of sum(s) / sum(w) over units drawn with replacement."""
    ratio = lambda s, w, axis=-1: s.sum(axis) / w.sum(axis)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        limits = stats.bootstrap(
            (s, w),
            ratio,
            paired=True,
            vectorized=True,
            confidence_level=level,
            n_resamples=n_resamples,
            batch=max(1, 2**20 // len(s)),
            rng=rng,
        ).confidence_interval
    return float(limits.low), float(limits.high)


class McNemarTest(NamedTuple):
    """Rows only the first has right, rows only the second has, and a p value."""

    first: int
    second: int
    p: float


def mcnemar_test(right_a, right_b, method="mid-p") -> McNemarTest:
    """Eq. (3): are two methods right equally often? `method` is "mid-p" or "exact".

    Examples
    --------
    >>> from pansophy.compare import mcnemar_test
    >>> mcnemar_test([1] * 9 + [0] * 2, [0] * 8 + [1] * 3, "exact")
    McNemarTest(first=8, second=2, p=0.109375)
    """
    a, b = (np.asarray(r) for r in (right_a, right_b))
    if a.shape != b.shape or a.ndim != 1 or len(a) == 0:
        raise ValueError(
            "right_a and right_b must say of the same rows whether they are right, "
            f"got shapes {a.shape} and {b.shape}."
        )
    if method not in ("mid-p", "exact"):
        raise ValueError(f"method must be 'mid-p' or 'exact', got {method!r}.")
    if np.isnan(np.asarray([a, b], dtype=float)).any():
        raise ValueError("right_a and right_b must hold no missing values.")
    a, b = a.astype(bool), b.astype(bool)
    first, second = int((a & ~b).sum()), int((b & ~a).sum())
    fewer = min(first, second)
    n = first + second
    p = 2 * stats.binom.cdf(fewer, n, 0.5)
    p -= stats.binom.pmf(fewer, n, 0.5) if method == "mid-p" else 0.0
    return McNemarTest(first, second, float(min(p, 1.0)))


class PairedDifference(NamedTuple):
    """A difference of two scores, with limits and a two-sided p value."""

    mean: float
    low: float
    high: float
    p: float


def bootstrap_difference(values, observed, level, n_units) -> PairedDifference:
    """Limits and p value from bootstrap values of a difference over G units.

    The p value is the larger of the share of draws on the other side and that of
    Student's t with the bootstrap's standard error, which alone can tell small ones.
    """
    if np.all(values == 0) and observed == 0:
        return PairedDifference(0.0, 0.0, 0.0, 1.0)
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    half = 0.5 * (values == 0).sum()
    smaller_tail = min((values < 0).sum() + half, (values > 0).sum() + half)
    p = min((1 + 2 * smaller_tail) / (1 + len(values)), 1.0)
    error = values.std(ddof=1) * np.sqrt(n_units / max(n_units - 1, 1))
    if error > 0:
        tail = float(2 * special.stdtr(max(n_units - 1, 1), -abs(observed) / error))
        p = tail if smaller_tail < FEW else max(p, tail)
    return PairedDifference(float(observed), float(low), float(high), float(p))


def paired_bootstrap(
    a,
    b,
    level=0.95,
    *,
    weights=None,
    groups=None,
    n_resamples=5000,
    random_state=0,
) -> PairedDifference:
    """Eq. (2) for losses a and b (n,) of the same rows: mean(a) - mean(b).

    Examples
    --------
    >>> from pansophy.compare import paired_bootstrap
    >>> d = paired_bootstrap([1.0, 2, 3, 4, 2, 3], [0.5, 1, 2, 2, 1, 2])
    >>> bool(d.low > 0), d.p < 0.01
    (True, True)
    """
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(
            f"a and b must be losses of the same rows, got shapes {a.shape} and "
            f"{b.shape}."
        )
    S, w = resampling_units(a - b, weights, groups)
    values = resampled_means(S, w, n_resamples, make_rng(random_state))[:, 0]
    return bootstrap_difference(values, S.sum() / w.sum(), level, len(w))

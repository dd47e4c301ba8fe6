"""Statistics of cross-validated scores: corrected intervals, paired tests, ties.

Folds of a cross-validation share training rows, so their scores are correlated and
the ordinary variance is far too small. With J = repeats * folds scores s_j of
variance v, and n1 training and n2 test rows a fold, the corrected variance of the
mean is

    V = (1/J + n2/n1) v,                                                       (1)

used with J - 1 degrees of freedom both for the interval of one mean,

    mean(s) +- t_{J-1} sqrt(V),                                                (2)

and for paired differences d_j = s_j(a) - s_j(b) on the same folds,

    t = mean(d) / sqrt(V).                                                     (3)

M - 1 comparisons with a method named beforehand are adjusted step-down: the i-th
smallest p value is multiplied by the number of those not yet decided, keeping the
order (4). If the one they are compared with is the best of the M, (4) is not enough:
it was picked for being far from the others. Of M equal methods the best and the worst
differ by the range of M draws, so step by step the p value is

    P( range of m Normals / s  >=  sqrt(2) |t| )     with m methods left         (5)

the studentised range with the J - 1 degrees of s. For two methods that is t itself.

The best of M observed scores is too good to be true. Drawing rows with replacement,
choosing the best method on the drawn rows and scoring it on the rest shows by how
much (6): the rest had no say in the choice, so that among equally good methods the
answer is right on average, however many there are.

Rows of one group (a patient, a shop) are drawn together or not at all.

Refs      [Nadeau2003] (1)-(3); [Bouckaert2004] repeats; [Holm1979] (4);
          [Tukey1953] (5); [Tsamardinos2018] (6)
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from ...core.quadrature import gauss_legendre
from ...core.random import make_rng
from ...diagnose import intervals
from ...diagnose.intervals import Interval

BLOCK = 2**22  # drawn rows at a time
TAIL_ROWS = 0.01  # the largest losses
HEAVY_SHARE = 1 / 3  # of their sum


def finite_array(values, what, least=1) -> np.ndarray:
    """A finite float array of at least `least` entries, or one clear sentence."""
    numbers = np.asarray(values, dtype=float)
    if len(numbers) < least:
        count = {2: "two"}.get(least, str(least))
        too_few = f"At least {count} {what} are needed, got {len(numbers)}."
        raise ValueError(too_few if least > 1 else f"There are no {what}.")
    if not np.isfinite(numbers).all():
        position = int(np.argwhere(~np.isfinite(numbers))[0][0])
        raise ValueError(f"{what} must be finite; number {position} is not.")
    return numbers


def check_level(level):
    if not 0 < level < 1:
        raise ValueError(f"level must be strictly between 0 and 1, got {level}.")


def student_quantile(level, df) -> float:
    """Half-width of a two-sided interval of Student's t, in standard errors."""
    check_level(level)
    return float(special.stdtrit(df, (1 + level) / 2))


def corrected_standard_error(values, ratio) -> float:
    """sqrt(V) of eq. (1); `ratio` is n2/n1, test rows over training rows."""
    values = finite_array(values, "scores", 2)
    if not (ratio >= 0 and np.isfinite(ratio)):
        raise ValueError(f"ratio must be a number of at least 0, got {ratio}.")
    if np.all(values == values[0]):
        return 0.0  # not the rounding of a mean
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
    check_level(level)
    corrected_standard_error(scores, ratio)  # says what is wrong with them
    return intervals.fold_interval(scores, ratio, level)


def corrected_t_test(differences, ratio) -> tuple[float, float]:
    """Eq. (3): t and its two-sided p value for paired differences of scores."""
    error = corrected_standard_error(differences, ratio)
    mean = float(np.mean(differences))
    if error == 0:  # the same difference in every fold
        return (0.0, 1.0) if mean == 0 else (float(np.copysign(np.inf, mean)), 0.0)
    t = mean / error
    return t, float(2 * special.stdtr(len(differences) - 1, -abs(t)))


def holm_adjust(p) -> np.ndarray:
    """Eq. (4): p values adjusted for having made all these comparisons.

    Examples
    --------
    >>> from pansophy.compare import holm_adjust
    >>> holm_adjust([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p, dtype=float)
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError("p values must be numbers from 0 to 1.")
    return intervals.holm(p)


def studentized_range_tail(q, m, df) -> float:
    """P(range of m standard Normals >= q s), s^2 ~ chi2_df / df: quadrature.

    scipy's `studentized_range` gives the same, more slowly.
    """
    df = min(df, 1e6)  # no difference beyond, but digits
    x, weight = gauss_legendre(40)  # errors below 1e-6
    spread = 8 / np.sqrt(2 * df)
    low = max(0.0, 1 - spread)
    high = 1 + spread
    s = low + (high - low) * (x + 1) / 2
    log_f = np.log(2) + df / 2 * np.log(df / 2) - special.gammaln(df / 2)
    f = np.exp(log_f + (df - 1) * np.log(s) - df * s**2 / 2) * (high - low) / 2
    z, mass = gauss_legendre(80)
    z = 8 * z  # the largest of the m
    phi = 8 * m * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    within_range = special.ndtr(z) - special.ndtr(z - q * s[:, None])
    inside = (weight * f) @ (within_range ** (m - 1) @ (mass * phi))
    return float(np.clip(1 - inside, 0, 1))


def adjust_against_best(p, df) -> np.ndarray:
    """Eq. (5): p values of comparisons with the best of all, for its being picked.

    Parameters
    ----------
    p : array (M - 1,)
        Two-sided, of `corrected_t_test` against the method that scored best.
    df : int
        J - 1, one less than the number of folds.

    Examples
    --------
    >>> from pansophy.compare import adjust_against_best
    >>> adjust_against_best([0.01, 0.04, 0.2], df=24).round(3).tolist()
    [0.046, 0.097, 0.2]
    """
    p = np.asarray(p, dtype=float)
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError("p values must be numbers from 0 to 1.")
    if not df >= 1:
        raise ValueError(f"df must be at least 1, got {df}.")
    order = np.argsort(p, kind="stable")
    t = -special.stdtrit(df, p[order] / 2)
    left = np.arange(len(p) + 1, 1, -1)
    steps = [
        p_value
        if m == 2 or p_value in (0, 1)
        else max(studentized_range_tail(np.sqrt(2) * x, m, df), p_value)
        for x, m, p_value in zip(t, left, p[order])
    ]
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(steps) if len(p) else p
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
    check_level(level)
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must be a number from 0 to 1, got {rate}.")
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}.")
    reach = special.ndtri((1 + level) / 2) * np.sqrt(rate * (1 - rate) / n)
    return float(max(rate - reach, 0)), float(min(rate + reach, 1))


class TailShare(NamedTuple):
    """Share of a sum of losses that its largest rows carry."""

    rows: int
    share: float

    @property
    def heavy(self) -> bool:
        """Whether so few rows decide the mean that its interval cannot be trusted."""
        return self.share > HEAVY_SHARE


def tail_of_losses(losses) -> TailShare:
    """Share of the sum of losses of at least 0 in the largest hundredth of the rows.

    Squares of Normal errors have 0.08 there, and at most 0.3 even of 30 rows; a mean
    of which a third comes from a hundredth of the rows is that of a tail so heavy that
    another sample, with one such row more or less, has another mean.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare.evaluation.statistics import tail_of_losses
    >>> tail_of_losses(np.r_[np.ones(199), 201.0])
    TailShare(rows=2, share=0.505)
    """
    losses = finite_array(losses, "losses")
    k = max(1, round(len(losses) * TAIL_ROWS))
    total = float(losses.sum())
    largest = float(np.partition(losses, len(losses) - k)[-k:].sum())
    return TailShare(k, largest / total if total > 0 else 0.0)


class ShareOptimism(NamedTuple):
    """By how much the log loss of class shares is too good on rows like their own."""

    bias: float
    variance: float


def optimism_of_shares(counts) -> ShareOptimism:
    """Optimism of the dummy, whose stratified test rows have the shares it learned.

    Of K classes with counts n_c in n rows the shares of the other n - 1 rows, which a
    new row would meet, give each row -log((n_c - 1)/(n - 1)) in place of -log(n_c/n).
    That is (K - 1)/n more; what new rows cost above that is chi2(K - 1)/n, whose
    variance is 2 (K - 1)/n^2. Of a class with one row half a row is left.

    Examples
    --------
    >>> from pansophy.compare.evaluation.statistics import optimism_of_shares
    >>> round(optimism_of_shares([25] * 10).bias, 3)
    0.037
    """
    n_c = np.asarray(counts, dtype=float)
    n_c = n_c[n_c > 0]
    n = n_c.sum()
    if n < 2:
        return ShareOptimism(0.0, 0.0)
    left = np.maximum(n_c - 1, 0.5) / (n - 1)
    bias = float(n_c @ (np.log(n_c / n) - np.log(left)) / n)
    return ShareOptimism(bias, float(2 * (len(n_c) - 1) / n**2))


def bootstrap_statistic(
    statistic, rows, n_resamples=1000, random_state=None
) -> np.ndarray:
    """The values of a statistic on rows drawn with replacement.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare import bootstrap_statistic
    >>> values = bootstrap_statistic(np.mean, np.arange(100.0), random_state=0)
    >>> bool(abs(values.std() - 2.9) < 0.2)
    True
    """
    rows = np.asarray(rows)
    if len(rows) == 0:
        raise ValueError("bootstrap needs at least one row.")
    rng = make_rng(random_state)
    n = len(rows)
    draws = (rows[rng.integers(0, n, n)] for _ in range(n_resamples))
    return np.array([statistic(draw) for draw in draws])


def resampling_units(losses, weights=None, groups=None):
    """(S, w): weighted losses (G, M) and weights (G,) of what is drawn as one.

    That is a row, or a group of rows if `groups` (n,) are given; the mean loss is
    S.sum(0) / w.sum().
    """
    losses = finite_array(losses, "losses")
    n = len(losses)
    losses = losses.reshape(n, -1)
    w = np.ones(n) if weights is None else finite_array(weights, "weights")
    if len(w) != n or np.any(w < 0) or not w.sum() > 0:
        raise ValueError(
            f"weights must be {n} numbers of at least 0, not all of them 0."
        )
    S = losses * w[:, None]
    if groups is None:
        return S, w
    if len(groups) != n:
        raise ValueError(f"groups must have {n} entries, got {len(groups)}.")
    _, code = np.unique(np.asarray(groups), return_inverse=True)
    total = np.zeros((code.max() + 1, S.shape[1]))
    np.add.at(total, code, S)
    return total, np.bincount(code, w)


def resample_counts(n, n_resamples, rng):
    """Counts of each of n units in bootstrap resamples, in blocks (b, n)."""
    size = max(1, BLOCK // n)
    for first in range(0, n_resamples, size):
        b = min(size, n_resamples - first)
        draws = rng.integers(0, n, (b, n)) + n * np.arange(b)[:, None]
        yield np.bincount(draws.ravel(), minlength=b * n).reshape(b, n).astype(float)


def resampled_means(S, w, n_resamples, rng) -> np.ndarray:
    """Mean losses (B, M) on units drawn with replacement; see `resampling_units`."""
    parts = [(c @ S, c @ w) for c in resample_counts(len(w), n_resamples, rng)]
    total, mass = (np.concatenate(p) for p in zip(*parts))
    return total[mass > 0] / mass[mass > 0, None]


def expected_loss_of_best(
    losses, n_resamples=200, random_state=None, weights=None, groups=None
) -> float:
    """Eq. (6): the mean loss to expect of whichever method looks best.

    `losses` (n, M) holds the loss of each row under each method, from models that
    had not seen the row; lower is better. What being picked costs is the loss on rows
    not drawn of the method best on the drawn rows, less that of the best on all rows.
    """
    S, w = resampling_units(losses, weights, groups)
    rng = make_rng(random_state)
    means = S.sum(0) / w.sum()
    best = int(np.argmin(means))
    if S.shape[1] == 1 or len(S) == 1:
        return float(means[best])
    cost, kept = 0.0, 0
    for drawn in resample_counts(len(S), n_resamples, rng):
        chosen = np.argmin(drawn @ S, axis=1)
        left = (drawn == 0).astype(float)
        mass = left @ w
        rest = left @ S
        draw_index = np.arange(len(drawn))
        gap = (rest[draw_index, chosen] - rest[:, best])[mass > 0] / mass[mass > 0]
        cost, kept = cost + gap.sum(), kept + len(gap)
    return float(means[best] + max(cost / max(kept, 1), 0.0))

"""Scores with intervals for new rows, and paired tests of methods on the same rows.

Every row is predicted by models that did not see it, once in each of R repeats of k
folds. Method m has the loss l_rim in repeat r on row i, its mean lbar_im over the
repeats, and the score g(L_m), L_m = mean_i lbar_im. Two methods differ by D = L_a - L_b
with the variance

    V(D) = var_i(dbar_i) / n  +  var_r(mean_i d_ri) / R  +  T                    (1)

of the test rows, of the splits, and of the training rows [Bayle2020]. T is an eighth of
the delete-a-fold jackknife of the risk of a fitted model: e_f is the mean over the test
rows of fold f of d_ri - dbar_i, which is free of how hard the rows are,

    T = (k - 1)/8  max(0, R/(R-1) (var_f(e_f) - var(d_ri - dbar_i) k/n)),        (2)

at most n2/n1 of the first term. The jackknife errs upwards [Efron1981], and the mean of
all fold models varies less than one of them: the eighth was found by simulation
(`tools/simulate_comparisons.py`), stable and unstable learners included. Without
repeats T is n2/n1 of the first term, fading beyond 300 rows. Where folds differ far
more than their rows do, the corrected variance of folds is used. The interval of a
single score is that of Nadeau and Bengio, with the variance of the folds found from the
rows,

    V(L) = (1 + n2/n1) var_i(lbar_i) / n  +  var_r / R,                          (3)

since what counts there is the model fitted to all rows. Degrees of freedom are those
of the rows. Rows of one group count as one unit; a metric that is no mean over rows has
the values of a jackknife over blocks of rows in place of lbar.

**Along time** losses are autocorrelated, and the variance of a mean of T moments is the
long-run variance. It is found from the nu = 0.4 T^(2/3) lowest cosines,

    C_j = sqrt(2/T) sum_t cos(pi j (t - 1/2)/T) d_t,   V = sum_j C_j^2 / (nu T),  (4)

with nu degrees of freedom, times the correction of Harvey, Leybourne and Newbold for
the Diebold-Mariano test with h = 1 + T^(1/3) autocovariances. Sums of autocovariances
themselves reject far too often where errors persist.

**Which are worse than the best?** Comparisons with the best are adjusted for its having
been picked: the p value of |t| is P(max |t_ab| >= |t|) over all pairs of the methods
not yet decided, for Normal scores of the estimated covariance (5), step by step from
the largest. Methods that answer alike pay less than by the studentised range. Against
the dummy, which is named beforehand, only being better counts: max over methods of t
(6).

**How many rows a difference needs.** With sigma^2 = var(d_i), a test that knew V(D)
would find D with probability 0.8 from n = sigma^2 (1.96 + 0.84)^2 / D^2 rows on; no
test of the same differences needs fewer. The corrected t test of J = R k folds works
with V(D) = k (1/J + 1/(k - 1)) sigma^2 / n and J - 1 degrees of freedom; it therefore
needs 4.0 times as many rows at 1 x 5 folds, 2.2 at 2 x 5, 1.6 at 5 x 5 and 1.4 at
10 x 5. So half of its rows can be enough up to 2 x 5 folds and cannot be at 5 x 5,
whatever the test. V(D) of (1) is close to the true variance from about 250 rows on
(within a tenth for stable learners); on 100 rows of overfitting learners it is half too
large, since rows that train each other's models err in opposite ways, and equal methods
are then declared different in fewer than 2 % of tables.

Refs      [Bayle2020] intervals for cross-validation; [Nadeau2003]; [Efron1981];
          [Diebold1995], [Harvey1997] tests along time; [Lazarus2018] (4);
          [Hothorn2008] (5)
"""

from enum import StrEnum
from typing import NamedTuple

import numpy as np
from scipy import special

from ...diagnose.intervals import rate_interval
from .statistics import Interval, check_level, student_quantile

DUMMY = "dummy"
SIGNIFICANCE_LEVEL = 0.05
DRAWS = 20_000  # Normal vectors behind an adjusted p value
STABLE_ROWS = 300  # beyond which models fitted to other rows differ less and less
BLOCKS = 40  # of rows, for the jackknife
JACKKNIFE_ROWS = 20_000  # rows of a jackknife; its variance is scaled for more


class TestKind(StrEnum):
    """Source of the variance of a difference."""

    __test__ = False  # not for pytest
    ROWS = "paired rows"
    GROUPS = "paired groups"
    TIME = "along time"  # Diebold-Mariano with Harvey's correction
    FOLDS = "folds"  # corrected t test: no losses of rows are known


class DifferenceTest(NamedTuple):
    """A difference of two scores, with its interval and its two-sided p value."""

    interval: Interval
    p: float


class ScoreEstimates(NamedTuple):
    """Scores of M methods on the same rows and how surely they are known."""

    names: tuple[str, ...]
    means: np.ndarray  # (M,) scores
    covariance: np.ndarray  # (M, M) of rows and splits: eq. (1) without T
    training: np.ndarray  # (M, M): T of each pair
    errors: np.ndarray  # (M,) standard errors of single scores, eq. (3)
    df: float
    kind: TestKind
    units: int  # rows, groups or moments

    def pair_error(self, a, b) -> float:
        """Standard error of the difference of methods at positions a and b."""
        C = self.covariance
        v = C[a, a] + C[b, b] - 2 * C[a, b] + self.training[a, b]
        scale = C[a, a] + C[b, b] + self.means[a] ** 2
        return float(np.sqrt(v)) if v > 1e-20 * scale else 0.0

    def difference(self, a, b, level=0.95) -> DifferenceTest:
        """score(a) - score(b) for two names."""
        i, j = self.names.index(a), self.names.index(b)
        d = float(self.means[i] - self.means[j])
        error = self.pair_error(i, j)
        reach = student_quantile(level, self.df) * error
        return DifferenceTest(
            Interval(d, d - reach, d + reach, error), _two_sided_p(d, error, self.df)
        )


def _two_sided_p(difference, error, df) -> float:
    if error == 0:
        return 1.0 if difference == 0 else 0.0
    return float(2 * special.stdtr(df, -abs(difference) / error))


# --- the variance of means over rows -----------------------------------------------


class RowUnits(NamedTuple):
    """Unit that is drawn as one: rows, groups, or moments of time."""

    code: np.ndarray  # (n,) unit of each row; moments are in order
    count: int
    kind: TestKind


def row_units(n, group=None, time=None) -> RowUnits:
    """Units of n rows; along time a moment is one unit."""
    if time is not None:
        moments, code = np.unique(np.asarray(time), return_inverse=True)
        return RowUnits(code.ravel(), len(moments), TestKind.TIME)
    if group is not None:
        groups, code = np.unique(np.asarray(group), return_inverse=True)
        return RowUnits(code.ravel(), len(groups), TestKind.GROUPS)
    return RowUnits(np.arange(n), n, TestKind.ROWS)


def covariance_of_means(values, units, weights=None) -> tuple[np.ndarray, float]:
    """Covariance (M, M) of the weighted means of `values` (n, M), and its df."""
    w = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)
    mean = w @ values / w.sum()
    deviation = (values - mean) * (w / w.sum())[:, None]
    psi = np.zeros((units.count, values.shape[1]))
    np.add.at(psi, units.code, deviation)
    if units.kind is TestKind.TIME:
        return long_run_covariance(psi)
    G = units.count
    if G < 2:
        return np.full((values.shape[1],) * 2, np.nan), 1.0
    return G / (G - 1) * psi.T @ psi, float(G - 1)


def long_run_covariance(psi) -> tuple[np.ndarray, float]:
    """Eq. (4): covariance of the sums of autocorrelated psi (T, M), and its df."""
    T = len(psi)
    nu = int(np.clip(0.4 * T ** (2 / 3), 1, max(T - 1, 1)))
    psi = psi - psi.mean(0)
    t = (np.arange(T) + 0.5) / T
    C = np.sqrt(2 / T) * np.cos(np.pi * np.outer(np.arange(1, nu + 1), t)) @ psi
    h = 1 + round(T ** (1 / 3))
    harvey = max((T + 1 - 2 * h + h * (h - 1) / T) / T, 0.2)
    return T * C.T @ C / nu / harvey, float(nu)


def _training_variance(losses, fold_of, ratio, folds) -> np.ndarray:
    """Eq. (2) for every pair of M methods: (M, M).

    `losses` (R, n, M) and `fold_of` (R, n), the fold in which a row was held out.
    """
    R, n, M = losses.shape
    centered = losses - losses.mean(0)
    J = R * folds
    code = (fold_of + folds * np.arange(R)[:, None]).ravel()
    e = np.zeros((J, M))
    flat = centered.reshape(-1, M)
    np.add.at(e, code, flat)
    e /= np.maximum(np.bincount(code, minlength=J), 1)[:, None]
    common = e.T @ e / J - flat.T @ flat / len(flat) * folds / n
    diagonal = np.diag(common)
    pairs = diagonal[:, None] + diagonal - 2 * common
    return (folds - 1) / 8 * np.maximum(pairs * R / (R - 1), 0.0)


def between_fold_variance(losses, fold_of, folds, weights=None) -> np.ndarray:
    """Covariance (M, M) of the mean of folds, as if they were independent.

    `losses` is (r, n) for one method, or (r, n, M).
    """
    r, n = losses.shape[:2]
    flat = losses.reshape(r * n, -1)
    w = np.ones(r * n) if weights is None else np.tile(weights, r)
    code = (fold_of + folds * np.arange(r)[:, None]).ravel()
    total = np.zeros((r * folds, flat.shape[1]))
    np.add.at(total, code, flat * w[:, None])
    size = np.bincount(code, w, minlength=r * folds)
    means = total[size > 0] / size[size > 0, None]
    if len(means) < 2:
        return np.full((flat.shape[1],) * 2, np.nan)
    return np.atleast_2d(np.cov(means, rowvar=False)) / len(means)


def _training_of_stopped(losses, design, known, of_rows, training) -> np.ndarray:
    """T (M, M), where some methods were in `known` (M,) of the R repeats only.

    The repeats that were filled in tell nothing of how much folds change a method. Its
    T is the most that (2) can be, and more if its own folds differ more than rows
    explain.
    """
    R = len(losses)
    pair = np.minimum.outer(known, known)
    variances = training.copy()
    for r in np.unique(pair[pair < R]):
        C = between_fold_variance(losses[:r], design.fold_of[:r], design.folds)
        upper_bound = design.ratio * of_rows + np.maximum(
            _pair_variances(C) - of_rows, 0.0
        )
        variances = np.where(pair == r, np.maximum(upper_bound, variances), variances)
    return variances


def _uneven_fold_variance(losses, design, df) -> np.ndarray:
    """Variances (M, M) of differences from folds, where rows do not explain them; or 0.

    A method that fails in one fold alone errs on all its rows at once. Folds then vary
    far more than their rows do (F test at 0.0001), and the corrected variance of folds
    is used, times the ratio of the quantiles of Student's t.
    """
    R, n, M = losses.shape
    k = design.folds
    code = (design.fold_of[:R] + k * np.arange(R)[:, None]).ravel()
    count = np.bincount(code, minlength=R * k)
    if k < 3 or (count == 0).any():
        return np.zeros((M, M))
    means = np.zeros((R * k, M))
    np.add.at(means, code, losses.reshape(-1, M))
    means /= count[:, None]
    of_folds = _pair_variances(np.atleast_2d(np.cov(means, rowvar=False)))
    deviations = losses.reshape(-1, M) - means[code]
    of_rows = (
        _pair_variances(deviations.T @ deviations / max(len(code) - R * k, 1)) * k / n
    )
    limit = special.fdtri(k - 1, max(n - k, 1), 1 - 1e-4)
    wider = student_quantile(0.95, k - 1) / student_quantile(0.95, df)
    corrected = (1 / (R * k) + design.ratio) * of_folds * wider**2
    return np.where(of_folds > limit * of_rows, corrected, 0.0)


def _pair_variances(C) -> np.ndarray:
    """Variances (M, M) of the differences from a covariance (M, M)."""
    d = np.diag(C)
    return np.maximum(d[:, None] + d - 2 * C, 0.0)


class CrossValidationDesign(NamedTuple):
    """Design of the cross-validation: how rows were held out."""

    ratio: float  # test rows over training rows of a fold
    folds: int  # of one repeat
    fold_of: np.ndarray  # (R, n) fold in which each row was held out, -1: in none
    weight: np.ndarray | None = None
    group: np.ndarray | None = None
    time: np.ndarray | None = None  # only where folds run along time

    def rows(self, where) -> "CrossValidationDesign":
        """The design of some of the rows."""
        pick = lambda a: None if a is None else np.asarray(a)[where]
        return self._replace(
            fold_of=self.fold_of[:, where],
            weight=pick(self.weight),
            group=pick(self.group),
            time=pick(self.time),
        )


def design_of(split, data) -> CrossValidationDesign:
    """The design of a `splits.Split` of `samples.Samples`."""
    n = len(data)
    fold_of = np.full((split.repeats, n), -1)
    for f, (_, test) in enumerate(split.folds):
        fold_of[f // split.per_repeat, test] = f % split.per_repeat
    is_ordered = split.kind == "time-ordered"
    return CrossValidationDesign(
        split.ratio,
        split.per_repeat,
        fold_of,
        data.weight,
        data.group,
        data.time if is_ordered else None,
    )


def estimate_scores(losses, design, names, metric=None, known=None) -> ScoreEstimates:
    """Eqs. (1)-(4) for losses (R, n, M) of a metric that is a mean over rows.

    Rows that were never held out are NaN. Without a metric the score is the mean loss.
    `known` (M,) are the repeats that each method was in, where the losses of others are
    filled in (`racing`).
    """
    losses = np.asarray(losses, dtype=float)
    seen = np.isfinite(losses).all((0, 2))
    losses = losses[:, seen]
    R, n, M = losses.shape
    design = design.rows(seen)
    design = design._replace(fold_of=design.fold_of[:R])  # not all repeats are known
    w = design.weight
    units = row_units(n, design.group, design.time)
    covariance, df = covariance_of_means(losses.mean(0), units, w)
    of_rows = _pair_variances(covariance)
    if R > 1:
        repeat_means = np.stack(
            [
                np.average(repeat_losses_of, axis=0, weights=w)
                for repeat_losses_of in losses
            ]
        )
        splits = np.atleast_2d(np.cov(repeat_means, rowvar=False)) / R
        training = _training_variance(
            losses, design.fold_of, design.ratio, design.folds
        )
        training = np.minimum(training, design.ratio * of_rows)
        if known is not None:
            training = _training_of_stopped(losses, design, known, of_rows, training)
    else:
        splits = np.zeros((M, M))
        is_over_time = units.kind is TestKind.TIME
        fades = min(1.0, STABLE_ROWS / n)
        training = np.zeros((M, M)) if is_over_time else fades * design.ratio * of_rows
    single = np.diag(covariance)
    if units.kind is not TestKind.TIME:
        uneven = _uneven_fold_variance(losses, design, df)
        training = np.maximum(training, uneven - of_rows)
        single = single * (1 + design.ratio)
    single = single + np.diag(splits)
    covariance = covariance + splits
    mean_loss = np.average(losses.mean(0), axis=0, weights=w)
    g, slope = _metric_map(metric, mean_loss)
    return ScoreEstimates(
        tuple(names),
        g,
        covariance * np.outer(slope, slope),
        training * np.abs(np.outer(slope, slope)),
        np.sqrt(single) * np.abs(slope),
        df,
        units.kind,
        units.count,
    )


def _metric_map(metric, mean_loss) -> tuple[np.ndarray, np.ndarray]:
    """(g(L), g'(L)) of mean losses (M,)."""
    if metric is None:
        return mean_loss, np.ones_like(mean_loss)
    to_score = lambda v: np.array([metric.from_mean_loss(max(x, 0.0)) for x in v])
    step = 1e-6 * np.maximum(mean_loss, 1e-12)
    slope = (to_score(mean_loss + step) - to_score(mean_loss)) / step
    return to_score(mean_loss), slope


def jackknife_scores(score, predictions, y, design, names) -> ScoreEstimates:
    """Estimates for a metric of all rows together, from blocks of rows left out.

    `predictions` are M arrays (n, ...) for held-out rows; NaN for rows never held out.
    """
    seen = np.ones(len(y), dtype=bool)
    for p in predictions:
        seen &= np.isfinite(np.asarray(p).reshape(len(y), -1)).all(1)
    rows = np.flatnonzero(seen)
    total = len(rows)
    is_over_time = design.time is not None
    if total > JACKKNIFE_ROWS and not is_over_time and design.group is None:
        rows = np.sort(
            np.random.default_rng(0).choice(rows, JACKKNIFE_ROWS, replace=False)
        )
    part = design.rows(rows)
    units = row_units(len(rows), part.group, part.time)
    blocks = min(BLOCKS, units.count)
    order = np.arange(units.count)
    if not is_over_time:
        order = np.random.default_rng(1).permutation(order)
    block_of_unit = np.empty(units.count, dtype=int)
    block_of_unit[order] = np.arange(units.count) * blocks // units.count
    block = block_of_unit[units.code]
    w = part.weight
    value = lambda p, keep: score(
        y[rows][keep], p[rows][keep], *(() if w is None else (w[keep],))
    )
    all_rows = np.ones(len(rows), dtype=bool)
    means = np.array([value(p, all_rows) for p in predictions])
    left_out = np.array(
        [[value(p, block != b) for p in predictions] for b in range(blocks)]
    )
    deviation = left_out - left_out.mean(0)
    covariance = (blocks - 1) / blocks * deviation.T @ deviation
    covariance *= len(rows) / max(total, 1)
    training = design.ratio * _pair_variances(covariance) * (not is_over_time)
    factor = 1.0 if is_over_time else 1 + design.ratio
    return ScoreEstimates(
        tuple(names),
        means,
        covariance,
        training,
        np.sqrt(factor * np.diag(covariance)),
        float(max(blocks - 1, 1)),
        units.kind,
        units.count,
    )


# --- intervals of single scores ----------------------------------------------------


def score_interval(estimates, position, metric, level=0.95) -> Interval:
    """The interval of one score for new rows, within the range of the metric.

    A mean loss above 0 has the limits of its logarithm; a share of rows keeps its level
    near 0 and 1 by Wilson's limits.
    """
    check_level(level)
    mean, error = float(estimates.means[position]), float(estimates.errors[position])
    if not np.isfinite(error):
        return Interval(mean, np.nan, np.nan, np.nan)
    reach = student_quantile(level, estimates.df) * error
    low, high = mean - reach, mean + reach
    if metric.bounds == (0.0, np.inf) and metric.row_losses is not None and mean > 0:
        # losses are skewed: the logarithm of their mean is nearer to Normal
        low, high = mean * np.exp(-reach / mean), mean * np.exp(reach / mean)
    if metric.share:
        effective = estimates.units
        if 0 < mean < 1 and error > 0:
            effective = min(mean * (1 - mean) / error**2, estimates.units)
        share = rate_interval(mean * effective, effective, level)
        low, high = min(low, share.low), max(high, share.high)
    return metric.clip(Interval(mean, float(low), float(high), error))


# --- adjusted p values -------------------------------------------------------------


def normal_draws(estimates, n_draws=DRAWS) -> np.ndarray:
    """Draws (B, M) of score errors, divided by the root of chi2 / df."""
    C = estimates.covariance
    values, vectors = np.linalg.eigh(C)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    rng = np.random.default_rng(0)
    z = rng.standard_normal((n_draws, len(C))) @ root.T
    if np.isfinite(estimates.df):
        z /= np.sqrt(rng.chisquare(estimates.df, n_draws) / estimates.df)[:, None]
    return z


def _unit_pair_errors(estimates) -> np.ndarray:
    """Standard errors (M, M) of the drawn differences; inf where there is none."""
    error = np.sqrt(_pair_variances(estimates.covariance))
    return np.where(error > 0, error, np.inf)


def _tail_share(largest, t, single, pairs) -> float:
    """P(max >= t) from draws, bounded by the single p value and by Bonferroni's."""
    share = (1 + np.count_nonzero(largest >= t)) / (1 + len(largest))
    return float(min(max(min(share, pairs * single), single), 1.0))


def p_against_best(estimates, best, draws=None) -> np.ndarray:
    """Eq. (5): adjusted p values (M,) of the differences from the method at `best`."""
    M = len(estimates.names)
    z = normal_draws(estimates) if draws is None else draws
    drawn_error = _unit_pair_errors(estimates)
    gap = np.abs(estimates.means - estimates.means[best])
    error = np.array([estimates.pair_error(m, best) for m in range(M)])
    single = np.array([_two_sided_p(g, e, estimates.df) for g, e in zip(gap, error)])
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(error > 0, gap / error, np.where(gap > 0, np.inf, 0.0))
    rivals = [m for m in np.argsort(t, kind="stable") if m != best]  # least first
    adjusted = np.ones(M)
    inside = [best]
    largest = np.zeros(len(z))
    for m in rivals:
        apart = np.abs(z[:, [m]] - z[:, inside]) / drawn_error[m, inside]
        largest = np.maximum(largest, apart.max(1))
        inside.append(m)
        pairs = len(inside) * (len(inside) - 1) // 2
        adjusted[m] = _tail_share(largest, t[m], single[m], pairs)
    # steps run from the largest difference down: p values do not fall on the way
    running = 0.0
    for m in reversed(rivals):
        running = max(running, adjusted[m])
        adjusted[m] = running
    return adjusted


def p_better_than(estimates, baseline, greater, draws=None) -> np.ndarray:
    """Eq. (6): one-sided p values (M,) of being better than the method at `baseline`.

    Adjusted for any of the methods being the one that is looked at.
    """
    M = len(estimates.names)
    z = normal_draws(estimates) if draws is None else draws
    sign = 1.0 if greater else -1.0
    rivals = [m for m in range(M) if m != baseline]
    drawn_error = _unit_pair_errors(estimates)[baseline]
    largest = np.zeros(len(z)) - np.inf
    for m in rivals:
        largest = np.maximum(largest, (z[:, m] - z[:, baseline]) / drawn_error[m])
    out = np.ones(M)
    for m in rivals:
        error = estimates.pair_error(m, baseline)
        gain = sign * float(estimates.means[m] - estimates.means[baseline])
        if error == 0:
            out[m] = 1.0 if gain <= 0 else 0.0
            continue
        t = gain / error
        out[m] = _tail_share(
            largest, t, float(special.stdtr(estimates.df, -t)), len(rivals)
        )
    return out

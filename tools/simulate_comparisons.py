"""Null, coverage and power of the tests that `compare` makes, on simulated tables.

    python tools/simulate_comparisons.py [null | power | dummy | drift | race ...]
        [--tables N]

Learners are cheap and fitted to all folds at once: discriminants, least squares, an
ordered Normal model, nearest neighbours, each on columns of its own that are equally
informative, so that none is better than another in the mean over tables. The losses of
rows go through the functions of `pansophy.compare.evaluation.paired_tests`; what a
model fitted to all rows scores on new rows is known in closed form or from many rows.

null    how often equally good methods are declared different (5 % promised), and how
        often the interval of a score holds the score on new rows (95 % promised)
power   how often a real difference between the best and the second of M methods is
        found, by the test of rows, by the corrected t test of folds with the
        studentised range, and by a test that knows the true covariance of the scores
        (the limit of what score differences hold), for growing numbers of rows; and the
        rows that each needs to find it in 80 % of tables
dummy   how often a signal is called better than the dummy, and noise is not
drift   what adaptive and plain conformal intervals hold of the next block of series
        whose errors drift (90 % promised)
race    losses alone, no learners: how often racing stops a method that would have come
        first (5 % promised), how many fits it saves, and whether it changes how often
        noise is called better than the dummy and the true loss of the top scorer
"""

import argparse
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.signal import lfilter
from scipy.special import ndtr

from pansophy.compare.evaluation import paired_tests
from pansophy.compare.evaluation.adaptive_conformal import fit_adaptive_scores
from pansophy.compare.evaluation.conformal import interval_quantile
from pansophy.compare.evaluation.paired_tests import CrossValidationDesign
from pansophy.compare.evaluation.racing import (
    ALPHA,
    fill_unrun_repeats,
    loss_reach,
    stopping_p_value,
)
from pansophy.compare.evaluation.statistics import (
    adjust_against_best,
    corrected_interval,
    corrected_t_test,
)

NEW_ROWS = 20_000
PARTS = ["null", "power", "dummy", "drift", "race"]


class Simulation(NamedTuple):
    """Losses of held-out rows, how they were held out, and what is true."""

    losses: np.ndarray  # (R, n, M)
    design: CrossValidationDesign
    truth: np.ndarray  # (M,) mean loss on new rows of models fitted to all rows


# --- folds -------------------------------------------------------------------------


def random_folds(rng, n, folds, repeats, y=None) -> np.ndarray:
    """(R, n) fold of each row; stratified by y."""
    out = np.empty((repeats, n), dtype=int)
    for one in out:
        for c in [None] if y is None else np.unique(y):
            rows = np.arange(n) if y is None else np.flatnonzero(y == c)
            start = rng.integers(folds)
            one[rng.permutation(rows)] = (np.arange(len(rows)) + start) % folds
    return out


def held_out_losses(X, y, fold_of, folds, fit, predict, loss) -> np.ndarray:
    """Losses (R, n, M) of models fitted without the fold of each row."""
    R, n = fold_of.shape
    M = X.shape[1]
    out = np.full((R, n, M), np.nan)
    for r in range(R):
        for f in range(folds):
            test = fold_of[r] == f
            train = (fold_of[r] != f) if fold_of.min() >= 0 else fold_of[r] < f
            for m in range(M):
                model = fit(X[train, m], y[train])
                out[r, test, m] = loss(y[test], predict(model, X[test, m]))
    return out


# --- learners ----------------------------------------------------------------------


def with_ones(X):
    return np.column_stack([np.ones(len(X)), X])


def fit_discriminant(X, y):
    """(w, b) of the log odds of class 1 under Normals with a common covariance."""
    means = [X[y == c].mean(0) for c in (0, 1)]
    S = np.cov((X - np.where(y[:, None] == 1, means[1], means[0])).T)
    w = np.linalg.solve(np.atleast_2d(S), means[1] - means[0])
    prior = np.log((y == 1).sum() / (y == 0).sum())
    return w, prior - w @ (means[0] + means[1]) / 2


def log_odds(model, X):
    return X @ model[0] + model[1]


def log_loss(y, z):
    return np.logaddexp(0, -z * (2 * y - 1))


def zero_one_loss(y, z):
    return ((z > 0) != (y == 1)).astype(float)


def fit_least_squares(X, y):
    A = with_ones(X)
    beta = np.linalg.lstsq(A, y, rcond=None)[0]
    return beta, np.std(y - A @ beta)


def squared_loss(y, p):
    return (y - p) ** 2


def fit_neighbours(X, y):
    return X, y


def neighbour_log_odds(model, X, k=9):
    train, y = model
    D = ((X[:, None] - train[None]) ** 2).sum(-1)
    near = np.argpartition(D, k, axis=1)[:, :k]
    p = (y[near].sum(1) + 0.5) / (k + 1)
    return np.log(p / (1 - p))


def ordered_probabilities(model, X, classes=5):
    """Cumulative probabilities of classes 0 .. K - 1 around a linear prediction."""
    beta, sd = model
    mean = with_ones(X) @ beta
    cuts = np.arange(classes - 1) + 0.5
    return ndtr((cuts - mean[:, None]) / max(sd, 1e-9))


def ranked_probability_loss(y, cumulative):
    cuts = np.arange(cumulative.shape[1])
    return ((cumulative - (y[:, None] <= cuts)) ** 2).mean(1)


# --- tables ------------------------------------------------------------------------


def class_rows(rng, n, M, d, shift):
    y = (rng.random(n) < 0.5).astype(int)
    shift = np.broadcast_to(shift, (M,))
    X = rng.normal(size=(n, M, d)) + (y - 0.5)[:, None, None] * shift[:, None]
    return X, y


def number_rows(rng, n, M, d, shift):
    shift = np.broadcast_to(shift, (M,))
    X = rng.normal(size=(n, M, d))
    signal = (X.sum(2) * shift / np.sqrt(d)).sum(1)
    return X, signal + rng.normal(size=n)


def ordered_rows(rng, n, M, d, shift):
    X, latent = number_rows(rng, n, M, d, shift)
    spread = np.sqrt(1 + np.sum(np.broadcast_to(shift, (M,)) ** 2))
    return X, np.digitize(latent / spread, [-1.2, -0.4, 0.4, 1.2])


def series_rows(rng, n, M, d, shift, persistence=0.6):
    """Columns and errors that persist along time."""
    noise = rng.normal(size=(n + 50, M * d + 1))
    root = np.sqrt(1 - persistence**2)
    series = lfilter([root], [1, -persistence], noise, axis=0)[50:]
    X = series[:, :-1].reshape(n, M, d)
    shift = np.broadcast_to(shift, (M,))
    return X, (X.sum(2) * shift / np.sqrt(d)).sum(1) + series[:, -1]


LEARNERS = {
    "log loss": (class_rows, fit_discriminant, log_odds, log_loss, True),
    "error rate": (class_rows, fit_discriminant, log_odds, zero_one_loss, True),
    "neighbours": (class_rows, fit_neighbours, neighbour_log_odds, log_loss, True),
    "squared error": (
        number_rows,
        fit_least_squares,
        lambda model, X: with_ones(X) @ model[0],
        squared_loss,
        False,
    ),
    "ordered": (
        ordered_rows,
        fit_least_squares,
        ordered_probabilities,
        ranked_probability_loss,
        True,
    ),
    "along time": (
        series_rows,
        fit_least_squares,
        lambda model, X: with_ones(X) @ model[0],
        squared_loss,
        False,
    ),
}


def simulate(kind, seed, n, M=2, d=6, shift=0.4, folds=5, repeats=2, truth=True):
    """One table: losses, design and truth."""
    rng = np.random.default_rng(seed)
    make, fit, predict, loss, classes = LEARNERS[kind]
    X, y = make(rng, n, M, d, shift)
    time = None
    if kind == "along time":
        repeats = 1
        fold_of = (np.arange(n) * (folds + 1) // n - 1)[None]
        time = np.arange(n, dtype=float)
        ratio = float(np.mean([1 / (f + 1) for f in range(folds)]))
    else:
        fold_of = random_folds(rng, n, folds, repeats, y if classes else None)
        ratio = 1 / (folds - 1)
    losses = held_out_losses(X, y, fold_of, folds, fit, predict, loss)
    design = CrossValidationDesign(ratio, folds, fold_of, time=time)
    found = np.full(M, np.nan)
    if truth:
        rows = NEW_ROWS if kind != "neighbours" else NEW_ROWS // 5
        new_X, new_y = make(rng, rows, M, d, shift)
        for m in range(M):
            model = fit(X[:, m], y)
            found[m] = np.mean(loss(new_y, predict(model, new_X[:, m])))
    return Simulation(losses, design, found)


# --- what is measured --------------------------------------------------------------


def declared_different(losses, design) -> bool:
    """Whether some method is called worse than the best."""
    M = losses.shape[-1]
    found = paired_tests.estimate_scores(losses, design, [str(m) for m in range(M)])
    best = int(np.argmin(found.means))
    return bool(np.min(paired_tests.p_against_best(found, best)) < 0.05)


def fold_scores(losses, design) -> np.ndarray:
    """(J, M) mean losses of the folds."""
    R, folds = len(losses), design.folds
    return np.array(
        [
            losses[r, design.fold_of[r] == f].mean(0)
            for r in range(R)
            for f in range(folds)
        ]
    )


def declared_by_folds(losses, design) -> bool:
    """The same by the corrected t test with the studentised range."""
    s = fold_scores(losses, design)
    best = int(np.argmin(s.mean(0)))
    p = [
        corrected_t_test(s[:, m] - s[:, best], design.ratio)[1]
        for m in range(s.shape[1])
        if m != best
    ]
    return bool(adjust_against_best(p, len(s) - 1).min() < 0.05)


def null_rates(kind, tables, seed=0, **setting) -> dict[str, float]:
    """False winners and coverage, by rows and by folds."""
    different, by_folds, held, held_by_folds, count = 0, 0, 0, 0, 0
    for t in range(tables):
        s = simulate(kind, [seed, t], **setting)
        different += declared_different(s.losses, s.design)
        by_folds += declared_by_folds(s.losses, s.design)
        names = [str(m) for m in range(len(s.truth))]
        found = paired_tests.estimate_scores(s.losses, s.design, names)
        reach = stats.t.ppf(0.975, found.df) * found.errors
        held += np.sum(np.abs(found.means - s.truth) <= reach)
        for m, scores in enumerate(fold_scores(s.losses, s.design).T):
            i = corrected_interval(scores, s.design.ratio)
            held_by_folds += i.low <= s.truth[m] <= i.high
        count += len(s.truth)
    return {
        "false winners": different / tables,
        "false winners by folds": by_folds / tables,
        "coverage": held / count,
        "coverage by folds": held_by_folds / count,
    }


class PowerPoint(NamedTuple):
    """Shares of tables of n rows in which a difference is declared."""

    n: int
    by_rows: float
    by_folds: float
    known_covariance: float


def power_curve(kind, sizes, tables, M=6, seed=1, gap=0.7, **setting):
    """A PowerPoint for each size; one method is better than all others."""
    shift = np.full(M, setting.pop("shift", 0.4))
    shift[1:] *= gap
    for n in sizes:
        by_rows = by_folds = 0
        means = []
        for t in range(tables):
            s = simulate(kind, [seed, t], n, M, shift=shift, truth=False, **setting)
            by_rows += declared_different(s.losses, s.design)
            by_folds += declared_by_folds(s.losses, s.design)
            means.append(np.nanmean(s.losses, axis=(0, 1)))
        known = declared_with_known_covariance(np.array(means))
        yield PowerPoint(n, by_rows / tables, by_folds / tables, known)


def declared_with_known_covariance(means) -> float:
    """Share of tables (B, M) declared different with the covariance over tables."""
    B, M = means.shape
    C = np.atleast_2d(np.cov(means, rowvar=False))
    names = tuple(str(m) for m in range(M))
    kind = paired_tests.TestKind.ROWS
    zero = np.zeros((M, M))
    found = 0
    for one in means:
        estimates = paired_tests.ScoreEstimates(
            names, one, C, zero, np.sqrt(np.diag(C)), np.inf, kind, B
        )
        best = int(np.argmin(one))
        found += np.min(paired_tests.p_against_best(estimates, best)) < 0.05
    return found / B


def rows_needed(points, name, power=0.8) -> float:
    """Rows at which a test reaches a power, between the sizes tried; else NaN."""
    found = [getattr(p, name) for p in points]
    sizes = np.log([p.n for p in points])
    for i in range(1, len(points)):
        if found[i - 1] < power <= found[i]:
            share = (power - found[i - 1]) / (found[i] - found[i - 1])
            return float(np.exp(sizes[i - 1] + share * (sizes[i] - sizes[i - 1])))
    return float("nan")


def dummy_rates(tables, n=250, d=7, M=4, repeats=2, shift=0.45, seed=2) -> dict:
    """How often something is called better than the dummy, with and without signal."""
    out = {}
    for name, strength in (("signal", shift), ("noise", 0.0)):
        by_rows = by_folds = held = 0
        best_loss = []
        for t in range(tables):
            rng = np.random.default_rng([seed, t])
            X, y = class_rows(rng, n, 1, d, strength)
            parts = [
                X[:, :, :k] for k in np.linspace(d, max(2, d // 2), M - 1).astype(int)
            ]
            fold_of = random_folds(rng, n, 5, repeats, y)
            losses = [dummy_losses(y, fold_of)] + [
                held_out_losses(P, y, fold_of, 5, fit_discriminant, log_odds, log_loss)[
                    ..., 0
                ]
                for P in parts
            ]
            losses = np.stack(losses, -1)
            design = CrossValidationDesign(0.25, 5, fold_of)
            names = ["dummy", *(f"method {m}" for m in range(1, M))]
            found = paired_tests.estimate_scores(losses, design, names)
            p = paired_tests.p_better_than(found, 0, greater=False)
            best = int(np.argmin(found.means))
            by_rows += best != 0 and p[best] < 0.05
            s = fold_scores(losses, design)
            folds_p = [
                corrected_t_test(s[:, m] - s[:, best], 0.25)[1] for m in range(M)
            ]
            others = [m for m in range(M) if m != best]
            adjusted = adjust_against_best([folds_p[m] for m in others], len(s) - 1)
            by_folds += best != 0 and adjusted[others.index(0)] < 0.05
            best_loss.append(found.means[1])
            share = (y == 1).mean()  # the dummy, on new rows of equal shares
            truth = -(np.log(share) + np.log(1 - share)) / 2
            held += abs(found.means[0] - truth) <= 1.96 * found.errors[0] + 1e-12
        out[name] = {
            "log loss": float(np.mean(best_loss)),
            "better than the dummy": by_rows / tables,
            "by folds": by_folds / tables,
            "the dummy's interval holds": held / tables,
        }
    return out


def dummy_losses(y, fold_of) -> np.ndarray:
    """Log losses (R, n) of the class shares of the training rows."""
    out = np.empty(fold_of.shape)
    for r, folds in enumerate(fold_of):
        for f in np.unique(folds):
            share = np.mean(y[folds != f])
            p = np.where(y == 1, share, 1 - share)
            out[r, folds == f] = -np.log(p[folds == f])
    return out


# --- intervals along time ----------------------------------------------------------

DRIFTS = (
    "stationary",
    "walk",
    "walk with drift",
    "growing errors",
    "bend",
    "level shifts",
    "cycle",
    "changing volatility",
)


def drifting_series(kind, rng, n) -> np.ndarray:
    """A series of n moments whose forecasts become better or worse along time."""
    t = np.arange(n) / n
    noise = rng.normal(size=n)
    persistent = lfilter([1], [1, -0.5], rng.normal(size=n + 50))[50:]
    if kind == "walk":
        return np.cumsum(noise)
    if kind == "walk with drift":
        return np.cumsum(0.15 + noise)
    if kind == "growing errors":
        return persistent * (1 + 3 * t)
    if kind == "bend":
        return 20 * t**2 + persistent
    if kind == "level shifts":
        jumps = (rng.random(n) < 5 / n) * rng.normal(0, 4, n)
        return np.cumsum(jumps) + persistent
    if kind == "cycle":
        return 3 * np.sin(2 * np.pi * 9 * t + rng.uniform(0, 6)) + persistent
    if kind == "changing volatility":
        return np.exp(lfilter([0.15], [1, -0.98], rng.normal(size=n))) * noise
    return persistent


def forecasts(y, start, end) -> np.ndarray:
    """(methods, end - start): mean, last value, drift, line, autoregression, window."""
    ahead = np.arange(1, end - start + 1)
    past = y[:start]
    mean = past.mean()
    x = past - mean
    phi = np.clip(x[1:] @ x[:-1] / (x[:-1] @ x[:-1]), -0.99, 0.999)
    line = np.polyfit(np.arange(start), past, 1)
    flat = np.ones(len(ahead))
    return np.array(
        [
            mean * flat,
            past[-1] * flat,
            past[-1] + np.diff(past).mean() * ahead,
            np.polyval(line, np.arange(start, end)),
            mean + x[-1] * phi**ahead,
            past[-max(4, start // 10) :].mean() * flat,
        ]
    )


def next_block_coverage(y, level=0.9) -> tuple[float, float]:
    """Shares of the last seventh held by adaptive and by plain conformal intervals.

    The best of `forecasts` in five folds along time is kept, as `compare` does.
    """
    n = len(y)
    edges = np.linspace(0, n, 8).round().astype(int)[1:]
    parts = [forecasts(y, a, b) for a, b in pairwise(edges)]
    held_out = np.concatenate(parts[:-1], axis=1)
    known = y[edges[0] : edges[-2]]
    kept = int(np.argmin(np.mean((held_out - known) ** 2, axis=1)))
    block = np.repeat(np.arange(5), np.diff(edges[:-1]))
    scores = fit_adaptive_scores("regression", known, held_out[kept], block)
    missed = np.abs(y[edges[-2] :] - parts[-1][kept])
    plain = interval_quantile(known - held_out[kept], level)
    return np.mean(missed <= scores.reach(level).quantile), np.mean(missed <= plain)


def drift_rates(kind, n, tables, seed=3) -> tuple[float, float]:
    """Coverage of the next block, adaptive and plain, in the mean of tables."""
    found = [
        next_block_coverage(drifting_series(kind, np.random.default_rng([seed, t]), n))
        for t in range(tables)
    ]
    adaptive, plain = np.mean(found, axis=0)
    return float(adaptive), float(plain)


NULL_SETTINGS = [
    ("log loss", {"n": 100, "repeats": 10}),
    ("log loss", {"n": 250, "repeats": 2}),
    ("log loss", {"n": 400, "repeats": 5}),
    ("log loss", {"n": 1000, "repeats": 1}),
    ("log loss", {"n": 250, "repeats": 2, "M": 8, "d": 3, "shift": 0.5}),
    ("error rate", {"n": 250, "repeats": 2}),
    ("neighbours", {"n": 250, "repeats": 2, "d": 3, "shift": 0.7}),
    ("squared error", {"n": 250, "repeats": 2}),
    ("ordered", {"n": 100, "repeats": 10}),
    ("ordered", {"n": 300, "repeats": 2}),
    ("along time", {"n": 120}),
    ("along time", {"n": 300}),
    ("along time", {"n": 1000}),
]
POWER_SETTINGS = [
    ("log loss", {"repeats": 1}),
    ("log loss", {"repeats": 2}),
    ("log loss", {"repeats": 2, "M": 2}),
    ("log loss", {"repeats": 5}),
    ("log loss", {"repeats": 5, "M": 2}),
    ("ordered", {"repeats": 2}),
    ("squared error", {"repeats": 2}),
    ("along time", {}),
]
POWER_SIZES = (200, 400, 600, 800, 1200, 1600, 2400)


# --- racing ------------------------------------------------------------------------


class RaceSetting(NamedTuple):
    """Methods whose true gains over the dummy, method 0, are drawn."""

    methods: int = 12
    gain: float = 0.0  # of all methods but the dummy
    spread: float = 0.0  # standard deviation of the gains
    rows: int = 250
    folds: int = 5
    repeats: int = 5
    fold_noise: float = 0.15  # of a fit, on all rows of its fold
    df: float = np.inf  # of Student's t, for rows that are hard


RACE_SETTINGS = {
    "all equal to the dummy": RaceSetting(),
    "all equal, better than the dummy": RaceSetting(gain=0.3),
    "a little apart": RaceSetting(gain=0.3, spread=0.1),
    "far apart": RaceSetting(gain=0.5, spread=0.4),
    "unstable fits": RaceSetting(gain=0.3, spread=0.1, fold_noise=0.5),
    "stable fits, 1000 rows": RaceSetting(
        gain=0.3, spread=0.05, fold_noise=0.03, rows=1000
    ),
    "heavy tails": RaceSetting(gain=0.3, spread=0.1, df=3.0),
    "60 rows, 10 repeats": RaceSetting(gain=0.5, spread=0.3, rows=60, repeats=10),
    "2 repeats": RaceSetting(gain=0.3, spread=0.2, repeats=2),
}


def race_losses(rng, s) -> Simulation:
    """Losses of rows that are equally hard in every repeat, and of fits that differ."""
    gains = np.r_[0.0, s.gain + s.spread * rng.normal(size=s.methods - 1)]
    fold_of = random_folds(rng, s.rows, s.folds, s.repeats)
    draw = rng.normal if np.isinf(s.df) else lambda size: rng.standard_t(s.df, size)
    own = 0.5 * draw(size=(s.rows, s.methods))
    hard = draw(size=(s.rows, 1)) + own
    fits = s.fold_noise * rng.normal(size=(s.repeats, s.folds, s.methods))
    single = 0.3 * rng.normal(size=(s.repeats, s.rows, s.methods))
    of_rows = np.take_along_axis(fits, fold_of[:, :, None], axis=1)
    losses = 5.0 - gains + hard + of_rows + single
    design = CrossValidationDesign(1 / (s.folds - 1), s.folds, fold_of)
    return Simulation(losses, design, 5.0 - gains)


def repeats_run(losses, design, racers) -> np.ndarray:
    """Repeats that each of M methods runs before the race stops it."""
    R, _, M = losses.shape
    runs = np.full(M, R)
    for m in racers:
        for r in range(1, R):
            rivals = [j for j in range(m) if runs[j] >= r]
            leader = min(rivals, key=lambda j: losses[:r, :, j].mean())
            d = losses[:r, :, m] - losses[:r, :, leader]
            if stopping_p_value(*loss_reach(d, R, design), M) <= ALPHA / (R - 1):
                runs[m] = r
                break
    return runs


def race_filled(losses, runs) -> np.ndarray:
    """Losses as the ranking sees them: those not run filled from the best finisher."""
    R = len(losses)
    finished = [m for m, r in enumerate(runs) if r == R]
    best = min(finished, key=lambda m: losses[:, :, m].mean())
    columns = [
        fill_unrun_repeats(losses[:r, :, m], losses[:, :, best])
        if r < R
        else losses[:, :, m]
        for m, r in enumerate(runs)
    ]
    return np.stack(columns, axis=-1)


def race_rates(setting, tables, seed=0) -> dict[str, float]:
    """Shares of tables in which racing did harm, and the share of fits it saved."""
    counts = dict.fromkeys(("stopped first", "fits saved", "false", "false full"), 0.0)
    counts |= dict.fromkeys(("regret", "regret full", "held", "held full"), 0.0)
    names = [str(m) for m in range(setting.methods)]
    for table in range(tables):
        rng = np.random.default_rng([seed, table])
        losses, design, truth = race_losses(rng, setting)
        runs = repeats_run(losses, design, range(2, setting.methods))
        stopped = runs < setting.repeats
        counts["stopped first"] += stopped[losses.mean((0, 1)).argmin()]
        counts["fits saved"] += 1 - runs.mean() / setting.repeats
        for suffix, table_losses, known in (
            ("", race_filled(losses, runs), runs),
            (" full", losses, None),
        ):
            found = paired_tests.estimate_scores(
                table_losses, design, names, None, known
            )
            top = int(found.means.argmin())
            better = paired_tests.p_better_than(found, 0, False) < 0.05
            counts[f"false{suffix}"] += bool((better & (truth >= truth[0])).any())
            counts[f"regret{suffix}"] += truth[top] - truth.min()
            reach = 1.96 * found.errors[top]
            counts[f"held{suffix}"] += abs(found.means[top] - truth[top]) < reach
    return {k: v / tables for k, v in counts.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=PARTS)
    parser.add_argument("--tables", type=int, default=500)
    chosen = parser.parse_args()
    if "null" in chosen.what:
        for kind, setting in NULL_SETTINGS:
            rates = null_rates(kind, chosen.tables, **setting)
            told = "  ".join(f"{k} {100 * v:.1f} %" for k, v in rates.items())
            print(f"{kind:14} {setting}: {told}", flush=True)
    if "power" in chosen.what:
        for kind, setting in POWER_SETTINGS:
            points = []
            for point in power_curve(kind, POWER_SIZES, chosen.tables, **setting):
                points.append(point)
                told = "  ".join(
                    f"{name} {100 * share:.0f} %"
                    for name, share in zip(point._fields[1:], point[1:])
                )
                print(f"{kind:14} {setting} n={point.n}: {told}", flush=True)
            needed = {name: rows_needed(points, name) for name in point._fields[1:]}
            told = "  ".join(f"{name} {n:.0f}" for name, n in needed.items())
            print(f"{kind:14} {setting} rows for 80 %: {told}", flush=True)
    if "drift" in chosen.what:
        for n in (120, 300, 900):
            for kind in DRIFTS:
                adaptive, plain = drift_rates(kind, n, chosen.tables)
                told = f"adaptive {100 * adaptive:.0f} %  plain {100 * plain:.0f} %"
                print(f"{kind:20} n={n}: {told}", flush=True)
    if "race" in chosen.what:
        for name, setting in RACE_SETTINGS.items():
            rates = race_rates(setting, chosen.tables)
            told = "  ".join(f"{k} {v:.4f}" for k, v in rates.items())
            print(f"{name}: {told}", flush=True)
    if "dummy" in chosen.what:
        for name, rates in dummy_rates(chosen.tables).items():
            print(name, {k: round(v, 3) for k, v in rates.items()}, flush=True)


if __name__ == "__main__":
    main()

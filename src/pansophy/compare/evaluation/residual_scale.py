"""Residual scale: the units in which the error of a prediction is counted.

A conformal interval m(x) +- q is equally wide everywhere, so that a level that holds on
average may fail by far where errors are large. The score of a row is therefore

    s = (g(y) - g(m(x))) / u(x)                                                    (1)

and its interval g^-1(g(m) + s u), with

    g(v) = v                                      amounts of either sign           (2)
    g(v) = log v                                  positive amounts, if it fits better
    g(v) = asinh(sqrt(d (v + 3/8))) / sqrt(d)     counts of variance m + d m^2     (3)

(3) makes the variance of negative binomial counts even; at d = 0 it is the square root
of Poisson counts. d is estimated by moments. Numbers have a spread u(x) = exp(f(x)),
f a sum of step functions of the prediction and of the columns of a table; for counts
u = 1, because the absolute residual of a small count says little about its spread.

**Fitting f.** If r = g(y) - g(m) has a density proportional to exp(-c |r / u|^(1/2))
with the same c in all rows, the negative log-likelihood of a row is, up to a constant,

    l = f + t / mean(t) 2 + 2 log mean(t),   t = |r / u|^(1/2).                    (4)

The square root makes it robust against heavy tails and against residuals near 0. It is
minimised by boosted stumps, which split a column at quantiles and have a value of their
own where a cell is missing. The number of stumps is the best in cross-validation; f is
0 unless the cross-validated (4) is lower than that of f = 0 by two standard errors.
The same rule chooses the logarithm, whose l has log y added (the Jacobian).

**Calibration.** The score of a row uses an f that was fitted without its fold, so that
its residual has not widened its own interval; new rows use f of all rows. Coverage is
what the conformal quantile promises, up to the difference between the two f. Folds are
a function of the rows (or of their groups), so that equal rows share a fold.

Cost      O(stumps n columns), at most 5,000 rows and 20 columns in the stumps
Refs      [Lei2018] locally weighted intervals; [Anscombe1948] (3)
"""

from typing import NamedTuple

import numpy as np

from ...core.arrays.weighted import values_at_ranks
from ...diagnose.data.row_counts import are_whole, effective_counts
from ...tables import MixedFrame

LEAST_ROWS = 80  # fewer say too little about the spread
LEAST_POSITIVE = 20  # rows, none below 0, from which on amounts cannot be negative
MAX_ROWS = 5000  # that f is fitted on
MAX_COLUMNS = 20  # with stumps, those that split best on their own
SCREENED_COLUMNS = 500
FOLDS = 5
BINS = 12
STUMPS = 80
LEARNING_RATE = 0.15
LEAST_LEAF = 10.0  # rows on either side of a split
PRIOR_ROWS = 5.0  # of no effect, in each leaf
ANSCOMBE = 0.375
LEAST_DISPERSION = 0.02  # smaller ones count as Poisson


class ResidualScale(NamedTuple):
    """Transformation g and spread u of eq. (1).

    Step function j is of the prediction if `columns[j]` is 0, otherwise of column
    `columns[j] - 1` of the frame: `heights[j]` between `edges[j]`, and the last of
    `heights[j]` where a cell is missing.
    """

    transform: str  # "identity", "log" or "count"
    dispersion: float  # d of eq. (3)
    smallest: float  # predictions below it are raised to it before a logarithm
    non_negative: bool
    columns: np.ndarray  # (J,)
    edges: np.ndarray  # (J, BINS - 1), padded with infinity
    heights: np.ndarray  # (J, BINS + 1)

    def forward(self, values) -> np.ndarray:
        """g of eqs. (2) and (3) of predictions."""
        values = np.asarray(values, dtype=float)
        if self.transform == "identity":
            return values
        if self.transform == "log":
            return np.log(np.maximum(values, self.smallest))
        root = np.sqrt(np.maximum(values, 0.0) + ANSCOMBE)
        d = np.sqrt(self.dispersion)
        return np.arcsinh(d * root) / d if d > 0 else root

    def inverse(self, values) -> np.ndarray:
        """The inverse of g; amounts that cannot be negative are not."""
        if self.transform == "identity":
            amounts = values
        elif self.transform == "log":
            with np.errstate(over="ignore"):
                amounts = np.exp(values)
        else:
            root = np.maximum(values, 0.0)
            d = np.sqrt(self.dispersion)
            with np.errstate(over="ignore"):
                root = np.sinh(d * root) / d if d > 0 else root
                amounts = root**2 - ANSCOMBE
        return np.maximum(amounts, 0.0) if self.non_negative else amounts

    def spread(self, p, frame=None) -> np.ndarray:
        """u (n,) of rows with predictions p and the columns of a frame."""
        p = np.asarray(p, dtype=float)
        if not len(self.columns):
            return np.ones(len(p))
        if frame is None and self.columns.any():
            raise ValueError(
                "These intervals are wider or narrower by columns of the table: give "
                "the rows as frame."
            )
        values = np.zeros((len(p), 0)) if frame is None else frame.values
        log_spread = np.zeros(len(p))
        for column, edges, heights in zip(self.columns, self.edges, self.heights):
            x = p if column == 0 else values[:, column - 1]
            log_spread += heights[residual_bins(x, edges[np.isfinite(edges)])]
        return np.exp(log_spread)


class ScaleFit(NamedTuple):
    """A residual scale, and the scores of eq. (1) of the rows it was made from."""

    scale: ResidualScale | None
    scores: np.ndarray


def fit_residual_scale(task, y, p, frame=None, counts=None, groups=None):
    """The scale of out-of-fold residuals, and their scores: `ScaleFit`.

    Parameters
    ----------
    task : {"regression", "count"} or another task of numbers
    y, p : arrays (n,)
        Answers, and predictions by models that had not seen them.
    frame : MixedFrame or None
        The rows; of it the values are used.
    counts, groups : arrays (n,) or None
        How many rows each stands for; rows of a group stay in one fold.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare.evaluation.residual_scale import fit_residual_scale
    >>> rng = np.random.default_rng(0)
    >>> p = np.exp(rng.normal(size=500))
    >>> y = p * np.exp(0.5 * rng.normal(size=500))
    >>> fit_residual_scale("regression", y, p).scale.transform
    'log'
    """
    y, p = np.asarray(y, dtype=float), np.asarray(p, dtype=float)
    no_steps = np.zeros(0, int), np.zeros((0, BINS - 1)), np.zeros((0, BINS + 1))
    non_negative = never_negative(y)
    plain = ResidualScale("identity", 0.0, 0.0, non_negative, *no_steps)
    if task == "count":
        d = estimate_dispersion(y, p, counts)
        scale = plain._replace(transform="count", dispersion=d, non_negative=True)
        return ScaleFit(scale, scale.forward(y) - scale.forward(p))
    w = np.ones(len(y)) if counts is None else counts
    unscaled = ScaleFit(plain if non_negative else None, y - p)
    if w.sum() < LEAST_ROWS or not (y != p).any():
        return unscaled
    if (y > 0).all() and (p > 0).all():
        log = plain._replace(transform="log", smallest=float(p.min()))
        ratios = np.log(y) - np.log(p)
        zero = np.zeros(len(y))
        gain = row_losses(y - p, zero, w) - row_losses(ratios, zero, w) - np.log(y)
        if _is_gain(gain, w):
            unscaled = ScaleFit(log, ratios)
    columns, edges, heights, log_spread = fit_log_spread(
        unscaled.scores, p, frame, w, groups
    )
    if not len(columns):
        return unscaled
    scale = unscaled.scale or plain
    scale = scale._replace(columns=columns, edges=edges, heights=heights)
    return ScaleFit(scale, unscaled.scores / np.exp(log_spread))


def never_negative(y) -> bool:
    """Whether amounts are taken to be such that cannot be negative."""
    return len(y) >= LEAST_POSITIVE and bool((np.asarray(y) >= 0).all())


def estimate_dispersion(y, p, counts=None) -> float:
    """d of counts with variance m + d m^2, by moments; 0 if it is small."""
    p = np.maximum(p, 0.0)
    total = np.average(p**2, weights=counts)
    if not total > 0:
        return 0.0
    d = np.average((y - p) ** 2 - p, weights=counts) / total
    return float(d) if LEAST_DISPERSION < d < np.inf else 0.0


def row_losses(r, log_spread, w) -> np.ndarray:
    """Eq. (4) of each row."""
    t = np.sqrt(np.abs(r) * np.exp(-log_spread))
    mean = np.average(t, weights=w)
    return log_spread + 2 * np.log(mean) + 2 * t / mean


def _is_gain(gain, w) -> bool:
    """Whether a mean over rows is above 0 by two standard errors."""
    c = effective_counts(w, are_whole(w))
    mean = np.average(gain, weights=c)
    variance = np.average((gain - mean) ** 2, weights=c)
    return bool(mean > 2 * np.sqrt(variance / c.sum()))


def _row_digits(p, values, groups=None) -> np.ndarray:
    """A number in [0, 1) of each row, or of each group, as good as random."""
    if groups is None:
        return MixedFrame(np.column_stack([p, values])).digits()
    codes = np.unique(groups, return_inverse=True)[1].ravel()
    return MixedFrame(codes[:, None].astype(float)).digits()


def fit_log_spread(r, p, frame, w, groups=None):
    """Steps (columns, edges, heights) of f, and the cross-fitted f of the rows."""
    n = len(r)
    values = np.zeros((n, 0)) if frame is None else frame.values[:, :SCREENED_COLUMNS]
    X = np.column_stack([p, values])
    digits = _row_digits(p, values, groups)
    fitted = _rows_of_smallest_digits(digits, w)
    fold = (digits * 2.0**40).astype(np.int64) % FOLDS
    t = np.sqrt(np.abs(r))
    edges = [_quantile_edges(x, w[fitted]) for x in X[fitted].T]
    codes = np.column_stack([residual_bins(x, e) for x, e in zip(X.T, edges)])
    path = np.zeros((STUMPS + 1, n))
    for k in range(FOLDS):
        held_out = fitted & (fold == k)
        rows = fitted & (fold != k)
        if held_out.any() and rows.any():
            steps = _boosted_stumps(codes[rows], t[rows], w[rows], STUMPS)
            path[:, held_out] = _summed_path(steps, codes[held_out])
    losses = [row_losses(r[fitted], f[fitted], w[fitted]) for f in path]
    best = int(np.argmin([np.average(loss, weights=w[fitted]) for loss in losses]))
    no_steps = np.zeros(0, int), np.zeros((0, BINS - 1)), np.zeros((0, BINS + 1))
    if best == 0 or not _is_gain(losses[0] - losses[best], w[fitted]):
        return *no_steps, np.zeros(n)
    steps = _boosted_stumps(codes[fitted], t[fitted], w[fitted], best)
    log_spread = path[best]
    log_spread[~fitted] = _summed_path(steps, codes[~fitted])[-1]
    columns = np.unique([j for j, _ in steps])
    heights = np.zeros((len(columns), BINS + 1))
    for j, step in steps:
        heights[np.searchsorted(columns, j)] += step
    padded = np.full((len(columns), BINS - 1), np.inf)
    for row, j in zip(padded, columns):
        row[: len(edges[j])] = edges[j]
    return columns, padded, heights, log_spread


def _rows_of_smallest_digits(digits, w) -> np.ndarray:
    """Mask of the rows of smallest digits that count as MAX_ROWS, or a few more."""
    _, code = np.unique(digits, return_inverse=True)
    rows = np.bincount(code.ravel(), w)
    return (np.cumsum(rows) - rows < MAX_ROWS)[code.ravel()]


def _quantile_edges(x, w) -> np.ndarray:
    """At most BINS - 1 distinct quantiles of the values that are known."""
    known = np.isfinite(x)
    total = w[known].sum()
    if not total > 0:
        return np.zeros(0)
    ranks = total * np.arange(1, BINS) / BINS
    return np.unique(values_at_ranks(x[known], w[known], ranks))


def residual_bins(x, edges) -> np.ndarray:
    """0 up to the first edge, and so on; BINS where x is missing."""
    return np.where(np.isnan(x), BINS, np.searchsorted(edges, x))


def _boosted_stumps(codes, t, w, n_stumps) -> list[tuple[int, np.ndarray]]:
    """Stumps of f that minimise eq. (4): pairs of a column and its heights by bin.

    The mean of t in a leaf over that of all rows is what exp(f / 2) lacks there.
    """
    columns = np.arange(codes.shape[1])
    f = np.zeros(len(t))
    stumps = []
    for _ in range(n_stumps):
        scaled = t * np.exp(-f / 2)
        mean = np.average(scaled, weights=w)
        if not mean > 0:
            break
        gains, cuts, sums = _best_cuts(codes[:, columns], w * scaled / mean, w)
        if not stumps and len(columns) > MAX_COLUMNS:
            kept = np.sort(np.argsort(-gains, kind="stable")[:MAX_COLUMNS])
            columns = columns[kept]
            gains, cuts, sums = gains[kept], cuts[kept], sums[:, kept]
        j = int(np.argmax(gains))
        if not gains[j] > 0:
            break
        observed, rows = sums[:, j]
        sides = [slice(0, cuts[j] + 1), slice(cuts[j] + 1, BINS), slice(BINS, None)]
        step = np.empty(BINS + 1)
        for side in sides:
            ratio = (observed[side].sum() + PRIOR_ROWS) / (
                rows[side].sum() + PRIOR_ROWS
            )
            step[side] = 2 * LEARNING_RATE * np.log(ratio)
        f += step[codes[:, columns[j]]]
        stumps.append((int(columns[j]), step))
    return stumps


def _best_cuts(codes, observed, rows):
    """Gain and place of each column's best cut, and sums (2, J, BINS + 1)."""
    J = codes.shape[1]
    flat = (codes + np.arange(J) * (BINS + 1)).ravel()
    size = J * (BINS + 1)
    sums = np.stack(
        [
            np.bincount(flat, np.repeat(v, J), size).reshape(J, -1)
            for v in (observed, rows)
        ]
    )
    left = np.cumsum(sums[:, :, :BINS], axis=2)[:, :, :-1]
    right = sums[:, :, :BINS].sum(axis=2, keepdims=True) - left
    gain = np.zeros(left.shape[1:])
    for side in (left, right):
        ratio = (side[0] + PRIOR_ROWS) / (side[1] + PRIOR_ROWS)
        gain += (side[0] - side[1]) * np.log(np.maximum(ratio, 1e-12))
    gain[(left[1] < LEAST_LEAF) | (right[1] < LEAST_LEAF)] = 0.0
    return gain.max(axis=1), gain.argmax(axis=1), sums


def _summed_path(stumps, codes) -> np.ndarray:
    """f of rows after 0, 1, ... stumps, (STUMPS + 1, n)."""
    path = np.zeros((STUMPS + 1, len(codes)))
    for i, (j, step) in enumerate(stumps):
        path[i + 1] = path[i] + step[codes[:, j]]
    path[len(stumps) + 1 :] = path[len(stumps)]
    return path

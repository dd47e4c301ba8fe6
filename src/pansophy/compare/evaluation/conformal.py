"""Conformal prediction: intervals and sets with guaranteed coverage.

A score s(x, y) says how strange an answer y looks at x. If a new row is exchangeable
with n calibration rows that the model has not seen, the rank of its score among
theirs is uniform, so with

    q = the ceil((n + 1) L)-th smallest of s_1..s_n   (infinite if that is over n) (1)

the set {y : s(x, y) <= q} holds the truth with probability at least L, and at most
L + 1/(n + 1) if no scores tie: whatever the model, whatever the distribution. A row of
whole weight k counts as k rows in (1), one of weight 0 as none, and n is the sum of the
weights. Weights that are not whole are scaled to sum to the number of rows (by class,
of the rows of each class): the rank is then where the running sum of the sorted scores'
weights reaches it, and a sum of 1, say, does not make every interval infinite.

    numbers   |y - m(x)|                      m(x) +- q                          (2)
              |y - m(x)| / u(x)               m(x) +- q u(x), u a guessed spread (3)
              max(l(x) - y, y - h(x))         [l(x) - q, h(x) + q], quantiles l, h (4)
    classes   LAC  1 - p_y(x)                 {k : p_k >= 1 - q}, smallest sets  (5)
              APS  sum_{k : p_k > p_y} p_k + u(x) p_y   adapts to hard rows      (6)

By class (Mondrian) q is found among the rows of each class, so that each class is held
as often as promised. An empty set gets its most probable class. In (6) u is usually a
random number, without which a row's last class always scores 1 and sets grow too large.
Here u(x) in [0, 1) is a fixed function of x, so that (1) holds as it is and one row
has one set always: given by the caller, or read off the far digits of p(x), which is
as good as random over rows where p is. It is not where a model says the same p of many
rows (a small tree): then its u of them is one draw, and another model makes another;
so what is calibrated with some models and used with another needs u of the rows.

CV+ uses all rows both to fit and to calibrate. With folds k(i), models m_-k fitted
without fold k and scores R_i of row i under m_-k(i), the interval at x reaches from the
floor((n+1)(1-L))-th smallest of m_-k(i)(x) - R_i to the ceil((n+1) L)-th smallest of
m_-k(i)(x) + R_i, and class y is in the set if

    #{i : R_i < s_-k(i)(x, y)} < (n + 1) L                                       (7)

It holds the truth with probability at least 2 L - 1 for certain and about L in
practice; with n folds it is the jackknife+. Adding q of out-of-fold scores to a model
fitted on all rows, as a saved winner does, is the limit of many rows of (7): right if
leaving out a fold hardly changes the model.

Shapes    p (n, K)   intervals (n, 2)   sets (n, K) of bool
Refs      [Vovk2005] (1), by class; [Lei2018] (2), (3); [Romano2019] (4);
          [Sadinle2019] (5); [Romano2020] (6); [Barber2021] (7)
"""

from typing import NamedTuple

import numpy as np

from ...core.arrays.weighted import check_sample_weight, values_at_ranks
from ...diagnose.data.row_counts import weights_as_counts
from .statistics import check_level, finite_array

BLOCK = 2**23  # numbers of an (rows, n) block of CV+
SLACK = 1e-9  # (n + 1) L may miss a whole number by rounding


def conformal_rank(n, level) -> int:
    """The rank ceil((n + 1) L) of eq. (1)."""
    check_level(level)
    return int(np.ceil((n + 1) * level - SLACK))


def score_quantile(scores, level=0.9, weights=None) -> float:
    """Eq. (1); infinite if the rows are too few for the level.

    `weights` (n,) say how often each row counts.

    Examples
    --------
    >>> from pansophy.compare import score_quantile
    >>> score_quantile([3.0, 1.0, 2.0, 5.0, 4.0, 7.0, 6.0, 9.0, 8.0], 0.9)
    9.0
    >>> score_quantile([1.0, 2.0], 0.9)
    inf
    >>> score_quantile([1.0, 2.0], 0.9, weights=[30, 1])
    1.0
    """
    scores = finite_array(scores, "scores")
    w = (
        None
        if weights is None
        else check_sample_weight(weights, len(scores), "weights")
    )
    return weighted_score_quantile(
        scores, level, None if w is None else weights_as_counts(w)
    )


def weighted_score_quantile(scores, level, counts=None) -> float:
    """Eq. (1) for scores of which each counts so many rows."""
    n = len(scores) if counts is None else round(counts.sum())
    k = conformal_rank(n, level)
    if k > n:
        return float("inf")
    if counts is None:
        return float(np.partition(scores, k - 1)[k - 1])
    return float(values_at_ranks(scores, counts, k))


def interval_quantile(residuals, level=0.9, weights=None) -> float:
    """Half-width of a prediction interval: eqs. (1) and (2) for y - m(x).

    Examples
    --------
    >>> from pansophy.compare import interval_quantile
    >>> interval_quantile([-1.0, 2.0, 0.5, -3.0, 1.5, 0.1, 0.2, -0.3, 0.4], 0.8)
    2.0
    """
    return score_quantile(np.abs(finite_array(residuals, "residuals")), level, weights)


def interval_offsets(residuals, level=0.9, weights=None) -> tuple[float, float]:
    """(low, high) to add to a prediction, each side missing half as often.

    For residuals y - m(x) that lean to one side; each tail is calibrated alone.
    """
    r = finite_array(residuals, "residuals")
    tail = (1 + level) / 2
    return -score_quantile(-r, tail, weights), score_quantile(r, tail, weights)


def quantile_scores(y, low, high) -> np.ndarray:
    """Eq. (4): how far y lies outside [low, high]; below 0 inside."""
    return np.maximum(np.asarray(low) - y, y - np.asarray(high))


def class_scores(p, kind="aps", u=None) -> np.ndarray:
    """Scores (n, K) of every class, eq. (5) or (6); `u` (n,) is that of the rows.

    Examples
    --------
    >>> from pansophy.compare.evaluation.conformal import class_scores
    >>> class_scores([[0.5, 0.3, 0.2]], "lac").round(2).tolist()
    [[0.5, 0.7, 0.8]]
    """
    p = finite_array(p, "rows of probabilities", 0)
    if p.ndim != 2:
        raise ValueError(f"p must be probabilities (n, K), got shape {p.shape}.")
    if kind == "lac":
        return 1 - p
    if kind != "aps":
        raise ValueError(f"kind must be 'lac' or 'aps', got {kind!r}.")
    order = np.argsort(-p, axis=1, kind="stable")
    fall = np.take_along_axis(p, order, 1)
    mass_above = np.cumsum(fall, axis=1) - fall
    for j in range(1, p.shape[1]):  # equal p have equal scores
        is_tied = fall[:, j] == fall[:, j - 1]
        mass_above[is_tied, j] = mass_above[is_tied, j - 1]
    out = np.empty_like(p)
    u = _pseudo_random_digits(p) if u is None else np.asarray(u)
    np.put_along_axis(out, order, mass_above + u[:, None] * fall, 1)
    return out


def _pseudo_random_digits(p) -> np.ndarray:
    """u(x) of eq. (6): digits 5 to 10 of a mix of the probabilities."""
    mix = p @ np.sqrt(np.arange(2.0, p.shape[1] + 2))
    return 1e4 * mix % 1.0


class PredictionSetRule(NamedTuple):
    """Rule that makes prediction sets of classes from probabilities."""

    kind: str
    level: float
    q: tuple[float, ...]  # one, or one for each class

    def apply(self, p) -> np.ndarray:
        """Sets (n, K) for probabilities (n, K); see `prediction_sets`."""
        return prediction_sets(p, self)


def fit_prediction_sets(
    p, y, level=0.9, kind="aps", by_class=False, weights=None
) -> PredictionSetRule:
    """Calibrate sets on out-of-fold (or other unseen) rows.

    Parameters
    ----------
    p : array (n, K)
        Probabilities of models that had not seen the rows.
    y : array (n,) of class codes 0..K-1
    kind : {"aps", "lac"}
        Sets that adapt to how hard a row is, or the smallest on average.
    by_class : bool
        Keep the promise within each class.
    weights : array (n,), optional
        How often each row counts.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare import fit_prediction_sets
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], 500)
    >>> y = np.array([rng.choice(3, p=row) for row in p])
    >>> sets = fit_prediction_sets(p, y, level=0.9, kind="lac").apply(p)
    >>> bool(abs(sets[np.arange(500), y].mean() - 0.9) < 0.01)
    True
    """
    s, y = class_scores(p, kind), np.asarray(y)
    if y.shape != (len(s),) or (len(y) and not np.isin(y, range(s.shape[1])).all()):
        raise ValueError(
            f"y must hold {len(s)} class codes from 0 to {s.shape[1] - 1}."
        )
    true_scores = s[np.arange(len(y)), y]
    if not by_class:
        return PredictionSetRule(
            kind, level, (score_quantile(true_scores, level, weights),)
        )
    w = check_sample_weight(weights, len(y), "weights")
    c = None if w is None else weights_as_counts(w, y)
    parts = [y == k for k in range(s.shape[1])]
    q = [
        weighted_score_quantile(true_scores[i], level, None if c is None else c[i])
        for i in parts
    ]
    return PredictionSetRule(kind, level, tuple(q))


def prediction_sets(p, rule: PredictionSetRule, u=None) -> np.ndarray:
    """Membership (n, K) of each class in the set of each row; u as in calibration."""
    s = class_scores(p, rule.kind, u)
    return _fill_empty_sets(s <= np.asarray(rule.q) + SLACK, s)


def _fill_empty_sets(sets, s):
    is_empty = ~sets.any(1)
    sets[is_empty, np.argmin(s[is_empty], axis=1)] = True
    return sets


def cv_plus_interval(centres, residuals, fold, level=0.9, spread=None) -> np.ndarray:
    """CV+ intervals (m, 2), eq. (7).

    Parameters
    ----------
    centres : array (m, F)
        Predictions of the model of each fold for new rows.
    residuals : array (n,)
        |y_i - m_-k(i)(x_i)|, divided by the spread there if one is given.
    fold : array (n,) of codes 0..F-1
        Which fold held row i out.
    spread : array (m, F) or None
        Guessed spread of the new rows, eq. (3).
    """
    centres, residuals = (
        finite_array(centres, "rows of centres", 0),
        finite_array(residuals, "residuals"),
    )
    n, fold = len(residuals), np.asarray(fold)
    k = conformal_rank(n, level)
    if k > n:
        return np.tile([-np.inf, np.inf], (len(centres), 1))
    out = np.empty((len(centres), 2))
    step = max(1, BLOCK // n)
    for i in range(0, len(centres), step):
        rows = slice(i, i + step)
        middle = centres[rows][:, fold]
        width = residuals if spread is None else residuals * spread[rows][:, fold]
        out[rows, 0] = -np.partition(width - middle, k - 1, axis=1)[:, k - 1]
        out[rows, 1] = np.partition(middle + width, k - 1, axis=1)[:, k - 1]
    return out


def cv_plus_sets(scores, true_scores, fold, level=0.9, labels=None) -> np.ndarray:
    """CV+ sets (m, K), eq. (7).

    Parameters
    ----------
    scores : array (m, F, K)
        Scores of new rows under the model of each fold.
    true_scores : array (n,)
        The score of the true class of row i under the model that had not seen it.
    fold : array (n,) of codes 0..F-1
    labels : array (n,) of class codes, or None
        Compare class k with rows of class k only.
    """
    scores, true_scores = (
        np.asarray(scores, dtype=float),
        finite_array(true_scores, "scores"),
    )
    m, F, K = scores.shape
    sets = np.empty((m, K), dtype=bool)
    for k in range(K):
        of_class = (
            np.ones(len(true_scores), dtype=bool) if labels is None else labels == k
        )
        n_below = np.zeros(m)
        for f in range(F):
            fold_scores = np.sort(true_scores[of_class & (fold == f)])
            n_below += np.searchsorted(fold_scores, scores[:, f, k] - SLACK, "left")
        sets[:, k] = n_below < (of_class.sum() + 1) * level - SLACK
    return _fill_empty_sets(sets, scores.mean(1))

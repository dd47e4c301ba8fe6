"""Classifier two-sample test: can a forest tell two sets of rows apart?

A classifier that separates the sets out of fold has an area under its ROC curve
A = P(score of a row of Z > score of a row of X) above 1/2 (1). Rows that are equal stay
in one fold, so that two copies of one set give 1/2 and not less. The squared error of
A is that of its two sets of placements, var(V_x) / n + var(V_z) / m (2), times 1 + J /
(J - 1) for J folds, since chance differences of the samples recur in every fold.

The other test of two samples, the maximum mean discrepancy, is `kernel_model.mmd`.

Refs      [LopezPaz2017] (1); [DeLong1988] [Nadeau2003] (2)
"""

import numpy as np
import scipy.stats

from ...core.random import make_rng
from ..intervals import Interval, symmetric_interval


def classifier_two_sample_test(
    X, Z, *, keys=None, folds=5, level=0.95, random_state=0
) -> Interval:
    """AUC of a forest that separates two samples, eq. (1), with limits by (2).

    `keys` (n + m,) marks equal rows, which stay in one fold.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import classifier_two_sample_test
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> round(classifier_two_sample_test(X, X + 3).mean, 1)
    1.0
    """
    from ...ensemble import ExtraTreesClassifier

    pooled = np.vstack([X, Z])
    side = np.r_[np.zeros(len(X), int), np.ones(len(Z), int)]
    rng = make_rng(random_state)
    _, groups = np.unique(
        np.arange(len(pooled)) if keys is None else keys, return_inverse=True
    )
    fold = (rng.permutation(groups.max() + 1) % folds)[groups]
    score = np.full(len(pooled), 0.5)
    for f in range(folds):
        held = fold == f
        if not held.any() or len(np.unique(side[~held])) < 2:
            continue
        forest = ExtraTreesClassifier(
            50, min_samples_leaf=5, max_features="sqrt", random_state=f
        )
        forest.fit(pooled[~held], side[~held])
        score[held] = np.asarray(forest.predict_proba(pooled[held]))[:, 1]
    return auc_with_limits(
        score[side == 0], score[side == 1], level, 1 + folds / (folds - 1)
    )


def auc_with_limits(low, high, level=0.95, inflation=1.0) -> Interval:
    """AUC P(high > low), ties counted as 1/2, and its limits by eq. (2).

    Examples
    --------
    >>> from pansophy.diagnose.shift.two_sample import auc_with_limits
    >>> auc_with_limits([0.1, 0.4], [0.35, 0.8]).mean
    0.75
    """
    low, high = np.asarray(low, float), np.asarray(high, float)
    n, m = len(low), len(high)
    ranks = scipy.stats.rankdata(np.r_[low, high])
    V1 = (ranks[n:] - scipy.stats.rankdata(high)) / n
    V0 = 1 - (ranks[:n] - scipy.stats.rankdata(low)) / m
    A = float(V1.mean())
    error = float(
        np.sqrt(inflation * (_sample_variance(V0) / n + _sample_variance(V1) / m))
    )
    reach = scipy.stats.norm.ppf((1 + level) / 2) * error
    result = symmetric_interval(A, reach, error)
    return result._replace(low=max(result.low, 0.0), high=min(result.high, 1.0))


def _sample_variance(v) -> float:
    return float(v.var(ddof=1)) if len(v) > 1 else 0.0

"""Two-sample tests: a classifier test and the maximum mean discrepancy.

A classifier that separates the sets out of fold has an area under its ROC curve
A = P(score of a row of Z > score of a row of X) above 1/2 (1). Rows that are equal stay
in one fold, so that two copies of one set give 1/2 and not less. The squared error of
A is that of its two sets of placements, var(V_x) / n + var(V_z) / m (2), times 1 + J /
(J - 1) for J folds, since chance differences of the samples recur in every fold.

The maximum mean discrepancy with kernel k is the squared distance of the mean features,

    MMD^2 = a^T K a,   a_i = 1/n on X and -1/m on Z,                             (3)

0 if and only if the laws are equal for a Gaussian kernel; its width is the median
distance. p is the share of random relabellings with as large a value.

Refs      [LopezPaz2017] (1); [DeLong1988] [Nadeau2003] (2); [Gretton2012] (3)
"""

from typing import NamedTuple

import numpy as np
import scipy.stats

from ..core.random import make_rng
from ..core.threads import single_blas
from ..kernel_model.kernel_tests import permuted_mmd
from ..kernels import RBF
from .columns import sample_rows
from .intervals import Interval, symmetric_interval


class Discrepancy(NamedTuple):
    """MMD^2 of two sets of rows, and its permutation p value."""

    value: float
    p: float
    length_scale: float

    def __str__(self):
        return f"MMD^2 {self.value:.4g} (p = {self.p:.3g})"


def mmd(
    X, Z, *, length_scale=None, permutations=200, rows=500, random_state=0
) -> Discrepancy:
    """Maximum mean discrepancy of two sets of rows, eq. (3), with a permutation test.

    Parameters
    ----------
    X, Z : arrays of shape (n, d), (m, d)
    length_scale : float, optional
        Of the Gaussian kernel; the median distance by default.
    permutations : int
    rows : int or None
        Rows drawn from each set at most.
    random_state : seed

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import mmd
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> mmd(X, X).value, mmd(X, X + 1).p
    (0.0, 0.004...)
    """
    X, Z = (np.asarray(v, float) for v in (X, Z))
    if X.ndim != 2 or Z.ndim != 2 or X.shape[1] != Z.shape[1]:
        raise ValueError(
            f"X and Z must have like columns, got {X.shape} and {Z.shape}."
        )
    rng = make_rng(random_state)
    X, Z = (subsample_rows(v, rows, rng) for v in (X, Z))
    both = np.vstack([X, Z])
    n, m = len(X), len(Z)
    with single_blas():
        if length_scale is None:
            few = both[rng.permutation(n + m)[:500]]
            far = np.sqrt(np.maximum(squared_row_distances(few), 0.0))[
                np.triu_indices(len(few), 1)
            ]
            length_scale = float(np.median(far[far > 0])) if np.any(far > 0) else 1.0
        K = RBF(length_scale)(both)
        values = permuted_mmd(K, n, m, permutations, rng)
    value = float(max(values[0], 0.0))
    value = 0.0 if value < 1e-12 else value
    p = (1 + np.sum(values[1:] >= value - 1e-12)) / (permutations + 1)
    return Discrepancy(value, float(p), length_scale)


def squared_row_distances(X):
    """Squared distances between all rows."""
    s = np.einsum("ij,ij->i", X, X)
    return s[:, None] + s - 2 * X @ X.T


def subsample_rows(X, rows, rng):
    pick = sample_rows(len(X), rows, rng)
    return X if pick is None else X[pick]


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
    from ..ensemble import ExtraTreesClassifier

    both = np.vstack([X, Z])
    side = np.r_[np.zeros(len(X), int), np.ones(len(Z), int)]
    rng = make_rng(random_state)
    _, groups = np.unique(
        np.arange(len(both)) if keys is None else keys, return_inverse=True
    )
    fold = (rng.permutation(groups.max() + 1) % folds)[groups]
    score = np.full(len(both), 0.5)
    for f in range(folds):
        held = fold == f
        if not held.any() or len(np.unique(side[~held])) < 2:
            continue
        forest = ExtraTreesClassifier(
            50, min_samples_leaf=5, max_features="sqrt", random_state=f
        )
        forest.fit(both[~held], side[~held])
        score[held] = np.asarray(forest.predict_proba(both[held]))[:, 1]
    return auc_with_limits(
        score[side == 0], score[side == 1], level, 1 + folds / (folds - 1)
    )


def auc_with_limits(low, high, level=0.95, inflation=1.0) -> Interval:
    """AUC P(high > low), ties counted as 1/2, and its limits by eq. (2).

    Examples
    --------
    >>> from pansophy.diagnose.two_sample import auc_with_limits
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
        np.sqrt(inflation * (sample_variance(V0) / n + sample_variance(V1) / m))
    )
    reach = scipy.stats.norm.ppf((1 + level) / 2) * error
    found = symmetric_interval(A, reach, error)
    return found._replace(low=max(found.low, 0.0), high=min(found.high, 1.0))


def sample_variance(v) -> float:
    return float(v.var(ddof=1)) if len(v) > 1 else 0.0

"""Bayesian comparison: the probability that a method is better, equal, or worse.

**One table.** J differences d_j = s_j(a) - s_j(b) of scores on the same folds are
Normal around the true difference, any two with correlation rho, the share n2/(n1 + n2)
of the rows that a fold tests. With a flat prior the true difference has the posterior

    t_{J-1}( mean(d),  (1/J + rho/(1 - rho)) var(d) ),    rho/(1-rho) = n2/n1    (1)

the same mean, error and degrees of freedom as the corrected t test (`statistics`).
A region of practical equivalence [-r, r] cuts it into three:

    P(better) = P(x > r),   P(equivalent) = P(-r <= x <= r),   P(worse)          (2)

**Several tables.** Differences z_1..z_q of table means, with a pseudo-observation z_0
= 0 of weight s, get Dirichlet weights w ~ Dir(s, 1, ..., 1). The mass of pairs beyond
the region,

    theta_better = sum_ij w_i w_j [z_i + z_j > 2 r]                              (3)

and likewise for the others, says for each draw which of the three is most likely for a
new table; P is the share of draws in which it is (a tie shared).

Refs      [Benavoli2017] (1)-(3); [Corani2015] (1); [Benavoli2014] (3)
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from ...core.random import make_rng
from .statistics import corrected_standard_error, finite_array

ALMOST_CERTAIN = 0.95
PROBABLE = 0.75
UNIT_SCALE_METRICS = {
    "accuracy",
    "balanced accuracy",
    "label accuracy",
    "exact match",
    "roc auc",
    "brier score",
    "r2",
    "f1",
}


class ComparisonProbabilities(NamedTuple):
    """Probabilities that the first method is better, practically equal, or worse."""

    better: float
    equivalent: float
    worse: float


def bayesian_correlated_t(
    differences, ratio, rope=0.01, greater=True
) -> ComparisonProbabilities:
    """Eqs. (1) and (2) for differences of scores, first method less second.

    Parameters
    ----------
    differences : array (J,)
        On the same folds.
    ratio : float
        Test rows over training rows of a fold.
    rope : float
        Differences up to this size do not matter.
    greater : bool
        Whether a greater score is better.

    Examples
    --------
    >>> from pansophy.compare import bayesian_correlated_t
    >>> p = bayesian_correlated_t([0.03, 0.02, 0.05, 0.04, 0.03], ratio=0.25, rope=0.01)
    >>> print(f"better {p.better:.2f}, equivalent {p.equivalent:.2f}")
    better 0.98, equivalent 0.02
    """
    error = corrected_standard_error(differences, ratio)
    d = float(np.mean(differences))
    return student_probabilities(d, error, len(differences) - 1, rope, greater)


def student_probabilities(
    difference, error, df, rope=0.01, greater=True
) -> ComparisonProbabilities:
    """Eq. (2) for a posterior t_df around `difference` with the scale `error`."""
    check_rope(rope)
    d = difference if greater else -difference
    if error == 0:  # no doubt is left
        if d == 0 and rope == 0:
            return ComparisonProbabilities(0.5, 0.0, 0.5)
        return ComparisonProbabilities(
            float(d > rope), float(abs(d) <= rope), float(d < -rope)
        )
    better = float(special.stdtr(df, (d - rope) / error))
    worse = float(special.stdtr(df, (-rope - d) / error))
    return ComparisonProbabilities(better, max(1 - better - worse, 0.0), worse)


def bayesian_signed_rank(
    differences,
    rope=0.01,
    greater=True,
    *,
    prior=0.5,
    n_samples=20_000,
    random_state=0,
) -> ComparisonProbabilities:
    """Eq. (3) for differences of mean scores, one for each table.

    Examples
    --------
    >>> from pansophy.compare import bayesian_signed_rank
    >>> p = bayesian_signed_rank([0.05, 0.03, 0.08, 0.02, 0.06, 0.04, 0.03], rope=0.01)
    >>> p.better > 0.95
    True
    """
    check_rope(rope)
    if not prior > 0:
        raise ValueError(f"prior must be above 0, got {prior}.")
    z = finite_array(differences, "differences")
    w = dirichlet_weights(len(z), prior, n_samples, random_state)
    return signed_rank_probabilities(z if greater else -z, rope, w)


def dirichlet_weights(q, prior, n_samples, random_state) -> np.ndarray:
    """Draws (n_samples, q + 1) of the weights of z_0 and q tables."""
    alpha = np.r_[prior, np.ones(q)]
    return make_rng(random_state).dirichlet(alpha, n_samples)


def signed_rank_probabilities(differences, rope, weights) -> ComparisonProbabilities:
    """Eq. (3) for differences z (q,) and drawn weights w (., q + 1)."""
    differences = np.r_[0.0, differences]
    sums = differences[:, None] + differences
    weight_beyond = lambda s: (s > 2 * rope) + 0.5 * (s == 2 * rope)
    mass = lambda table: np.einsum("bi,bi->b", weights @ table, weights)
    p_first, p_second = mass(weight_beyond(sums)), mass(weight_beyond(-sums))
    theta = np.column_stack([p_first, 1 - p_first - p_second, p_second])
    top = theta >= theta.max(1, keepdims=True) - 1e-12
    return ComparisonProbabilities(
        *map(float, (top / top.sum(1, keepdims=True)).mean(0))
    )


def check_rope(rope):
    if not (rope >= 0 and np.isfinite(rope)):
        raise ValueError(f"rope must be a number of at least 0, got {rope}.")


def default_rope(metric, score) -> float:
    """A region nobody would argue about: one point of 100, or 1 % of the score.

    Scores between 0 and 1 (accuracy, areas, Brier, R2) get 0.01; those in units of
    their own (log loss, RMSE, MAE, deviance) a hundredth of `score`, log loss at least
    0.001.
    """
    if metric in UNIT_SCALE_METRICS:
        return 0.01
    return max(0.01 * abs(float(score)), 0.001 if metric == "log loss" else 0.0)

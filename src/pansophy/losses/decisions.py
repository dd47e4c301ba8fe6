"""Bayes decisions: from probabilities to the action of lowest expected cost.

With class probabilities p and costs L[k, a] of action a when the truth is k,

    a*(p) = argmin_a  sum_k p_k L[k, a]                                          (1)

Special cases: 0/1 costs give the most probable class; two classes give a threshold

    predict + when p > c_FP / (c_FP + c_FN)                                      (2)

and a fixed cost of not answering gives the reject rule. A number that costs c1 a
unit when too low and c2 when too high is best answered by the c1/(c1 + c2) quantile;
with squared cost the best answer is the mean, E[Y | x], whose risk is the variance of
the noise.

Refs      [Chow1970] the reject rule
"""

import numpy as np
from scipy.special import ndtri


def bayes_action(p, costs):
    """Eq. (1): the cheapest action for each row of p."""
    return np.argmin(np.asarray(p) @ np.asarray(costs), axis=-1)


def cost_threshold(false_positive, false_negative):
    """Eq. (2)."""
    return false_positive / (false_positive + false_negative)


def reject_rule(p, cost):
    """+1, -1, or 0 for "no answer", where an error costs 1 and no answer `cost`."""
    p = np.asarray(p, dtype=float)
    sure = np.minimum(p, 1 - p) <= cost
    return np.where(sure, np.where(p >= 0.5, 1, -1), 0)


def quantile_action(mean, sigma, under, over):
    """The best answer for a Normal belief and linear costs of being low or high."""
    return mean + sigma * ndtri(under / (under + over))


def conditional_mean(joint, values):
    """E[Y | x] for each row x of a table P(x, y) whose columns stand for `values`.

    Rows of conditional probabilities, or of counts, do as well: each is normalised.

    Examples
    --------
    >>> conditional_mean([[0.1, 0.3], [0.4, 0.2]], [0.0, 1.0]).round(6)
    array([0.75    , 0.333333])
    """
    joint, values = np.asarray(joint, dtype=float), np.asarray(values, dtype=float)
    mass = joint.sum(axis=-1)
    if np.any(joint < 0) or not np.all(mass > 0):
        raise ValueError("joint must be at least 0, with a positive sum in every row.")
    return joint @ values / mass

"""LambdaRank: the gradient of a ranking by pairs, weighed by what a swap would change.

Rows belong to queries; y is their relevance (0, 1, 2, ...) and f their score. With the
gain 2^y - 1 and r_i the place of row i when its query is sorted by falling score,

    DCG = sum_i (2^y_i - 1) / log2(1 + r_i),    NDCG = DCG / (DCG of the best order) (1)

NDCG is a step function of f. LambdaRank takes, for each pair of a query with y_i > y_j,
the logistic loss of f_i - f_j times the change of NDCG that swapping the two makes:

    p = 1 / (1 + e^(f_i - f_j))                                                     (2)
    Z = |2^y_i - 2^y_j| |1/log2(1 + r_i) - 1/log2(1 + r_j)| / best DCG              (3)
    dl/df_i -= p Z,   dl/df_j += p Z,   curvature of both += p (1 - p) Z            (4)

Time O(m^2) for a query of m rows, memory the same.

Shapes    y, f (n,)   group sizes (queries,)
Refs      [Burges2010]
"""

from dataclasses import dataclass
from typing import Any

import numpy as np


def query_lambdas(y, f, truncation=None) -> tuple[np.ndarray, np.ndarray]:
    """Eq. (4) for the rows of one query: gradient and curvature.

    Pairs whose places are both beyond `truncation` are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.losses.ranking import query_lambdas
    >>> gradient, curvature = query_lambdas(np.array([1.0, 0.0]), np.zeros(2))
    >>> gradient.round(4), curvature.round(4)
    (array([-0.1845,  0.1845]), array([0.0923, 0.0923]))
    """
    gain = np.exp2(y) - 1
    discount = 1 / np.log2(np.arange(len(y)) + 2)
    best = np.sort(gain)[::-1] @ discount
    if best == 0 or gain.min() == gain.max():  # no order is better than another
        return np.zeros_like(f), np.zeros_like(f)
    place = np.empty(len(y), int)
    place[np.argsort(-f, kind="stable")] = np.arange(len(y))
    worth = discount[place]
    Z = np.abs(gain[:, None] - gain) * np.abs(worth[:, None] - worth) / best
    Z = np.where(y[:, None] > y, Z, 0.0)
    if truncation is not None:
        Z = np.where(np.minimum.outer(place, place) < truncation, Z, 0.0)
    p = np.exp(-np.logaddexp(0.0, f[:, None] - f))
    push = p * Z
    bend = push * (1 - p)
    return (
        push.sum(axis=0) - push.sum(axis=1),
        bend.sum(axis=0) + bend.sum(axis=1),
    )


@dataclass
class LambdaRank:
    """A ranking objective for boosted trees, eq. (4), as a loss of all training rows.

    Parameters
    ----------
    group : array of int
        Numbers of rows of the queries, whose rows stand one after the other.
    truncation : int or None, default=None
        Only pairs with a row among the first so many of their query count.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.ensemble import HistGradientBoostingRegressor
    >>> from pansophy.losses import LambdaRank
    >>> X = np.random.default_rng(0).normal(size=(600, 3))
    >>> relevance = np.clip(np.round(X[:, 0] + 1), 0, 3)
    >>> ranker = HistGradientBoostingRegressor(LambdaRank([20] * 30), max_iter=30)
    >>> scores = ranker.fit(X, relevance).predict(X)
    >>> from pansophy.metrics import ndcg_score
    >>> ndcg_score(relevance.reshape(30, 20), scores.reshape(30, 20)) > 0.95
    True
    """

    group: Any
    truncation: int | None = None

    @property
    def __name__(self):
        return "lambdarank"

    def __call__(self, y, f):
        """Gradient and curvature of each row."""
        sizes = np.asarray(self.group)
        if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or np.any(sizes < 1):
            raise ValueError("group must hold the numbers of rows of the queries.")
        if sizes.sum() != len(y):
            raise ValueError(
                f"the groups of LambdaRank have {sizes.sum()} rows, but there are "
                f"{len(y)}: give validation rows and weights of 0 to other objectives."
            )
        if np.any(y < 0) or np.any(y != np.round(y)) or np.any(y > 30):
            raise ValueError(
                "y of LambdaRank must hold relevances: whole numbers from 0 to 30."
            )
        gradient = np.empty_like(f)
        curvature = np.empty_like(f)
        stop = np.cumsum(sizes)
        for a, b in zip(stop - sizes, stop):
            gradient[a:b], curvature[a:b] = query_lambdas(
                y[a:b], f[a:b], self.truncation
            )
        return gradient, curvature

"""Evaluation of a recommender on ratings it has not seen.

Every user's ranking is of the whole catalogue (less what the user had rated before),
never of a sample of it: with sampled negatives the order of methods may be reversed.
The measures are those of `metrics.ranking_metrics`, by their equation numbers.

Refs      [Krichene2020] why no samples
"""

from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..metrics.ranking_metrics import (
    Hits,
    average_precision_per_user,
    hit_per_user,
    mean_over_users,
    ndcg_per_user,
    precision_per_user,
    recall_per_user,
    reciprocal_rank_per_user,
)
from ..params import check_count
from .name_codes import codes_of_names
from .ratings import as_ratings


class RankingReport(NamedTuple):
    """Eq. (1) to (7) at k, and the errors of predicted ratings."""

    k: int
    n_users: int
    precision: float
    recall: float
    average_precision: float
    ndcg: float
    hit_rate: float
    reciprocal_rank: float
    coverage: float
    rmse: float
    mae: float

    def __str__(self):
        lines = [f"{self.n_users} users, the first {self.k} of the whole catalogue"]
        for name in self._fields[2:]:
            lines.append(f"{name.replace('_', ' '):<18}{getattr(self, name):.4f}")
        return "\n".join(lines)


def _hits_of_model(model, test, k, exclude_seen):
    """(Hits, recommended codes) for the users of test ratings, all relevant."""
    counts = np.bincount(test.users, minlength=test.shape[0])
    users_with_hits = np.flatnonzero(counts)
    u = codes_of_names(model.users_, test.user_names[users_with_hits], "users")
    codes, _ = model._top_items(u, k, exclude_seen)
    if codes.shape[1] < k:
        codes = np.pad(codes, ((0, 0), (0, k - codes.shape[1])), constant_values=-1)
    item_codes = codes_of_names(model.items_, test.item_names, "items")[test.items]
    row = np.searchsorted(users_with_hits, test.users).astype(np.int64)
    width = len(model.items_)
    cells = np.sort(row[item_codes >= 0] * width + item_codes[item_codes >= 0])
    keys = np.arange(len(users_with_hits))[:, None] * width + codes
    place = np.minimum(np.searchsorted(cells, keys), max(len(cells) - 1, 0))
    is_hit = cells[place] == keys if len(cells) else np.zeros(keys.shape, bool)
    n = counts[users_with_hits]
    ideal = (np.arange(k) < n[:, None]).astype(float)
    return Hits((is_hit & (codes >= 0)).astype(float), n, ideal), codes


def evaluate(model, test, k=10, *, threshold=None, exclude_seen=True) -> RankingReport:
    """All measures of a fitted recommender on ratings it has not seen.

    Parameters
    ----------
    model : a fitted recommender
    test : Ratings, or what `fit` takes as its only argument
    k : int
        How many items are recommended to each user who has test ratings.
    threshold : float or None
        Relevant are the test items rated at least this; None is all of them.
    exclude_seen : bool
        Whether items in the training ratings of a user are left out of the ranking.

    Returns
    -------
    Report
        Users without a relevant item do not count in the rankings. rmse and mae are
        of all test ratings, by their weights, NaN for a model of implicit feedback.

    Examples
    --------
    >>> from pansophy.datasets import make_ratings
    >>> from pansophy.recommend import BiasModel, Ratings, evaluate, temporal_split
    >>> ratings = Ratings.from_frame(make_ratings(100, 60, 2000), time="time")
    >>> train, test = temporal_split(ratings)
    >>> report = evaluate(BiasModel().fit(train), test, threshold=4)
    >>> 0 < report.ndcg < 1 and 0 < report.rmse < 1.2
    True
    """
    check_is_fitted(model)
    k, test = check_count("k", k), as_ratings(test)
    good = test if threshold is None else test[test.values >= threshold]
    if not len(good):
        raise ValueError("no test rating is relevant: nothing to evaluate.")
    hits, codes = _hits_of_model(model, good, k, exclude_seen)
    error = np.array([np.nan])
    if not getattr(model, "implicit", False):
        error = model.predict(test) - test.values
    mean = lambda f: mean_over_users(f(hits), True)
    coverage = len(np.unique(codes[codes >= 0])) / max(len(model.items_), 1)
    w = test.weights if len(error) == len(test) else None
    rmse = np.sqrt(np.average(error**2, weights=w))
    mae = np.average(np.abs(error), weights=w)
    return RankingReport(
        k=k,
        n_users=len(hits.gains),
        precision=mean(precision_per_user),
        recall=mean(recall_per_user),
        average_precision=mean(average_precision_per_user),
        ndcg=mean(ndcg_per_user),
        hit_rate=mean(hit_per_user),
        reciprocal_rank=mean(reciprocal_rank_per_user),
        coverage=coverage,
        rmse=float(rmse),
        mae=float(mae),
    )

"""Metrics of rankings: precision, recall, NDCG and others at k.

For one user let R be the relevant items, g_i > 0 their gains (1 unless given) and
i_1, ..., i_k the first k items of a ranking; rel_j is 1 if i_j is in R.

    precision@k  = (1/k) sum_j rel_j                                             (1)
    recall@k     = (1/|R|) sum_j rel_j                                           (2)
    AP@k         = sum_j rel_j precision@j / min(k, |R|)                         (3)
    NDCG@k       = DCG / IDCG,  DCG = sum_j g_{i_j} / log2(j + 1),               (4)
                   IDCG the same sum for R ranked by gain
    hit rate     = 1 if any rel_j, else 0                                        (5)
    reciprocal rank = 1 / (the first j with rel_j), 0 if none                    (6)

and over users the mean of these, without the users for whom R is empty: for them
nothing can be right. The k in (1) is the k asked for, even if fewer items were ranked.
An item that is ranked twice counts at its first place. (4) is linear in the gains, as
scikit-learn's `ndcg_score` is. Over all users

    coverage     = share of the catalogue that is among anyone's first k         (7)

`evaluate` ranks the whole catalogue (less what the user had rated before), never a
sample of it: with sampled negatives the order of methods may be reversed.

Refs      [Jarvelin2002] (4); [Krichene2020] why no samples
"""

from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..params import check_count
from .name_codes import codes_of_names
from .ratings import as_ratings


class Hits(NamedTuple):
    """Hits of m rankings, as the measures need them."""

    gains: np.ndarray  # (m, k), 0 where the item is not relevant
    n_relevant: np.ndarray  # (m,), |R|
    ideal: np.ndarray  # (m, k), the k largest gains of R, falling


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


def hits_of_rankings(relevant, ranked, k) -> Hits:
    """Hits from names: collections (or dicts of gains) and lists."""
    k = check_count("k", k)
    if len(relevant) != len(ranked):
        raise ValueError(f"{len(relevant)} users cannot have {len(ranked)} rankings.")
    m = len(ranked)
    gains, ideal, n = np.zeros((m, k)), np.zeros((m, k)), np.zeros(m, int)
    for row, (good, listed) in enumerate(zip(relevant, ranked)):
        good = good if isinstance(good, dict) else dict.fromkeys(good, 1.0)
        good = {i: g for i, g in good.items() if g > 0}
        first = list(listed)[:k]
        again = [i in first[:j] for j, i in enumerate(first)]
        own = [0.0 if a else good.get(i, 0.0) for i, a in zip(first, again)]
        gains[row, : len(first)] = own
        top = sorted(good.values(), reverse=True)[:k]
        ideal[row, : len(top)], n[row] = top, len(good)
    return Hits(gains, n, ideal)


def precision_per_user(hits):
    """Eq. (1) for each user."""
    return nan_without_relevant(hits, (hits.gains > 0).mean(axis=1))


def recall_per_user(hits):
    """Eq. (2) for each user."""
    return nan_without_relevant(
        hits, (hits.gains > 0).sum(axis=1) / np.maximum(hits.n_relevant, 1)
    )


def average_precision_per_user(hits):
    """Eq. (3) for each user."""
    rel = hits.gains > 0
    k = rel.shape[1]
    at = np.cumsum(rel, axis=1) / np.arange(1, k + 1)
    most = np.maximum(np.minimum(k, hits.n_relevant), 1)
    return nan_without_relevant(hits, (at * rel).sum(axis=1) / most)


def ndcg_per_user(hits):
    """Eq. (4) for each user."""
    discount = 1 / np.log2(np.arange(2, hits.gains.shape[1] + 2))
    best = hits.ideal @ discount
    return nan_without_relevant(
        hits, hits.gains @ discount / np.where(best > 0, best, 1)
    )


def hit_per_user(hits):
    """Eq. (5) for each user."""
    return nan_without_relevant(hits, (hits.gains > 0).any(axis=1).astype(float))


def reciprocal_rank_per_user(hits):
    """Eq. (6) for each user."""
    rel = hits.gains > 0
    return nan_without_relevant(
        hits, np.where(rel.any(axis=1), 1 / (rel.argmax(axis=1) + 1), 0)
    )


def nan_without_relevant(hits, values):
    """NaN for users without anything relevant."""
    return np.where(hits.n_relevant > 0, values, np.nan)


def mean_over_users(values, average):
    if not average:
        return values
    good = values[~np.isnan(values)]
    return float(good.mean()) if len(good) else float("nan")


def precision_at_k(relevant, ranked, k=10, *, average=True):
    """Eq. (1): the share of the first k that is relevant.

    Parameters
    ----------
    relevant : list, for each user, of a collection of items or a dict item -> gain
    ranked : list of lists or array of items, best first; None is an empty place
    k : int
    average : bool
        Whether to return the mean over users, or one number each (NaN for a user
        without anything relevant).

    Examples
    --------
    >>> from pansophy.recommend import precision_at_k
    >>> precision_at_k([{"a", "b"}], [["a", "x", "b", "y"]], k=4)
    0.5
    """
    return mean_over_users(
        precision_per_user(hits_of_rankings(relevant, ranked, k)), average
    )


def recall_at_k(relevant, ranked, k=10, *, average=True):
    """Eq. (2): the share of what is relevant that is among the first k.

    Parameters as in `precision_at_k`.
    """
    return mean_over_users(
        recall_per_user(hits_of_rankings(relevant, ranked, k)), average
    )


def average_precision_at_k(relevant, ranked, k=10, *, average=True):
    """Eq. (3): the mean precision at the places of the hits.

    Parameters as in `precision_at_k`.

    Examples
    --------
    >>> from pansophy.recommend import average_precision_at_k
    >>> average_precision_at_k([{"a", "b"}], [["a", "x", "b"]], k=3).__round__(4)
    0.8333
    """
    return mean_over_users(
        average_precision_per_user(hits_of_rankings(relevant, ranked, k)), average
    )


def ndcg_at_k(relevant, ranked, k=10, *, average=True):
    """Eq. (4): discounted gain over the best possible.

    Parameters as in `precision_at_k`.
    """
    return mean_over_users(
        ndcg_per_user(hits_of_rankings(relevant, ranked, k)), average
    )


def hit_rate_at_k(relevant, ranked, k=10, *, average=True):
    """Eq. (5): whether anything relevant is among the first k.

    Parameters as in `precision_at_k`.
    """
    return mean_over_users(hit_per_user(hits_of_rankings(relevant, ranked, k)), average)


def reciprocal_rank_at_k(relevant, ranked, k=10, *, average=True):
    """Eq. (6): one over the place of the first hit.

    Parameters as in `precision_at_k`.
    """
    return mean_over_users(
        reciprocal_rank_per_user(hits_of_rankings(relevant, ranked, k)), average
    )


def coverage_at_k(ranked, n_items, k=10) -> float:
    """Eq. (7): the share of n_items items that is among anyone's first k."""
    seen = {i for listed in ranked for i in list(listed)[:k] if i is not None}
    return len(seen) / check_count("n_items", n_items)


def hits_of_model(model, test, k, exclude_seen):
    """(Hits, recommended codes) for the users of test ratings, all relevant."""
    counts = np.bincount(test.users, minlength=test.shape[0])
    own = np.flatnonzero(counts)
    u = codes_of_names(model.users_, test.user_names[own], "users")
    codes, _ = model._top_items(u, k, exclude_seen)
    if codes.shape[1] < k:
        codes = np.pad(codes, ((0, 0), (0, k - codes.shape[1])), constant_values=-1)
    at = codes_of_names(model.items_, test.item_names, "items")[test.items]
    row = np.searchsorted(own, test.users).astype(np.int64)
    width = len(model.items_)
    cells = np.sort(row[at >= 0] * width + at[at >= 0])
    keys = np.arange(len(own))[:, None] * width + codes
    place = np.minimum(np.searchsorted(cells, keys), max(len(cells) - 1, 0))
    there = cells[place] == keys if len(cells) else np.zeros(keys.shape, bool)
    n = counts[own]
    ideal = (np.arange(k) < n[:, None]).astype(float)
    return Hits((there & (codes >= 0)).astype(float), n, ideal), codes


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
    hits, codes = hits_of_model(model, good, k, exclude_seen)
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

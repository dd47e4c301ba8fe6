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

Refs      [Jarvelin2002] (4)
"""

from typing import NamedTuple

import numpy as np

from ..params import check_count


class Hits(NamedTuple):
    """Hits of m rankings, as the measures need them."""

    gains: np.ndarray  # (m, k), 0 where the item is not relevant
    n_relevant: np.ndarray  # (m,), |R|
    ideal: np.ndarray  # (m, k), the k largest gains of R, falling


def _hits_of_rankings(relevant, ranked, k) -> Hits:
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
        is_repeated = [i in first[:j] for j, i in enumerate(first)]
        own_gains = [0.0 if a else good.get(i, 0.0) for i, a in zip(first, is_repeated)]
        gains[row, : len(first)] = own_gains
        top = sorted(good.values(), reverse=True)[:k]
        ideal[row, : len(top)], n[row] = top, len(good)
    return Hits(gains, n, ideal)


def precision_per_user(hits):
    """Eq. (1) for each user."""
    return _nan_without_relevant(hits, (hits.gains > 0).mean(axis=1))


def recall_per_user(hits):
    """Eq. (2) for each user."""
    return _nan_without_relevant(
        hits, (hits.gains > 0).sum(axis=1) / np.maximum(hits.n_relevant, 1)
    )


def average_precision_per_user(hits):
    """Eq. (3) for each user."""
    rel = hits.gains > 0
    k = rel.shape[1]
    precision = np.cumsum(rel, axis=1) / np.arange(1, k + 1)
    max_hits = np.maximum(np.minimum(k, hits.n_relevant), 1)
    return _nan_without_relevant(hits, (precision * rel).sum(axis=1) / max_hits)


def ndcg_per_user(hits):
    """Eq. (4) for each user."""
    discount = 1 / np.log2(np.arange(2, hits.gains.shape[1] + 2))
    best = hits.ideal @ discount
    return _nan_without_relevant(
        hits, hits.gains @ discount / np.where(best > 0, best, 1)
    )


def hit_per_user(hits):
    """Eq. (5) for each user."""
    return _nan_without_relevant(hits, (hits.gains > 0).any(axis=1).astype(float))


def reciprocal_rank_per_user(hits):
    """Eq. (6) for each user."""
    rel = hits.gains > 0
    return _nan_without_relevant(
        hits, np.where(rel.any(axis=1), 1 / (rel.argmax(axis=1) + 1), 0)
    )


def _nan_without_relevant(hits, values):
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
        precision_per_user(_hits_of_rankings(relevant, ranked, k)), average
    )


def recall_at_k(relevant, ranked, k=10, *, average=True):
    """Eq. (2): the share of what is relevant that is among the first k.

    Parameters as in `precision_at_k`.
    """
    return mean_over_users(
        recall_per_user(_hits_of_rankings(relevant, ranked, k)), average
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
        average_precision_per_user(_hits_of_rankings(relevant, ranked, k)), average
    )


def ndcg_at_k(relevant, ranked, k=10, *, average=True):
    """Eq. (4): discounted gain over the best possible.

    Parameters as in `precision_at_k`.
    """
    return mean_over_users(
        ndcg_per_user(_hits_of_rankings(relevant, ranked, k)), average
    )


def hit_rate_at_k(relevant, ranked, k=10, *, average=True):
    """Eq. (5): whether anything relevant is among the first k.

    Parameters as in `precision_at_k`.
    """
    return mean_over_users(
        hit_per_user(_hits_of_rankings(relevant, ranked, k)), average
    )


def reciprocal_rank_at_k(relevant, ranked, k=10, *, average=True):
    """Eq. (6): one over the place of the first hit.

    Parameters as in `precision_at_k`.
    """
    return mean_over_users(
        reciprocal_rank_per_user(_hits_of_rankings(relevant, ranked, k)), average
    )


def coverage_at_k(ranked, n_items, k=10) -> float:
    """Eq. (7): the share of n_items items that is among anyone's first k."""
    seen = {i for listed in ranked for i in list(listed)[:k] if i is not None}
    return len(seen) / check_count("n_items", n_items)

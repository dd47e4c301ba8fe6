"""Synthetic ratings with long tails, planted tastes and drifting popularity."""

import numpy as np

from ..core.random import make_rng
from ..params import check_count

BLOCK = 20_000  # pairs of rows that are multiplied at a time


def make_ratings(
    n_users=943,
    n_items=1682,
    n_ratings=100_000,
    *,
    n_factors=8,
    noise=0.7,
    implicit=False,
    random_state=0,
) -> dict[str, np.ndarray]:
    """Generate film ratings: a dict of the columns user, item, rating and time.

    A few users and items have most of the ratings. A rating is 3.5 plus a bias of the
    user, one of the item, a product of planted factors and noise, on a scale of half
    stars from 0.5 to 5; liked items are rated more often than others. No cell is
    rated twice. Rows are in the order of time, in seconds. The defaults have the size
    of the smallest MovieLens set; (6040, 3706, 10**6) and (69878, 10677, 10**7) are
    like the larger ones.

    Parameters
    ----------
    n_users, n_items, n_ratings : int
        At most half of the cells can be rated.
    n_factors : int
        The rank of what is planted besides the biases.
    noise : float
        Standard deviation of the noise, in stars.
    implicit : bool
        Whether `rating` is a count of plays, 1, 2, ..., instead of stars.
    random_state : int, Generator or None

    Examples
    --------
    >>> from pansophy.datasets import make_ratings
    >>> table = make_ratings(50, 40, 300)
    >>> sorted(table), len(table["rating"])
    (['item', 'rating', 'time', 'user'], 300)
    """
    n_users = check_count("n_users", n_users)
    n_items = check_count("n_items", n_items)
    n_ratings = check_count("n_ratings", n_ratings)
    n_factors = check_count("n_factors", n_factors)
    if 2 * n_ratings > n_users * n_items:
        raise ValueError(
            f"n_ratings must be at most half of the {n_users * n_items} cells, got "
            f"{n_ratings}."
        )
    rng = make_rng(random_state)
    scale = 1 / np.sqrt(n_factors)
    P = rng.standard_normal((n_users, n_factors)) * np.sqrt(scale)
    Q = rng.standard_normal((n_items, n_factors)) * np.sqrt(scale)
    b = 0.4 * rng.standard_normal(n_users)
    c = 0.5 * rng.standard_normal(n_items)
    busy = rng.lognormal(0, 1.0, n_users)
    popular = rng.lognormal(0, 1.4, n_items) * np.exp(0.8 * c)
    u, i = _draw_user_item_pairs(n_users, n_items, n_ratings, busy, popular, P, Q, rng)
    stars = (
        3.5
        + b[u]
        + c[i]
        + _factor_products(P, Q, u, i)
        + noise * rng.standard_normal(n_ratings)
    )
    if implicit:
        rating = 1.0 + rng.poisson(np.exp(np.clip(stars - 3.5, -3, 3)))
    else:
        rating = np.clip(np.round(2 * stars) / 2, 0.5, 5.0)
    time = np.sort(rng.integers(8 * 10**8, 12 * 10**8, n_ratings))
    return {"user": u, "item": i, "rating": rating, "time": time}


def _draw_user_item_pairs(n, m, wanted, busy, popular, P, Q, rng):
    """Distinct (user, item) pairs, drawn by activity, popularity and liking.

    About half of the draws are kept. Shuffled multinomial counts have the distribution
    of single draws but need no search for each of them.
    """
    busy, popular = busy / busy.sum(), popular / popular.sum()
    known_keys = np.empty(0, np.int64)
    while len(known_keys) < wanted:
        draw = int(2.2 * (wanted - len(known_keys))) + 100
        if (
            len(known_keys) > 0.9 * wanted or 4 * wanted > n * m
        ):  # fill up with any cells
            u, i = rng.integers(0, n, draw), rng.integers(0, m, draw)
        else:
            u = np.repeat(np.arange(n), rng.multinomial(draw, busy))
            i = np.repeat(np.arange(m, dtype=np.int32), rng.multinomial(draw, popular))
            rng.shuffle(i)
        like = _factor_products(P, Q, u, i)
        is_liked = rng.random(draw) * (1 + np.exp(-like)) < 1
        key = u[is_liked] * np.int64(m) + i[is_liked]
        known_keys = np.concatenate([known_keys, key])
        known_keys.sort()
        known_keys = known_keys[np.r_[True, known_keys[1:] != known_keys[:-1]]]
    rng.shuffle(known_keys)
    u = known_keys[:wanted] // m
    return u, known_keys[:wanted] - u * m


def _factor_products(P, Q, u, i):
    """Dot products of P[u] and Q[i], in blocks that stay in the cache."""
    cuts = [slice(s, s + BLOCK) for s in range(0, len(u), BLOCK)]
    parts = [np.einsum("jk,jk->j", P[u[cut]], Q[i[cut]]) for cut in cuts]
    return np.concatenate(parts)

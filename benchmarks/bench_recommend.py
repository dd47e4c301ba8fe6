"""Recommenders against `implicit`: factors, item neighbours, the best ten.

Ratings are made up with the sizes and the long tails of the MovieLens sets.
"""

import numpy as np
import scipy.sparse as sp

from .runner import Case

FACTORS, REG, ALPHA, SWEEPS = 64, 0.1, 2.0, 4
SIZES = [(943, 1682, 10**5), (6040, 3706, 10**6), (69878, 10677, 10**7)]


def plays(size):
    """A sparse matrix of how often users played items, float32."""
    from pansophy.datasets import make_ratings

    n, m, _ = size
    t = make_ratings(*size, implicit=True, random_state=0)
    values = t["rating"].astype(np.float32)
    return sp.csr_matrix((values, (t["user"], t["item"])), shape=(n, m))


def als_ours(C, seed=0):
    from pansophy.recommend import ALS

    how = {"reg": REG, "alpha": ALPHA, "implicit": True, "solver": "cg"}
    model = ALS(FACTORS, max_iter=SWEEPS, tol=0, random_state=seed, **how).fit(C)
    return model.user_factors_, model.item_factors_


def als_implicit(C, cg=True, seed=0):
    from implicit.cpu.als import AlternatingLeastSquares
    from threadpoolctl import threadpool_limits

    D = C.copy()
    D.data = 1 + ALPHA * D.data  # there the matrix holds the confidence itself
    with threadpool_limits(1, "blas"):  # as its documentation asks for
        model = AlternatingLeastSquares(
            FACTORS, REG, iterations=SWEEPS, use_cg=cg, random_state=seed, num_threads=2
        )
        model.fit(D, show_progress=False)
    return model.user_factors, model.item_factors


def als_loss(C, factors):
    """The objective over that of factors 0, in double precision."""
    U, V = (np.asarray(F, np.float64) for F in factors)
    total = np.einsum("ij,ij", U @ (V.T @ V), U) + REG * ((U**2).sum() + (V**2).sum())
    start = 0.0
    for a in range(0, C.shape[0], 500):
        part = C[a : a + 500].tocoo()
        s = np.einsum("ij,ij->i", U[a + part.row], V[part.col])
        c = 1 + ALPHA * part.data.astype(np.float64)
        total += (c * (1 - s) ** 2 - s**2).sum()
        start += c.sum()
    return total / start


def knn_ours(C):
    from pansophy.recommend import ItemKNN

    model = ItemKNN(metric="cosine", implicit=True, pool=20).fit(C)
    return model.similarities_.sum()


def knn_implicit(C):
    from implicit.nearest_neighbours import CosineRecommender

    model = CosineRecommender(K=21, num_threads=2)  # an item is in its own list
    model.fit(C, show_progress=False)
    return model.similarity.sum() - C.shape[1]


def knn_loss(C, total):
    """Minus the mean similarity of the lists."""
    return -total / C.shape[1] / 20


def fitted(size):
    """Ratings and factors that both rank by."""
    from pansophy.recommend import ALS

    C = plays(size)
    how = {"reg": REG, "alpha": ALPHA, "implicit": True, "max_iter": 2}
    return C, ALS(FACTORS, random_state=0, **how).fit(C)


def top_ours(payload):
    _, model = payload
    return model.recommend(model.users_, 10).scores


def top_implicit(payload):
    from implicit.cpu.als import AlternatingLeastSquares
    from threadpoolctl import threadpool_limits

    C, model = payload
    with threadpool_limits(1, "blas"):
        theirs = AlternatingLeastSquares(FACTORS, num_threads=2)
        theirs.user_factors = model.user_factors_
        theirs.item_factors = model.item_factors_
        users = np.arange(C.shape[0])
        return theirs.recommend(users, C, N=10, filter_already_liked_items=True)[1]


def top_loss(payload, scores):
    """Minus the mean score of what is recommended."""
    return -float(np.mean(scores[np.isfinite(scores) & (scores > -1e30)]))


CASES = [
    Case(
        name="als",
        what="implicit feedback, 64 factors, 4 sweeps, float32: users, items, ratings",
        sizes=SIZES,
        data=plays,
        ours=als_ours,
        peers={"implicit": als_implicit},
        quality=als_loss,
        tolerance=2e-3,
        target=1.0,
        rounds=3,
    ),
    Case(
        name="item_neighbours",
        what="20 most similar items by cosine: users, items, ratings",
        sizes=SIZES,
        data=plays,
        ours=knn_ours,
        peers={"implicit": knn_implicit},
        quality=knn_loss,
        tolerance=1e-4,
        target=1.0,
        rounds=3,
    ),
    Case(
        name="top_ten",
        what="the 10 best unseen items of every user, 64 factors",
        sizes=SIZES,
        data=fitted,
        ours=top_ours,
        peers={"implicit": top_implicit},
        quality=top_loss,
        tolerance=1e-3,
        target=1.0,
        rounds=3,
    ),
]

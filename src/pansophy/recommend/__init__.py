"""Recommenders: ratings of users for items, most of them missing.

`Ratings` hold the data; every recommender is fitted to them (or to pairs and values,
frames, sparse matrices) and can `predict`, `recommend`, find `similar_items`, and
`fold_in` new users. `evaluate` compares them on a split that respects time.

Who rated what, how and when, in any data frame; the last fifth is the future:

>>> from pansophy.datasets import make_ratings
>>> from pansophy.recommend import ALS, BiasModel, ItemKNN, Ratings, evaluate
>>> from pansophy.recommend import temporal_split
>>> ratings = Ratings.from_frame(make_ratings(400, 200, 20_000), time="time")
>>> train, test = temporal_split(ratings, 0.2)

How much of what users liked there comes first in the lists made before?

>>> biases, near = BiasModel().fit(train), ItemKNN(shrinkage=10.0).fit(train)
>>> factors = ALS(8, reg=5.0, random_state=0).fit(train)
>>> score = lambda model: evaluate(model, test, k=10, threshold=4.0).ndcg
>>> score(biases) < score(near) < score(factors)
True

A new user has rated three items; the factors of the items stay, those of the user
follow:

>>> mira = factors.fold_in([["mira", 3], ["mira", 14], ["mira", 15]], [5.0, 4.5, 1.0])
>>> mira.recommend("mira", n=2).names.shape
(2,)

Which one? `BiasModel` is the baseline to beat. `ALS` is the first choice for many
ratings, explicit or (implicit=True) counts of what was done; `ItemKNN` can say why
("you liked those"); `ContentRecommender` knows items nobody has rated; and
`HybridRecommender` mixes them. Weights are taken by all but the neighbours and
`SVDRecommender`, which refuse them.
"""

from ..metrics.ranking_metrics import (
    average_precision_at_k,
    coverage_at_k,
    hit_rate_at_k,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    reciprocal_rank_at_k,
)
from .als import ALS
from .association_rules import AssociationRule, AssociationRules, Itemset
from .bias_model import BiasModel, Offsets
from .content_recommender import ContentRecommender
from .evaluation import RankingReport, evaluate
from .hybrid_recommender import ColdStart, HybridRecommender, cold_start
from .knn import ItemKNN, UserKNN
from .ratings import Ratings
from .recommender import Ranking, Recommender
from .sgd_factorization import SGDFactorization
from .svd_recommender import SVDRecommender
from .temporal_splits import LeaveLastOut, TemporalSplit, leave_last_out, temporal_split

__all__ = [
    "ALS",
    "AssociationRules",
    "BiasModel",
    "ColdStart",
    "ContentRecommender",
    "HybridRecommender",
    "ItemKNN",
    "Itemset",
    "LeaveLastOut",
    "Offsets",
    "Ranking",
    "Ratings",
    "Recommender",
    "RankingReport",
    "AssociationRule",
    "SGDFactorization",
    "SVDRecommender",
    "TemporalSplit",
    "UserKNN",
    "average_precision_at_k",
    "cold_start",
    "coverage_at_k",
    "evaluate",
    "hit_rate_at_k",
    "leave_last_out",
    "ndcg_at_k",
    "precision_at_k",
    "recall_at_k",
    "reciprocal_rank_at_k",
    "temporal_split",
]

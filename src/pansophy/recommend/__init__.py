"""Recommenders: ratings of users for items, most of them missing.

`Ratings` hold the data; every recommender is fitted to them (or to pairs and values,
frames, sparse matrices) and can `predict`, `recommend`, find `similar_items`, and
`fold_in` new users. `evaluate` compares them on a split that respects time.
"""

from .als import ALS
from .base import Ranking, Recommender
from .bias import BiasModel, Offsets
from .content import ContentRecommender
from .hybrid import ColdStart, HybridRecommender, cold_start
from .metrics import (
    Report,
    average_precision_at_k,
    coverage_at_k,
    evaluate,
    hit_rate_at_k,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    reciprocal_rank_at_k,
)
from .neighbours import ItemKNN, UserKNN
from .ratings import Ratings
from .rules import AssociationRules, Itemset, Rule
from .sgd import SGDFactorization
from .splits import LeaveLastOut, TemporalSplit, leave_last_out, temporal_split
from .svd import SVDRecommender

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
    "Report",
    "Rule",
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

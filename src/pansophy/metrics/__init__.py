"""Measures of predictions: ours of ranked lists, and all of scikit-learn's.

`ranking_metrics` is under the recommenders and the evaluation of search.
"""

from ..scikit_learn import share_names
from .ranking_metrics import (
    average_precision_at_k,
    coverage_at_k,
    hit_rate_at_k,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    reciprocal_rank_at_k,
)

__all__ = [
    "average_precision_at_k",
    "coverage_at_k",
    "hit_rate_at_k",
    "ndcg_at_k",
    "precision_at_k",
    "recall_at_k",
    "reciprocal_rank_at_k",
]

__getattr__, __dir__ = share_names(__name__)

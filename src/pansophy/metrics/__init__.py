"""Measures of predictions: ours of ranked lists, and all of scikit-learn's.

`ranking_metrics` is under the recommenders and the evaluation of search.
"""

from ..scikit_learn import share_names
from .ranking_metrics import (
    average_precision_at_k as average_precision_at_k,
)
from .ranking_metrics import (
    coverage_at_k as coverage_at_k,
)
from .ranking_metrics import (
    hit_rate_at_k as hit_rate_at_k,
)
from .ranking_metrics import (
    ndcg_at_k as ndcg_at_k,
)
from .ranking_metrics import (
    precision_at_k as precision_at_k,
)
from .ranking_metrics import (
    recall_at_k as recall_at_k,
)
from .ranking_metrics import (
    reciprocal_rank_at_k as reciprocal_rank_at_k,
)

__getattr__, __dir__ = share_names(__name__)

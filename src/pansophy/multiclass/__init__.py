"""Several classes by classifiers for two: one-vs-rest, one-vs-one, output codes.

These are scikit-learn's, which need no second implementation: they take any classifier
of ours. With c classes `OneVsRestClassifier` fits c of them and the highest score wins,
`OneVsOneClassifier` c (c - 1) / 2 and the most votes win, and `OutputCodeClassifier`
one for each bit of a random code and the nearest code word wins. What belongs to the
scores is in `linear_model`: `normalize_scores`, `ambiguous_mask`, `hamming_codes`.
"""

from sklearn.multiclass import (
    OneVsOneClassifier,
    OneVsRestClassifier,
    OutputCodeClassifier,
)

from ..scikit_learn import share_names

__all__ = ["OneVsOneClassifier", "OneVsRestClassifier", "OutputCodeClassifier"]

__getattr__, __dir__ = share_names(__name__)

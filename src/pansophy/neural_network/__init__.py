"""Neural networks as estimators (torch; the nets themselves are in `pansophy.nn`)."""

from .mlp import MLPClassifier, MLPRegressor

__all__ = ["MLPClassifier", "MLPRegressor"]

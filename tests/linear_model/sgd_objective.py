"""The objective of stochastic gradient descent, (1) of `linear_model/sgd/sgd.py`."""

import numpy as np

from pansophy.linear_model import SGDClassifier
from pansophy.linear_model.sgd import sgd


def sgd_objective(model, X, y):
    """Eq. (1) of `linear_model/sgd/sgd.py`."""
    classify = isinstance(model, SGDClassifier)
    loss = model._loss()
    f = X @ np.ravel(model.coef_) + model.intercept_
    if classify:
        y = np.where(y > 0, 1.0, 0.0 if loss.domain == "fraction" else -1.0)
    l1, l2 = sgd.l1_l2_strengths(model.penalty, model.alpha, model.l1_ratio)
    w = model.coef_
    return float(np.mean(loss.value(y, f)) + l1 * abs(w).sum() + l2 / 2 * (w**2).sum())

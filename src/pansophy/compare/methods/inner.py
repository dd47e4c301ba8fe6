"""Folds inside the training rows of a fold, cut as the outer ones are."""

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
)

from ..splits import forward_folds


def inner_folds(y, folds=3, *, group=None, time=None, seed=0) -> list:
    """[(train, test)] inside training rows, cut as the outer folds are."""
    y = np.asarray(y)
    n, classes = len(y), y.ndim == 1 and y.dtype.kind in "iub"
    empty = np.zeros(n)
    if time is not None:
        time = np.asarray(time)
        order = np.argsort(time, kind="stable")
        cut = forward_folds(order, time[order], min(folds, n - 1), 0, group)
        if cut:  # none if all rows are of one moment
            return cut
    fewest = int(np.bincount(y).clip(1)[np.unique(y)].min()) if classes else n
    if group is not None:
        k = min(folds, len(np.unique(group)))
        if k < 2:
            group = None
        elif classes:
            cut = StratifiedGroupKFold(
                min(k, max(2, fewest)), shuffle=True, random_state=seed
            )
            return list(cut.split(empty, y, group))
        else:
            return list(GroupKFold(k).split(empty, y, group))
    if classes and fewest >= 2:
        kind = StratifiedKFold(min(folds, fewest), shuffle=True, random_state=seed)
    else:
        kind = KFold(min(folds, n), shuffle=True, random_state=seed)
    return list(kind.split(empty, y))

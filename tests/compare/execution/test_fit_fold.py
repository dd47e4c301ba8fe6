"""Fits of one fold: preparation is shared within it, unseen classes."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from pansophy.compare.execution.fit_fold import (
    PreparationCache,
    Workload,
    fit_fold,
)
from tests.compare.execution.workloads import work_of
from tests.compare.faulty_estimators import Case
from tests.compare.small_tables import table_with_gaps


def test_preparation_is_shared_within_a_fold_only():
    case = Case(["ridge", "lasso", "linear_regression"])
    work, cache = work_of(case), PreparationCache()
    names = [m.name for m in case.methods]
    alone = [fit_fold(work, m, 1, PreparationCache(0)) for m in range(len(names))]
    shared = [fit_fold(work, m, 1, cache) for m in range(len(names))]
    for a, b in zip(alone, shared):
        assert a.scores == b.scores and np.array_equal(a.predictions, b.predictions)
    kinds = len(cache.folds)
    assert kinds < len(names)
    fit_fold(work, names.index("ridge"), 2, cache)
    assert len(cache.folds) == kinds + 1
    small = PreparationCache(100)
    fit_fold(work, 1, 0, small)
    assert small.folds == {} and small.room == 100
    for ready in cache.folds.values():
        assert not ready.train.flags.writeable
        assert ready.fit_seconds > 0


def test_a_class_the_model_never_saw_has_probability_zero():
    case = Case({"logit": LogisticRegression()}, source=table_with_gaps())
    work = work_of(case)
    y = case.data.y
    train = np.flatnonzero(y == 0)[:10]
    folds = [(np.r_[train, np.flatnonzero(y == 1)[:10]], np.arange(40, 60))]
    three = type(case.schema)(**{**vars(case.schema), "classes": ("a", "b", "c")})
    work = Workload(**{**vars(work), "folds": folds, "schema": three})
    p = fit_fold(work, 1, 0, PreparationCache()).predictions
    assert p.shape == (20, 3) and np.all(p[:, 2] == 0)

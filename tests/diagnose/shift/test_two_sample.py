"""Two-sample tests: AUC of a classifier, maximum mean discrepancy."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from pansophy.diagnose import (
    classifier_two_sample_test,
    mmd,
)
from pansophy.diagnose.shift.two_sample import auc_with_limits


def test_area_is_that_of_scikit_learn(rng):
    y, s = rng.integers(0, 2, 80), rng.integers(0, 9, 80)
    assert auc_with_limits(s[y == 0], s[y == 1]).mean == pytest.approx(
        roc_auc_score(y, s)
    )
    cover = 0
    for seed in range(200):
        r = np.random.default_rng(seed)
        a = auc_with_limits(r.normal(size=60), r.normal(1, size=80))
        cover += a.low <= 0.76025 <= a.high
    assert 182 <= cover <= 199


def test_separation_sees_what_margins_hide(rng):
    X = rng.normal(size=(400, 2))
    Z = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 400)
    assert classifier_two_sample_test(X, Z).low > 0.55 and mmd(X, Z).p < 0.01

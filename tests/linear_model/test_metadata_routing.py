"""Metadata routing of the cross-validated linear models."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import make_regression
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GroupKFold

from pansophy import linear_model as models

X, y = make_regression(60, 4, noise=20.0, random_state=0)
SIGN = (y > 0).astype(int)
GROUPS = np.arange(60) // 5
WEIGHTS = np.linspace(0.5, 2.0, 60)
CASES = [
    (models.LassoCV(), y),
    (models.ElasticNetCV(), y),
    (models.MultiTaskLassoCV(), np.c_[y, y]),
    (models.MultiTaskElasticNetCV(), np.c_[y, y]),
    (models.RidgeCV(), y),
    (models.RidgeClassifierCV(), SIGN),
    (models.LogisticRegressionCV(Cs=3), SIGN),
]


@pytest.mark.parametrize(("model", "t"), CASES, ids=lambda v: type(v).__name__)
def test_groups_go_to_the_splitter_that_asks_for_them(model, t):
    name = "alpha_" if hasattr(model, "alphas") else "C_"
    given = list(GroupKFold(3).split(X, t, GROUPS))
    expected = getattr(sklearn.clone(model).set_params(cv=given).fit(X, t), name)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        sklearn.clone(model).fit(X, t, groups=GROUPS)
    with sklearn.config_context(enable_metadata_routing=True):
        cv = GroupKFold(3).set_split_request(groups=True)
        found = sklearn.clone(model).set_params(cv=cv).fit(X, t, groups=GROUPS)
        np.testing.assert_array_equal(getattr(found, name), expected)
        with pytest.raises((UnsetMetadataPassedError, TypeError)):
            sklearn.clone(model).fit(X, t, metadata=GROUPS)


def test_weights_go_to_the_scorer_that_asks_for_them():
    cases = (models.LogisticRegressionCV(Cs=3), models.RidgeClassifierCV(cv=3))
    with sklearn.config_context(enable_metadata_routing=True):
        for model in cases:
            scorer = make_scorer(accuracy_score)
            with pytest.raises(UnsetMetadataPassedError):
                model.set_params(scoring=scorer).fit(X, SIGN, sample_weight=WEIGHTS)
            scorer.set_score_request(sample_weight=True)
            model.set_params(scoring=scorer).fit(X, SIGN, sample_weight=WEIGHTS)
        score = cases[0].score(X, SIGN, sample_weight=WEIGHTS)
    right = cases[0].predict(X) == SIGN
    assert score == pytest.approx(np.average(right, weights=WEIGHTS))

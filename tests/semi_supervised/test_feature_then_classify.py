"""Features from all rows, a classifier from the labelled ones."""

import numpy as np

from pansophy.decomposition import PCA
from pansophy.linear_model import LogisticRegression
from pansophy.semi_supervised import (
    FeatureThenClassify,
)
from tests.semi_supervised.small_sets import partly_labelled


def test_unlabelled_rows_enter_only_the_reducer():
    X, _, y = partly_labelled(n=200, known=10)
    model = FeatureThenClassify(PCA(2), estimator=LogisticRegression()).fit(X, y)
    reducer, known = PCA(2).fit(X), y >= 0
    np.testing.assert_allclose(model.transformer_.components_, reducer.components_)
    by_hand = LogisticRegression().fit(reducer.transform(X[known]), y[known])
    np.testing.assert_allclose(model.estimator_.coef_, by_hand.coef_, rtol=1e-10)
    np.testing.assert_array_equal(model.transduction_[known], y[known])

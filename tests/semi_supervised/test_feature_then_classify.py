"""Features from all rows, a classifier from the labelled ones."""

import numpy as np
from sklearn.datasets import make_blobs

from pansophy.decomposition import PCA
from pansophy.linear_model import LogisticRegression
from pansophy.semi_supervised import (
    FeatureThenClassify,
)


def few(n=120, known=6, seed=0, centers=3, std=1.5):
    X, y = make_blobs(n, 4, centers=centers, cluster_std=std, random_state=seed)
    part = y.copy()
    rng = np.random.default_rng(seed)
    keep = np.concatenate(
        [
            rng.choice(np.flatnonzero(y == c), known, replace=False)
            for c in range(centers)
        ]
    )
    part[np.setdiff1d(np.arange(n), keep)] = -1
    return X, y, part


def test_unlabelled_rows_enter_only_the_reducer():
    X, _, y = few(n=200, known=10)
    model = FeatureThenClassify(PCA(2), estimator=LogisticRegression()).fit(X, y)
    reducer, known = PCA(2).fit(X), y >= 0
    np.testing.assert_allclose(model.transformer_.components_, reducer.components_)
    by_hand = LogisticRegression().fit(reducer.transform(X[known]), y[known])
    np.testing.assert_allclose(model.estimator_.coef_, by_hand.coef_, rtol=1e-10)
    np.testing.assert_array_equal(model.transduction_[known], y[known])

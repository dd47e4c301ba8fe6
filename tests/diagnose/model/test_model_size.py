"""Counts of parameters, and what grows."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pansophy.diagnose import gaussian_parameters, model_size
from pansophy.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from pansophy.linear_model import LinearRegression, LogisticRegression
from pansophy.mixture import GaussianMixture
from pansophy.naive_bayes import GaussianNB
from pansophy.tree import DecisionTreeClassifier

COUNTS = [(2, 2, 8, 11), (3, 2, 11, 17), (3, 4, 24, 44)]


@pytest.mark.parametrize(("k", "d", "shared", "separate"), COUNTS)
def test_normal_classes(k, d, shared, separate, rng):
    assert gaussian_parameters(k, d) == shared
    assert gaussian_parameters(k, d, covariance="separate") == separate
    X = rng.normal(size=(60, d))
    y = np.arange(60) % k
    count = lambda model: model_size(model.fit(X, y)).parameters
    assert count(LinearDiscriminantAnalysis()) == shared
    assert count(QuadraticDiscriminantAnalysis()) == separate
    assert count(GaussianNB()) == k - 1 + 2 * k * d
    assert count(GaussianMixture(k, random_state=0)) == separate
    with pytest.raises(ValueError, match="covariance"):
        gaussian_parameters(2, 2, covariance="round")


def test_what_grows_with_the_rows(rng):
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=200) > 0).astype(int)
    for model in (
        KNeighborsClassifier(),
        SVC(),
        DecisionTreeClassifier(random_state=0),
        KernelRidge(kernel="rbf"),
        GaussianProcessRegressor(optimizer=None),
    ):
        size = model_size(model.fit(X, y), X, y)
        assert not size.parametric and size.growth > 1.4, size
        assert "non-parametric" in str(size)
    for model in (LinearRegression(), LogisticRegression(), GaussianNB()):
        size = model_size(model.fit(X, y), X, y)
        assert size.parametric and size.growth == pytest.approx(1, abs=0.05), size
    pipe = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    assert model_size(pipe).parameters == 4
    assert model_size(pipe).stored >= 4

"""Trees in ONNX send every row the same way as ours."""

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from pansophy.ensemble import HistGradientBoostingClassifier
from pansophy.interchange import ExportError, to_onnx
from pansophy.linear_model import LogisticRegression
from pansophy.tree import DecisionTreeClassifier, DecisionTreeRegressor

pytest.importorskip("onnxruntime")
N = 150


def test_missing_values_go_the_same_way(rng):
    X = rng.normal(size=(N, 4))
    y = (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    for model in (
        DecisionTreeClassifier(max_leaf_nodes=9),
        HistGradientBoostingClassifier(max_iter=7),
        make_pipeline(SimpleImputer(), LogisticRegression()),
    ):
        assert to_onnx(model.fit(X, y), X).difference < 1e-9


def test_values_between_two_float32_numbers_fall_on_the_same_side(rng):
    """Thresholds are float32 and rows are rounded to it, as our trees do."""
    X = np.linspace(0, 1, 400)[:, None]
    model = DecisionTreeRegressor().fit(X, np.sin(40 * X[:, 0]))
    near = (X[:-1] + X[1:]) / 2
    near = np.concatenate([near, np.nextafter(near, 1), np.nextafter(near, 0)])
    assert to_onnx(model, near).difference < 1e-12


def test_splits_by_sets_of_levels_are_refused(rng):
    X = rng.integers(0, 5, size=(N, 2)).astype(float)
    y = np.isin(X[:, 0], [1, 3]).astype(int)
    model = DecisionTreeClassifier(categorical_features=[0]).fit(X, y)
    with pytest.raises(ExportError, match="sets of codes"):
        to_onnx(model, X)

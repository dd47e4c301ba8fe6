"""Missing values filled in by mean, mode or a model before a tree sees them."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.impute import SimpleImputer

from pansophy.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeRegressor,
    shap_values,
)

FILLS = ["mean", "mode", "model"]


@pytest.fixture(scope="module")
def table():
    """Columns 0 and 2 nearly equal, a seventh of all values missing."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(200, 3)), 1)
    X[:, 2] = np.round(X[:, 0] + 0.1 * rng.normal(size=200), 1)
    gaps = X.copy()
    gaps[rng.random(X.shape) < 1 / 7] = np.nan
    return X, gaps, 2 * X[:, 2] + X[:, 1], rng.integers(0, 4, 200)


@pytest.mark.parametrize(
    ("fill", "peer"), [("mean", "mean"), ("mode", "most_frequent")]
)
def test_constants_are_those_of_scikit_learn(fill, peer, table):
    _, gaps, y, _ = table
    model = DecisionTreeRegressor(missing=fill, max_depth=4).fit(gaps, y)
    impute = SimpleImputer(strategy=peer).fit(gaps)
    np.testing.assert_allclose(model.fill_.values, impute.statistics_, rtol=1e-6)
    other = DecisionTreeRegressor(max_depth=4).fit(impute.transform(gaps), y)
    np.testing.assert_allclose(
        model.predict(gaps), other.predict(impute.transform(gaps))
    )


def test_a_model_fills_by_the_other_columns(table):
    X, gaps, y, _ = table
    new = X.copy()
    new[:, 2] = np.nan
    scores = {
        fill: DecisionTreeRegressor(missing=fill, min_samples_leaf=5)
        .fit(gaps, y)
        .score(new, y)
        for fill in ["default", *FILLS]
    }
    assert scores["model"] > max(scores["default"], scores["mean"]) + 0.05
    model = DecisionTreeRegressor(missing="model").fit(gaps, y)
    assert (
        np.abs(model.fill_.apply(new.astype(np.float32))[:, 2] - X[:, 0]).mean() < 0.2
    )


@pytest.mark.parametrize("fill", FILLS)
def test_without_gaps_nothing_changes(fill, table):
    X, _, y, _ = table
    for cls in (DecisionTreeRegressor, ExtraTreeRegressor):
        model = cls(missing=fill, random_state=0).fit(X, y)
        plain = cls(random_state=0).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@pytest.mark.parametrize("fill", FILLS)
def test_weights_are_repeated_rows(fill, table):
    _, gaps, y, k = table
    rows = np.repeat(np.arange(len(y)), k)
    model = DecisionTreeRegressor(missing=fill, max_depth=3)
    a = model.fit(gaps, y, k).predict(gaps)
    np.testing.assert_allclose(a, model.fit(gaps[rows], y[rows]).predict(gaps))


@pytest.mark.parametrize("fill", FILLS)
def test_levels_are_filled_with_levels(fill, table):
    X, gaps, y, _ = table
    level = np.where(X[:, 0] > 0, "high", "low").astype(object)
    frame = pd.DataFrame({"a": gaps[:, 0], "b": level})
    frame.loc[::7, "b"] = None
    model = DecisionTreeClassifier(missing=fill, categorical_features=["b"])
    model.fit(frame, y > 0)
    codes = model.fill_.apply(model.inputs_.encode(frame))
    assert set(codes[:, 1]) == {0.0, 1.0}
    assert model.predict_proba(frame).shape == (200, 2)
    if fill == "model":
        there = ~np.isnan(gaps[::7, 0])
        right = codes[::7, 1] == (level[::7] == "low")
        assert right[there].mean() > 0.9


def test_other_tables_and_explanations(table):
    X, gaps, y, _ = table
    sparse = sp.csr_matrix(np.where(np.abs(X) < 0.3, 0, X))
    model = DecisionTreeRegressor(missing="mean", max_depth=4).fit(sparse, y)
    dense = DecisionTreeRegressor(missing="mean", max_depth=4).fit(sparse.toarray(), y)
    np.testing.assert_array_equal(
        model.predict(sparse), dense.predict(sparse.toarray())
    )
    model = DecisionTreeRegressor(missing="model", max_depth=4).fit(gaps, y)
    found = shap_values(model, gaps[:20])
    total = found.values.sum(axis=1).ravel() + np.ravel(found.base_values)
    np.testing.assert_allclose(total, model.predict(gaps[:20]))


def test_a_column_without_values_stays_missing(table):
    X, _, y, _ = table
    X = np.c_[X, np.full(len(X), np.nan)]
    for fill in FILLS:
        model = DecisionTreeRegressor(missing=fill, max_depth=3).fit(X, y)
        assert np.isnan(model.fill_.values[3])
        assert np.all(np.isfinite(model.predict(X)))
    again = model.set_params(missing="default").fit(X, y)
    assert not hasattr(again, "fill_")

"""Tree models as sums of trees: the sums are the models' own answers."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

from pansophy.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from pansophy.linear_model import LinearRegression
from pansophy.tree import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
)
from pansophy.tree.storage.additive_trees import (
    additive_multiway_tree,
    align_class_values,
    as_additive_trees,
    is_threshold_tree,
    output_values,
    predictions_2d,
    require_no_missing_values,
    trees_with_global_features,
)
from tests.tree.small_trees import ModelOfTree, small_tree


@pytest.fixture(scope="module")
def data():
    X, c = make_classification(
        120, 5, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1,
        random_state=0,
    )  # fmt: skip
    return X, c


def summed(parts, X):
    """offset + sum over the trees of the values at the leaves of X."""
    rows = np.ascontiguousarray(parts.rows(X), np.float32)
    out = np.tile(np.asarray(parts.offset, float), (len(rows), 1))
    for tree, values, first in zip(parts.trees, parts.values, parts.first):
        out[:, first : first + values.shape[1]] += values[tree.apply(rows)]
    return out


SMALL = {"n_estimators": 4, "random_state": 0}
MODELS = {
    "tree": (DecisionTreeClassifier(max_depth=3), "class"),
    "smoothed": (DecisionTreeClassifier(max_depth=3, smoothing=1.0), "class"),
    "numbers": (DecisionTreeRegressor(max_depth=3), "number"),
    "outputs": (DecisionTreeRegressor(max_depth=3), "numbers"),
    "class pairs": (DecisionTreeClassifier(max_depth=3), "classes"),
    "forest": (RandomForestClassifier(max_depth=3, **SMALL), "class"),
    "extra": (ExtraTreesRegressor(max_depth=3, **SMALL), "number"),
    "bagging": (
        BaggingRegressor(DecisionTreeRegressor(max_depth=2), **SMALL), "number",
    ),
    "columns": (
        BaggingClassifier(
            DecisionTreeClassifier(max_depth=2), max_features=2, max_samples=8, **SMALL
        ),
        "class",
    ),
    "votes": (
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), **SMALL), "class",
    ),
    "two votes": (
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), **SMALL), "two",
    ),
    "boosting": (GradientBoostingClassifier(max_depth=2, **SMALL), "class"),
    "histograms": (HistGradientBoostingRegressor(max_iter=4, max_depth=2), "number"),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_sums_are_the_answers(name, data):
    X, c = data
    model, target = MODELS[name]
    y = {
        "class": c, "two": c > 0, "number": X[:, 0] * X[:, 1],
        "numbers": X[:, :2] * X[:, 2:4], "classes": np.c_[c, c > 0],
    }[target]  # fmt: skip
    model.fit(X, y)
    parts = as_additive_trees(model)
    want = parts.answer(X)
    assert want.shape == (len(X), len(parts.offset))
    np.testing.assert_allclose(summed(parts, X), want, rtol=1e-6, atol=1e-9)
    if parts.names is not None:
        assert len(parts.names) == len(parts.offset)
    own = "predict_proba" if hasattr(model, "classes_") else "predict"
    if name in ("votes", "two votes", "boosting"):
        own = "decision_function"
    answer = getattr(model, own)(X)
    answer = np.hstack(answer) if isinstance(answer, list) else answer
    np.testing.assert_allclose(want, answer.reshape(len(X), -1), rtol=1e-12)


def test_names_of_outputs(data):
    X, c = data
    pair = DecisionTreeClassifier(max_depth=1).fit(X, np.c_[c, c > 0])
    names = as_additive_trees(pair).names
    assert names == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    assert output_values(ModelOfTree(), small_tree())[1] is None
    two = small_tree()._replace(value=np.ones((5, 2, 1)))
    assert output_values(ModelOfTree(two), two)[1] == [0, 1]


@pytest.mark.parametrize("cls", [ID3Classifier, C45Classifier])
def test_multiway_trees(cls, rng):
    X = rng.integers(0, 3, (60, 3)).astype(str).astype(object)
    y = np.where((X[:, 0] == "1") ^ (X[:, 1] == "2"), "yes", "no")
    model = cls().fit(X, y)
    parts = additive_multiway_tree(model, model._codes)
    assert parts.names == ["no", "yes"]
    np.testing.assert_allclose(summed(parts, X), model.predict_proba(X), atol=1e-12)


def test_sparse_rows(data):
    X, c = data
    X = np.where(np.abs(X) < 1, 0, X)
    for model in (
        DecisionTreeClassifier(max_depth=3),
        BaggingClassifier(DecisionTreeClassifier(max_depth=2), **SMALL),
    ):
        parts = as_additive_trees(model.fit(X, c))
        np.testing.assert_array_equal(parts.rows(sp.csr_array(X)), parts.rows(X))


def test_columns_of_members_are_those_of_the_table(data):
    X, c = data
    model = BaggingClassifier(DecisionTreeClassifier(max_depth=2), max_features=2)
    model.set_params(**SMALL).fit(X, c)
    for tree, member, columns in zip(
        trees_with_global_features(model), model.estimators_, model.estimators_features_
    ):
        assert tree.n_features == 5
        inner = tree.children_left >= 0
        np.testing.assert_array_equal(
            tree.feature[inner], np.asarray(columns)[member.tree_.feature[inner]]
        )
        assert (tree.feature[~inner] < 0).all()


def test_classes_of_members_are_aligned():
    value = np.array([[0.2, 0.8]])
    whole = ModelOfTree(classes_=np.array(["a", "b", "c"]))
    by_name = ModelOfTree(classes_=np.array(["a", "c"]))
    assert align_class_values(value, by_name, whole).tolist() == [[0.2, 0, 0.8]]
    by_code = ModelOfTree(classes_=np.array([1, 2]))
    assert align_class_values(value, by_code, whole).tolist() == [[0, 0.2, 0.8]]
    full = np.ones((1, 3))
    assert align_class_values(full, by_name, whole) is full


def test_refused_models(data):
    X, c = data
    with pytest.raises(TypeError, match="LinearRegression is not a sum of trees"):
        as_additive_trees(LinearRegression().fit(X, c))
    median = AdaBoostRegressor(DecisionTreeRegressor(max_depth=1), **SMALL)
    with pytest.raises(TypeError, match="predicts a median of its trees"):
        as_additive_trees(median.fit(X, X[:, 0]))
    from pansophy.cluster import KMeans

    with pytest.raises(TypeError, match="neither numbers nor classes"):
        as_additive_trees(KMeans(2, n_init=1).fit(X))
    lines = BaggingRegressor(LinearRegression(), **SMALL).fit(X, c)
    with pytest.raises(TypeError, match="not a sum of trees"):
        as_additive_trees(lines)


def test_missing_values_on_both_branches():
    X = np.array([[1.0], [np.nan]])
    with pytest.raises(ValueError, match="have no SHAP values here"):
        require_no_missing_values(X)
    assert require_no_missing_values(X[:1]) is not None
    model = DecisionTreeRegressor(missing="both").fit([[1.0], [2.0]], [0.0, 1.0])
    with pytest.raises(ValueError, match="missing='both'"):
        as_additive_trees(model).rows(X)


def test_trees_that_compare_numbers(rng):
    X, y = rng.integers(0, 3, (20, 1)).astype(float), rng.normal(size=20)
    plain = DecisionTreeRegressor(max_depth=1).fit(X, y)
    assert is_threshold_tree(plain) and not is_threshold_tree(LinearRegression())
    levels = DecisionTreeRegressor(max_depth=1, categorical_features=[0]).fit(X, y)
    assert not is_threshold_tree(levels)


def test_answers_have_two_axes(data):
    X, c = data
    one = DecisionTreeRegressor(max_depth=1).fit(X, c)
    assert predictions_2d(one, X).shape == (120, 1)
    pair = DecisionTreeClassifier(max_depth=1).fit(X, np.c_[c, c > 0])
    assert predictions_2d(pair, X).shape == (120, 5)

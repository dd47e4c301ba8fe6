"""Tools of scikit-learn and shap that ask for scikit-learn's own trees take ours."""

import subprocess
import sys

import numpy as np
import pytest
import sklearn.ensemble as peers
import sklearn.tree as peer_trees
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.inspection import partial_dependence

import pansophy.ensemble as forests
import pansophy.tree as trees
from pansophy.tree import DecisionTreeClassifier, DecisionTreeRegressor

IRIS = load_iris(return_X_y=True)
NUMBERS = tuple(a[:150] for a in load_diabetes(return_X_y=True))


@pytest.mark.parametrize(
    "name",
    [n for n in dir(trees) if hasattr(peer_trees, n) and n.endswith(("er", "or"))]
    + ["RandomForestClassifier", "ExtraTreesRegressor", "IsolationForest"]
    + ["GradientBoostingRegressor", "HistGradientBoostingClassifier"],
)
def test_models_are_instances_of_scikit_learns_class(name):
    ours = getattr(trees, name, None) or getattr(forests, name)
    peer = getattr(peer_trees, name, None) or getattr(peers, name)
    assert isinstance(ours(), peer)
    assert ours().__class__ is ours
    assert type(clone(ours())) is ours
    assert not isinstance(peer(), ours)
    own = type("Own", (ours,), {})
    assert isinstance(own(), peer)


def test_scikit_learns_trees_are_not_imported_for_this():
    code = (
        "import sys, pansophy.tree as t; m = t.DecisionTreeClassifier();"
        "m.fit([[0], [1]], [0, 1]); isinstance(m, int); isinstance(m.tree_, int);"
        "assert 'sklearn.tree' not in sys.modules;"
        "import sklearn.tree as s; assert isinstance(m, s.DecisionTreeClassifier);"
        "assert s.export_text(m)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def graphviz_text(model):
    return peer_trees.export_graphviz(model, precision=2, proportion=True)


def drawn_text(model):
    drawn = peer_trees.plot_tree(model, precision=2, proportion=True)
    return [text.get_text() for text in drawn]


def test_export_text_and_graphviz_are_those_of_the_peer():
    pytest.importorskip("matplotlib")
    X, y = IRIS
    for ours, theirs, target in (
        (DecisionTreeClassifier, peer_trees.DecisionTreeClassifier, y == 1),
        (DecisionTreeRegressor, peer_trees.DecisionTreeRegressor, X[:, 0] ** 2),
    ):
        Z = X[:, [2]]  # equal splits of two columns would be drawn by the peer
        mine = ours(max_depth=3, min_samples_leaf=4).fit(Z, target)
        other = theirs(max_depth=3, min_samples_leaf=4, random_state=0).fit(Z, target)
        for show in (peer_trees.export_text, graphviz_text, drawn_text):
            assert show(mine) == show(other)


def test_several_outputs_and_classes_of_outputs():
    X, y = IRIS
    model = DecisionTreeClassifier(max_depth=2).fit(X, np.c_[y, y > 0])
    assert model.tree_.n_classes.tolist() == [3, 2]
    assert model.tree_.max_n_classes == 3
    assert "x[" in peer_trees.export_graphviz(model)
    regressor = DecisionTreeRegressor(max_depth=2).fit(X, X[:, :2])
    assert regressor.tree_.n_classes.tolist() == [1, 1]
    assert peer_trees.export_text(regressor).count("value") == 4


def test_a_tree_of_sets_names_our_functions():
    X, y = IRIS
    X = np.digitize(X, [1, 2, 3, 4, 5])
    model = DecisionTreeClassifier(categorical_features=[0, 1, 2, 3]).fit(X, y)
    for show in (peer_trees.export_text, peer_trees.plot_tree):
        with pytest.raises(TypeError, match=r"pansophy\.tree\.export_text"):
            show(model)
    with pytest.raises(TypeError, match=r"pansophy\.tree\.export_text"):
        peer_trees.export_graphviz(model)
    assert "pansophy.tree.shap_values" in str(model.tree_)
    boosted = forests.HistGradientBoostingClassifier(
        max_iter=2, categorical_features=[0]
    ).fit(X[:, [2]], y > 0)
    with pytest.raises(TypeError, match=r"pansophy\.tree\.shap_values"):
        _ = boosted._predictors


def test_partial_dependence_by_recursion():
    X, y = NUMBERS
    options = {"grid_resolution": 6, "method": "recursion"}
    mine = DecisionTreeRegressor(max_depth=4).fit(X, y)
    peer = peer_trees.DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y)
    for columns in ([2], [8], [2, 8]):
        a = partial_dependence(mine, X, columns, **options)["average"]
        b = partial_dependence(peer, X, columns, **options)["average"]
        np.testing.assert_allclose(a, b)


@pytest.mark.parametrize(
    "model",
    [
        forests.RandomForestRegressor(4, random_state=0),
        forests.GradientBoostingRegressor(n_estimators=4),
        forests.HistGradientBoostingRegressor(max_iter=4),
    ],
)
def test_partial_dependence_is_the_sum_of_the_trees(model):
    """Held columns decide; at other nodes both sides count by their training rows."""
    X, y = NUMBERS
    model.fit(X, y)
    found = partial_dependence(
        model, X, [2], custom_values={2: np.array([0.01])}, method="recursion"
    )["average"][0]
    if hasattr(model, "forest_"):
        members = [model.forest_.tree(t) for t in range(4)]
    else:
        members = model.trees_.to_list()

    def descend(tree, weight, node=0):
        left, right = tree.children_left[node], tree.children_right[node]
        if left < 0:
            return tree.value[node, 0, 0]
        if tree.feature[node] == 2:
            go_left = np.float32(0.01) <= tree.threshold[node]
            return descend(tree, weight, left if go_left else right)
        sides = [weight[c] * descend(tree, weight, c) for c in (left, right)]
        return sum(sides) / weight[node]

    by_weight = hasattr(model, "forest_")
    weights = [
        t.weighted_n_node_samples if by_weight else t.n_node_samples for t in members
    ]
    total = sum(descend(t, w) for t, w in zip(members, weights))
    assert found[0] == pytest.approx(total / (4 if by_weight else 1))


def test_partial_dependence_of_levels():
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(0, 4, 200), rng.normal(size=200)].astype(float)
    y = np.isin(X[:, 0], [1, 3]) * 2.0 + X[:, 1]
    model = DecisionTreeRegressor(max_depth=3, categorical_features=[0]).fit(X, y)
    options = {"categorical_features": [0], "custom_values": {0: [0.0, 1.0, 2.0, 3.0]}}
    a = partial_dependence(model, X, [0], method="recursion", **options)["average"][0]
    assert np.ptp(a[[0, 2]]) < 0.2
    assert min(a[1], a[3]) > max(a[0], a[2]) + 1.5


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(max_depth=4),
        DecisionTreeClassifier(max_depth=4),
        forests.RandomForestRegressor(4, random_state=0),
        forests.RandomForestClassifier(4, random_state=0),
        forests.ExtraTreesRegressor(4, random_state=0),
        forests.ExtraTreesClassifier(4, random_state=0),
        forests.GradientBoostingRegressor(n_estimators=4),
        forests.GradientBoostingClassifier(n_estimators=4),
        forests.HistGradientBoostingRegressor(max_iter=20),
        forests.HistGradientBoostingClassifier(max_iter=4),
        forests.IsolationForest(n_estimators=4, max_features=3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_shap_explains_our_models_as_we_do(model):
    shap = pytest.importorskip("shap")
    X, y = NUMBERS
    y = y > 150 if hasattr(model, "predict_proba") else y
    model.fit(X, y)
    theirs = np.squeeze(shap.TreeExplainer(model)(X[:20]).values)
    ours = np.squeeze(trees.shap_values(model, X[:20]).values)
    np.testing.assert_allclose(theirs, ours, atol=1e-9 * np.abs(ours).max())


def test_shap_refuses_splits_by_set_with_our_name():
    shap = pytest.importorskip("shap")
    X, y = NUMBERS
    X = np.digitize(X, [-0.05, 0, 0.05])
    model = DecisionTreeRegressor(categorical_features=[0, 2, 8]).fit(X, y)
    with pytest.raises(TypeError, match=r"pansophy\.tree\.shap_values"):
        shap.TreeExplainer(model)

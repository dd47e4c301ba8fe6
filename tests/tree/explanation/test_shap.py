"""SHAP values against every subset of features, the shap package, and themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.inspection import PartialDependenceDisplay, permutation_importance

from pansophy import ensemble
from pansophy.core.loops import threads
from pansophy.ensemble.forests.isolation_forest import mean_path_length
from pansophy.tree import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    Tree,
    shap_values,
)
from pansophy.tree.explanation.shap import explain_rows
from pansophy.tree.storage.additive_trees import AdditiveTrees, as_additive_trees
from tests.oracles import shap as oracle


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 5))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=150)
    X[::9, 0] = np.nan
    return X, y, (y > 0).astype(int) + (y > 1)


def as_rows(model, X):
    return as_additive_trees(model).rows(X)


@pytest.mark.parametrize("options", [{"max_depth": 3}, {"max_leaf_nodes": 20}, {}])
def test_tree_equals_all_subsets(options, data):
    X, y, _ = data
    model = DecisionTreeRegressor(**options).fit(X, y)
    tree, value, few = model.tree_, model.tree_.value[:, 0, 0], as_rows(model, X[:6])
    found = shap_values(model, X[:6], interactions=True)
    expected = oracle.path_dependent(tree, value, few)
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    for x, pairs in zip(few[:2], found.interactions, strict=False):
        game = lambda S, x=x: oracle.known(tree, value, x, S)
        np.testing.assert_allclose(pairs, oracle.interactions(game, 5), atol=1e-12)
    np.testing.assert_allclose(found.interactions.sum(axis=2), found.values, atol=1e-12)
    empty = oracle.known(tree, value, few[0], set())
    np.testing.assert_allclose(found.base_values, empty, atol=1e-12)


def test_background_equals_all_subsets(data):
    X, y, _ = data
    model = DecisionTreeRegressor(max_leaf_nodes=25).fit(X, y)
    found = shap_values(model, X[:5], background=X[40:60])
    few, Z = as_rows(model, X[:5]), as_rows(model, X[40:60])
    expected = oracle.interventional(model.predict, few, Z)
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    np.testing.assert_allclose(found.base_values, model.predict(Z).mean())


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), weighted=st.booleans())
def test_random_trees_equal_all_subsets(seed, weighted):
    """Repeated features, missing values, weights, splits by set."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(60, 4)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.normal(size=60) + np.isin(X[:, 0], [0, 3]) + np.nan_to_num(X[:, 1])
    w = rng.uniform(0.5, 2, 60) if weighted else None
    model = DecisionTreeRegressor(
        splitter="random", random_state=seed, categorical_features=[0], max_depth=6
    ).fit(X, y, w)
    found = shap_values(model, X[:3])
    few, tree = as_rows(model, X[:3]), model.tree_
    expected = oracle.path_dependent(tree, tree.value[:, 0, 0], few)
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    np.testing.assert_allclose(found.predictions, model.predict(X[:3]), atol=1e-12)


def test_splits_by_set_with_background():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 6, size=(200, 3)).astype(float)
    y = np.isin(X[:, 0], [1, 4]) * 2.0 + np.isin(X[:, 1], [0, 5]) * X[:, 2]
    model = DecisionTreeRegressor(categorical_features=[0, 1]).fit(X, y)
    assert model.tree_.sets is not None and model.tree_.sets.any()
    few, Z = as_rows(model, X[:4]), as_rows(model, X[50:60])
    tree, value = model.tree_, model.tree_.value[:, 0, 0]
    f = lambda R: value[tree.apply(np.ascontiguousarray(R))]
    found = shap_values(model, X[:4], background=X[50:60])
    np.testing.assert_allclose(
        found.values, oracle.interventional(f, few, Z), atol=1e-12
    )


def ours(tree) -> Tree:
    """A tree of scikit-learn's in our arrays."""
    return Tree(
        tree.children_left, tree.children_right, tree.feature, tree.threshold,
        tree.impurity, tree.n_node_samples, tree.weighted_n_node_samples, tree.value,
        tree.missing_go_to_left.astype(bool), tree.n_features,
    )  # fmt: skip


def test_the_shap_package_agrees(data):
    shap = pytest.importorskip("shap")
    from sklearn.ensemble import RandomForestClassifier

    X, _, c = data
    X = np.nan_to_num(X).astype(np.float32)
    peer = RandomForestClassifier(5, max_depth=5, random_state=0).fit(X, c)
    trees = [ours(e.tree_) for e in peer.estimators_]
    values = [t.value[:, 0, :] / t.value[:, 0, :].sum(1, keepdims=True) for t in trees]
    parts = AdditiveTrees(
        trees, [v / 5 for v in values], [0] * 5, np.zeros(3), None, None
    )  # fmt: skip
    phi, base, pairs = explain_rows(parts, X[:20], None, True)
    explainer = shap.TreeExplainer(peer)
    np.testing.assert_allclose(phi, explainer.shap_values(X[:20]), atol=1e-7)
    np.testing.assert_allclose(base, explainer.expected_value, atol=1e-7)
    both = explainer.shap_interaction_values(X[:20])
    np.testing.assert_allclose(pairs, both, atol=1e-5)
    phi, base, _ = explain_rows(parts, X[:20], X[50:90])
    explainer = shap.TreeExplainer(peer, X[50:90])
    np.testing.assert_allclose(phi, explainer.shap_values(X[:20]), atol=1e-6)
    np.testing.assert_allclose(base, explainer.expected_value, atol=1e-6)


MODELS = [
    "DecisionTree", "RandomForest", "ExtraTrees", "Bagging", "GradientBoosting",
    "HistGradientBoosting",
]  # fmt: skip


def made(name, kind):
    if name == "DecisionTree":
        return {
            "Classifier": DecisionTreeClassifier,
            "Regressor": DecisionTreeRegressor,
        }[kind](random_state=0)
    size = {"max_iter": 8} if name.startswith("Hist") else {"n_estimators": 8}
    return getattr(ensemble, name + kind)(random_state=0, **size)


@pytest.mark.parametrize("name", [*MODELS, "AdaBoost"])
@pytest.mark.parametrize("kind", ["classes", "two", "numbers"])
def test_values_add_up_for_every_ensemble(name, kind, data):
    X, y, c = data
    X = np.nan_to_num(X)
    if (name, kind) == ("AdaBoost", "numbers"):
        model = ensemble.AdaBoostRegressor(n_estimators=3, random_state=0).fit(X, y)
        with pytest.raises(TypeError, match="median"):
            shap_values(model, X)
        return
    target = {"classes": c, "two": c > 0, "numbers": y}[kind]
    model = made(name, "Regressor" if kind == "numbers" else "Classifier").fit(
        X, target
    )
    parts = as_additive_trees(model)
    answer = parts.answer(X[:30])
    for background in (None, X[:25]):
        found = shap_values(model, X[:30], background=background)
        total = found.predictions.reshape(answer.shape)
        assert np.abs(total - answer).max() < 1e-10
        assert found.values.shape[:2] == (30, 5)
    if kind == "numbers":
        np.testing.assert_allclose(found.predictions, model.predict(X[:30]), atol=1e-10)
    elif name in ("DecisionTree", "RandomForest", "ExtraTrees", "Bagging"):
        assert found.output_names == list(model.classes_)
        p = model.predict_proba(X[:30])
        np.testing.assert_allclose(found.predictions, p, atol=1e-10)
    else:
        raw = model.decision_function(X[:30])
        np.testing.assert_allclose(found.predictions, raw, atol=1e-10)


def test_members_with_some_columns_and_classes(data):
    X, _, c = data
    model = ensemble.BaggingClassifier(
        DecisionTreeClassifier(), max_features=0.6, max_samples=6, random_state=0
    ).fit(X, c)
    found = shap_values(model, X)
    np.testing.assert_allclose(found.predictions, model.predict_proba(X), atol=1e-12)


def test_several_outputs(data):
    X, y, c = data
    model = DecisionTreeRegressor(max_depth=4).fit(X, np.column_stack([y, -2 * y]))
    found = shap_values(model, X)
    np.testing.assert_allclose(found.values[:, :, 1], -2 * found.values[:, :, 0])
    model = DecisionTreeClassifier(max_depth=4).fit(X, np.column_stack([c, c > 0]))
    found = shap_values(model, X)
    total = np.hstack(model.predict_proba(X))
    np.testing.assert_allclose(found.predictions, total, atol=1e-12)


def test_a_feature_that_is_not_asked_has_no_share(data):
    X, y, _ = data
    model = DecisionTreeRegressor(max_depth=2).fit(X, y)
    unused = np.setdiff1d(np.arange(5), model.tree_.feature)
    assert len(unused)
    assert not shap_values(model, X).values[:, unused].any()


def test_one_leaf(data):
    X, _, _ = data
    model = DecisionTreeRegressor().fit(X, np.full(len(X), 3.0))
    for background in (None, X[:5]):
        found = shap_values(model, X[:4], background=background, interactions=False)
        assert found.base_values == 3.0 and not found.values.any()


def test_deep_trees_stay_exact():
    """Every feature on one path: 60 of them, 30 points of the integral."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 60))
    y = np.array([np.argmax([*(x > 0.8), True]) for x in X], float)
    model = DecisionTreeRegressor().fit(X, y)
    found = shap_values(model, X, check_additivity=False)
    np.testing.assert_allclose(found.predictions, model.predict(X), atol=1e-10)


def test_threads_and_blocks_do_not_matter(data):
    X, y, _ = data
    X = np.tile(X, (5, 1))
    model = ensemble.RandomForestRegressor(5, random_state=0).fit(X[:150], y)
    whole = shap_values(model, X).values
    with threads.limit_threads(1):
        np.testing.assert_array_equal(shap_values(model, X).values, whole)
    np.testing.assert_allclose(shap_values(model, X[37:41]).values, whole[37:41])


def test_frames_name_the_features(data):
    pd = pytest.importorskip("pandas")
    X, y, _ = data
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = DecisionTreeRegressor(max_depth=3).fit(frame, y)
    found = shap_values(model, frame)
    assert found.feature_names == list("abcde")
    text = str(found)
    assert text.startswith("150 rows, 5 features") and "\n  c" in text


def test_what_is_refused(data):
    X, y, c = data
    X = np.nan_to_num(X)
    model = DecisionTreeRegressor(max_depth=3).fit(X, y)
    with pytest.raises(ValueError, match="background=None"):
        shap_values(model, X, background=X, interactions=True)
    with pytest.raises(ValueError, match="features"):
        shap_values(model, X[:, :3])
    rotated = ensemble.RotationForestClassifier(n_estimators=2, random_state=0)
    with pytest.raises(TypeError, match="not a sum of trees"):
        shap_values(rotated.fit(X, c), X)
    from sklearn.preprocessing import StandardScaler

    with pytest.raises(TypeError, match="neither numbers nor classes"):
        shap_values(StandardScaler().fit(X), X)
    broken = DecisionTreeRegressor(max_depth=3).fit(X, y)
    parts = as_additive_trees(broken)._replace(answer=lambda X: np.zeros((len(X), 1)))
    broken._additive = lambda: parts
    with pytest.raises(ValueError, match="add up"):
        shap_values(broken, X)


def test_missing_values_on_both_branches_are_refused(data):
    X, y, _ = data
    model = DecisionTreeRegressor(max_depth=3, missing="both").fit(X, y)
    with pytest.raises(ValueError, match="both"):
        shap_values(model, X)
    clean = X[~np.isnan(X).any(axis=1)]
    found = shap_values(model, clean)
    np.testing.assert_allclose(found.predictions, model.predict(clean), atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_partial_dependence_and_permutation_importance(name, data):
    X, y, _ = data
    X = np.nan_to_num(X)
    model = made(name, "Regressor").fit(X, y)
    shown = PartialDependenceDisplay.from_estimator(
        model, X, [2], grid_resolution=5, method="brute"
    )
    line = shown.lines_[0, 0].get_ydata()
    assert len(line) == 5 and line[-1] > line[0]  # y rises with x2
    found = permutation_importance(model, X, y, n_repeats=2, random_state=0)
    assert found.importances_mean[2] > found.importances_mean[4]


def test_figures(data):
    from pansophy import plot

    X, _, c = data
    found = shap_values(DecisionTreeClassifier(max_depth=3).fit(X, c), X)
    ax = plot.shap_bar(found, output=1, limit=3)
    assert len(ax.patches) == 3 and ax.get_xlabel() == "mean |value|"
    widths = [p.get_width() for p in ax.patches]
    assert widths == sorted(widths)
    ax = plot.shap_beeswarm(found, limit=2)
    assert len(ax.collections) == 2
    assert len(ax.collections[0].get_offsets()) == len(X)
    with pytest.raises(ValueError, match="output must be one of"):
        plot.shap_bar(found, output="none")


def test_smoothed_probabilities_are_explained(data):
    X, _, labels = data
    model = DecisionTreeClassifier(max_depth=4, smoothing=1.0).fit(X, labels)
    answer = shap_values(model, X[:20])
    np.testing.assert_allclose(answer.predictions, model.predict_proba(X[:20]))


def known_of_many(tree, x, S, v=0):
    """The prediction of a multiway tree if only the features S of x are known."""
    kids, f = tree.children(v), tree.feature[v]
    if not len(kids):
        return tree.value[v, 0]
    if f in S:
        if np.isnan(tree.threshold[v]):
            way = [c for c in kids if tree.level[c] == x[f]]
        else:
            way = [kids[int(x[f] > tree.threshold[v])]]
        return known_of_many(tree, x, S, way[0]) if way else tree.value[v, 0]
    w = tree.weighted_n_node_samples[kids]
    below = [known_of_many(tree, x, S, c) for c in kids]
    return (w[:, None] * below).sum(axis=0) / w.sum()


@pytest.mark.parametrize("name", ["ID3", "C4.5"])
def test_multiway_trees_equal_all_subsets(name):
    rng = np.random.default_rng(3)
    X = np.c_[rng.integers(0, 4, (150, 2)), rng.normal(size=(150, 2)).round()]
    y = (X[:, 0] + X[:, 1] * (X[:, 2] > 0)) % 3
    some = C45Classifier(categorical_features=[0, 1], confidence=None)
    model = (ID3Classifier() if name == "ID3" else some).fit(X, y)
    few = X[:12]
    if name == "ID3":  # levels never seen are answered by the node that asks
        few = np.vstack([few, [[9, 0, 0, 1], [1, 9, 1, 0]]])
    codes = model._codes(few)
    game = lambda x: lambda S: known_of_many(model.tree_, x, S)
    found = shap_values(model, few, interactions=True)
    expected = [oracle.shapley(game(x), 4) for x in codes]
    np.testing.assert_allclose(found.values, expected, atol=1e-12)
    pairs = oracle.interactions(game(codes[0]), 4)
    np.testing.assert_allclose(found.interactions[0], pairs, atol=1e-12)
    p = model.predict_proba(few)
    np.testing.assert_allclose(found.predictions, p, atol=1e-12)
    found = shap_values(model, few, background=X[20:60])
    np.testing.assert_allclose(found.predictions, p, atol=1e-12)
    if name == "C4.5":
        with pytest.raises(ValueError, match="all branches"):
            shap_values(model, [[np.nan, 0, 0, 0]])


def test_isolation_forests_share_out_path_lengths(data):
    X = np.nan_to_num(data[0])
    forest = ensemble.IsolationForest(n_estimators=9, random_state=0).fit(X)
    far = np.vstack([X[:6], X[0]])
    far[6, 2] = 50.0
    found = shap_values(forest, far)
    c = mean_path_length(forest.max_samples_)
    score = -(2.0 ** -(found.predictions / c))
    np.testing.assert_allclose(score, forest.score_samples(far), rtol=1e-12)
    assert found.values[6].argmin() == 2 and found.values[6, 2] < 0.0
    assert "shares of the mean path length" in str(found)
    tree = forest.forest_.tree(0)
    one = AdditiveTrees([tree], [tree.value[:, :, 0]], [0], np.zeros(1), None, None)
    expected = oracle.path_dependent(tree, tree.value[:, 0, 0], far)
    np.testing.assert_allclose(explain_rows(one, far)[0][..., 0], expected, atol=1e-12)


def test_features_of_a_group_are_left_out_together():
    """Shapley's values by their definition, over all sets of groups."""
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(300, 6)), np.array([0, 1, 1, 2, 2, 2])
    y = X[:, 0] * X[:, 1] + np.maximum(X[:, 3], X[:, 4]) + (X[:, 2] > X[:, 5])
    model = ensemble.RandomForestRegressor(n_estimators=5, max_depth=6, random_state=0)
    model.fit(X, y)
    x, Z = X[:3], X[100:120]
    found = shap_values(model, x, background=Z, groups=groups)
    assert found.values.shape == (3, 3) and found.feature_names == ["x0", "x1", "x2"]
    for i in range(3):
        f = lambda S, i=i: model.predict(np.where(np.isin(groups, S), x[i], Z)).mean()
        for j, rest in ((0, (1, 2)), (1, (0, 2)), (2, (0, 1))):
            a, b = rest
            phi = (f([j]) - f([]) + f([0, 1, 2]) - f(rest)) / 3
            phi += (f([j, a]) - f([a]) + f([j, b]) - f([b])) / 6
            assert found.values[i, j] == pytest.approx(phi, abs=1e-10)
    alone = shap_values(model, x, background=Z, groups=np.arange(6))
    plain = shap_values(model, x, background=Z)
    assert np.array_equal(alone.values, plain.values)
    with pytest.raises(ValueError, match="groups take a background"):
        shap_values(model, x, groups=groups)
    with pytest.raises(ValueError, match="6 whole numbers of at least 0"):
        shap_values(model, x, background=Z, groups=groups[:4])

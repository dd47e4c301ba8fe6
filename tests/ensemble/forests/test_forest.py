"""Random forests, and what all forests share."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import ensemble as peers
from sklearn.datasets import load_iris, make_classification, make_friedman1
from sklearn.metrics import balanced_accuracy_score

from pansophy import persist
from pansophy.base import InterruptedFitWarning
from pansophy.core.loops import threads
from pansophy.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from pansophy.ensemble.forests import forest as abstract_forest
from pansophy.ensemble.members import draw_feature_subset, share_of_distinct_rows
from pansophy.params import ParameterError
from pansophy.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.oracles import forest as oracle

ALL = [
    RandomForestClassifier,
    RandomForestRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
]


@pytest.fixture(scope="module")
def classes():
    return make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)


@pytest.fixture(scope="module")
def numbers():
    return make_friedman1(200, noise=0.5, random_state=0)


@pytest.mark.parametrize("max_bins", [None, 255, 16])
def test_one_tree_without_draws_is_the_plain_tree(classes, numbers, max_bins):
    X, y = classes
    forest = RandomForestClassifier(
        1, bootstrap=False, max_features=None, max_bins=max_bins
    ).fit(X, y)
    tree = DecisionTreeClassifier(max_bins=max_bins).fit(X, y)
    np.testing.assert_array_equal(forest.predict_proba(X), tree.predict_proba(X))
    np.testing.assert_array_equal(forest.apply(X)[:, 0], tree.apply(X))
    same = forest.feature_importances_, tree.feature_importances_
    np.testing.assert_allclose(*same, atol=1e-12)
    X, y = numbers
    forest = RandomForestRegressor(1, bootstrap=False, max_bins=max_bins).fit(X, y)
    tree = DecisionTreeRegressor(max_bins=max_bins).fit(X, y)
    np.testing.assert_array_equal(forest.predict(X), tree.predict(X))
    np.testing.assert_array_equal(
        forest.estimators_[0].tree_.children_left, tree.tree_.children_left
    )


@pytest.mark.parametrize("f", [10, 100, 1000])
def test_features_drawn_with_replacement(f):
    """Bootstrap of the features, duplicates dropped, keeps 1 - (1 - 1/f)^f."""
    rng = np.random.default_rng(0)
    exact = {10: 0.6513, 100: 0.6340, 1000: 0.6323}[f]
    assert round(1 - (1 - 1 / f) ** f, 4) == exact
    kept = [
        len(np.unique(draw_feature_subset(rng, f, f, True))) / f for _ in range(3000)
    ]
    assert abs(np.mean(kept) - exact) < 4 * np.std(kept) / np.sqrt(3000)


def test_a_row_is_out_of_the_bag_of_one_tree_in_e(numbers):
    X, y = numbers
    model = RandomForestRegressor(400, max_depth=1, random_state=0).fit(X, y)
    seen = [np.bincount(s, minlength=200) for s in model.estimators_samples_]
    out = np.mean(np.array(seen) == 0)
    assert abs(out - np.exp(-1)) < 0.005
    assert abs(share_of_distinct_rows(seen[0]) - (1 - np.exp(-1))) < 0.1


def test_out_of_bag_equals_a_slow_one(classes, numbers):
    X, y = classes
    model = RandomForestClassifier(40, max_depth=4, oob_score=True, random_state=0)
    model.fit(X, y)
    slow = oracle.out_of_bag(
        model.estimators_,
        model.estimators_samples_,
        X.astype(np.float32),
        lambda m, rows: m.predict_proba(rows),
    )
    np.testing.assert_allclose(model.oob_decision_function_, slow, atol=1e-12)
    assert model.oob_score_ == np.mean(np.argmax(slow, axis=1) == y)
    assert len(model.oob_missing_) == 0
    X, y = numbers
    model = RandomForestRegressor(30, oob_score=True, random_state=0).fit(X, y)
    slow = oracle.out_of_bag(
        model.estimators_, model.estimators_samples_, X, lambda m, r: m.predict(r)
    )
    np.testing.assert_allclose(model.oob_prediction_, slow, atol=1e-12)


def test_rows_without_a_tree_are_reported(numbers):
    X, y = numbers
    with pytest.warns(UserWarning, match="rows were drawn by every tree"):
        model = RandomForestRegressor(2, oob_score=True, random_state=0).fit(X, y)
    missing = np.isnan(model.oob_prediction_)
    assert 0 < missing.sum() < 200
    np.testing.assert_array_equal(np.flatnonzero(missing), model.oob_missing_)


def test_scores_out_of_the_bag(classes, numbers):
    X, y = classes
    mine = RandomForestClassifier(
        50, oob_score=balanced_accuracy_score, random_state=0
    ).fit(X, y)
    guess = mine.oob_decision_function_.argmax(axis=1)
    assert mine.oob_score_ == balanced_accuracy_score(y, guess)
    Y = np.stack([y, y % 2], axis=1)
    both = RandomForestClassifier(50, oob_score=True, random_state=0).fit(X, Y)
    assert both.oob_decision_function_.shape == (300, 3, 2)
    assert both.oob_score_ > 0.6
    for cls in ALL:
        with pytest.raises(ParameterError, match="bootstrap=True"):
            cls(bootstrap=False, oob_score=True).fit(X, y)


@pytest.mark.parametrize("cls", ALL)
def test_as_good_as_scikit_learns(cls, classes, numbers):
    X, y = numbers if "Regressor" in cls.__name__ else classes
    half = len(X) // 2
    fit = lambda c: (
        c(60, random_state=0).fit(X[:half], y[:half]).score(X[half:], y[half:])
    )
    assert fit(cls) > fit(getattr(peers, cls.__name__)) - 0.05


@pytest.mark.parametrize("cls", ALL)
def test_same_for_any_number_of_threads(cls, classes):
    X, y = classes
    with threads.limit_threads(1):
        one = cls(12, random_state=3).fit(X, y)
    two = cls(12, random_state=3, n_jobs=2).fit(X, y)
    for a, b in zip(one.forest_, two.forest_):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("cls", ALL)
def test_warm_start_equals_one_fit(cls, classes):
    X, y = classes
    grown = cls(5, random_state=0, warm_start=True).fit(X, y)
    grown.set_params(n_estimators=9).fit(X, y)
    whole = cls(9, random_state=0).fit(X, y)
    for a, b in zip(grown.forest_, whole.forest_):
        np.testing.assert_array_equal(a, b)
    assert len(grown.estimators_) == 9
    with pytest.warns(UserWarning, match="does not fit new trees"):
        grown.fit(X, y)
    with pytest.raises(ValueError, match="n_estimators=3 must be larger"):
        grown.set_params(n_estimators=3).fit(X, y)


@pytest.mark.parametrize("class_weight", [None, "balanced", "balanced_subsample"])
@pytest.mark.parametrize("cls", [ExtraTreesClassifier, RandomForestClassifier])
def test_weights_are_repetitions_without_bootstrap(cls, class_weight, classes):
    X, y = classes
    k = np.random.default_rng(0).integers(0, 4, size=300)
    options = {"bootstrap": False, "max_features": None, "max_bins": None}
    options |= {"random_state": 0, "max_depth": 5, "class_weight": class_weight}
    a = cls(3, **options).fit(X, y, k)
    b = cls(3, **options).fit(np.repeat(X, k, axis=0), np.repeat(y, k))
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-12)


def test_weights_are_repetitions_in_distribution_with_bootstrap():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + rng.normal(size=60)
    k = rng.integers(0, 4, size=60)
    options = {"max_depth": 3, "random_state": 0}
    a = RandomForestRegressor(600, max_samples=90, **options).fit(X, y, k)
    b = RandomForestRegressor(600, max_samples=90, **options)
    b.fit(np.repeat(X, k, axis=0), np.repeat(y, k))
    assert np.abs(a.predict(X) - b.predict(X)).mean() < 0.05
    assert np.corrcoef(a.predict(X), b.predict(X))[0, 1] > 0.999


def test_rows_of_weight_zero_are_never_drawn(numbers):
    X, y = numbers
    w = np.ones(200)
    w[:50] = 0
    model = RandomForestRegressor(10, random_state=0, oob_score=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ten trees leave rows without one
        model.fit(X, y, w)
    assert min(s.min() for s in model.estimators_samples_) >= 50
    assert not np.isnan(model.oob_prediction_[:50]).any()


def test_balanced_subsample_without_bootstrap_is_balanced(classes):
    X, y = classes
    options = {"bootstrap": False, "random_state": 0, "max_depth": 4}
    a = RandomForestClassifier(5, class_weight="balanced_subsample", **options)
    b = RandomForestClassifier(5, class_weight="balanced", **options)
    p, q = (model.fit(X, y).predict_proba(X) for model in (a, b))
    np.testing.assert_array_equal(p, q)


def test_each_bootstrap_is_balanced_by_its_own_counts(classes):
    """The weights of the classes among the rows that a tree draws are equal."""
    X, y = classes
    model = RandomForestClassifier(
        4, class_weight="balanced_subsample", max_depth=2, random_state=0
    ).fit(X, y)
    for tree in model.estimators_:
        leaf = tree.tree_.children_left < 0
        weight = tree.tree_.weighted_n_node_samples[leaf]
        by_class = weight @ tree.tree_.value[leaf, 0]
        np.testing.assert_allclose(by_class, by_class[0])


def test_class_weights(classes):
    X, y = classes
    rare = (y == 0) & (np.arange(300) % 10 > 0)
    X, y = X[~rare], y[~rare]
    recall = lambda **o: np.mean(
        RandomForestClassifier(60, max_depth=2, random_state=0, **o)
        .fit(X, y)
        .predict(X[y == 0])
        == 0
    )
    for rule in ("balanced", "balanced_subsample", {0: 20.0}):
        assert recall(class_weight=rule) > recall() + 0.2
    with pytest.raises(ParameterError, match="class_weight"):
        RandomForestClassifier(class_weight="even").fit(X, y)


def test_criteria_monotone_pruning_and_limits(numbers):
    X, y = numbers
    for criterion in ("absolute_error", "poisson", "friedman_mse"):
        model = RandomForestRegressor(10, criterion=criterion, random_state=0)
        assert model.fit(X, y - y.min() + 0.1).score(X, y - y.min() + 0.1) > 0.8
        assert np.isclose(model.feature_importances_.sum(), 1.0)
    up = RandomForestRegressor(20, monotonic_cst=[1, *[0] * 9], random_state=0)
    up.fit(X, y)
    grid = np.tile(X[:20], (30, 1, 1))
    grid[:, :, 0] = np.linspace(0, 1, 30)[:, None]
    lines = up.predict(grid.reshape(-1, 10)).reshape(30, 20)
    assert np.all(np.diff(lines, axis=0) >= -1e-12)
    size = lambda **o: RandomForestRegressor(5, random_state=0, **o).fit(X, y).forest_
    full = size().node_count
    assert size(ccp_alpha=0.05).node_count < full / 3
    assert size(max_leaf_nodes=7).node_count == 5 * 13
    assert size(min_samples_leaf=20).count.min() >= 1
    assert size(max_samples=0.2).node_count < full / 3
    with pytest.raises(ParameterError, match="cannot be set if"):
        size(max_samples=0.5, bootstrap=False)


def test_missing_sparse_and_categories(classes):
    X, y = classes
    Z = X.copy()
    Z[np.random.default_rng(0).random(Z.shape) < 0.2] = np.nan
    assert RandomForestClassifier(30, random_state=0).fit(Z, y).score(Z, y) > 0.95
    S = np.where(np.abs(X) > 1, X, 0)
    dense = RandomForestClassifier(10, random_state=0).fit(S, y)
    sparse = RandomForestClassifier(10, random_state=0).fit(sp.csr_matrix(S), y)
    np.testing.assert_array_equal(
        dense.predict_proba(S), sparse.predict_proba(sp.csr_matrix(S))
    )
    C = np.stack([np.array(list("abcdefgh"))[np.arange(300) % 8], X[:, 0]], 1)
    t = np.isin(C[:, 0], list("adh")).astype(int)
    model = RandomForestClassifier(10, categorical_features=[0], random_state=0)
    model.fit(C.astype(object), t)
    assert model.score(C.astype(object), t) == 1.0
    odd = np.array([["new", 0.0], [None, np.nan]], object)
    assert model.predict(odd).shape == (2,)
    assert np.mean(model.estimators_[3].predict(C.astype(object)) == t) > 0.95


def test_decision_path_and_members(classes):
    X, y = classes
    model = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, y)
    path, start = model.decision_path(X)
    assert path.shape == (300, start[-1])
    np.testing.assert_array_equal(
        path[:, start[2] : start[3]].toarray(),
        model.estimators_[2].decision_path(X).toarray(),
    )
    shares = np.mean([m.predict_proba(X) for m in model], axis=0)
    np.testing.assert_allclose(shares, model.predict_proba(X), atol=1e-15)
    np.testing.assert_array_equal(
        model.apply(X), np.stack([m.apply(X) for m in model.estimators_], axis=1)
    )
    kept = np.mean([m.feature_importances_ for m in model], axis=0)
    np.testing.assert_allclose(model.feature_importances_, kept / kept.sum())
    assert len(model) == 4
    assert model[1] is model.estimators_[1]
    assert isinstance(model.estimator_, DecisionTreeClassifier)


def test_saved_forests_are_small(tmp_path):
    X, y = make_classification(3000, 10, flip_y=0.1, random_state=0)
    model = RandomForestClassifier(30, random_state=0).fit(X, y)
    assert len(model.estimators_) == 30  # built on demand, not saved
    persist.save(model, tmp_path / "forest")
    mine = (tmp_path / "forest").stat().st_size
    theirs = len(
        pickle.dumps(peers.RandomForestClassifier(30, random_state=0).fit(X, y))
    )
    print(f"forest of 30 trees: {mine:,} bytes; pickled by scikit-learn {theirs:,}")
    assert mine < theirs / 6
    again = persist.load(tmp_path / "forest")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert "30 trees" in str(again)
    assert f"{again.forest_.nbytes:,} bytes" in str(again)


def test_one_class_constant_target_and_constant_columns():
    X = np.zeros((20, 3))
    one = RandomForestClassifier(5).fit(X, np.ones(20))
    np.testing.assert_array_equal(one.predict_proba(X), np.ones((20, 1)))
    assert one.feature_importances_.sum() == 0.0
    flat = ExtraTreesRegressor(5).fit(np.eye(20), np.full(20, 2.5))
    np.testing.assert_array_equal(flat.predict(np.eye(20)), 2.5)
    with pytest.raises(ValueError, match="poisson"):
        RandomForestRegressor(criterion="poisson").fit(np.eye(3), [-1.0, 0.0, 1.0])


def test_iris_as_good_as_known():
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(100, oob_score=True, random_state=0).fit(X, y)
    assert 0.93 < model.oob_score_ < 0.98


def test_an_interrupted_forest_keeps_its_trees(monkeypatch):
    X, y = np.arange(60.0)[:, None], np.arange(60.0)
    whole = RandomForestRegressor(7, random_state=0).fit(X, y)
    grow_all = abstract_forest.grow_forest_trees

    def interrupted(recipe, seeds):
        for k, plant in enumerate(grow_all(recipe, seeds)):
            if k == 3:
                raise KeyboardInterrupt
            yield plant

    monkeypatch.setattr(abstract_forest, "grow_forest_trees", interrupted)
    model = RandomForestRegressor(7, random_state=0, warm_start=True)
    with pytest.warns(InterruptedFitWarning, match="after 3 trees"):
        model.fit(X, y)
    assert len(model.estimators_) == 3
    monkeypatch.undo()
    model.fit(X, y)  # goes on where it stopped
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))


@pytest.mark.parametrize("cls", [RandomForestClassifier, ExtraTreesClassifier])
def test_out_of_bag_score_of_several_labels_is_that_of_score(cls, classes):
    """All labels of a row must be right, as `score` counts them."""
    X, y = classes
    Y = np.c_[y, np.arange(len(y)) % 2, (X[:, 1] > 0).astype(int)]
    forest = cls(30, oob_score=True, bootstrap=True, random_state=0).fit(X, Y)
    guess = forest.oob_decision_function_.argmax(axis=1)
    every = np.mean(np.all(guess == Y, axis=1))
    assert forest.oob_score_ == pytest.approx(every)
    assert forest.oob_score_ < np.mean(guess == Y) - 0.1
    labels = np.stack([np.array(["a", "b", "c", "d"])[v] for v in Y.T], axis=1)
    named = cls(30, oob_score=True, bootstrap=True, random_state=0).fit(X, labels)
    assert named.oob_score_ == forest.oob_score_


def test_out_of_bag_score_under_warm_start(classes):
    X, y = classes
    once = RandomForestClassifier(20, oob_score=True, random_state=0).fit(X, y)
    grown = RandomForestClassifier(20, warm_start=True, random_state=0).fit(X, y)
    assert not hasattr(grown, "oob_score_")
    grown.set_params(oob_score=True)
    with pytest.warns(UserWarning, match="Warm-start fitting without increasing"):
        grown.fit(X, y)
    assert grown.oob_score_ == once.oob_score_
    more = grown.set_params(n_estimators=30).fit(X, y).oob_score_
    assert (
        more
        == RandomForestClassifier(30, oob_score=True, random_state=0)
        .fit(X, y)
        .oob_score_
    )


def test_names_of_scikit_learns_forests(classes):
    X, y = classes
    forest = RandomForestClassifier(3, max_samples=0.5, random_state=0)
    assert isinstance(forest.estimator, DecisionTreeClassifier)
    samples = forest.fit(X, y).estimators_samples_
    assert samples[0].dtype == np.int32
    assert len(samples[0]) == len(X) // 2

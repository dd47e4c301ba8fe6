"""One view of binary and multiway trees: conditions hold for the rows of a node."""

import numpy as np
import pytest

from pansophy import datasets
from pansophy.ensemble import RandomForestClassifier
from pansophy.tree import DecisionTreeClassifier, DecisionTreeRegressor, ID3Classifier
from pansophy.tree.explanation.tree_view import (
    MANY,
    Condition,
    angle_interval,
    class_names_of,
    count_codes,
    feature_names_of,
    fitted_tree,
    has_branch_per_level,
    input_encoder_of,
    level_name,
    node_parents,
    rows_as_codes,
    view_tree,
)
from tests.tree.small_trees import ModelOfTree

NAN = np.nan


@pytest.fixture(scope="module")
def weather():
    table = datasets.load_weather().table
    X = table.drop_columns(["Play"]).to_pandas()
    return ID3Classifier().fit(X, table["Play"].to_pylist()), X


def test_conditions_hold():
    X = np.array([[1.0], [2.0], [NAN]], np.float32)
    assert Condition(0, "<=", 1.0).holds(X).tolist() == [True, False, False]
    assert Condition(0, ">", 1.0).holds(X).tolist() == [False, True, False]
    assert Condition(0, ">", 1.0, missing=True).holds(X).tolist() == [0, 1, 1]
    among = Condition(0, "in", codes=frozenset([2, 5]))
    assert among.holds(X).tolist() == [False, True, False]


def test_two_conditions_are_one():
    a, b = Condition(0, "<=", 1.0, missing=True), Condition(0, "<=", 3.0)
    assert a.both(b) == Condition(0, "<=", 1.0) == b.both(a)
    a, b = Condition(0, ">", 1.0, missing=True), Condition(0, ">", 3.0, missing=True)
    assert a.both(b) == Condition(0, ">", 3.0, missing=True)
    a, b = (Condition(0, "in", codes=frozenset(c)) for c in ([1, 2], [2, 3]))
    assert a.both(b).codes == {2}


def test_conditions_in_words():
    names = ["size", "colour"]
    assert Condition(0, "<=", 1.234).words(names, ()) == "size <= 1.23"
    assert Condition(0, ">", 1.0).words(names, (), 0, pad=" ") == "size >  1"
    kept = Condition(0, ">", 1.0, missing=True)
    assert kept.words(names, (), 0) == "size > 1"
    assert kept.words(names, (), 0, missing=True) == "size > 1 or missing"
    many = lambda n: Condition(1, "in", codes=frozenset(range(n))).words(names, ())
    assert many(1) == "colour = code 0"
    assert many(MANY).count("code") == MANY and "more" not in many(MANY)
    assert many(MANY + 3).endswith("code 4, 4 more}")


def test_names_of_levels():
    from pansophy.tree.growing.input_encoding import InputEncoder

    X = np.array([[2.5], [1.0], [10.0]], object)
    (table,) = InputEncoder.learn(X, [0]).tables
    assert [level_name(table, c) for c in range(3)] == ["1", "2.5", "10"]
    assert level_name(table, 7) == "code 7" and level_name(None, 3) == "code 3"
    shared = table._replace(codes=np.array([0, 1, 1]))
    assert level_name(shared, 1) == "other"
    assert count_codes(table) == 3 and count_codes(None) == 255


def test_view_of_a_small_tree():
    seen = view_tree(ModelOfTree(), prefix="x{}")
    assert seen.children == [[1, 2], [], [3, 4], [], []]
    assert seen.names == ["x0", "x1"] and seen.tables == () and seen.used == {0, 1}
    assert seen.tests == [
        None,
        Condition(1, "<=", 0.5),
        Condition(1, ">", 0.5, missing=True),
        Condition(0, "<=", -1.0, missing=True),
        Condition(0, ">", -1.0),
    ]
    leaves = dict(seen.leaves())
    assert list(leaves) == [1, 3, 4]  # from left to right
    assert leaves[3] == (seen.tests[2], seen.tests[3])
    assert not has_branch_per_level(seen, 0)


def rows_of_leaves(model, X):
    """The leaf of each row by the conditions of the view."""
    codes = rows_as_codes(model, X)
    found = np.full(len(codes), -1)
    for leaf, way in view_tree(model).leaves():
        passes = np.all([c.holds(codes) for c in way], axis=0)
        assert (found[passes] == -1).all()  # no row is in two leaves
        found[passes] = leaf
    return found


def test_conditions_lead_to_the_leaves_of_the_rows(rng):
    X = np.empty((150, 3), object)
    X[:, 0] = rng.choice(list("abcdef"), 150)
    X[:, 1] = rng.uniform(0, 360, 150)
    X[:, 2] = rng.normal(size=150)
    X[rng.random(150) < 0.1, 2] = NAN
    y = np.isin(X[:, 0], ["a", "d"]) ^ (X[:, 1].astype(float) > 150)
    model = DecisionTreeClassifier(
        categorical_features=[0], directional_features={1: 360.0}, random_state=0
    ).fit(X, y)
    assert view_tree(model).used == {0, 1} or view_tree(model).used == {0, 1, 2}
    np.testing.assert_array_equal(rows_of_leaves(model, X), model.apply(X))


def test_view_of_a_multiway_tree(weather):
    model, X = weather
    seen = view_tree(model)
    assert len(seen.children[0]) == 3 and has_branch_per_level(seen, 0)
    assert seen.names == list(X.columns)
    np.testing.assert_array_equal(rows_of_leaves(model, X), model.apply(X))
    assert not any(t.missing for t in seen.tests[1:])
    parent, depth = node_parents(model.tree_)
    for v, below in enumerate(seen.children):
        assert (parent[below] == v).all() and (depth[below] == depth[v] + 1).all()


def test_thresholds_of_a_multiway_tree():
    from pansophy.tree import C45Classifier

    X = np.arange(20.0)[:, None]
    model = C45Classifier().fit(X, (X[:, 0] > 7).astype(int))
    tests = view_tree(model).tests[1:]
    assert [t.sign for t in tests] == ["<=", ">"]
    assert 7 <= tests[0].value == tests[1].value <= 8
    assert not has_branch_per_level(view_tree(model), 0)


def test_names_of_columns_and_classes():
    model = ModelOfTree()
    assert feature_names_of(model, None) == ["feature_0", "feature_1"]
    assert feature_names_of(model, ["a", 3]) == ["a", "3"]
    named = ModelOfTree(feature_names_in_=np.array(["u", "v"], object))
    assert feature_names_of(named, None) == ["u", "v"]
    with pytest.raises(ValueError, match="must contain 2 elements, got 1"):
        feature_names_of(model, ["a"])
    assert class_names_of(model) is None and input_encoder_of(model) is None
    classes = ModelOfTree(classes_=np.array([0, 1]))
    assert class_names_of(classes) == ["0", "1"]
    assert class_names_of(classes, ["no", "yes"]) == ["no", "yes"]
    with pytest.raises(ValueError, match="must contain 2 elements, got 3"):
        class_names_of(classes, list("abc"))
    assert class_names_of(ModelOfTree(classes_=[np.arange(2)] * 2)) is None


def test_what_is_not_one_tree():
    forest = RandomForestClassifier(2, max_depth=1, random_state=0)
    with pytest.raises(TypeError, match="RandomForestClassifier is not one tree"):
        fitted_tree(forest.fit([[0.0], [1.0]], [0, 1]))
    with pytest.raises(Exception, match="not fitted"):
        fitted_tree(DecisionTreeRegressor())


def test_sets_and_angles_in_words():
    from pansophy.tree.growing.input_encoding import AngleCodes, InputEncoder

    X = np.array([["red"], ["green"], ["blue"], ["black"]], object)
    tables = InputEncoder.learn(X, [0]).tables  # black 0, blue 1, green 2, red 3
    among = lambda codes, **how: Condition(0, "in", codes=frozenset(codes), **how)
    words = lambda codes, **how: among(codes, **how).words(
        ["colour"], tables, missing=True
    )
    assert words([2]) == "colour = green"
    assert words([0, 3], missing=True) == "colour in {black, red} or missing"
    circle = AngleCodes(360.0, np.array([0.1, 0.35, 0.6, 0.85]))
    assert angle_interval(circle, frozenset([3, 0]), 0) == "[306, 126)"
    assert angle_interval(circle, frozenset([1]), 0) == "[126, 216)"
    x = np.array([[0.0], [3.0], [np.nan]], np.float32)
    test = Condition(0, "in", codes=frozenset([3]), missing=True)
    assert test.holds(x).tolist() == [False, True, True]

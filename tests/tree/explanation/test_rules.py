"""Rules of a tree: exclusive, exhaustive, the same answers; shorter after pruning."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_classification

from pansophy import datasets, persist
from pansophy.tree import (
    C45Classifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    export_rules,
    extract_rules,
    prune_rules,
)


@pytest.fixture(scope="module")
def weather():
    table = datasets.load_weather().table
    return table.drop_columns(["Play"]).to_pandas(), np.array(table["Play"].to_pylist())


def test_five_rules_of_the_weather(weather):
    X, y = weather
    model = ID3Classifier().fit(X, y)
    assert export_rules(model) == [
        "if Outlook = Overcast then class: yes",
        "if Outlook = Rainy and Humidity = High then class: no",
        "if Outlook = Rainy and Humidity = Normal then class: yes",
        "if Outlook = Sunny and Windy = FALSE then class: yes",
        "if Outlook = Sunny and Windy = TRUE then class: no",
    ]
    rules = extract_rules(model)
    assert rules.unused == ["Temp"]
    assert str(rules).endswith("never used: Temp")
    fits = rules.covers(X)
    np.testing.assert_array_equal(fits.sum(axis=1), 1)
    np.testing.assert_array_equal(rules.predict(X), model.predict(X))
    # every combination of levels, also those never seen together
    every = [X[c].unique() for c in X]
    grid = type(X)(np.array(np.meshgrid(*every)).reshape(4, -1).T, columns=X.columns)
    assert len(grid) == 36
    np.testing.assert_array_equal(rules.covers(grid).sum(axis=1), 1)
    np.testing.assert_array_equal(rules.predict(grid), model.predict(grid))


def test_rules_of_thresholds_and_levels(weather):
    X, y = weather
    rng = np.random.default_rng(0)
    X = X.assign(Wind=rng.normal(size=14), Sun=rng.normal(size=14))
    model = C45Classifier(confidence=None, min_samples_leaf=1).fit(X, y)
    rules = extract_rules(model)
    np.testing.assert_array_equal(rules.covers(X).sum(axis=1), 1)
    np.testing.assert_array_equal(rules.predict(X), model.predict(X))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_rules_part_the_space(seed, classes):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(0, 3, 60)
    cls = DecisionTreeClassifier if classes else DecisionTreeRegressor
    model = cls(max_depth=5).fit(X, y)
    rules = extract_rules(model)
    Z = rng.normal(size=(200, 3))
    Z[rng.random(Z.shape) < 0.2] = np.nan
    np.testing.assert_array_equal(rules.covers(Z).sum(axis=1), 1)
    np.testing.assert_array_equal(rules.predict(Z), model.predict(Z))
    assert len(rules) == model.get_n_leaves()
    for rule in rules:  # at most one lower and one upper limit per column
        keys = [(t.feature, t.sign) for t in rule.tests]
        assert len(keys) == len(set(keys))


def test_table(weather):
    iris = load_iris()
    model = DecisionTreeClassifier(max_depth=2).fit(iris.data, iris.target)
    table = extract_rules(model, feature_names=iris.feature_names).table()
    assert {len(column) for column in table.values()} == {model.get_n_leaves()}
    assert sum(table["rows"]) == 150
    assert table["class"] == [0, 1, 2]
    assert table["conditions"][0].startswith("petal ")
    import pandas as pd

    assert pd.DataFrame(table).shape == (3, 7)
    numbers = DecisionTreeRegressor(max_depth=1).fit(iris.data, iris.target)
    assert extract_rules(numbers).table()["value"] == [0.0, 1.5]
    both = DecisionTreeRegressor(max_depth=1).fit(iris.data, iris.data[:, :2])
    assert np.shape(extract_rules(both).table()["value"]) == (2, 2)


def test_missing_is_said_on_request():
    X = np.array([[1.0], [2.0], [np.nan], [3.0], [4.0]])
    model = DecisionTreeClassifier().fit(X, [0, 0, 1, 1, 1])
    assert export_rules(model, show_missing=True) == [
        "if feature_0 <= 2.50 then class: 0",
        "if feature_0 > 2.50 or missing then class: 1",
    ]
    root = DecisionTreeClassifier().fit(X, np.zeros(5))
    assert export_rules(root) == ["if true then class: 0.0"]


@pytest.fixture(scope="module")
def noisy():
    X, y = make_classification(
        900, 8, n_informative=4, n_classes=3, flip_y=0.2, random_state=0
    )
    model = DecisionTreeClassifier().fit(X[:300], y[:300])
    return model, (X[300:600], y[300:600]), (X[600:], y[600:])


def estimate(rule, mask, y):
    k = rule.value[0].argmax()
    return (np.sum(y[mask] == k) + 1) / (mask.sum() + 3)


def test_pruned_rules_cover_more_and_are_no_worse(noisy):
    model, (X, y), _ = noisy
    from pansophy.tree.explanation.rules import shorten_rule
    from pansophy.tree.explanation.tree_view import rows_as_codes

    rules = extract_rules(model)
    codes, dropped = rows_as_codes(model, X), 0
    for rule in rules:
        right = (y == rule.value[0].argmax()).astype(float)
        short = shorten_rule(rule, codes, np.ones(len(y)), right, 3)
        assert set(short.tests) <= set(rule.tests)
        before, after = rule.covers(codes), short.covers(codes)
        assert np.all(after[before])  # coverage only grows
        assert estimate(short, after, y) >= estimate(rule, before, y) - 1e-12
        assert short.confidence == pytest.approx(estimate(short, after, y))
        dropped += len(rule.tests) - len(short.tests)
        again = shorten_rule(short, codes, np.ones(len(y)), right, 3)
        assert again.tests == short.tests
    assert dropped > 100


def test_pruned_rule_list(noisy, tmp_path):
    model, held, fresh = noisy
    pruned = prune_rules(model, *held)
    order = [rule.confidence for rule in pruned]
    assert order == sorted(order, reverse=True)
    assert len(pruned) < len(extract_rules(model))
    assert pruned.score(*fresh) > model.score(*fresh)
    every = prune_rules(model, *held, keep_all=True)
    assert len(every) > len(pruned)
    assert every.score(*held) == pytest.approx(pruned.score(*held))
    persist.save(pruned, tmp_path / "rules")
    again = persist.load(tmp_path / "rules")
    np.testing.assert_array_equal(again.predict(fresh[0]), pruned.predict(fresh[0]))


def test_rules_weights_are_repetition(noisy):
    model, (X, y), _ = noisy
    w = np.random.default_rng(0).integers(0, 3, len(y))
    a = prune_rules(model, X, y, w)
    b = prune_rules(model, np.repeat(X, w, axis=0), np.repeat(y, w))
    assert [str(r.tests) for r in a] == [str(r.tests) for r in b]


def test_rules_of_weather_are_shortened(weather):
    X, y = weather
    pruned = prune_rules(ID3Classifier().fit(X, y), X, y)
    assert pruned.score(X, y) >= 12 / 14
    with pytest.raises(TypeError, match="classification tree"):
        prune_rules(DecisionTreeRegressor().fit([[1], [2]], [1, 2]), [[1]], [1])


def test_rules_have_their_names_already():
    X, y = [[1, 3], [2, 1], [3, 2], [4, 1]], ["a", "a", "b", "b"]
    rules = extract_rules(DecisionTreeClassifier().fit(X, y))
    with pytest.raises(TypeError, match="feature_names"):
        prune_rules(rules, X, y, feature_names=["u", "v"])

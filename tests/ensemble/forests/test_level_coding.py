"""Ensembles of trees that read words: as the tree alone, by name, number or dtype."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import pansophy
from pansophy.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    HistGradientBoostingRegressor,
)
from pansophy.ensemble.forests.level_coding import learn_level_coding
from pansophy.tree import DecisionTreeClassifier, DecisionTreeRegressor


@pytest.fixture(scope="module")
def frame():
    rng, n = np.random.default_rng(0), 200
    X = pd.DataFrame(
        {
            "word": rng.choice(list("pqrst"), n),
            "size": rng.normal(size=n),
            "wind": rng.uniform(0, 360, n),
            "kind": pd.Categorical(rng.choice(["u", "v", None], n)),
        }
    )
    y = np.where(X["word"].isin(["p", "s"]) ^ (X["kind"] == "v"), "yes", "no")
    return X, y


@pytest.mark.parametrize(
    "words", [["word", "kind"], "from_dtype", [0, 3], [True, False, False, True]]
)
def test_one_member_is_the_tree(frame, words):
    X, y = frame
    winds = {"wind" if isinstance(words[0], str) else 2: 360.0}
    tree = DecisionTreeClassifier(
        categorical_features=words, directional_features=winds, max_depth=4
    )
    bag = BaggingClassifier(tree, 1, bootstrap=False).fit(X, y)
    new = X.assign(word="never seen")
    for Z in (X, new):
        expected = clone(tree).fit(X, y).predict_proba(Z)
        np.testing.assert_array_equal(bag.predict_proba(Z), expected)
    assert bag.feature_names_in_.tolist() == X.columns.tolist()
    with pytest.raises(ValueError, match="same order"):
        bag.predict(X[X.columns[::-1]])


def test_members_that_draw_columns_know_where_words_are(frame):
    X, y = frame
    tree = DecisionTreeClassifier(categorical_features=["word", "kind"])
    bag = BaggingClassifier(tree, 12, max_features=2, random_state=0).fit(X, y)
    for model, columns in zip(bag.estimators_, bag.estimators_features_):
        expected = np.isin(columns, [0, 3])
        np.testing.assert_array_equal(model.inputs_.is_categorical, expected)
    assert bag.score(X, y) > 0.9
    angles = clone(tree).set_params(directional_features={"wind": 360.0})
    coding = learn_level_coding(angles, X)
    member = coding.template_for_columns(angles, np.array([2, 3]))
    assert member.directional_features == {0: 360.0}
    assert member.categorical_features.tolist() == [False, True]


def test_any_ensemble_frame_and_criterion(frame, tmp_path):
    X, y = frame
    tree = DecisionTreeClassifier(categorical_features=["word", "kind"], max_depth=2)
    boosted = AdaBoostClassifier(tree, n_estimators=5).fit(X, y)
    assert boosted.score(X, y) > 0.9
    bag = BaggingClassifier(tree, 3, random_state=0, oob_score=True)
    with pytest.warns(UserWarning, match="drawn by every member"):
        bag.fit(X, y)
    with pytest.warns(UserWarning, match="drawn by every member"):
        again = clone(bag).fit(pl.from_pandas(X), y)
    np.testing.assert_array_equal(again.predict(pl.from_pandas(X)), bag.predict(X))
    pansophy.save(bag, tmp_path / "bag")
    loaded = pansophy.load(tmp_path / "bag")
    np.testing.assert_array_equal(loaded.predict(X), bag.predict(X))
    t = np.where(y == "yes", 1.0, 3.0)
    poisson = DecisionTreeRegressor(categorical_features=[0, 3], criterion="poisson")
    for member in (poisson, HistGradientBoostingRegressor(max_iter=20)):
        assert BaggingRegressor(member, 3, random_state=0).fit(X, t).score(X, t) > 0.8


def test_more_rounds_keep_the_codes(frame):
    X, y = frame
    tree = DecisionTreeClassifier(categorical_features=["word"])
    bag = BaggingClassifier(tree, 2, warm_start=True, random_state=0)
    bag.fit(X[["word"]], y)
    bag.set_params(n_estimators=4).fit(X[["word"]].replace("p", "a"), y)
    assert bag.coding_.inputs.tables[0].values.tolist() == list("pqrst")

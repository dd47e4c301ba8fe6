"""Members of ensembles: seeds, draws, warm starts and interruptions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from pansophy import ensemble
from pansophy.base import InterruptedFitWarning
from pansophy.ensemble import bagging, members
from pansophy.ensemble.forests import isolation_forest, rotation_forest
from pansophy.ensemble.members import (
    ResamplingPlan,
    bootstrap_counts,
    draw_feature_subset,
    member_seeds,
    number_of_columns_to_draw,
    number_of_rows_to_draw,
    share_of_distinct_rows,
)

WARM = [
    ensemble.BaggingClassifier(n_estimators=2, random_state=0),
    ensemble.RandomForestClassifier(n_estimators=2, random_state=0),
    ensemble.ExtraTreesClassifier(n_estimators=2, random_state=0),
    ensemble.GradientBoostingClassifier(n_estimators=2),
    ensemble.HistGradientBoostingClassifier(max_iter=2),
    ensemble.IsolationForest(n_estimators=2, random_state=0),
    ensemble.RandomTreesEmbedding(n_estimators=2, random_state=0),
]


NAMED = {"argvalues": WARM, "ids": lambda m: type(m).__name__}


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    return X, (X[:, 0] > 0).astype(int)


def more(model):
    name = "max_iter" if hasattr(model, "max_iter") else "n_estimators"
    return model.set_params(**{name: 4})


@pytest.mark.parametrize("model", **NAMED)
def test_warm_start_keeps_the_columns(model, data):
    X, y = data
    model = clone(model).set_params(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="2 columns, but warm_start"):
        more(model).fit(X[:, :2], y)
    assert model.n_features_in_ == 4
    model.fit(X, y)


@pytest.mark.parametrize("model", WARM[:5], ids=NAMED["ids"])
def test_warm_start_keeps_the_classes(model, data):
    X, y = data
    model = clone(model).set_params(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="classes"):
        more(model).fit(X, y + 1)
    assert model.fit(X, y).classes_.tolist() == [0, 1]


def test_warm_forests_keep_the_codes_of_levels():
    level = np.array(["b", "c"] * 30)
    y = (level == "b").astype(float)
    model = ensemble.RandomForestRegressor(
        2, random_state=0, warm_start=True, categorical_features=["x"]
    ).fit(pd.DataFrame({"x": level}), y)
    fresh = np.where(level == "b", "a", level)  # a level more, sorted before the others
    model.set_params(n_estimators=3).fit(pd.DataFrame({"x": fresh}), y)
    assert model.inputs_.tables[0].values.tolist() == ["b", "c"]


@pytest.mark.parametrize(
    "model",
    [ensemble.RandomForestClassifier(), ensemble.IsolationForest()],
    ids=NAMED["ids"],
)
def test_a_fit_cut_short_leaves_no_model(model, data, monkeypatch):
    X, y = data

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(model), "_resampling", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize(
    "model",
    [
        ensemble.BaggingClassifier(n_estimators=5, random_state=0, oob_score=True),
        ensemble.BaggingClassifier(LogisticRegression(), 5, random_state=0),
        ensemble.BaggingRegressor(n_estimators=5, random_state=0, max_features=0.5),
        ensemble.RotationForestClassifier(n_estimators=5, random_state=0),
        ensemble.RotationForestRegressor(n_estimators=5, random_state=0),
        ensemble.IsolationForest(n_estimators=5, random_state=0, contamination=0.1),
    ],
    ids=NAMED["ids"],
)
@pytest.mark.filterwarnings("ignore:.*drawn by every")
def test_an_interrupted_fit_keeps_its_members(model, data, monkeypatch):
    X, y = data
    whole = clone(model).fit(X, y)
    collect = members.collect_members

    def cut(made, after):
        for k, member in enumerate(made):
            if k == after:
                raise KeyboardInterrupt
            yield member

    for module in (bagging, rotation_forest, isolation_forest):
        stopped = lambda m, made, *a, **kw: collect(m, cut(made, after), *a, **kw)
        monkeypatch.setattr(module, "collect_members", stopped)
    after = 0
    with pytest.raises(KeyboardInterrupt):  # nothing to keep
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    after = 2
    with pytest.warns(InterruptedFitWarning, match="after 2 .*usable"):
        model.fit(X, y)
    monkeypatch.undo()
    short = clone(model).set_params(n_estimators=2).fit(X, y)
    assert len(model) == len(model.estimators_) == 2
    np.testing.assert_array_equal(model.predict(X), short.predict(X))
    if not hasattr(model, "estimators_samples_"):
        return
    assert len(model.estimators_samples_) == len(model.estimators_features_) == 2
    if not getattr(model, "oob_score", False):  # goes on where it stopped
        model.set_params(warm_start=True).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), whole.predict(X))
        assert len(model.estimators_samples_) == 5


@pytest.mark.parametrize(
    "model",
    [
        ensemble.VotingClassifier([("a", ensemble.AdaBoostClassifier())]),
        ensemble.StackingClassifier([("a", ensemble.AdaBoostClassifier())]),
        ensemble.RandomForestClassifier(2),
    ],
    ids=NAMED["ids"],
)
@pytest.mark.parametrize("gone", [None, np.nan, pd.NA], ids=str)
def test_missing_labels_are_named(model, gone, data):
    y = np.array(["a", "b", gone] * 20, object)
    with pytest.raises(ValueError, match="y contains NaN"):
        model.fit(data[0], y)


def test_isolation_leaves_rows_of_weight_zero_out(data):
    X = data[0]
    model = ensemble.IsolationForest(n_estimators=20, random_state=0)
    w = np.repeat([1.0, 0.0], [20, 40])
    assert model.fit(X, sample_weight=w).max_samples_ == 20
    assert np.mean(model.predict(X[:20]) == 1) > 0.5


def test_rows_on_disk_are_refused_by_experts(data):
    import pyarrow as pa

    X, y = data
    table = pa.table({"a": X[:, 0], "b": X[:, 1]})
    with pytest.raises(TypeError, match="rows in memory"):
        ensemble.MixtureOfExperts().fit(table, y)


def test_distinct_share_tends_to_one_less_one_over_e():
    rng = np.random.default_rng(0)
    shares = [share_of_distinct_rows(bootstrap_counts(rng, 20_000)) for _ in range(5)]
    np.testing.assert_allclose(shares, 1 - np.exp(-1), atol=0.01)


@pytest.mark.parametrize("f", [10, 100, 1000])
def test_exact_distinct_share(f):
    rng = np.random.default_rng(1)
    shares = [share_of_distinct_rows(bootstrap_counts(rng, f)) for _ in range(4000)]
    exact = 1 - (1 - 1 / f) ** f
    assert np.mean(shares) == pytest.approx(exact, abs=0.012 / np.sqrt(f / 10))


def test_counts_follow_the_weights():
    p = np.array([0.0, 0.1, 0.2, 0.7, 0.0])
    counts = bootstrap_counts(np.random.default_rng(0), 5, 20_000, p)
    assert counts.sum() == 20_000
    assert counts[0] == counts[4] == 0
    np.testing.assert_allclose(counts / 20_000, p, atol=0.02)


def test_seeds_do_not_depend_on_how_many_are_asked_for():
    long = member_seeds(7, 20)
    np.testing.assert_array_equal(member_seeds(7, 5), long[:5])
    np.testing.assert_array_equal(member_seeds(7, 20, skip=5), long[5:])


def test_a_plan_draws_the_same_again():
    plan = ResamplingPlan(50, 9, 30, 4, False, False)
    columns, counts = plan.draw(3)
    assert len(np.unique(columns)) == 4
    assert counts.sum() == 30
    assert counts.max() == 1
    for a, b in zip(plan.draw(3), (columns, counts)):
        np.testing.assert_array_equal(a, b)
    assert len(draw_feature_subset(np.random.default_rng(0), 5, 9, True)) == 9


def test_sizes():
    assert number_of_rows_to_draw(None, 10) == 10
    assert number_of_rows_to_draw(7, 10) == 7
    assert number_of_rows_to_draw(0.5, 10) == 5
    assert number_of_rows_to_draw(0.5, 10, np.full(10, 3.0)) == 15
    assert number_of_rows_to_draw(0.001, 10) == 1
    assert number_of_columns_to_draw(0.01, 10) == 1
    assert number_of_columns_to_draw(3, 10) == 3

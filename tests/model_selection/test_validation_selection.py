"""Choosing on rows kept for it: select, tune, nested folds, test rows under lock."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pansophy.compare import (
    ThreeWaySplit,
    parameters_of,
    select_on_validation,
    train_validation_test_split,
    tune_hyperparameters,
)
from pansophy.datasets import make_ratings
from pansophy.linear_model import LogisticRegression, Ridge
from pansophy.recommend import BiasModel, Ratings
from tests.compare.evaluation.spies import Spy


@pytest.fixture
def rows():
    Spy.diary.clear()
    return np.arange(40.0)[:, None], np.full(40, 2.0)


def test_three_way():
    parts = train_validation_test_split(100, (0.5, 0.3, 0.2), random_state=1)
    assert [len(p) for p in parts] == [50, 30, 20]
    assert sorted(np.concatenate(parts)) == list(range(100))
    again = train_validation_test_split(100, (0.5, 0.3, 0.2), random_state=1)
    assert all(np.array_equal(a, b) for a, b in zip(parts, again))
    y = np.repeat([0, 1], [80, 20])
    assert [y[p].sum() for p in train_validation_test_split(100, y=y)] == [12, 4, 4]


def test_select_reads_the_test_part_once(rows):
    X, y = rows
    found = select_on_validation((Spy(), {"c": [5.0, 1.5, 0.0]}), X, y, refit=True)
    assert found.best == "c=1.5"
    assert [t.loss for t in found.table] == [9.0, 0.25, 4.0]  # squared, no penalty
    assert min(t.loss for t in found.table) == 0.25 and found.test_loss == 0.25
    test = set(found.split.test.tolist())
    touched = [entry for entry in Spy.diary if test & set(entry[2])]
    assert len(touched) == 1 and touched[0] is Spy.diary[-1]
    assert touched[0][:2] == ("predict", 1.5)
    last_fit = [e for e in Spy.diary if e[0] == "fit"][-1]
    assert len(last_fit[2]) == 32  # training and validation rows
    assert "which had no part" in str(found)


def test_select_penalised_models_by_unpenalised_loss(rng):
    X = rng.normal(size=(90, 4))
    y = X @ [1.0, -1, 0, 0] + 0.5 * rng.normal(size=90)
    split = ThreeWaySplit(np.arange(50), np.arange(50, 70), np.arange(70, 90))
    found = select_on_validation(
        (Ridge(), {"alpha": [0.01, 10.0, 1e4]}), X, y, split=split, refit=False
    )
    for row, alpha in zip(found.table, [0.01, 10.0, 1e4]):
        model = Ridge(alpha=alpha).fit(X[:50], y[:50])
        assert row.loss == pytest.approx(
            np.mean((model.predict(X[50:70]) - y[50:70]) ** 2)
        )
    off = found.model.predict(X[70:]) - y[70:]
    assert found.test_loss == pytest.approx(np.mean(off**2))


def test_select_classes_by_log_loss(rng):
    X = rng.normal(size=(200, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=200) > 0, "yes", "no")
    found = select_on_validation(
        {"weak": LogisticRegression(C=1e-6), "free": LogisticRegression()}, X, y
    )
    assert found.best == "free" and found.test_loss < 0.5
    assert found.table[0].loss == pytest.approx(np.log(2), abs=0.01)


def test_select_ratings_over_observed_cells():
    frame = make_ratings(100, 60, 2500, random_state=0)
    ratings = Ratings.from_frame(frame)
    candidates = {"flat": BiasModel(1e9, reg_item=1e9), "bias": BiasModel()}
    found = select_on_validation(candidates, ratings, random_state=0)
    assert found.best == "bias" and found.test_loss < found.table[0].loss
    cells = [set(zip(ratings.users[p], ratings.items[p])) for p in found.split]
    assert sum(map(len, cells)) == len(ratings.values) == len(set().union(*cells))
    pairs = np.column_stack([ratings.users, ratings.items])
    again = select_on_validation(candidates, pairs, ratings.values, split=found.split)
    assert again.test_loss == pytest.approx(found.test_loss)


def test_select_bad_input(rows):
    X, y = rows
    for wrong, words in [
        (lambda: select_on_validation([], X, y), "at least one estimator"),
        (lambda: select_on_validation([Spy()], X[:2], y[:2]), "too few for three"),
        (
            lambda: select_on_validation([Spy()], X, y, split=([0, 1], [1], [2])),
            "share rows",
        ),
        (
            lambda: select_on_validation([Spy()], X, y, split=([0], [], [2])),
            "at least one row",
        ),
        (
            lambda: select_on_validation([Spy()], X, y, split=([0], [1], [99])),
            "outside 0 to 39",
        ),
        (lambda: select_on_validation([Spy(np.nan)], X, y), "finite validation loss"),
        (lambda: train_validation_test_split(9, (1, 0, 0)), "three numbers above 0"),
        (lambda: select_on_validation([Spy()], X, y[:5]), "X has 40 rows"),
    ]:
        with pytest.raises((ValueError, TypeError), match=words):
            wrong()


def test_tune_is_arg_best_whatever_the_order(rng):
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + rng.normal(size=60)
    alphas = [0.01, 1.0, 30.0, 1e4]
    forward = tune_hyperparameters(Ridge(), {"alpha": alphas}, X, y, cv=KFold(4))
    backward = tune_hyperparameters(Ridge(), {"alpha": alphas[::-1]}, X, y, cv=KFold(4))
    assert forward.best == backward.best and forward.table == backward.table
    assert forward.score == max(score for _, score in forward.table)
    peer = GridSearchCV(Ridge(), {"alpha": alphas}, cv=KFold(4)).fit(X, y)
    assert forward.best == peer.best_params_
    assert np.allclose(forward.model.coef_, Ridge(**forward.best).fit(X, y).coef_)
    tie = [
        tune_hyperparameters(Spy(), {"c": c}, X, y).best for c in ([1.0, 1], [1, 1.0])
    ]
    assert tie[0] == tie[1] and type(tie[0]["c"]) is type(tie[1]["c"])
    drawn = tune_hyperparameters(
        Ridge(), {"alpha": alphas}, X, y, n_iter=2, random_state=0
    )
    assert len(drawn.table) == 2


def test_tune_scores_by_the_metric_of_the_task(rng):
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + rng.normal(size=80) > 0.8).astype(int)
    space = {"C": [1e-6, 1.0]}
    by = {
        s: tune_hyperparameters(LogisticRegression(), space, X, y, scoring=s)
        for s in ("f1", "accuracy")
    }
    assert by["f1"].score < by["accuracy"].score
    nothing = pytest.raises(ValueError, match="finite score")
    with pytest.warns(UserWarning, match="[Ss]core"), nothing:
        tune_hyperparameters(Spy(), {"c": [np.nan]}, X, y, scoring="r2")


def test_parameters_are_listed_apart(rng):
    model = make_pipeline(StandardScaler(), Ridge(alpha=3.0))
    before = parameters_of(model)
    assert before.preset["ridge__alpha"] == 3.0 and not before.fitted
    X = rng.normal(size=(20, 2))
    after = parameters_of(model.fit(X, X[:, 0]))
    assert after.preset == before.preset
    assert {"ridge__coef_", "standardscaler__mean_"} <= set(after.fitted)
    assert not set(after.preset) & set(after.fitted)
    assert "fitted: " in str(after)
    with pytest.raises(TypeError, match="no estimator"):
        parameters_of(3)

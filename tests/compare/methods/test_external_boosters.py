"""Boosters of other libraries: right, quiet, repeatable, saved without pickle."""

import importlib.util

import numpy as np
import pytest

import pansophy
from pansophy.compare.methods.external_boosters import (
    BoosterClassifier,
    BoosterRegressor,
)
from pansophy.core.loops import threads

LIBRARIES = ("lightgbm", "xgboost", "catboost")


@pytest.fixture(params=LIBRARIES)
def library(request):
    pytest.importorskip(request.param)
    return request.param


@pytest.fixture(autouse=True)
def one_thread():
    with threads.limit_threads(1):
        yield


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = np.c_[rng.integers(0, 4, n), rng.normal(size=(n, 3))]
    f = 2.0 * (X[:, 0] == 2) + X[:, 1]
    X[rng.random(n) < 0.1, 0] = np.nan
    X[rng.random(n) < 0.1, 2] = np.nan
    return X, f, rng


def test_numbers_with_categories_and_missing_values(library, tmp_path, capfd):
    X, f, _ = rows()
    model = BoosterRegressor(
        library,
        n_estimators=60,
        min_samples_leaf=5,
        categorical_features=[0],
        random_state=0,
    )
    w = np.ones(len(X))
    model.fit(X[:200], f[:200], w[:200])
    p = model.predict(X[200:])
    assert np.mean((p - f[200:]) ** 2) < 0.6 * np.var(f[200:])
    again = BoosterRegressor(**model.get_params()).fit(X[:200], f[:200])
    assert np.array_equal(again.predict(X[200:]), p)
    pansophy.save(model, tmp_path / "m.pansophy")
    loaded = pansophy.load(tmp_path / "m.pansophy")
    assert np.array_equal(loaded.predict(X[200:]), p)
    unseen = np.array([[9.0, 0.0, 0.0, 0.0], [np.nan] * 4])
    assert np.isfinite(model.predict(unseen)).all()
    out = capfd.readouterr()
    assert out.out == "" and out.err == ""


@pytest.mark.parametrize("k", [2, 3])
def test_classes(library, k):
    X, f, _ = rows()
    y = np.digitize(f, np.quantile(f, np.arange(1, k) / k))
    names = np.array(["a", "b", "c"])[y]
    model = BoosterClassifier(
        library,
        n_estimators=30,
        min_samples_leaf=5,
        categorical_features=[0],
        random_state=0,
    )
    model.fit(X[:200], names[:200])
    p = model.predict_proba(X[200:])
    assert p.shape == (100, k) and np.allclose(p.sum(1), 1, atol=1e-6)
    assert np.mean(model.predict(X[200:]) == names[200:]) > 0.6
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.zeros(len(X), int))


def trees_in(model) -> int:
    """Rounds that a fitted booster keeps."""
    count = {"lightgbm": "num_trees", "xgboost": "num_boosted_rounds"}
    if model.library == "catboost":
        return model.booster.tree_count_
    return getattr(model.booster, count[model.library])()


def test_rows_set_aside_say_when_to_stop(library):
    X, f, rng = rows(600)
    y = f + 2.0 * rng.normal(size=600)
    told = {
        "n_estimators": 300,
        "learning_rate": 0.2,
        "categorical_features": [0],
        "random_state": 0,
    }
    whole = BoosterRegressor(library, **told).fit(X[:400], y[:400])
    model = BoosterRegressor(library, **told, patience=10).fit(X[:400], y[:400])
    assert trees_in(whole) == 300 and 1 <= trees_in(model) < 100
    miss = lambda m: np.mean((m.predict(X[400:]) - f[400:]) ** 2)
    assert miss(model) < miss(whole)
    w = np.ones(400)
    again = BoosterRegressor(library, **told, patience=10).fit(X[:400], y[:400], w)
    assert np.allclose(again.predict(X), model.predict(X))
    classes = BoosterClassifier(library, **told, patience=10).fit(X, y > 1)
    assert trees_in(classes) < 100
    one = np.r_[np.zeros(39), 1].astype(int)  # of a single row none is set aside
    few, all_of_them = (
        BoosterClassifier(library, **told, patience=k).fit(X[:40], one) for k in (10, 0)
    )
    assert np.array_equal(few.predict_proba(X), all_of_them.predict_proba(X))


def test_counts_and_weights(library):
    X, f, rng = rows()
    y = rng.poisson(np.exp(0.5 * f))
    model = BoosterRegressor(
        library,
        objective="poisson",
        n_estimators=40,
        min_samples_leaf=5,
        random_state=0,
    )
    p = model.fit(X, y).predict(X)
    assert p.min() > 0 and p.mean() == pytest.approx(y.mean(), rel=0.1)
    heavy = model.fit(X, y, np.where(y > 2, 20.0, 1.0)).predict(X)
    assert heavy.mean() > 1.3 * p.mean()


def test_threads_are_the_budget(library, monkeypatch):
    told = []
    monkeypatch.setattr(threads, "usable_threads", lambda: told.append(1) or 1)
    X, f, _ = rows(60)
    BoosterRegressor(library, n_estimators=3, min_samples_leaf=5).fit(X, f).predict(X)
    assert len(told) >= 2


def test_absence_is_no_trouble():
    assert {n: importlib.util.find_spec(n) is not None for n in LIBRARIES}
    assert BoosterRegressor().get_params()["library"] == "lightgbm"

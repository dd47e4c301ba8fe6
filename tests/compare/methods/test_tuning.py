"""Settings found inside a fit: from training rows only, cut as the folds are."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

import pansophy
from pansophy.compare.methods.method import FitContext
from pansophy.compare.methods.pipelines import (
    fit_pipeline,
    learned_choices,
    make_pipeline,
)
from pansophy.compare.methods.portfolio import METHODS
from pansophy.compare.methods.tuning import (
    BayesianSearch,
    RandomSearch,
    Tuned,
    quantile_of_value,
    sample_setting,
    value_at_quantile,
)
from pansophy.compare.splits import inner_folds
from pansophy.linear_model import LogisticRegression, Ridge
from pansophy.tables import Column, MixedFrame, Schema

SPACE = {"model__alpha": ("log", 1e-3, 1e4)}


class Spy(RegressorMixin, BaseEstimator):
    """A mean that remembers which rows it was shown (their number is column 0)."""

    seen: list = []

    def __init__(self, alpha=1.0):
        self.alpha = alpha

    def fit(self, X, y, sample_weight=None):
        Spy.seen.append(("fit", X[:, 0].astype(int), sample_weight))
        self.mean_ = np.average(y, weights=sample_weight) / (1 + self.alpha)
        return self

    def predict(self, X):
        Spy.seen.append(("predict", X[:, 0].astype(int), None))
        return np.full(len(X), self.mean_)


def piped(model):
    return Pipeline([("prepare", "passthrough"), ("model", model)])


def numbers(n=90, d=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + 2 * rng.normal(size=n)


@pytest.mark.parametrize("search", ["bayesian", "optuna", "random"])
def test_outer_test_rows_are_never_seen(search):
    if search == "optuna":
        pytest.importorskip("optuna")
    Spy.seen.clear()
    X = np.c_[np.arange(100.0), np.zeros(100)]
    y = np.random.default_rng(0).normal(size=100) + 5
    train, test = np.arange(0, 100, 2), np.arange(1, 100, 2)
    model = Tuned(piped(Spy()), SPACE, n_trials=6, search=search)
    fit_pipeline(model, X[train], y[train])
    assert len(Spy.seen) > 12
    assert not set(np.concatenate([rows for _, rows, _ in Spy.seen])) & set(test)
    # within: what a setting is judged on was not what it was fitted to
    for (a, fitted, _), (b, judged, _) in zip(Spy.seen[:-1], Spy.seen[1:]):
        if (a, b) == ("fit", "predict"):
            assert not set(fitted) & set(judged)
    # the last fit is on all training rows, with the best setting
    kind, rows, _ = Spy.seen[-1]
    assert kind == "fit" and sorted(rows) == list(train)


@pytest.mark.parametrize("search", ["bayesian", "optuna", "random"])
def test_finds_what_is_better_and_is_repeatable(search):
    if search == "optuna":
        pytest.importorskip("optuna")
    X, y = numbers()
    made = lambda: Tuned(piped(Ridge()), SPACE, n_trials=15, search=search).fit(X, y)
    a, b = made(), made()
    assert a.chosen_ == b.chosen_ and a.trials_ == b.trials_
    assert a.chosen_["alpha"] > 5
    assert a.trials_[0]["setting"] == {} and a.trials_[0]["finished"]
    best = min(t["loss"] for t in a.trials_ if t["finished"])
    assert best < a.trials_[0]["loss"]
    assert a.pipeline_[-1].alpha == a.chosen_["alpha"]
    assert learned_choices(a) == {"chosen": a.chosen_}
    other = Tuned(piped(Ridge()), SPACE, n_trials=15, random_state=1, search=search)
    assert other.fit(X, y).trials_ != a.trials_


def test_the_budget_is_in_fits_and_hopeless_settings_are_given_up():
    X, y = numbers()
    model = Tuned(piped(Ridge()), SPACE, n_trials=20, search="random").fit(X, y)
    assert len(model.trials_) == 20
    assert model.n_fits_ == sum(t["folds"] for t in model.trials_) + 1
    assert model.n_fits_ < 61 and any(not t["finished"] for t in model.trials_)
    one = Tuned(piped(Ridge()), SPACE, n_trials=1).fit(X, y)
    assert one.chosen_ == {} and one.n_fits_ == 4


def test_weights_groups_and_times_reach_the_inner_folds():
    Spy.seen.clear()
    n = 60
    X, y = np.c_[np.arange(float(n)), np.zeros(n)], np.arange(float(n))
    w, g = np.arange(n) + 1.0, np.arange(n) // 10
    model = Tuned(piped(Spy()), SPACE, n_trials=2)
    fit_pipeline(model, X, y, w, g)
    for kind, rows, weights in Spy.seen[:-1]:
        if kind == "fit":
            assert np.array_equal(weights, w[rows])
    pairs = zip(Spy.seen[0:12:2], Spy.seen[1:12:2])
    for (_, fitted, _), (_, judged, _) in pairs:
        assert not set(g[fitted]) & set(g[judged])
    Spy.seen.clear()
    fit_pipeline(model, X, y, None, None, -np.arange(float(n)))  # later rows first
    for (_, fitted, _), (_, judged, _) in zip(Spy.seen[0:12:2], Spy.seen[1:12:2]):
        assert fitted.min() > judged.max()


def test_inner_folds_are_cut_as_outer_ones():
    y = np.array([0] * 30 + [1] * 6)
    for train, test in inner_folds(y, 3):
        assert np.bincount(y[test]).tolist() == [10, 2]
        assert sorted([*train, *test]) == list(range(36))
    g = np.arange(36) // 3
    for train, test in inner_folds(y, 3, group=g):
        assert not set(g[train]) & set(g[test])
    assert len(inner_folds(np.array([0, 0, 0, 1]), 3)) >= 2  # a class of one row
    times = np.random.default_rng(0).permutation(36)
    for train, test in inner_folds(y.astype(float), 3, time=times):
        assert times[train].max() < times[test].min()
    assert len(inner_folds(y, 3, group=np.zeros(36))) == 3  # one group: no way to part


def test_ranges():
    rng = np.random.default_rng(0)
    space = {
        "a": ("log", 1e-3, 1e3),
        "b": ("int", 2, 4),
        "c": ("log int", 1, 100),
        "d": ("choice", (1,), (2, 3)),
        "e": ("linear", -1.0, 1.0),
    }
    seen = [sample_setting(space, rng) for _ in range(300)]
    assert {s["b"] for s in seen} == {2, 3, 4}
    assert {s["d"] for s in seen} == {(1,), (2, 3)}
    assert np.mean([s["a"] < 1 for s in seen]) == pytest.approx(0.5, abs=0.1)
    assert all(1 <= s["c"] <= 100 and -1 <= s["e"] <= 1 for s in seen)
    assert value_at_quantile(("log int", 1, 100), 0.0) == 1
    with pytest.raises(ValueError, match="no range of kind 'square'"):
        value_at_quantile(("square", 0, 1), 0.5)


@pytest.mark.parametrize(
    "r",
    [
        ("log", 1e-3, 1e3),
        ("linear", -1.0, 1.0),
        ("int", 2, 9),
        ("log int", 1, 100),
        ("choice", "a", None, (1, 2)),
    ],
    ids=lambda r: r[0],
)
def test_places_of_values(r):
    for u in (0.0, 0.2, 0.55, 0.99):
        value = value_at_quantile(r, u)
        assert value_at_quantile(r, quantile_of_value(r, value)) == pytest.approx(value)
    assert quantile_of_value(r, "scale") is None
    assert quantile_of_value(r, 1e9) is None


def test_bayesian_search_learns_from_the_own_setting_and_from_settings_given_up():
    space = {"a": ("linear", 0.0, 1.0), "b": ("choice", "x", "y")}
    search = BayesianSearch(space, 0, {"a": 0.5, "b": "y"})
    search.tell(None, [2.0, 3.0, 4.0], True)
    trial, setting = search.ask()
    assert 0 <= setting["a"] < 1 and setting["b"] in ("x", "y")
    search.tell(trial, [5.0], False)
    # one fold of three: the others lose 1 more on average over all folds
    np.testing.assert_allclose(search.estimated_losses(), [3.0, 6.0])
    search.tell(search.ask()[0], [np.inf], False)
    assert np.isinf(search.estimated_losses()[-1])
    outside = BayesianSearch(space, 0, {"a": 7.0, "b": "y"})
    outside.tell(None, [2.0], True)
    assert len(outside.U) == 0


def test_bayesian_search_needs_fewer_settings_than_random_ones():
    """A narrow valley of the loss in two parameters, 16 settings, three seeds."""
    space = {"a": ("log", 1e-3, 1e3), "b": ("linear", 0.0, 1.0)}

    def loss(s):
        return (np.log10(s["a"]) - 1.7) ** 2 + 4 * (s["b"] - 0.2) ** 2

    def best(make, seed):
        search = make(space, seed)
        found = []
        for _ in range(16):
            trial, setting = search.ask()
            found.append(loss(setting))
            search.tell(trial, [found[-1]], True)
        return min(found)

    ours = np.mean([best(BayesianSearch, seed) for seed in range(3)])
    blind = np.mean([best(RandomSearch, seed) for seed in range(3)])
    assert ours < 0.5 * blind


def test_a_setting_that_fails_is_not_chosen_but_the_own_one_must_work():
    X, y = numbers()
    bad = {"model__alpha": ("choice", -1.0)}
    model = Tuned(piped(Ridge()), bad, n_trials=3, search="random").fit(X, y)
    assert model.chosen_ == {}
    assert [t["finished"] for t in model.trials_[1:]] == [False] * 2
    with pytest.raises(ValueError, match="alpha"):
        Tuned(piped(Ridge(alpha=-1.0)), SPACE, n_trials=2).fit(X, y)


def test_tuned_for_classes_with_a_class_missing_in_a_fold_and_saved(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    y[:2] = 2
    g = np.r_[[0, 0], np.arange(58) % 6 + 1]
    space = {"model__C": ("log", 1e-3, 1e3)}
    model = Tuned(piped(LogisticRegression()), space, task="classification", n_trials=4)
    fit_pipeline(model, X, y, None, g)
    p = model.predict_proba(X)
    assert p.shape == (60, 3) and model.classes_.tolist() == [0, 1, 2]
    pansophy.save(model, tmp_path / "m.pansophy")
    again = pansophy.load(tmp_path / "m.pansophy")
    assert np.array_equal(again.predict_proba(X), p) and again.chosen_ == model.chosen_


QUICK = (
    "ridge",
    "dummy",
    "elastic net",
    "huber",
    "linear support vectors",
    "nearest neighbours",
    "decision tree",
    "poisson regression",
    "logistic regression",
    "naive Bayes",
)


@pytest.mark.parametrize(
    "method",
    [m for m in METHODS if m.space and m.name in QUICK],
    ids=lambda m: f"{m.task}-{m.name}",
)
def test_spaces_name_parameters_that_exist(method):
    check_space(method)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [m for m in METHODS if m.space and m.name not in QUICK],
    ids=lambda m: f"{m.task}-{m.name}",
)
def test_all_spaces_name_parameters_that_exist(method):
    check_space(method)


def check_space(method):
    if method.needs:
        pytest.importorskip(method.needs)
    rng = np.random.default_rng(0)
    n = 60
    columns = (Column("a", "number", ""), Column("b", "number", ""))
    X = rng.normal(size=(n, 2))
    y = X[:, 0] + rng.normal(size=n)
    classes, labels = (), ()
    if method.task == "classification":
        y, classes = (y > 0).astype(int), (0, 1)
    elif method.task == "count":
        y = rng.poisson(np.exp(X[:, 0])).astype(float)
    elif method.task == "multilabel":
        y, labels = (np.c_[y, -y + X[:, 1]] > 0).astype(int), ("p", "q")
    schema = Schema("y", method.task, "", columns, classes, labels)
    tuned = make_pipeline(
        method._replace(trials=3), schema, FitContext(method.task, n, 0)
    )
    tuned.set_params(search="random", folds=2)
    fit_pipeline(tuned, MixedFrame(X), y)
    changed = {k.rpartition("__")[2] for t in tuned.trials_[1:] for k in t["setting"]}
    assert changed == set(method.space)
    assert any(t["finished"] for t in tuned.trials_[1:])


@pytest.mark.parametrize("order", [1, -1])
def test_grid_search_takes_the_best_of_its_table_and_refits_on_all_rows(order):
    X, y = numbers()
    grid = [0.1, 1.0, 10.0, 100.0, 1000.0][::order]
    search = GridSearchCV(Ridge(), {"alpha": grid}, cv=3, scoring="r2").fit(X, y)
    table = search.cv_results_
    best = int(np.argmax(table["mean_test_score"]))
    assert search.best_params_ == table["params"][best] == {"alpha": 100.0}
    assert np.allclose(search.best_estimator_.coef_, Ridge(alpha=100.0).fit(X, y).coef_)
    space = {"model__alpha": ("choice", *grid)}
    own = Tuned(piped(Ridge()), space, n_trials=25, search="random").fit(X, y)
    done = [t for t in own.trials_ if t["finished"]]
    assert min(done, key=lambda t: t["loss"])["setting"] == {"model__alpha": 10.0}
    assert np.allclose(own.pipeline_[-1].coef_, Ridge(alpha=10.0).fit(X, y).coef_)

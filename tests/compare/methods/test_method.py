"""Which methods a table gets, which it does not and why; each runs and can be saved."""

import pickle

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline

import pansophy
from pansophy.compare.methods import method as module
from pansophy.compare.methods.blending import make_blend
from pansophy.compare.methods.capabilities import capability_of, estimator_classes
from pansophy.compare.methods.excluded import (
    EXCLUDED_CLASSIFIERS,
    EXCLUDED_REGRESSORS,
    NO_TARGET,
    OTHER_TASKS,
)
from pansophy.compare.methods.method import FitContext, user_method
from pansophy.compare.methods.method_choice import (
    choose_methods,
)
from pansophy.compare.methods.pipelines import (
    cv_parameter,
    fit_pipeline,
    make_pipeline,
    predict_all_classes,
    raw_predictions,
)
from pansophy.compare.methods.portfolio import METHODS
from pansophy.tables import Column, MixedFrame, Schema
from pansophy.testing import all_estimators
from tests.compare.methods.problems import problem


def fit(method, task, weight=None, group=None, time=None, **more):
    schema, frame, y = problem(task, **more)
    model = make_pipeline(method, schema, FitContext(task, len(y), 0))
    fit_pipeline(model, frame, y, weight, group, time)
    return model, predict_all_classes(model, frame, task, len(schema.classes)), y


SLOW = (
    "neural network", "residual network", "FT-transformer", "LightGBM", "XGBoost",
    "CatBoost", "Gaussian process",
)  # fmt: skip
QUICK = [m for m in METHODS if m.name not in SLOW and m.task != "multilabel"]


def check(method, path):
    if method.series:
        check_series(method, path)
        return
    model, p, y = fit(method, method.task)
    assert np.isfinite(p).all() and len(p) == len(y)
    if method.task in ("classification", "multilabel"):
        assert p.shape == (len(y), 2 if method.task == "classification" else 3)
        assert p.min() >= 0 and p.max() <= 1
    if method.task == "classification":
        assert np.allclose(p.sum(1), 1)
    if method.task == "count":
        assert p.min() > 0
    if method.name != "dummy":
        loss = lambda p: np.mean((p - y) ** 2)
        if method.task == "classification":
            assert np.mean(p.argmax(1) == y) > 0.7
        else:
            assert loss(p) < loss(np.broadcast_to(y.mean(0), y.shape))
    pansophy.save(model, path)
    again = pansophy.load(path)
    _, frame, _ = problem(method.task)
    n = p.shape[1] if p.ndim == 2 else 0
    assert np.array_equal(predict_all_classes(again, frame, method.task, n), p)


def check_series(method, path):
    """Along time: forecasts of a trend with a season, from its first part."""
    n = 120
    rng = np.random.default_rng(0)
    t = np.arange(float(n))
    y = 20 + 0.1 * t + 5 * np.sin(np.pi * t / 6) + 0.3 * rng.normal(size=n)
    y = np.round(y) if method.task == "count" else y
    columns = (Column("t", "number", ""), Column("x", "number", ""))
    schema = Schema("y", method.task, "", columns, time="t")
    frame = MixedFrame(np.c_[t, rng.normal(size=n)])
    model = make_pipeline(method, schema, FitContext(method.task, 100, 0))
    fit_pipeline(model, frame[:100], y[:100], None, None, t[:100])
    p = raw_predictions(model, frame[100:], method.task)
    assert np.isfinite(p).all() and p.shape == (20,)
    rmse = np.sqrt(np.mean((p - y[100:]) ** 2))
    assert rmse < {"seasonal": 2.5, "ridge with lags": 2.5}.get(method.name, 8.0)
    pansophy.save(model, path)
    again = raw_predictions(pansophy.load(path), frame[100:], method.task)
    assert np.array_equal(again, p)


@pytest.mark.parametrize("method", QUICK, ids=lambda m: f"{m.task}-{m.name}")
def test_every_method_runs_is_right_and_can_be_saved(method, tmp_path):
    check(method, tmp_path / "m.pansophy")


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [m for m in METHODS if m not in QUICK and m.needs not in module.EXTERNAL_LIBRARIES],
    ids=lambda m: f"{m.task}-{m.name}",
)
def test_slow_methods_too(method, tmp_path):
    check(method, tmp_path / "m.pansophy")


@pytest.mark.parametrize("name", ["logistic regression", "decision tree", "dummy"])
def test_several_labels_natively_or_one_model_each(name, tmp_path):
    method = next(m for m in METHODS if (m.name, m.task) == (name, "multilabel"))
    check(method, tmp_path / "m.pansophy")


def test_every_estimator_is_run_or_has_its_reason():
    named = {m.path.rsplit(".", 1)[1] for m in METHODS}
    named |= set(EXCLUDED_CLASSIFIERS) | set(EXCLUDED_REGRESSORS) | set(NO_TARGET)
    for name, cls in all_estimators():
        known = name in named or cls.__module__.split(".")[1] in OTHER_TASKS
        assert known, f"name {name} in compare/methods/portfolio.py or excluded.py"
    known = set(dict(all_estimators()))
    assert (
        set(EXCLUDED_CLASSIFIERS) | set(EXCLUDED_REGRESSORS) | set(NO_TARGET) <= known
    )


def test_what_is_said_of_methods_is_true_of_their_estimators():
    for m in METHODS:
        if m.series == "baseline":  # no estimators of a domain
            continue
        if m.path.startswith("pansophy.") and m.needs not in module.EXTERNAL_LIBRARIES:
            c = capability_of(estimator_classes()[m.path.rsplit(".", 1)[1]])
            assert c.weights == m.weighted, m.name
            assert not m.native or (c.missing and c.categories), m.name
            assert m.multilabel != "native" or c.labels, m.name
            if m.task in ("classification", "multilabel"):
                assert c.probabilities != m.lacks_probabilities, m.name


@pytest.mark.parametrize("name", ["linear regression", "ridge"])
def test_weight_is_repetition(name):
    method = next(m for m in METHODS if (m.name, m.task) == (name, "regression"))
    schema, frame, y = problem("regression", 60)
    w = np.random.default_rng(1).integers(1, 4, 60)
    if name == "ridge":  # leave-one-out does not know repeated rows as one
        method = method._replace(
            path="pansophy.linear_model.Ridge", parameters=module.empty_parameters
        )
    both = []
    each = np.arange(60)
    for rows, weight in ((each, w.astype(float)), (each.repeat(w), None)):
        setting = FitContext("regression", 60, 0)
        model = make_pipeline(method, schema, setting)
        model.set_params(prepare="passthrough")
        X = np.nan_to_num(frame.values)
        fit_pipeline(model, X[rows], y[rows], weight)
        both.append(model.predict(X))
    assert np.allclose(*both)


@pytest.mark.parametrize("name", ["ridge", "lasso", "elastic net"])
def test_groups_and_times_reach_the_penalty_and_no_split_is_kept(name):
    method = next(m for m in METHODS if m.name == name)
    schema, frame, y = problem("regression", group="g")
    g = np.arange(len(y)) // 10
    model = make_pipeline(method, schema, FitContext("regression", len(y), 0))
    fit_pipeline(model, frame, y, None, g)
    before = method.parameters(FitContext("regression", len(y), 0)).get("cv")
    assert cv_parameter(model[-1]) == "cv" and model[-1].cv == before
    plain = make_pipeline(method, schema, FitContext("regression", len(y), 0))
    fit_pipeline(plain, frame, y)
    if name != "ridge":
        assert not np.array_equal(model[-1].mse_path_, plain[-1].mse_path_)
    fit_pipeline(model, frame, y, None, None, np.arange(len(y)))
    assert np.isfinite(model.predict(frame)).all()


def test_scores_become_probabilities_on_inner_folds():
    method = next(m for m in METHODS if m.name == "linear support vectors")
    for how in ({}, {"group": np.arange(120) // 10}, {"time": np.arange(120.0)}):
        names = {k: k for k in how}
        schema, frame, y = problem("classification", **names)
        model = make_pipeline(method, schema, FitContext("classification", 120, 0))
        fit_pipeline(model, frame, y, np.ones(120), how.get("group"), how.get("time"))
        p = model.predict_proba(frame)
        assert np.allclose(p.sum(1), 1) and np.mean(p.argmax(1) == y) > 0.7
        assert abs(p[:, 1].mean() - y.mean()) < 0.1
    mine = user_method("r", RidgeClassifier(), "classification")
    assert mine.lacks_probabilities and fit(mine, "classification")[1].shape == (120, 2)


def test_nothing_is_set_aside_at_random_among_groups():
    for m in METHODS:
        if m.name in ("gradient boosting", "neural network"):
            for split in ("grouped", "time"):
                s = FitContext(m.task, 5000, 0, split=split)
                assert m.parameters(s)["early_stopping"] is False
            assert m.parameters(FitContext(m.task, 5000, 0))["early_stopping"] is True


def test_methods_travel_to_workers():
    schema, _, _ = problem("regression")
    run, _ = choose_methods(schema, 100, tune=7)
    for m in [*run, make_blend(run[1:3], (0.25, 0.75), "regression")]:
        again = pickle.loads(pickle.dumps(m))
        assert again == m, m.name
        assert again.trials == m.trials and again.members == m.members
        assert again.weights == m.weights
    own = user_method("line", LinearRegression(), "regression")
    assert pickle.loads(pickle.dumps(own)).name == "line"
    assert {m.trials for m in run if m.space} == {7}
    assert all(m.trials == 0 for m in run if not m.space)


def test_pipelines_are_pipelines():
    schema, _, _ = problem("regression")
    for m in choose_methods(schema, 100)[0]:
        assert isinstance(
            make_pipeline(m, schema, FitContext("regression", 100, 0)), Pipeline
        )


def test_a_random_baseline_has_no_skill():
    """Saying yes with probability p: TPR = FPR = p in the mean, area 1/2."""
    rng = np.random.default_rng(0)
    y = (rng.random(4000) < 0.3).astype(int)
    X = np.zeros((4000, 1))
    says = DummyClassifier(strategy="stratified", random_state=0).fit(X, y).predict(X)
    tpr, fpr = says[y == 1].mean(), says[y == 0].mean()
    assert tpr == pytest.approx(0.3, abs=0.03) and fpr == pytest.approx(0.3, abs=0.03)
    area = roc_auc_score(y, says)
    assert area == pytest.approx((1 + tpr - fpr) / 2) and abs(area - 0.5) < 0.02
    most = DummyClassifier().fit(X, y)
    assert roc_auc_score(y, most.predict_proba(X)[:, 1]) == 0.5
    assert np.mean(most.predict(X) == y) == max(np.mean(y), 1 - np.mean(y))


def test_ties_do_not_go_by_the_order_of_the_file():
    """Few different rows, sorted by class: neighbours at distance 0 are all alike."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, 600).astype(float)
    y = (rng.random(600) < np.array([0.2, 0.5, 0.8])[x.astype(int)]).astype(int)
    columns = (Column("x", "number", ""),)
    schema = Schema("y", "classification", "", columns, ("no", "yes"))
    method = next(m for m in METHODS if m.name == "nearest neighbours")
    shares = []
    for order in (np.argsort(y, kind="stable"), np.argsort(-y, kind="stable")):
        frame = MixedFrame(x[order][:, None])
        model = make_pipeline(method, schema, FitContext("classification", 600, 0))
        fit_pipeline(model, frame, y[order])
        p = raw_predictions(model, MixedFrame(np.array([[0.0], [2.0]])), schema.task)
        shares.append(p[:, 1])
    for p in shares:
        assert p[0] < 0.45 and p[1] > 0.55

"""The cost model: it grows as it should, knows every method, and is not far off."""

import time
import types

import numpy as np
import pytest

from pansophy.compare.methods import costs
from pansophy.compare.methods.costs import (
    format_duration,
    power_law,
    predict_cost,
    prepared_width,
    relative_slowness,
    time_reference_work,
)
from pansophy.compare.methods.method import EXTERNAL_LIBRARIES, FitContext
from pansophy.compare.methods.method_choice import FitLimits
from pansophy.compare.methods.pipelines import fit_pipeline, make_pipeline
from pansophy.compare.methods.portfolio import METHODS
from pansophy.core.loops import threads
from pansophy.tables import Column, MixedFrame, Schema


def method(name, task="regression"):
    return next(m for m in METHODS if (m.name, m.task) == (name, task))


def test_growth_by_hand():
    assert power_law((1.0, 2.0, 1.0, 0.0, 0.0), 3000, 50, 7) == 1 + 2 * 3
    assert power_law((0.0, 1.0, 2.0, 1.0, 0.5), 2000, 20, 8) == pytest.approx(4 * 2 * 2)


def test_every_method_has_a_cost_that_grows():
    for m in METHODS:
        small, large = (predict_cost(m, n, 20, 3, factor=1.0) for n in (500, 50_000))
        assert small is not None, m.name
        assert 0 < small.fit_seconds <= large.fit_seconds
        assert 0 < small.megabytes <= large.megabytes
        assert small.fit_seconds < 10 and small.predict_seconds < 0.01
    table = costs.measured_costs()
    known = {f"{m.task}/{m.name}" for m in METHODS}
    assert set(table["methods"]) <= known and 0 < table["reference"] < 1


def test_known_orders_of_growth():
    """Kernels are dear, sums over rows are cheap, whatever the machine."""
    mine = [m for m in METHODS if m.task == "classification"]
    cost = {m.name: predict_cost(m, 500_000, 30, factor=1.0) for m in mine}
    fit = {name: c.fit_seconds for name, c in cost.items()}
    assert fit["RBF support vectors"] > 30 * fit["logistic regression"]
    assert fit["naive Bayes"] < fit["random forest"]
    answer = {name: c.predict_seconds for name, c in cost.items()}
    assert answer["nearest neighbours"] > answer["naive Bayes"]


def test_settings_and_labels_multiply():
    plain = predict_cost(method("huber"), 1000, 10, factor=1.0)
    tuned = predict_cost(method("huber")._replace(trials=10), 1000, 10, factor=1.0)
    assert tuned.fit_seconds == pytest.approx(31 * plain.fit_seconds)
    each = method("logistic regression", "multilabel")
    one = predict_cost(each, 1000, 10, factor=1.0)
    assert predict_cost(each, 1000, 10, labels=5, factor=1.0).fit_seconds == (
        pytest.approx(5 * one.fit_seconds)
    )
    own = method("ridge")._replace(estimator=object())
    assert predict_cost(own, 1000, 10) is None


def test_the_machine_is_measured_in_a_moment():
    begun = time.process_time()
    time_reference_work()
    assert time.process_time() - begun < 0.2
    assert 0.1 <= relative_slowness() <= 10


def test_the_factor_of_the_machine_scales_seconds_only():
    a, b = (predict_cost(method("ridge"), 5000, 20, factor=f) for f in (1.0, 2.0))
    assert b.fit_seconds == 2 * a.fit_seconds and b.megabytes == a.megabytes


def test_width_of_the_prepared_rows():
    columns = (
        Column("x", "number", ""),
        Column("c", "category", "", tuple("abc")),
        Column("many", "category", "", tuple(map(str, range(50)))),
    )
    schema = Schema("y", "classification", "", columns, (0, 1, 2))
    assert prepared_width(schema, native=True) == 3
    assert prepared_width(schema, native=False) == 1 + 3 + 3


def test_reasons_carry_the_number_and_the_option():
    schema = Schema(
        "y", "classification", "", (Column("x", "number", ""),) * 30, (0, 1)
    )
    rbf = method("RBF support vectors", "classification")
    reason = costs.over_limits(rbf, schema, 3_000_000, FitLimits(300.0, None))
    assert reason.startswith("one fit would take about ")
    assert "over the limit of 5 minutes (--time-limit" in reason
    forest = method("random forest", "classification")
    reason = costs.over_limits(forest, schema, 5_000_000, FitLimits(None, 200e6))
    assert "over the limit of 200 MB (--memory-limit" in reason
    assert costs.over_limits(rbf, schema, 500, FitLimits()) == ""
    running = types.SimpleNamespace(time_limit=None, memory_limit=None, workers=1)
    assert costs.over_limits(forest, schema, 500, running) == ""
    assert format_duration(3.2) == "3.2 s" and format_duration(1e7) == "days"


def test_the_whole_is_the_sum_of_its_fits():
    columns = (Column("x", "number", ""),) * 20
    schema = Schema("y", "regression", "", columns)
    two = [method("ridge"), method("random forest")]
    folds = [(np.arange(8000), np.arange(2000))] * 5
    each = [
        costs.fit_and_predict_seconds(m, schema, 8000, 2000, factor=1.0) for m in two
    ]
    cost = predict_cost(two[1], 8000, 20, factor=1.0)
    assert each[1] == pytest.approx(cost.fit_seconds + 2000 * cost.predict_seconds)
    told = schema, folds
    whole = costs.expected_duration(two, [5, 5], *told, 2, factor=1.0)
    assert whole == (pytest.approx(2.5 * sum(each)), False)
    rest = costs.expected_duration(two, [0, 1], *told, 2, factor=1.0)  # nobody can help
    assert rest == (pytest.approx(each[1]), False)
    own = [method("dummy")._replace(estimator=object())]
    assert costs.expected_duration(own, [5], *told, 1, factor=1.0) == (0.0, True)


def test_what_is_most_of_the_time_is_left_out_by_the_table_alone(monkeypatch):
    columns = (Column("x", "number", ""),) * 50
    schema = Schema("y", "regression", "", columns)
    forest, boosting = method("extra trees"), method("gradient boosting")
    reasons = []
    for factor in (0.2, 5.0):  # a fast machine and a slow one
        monkeypatch.setattr(costs, "relative_slowness", lambda f=factor: f)
        reasons.append(
            costs.too_expensive(forest, schema, 9_000_000, FitLimits(), fits=5)
        )
        assert not costs.too_expensive(boosting, schema, 9_000_000, FitLimits(), fits=5)
        assert not costs.too_expensive(forest, schema, 3000, FitLimits(), fits=25)
        assert not costs.too_expensive(
            forest._replace(trials=50), schema, 3000, FitLimits()
        )
        assert not costs.too_expensive(forest, schema, 9_000_000, FitLimits(None))
    assert all(r.startswith("would take about ") for r in reasons)
    assert "over the limit" in reasons[0] and reasons[0] != reasons[1]


SIZES = [(1200, 12), (9000, 45)]  # not among those that were measured


def seconds(m, n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + np.sin(X[:, 1]) + rng.normal(size=n)
    schema = Schema(
        "y", "regression", "", tuple(Column(f"x{j}", "number", "") for j in range(d))
    )
    best = np.inf
    for _ in range(3):
        model = make_pipeline(m, schema, FitContext("regression", n, 0))
        begun = time.process_time()
        fit_pipeline(model, MixedFrame(X), y)
        best = min(best, time.process_time() - begun)
    return best


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        m.name
        for m in METHODS
        if m.task == "regression"
        and not m.on_request
        and m.name != "dummy"
        and not m.series  # those need a time
        and m.needs not in EXTERNAL_LIBRARIES
    ],
)
def test_predictions_are_good_to_a_factor(name):
    """Ratios between sizes, and to the speed of the machine, within a wide margin."""
    m = method(name)
    with threads.limit_threads(1):
        for n, d in SIZES:
            if n > m.max_rows:
                continue
            ratio = (
                seconds(m, n, d)
                / predict_cost(m, n, d, factor=relative_slowness()).fit_seconds
            )
            assert 1 / 5 < ratio < 5, (n, d, ratio)


@pytest.mark.parametrize("name", ["ridge", "decision tree"])
def test_growth_between_sizes_is_right(name):
    m = method(name)
    small, large = SIZES
    with threads.limit_threads(1):
        seconds(m, 200, 5)
        found = seconds(m, *large) / seconds(m, *small)
    a, b = (predict_cost(m, n, d, factor=1.0).fit_seconds for n, d in SIZES)
    assert 1 / 4 < found / (b / a) < 4

"""Which methods are tried: names, weights, extras, limits, reasons."""

import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from pansophy.compare.methods import method as module
from pansophy.compare.methods.excluded import OTHER_TASKS
from pansophy.compare.methods.method_choice import FitLimits, choose_methods
from pansophy.compare.methods.portfolio import METHODS
from pansophy.tables import TableError
from pansophy.testing import all_estimators
from tests.compare.methods.problems import problem

TASKS = ("classification", "regression", "count", "multilabel")


def reasons_of(skipped) -> dict:
    return {skip.name: skip.reason for skip in skipped}


@pytest.mark.parametrize("task", TASKS)
def test_each_task_has_a_dummy_a_plain_linear_model_and_a_reason_for_the_rest(task):
    schema, _, _ = problem(task)
    run, left = choose_methods(schema, 100)
    names = [m.name for m in run]
    assert names[0] == "dummy" and len(names) == len(set(names)) and len(run) >= 9
    plain = {"logistic regression", "linear regression", "poisson regression"}
    assert names[1] in plain
    reasons = reasons_of(left)
    assert not set(names) & set(reasons) and all(reasons.values())
    assert "does not predict a target" in reasons["pansophy.cluster"]
    ran = {m.path.rsplit(".", 1)[1] for m in run}
    assert not ran & set(reasons)
    listed = {m.path.rsplit(".", 1)[1] for m in METHODS if m.name in reasons}
    for name, cls in all_estimators():
        if cls.__module__.split(".")[1] not in OTHER_TASKS:
            assert name in ran | set(reasons) | listed, (task, name)


def test_names_dicts_and_typos():
    schema, _, _ = problem("regression")
    run, left = choose_methods(schema, 100, ["Ridge", "random_forest"])
    assert [m.name for m in run] == ["dummy", "ridge", "random forest"]
    assert reasons_of(left)["linear regression"] == "not asked for"
    assert (
        reasons_of(left)["BaggingRegressor"] == "not asked for"
    )  # nothing speaks for it
    assert reasons_of(left)["QuantileRegressor"] == "predicts a quantile, not the mean"
    assert not any("that is tried" in why for why in reasons_of(left).values())
    with pytest.raises(TableError, match="did you mean 'ridge'"):
        choose_methods(schema, 100, ["rigde"])
    own = {"line": LinearRegression()}
    run, left = choose_methods(schema, 100, own)
    assert [m.name for m in run] == ["dummy", "line"] and left == []
    with pytest.raises(TableError, match="'c' is no estimator for regression"):
        choose_methods(schema, 100, {"c": LogisticRegression()})
    run, _ = choose_methods(schema, 100, ["Gaussian process"])
    assert [m.name for m in run] == ["dummy", "Gaussian process"]  # named: run
    assert "name it" in reasons_of(choose_methods(schema, 100)[1])["Gaussian process"]


def test_weights_leave_out_what_takes_none():
    schema, _, _ = problem("classification", weight="w")
    run, left = choose_methods(schema, 100)
    assert reasons_of(left)["nearest neighbours"] == "takes no row weights"
    assert "nearest neighbours" not in {m.name for m in run}


def test_a_pretrained_network_without_weights_is_not_run(monkeypatch, tmp_path):
    from pansophy.compare.methods.method import missing_requirement
    from pansophy.prior_fitted.pretrained import VARIABLE

    method = next(m for m in METHODS if m.pretrained)
    file = tmp_path / "w.safetensors"
    monkeypatch.setenv(VARIABLE, str(file))
    assert VARIABLE in missing_requirement(method)
    file.write_bytes(b"")
    assert missing_requirement(method) == ""


def test_an_extra_that_is_absent_is_named(monkeypatch):
    real = module.importlib.util.find_spec
    hide = lambda name: None if name in ("torch", "lightgbm") else real(name)
    monkeypatch.setattr(module.importlib.util, "find_spec", hide)
    left = reasons_of(choose_methods(problem("regression")[0], 100)[1])
    assert "pip install 'pansophy[deep]'" in left["neural network"]
    assert left["LightGBM"] == "not installed: pip install lightgbm"


def test_limits_leave_out_what_is_too_dear():
    schema, _, _ = problem("classification")
    run, left = choose_methods(schema, 2_000_000, limits=FitLimits(time_limit=60.0))
    reason = reasons_of(left)["RBF support vectors"]
    assert "one fit would take about" in reason and "--time-limit" in reason
    assert "logistic regression" in {m.name for m in run}
    _, left = choose_methods(schema, 30_000)
    assert "beyond 20,000 rows; name it" in reasons_of(left)["RBF support vectors"]
    assert "RBF support vectors" in {m.name for m in choose_methods(schema, 4000)[0]}
    named, _ = choose_methods(
        schema, 2_000_000, ["RBF support vectors"], FitLimits(60.0)
    )
    assert len(named) == 2  # who names it gets it
    _, left = choose_methods(schema, 2_000_000, limits=FitLimits(None, 50e6))
    assert "--memory-limit" in reasons_of(left)["random forest"]
    free, _ = choose_methods(schema, 2_000_000, limits=FitLimits(None, 1e15))
    assert "RBF support vectors" in {m.name for m in free}

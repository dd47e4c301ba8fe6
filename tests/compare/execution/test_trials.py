"""The engine as a whole: budget, clock, weights, progress, Ctrl-C in this process."""

import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import mean_squared_error

from pansophy.compare.execution.plan import ExecutionLimits
from pansophy.compare.execution.trials import refit_first_fold
from pansophy.params import ParameterError
from tests.compare.faulty_estimators import Case, Mean


def test_trials_hold_what_the_folds_gave():
    case = Case({"line": LinearRegression()}, repeats=3)
    t = case.run(workers=0)["line"]
    y, X = case.data.y, case.data.frame.values
    losses = np.zeros((3, 60))
    for f, (train, test) in enumerate(case.split.folds):
        p = LinearRegression().fit(X[train], y[train]).predict(X[test])
        assert t.scores["rmse"][f] == pytest.approx(
            mean_squared_error(y[test], p) ** 0.5
        )
        losses[f // 5, test] = (y[test] - p) ** 2
        if f < 5:
            assert np.allclose(t.predictions[test], p)
    assert np.allclose(t.losses, losses.mean(0))
    assert len(t.fit_seconds) == 15 and all(s > 0 for s in t.fit_seconds)
    again = refit_first_fold(t.refit.args[0], t.method)
    assert np.array_equal(*(m.predict(case.data.frame) for m in (again, t.model)))


def test_budget_in_fits_begins_whole_methods_only():
    own = {"line": LinearRegression(), "ridge": Ridge(), "mean": Mean()}
    case = Case(own)
    trials = case.run(workers=0, max_fits=14)
    assert case.complete
    assert [t.failure for t in trials.values()] == ["", ""] + [
        "not begun: the budget of 14 fits is used up"
    ] * 2
    assert len(trials["ridge"].fit_seconds) == 0


@pytest.mark.parametrize("workers", [0, 1])
def test_the_clock_stops_and_says_so(workers):
    own = {"slow": Mean("takes_a_while"), "late": Ridge()}
    case = Case(own, repeats=2)  # 5 s of sleep
    begun, limit = time.monotonic(), 4.0 if workers else 2.0
    trials = case.run(workers=workers, stop_after=limit)
    assert not case.complete and time.monotonic() - begun < 60
    if not workers:
        assert trials["slow"].failure.startswith("stopped after 2 s in fold ")
    assert trials["late"].failure == f"stopped after {limit:g} s before it began"
    assert all(t.losses is None for t in trials.values() if t.failure)


class Pressed(RegressorMixin, BaseEstimator):
    """Somebody presses Ctrl-C while it fits."""

    def fit(self, X, y):
        raise KeyboardInterrupt


def test_ctrl_c_in_this_process():
    own = {"line": LinearRegression(), "pressed": Pressed(), "late": Ridge()}
    case = Case(own)
    trials = case.run(workers=0)
    assert not case.complete and trials["line"].failure == ""
    assert trials["pressed"].failure == "interrupted in fold 1 of 5"
    assert trials["late"].failure == "interrupted before it began"


class Weighted(RegressorMixin, BaseEstimator):
    """The weighted mean."""

    def fit(self, X, y, sample_weight=None):
        self.mean_ = np.average(y, weights=sample_weight)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_weights_reach_the_fit_and_the_score():
    case = Case({"w": Weighted()})
    rmse = lambda y, p, w=None: np.average((y - p) ** 2, weights=w) ** 0.5
    case.metrics = [case.metrics[0]._replace(score=rmse)]
    w = np.where(case.data.y > 0, 3.0, 1.0)
    case.data = type(case.data)(case.data.frame, case.data.y, w)
    t = case.run(workers=0)["w"]
    train, test = case.split.folds[0]
    y = case.data.y
    mean = np.average(y[train], weights=w[train])
    assert t.predictions[test][0] == pytest.approx(mean)
    error = np.average((y[test] - mean) ** 2, weights=w[test]) ** 0.5
    assert t.scores["rmse"][0] == pytest.approx(error)


def test_along_time_early_rows_have_no_loss():
    case = Case({"line": LinearRegression()})
    data = type(case.data)(case.data.frame, case.data.y, time=np.arange(60.0))
    case.data = data
    from pansophy.compare.splits import make_splits

    case.split = make_splits(data, case.schema, folds=5, repeats=3)
    t = case.run(workers=0)["line"]
    assert len(t.fit_seconds) == 5 and t.failure == ""
    assert np.array_equal(np.isnan(t.losses), ~case.split.tested(60))
    assert np.isnan(t.losses).sum() == 10


def test_plain_news_when_asked_and_silence_otherwise(capsys):
    own = {"line": LinearRegression(), "bad": Mean("raises")}
    Case(own).run(workers=0, show=True)
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "15 fits of 3 methods: at least 1 s on this machine."
    assert told[1].startswith("dummy: done, rmse ")
    assert told[3].startswith("bad: out: fold 1 failed: FloatingPointError: went wrong")
    Case(own).run(workers=0, show=None)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"workers": -1},
            "workers must be a whole number of at least 0 or None, got -1",
        ),
        ({"threads": 0}, "threads must be a whole number of at least 1"),
        ({"time_limit": 0}, "time_limit must be a number above 0"),
        ({"max_fits": 1.5}, "max_fits must be a whole number of at least 1"),
        ({"workers": True}, "workers must be"),
    ],
)
def test_bad_settings_get_one_sentence(change, says):
    with pytest.raises(ParameterError, match=says):
        ExecutionLimits(**change)

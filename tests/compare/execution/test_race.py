"""The race in the engine: the same stops on any number of workers, resumed or not."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge

from pansophy.compare import compare
from pansophy.compare.evaluation.ranking import rank_methods, score_estimates
from pansophy.compare.execution.plan import ExecutionLimits, make_plan
from pansophy.compare.execution.run_folder import open_run
from pansophy.compare.execution.trials import run_trials
from tests.compare.faulty_estimators import Case, same, table


class FailsLater(RegressorMixin, BaseEstimator):
    """The best of all, but it fails where one row was held out last."""

    def __init__(self, mark=0.0):
        self.mark = mark

    def fit(self, X, y):
        if not np.any(y == self.mark):
            raise ValueError("no luck")
        self.line_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        return self.line_.predict(X)


OWN = {
    "line": LinearRegression(),
    "ridge": Ridge(1e-3),
    "hopeless": DummyRegressor(strategy="constant", constant=30.0),
    "mean": DummyRegressor(),
}


def race(case, folder=None, **limits):
    trials, case.complete = run_trials(
        *case.parts, ExecutionLimits(**limits), folder, False, race=True
    )
    return {t.method.name: t for t in trials}


def stops(trials):
    return {k: t.stopped for k, t in trials.items() if t.stopped is not None}


@pytest.fixture(scope="module")
def alone():
    return race(Case(OWN, repeats=4), workers=0)


def test_what_is_behind_stops_and_keeps_whole_repeats(alone):
    stop = alone["hopeless"].stopped
    assert stop.fits == 5 and stop.planned == 20 and stop.leader in ("line", "ridge")
    assert stop.difference > 0 and stop.p < 0.01
    t = alone["hopeless"]
    assert not t.failure and len(t.scores["rmse"]) == 5
    assert t.repeat_losses.shape == (1, 60) and np.isfinite(t.losses).all()
    assert np.isfinite(t.predictions).all() and t.all_predictions.shape == (1, 60)
    assert alone["line"].stopped is None and len(alone["line"].fit_seconds) == 20


def test_the_dummy_does_not_race(alone):
    assert alone["dummy"].stopped is None and len(alone["dummy"].fit_seconds) == 20


def test_workers_and_cut_runs_stop_the_same(alone, tmp_path):
    two = race(Case(OWN, repeats=4), workers=2)
    assert same(two, alone) and stops(two) == stops(alone)
    case = Case(OWN, repeats=4)
    plan = make_plan(*case.parts, ExecutionLimits())
    with open_run(tmp_path / "run", plan) as folder:
        race(case, folder, workers=0)
    lines = (tmp_path / "run" / "results.jsonl").read_bytes().splitlines(True)
    for kept in (3, 12, 27, len(lines) - 2):
        (tmp_path / "run" / "results.jsonl").write_bytes(b"".join(lines[:kept]))
        with open_run(tmp_path / "run", plan, resume=True) as folder:
            again = race(Case(OWN, repeats=4), folder, workers=0)
        assert same(again, alone) and stops(again) == stops(alone)


def test_fits_of_a_run_without_race_change_nothing(alone, tmp_path):
    case = Case(OWN, repeats=4)
    plan = make_plan(*case.parts, ExecutionLimits())
    with open_run(tmp_path / "run", plan) as folder:
        full = case.run(folder, workers=0)
    assert not stops(full) and len(full["hopeless"].fit_seconds) == 20
    with open_run(tmp_path / "run", plan, resume=True) as folder:
        again = race(Case(OWN, repeats=4), folder, workers=0)
    assert same(again, alone) and stops(again) == stops(alone)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_leader_that_fails_in_the_end_stops_nobody(workers):
    source = table(seed=1)
    case = Case({"mean": DummyRegressor()}, repeats=3, source=source)
    mark = float(case.data.y[case.split.folds[14][1][0]])
    own = {"fails": FailsLater(mark), "other mean": DummyRegressor()}
    case = Case(own, repeats=3, source=source)
    trials = race(case, workers=workers)
    assert "failed" in trials["fails"].failure
    assert not stops(trials) and len(trials["other mean"].fit_seconds) == 15


def test_one_repeat_is_no_race():
    assert not stops(race(Case(OWN), workers=0))


def test_ranking_counts_the_stopped(alone):
    case = Case(OWN, repeats=4)
    trials = list(alone.values())
    estimates = score_estimates(trials, case.metrics, case.split, case.data)
    rows = rank_methods(trials, case.metrics, estimates)
    assert {r.method for r in rows} == set(alone)
    assert all(np.isfinite(r.scores["rmse"].mean) for r in rows)
    assert all(np.isfinite(r.scores["r2"].mean) for r in rows)
    last = rows[-1]
    assert last.method == "hopeless" and last.stopped is not None and last.p < 0.001
    full = {t.method.name: t for t in Case(OWN, repeats=4).run(workers=0).values()}
    mean = np.sqrt(full["hopeless"].losses.mean())
    assert last.scores["rmse"].mean == pytest.approx(mean, rel=0.01)


@pytest.fixture(scope="module")
def comparison():
    return compare(table(), "y", methods=OWN, repeats=3, workers=0, race=True)


def test_who_stopped_is_told(comparison):
    text = str(comparison)
    assert (
        "1 method was stopped after 5 of 15 fits, when chance could no longer" in (text)
        or "2 methods were stopped after 5 of 15 fits" in text
    )
    assert "--no-race" in text and "(5 of 15 fits)" in text
    record = next(r for r in comparison.records() if r["method"] == "hopeless")
    assert record["stopped"] and record["fits"] == 5
    stopped = comparison.to_dict()["stopped"]
    assert {"method": "hopeless"}.items() <= stopped[-1].items()
    assert stopped[-1]["fits"] == 5 and stopped[-1]["planned"] == 15


def test_page_tells_the_rule(comparison, tmp_path):
    page = comparison.report(tmp_path / "report.html").read_text()
    assert "the probability of overtaking" in page
    assert "in at most 5 of 100 comparisons" in page


def test_no_race_fits_everything():
    c = compare(table(), "y", methods=OWN, repeats=2, workers=0)
    assert all(r.stopped is None for r in c.leaderboard) and not c.to_dict()["stopped"]
    assert "stopped" not in str(c)

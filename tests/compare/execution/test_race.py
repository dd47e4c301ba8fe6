"""The race in the engine: the same stops on any number of workers, resumed or not."""

import json
import os

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge

from pansophy.compare import compare
from pansophy.compare.evaluation.ranking import (
    fill_stopped,
    rank_methods,
    score_estimates,
)
from pansophy.compare.execution.plan import ExecutionLimits, make_plan
from pansophy.compare.execution.run_folder import open_run
from pansophy.compare.execution.trials import run_trials
from tests.compare.execution.simulated_fits import (
    VARIANTS,
    SimulatedFits,
    simulated_race,
)
from tests.compare.faulty_estimators import Case, Mean, same, table


class FailsLater(RegressorMixin, BaseEstimator):
    """The best of all, but it fails where two rows are held out together.

    Where there is a file `log` its process ends instead.
    """

    def __init__(self, pair=(), log=""):
        self.pair = pair
        self.log = log

    def fit(self, X, y):
        if not np.isin(self.pair, y).any():
            if os.path.exists(self.log):
                os._exit(3)
            if not self.log:
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


def pair_of_last_fold(case):
    """Targets of two rows that are held out together in the last fold alone."""
    *before, last = (set(test) for _, test in case.split.folds)
    pairs = ((i, j) for i in last for j in last if i < j)
    i, j = next(p for p in pairs if not any(set(p) <= test for test in before))
    return float(case.data.y[i]), float(case.data.y[j])


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
    pair = pair_of_last_fold(Case({"mean": DummyRegressor()}, repeats=3, source=source))
    own = {"fails": FailsLater(pair), "other mean": DummyRegressor()}
    trials = race(Case(own, repeats=3, source=source), workers=workers)
    assert trials["fails"].failure.startswith("fold 15 failed")
    assert not stops(trials) and len(trials["other mean"].fit_seconds) == 15


def test_a_leader_that_ends_its_worker_after_a_resume_stops_nobody(tmp_path):
    source = table(seed=1)
    pair = pair_of_last_fold(Case({"mean": DummyRegressor()}, repeats=3, source=source))
    log = tmp_path / "log"
    own = {"fails": FailsLater(pair, str(log)), "other mean": DummyRegressor()}
    case = Case(own, repeats=3, source=source)
    plan = make_plan(*case.parts, ExecutionLimits())
    with open_run(tmp_path / "run", plan) as folder:
        first = race(case, folder, workers=0)
    assert list(stops(first)) == ["other mean"]
    place = tmp_path / "run" / "results.jsonl"
    lines = [json.loads(text) for text in place.read_text().splitlines()]
    lines = [k for k in lines if (k["method"], k["fold"]) != ("fails", 14)]
    place.write_text("".join(json.dumps(k) + "\n" for k in lines))
    log.touch()
    with open_run(tmp_path / "run", plan, resume=True) as folder:
        again = race(case, folder, workers=1)
    assert "in fold 15 of 15" in again["fails"].failure
    assert not stops(again) and len(again["other mean"].fit_seconds) == 15


def test_a_killed_worker_changes_no_stop(tmp_path):
    source = table()
    own = {"line": LinearRegression(), "killed": Mean(), "mean": DummyRegressor()}
    sound = race(Case(own, repeats=3, source=source), workers=0)
    assert stops(sound).keys() == {"killed", "mean"}
    mark = Case(own, source=source).mark(2)
    own |= {"killed": Mean("killed_once", mark, str(tmp_path / "log"))}
    killed = race(Case(own, repeats=3, source=source), workers=2)
    assert (tmp_path / "log.killed").exists()
    assert same(killed, sound) and stops(killed) == stops(sound)


def test_one_repeat_is_no_race():
    raced = race(Case(OWN), workers=0)
    assert not stops(raced) and same(raced, Case(OWN).run(workers=0))


# --- any order of fits, simulated --------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_stops_do_not_depend_on_the_order_of_fits(variant):
    case = VARIANTS[variant]()
    for seed in range(6):
        fits = SimulatedFits(case, seed)
        ordered = simulated_race(case, fits)
        assert stops(ordered), "a race in which nobody stops tests nothing"
        jobs = list(fits.without_race())
        for workers in (2, 3, 5):
            rng = np.random.default_rng([seed, workers])
            kept = [job for job in jobs if workers == 5 and rng.random() < 0.6]
            other = simulated_race(case, fits, workers, rng, kept)
            assert same(finished(other), finished(ordered))
            assert failures(other) == failures(ordered) and stops(other) == stops(
                ordered
            )
            assert ranking_of(case, other) == ranking_of(case, ordered)


def finished(trials):
    return {k: t for k, t in trials.items() if not t.failure}


def failures(trials):
    return {k: t.failure for k, t in trials.items()}


def ranking_of(case, trials):
    trials = list(trials.values())
    estimates = score_estimates(trials, case.metrics, case.split, case.data)
    rows = rank_methods(trials, case.metrics, estimates)
    assert all(np.isfinite(s.mean) for r in rows for s in r.scores.values())
    return [(r.method, r.p, r.standing) for r in rows]


def test_folds_before_one_that_failed_are_done_though_the_gate_was_shut():
    case = VARIANTS["rows"]()
    fits = SimulatedFits(case, 0, failing={(1, 5): "no", (1, 3): "no"})
    fits.bias[1] = 0.0
    kept = [(m, f) for m in (0, 1) for f in (0, 1, 2, 5)]  # as two workers leave it
    found = list(simulated_race(case, fits, kept=kept).values())
    assert found[1].failure == "fold 4 failed: no"
    assert all(t.failure or t.stopped or len(t.fit_seconds) == 12 for t in found)


def test_a_failure_after_the_stop_is_none():
    case = VARIANTS["rows"]()
    sound = simulated_race(case, SimulatedFits(case, 0, failing={}))
    name, stop = next(iter(stops(sound).items()))
    m = list(sound).index(name)
    fits = SimulatedFits(case, 0, failing={(m, stop.fits + 1): "no"})
    kept = [(m, f) for f in range(stop.fits + 2)]  # of a run without race
    found = simulated_race(case, fits, kept=kept)
    assert same(found, sound) and stops(found) == stops(sound)


def test_of_a_run_cut_short_those_that_went_on_longest_are_the_reference():
    shorter, longer = fill_stopped([[3.0, 5.0], [1.0, 2.0, 6.0]], [True, True], -1.0)
    assert shorter.tolist() == [3.0, 5.0, 8.5] and longer.tolist() == [1.0, 2.0, 6.0]


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

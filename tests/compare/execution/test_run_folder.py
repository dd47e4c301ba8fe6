"""The run folder: nothing lost, nothing repeated, nothing mixed up."""

import json
import math
import shutil

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge

from pansophy.compare.execution.plan import ExecutionLimits, FitOutcome, make_plan
from pansophy.compare.execution.run_folder import (
    STOP_ALL,
    RunFolder,
    RunFolderError,
    compare_runs,
    open_run,
    read_lines,
    read_plan,
    read_predictions,
    read_stop_requests,
    request_stop,
)
from tests.compare.faulty_estimators import Case, Mean, same, table


def planned(case, **running):
    return make_plan(*case.parts, ExecutionLimits(**running))


def run_in(path, case, resume=False, **running):
    running = {"workers": 0, **running}
    with open_run(path, planned(case, **running), resume=resume) as folder:
        return case.run(folder, **running)


def two(**more):
    return Case({"line": LinearRegression(), "ridge": Ridge()}, repeats=2, **more)


def test_everything_is_there_to_the_last_bit(tmp_path):
    case = two()
    trials = run_in(tmp_path, case)
    plan, lines = read_plan(tmp_path), read_lines(tmp_path)
    assert list(plan["methods"]) == ["dummy", "line", "ridge"] and plan["rows"] == 60
    assert plan["split"]["kind"] == "plain" and plan["split"]["repeats"] == 2
    assert plan["versions"]["numpy"] == np.__version__ and plan["seed"] == 0
    assert len(lines) == 3 * 10
    for line in lines:
        t, f = trials[line["method"]], line["fold"]
        assert line["scores"] == {k: v[f] for k, v in t.scores.items()}
        p = read_predictions(tmp_path, line)
        assert f >= 5 or np.array_equal(p, t.predictions[case.split.folds[f][1]])
    size = sum(f.stat().st_size for f in (tmp_path / "predictions").iterdir())
    assert size == 3 * 2 * 60 * 8


def test_rerun_is_the_same_and_differences_are_named(tmp_path):
    run_in(tmp_path / "a", two())
    run_in(tmp_path / "b", two())
    assert compare_runs(tmp_path / "a", tmp_path / "b") == []
    run_in(tmp_path / "c", two(), seed=1)
    assert compare_runs(tmp_path / "a", tmp_path / "c")[0] == (
        "Different: the seed (0 before, 1 now)."
    )
    file = tmp_path / "b" / "results.jsonl"
    lines = file.read_text().splitlines()
    first = json.loads(lines[0])
    first["scores"]["rmse"] += 1e-15 * 8
    file.write_text("\n".join([json.dumps(first), *lines[1:-1]]) + "\n")
    said = compare_runs(tmp_path / "a", tmp_path / "b")
    assert said[0].startswith("dummy, fold 1: rmse was ")
    assert said[1] == "ridge, fold 10: only in the first run."


def test_resume_does_what_is_left(tmp_path):
    log = tmp_path / "log"
    make = lambda: Case({"mean": Mean(log=str(log)), "line": LinearRegression()})
    count = lambda: len(log.read_text().splitlines())
    whole = run_in(tmp_path / "whole", make())
    assert count() == 5
    run_in(tmp_path / "part", make())
    file = tmp_path / "part" / "results.jsonl"
    kept = file.read_bytes().splitlines(keepends=True)[:8]  # dummy, three of the mean
    junk = [b"junk\xff\n", b"[1]\n", b'{"method": "dummy", "fold": 0}\n']
    file.write_bytes(b"".join([*kept, *junk]) + b'{"method": "line", "fo')
    before = count()
    assert same(run_in(tmp_path / "part", make(), resume=True), whole)
    assert count() - before == 2
    assert compare_runs(tmp_path / "whole", tmp_path / "part") == []
    assert same(run_in(tmp_path / "part", make(), resume=True), whole)
    assert count() - before == 2  # nothing was left
    model = run_in(tmp_path / "part", make(), resume=True)["line"].model
    assert model.predict(make().data.frame).shape == (60,)  # fitted again on demand


def test_a_full_disk_or_a_lost_folder_stops_nothing(tmp_path, monkeypatch):
    whole = run_in(tmp_path / "whole", two())
    write, calls = RunFolder.append, []

    def full(folder, file, body):
        calls.append(file)
        if len(calls) > 9:
            raise OSError(28, "No space left on device")
        return write(folder, file, body)

    monkeypatch.setattr(RunFolder, "append", full)
    with pytest.warns(UserWarning, match="no longer be written to .No space") as told:
        assert same(run_in(tmp_path / "full", two()), whole)
    assert len(told) == 1 and 0 < len(read_lines(tmp_path / "full")) < 9
    monkeypatch.undo()
    assert same(run_in(tmp_path / "full", two(), resume=True), whole)
    monkeypatch.setattr(
        Case,
        "run",
        lambda case, folder, **how: (
            shutil.rmtree(folder.path),
            run_as_it_is(case, folder, **how),
        )[1],
    )
    with pytest.warns(UserWarning, match="written to .No such file"):
        assert same(run_in(tmp_path / "lost", two()), whole)


run_as_it_is = Case.run


def test_damaged_predictions_are_done_again(tmp_path):
    whole = run_in(tmp_path, two())
    file = tmp_path / "predictions" / "1.f64"
    body = bytearray(file.read_bytes())
    body[3] ^= 1
    file.write_bytes(body)
    assert same(run_in(tmp_path, two(), resume=True), whole)
    again = {(k["method"], k["fold"]): k for k in read_lines(tmp_path)}
    assert again["line", 0]["predictions"]["start"] == len(body)


def test_resume_refuses_another_plan(tmp_path):
    run_in(tmp_path, two())
    other = Case({"line": LinearRegression(), "ridge": Ridge(2.0)}, repeats=2)
    for case, running, says in (
        (two(seed=1), {}, "the folds"),
        (two(source=table(seed=5)), {}, "the rows of the table"),
        (two(), {"seed": 3}, "the seed \\(0 before, 3 now\\)"),
        (other, {}, "the settings of ridge"),
    ):
        with pytest.raises(
            RunFolderError, match=f"cannot be resumed.*{says}"
        ) as caught:
            run_in(tmp_path, case, resume=True, **running)
        assert "\n" not in str(caught.value)
    with pytest.raises(RunFolderError, match="no run to resume"):
        run_in(tmp_path / "none", two(), resume=True)
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="is a file"):
        run_in(tmp_path / "file", two())
    with pytest.raises(RunFolderError, match="file is a file, not a folder"):
        run_in(tmp_path / "file" / "in", two())
    more = Case({"line": LinearRegression(), "new": Mean()}, repeats=2)
    trials = run_in(tmp_path, more, resume=True)  # other methods are welcome
    assert trials["new"].failure == "" and len(read_lines(tmp_path)) == 40
    assert list(read_plan(tmp_path)["methods"]) == ["dummy", "line", "ridge", "new"]


def test_a_new_run_keeps_the_previous_one(tmp_path):
    run_in(tmp_path, two())
    run_in(tmp_path, two(), seed=1)
    assert read_plan(tmp_path)["seed"] == 1
    assert read_plan(tmp_path / "previous")["seed"] == 0
    assert len(read_lines(tmp_path / "previous")) == len(read_lines(tmp_path)) == 30


def test_one_run_at_a_time(tmp_path):
    plan = planned(two())
    with open_run(tmp_path, plan), pytest.raises(RunFolderError, match="Another run"):
        open_run(tmp_path, plan)
    open_run(tmp_path, plan).close()


def test_more_time_is_a_second_chance(tmp_path):
    case = two()
    with open_run(tmp_path, planned(case, time_limit=1.0)) as folder:
        late = FitOutcome(1, 0, failure="took more than 1 s", kind="time")
        wrong = FitOutcome(2, 0, failure="ValueError: no", kind="error")
        scores = {m.name: math.nan for m in case.metrics} | {"rmse": 1.0}
        nan = FitOutcome(0, 0, scores, 0.1, 0.1, np.ones(12))
        for name, outcome in (("line", late), ("ridge", wrong), ("dummy", nan)):
            folder.write(name, outcome)
    trials = run_in(tmp_path, case, resume=True, time_limit=1.0)
    assert trials["line"].failure == "took more than 1 s (fold 1 of 10)"
    assert trials["ridge"].failure == "fold 1 failed: ValueError: no"
    assert math.isnan(trials["dummy"].scores["r2"][0])
    trials = run_in(tmp_path, case, resume=True, time_limit=2.0)
    assert trials["line"].failure == "" and trials["ridge"].failure


def test_a_process_that_died_is_tried_again(tmp_path):
    case = two()
    with open_run(tmp_path, planned(case)) as folder:
        folder.write("line", FitOutcome(1, 0, failure="its process died", kind="died"))
    assert run_in(tmp_path, case, resume=True)["line"].failure == ""


def run_asked_to_stop(path, name, workers=0, **more):
    """A run of three methods in which the second asks for a stop as it fits."""

    class Asking(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            request_stop(path, name)
            return super().fit(X, y, sample_weight)

    own = {"line": LinearRegression(), "asking": Asking(), "late": Ridge()}
    case = Case(own, repeats=2)
    with open_run(path, planned(case), **more) as folder:
        return case, case.run(folder, workers=workers)


def test_a_method_that_is_asked_to_stop_is_left_out(tmp_path):
    case, trials = run_asked_to_stop(tmp_path, "late")
    assert case.complete
    assert trials["late"].failure == "stopped on request after 0 of 10 fits"
    assert trials["line"].failure == trials["asking"].failure == ""
    assert {k["method"] for k in read_lines(tmp_path)} == {"dummy", "line", "asking"}


def test_a_request_for_a_finished_method_changes_nothing(tmp_path):
    _, trials = run_asked_to_stop(tmp_path, "line")
    assert trials["line"].failure == trials["late"].failure == ""


def test_a_run_that_is_asked_to_stop_can_be_resumed(tmp_path):
    case, trials = run_asked_to_stop(tmp_path, STOP_ALL)
    assert not case.complete and trials["line"].failure == ""
    assert trials["late"].failure == "stopped on request before it began"
    assert (tmp_path / "ended.txt").read_text() == "stopped on request\n"
    own = {"line": LinearRegression(), "asking": LinearRegression(), "late": Ridge()}
    case = Case(own, repeats=2)
    plan = {**planned(case), "methods": read_plan(tmp_path)["methods"]}
    with open_run(tmp_path, plan, resume=True) as folder:
        assert folder.stop_requests() == set()
        trials = case.run(folder, workers=0)
    assert case.complete and not any(t.failure for t in trials.values())


def test_runs_are_compared_without_the_methods_that_were_stopped(tmp_path):
    run_in(tmp_path / "a", two())
    request_stop(tmp_path / "a", "ridge")
    with open_run(tmp_path / "b", planned(two()), stopped={"ridge"}) as folder:
        trials = two().run(folder, workers=0)
    assert trials["ridge"].failure == "stopped on request after 0 of 10 fits"
    assert compare_runs(tmp_path / "a", tmp_path / "b") == []


def test_a_fit_at_work_is_ended_with_its_method(tmp_path):
    own = {"line": LinearRegression(), "slow": Mean("sleeps"), "late": Ridge()}
    case = Case(own)
    with open_run(tmp_path, planned(case)) as folder:
        begun = []

        def asked():
            if any(k["method"] == "line" for k in read_lines(tmp_path)):
                begun.append(1)
            return {"slow"} if len(begun) > 3 else set()

        folder.stop_requests = asked
        trials = case.run(folder, workers=1)
    assert case.complete and trials["late"].failure == ""
    assert trials["slow"].failure.startswith("stopped on request after 0 of 5")


def test_progress_is_written_for_who_watches(tmp_path):
    run_in(tmp_path, two())
    told = json.loads((tmp_path / "progress.json").read_text("utf-8"))
    assert (told["fits"], told["left"], told["folds"]) == (30, 0, 10)
    assert told["methods"]["ridge"] == {"state": "done", "text": "done", "fits": 10}
    assert read_stop_requests(tmp_path) == set()

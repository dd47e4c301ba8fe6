"""Run folders as the studio reads them: state, boards, what a terminal did."""

import json
import os

import pytest

from pansophy.assistant.working_folder import WorkingFolder
from pansophy.compare.evaluation.statistics import corrected_interval
from pansophy.compare.execution.run_folder import lock_run_folder
from pansophy.core.files.folder_lock import lock_folder
from pansophy.studio.processes import PROCESS_LOCK, CommandProcesses
from pansophy.studio.run_folders import (
    BoardRow,
    NoSuchRunError,
    RunFits,
    RunFolders,
    RunState,
    bar_axis,
    failure_sentence,
    is_prediction_name,
    word_after,
)

NAME = "survey-pansophy"


@pytest.fixture
def runs(root):
    return RunFolders(WorkingFolder(root), CommandProcesses(root))


def test_a_run_of_a_terminal_is_read_whole(runs):
    (run,) = runs.listed()
    assert (run.name, run.kind, run.state) == (NAME, "compare", RunState.DONE)
    assert (run.table, run.target) == ("survey.csv", "bought") and run.has_model
    board = runs.board(run)
    assert {r.method for r in board.rows} == {
        "dummy", "logistic regression", "decision tree"
    }  # fmt: skip
    assert sum(r.kept for r in board.rows) == 1 and not board.waiting
    assert board.metric == "log loss" and not board.greater
    assert board.familiar == "accuracy" and board.rows[0].rank == 1


def test_scores_so_far_have_intervals_that_shrink(runs):
    place = runs.folder.root / NAME
    lines = (place / "results.jsonl").read_text().splitlines()
    own = [k for k in lines if json.loads(k)["method"] == "logistic regression"]
    for name in ("results.json", "report.html", "progress.json"):
        (place / name).unlink()
    lock = lock_run_folder(place)
    widths = []
    for n in (1, 2, 4):
        (place / "results.jsonl").write_text("\n".join(own[:n]) + "\n")
        runs.readers.clear()
        run = runs.open(NAME)
        assert run.state is RunState.RUNNING
        board = runs.board(run)
        (row,) = board.rows
        assert row.fits == n and board.waiting == ["dummy", "decision tree"]
        if n > 1:
            scores = [json.loads(k)["scores"]["log loss"] for k in own[:n]]
            interval = corrected_interval(scores, 0.25)
            assert (row.low, row.high) == (interval.low, interval.high)
            widths.append(row.high - row.low)
    assert len(widths) == 2
    os.close(lock)


def test_only_whole_new_lines_are_read(runs):
    place = runs.folder.root / NAME
    file = place / "results.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + lines[1][:20])
    fits = RunFits(place).refresh()
    assert fits.lines == 1 and len(fits.by_fit) == 1
    file.write_bytes(b"".join(lines[:3]) + b"not a line\n")
    assert fits.refresh().lines == 4 and len(fits.by_fit) == 3
    file.write_bytes(lines[0])  # another run
    assert fits.refresh().lines == 1 and len(fits.by_fit) == 1


def test_states_of_a_run(runs):
    place = runs.folder.root / NAME
    assert runs.open(NAME).state is RunState.DONE
    results = json.loads((place / "results.json").read_text())
    (place / "results.json").write_text(json.dumps({**results, "complete": False}))
    assert runs.open(NAME).state is RunState.STOPPED
    (place / "results.json").unlink()
    (place / "report.html").unlink()
    assert runs.open(NAME).state is RunState.WRITING  # a terminal may be at it
    (place / "command.json").write_text('{"words": ["compare", "survey.csv"]}')
    (place / "run.log").write_text("1 of 3\npansophy: No method finished: why.\n")
    run = runs.open(NAME)
    assert run.state is RunState.FAILED
    assert failure_sentence(run) == "No method finished: why."
    lock = lock_folder(place, PROCESS_LOCK)  # as the process of a studio holds it
    assert runs.open(NAME).state is RunState.WRITING
    (place / "plan.json").unlink()
    assert runs.open(NAME).state is RunState.STARTING
    os.close(lock)


def test_what_is_no_run_is_refused(runs):
    for name in ("none", "survey.csv", ".", "..", f"{NAME}/predictions"):
        with pytest.raises(ValueError, match=r"no run|leads out"):
            runs.open(name)
    (runs.folder.root / "plain").mkdir()
    with pytest.raises(NoSuchRunError):
        runs.open("plain")


def test_damaged_files_of_a_run_are_no_results(runs):
    place = runs.folder.root / NAME
    for name in ("results.json", "plan.json", "progress.json", "command.json"):
        (place / name).write_text("[1, 2")
    run = runs.open(NAME)
    assert run.kept == "" and runs.board(run) is None


def test_kinds_of_runs(runs):
    for name, file, kind in (
        ("a", "explore.html", "explore"),
        ("b", "runs/settings.json", "play"),
    ):
        place = runs.folder.root / name / file
        place.parent.mkdir(parents=True)
        place.write_text("{}")
        assert runs.open(name).kind == kind
    (runs.folder.root / "c").mkdir()
    (runs.folder.root / "c" / "plan.json").write_text('{"task": "forecasting"}')
    assert runs.open("c").kind == "forecast"


def test_words_and_names():
    assert word_after(["compare", "x", "--target", "y"]) == "y"
    assert word_after(["forecast", "x", "--target=y"]) == "y"
    assert word_after(["explore", "x"]) == ""
    assert is_prediction_name("predictions-new.csv")
    for name in ("predictions-.csv", "predictions-/../a.csv", "other.csv"):
        assert not is_prediction_name(name)


def test_far_worse_methods_do_not_stretch_the_axis():
    rows = [BoardRow(f"m{k}", "done", 5, 1 + k / 100) for k in range(6)]
    low, high = bar_axis([*rows, BoardRow("bad", "done", 5, 50.0)], greater=False)
    assert low < 1 < 1.02 < high < 2 and bar_axis([], greater=True) is None

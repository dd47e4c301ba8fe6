"""Methods that hang, eat, crash and lie: the run ends, names them, keeps the rest."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from pansophy.compare.execution.plan import ExecutionLimits, make_plan
from pansophy.compare.execution.run_folder import compare_runs, open_run, read_lines
from tests.compare.faulty_estimators import LOCK, Case, Dice, Locked, Mean, gone, same

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

BAD = {
    "sleeps": "took more than 3 s (fold 2 of 3)",
    "hangs_in_c": "took more than 3 s (fold 2 of 3)",
    "eats_memory": "used more than 400 MB of memory (fold 2 of 3)",
    "asks_too_much": "fold 2 failed: MemoryError: Unable to allocate",
    "raises": "fold 2 failed: FloatingPointError: went wrong",
    "answers_nan": "fold 2 failed: ValueError: predictions are not finite",
    "leaves": "fold 2 failed: SystemExit: bye",
    "vanishes": "its process ended with exit code 3 in fold 2 of 3",
    "crashes": "its process died with signal 11 (SIGSEGV) in fold 2 of 3",
}
MARK = Case({}, folds=3).mark(1)
HARMLESS = ("chats", "meddles", "scribbles")


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    log = str(tmp_path_factory.mktemp("log") / "log")
    own = {"before": LinearRegression()}
    own |= {how: Mean(how, mark=MARK) for how in BAD}
    own |= {how: Mean(how) for how in HARMLESS}
    own |= {"always": Mean("raises"), "parent": Mean("has_children", log=log)}
    own |= {"dice": Dice(), "locked": Locked(LOCK), "after": LinearRegression()}
    case = Case(own, folds=3)
    before = np.random.get_state()[1].copy(), dict(os.environ), os.getcwd()
    trials = case.run(workers=2, time_limit=3.0, memory_limit=400e6)
    assert np.array_equal(np.random.get_state()[1], before[0])
    assert (dict(os.environ), os.getcwd()) == before[1:]
    return case, trials, log


def test_bad_methods_are_named_with_fold_and_reason(outcome):
    case, trials, _ = outcome
    assert case.complete
    for how, says in BAD.items():
        if how == "eats_memory" and "MemoryError" in trials[how].failure:
            continue  # the kernel was quicker than the parent
        assert trials[how].failure.startswith(says), trials[how].failure
        assert "\n" not in trials[how].failure and trials[how].losses is None
    text = trials["locked"].failure
    assert text.startswith(
        "cannot be sent to a worker process: TypeError: cannot pickle"
    )


def test_good_methods_lose_nothing(outcome):
    _, trials, _ = outcome
    assert same({"": trials["before"]}, {"": trials["after"]})
    for name in ("dummy", "before", "after", *HARMLESS):
        t = trials[name]
        assert t.failure == "" and len(t.scores["rmse"]) == len(t.fit_seconds) == 3
        assert np.isfinite(t.losses).all() and np.isfinite(t.predictions).all()
    plain = Case({"mean": Mean()}, folds=3).run(workers=0)["mean"]
    for name in ("chats", "scribbles"):  # wrote on copies, to nowhere
        assert trials[name].scores == plain.scores
    assert trials["meddles"].scores != plain.scores


def test_global_generators_are_seeded_for_each_fit(outcome):
    _, trials, _ = outcome
    alone = Case({"dice": Dice()}, folds=3).run(workers=0)["dice"]
    assert alone.scores == trials["dice"].scores  # whatever ran before


def test_a_failure_does_not_depend_on_the_workers(outcome):
    """The first fold that fails is named, though others may fail sooner."""
    _, trials, _ = outcome
    alone = Case({"always": Mean("raises")}, folds=3).run(workers=0)["always"]
    assert alone.failure == trials["always"].failure
    assert alone.failure == "fold 1 failed: FloatingPointError: went wrong"


def test_children_of_a_killed_fit_are_killed(outcome):
    _, trials, log = outcome
    assert trials["parent"].failure == "took more than 3 s (fold 1 of 3)"
    with open(log) as file:
        lines = file.read().splitlines()
    assert any("child" in line for line in lines)
    assert all(gone(int(line.split()[0])) for line in lines)


class Mine(Mean):
    """A class of the same name is in the script."""


SCRIPT = """
    import sys
    sys.path.insert(0, {root!r})
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.linear_model import LinearRegression
    from tests.compare.faulty_estimators import Case, Mean, open_run

    class Mine(Mean):
        '''Of a script without a guard.'''

    own = {{"mine": Mine("waits", log={log!r}), "line": LinearRegression()}}
    trials = open_run(Case(own), {folder!r}, workers=2)
    print({{n: (t.failure, type(t.model).__name__) for n, t in trials.items()}})
"""


def start(tmp_path, **more):
    code = SCRIPT.format(
        root=os.getcwd(), log=str(tmp_path / "log"), folder=str(tmp_path / "run")
    )
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(code))
    return subprocess.Popen(
        [sys.executable, str(path)], stdout=subprocess.PIPE, text=True, **more
    )


def test_kill_9_of_the_parent_then_resume(tmp_path):
    """Also: a class of an unguarded script goes to the workers and comes back."""
    process = start(tmp_path)
    wait_for(lambda: len(read_lines(tmp_path / "run")) >= 7, process)
    process.kill()
    process.wait()
    process.stdout.close()
    log = tmp_path / "log"
    pids = {int(line.split()[0]) for line in log.read_text().splitlines()}
    assert pids and all(gone(pid) for pid in pids)  # no orphans
    with open(tmp_path / "run" / "results.jsonl", "a") as file:
        file.write('{"method": "mine", "fol')  # as a crash leaves it
    kept = {(k["method"], k["fold"]) for k in read_lines(tmp_path / "run")}
    assert len(kept) == 7  # of 15; two were under way
    own = {"mine": Mine("waits", log=str(log)), "line": LinearRegression()}
    case = Case(own)
    fits = len(log.read_text().splitlines())
    (tmp_path / "log.go").touch()
    plan = make_plan(*case.parts, ExecutionLimits())
    with open_run(tmp_path / "run", plan, resume=True) as folder:
        resumed = case.run(folder, workers=0)
    again = len(log.read_text().splitlines()) - fits
    assert again == 5 - 2 == 5 - sum(name == "mine" for name, _ in kept)
    with open_run(tmp_path / "other", plan) as folder:
        whole = case.run(folder, workers=0)
    assert case.complete and same(resumed, whole)
    assert compare_runs(tmp_path / "run", tmp_path / "other") == []


def wait_for(holds, process, seconds=240):
    end = time.monotonic() + seconds
    while not holds():
        assert process.poll() is None, "the script ended early"
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


def test_ctrl_c_keeps_what_is_done_and_workers_do_not_see_it(tmp_path):
    process = start(tmp_path, start_new_session=True)
    wait_for(lambda: len(read_lines(tmp_path / "run")) >= 7, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 0
    found = eval(out)
    assert found["dummy"] == ("", "Pipeline")
    assert found["mine"][0].startswith("interrupted in fold ")
    assert found["line"][0] == "interrupted before it began"
    assert (tmp_path / "run" / "ended.txt").read_text() == "interrupted\n"
    assert not any(k["failure"] for k in read_lines(tmp_path / "run"))


def test_a_fit_whose_process_is_killed_from_outside_is_tried_again(tmp_path):
    """Killed once: nothing is lost. Killed every time: named, and not for ever."""
    log = str(tmp_path / "log")
    case = Case({"once": Mean("killed_once", log=log), "always": Mean("is_killed")}, 3)
    trials = case.run(workers=2)
    assert case.complete and trials["once"].failure == ""
    assert np.isfinite(trials["once"].losses).all()
    assert "SIGKILL" in trials["always"].failure
    assert trials["dummy"].failure == ""


def test_answers_that_are_no_probabilities_are_disqualified():
    from tests.compare.faulty_estimators import Odds, class_table

    own = {how: Odds(how) for how in ("negative", "too much", "rounded", "fine")}
    trials = Case(own, folds=3, source=class_table()).run(workers=0)
    assert "a probability is negative (-0.5)" in trials["negative"].failure
    assert "sum to 1.4 instead of 1" in trials["too much"].failure
    assert trials["rounded"].failure == trials["fine"].failure == ""


def test_a_run_without_its_dummy_is_not_complete():
    from pansophy.compare.run_comparison import dummy_finished

    trials = Case({"line": LinearRegression()}, folds=3).run(workers=0)
    assert dummy_finished(trials.values())
    trials["dummy"].failure = "its process died"
    assert not dummy_finished(trials.values())

"""The benchmark runner: interleaves, compares quality, and reports absent peers."""

import multiprocessing
import textwrap

import pytest

from benchmarks import runner


def _facts(quality, first=1.0):
    return {
        "first": first, "first_processor": first, "memory": 10.0, "quality": quality,
    }  # fmt: skip


def _same(payload):
    return payload


def _case(tolerance=0.0, **options):
    given = {
        "name": "sum",
        "what": "a sum",
        "sizes": [(1,), (2,)],
        "data": _same,
        "ours": _same,
        "peers": {"theirs": _same, "absent": _same},
        "quality": lambda payload, result: result,
        "tolerance": tolerance,
        "target": 2.0,
    }
    return runner.Case(**{**given, **options})


def _times(*seconds):
    return [(s, s / 2, None) for s in seconds]


FACTS = {"ours": _facts(1.0), "theirs": _facts(0.9), "absent": {"error": "ImportError"}}
TIMES = {"ours": _times(1.0, 2.0, 1.0, 1.0), "theirs": _times(3.0, 6.0, 3.0, 5.0)}


def test_ratio_is_the_median_of_paired_rounds():
    record = runner.row(_case(0.1), (2,), FACTS, TIMES)
    assert record["peers"]["theirs"]["wall"] == [3.0, 3.0, 3.0]
    assert record["peers"]["theirs"]["processor"] == [3.0, 3.0, 3.0]
    assert record["equal_quality"]


@pytest.mark.parametrize(
    ("ours", "tolerance", "equal"),
    [(1.0, 0.05, False), (1.0, 0.1, True), (0.5, 0.0, True), (float("nan"), 9, False)],
)
def test_worse_quality_fails_the_gate(ours, tolerance, equal):
    facts = {**FACTS, "ours": _facts(ours)}
    assert runner.row(_case(tolerance), (2,), facts, TIMES)["equal_quality"] is equal


def test_quality_is_the_median_over_the_seeds_of_the_rounds():
    times = {
        "ours": [(1.0, 1.0, q) for q in (0.0, 0.0, 5.0, 6.0, 7.0)],
        "theirs": [(1.0, 1.0, q) for q in (4.0, 4.0, 4.0, 9.0, 9.0)],
    }
    record = runner.row(_case(), (2,), FACTS, times)
    assert record["ours"]["quality"] == 5.0  # a lucky first seed does not count
    assert record["peers"]["theirs"]["quality"] == 4.0
    assert not record["equal_quality"]


def test_absent_peer_is_reported():
    record = runner.row(_case(1.0), (2,), FACTS, TIMES)
    assert record["peers"]["absent"] == {"error": "ImportError"}
    assert "absent" in runner.brief(record)


def test_order_of_turns_is_shuffled_by_the_seed():
    names = ["ours", "a", "b"]
    turns = runner.orders(names, 5, 40)
    assert turns == runner.orders(names, 5, 40)
    assert turns != runner.orders(names, 6, 40)
    assert all(sorted(turn) == sorted(names) for turn in turns)
    assert {turn[0] for turn in turns} == set(names)


def test_marks_of_peers_that_do_not_exist_are_an_error():
    with pytest.raises(ValueError, match="sum has no peer nobody"):
        _case(written=("nobody",))
    with pytest.raises(ValueError, match="sum has no peer nobody"):
        _case(targets={"nobody": 2.0})


MODULE = """
    import os
    from benchmarks.runner import Case

    def ours(payload, seed=0):
        return seed

    def failing(payload):
        import no_such_package

    def dying(payload):
        os._exit(3)

    def dying_later(payload, calls=[]):
        calls.append(1)
        if len(calls) == 3:
            os._exit(3)
        return 2

    def waiting(payload):
        import time
        while True:
            time.sleep(1)

    def caches(payload):
        return os.environ.get("PANSOPHY_CACHE_DIR"), os.environ.get("NUMBA_CACHE_DIR")

    def make(name, ours, peers, quality=lambda payload, result: result):
        sizes = [(1,), (2,), (3,)]
        return Case(name, name, sizes, lambda size: size, ours, peers, quality)

    theirs = lambda payload: 2
    both = lambda payload, folders: len(set(folders)) + ("bench-" not in folders[0])
    PEERS = {"theirs": theirs, "failing": failing, "dying": dying, "later": dying_later}
    CASES = [
        make("made", ours, PEERS),
        make("stuck", waiting, {"theirs": theirs}),
        make("cold", caches, {"theirs": caches}, both),
    ]
"""


@pytest.fixture
def made_cases(tmp_path, monkeypatch):
    (tmp_path / "made_cases.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.syspath_prepend(str(tmp_path))
    return lambda name: runner.find("made_cases", name)


def test_a_row_is_measured_with_every_contender_in_its_process(made_cases):
    record = runner.run("made_cases", made_cases("made"), (1,))
    assert record["ours"]["quality"] == (record["rounds"] - 1) / 2  # seeds 0, 1, ...
    assert record["peers"]["theirs"]["wall"][1] > 0
    assert "no_such_package" in record["peers"]["failing"]["error"]
    assert record["peers"]["dying"]["error"] == "the process ended with code 3"
    assert record["peers"]["later"]["error"] == "the process ended with code 3"
    assert record["seeded"]
    assert isinstance(record["shuffle_seed"], int)


def test_between_the_ends_ours_is_alone(made_cases):
    record = runner.run("made_cases", made_cases("made"), (2,))
    assert record["peers"] == {}
    assert not record["cold"]


def test_both_caches_are_empty_folders_at_the_smallest_size(made_cases):
    record = runner.run("made_cases", made_cases("cold"), (1,))
    assert record["ours"]["quality"] == 1  # the same new folder for both
    assert record["peers"]["theirs"]["quality"] == 1


def test_a_call_beyond_the_limit_ends_the_row(made_cases):
    with pytest.raises(runner.TooSlowError, match="ours gave no answer"):
        runner.run("made_cases", made_cases("stuck"), (1,), limit=0.5)
    assert multiprocessing.active_children() == []

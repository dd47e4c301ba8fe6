"""The benchmark runner: interleaves, compares quality, and reports absent peers."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import runner  # noqa: E402


def _facts(quality, first=1.0):
    return {"first": first, "memory": 10.0, "quality": quality}


def _case(tolerance=0.0):
    same = lambda payload: payload
    return runner.Case(
        name="sum",
        what="a sum",
        sizes=[(1,), (2,)],
        data=same,
        ours=same,
        peers={"theirs": same, "absent": same},
        quality=lambda p, r: 0.0,
        tolerance=tolerance,
        target=2.0,
    )


FACTS = {"ours": _facts(1.0), "theirs": _facts(0.9), "absent": {"error": "ImportError"}}
TIMES = {"ours": [1.0, 2.0, 1.0, 1.0], "theirs": [3.0, 6.0, 3.0, 5.0]}


def test_ratio_is_the_median_of_paired_rounds():
    record = runner.row(_case(0.1), (2,), FACTS, TIMES)
    assert record["peers"]["theirs"]["ratio"] == 3.0
    assert record["peers"]["theirs"]["high"] >= record["peers"]["theirs"]["low"] == 3.0
    assert record["equal_quality"]


def test_worse_quality_is_marked_and_not_quoted(tmp_path):
    record = runner.row(_case(0.05), (2,), FACTS, TIMES)
    assert not record["equal_quality"]
    result = {
        "case": "sum",
        "what": "a sum",
        "main": "theirs",
        "target": 2.0,
        "targets": {},
        "sizes": [record],
    }
    assert "worse quality" in runner.table([result])
    readme = tmp_path / "README.md"
    readme.write_text(f"a\n{runner.START}\nold\n{runner.END}\nb\n")
    runner.quote([result], readme)
    assert "old" not in readme.read_text()
    assert "| sum |" not in readme.read_text()


def test_absent_peer_is_reported():
    record = runner.row(_case(1.0), (2,), FACTS, TIMES)
    assert record["peers"]["absent"] == {"error": "ImportError"}
    assert "absent" in runner.brief(record)


def test_every_case_is_well_formed():
    import importlib
    import pkgutil

    names = []
    for info in pkgutil.iter_modules([str(ROOT / "benchmarks")]):
        if info.name.startswith("bench_"):
            for case in importlib.import_module(f"benchmarks.{info.name}").CASES:
                names.append(case.name)
                assert len(case.sizes) >= 3, f"{case.name}: growth needs three sizes"
                assert case.peers
    assert len(names) == len(set(names)) > 10

"""Cases and records as the runner would make them."""

from benchmarks import runner
from benchmarks.definition import hash_case

STAMP = {
    "commit": "0123456789ab", "date": "2026-11-18T22:00:00+00:00", "processor": "X",
    "cores": 2, "threads": 2, "load": [0.5, 1.0], "python": "3.11.7", "seconds": 3.0,
    "versions": {"numpy": "2.4.6", "pansophy": "0.1.0"},
}  # fmt: skip


def _same(payload):
    return payload


def make_case(name="sum", **options):
    return runner.Case(
        name, "a sum", [(1,), (2,), (3,)], _same, _same, {"theirs": _same}, _same,
        **options,
    )  # fmt: skip


def make_row(
    case, size=(1,), ratio=(2.0, 3.0, 4.0), equal=True, load=(0.5, 1.0), **more
):
    side = {"first_s": 1.0, "first_processor_s": 1.0, "memory_mib": 0.0, "quality": 0.0}
    slow = [r / 8 for r in ratio]
    row = {
        "case": case.name, "size": list(size), "equal_quality": equal, "seeded": False,
        "rounds": 5, "cold": size == (1,), "hash": hash_case(case),
        "ours": {**side, "median_s": 1.0, "processor_s": 1.0},
        "peers": {"theirs": {**side, "wall": list(ratio), "processor": slow}},
        "stamp": {**STAMP, "load": list(load)},
    }  # fmt: skip
    return {**row, **more}

"""Records: stamps are whole, stale rows are found and dropped, tables tell all."""

import json

import pytest

from benchmarks import plot, records, stamp, tables
from tests.benchmarks.made_rows import STAMP, make_case, make_row


def test_a_stamp_is_complete():
    made = stamp.finish_stamp(
        stamp.begin_stamp(2), {"numpy": "2", "pansophy": "0.1"}, 1.0
    )
    assert stamp.missing_fields(made) == []
    assert made["commit"]
    assert len(made["load"]) == 2


@pytest.mark.parametrize("name", stamp.REQUIRED)
def test_a_row_without_a_part_of_its_stamp_is_stale(name):
    case = make_case()
    row = make_row(case)
    assert records.Records([row]).stale([case]) == []
    del row["stamp"][name]
    ((_, _, reason),) = records.Records([row]).stale([case])
    assert name in reason


def test_versions_of_ours_and_numpy_are_required():
    case = make_case()
    row = make_row(case)
    row["stamp"]["versions"] = {"numpy": "2"}
    ((_, _, reason),) = records.Records([row]).stale([case])
    assert "pansophy" in reason


def test_versions_are_those_of_what_is_loaded():
    import numpy

    import pansophy

    versions = stamp.loaded_versions()
    assert versions["numpy"] == numpy.__version__
    assert versions["pansophy"] == pansophy.__version__


def test_a_changed_case_fails_the_check_and_its_rows_are_dropped():
    kept, changed, gone = make_case("kept"), make_case("changed"), make_case("gone")
    rows = [
        make_row(kept),
        make_row(changed, hash="another"),
        make_row(gone),
        make_row(kept, (9,)),
    ]
    made = records.Records(rows)
    cases = [kept, changed]
    reasons = {(name, size[0]): reason for name, size, reason in made.stale(cases)}
    assert reasons == {
        ("changed", 1): "the definition of the case has changed",
        ("gone", 1): "there is no such case any more",
        ("kept", 9): "this size is not measured any more",
    }
    made.drop_stale(cases)
    assert made.stale(cases) == []
    assert made.get(kept, (1,)) == rows[0]
    wanting = [(c.name, s, why) for c, s, why in made.wanting(cases)]
    assert ("changed", (1,), "missing") in wanting
    assert ("kept", (1,), "missing") not in wanting


def test_rows_that_are_not_run_keep_their_stamps(tmp_path):
    first, second = make_case("first"), make_case("second")
    old = make_row(first)
    path = tmp_path / "results.json"
    records.Records([old]).save(path)
    later = records.Records.load(path)
    new_stamp = {**STAMP, "commit": "ba9876543210"}
    later.put(make_row(second, stamp=new_stamp))
    later.save(path)
    read = records.Records.load(path)
    assert read.get(first, (1,)) == old
    assert read.get(second, (1,))["stamp"] == new_stamp


def test_missing_rows_come_before_those_of_a_busy_machine():
    case = make_case()
    made = records.Records([make_row(case, load=(3.0, 1.0)), make_row(case, (2,))])
    assert [(s, why) for _, s, why in made.wanting([case])] == [
        ((3,), "missing"),
        ((1,), "busy"),
    ]


def test_ratios_without_a_stamp_are_listed_apart_and_quoted_nowhere(tmp_path):
    path, readme = tmp_path / "results.json", tmp_path / "README.md"
    peers = {"theirs": {"ratio": 7.25, "low": 7, "high": 8}}
    old = {"case": "sum", "sizes": [{"size": [3], "peers": peers}]}
    path.write_text(json.dumps({"machine": {}, "results": [old]}))
    readme.write_text(f"a\n{tables.START}\nold\n{tables.END}\nb\n")
    case, made = make_case(), records.Records.load(path)
    page = tmp_path / "results.md"
    tables.write_tables(made, [case], {"sum": "bench_sum"}, page, readme)
    assert records.UNSTAMPED in page.read_text()
    assert "7.25 (theirs)" in page.read_text()
    assert "1 cases, 0 with a stamped record" in page.read_text()
    assert "7.2" not in readme.read_text()
    made.put(make_row(case))
    assert made.unstamped == []


def _pages(tmp_path, cases, rows):
    readme, page = tmp_path / "README.md", tmp_path / "results.md"
    readme.write_text(f"a\n{tables.START}\nold\n{tables.END}\nb\n")
    files = {case.name: "bench_sum" for case in cases}
    tables.write_tables(records.Records(rows), cases, files, page, readme)
    return page.read_text(), readme.read_text()


def test_losses_and_worse_quality_are_counted_and_shown(tmp_path):
    cases = [make_case(name) for name in ("best", "good", "lost", "worse", "level")]
    ratios = [(2, 3, 4), (2, 3, 4), (0.5, 0.6, 0.7), (2, 3, 4), (0.9, 1.1, 1.2)]
    rows = [
        make_row(case, ratio=ratio, equal=case.name != "worse")
        for case, ratio in zip(cases, ratios, strict=True)
    ]
    page, readme = _pages(tmp_path, cases, rows)
    assert "5 cases, 5 with a stamped record, 0 without; 0 stale" in page
    assert "| their smallest size | 2 | 1 | 1 | 1 |" in page
    assert "| their largest size | 0 | 0 | 0 | 0 |" in page
    short = page.split("## All rows")[0]
    listed = [line.split(" | ")[0] for line in short.splitlines() if "theirs" in line]
    assert listed == ["| best", "| lost", "| worse"]  # the first, and all that is bad
    assert "0.60 [0.50, 0.70] theirs" in page
    assert "theirs, worse" in page
    assert "lost: 0.6 times as fast as theirs; worse" not in readme  # the worst first
    assert "worse: 3 times as fast as theirs" in readme
    assert "5 of 5 cases have a record" in readme


def test_the_plot_gives_half_of_its_places_to_losses():
    wins = [make_case(f"win{i}") for i in range(12)]
    losses = [make_case(f"loss{i}") for i in range(7)]
    cases = wins + losses
    rows = [make_row(case, ratio=(2, 3, 4)) for case in wins]
    rows += [make_row(c, ratio=(0.1, 0.2 + i / 10, 0.9)) for i, c in enumerate(losses)]
    files = {case.name: f"bench_{case.name[:4]}" for case in cases}
    fresh = tables.fresh_rows(records.Records(rows), cases)
    shown = [case.name for case, _ in plot.chosen_rows(cases, files, fresh)]
    assert len(shown) == plot.PLACES
    assert shown[:5] == [f"win{i}" for i in range(5)]
    assert shown[5:] == [f"loss{i}" for i in (4, 3, 2, 1, 0)]  # the worst of them


def test_stale_rows_are_never_shown(tmp_path):
    case = make_case()
    page, readme = _pages(tmp_path, [case], [make_row(case, hash="another")])
    assert "1 cases, 0 with a stamped record, 1 without; 1 stale rows" in page
    assert "3.00" not in page
    assert "3.00" not in readme


def test_a_busy_row_counts_by_processor_time_and_says_so(tmp_path):
    case = make_case()
    page, readme = _pages(tmp_path, [case], [make_row(case, load=(1.0, 2.6))])
    assert "busy" in page
    assert "0.38‡ [0.25, 0.50] theirs" in page  # 3 / 8 of the processor
    assert "| their smallest size | 0 | 1 | 0 | 0 |" in page
    assert "(hollow) on a busy machine" in readme


def test_baselines_written_here_are_marked_and_no_memory_is_no_result(tmp_path):
    case = make_case(written=("theirs",))
    page, _ = _pages(tmp_path, [case], [make_row(case)])
    assert "theirs †" in page
    assert "theirs†" in page
    assert "– / –" in page

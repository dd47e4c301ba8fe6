"""`python -m benchmarks`: the check, resuming after an interruption, choice of rows."""

import pytest

from benchmarks import __main__ as program
from benchmarks import records, runner, tables
from benchmarks.definition import hash_case
from tests.benchmarks.made_rows import make_case, make_row


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with two cases of three sizes and no records."""
    cases = [make_case("first"), make_case("second")]
    files = {case.name: f"bench_{case.name}" for case in cases}
    home = tmp_path / "benchmarks"
    home.mkdir()
    (tmp_path / "README.md").write_text(f"a\n{tables.START}\n{tables.END}\nb\n")
    monkeypatch.setattr(program, "HERE", home)
    monkeypatch.setattr(program, "find_cases", lambda: (cases, files))
    monkeypatch.setattr(program, "limit_threads", lambda threads: None)
    return cases, home / "results.json"


def _run_at_most(n, cases, monkeypatch):
    """Replaces measuring; the rows that were asked for, an interruption after n."""
    asked = []

    def run(module, case, size, limit, threads):
        if len(asked) == n:
            raise KeyboardInterrupt
        asked.append((case.name, size[0]))
        return make_row(case, size)

    monkeypatch.setattr(runner, "run", run)
    return asked


def test_the_check_fails_on_a_stale_row(project, capsys):
    cases, path = project
    records.Records([make_row(cases[0])]).save(path)
    assert program.main(["--check"]) == 0
    records.Records([make_row(cases[0], hash="another")]).save(path)
    assert program.main(["--check"]) == 1
    assert (
        "first [1]: the definition of the case has changed" in capsys.readouterr().out
    )
    assert program.main(["--drop"]) == 0
    assert program.main(["--check"]) == 0


def test_an_interrupted_run_goes_on(project, monkeypatch, capsys):
    cases, path = project
    asked = _run_at_most(4, cases, monkeypatch)
    assert program.main([]) == 130
    assert asked == [("first", 1), ("first", 2), ("first", 3), ("second", 1)]
    assert "left]" in capsys.readouterr().out
    asked = _run_at_most(9, cases, monkeypatch)
    assert program.main([]) == 0
    assert asked == [("second", 2), ("second", 3)]
    found = records.Records.load(path)
    assert all(found.get(case, (n,)) for case in cases for n in (1, 2, 3))


def test_a_stale_row_is_run_again(project, monkeypatch):
    cases, path = project
    rows = [make_row(case, (n,)) for case in cases for n in (1, 2, 3)]
    rows[4]["hash"] = "another"
    records.Records(rows).save(path)
    asked = _run_at_most(9, cases, monkeypatch)
    assert program.main([]) == 0
    assert asked == [("second", 2)]
    row = records.Records.load(path).get(cases[1], (2,))
    assert row["hash"] == hash_case(cases[1])


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        (["second", "--size", "smallest"], [("second", 1)]),
        (["second", "--size", "(2,)"], [("second", 2)]),
        (["t", "--size", "(1,)", "--size", "largest"], [("first", 1), ("first", 3)]),
        (["s", "--size", "largest"], [("first", 3), ("second", 3)]),
        (["second", "first", "--size", "smallest"], [("second", 1), ("first", 1)]),
    ],
)
def test_named_rows_are_run_again(project, monkeypatch, words, rows):
    asked = _run_at_most(9, project[0], monkeypatch)
    assert program.main(words) == 0
    assert asked == rows


def test_unknown_names_and_sizes_are_told(project):
    with pytest.raises(SystemExit, match="no case matches nothing"):
        program.main(["nothing"])
    with pytest.raises(SystemExit, match="first has the sizes"):
        program.main(["first", "--size", "(7,)"])


def test_rows_of_a_busy_machine_wait_for_a_quiet_one(project, monkeypatch, capsys):
    cases, path = project
    rows = [make_row(case, (n,), load=(9.0, 9.0)) for case in cases for n in (1, 2, 3)]
    records.Records(rows).save(path)
    asked = _run_at_most(9, cases, monkeypatch)
    monkeypatch.setattr(program.os, "getloadavg", lambda: (9.0, 9.0, 9.0))
    assert program.main([]) == 0
    assert asked == []
    assert "busy" in capsys.readouterr().out
    monkeypatch.setattr(program.os, "getloadavg", lambda: (0.1, 0.1, 0.1))
    assert program.main(["--size", "smallest"]) == 0
    assert asked == [("first", 1), ("second", 1)]


def test_a_busy_machine_gets_one_thread(project, monkeypatch):
    given = []
    monkeypatch.setattr(program, "limit_threads", given.append)

    def run(module, case, size, limit, threads):
        given.append(threads)
        return make_row(case, size)

    monkeypatch.setattr(runner, "run", run)
    for load in (9.0, 0.1):
        given.clear()
        monkeypatch.setattr(program.os, "getloadavg", lambda load=load: (load,) * 3)
        assert program.main(["first", "--size", "smallest"]) == 0
        expected = 1 if load > 2.5 else runner.THREADS
        assert given == [runner.THREADS, expected, expected]

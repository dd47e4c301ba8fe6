"""No command removes or overwrites what it did not make."""

import re
import socket

import pytest
import typer.main

from pansophy.cli import app
from pansophy.compare.execution.run_folder import RUN_FILES
from pansophy.play.run_folder import RESULTS
from tests.cli.commands import call

QUICK = [
    "--repeats",
    "1",
    "--folds",
    "2",
    "--methods",
    "naive-Bayes",
    "--workers",
    "0",
    "--no-blend",
    "--quiet",
]
MONTHLY = [
    "--time",
    "month",
    "-t",
    "sales",
    "--horizon",
    "1",
    "--methods",
    "naive",
    "--origins",
    "1",
    "-q",
]
SHORT = ["--steps", "20", "--seeds", "1", "--agents", "qlearning"]
OTHER_NAMES = (
    *(n for n in RUN_FILES if "." in n),
    "agent.pansophy",
    "episode.gif",
    "explore.html",
    "roc.svg",
    "settings.json",
    "documents.sqlite",
    "notes.txt",
    "notes.py",
    "new.csv",
    "runs/settings.json",
    "runs/qlearning-0.json",
    "runs/qlearning-0.pansophy",
    "previous/notes.txt",
    "words/thesis.txt",
    "words/index.json",
    "words/segment-000000/thesis.bin",
    "vectors/weights.bin",
    "vectors-draft/thesis.txt",
    "vectors-old/thesis.txt",
    ".demo/plan.json",
    "t-pansophy/plan.json",
    ".draft-of-mine",
)


class Place:
    """A folder, the table of a user and the folder of a finished run."""

    def __init__(self, out, table, run):
        self.out = out
        self.table = table
        self.run = run


# what is called in the place of the foreign files, for every command of the application
CALLS = {
    "compare": lambda p: [
        ("compare", p.table, "-t", "y", "-o", p.out, *QUICK),
        ("compare", p.table, "-t", "y", "-o", p.out, "--resume", *QUICK),
    ],
    "rerun": lambda p: [("rerun", p.out), ("rerun", p.run)],
    "explore": lambda p: [("explore", p.table, "-t", "y", "-o", p.out)],
    "forecast": lambda p: [
        ("forecast", p.table, "--time", "x", "-t", "y", "--horizon", "1", "-o", p.out),
        ("forecast", p.sales, *MONTHLY, "-o", p.out),
        ("forecast", p.sales, *MONTHLY, "-o", p.out, "--resume"),
    ],
    "demo": lambda p: [("demo", "--out", p.out), ("demo",)],
    "methods": lambda p: [("methods", "ridge")],
    "learn": lambda p: [("learn", "ridge"), ("learn",)],
    "predict": lambda p: [
        ("predict", p.run, p.table, "-o", p.out / "new.csv"),
        ("predict", p.run, p.table, "-o", p.table),
        ("predict", p.run, p.table, "-o", p.run / "model.pansophy"),
    ],
    "export": lambda p: [
        ("export", p.run, p.out / "notes.py"),
        ("export", p.run, p.run / "model.pansophy"),
    ],
    "studio": lambda p: [
        ("studio", p.out, "--port", p.port, "--no-browser"),
        ("studio", p.table, "--port", p.port, "--no-browser"),
    ],
    "serve": lambda p: [
        ("serve", p.out, "--port", p.port),
        ("serve", p.run, "--port", p.port),
    ],
    "mcp": lambda p: [("mcp", "--folder", p.out / "notes.txt")],
    "plot": lambda p: [
        ("plot", p.out, "roc"),
        ("plot", p.run, "roc", "-o", p.out / "roc.svg"),
    ],
    "play": lambda p: [
        ("play", "FrozenLake-v1", *SHORT, "-o", p.out),
        ("play", "FrozenLake-v1", *SHORT, "-o", p.out, "--resume"),
        ("play", "FrozenLake-v1", *SHORT, "-o", p.out, "--overwrite"),
    ],
    "index": lambda p: [
        ("index", p.table.parent, "--out", p.out, "--no-vectors"),
        ("index", p.table.parent, "--out", p.out, "--no-vectors", "--rebuild"),
        ("index", p.out, "--no-vectors"),
        ("index", p.out, "--no-vectors", "--rebuild"),
    ],
    "ask": lambda p: [("ask", "cat", "--index", p.out)],
    "warm": lambda p: [("warm", "pansophy.links", "--jobs", "1")],
    "doctor": lambda p: [("doctor",)],
}


def fill_with_foreign_files(folder, names):
    """Files of a stranger; their contents by name."""
    contents = {}
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        contents[name] = f"a stranger's {name}".encode()
        path.write_bytes(contents[name])
    return contents


def bytes_below(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def assert_still_there(contents, folder):
    """Every file is where it was, or under its name in `previous/` or the like."""
    now = bytes_below(folder)
    for name, content in contents.items():
        below = name.rpartition("/")[2]
        moved = re.compile(rf"(.*/)?(previous|vectors-old)[^/]*/(.*/)?{below}")
        found = [b for p, b in now.items() if p == name or moved.fullmatch(p)]
        assert content in found, f"{name} has gone"


@pytest.fixture
def place(tmp_path, table, folder, monkeypatch):
    """The user's place, in which commands are called."""
    out = tmp_path / "mine"
    out.mkdir()
    own = tmp_path / "tables" / "t.csv"
    own.parent.mkdir()
    own.write_bytes(table.read_bytes())
    monkeypatch.chdir(out)
    import pansophy.compare
    import pansophy.datasets

    run = pansophy.compare.compare
    quick = {"repeats": 1, "folds": 2, "methods": ["naive Bayes"], "workers": 0}
    monkeypatch.setattr(pansophy.datasets, "path", lambda: table)
    monkeypatch.setattr(pansophy.datasets, "load", lambda: Bundled())
    monkeypatch.setattr(
        pansophy.compare, "compare", lambda *a, **k: run(*a, **{**quick, **k})
    )
    result = Place(out, own, folder)
    result.sales = own.parent / "sales.csv"
    months = [f"20{20 + k // 12}-{k % 12 + 1:02}-01,{k % 5 + 3}" for k in range(40)]
    result.sales.write_text("\n".join(["month,sales", *months]))
    with socket.create_server(("127.0.0.1", 0)) as taken:  # serving ends at once
        result.port = taken.getsockname()[1]
        yield result


class Bundled:
    about = "A small table."
    target = "y"


def test_every_command_is_tried():
    group = typer.main.get_command(app)
    assert set(group.list_commands(None)) == set(CALLS)


@pytest.mark.parametrize("command", CALLS)
def test_all_files_of_a_stranger_are_still_there(command, place, monkeypatch):
    if command == "warm":  # others would compile their loops once more
        monkeypatch.setenv("PANSOPHY_CACHE_DIR", str(place.out))
    contents = fill_with_foreign_files(place.out, OTHER_NAMES)
    others = {f: bytes_below(f) for f in (place.table.parent, place.run)}
    for words in CALLS[command](place):
        done = call(*words)
        assert done.exit_code in (0, 2), done.output
        assert "Traceback" not in done.output
        assert_still_there(contents, place.out)
    for folder, before in others.items():
        assert_still_there(before, folder)


SINGLE = [
    *(("index", name) for name in OTHER_NAMES),
    *(
        ("play", name)
        for name in (*RESULTS, "runs/settings.json", "runs/qlearning-0.json")
    ),
    ("predict", "new.csv"),
    ("plot", "roc.svg"),
]


@pytest.mark.parametrize(("command", "name"), SINGLE)
def test_a_single_file_of_a_stranger_is_still_there(command, name, place):
    contents = fill_with_foreign_files(place.out, [name])
    for words in CALLS[command](place):
        if "--overwrite" not in words:  # an agent would be trained
            call(*words)
            assert_still_there(contents, place.out)


def test_results_that_are_overwritten_are_in_previous(place):
    contents = fill_with_foreign_files(place.out, RESULTS)
    done = call(*CALLS["play"](place)[-1])
    assert done.exit_code == 0, done.output
    assert "are now in" in done.output
    assert_still_there(contents, place.out)


def test_foreign_files_within_an_index_are_still_there(place):
    notes = place.table.parent / "a.md"
    notes.write_text("# Cherries\nRed and sweet.\n")
    made = ("index", place.table.parent, "--out", place.out)
    assert call(*made).exit_code == 0
    contents = fill_with_foreign_files(
        place.out, ["words/thesis.txt", "vectors/thesis.txt", "words/segment-me/a.bin"]
    )
    for i in range(3):
        notes.write_text(f"# Limes\nGreen and sour, {i}.\n" * (4 + i))
        assert call(*made).exit_code == 0
        assert_still_there(contents, place.out)
    refused = call(*made, "--rebuild")
    assert refused.exit_code == 2
    assert "is not empty: it holds " in refused.output
    assert_still_there(contents, place.out)
    assert call("ask", "sour", "--index", place.out).exit_code == 0  # it still works


def test_an_index_of_another_version_can_be_made_anew(place):
    (place.table.parent / "a.md").write_text("# Cherries\nRed and sweet.\n")
    made = ("index", place.table.parent, "--out", place.out, "--no-vectors")
    assert call(*made).exit_code == 0
    settings = place.out / "settings.json"
    settings.write_text(settings.read_text().replace('"format": ', '"format": 9'))
    old = call(*made)
    assert old.exit_code == 2 and "--rebuild" in old.output
    assert call(*made, "--rebuild").exit_code == 0
    assert call("ask", "sweet", "--index", place.out).exit_code == 0


def test_predictions_replace_predictions_and_nothing_else(place):
    answers = place.out / "answers.csv"
    words = ("predict", place.run, place.table, "-o", answers)
    assert call(*words).exit_code == 0
    first = answers.read_bytes()
    assert call(*words).exit_code == 0 and answers.read_bytes() == first
    other = call(*words, "--keep", "x")
    assert other.exit_code == 2 and "--overwrite" in other.output
    assert answers.read_bytes() == first
    assert call(*words, "--keep", "x", "--overwrite").exit_code == 0
    assert answers.read_bytes() != first


def test_a_run_does_not_move_its_own_table(place):
    table = place.out / "results.jsonl"
    table.write_text('{"x": 1.5, "y": "a"}\n{"x": 2.5, "y": "b"}\n' * 20)
    done = call("compare", table, "-t", "y", "-o", place.out, *QUICK)
    assert done.exit_code == 2 and "its own table" in done.output
    assert table.exists()


def test_earlier_runs_are_kept_and_the_user_is_told(table, tmp_path):
    for _ in range(3):
        done = call("compare", table, "-t", "y", "-o", tmp_path, *QUICK)
        assert done.exit_code == 0, done.output
    assert "is now in" in done.output and "previous-2" in done.output
    for name in ("previous", "previous-2"):
        assert (tmp_path / name / "plan.json").is_file()
        assert (tmp_path / name / "report.html").is_file()

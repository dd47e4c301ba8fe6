"""`pansophy index` and `pansophy ask`: from a folder of files to cited passages."""

import json
import os
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from pansophy.cli import app


def call(*words):
    return CliRunner().invoke(app, [str(w) for w in words])


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "notes"
    place.mkdir()
    (place / "clock.md").write_text(
        "# Clock\n\nThe clock shows hours.\n\n## Reset\n\nPress both buttons to reset "
        "the clock. It then shows zero.\n"
    )
    (place / "page.html").write_text("<h1>Lamp</h1><p>The lamp is \x1b[31mred.</p>")
    (place / "code.py").write_text("def lantern():\n    return 1\n")
    return place


def test_index_and_ask(folder):
    done = call("index", folder)
    assert done.exit_code == 0, done.output
    assert "2 added" in done.stdout
    assert "left out: 1 of other kinds" in done.stdout
    asked = call("ask", "how do I reset the clock", "--index", folder)
    assert asked.exit_code == 0, asked.output
    assert asked.stdout.startswith("Press both buttons to reset the clock. [1]")
    assert "[1] clock.md:5  Clock > Reset" in asked.stdout
    assert "to **reset** the **clock**. It" in asked.stdout
    assert " ms" in asked.stderr
    phrase = call("ask", '"both buttons"', "--index", folder, "--json")
    found = json.loads(phrase.stdout)
    assert found["citations"] == ["clock.md:5"]
    (passage,) = found["passages"]
    assert passage["path"] == "clock.md"
    marked = [passage["snippet"][a:b] for a, b in passage["marks"]]
    assert marked == ["both", "buttons"]
    # nothing of a document reaches the terminal as a command
    lamp = call("ask", "lamp", "--index", folder)
    assert "\x1b" not in lamp.stdout


def test_changes_and_options(folder, tmp_path):
    out = tmp_path / "elsewhere"
    first = call("index", folder, "--out", out, "--also", "py", "--no-vectors")
    assert first.exit_code == 0, first.output
    assert call("ask", "lantern", "--index", out).stdout.count("code.py:1") == 1
    later = time.time_ns() + 2_000_000_000
    (folder / "clock.md").write_text("# Clock\n\nNow a sundial.\n")
    os.utime(folder / "clock.md", ns=(later, later))
    stale = call("ask", "buttons", "--index", out)
    assert "changed since it was indexed" in stale.stdout
    again = call(
        "index", folder, "--out", out, "--also", ".py", "--no-vectors", "--json"
    )
    report = json.loads(again.stdout)
    assert (report["changed"], report["unchanged"]) == (1, 2)
    assert "sundial" in call("ask", "sundial", "--index", out).stdout
    other = call("index", folder, "--out", out)
    assert other.exit_code == 2
    assert "another also and n_components" in other.stderr
    moved = call("index", tmp_path, "--out", out, "--also", "py", "--no-vectors")
    assert moved.exit_code == 2
    assert "is an index of" in moved.stderr


def test_errors_are_one_sentence(tmp_path, folder):
    asked = call("ask", "x", "--index", tmp_path)
    assert asked.exit_code == 2
    assert "make one with `pansophy index" in asked.stderr
    assert call("index", tmp_path / "nowhere").exit_code == 2
    assert call("index", folder, "--by", "pages").exit_code == 2
    call("index", folder, "--no-vectors")
    assert call("ask", "x", "--index", folder, "--by", "luck").exit_code == 2
    none = call("ask", "xylophone", "--index", folder)
    assert none.exit_code == 0
    assert "No passage answers the question." in none.stdout


def test_asking_loads_neither_compiler_nor_solvers(folder):
    call("index", folder)
    code = (
        "import sys; from typer.testing import CliRunner; from pansophy.cli import app;"
        f"done = CliRunner().invoke(app, ['ask', 'clock', '--index', {str(folder)!r}]);"
        "heavy = {'numba', 'scipy', 'sklearn', 'torch', 'pandas'} & set(sys.modules);"
        "print(done.exit_code, sorted(heavy))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "0 []"


def test_rebuild_with_other_settings(folder, tmp_path):
    assert call("index", folder).exit_code == 0
    refused = call("index", folder, "--overlap", "30")
    assert refused.exit_code != 0 and "--rebuild" in refused.output
    done = call("index", folder, "--overlap", "30", "--rebuild")
    assert done.exit_code == 0 and "2 added" in done.stdout
    assert "2 unchanged" in call("index", folder, "--overlap", "30").stdout
    other = tmp_path / "other"
    other.mkdir()
    place = folder / ".pansophy-index"
    strange = call("index", other, "--out", place, "--rebuild")
    assert strange.exit_code != 0 and "is an index of" in strange.output
    (place / "letter.txt").write_text("mine")
    kept = call("index", folder, "--rebuild")
    assert kept.exit_code != 0 and "letter.txt" in kept.output
    assert "2 unchanged" in call("index", folder, "--overlap", "30").stdout

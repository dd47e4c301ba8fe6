"""The README: its blocks run in their order, in an empty folder, with core packages."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from benchmarks import __main__ as program
from benchmarks.records import Records
from benchmarks.tables import write_tables
from pansophy.datasets import path as table_path
from tests.core_only import core_only_environment, modules_beyond_core

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
LARGEST_PICTURE = 150_000  # bytes


def run_block(kind, code, folder, environment):
    """Run a block of the README as a reader would who pastes it."""
    words = ["bash", "-euo", "pipefail", "-c", code]
    if kind == "python":
        words = [sys.executable, "-c", code]
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{code}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder in which all blocks were run, and what each printed."""
    folder = tmp_path_factory.mktemp("empty")
    tools = tmp_path_factory.mktemp("tools")
    environment = core_only_environment(tools)
    command = tools / "pansophy"  # that of this source, wherever it is installed
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pansophy "$@"\n')
    command.chmod(0o755)
    environment["PATH"] = os.pathsep.join([str(tools), environment["PATH"]])
    done = [
        run_block(kind, code, folder, environment)
        for kind, code in BLOCKS
        if kind in ("bash", "python")
    ]
    return folder, done


def test_blocks_run_in_their_order_in_an_empty_folder(run):
    folder, done = run
    assert [kind for kind, _ in BLOCKS] == ["", "bash", "bash", "python"]
    for name in ("result/report.html", "predictions.csv", "model.pansophy"):
        assert (folder / name).stat().st_size > 100
    assert re.fullmatch(r"right in 9\d% of new rows\n", done[-1].stdout)


def test_demo_needs_core_dependencies_only(run):
    """Neither the command nor its workers can import anything but core packages."""
    beyond = modules_beyond_core()
    assert "pytest" in beyond and not {"numpy", "numba", "sklearn"} & set(beyond)
    folder, (demo, *_) = run
    assert "\r" not in demo.stderr and "\x1b" not in demo.stderr  # lines, no bar
    for word in ("logistic regression", "decision tree", "dummy", "report.html"):
        assert word in demo.stdout
    told = json.loads((folder / "demo" / "results.json").read_text())
    extra = "not installed: pip install 'pansophy[deep]'"
    assert ["neural network", extra] in told["not_run"]
    assert (folder / "demo" / "report.html").stat().st_size > 10_000
    assert (folder / "demo" / "table.csv").read_bytes() == table_path().read_bytes()


def test_the_installation_needs_what_is_declared():
    """The first block is run by `make release-check`; here its words are compared."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = project["requires-python"].removeprefix(">=")
    assert f"Python {version} or later" in TEXT
    extras = re.findall(r'pip install "?\.\[([a-z,]+)\]', TEXT)
    assert extras
    for names in extras:
        assert set(names.split(",")) <= set(project["optional-dependencies"])


def test_pictures_and_pages_are_there_and_pictures_are_light_and_described():
    links = re.findall(r"(!?)\[([^\]]*)\]\(([^)]+)\)", TEXT)
    assert len(links) > 20
    for picture, text, place in links:
        path = ROOT / place
        assert path.exists(), place
        if picture:
            assert path.stat().st_size < LARGEST_PICTURE
            assert len(text) > 20


def test_a_screen_and_a_half():
    assert len(TEXT.splitlines()) < 130 and len(TEXT) < 8_000


def test_the_plot_of_benchmarks_is_that_of_the_records(tmp_path):
    cases, files = program.find_cases()
    records = Records.load(ROOT / "benchmarks" / "results.json")
    readme, page = tmp_path / "README.md", tmp_path / "results.md"
    readme.write_text(TEXT, "utf-8")
    write_tables(records, cases, files, page, readme)
    assert readme.read_text("utf-8") == TEXT, "python -m benchmarks --drop"
    assert page.read_text() == (ROOT / "benchmarks" / "results.md").read_text()
    drawn = (tmp_path / "docs" / "images" / "benchmarks.svg").read_text()
    kept = (ROOT / "docs" / "images" / "benchmarks.svg").read_text()
    label = re.compile(r'aria-label="([^"]*)"')  # fonts differ between versions
    assert label.search(drawn)[1] == label.search(kept)[1]

"""`--json` and docs/commands.md: every command is listed, and prints what is said."""

import json
import re
from pathlib import Path

import pytest

from pansophy.cli.app import COMMANDS, JSON_FORMAT
from tests.cli.commands import call

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "commands.md").read_text("utf-8")
WITHOUT = {"serve", "mcp", "studio"}  # they run until they are ended
QUICK = ("--repeats", "1", "--folds", "3", "--methods", "logistic-regression", "-q")


def printed(*words):
    done = call(*words)
    assert done.exit_code in (0, 1), done.output
    return json.loads(done.stdout)


def keys_of(command) -> set[str]:
    """The keys that the page names for a command, outside brackets."""
    (row,) = re.findall(rf"^\| [^|]*`{command}`[^|]*\| (.*) \|$", PAGE, re.M)[-1:]
    return set(re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)|`results\.json`", "", row)))


def test_every_command_is_listed_and_takes_json():
    for command in COMMANDS:
        assert f"`{command}" in PAGE
        takes = "--json" in call(command, "--help").stdout
        assert takes == (command not in WITHOUT), command


def test_keys_of_compare_and_what_uses_its_folder(table, folder, tmp_path):
    out = tmp_path / "run"
    data = printed("compare", table, "-t", "y", "--out", out, "--json", *QUICK)
    assert data["format"] == JSON_FORMAT and keys_of("compare") <= set(data)
    assert {"rank", "method", "verdict", "p", "log_loss_low"} <= set(
        data["leaderboard"][0]
    )
    drawn = printed("plot", folder, "calibration", "-o", tmp_path / "c.svg", "--json")
    assert {"written", "kind"} <= set(drawn) <= keys_of("plot") | {"format"}
    answers = tmp_path / "answers.csv"
    data = printed("predict", folder, table, "--out", answers, "--json")
    assert set(data) == keys_of("predict") | {"format"} and data["rows"] == 80


def test_keys_of_the_others(table, folder, tmp_path):
    assert {"same", "format"} <= set(printed("rerun", folder, "-q", "--json"))
    assert keys_of("explore") <= set(printed("explore", table, "-t", "y", "--json"))
    topics = printed("methods", "ridge", "--json")
    assert {"id", "topic", "family", "names", "references"} == set(topics[0])
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Clock\n\nThe clock is reset by the red button.\n")
    data = printed("index", notes, "--no-vectors", "--json")
    assert {"seconds", "index", "format"} <= set(data)
    data = printed("ask", "how is the clock reset", "--index", notes, "--json")
    assert set(data) == keys_of("ask") | {"format"}


def test_json_of_predictions_needs_a_file(table, folder):
    done = call("predict", folder, table, "--json")
    assert done.exit_code == 2 and "--out" in done.stderr


@pytest.mark.parametrize("page", ["llms.txt", "docs/commands.md", "docs/install.md",
                                  "docs/stability.md", "docs/numerics.md",
                                  "docs/interchange.md", "RELEASING.md"])  # fmt: skip
def test_pages_that_are_linked_exist(page):
    text = (ROOT / page).read_text("utf-8")
    for place in re.findall(r"\]\(([^)#]+)\)", text):
        assert ((ROOT / page).parent / place).exists(), place
    for place in re.findall(r"`(tests/[\w/.]+)`", text):
        assert (ROOT / place).exists(), place

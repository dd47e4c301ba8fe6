"""The other process runs only while the block does, and only if loops are missing."""

import subprocess

import pytest

from pansophy.core import background_warm_up as background


@pytest.fixture
def started(monkeypatch):
    """Processes that were begun; they wait until they are ended."""
    found = []
    plain = subprocess.Popen

    def begin(command, **options):
        found.append(command)
        process = plain(["sleep", "60"])
        found.append(process)
        return process

    monkeypatch.setattr(background.subprocess, "Popen", begin)
    return found


def test_process_ends_with_the_block(started, monkeypatch):
    monkeypatch.setattr(background, "loops_are_missing", lambda: True)
    with background.background_warm_up(["pansophy.tree"]):
        command, process = started
        assert process.poll() is None
    assert command[-1] == "pansophy.tree"
    assert process.poll() is not None


def test_nothing_is_begun_after_a_warm_up(started, tmp_path, monkeypatch):
    monkeypatch.setenv("PANSOPHY_CACHE_DIR", str(tmp_path))
    background.completed_mark().touch()
    with background.background_warm_up(["pansophy.tree"]):
        pass
    assert not started


def test_large_files_are_read_beside_a_warm_up(started, tmp_path, monkeypatch):
    from pansophy.compare import run_comparison

    monkeypatch.setattr(background, "loops_are_missing", lambda: True)
    path = tmp_path / "table.csv"
    path.write_text("a,b\n")
    with run_comparison.warm_up_while_reading(path):
        assert not started
    monkeypatch.setattr(run_comparison, "LARGE_FILE", 1)
    with run_comparison.warm_up_while_reading(path):
        assert "pansophy.linear_model.LogisticRegression" in started[0]

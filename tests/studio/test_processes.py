"""Commands in processes of their own: what they say, who holds their folder."""

import os
import time

import pytest

from pansophy.studio.processes import (
    AlreadyRunningError,
    CommandProcesses,
    command_words,
    log_lines,
)


def wait_until_ended(processes, folder, seconds=60):
    end = time.monotonic() + seconds
    while processes.is_at_work(folder) and time.monotonic() < end:
        time.sleep(0.05)
    assert not processes.is_at_work(folder)


def test_a_command_holds_its_folder_while_it_works(tmp_path):
    (tmp_path / "typer.py").write_text("raise SystemExit('taken from the folder')")
    processes, folder = CommandProcesses(tmp_path), tmp_path / "run"
    processes.start(["predict", "no-model", "no-table"], folder)
    with pytest.raises(AlreadyRunningError, match="run is at work"):
        processes.start(["--version"], folder)
    assert CommandProcesses(tmp_path).is_at_work(
        folder
    )  # as a studio started later sees it
    wait_until_ended(processes, folder)
    assert not CommandProcesses(tmp_path).is_at_work(folder)
    assert log_lines(folder)[-1].startswith("pansophy: There is no file")
    assert command_words(folder) == ["predict", "no-model", "no-table"]
    processes.start(["--version"], folder)
    wait_until_ended(processes, folder)
    assert log_lines(folder)[0].startswith("pansophy ")


def test_what_a_studio_started_ends_with_it(tmp_path):
    processes, folder = CommandProcesses(tmp_path), tmp_path / "run"
    fifo = tmp_path / "endless.csv"
    os.mkfifo(fifo)  # a table that never comes
    processes.start(["predict", "model", str(fifo)], folder)
    begun = time.monotonic()
    processes.close()
    assert time.monotonic() - begun < 30 and not processes.is_at_work(folder)


def test_folders_without_a_command(tmp_path):
    assert command_words(tmp_path) == [] and log_lines(tmp_path) == []
    (tmp_path / "command.json").write_text('{"words": 3}')
    assert command_words(tmp_path) == []

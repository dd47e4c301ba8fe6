"""Locks on folders: one holder at a time, none after a kill."""

import signal
import subprocess
import sys

import pytest

from pansophy.core.files.folder_lock import (
    LOCK_NAME,
    FolderLockedError,
    holding_folder,
    lock_folder,
)

HOLDER = """
import os, signal, sys
from pansophy.core.files.folder_lock import lock_folder
lock_folder(sys.argv[1])
print("held", flush=True)
signal.pause()
"""


def test_another_process_is_kept_out_until_it_is_killed(tmp_path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(FolderLockedError, match="is being written by another"):
            lock_folder(tmp_path)
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        holder.stdout.close()
    assert (tmp_path / LOCK_NAME).exists()
    with holding_folder(tmp_path):
        pass


def test_an_error_lets_go(tmp_path):
    with pytest.raises(ZeroDivisionError), holding_folder(tmp_path):
        _ = 1 / 0
    with holding_folder(tmp_path):
        pass
    with pytest.raises(FileNotFoundError), holding_folder(tmp_path / "nowhere"):
        pass

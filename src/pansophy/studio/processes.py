"""Commands of `pansophy` in processes of their own, for as long as they take.

A command writes what it says into `run.log` of its folder. Its process holds a lock on
the file `.process` there: it inherits the descriptor, so that the lock ends with it,
however it ends, and a studio that was started later sees that it is at work. The words
of the command are in `command.json`. A process runs beneath the pages in priority, in a
session of its own, and goes on if the studio is killed; a studio that ends in order
interrupts those that it started, which then keep what is done. One that only writes its
report is left to it.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from ..core.files.folder_lock import FolderLockedError, is_folder_held, lock_folder

PROCESS_LOCK = ".process"
LOG = "run.log"
COMMAND = "command.json"
NICENESS = 5
SECONDS_TO_END = 8.0  # for a process to keep what is done when the studio ends
MAX_LOG = 20_000  # bytes of the end of a log that are read


class AlreadyRunningError(ValueError):
    """A command is at work in the folder."""


class CommandProcesses:
    """The processes that a studio started, by their folders.

    Parameters
    ----------
    root : Path
        The folder in which commands run; their paths are relative to it.
    """

    def __init__(self, root):
        self.root = Path(root)
        self.started: dict[Path, subprocess.Popen] = {}

    def start(self, words, folder) -> None:
        """Run `pansophy WORDS`, which writes into `folder`."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.forget_ended()
        try:
            lock = lock_folder(folder, PROCESS_LOCK)
        except FolderLockedError:
            raise AlreadyRunningError(f"{folder.name} is at work already.") from None
        try:
            text = json.dumps({"words": list(words)}, ensure_ascii=False)
            (folder / COMMAND).write_text(text + "\n", "utf-8")
            with open(folder / LOG, "wb") as log:
                process = subprocess.Popen(
                    # -P: modules are not taken from the folder of the tables
                    [sys.executable, "-P", "-m", "pansophy", *words],
                    cwd=self.root,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    pass_fds=() if lock is None else (lock,),
                    env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100"},
                )
        finally:
            if lock is not None:
                os.close(lock)
        with contextlib.suppress(OSError, AttributeError):
            os.setpriority(os.PRIO_PROCESS, process.pid, NICENESS)
        self.started[folder.resolve()] = process

    def is_at_work(self, folder) -> bool:
        """Whether a command that a studio started, this or another, is at work."""
        process = self.started.get(Path(folder).resolve())
        if process is not None:
            return process.poll() is None
        return is_folder_held(folder, PROCESS_LOCK)

    def interrupt(self, folder) -> None:
        """Interrupt a command as Ctrl-C would, if this studio started it."""
        process = self.started.get(Path(folder).resolve())
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGINT)

    def forget_ended(self) -> None:
        """Let go of the processes that have ended."""
        ended = [f for f, p in self.started.items() if p.poll() is not None]
        for folder in ended:
            del self.started[folder]

    def close(self) -> None:
        """Interrupt what is at work, and kill what does not end in time."""
        self.forget_ended()
        ending = [p for f, p in self.started.items() if not _has_finished_fits(f)]
        for process in ending:
            process.send_signal(signal.SIGINT)
        end = time.monotonic() + SECONDS_TO_END
        for process in ending:
            try:
                process.wait(max(end - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _has_finished_fits(folder) -> bool:
    """Whether the run of a folder has done its fits, and may be writing its report."""
    return (Path(folder) / "results.jsonl").is_file() and not is_folder_held(folder)


def log_lines(folder) -> list[str]:
    """The last lines of what a command said."""
    try:
        with open(Path(folder) / LOG, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - MAX_LOG, 0))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if line.strip()]


def command_words(folder) -> list[str]:
    """The words of the command that a studio started in a folder, if it did."""
    try:
        words = json.loads((Path(folder) / COMMAND).read_text("utf-8"))["words"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [str(w) for w in words] if isinstance(words, list) else []

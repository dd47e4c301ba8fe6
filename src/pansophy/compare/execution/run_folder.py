"""The run folder: the plan, and every finished fit as soon as it is finished.

    plan.json        seeds, versions, hashes of data and folds, limits, methods
    results.jsonl    one line a finished fit, appended; numbers as `repr` writes them
    predictions/     predictions for held-out rows, raw float64, one file a method
    schema.toml      the roles of the columns
    progress.json    how far the run is, for who watches it from outside
    stop_requests.txt   methods to stop, a name a line, or `*` for the run: anybody may
                     append to it while the run goes on

A line is written after the predictions it points to. Lines are handed to the kernel
at once, so that kill -9 loses nothing, and are on the disk within a second, so that a
power cut loses little; a torn last line is dropped, and its fit done again. Nothing in
here is executed on reading.
"""

import contextlib
import json
import math
import os
import time
import warnings
import zlib
from pathlib import Path

import numpy as np

from ...core.files.atomic_files import write_text_file
from ...core.files.folder_lock import FolderLockedError, lock_folder
from ...core.files.previous_files import move_to_previous
from .plan import (
    FailureKind,
    FitOutcome,
    environment_differences,
    plan_differences,
)

SYNC_SECONDS = 1.0  # seconds between calls that wait for the disk
PROGRESS_SECONDS = 0.5  # between two states of `progress.json`
STOP_ALL = "*"  # in the place of the name of a method
RUN_FILES = (
    "plan.json",
    "results.jsonl",
    "predictions",
    "ended.txt",
    "progress.json",
    "stop_requests.txt",
    "schema.toml",
    "results.json",
    "report.html",
    "model.pansophy",
)
LINE_TYPES = {
    "method": str,
    "fold": int,
    "scores": dict,
    "fit_seconds": int | float,
    "predict_seconds": int | float,
    "warned": dict,
    "failure": str,
    "kind": str,
}
LOCATION_TYPES = {"file": str, "start": int, "shape": list, "crc32": int}


class RunFolderError(ValueError):
    """A run folder cannot be used as asked."""


class RunFolder:
    """A run folder, open for one run at a time."""

    def __init__(self, path, plan):
        self.path = Path(path)
        self.plan = plan
        self.lock = lock_run_folder(self.path)
        self.lines: list[dict] = []
        self.names = list(plan["methods"])
        self.synced = time.monotonic()
        self.touched: set = set()  # descriptors with news for the disk
        self.files: dict = {}
        self.lost = False  # whether something could not be written
        self.changes: list = []  # of the plan since the run was made, if accepted
        self.previous: Path | None = None  # where files of an earlier run were moved
        self.progress_written = -math.inf

    # --- reading -----------------------------------------------------------------

    def finished(self, names, limits, n_folds) -> list[FitOutcome]:
        """Outcomes of earlier runs for methods of these names.

        A fit that ran out of time or memory gets another chance if it has more now;
        so does one whose process died, which may not have been its own doing.
        """
        place = {name: m for m, name in enumerate(names)}
        out = []
        for line in self.lines:
            m = place.get(line["method"])
            if m is None or line["fold"] >= n_folds or deserves_retry(line, limits):
                continue
            p = read_predictions(self.path, line)
            if p is None and not line["failure"]:
                continue  # its answers are gone or damaged: done again
            number = lambda v: math.nan if v is None else v
            out.append(
                FitOutcome(
                    m,
                    line["fold"],
                    {k: number(v) for k, v in line["scores"].items()},
                    line["fit_seconds"],
                    line["predict_seconds"],
                    p,
                    line["warned"],
                    line["failure"],
                    FailureKind(line["kind"]),
                )
            )
        return out

    def stop_requests(self) -> set[str]:
        """Names of the methods to stop, and `STOP_ALL` if it is the whole run."""
        return read_stop_requests(self.path)

    # --- writing -----------------------------------------------------------------

    def write_progress(self, describe, final=False) -> None:
        """Write what `describe()` says, at most twice a second but for the last time.

        It is only for watching: nothing is read from it, so no disk is waited for.
        """
        now = time.monotonic()
        if self.lost or (now - self.progress_written < PROGRESS_SECONDS and not final):
            return
        self.progress_written = now
        text = json.dumps(describe(), ensure_ascii=False)
        draft = self.path / ".progress"
        with contextlib.suppress(OSError):
            draft.write_text(text + "\n", "utf-8")
            os.replace(draft, self.path / "progress.json")

    def write(self, name, outcome) -> None:
        """Append one finished fit.

        A disk that is full or a folder that is gone does not stop the run, which has
        all of it in memory: one warning, and nothing more is written.
        """
        if self.lost:
            return
        try:
            self.note(name, outcome)
        except OSError as error:
            self.lost = True
            warnings.warn(
                f"{self.path} can no longer be written to ({error.strerror}): the run "
                "goes on, but what comes from now on cannot be resumed.",
                stacklevel=2,
            )

    def note(self, name, o) -> None:
        known = lambda v: v if math.isfinite(v) else None
        line = {
            "method": name,
            "fold": o.fold,
            "scores": {k: known(v) for k, v in o.scores.items()},
            "fit_seconds": o.fit_seconds,
            "predict_seconds": o.predict_seconds,
            "warned": o.warned,
            "failure": o.failure,
            "kind": o.kind,
            "limit": self.plan["limits"].get(f"{o.kind}_limit"),
            "predictions": self.put(name, o.predictions),
        }
        self.lines.append(line)
        text = json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n"
        self.append("results.jsonl", text.encode())
        if time.monotonic() - self.synced > SYNC_SECONDS:
            self.sync()

    def put(self, name, p) -> dict | None:
        if p is None:
            return None
        file = f"predictions/{self.number(name)}.f64"
        body = np.ascontiguousarray(p, dtype="<f8").tobytes()
        start = self.append(file, body)
        crc = zlib.crc32(body)
        return {"file": file, "start": start, "shape": list(p.shape), "crc32": crc}

    def number(self, name) -> int:
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    def append(self, file, body) -> int:
        """Write at the end of a file; where that was."""
        if file not in self.files:
            flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0)
            self.files[file] = os.open(self.path / file, flags, 0o666)
        fd = self.files[file]
        start = os.lseek(fd, 0, os.SEEK_END)
        view = memoryview(body)
        while view:
            view = view[os.write(fd, view) :]
        self.touched.add(fd)
        return start

    def sync(self, ended="") -> None:
        """Wait until all is on the disk; `ended` says why a run ended early."""
        for fd in self.touched:
            os.fsync(fd)
        self.touched.clear()
        self.synced = time.monotonic()
        if ended and not self.lost:
            self.append("ended.txt", (ended + "\n").encode())

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.sync()
        for fd in self.files.values():
            os.close(fd)
        self.files.clear()
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def open_run(path, plan, *, resume=False, as_recorded=False, stopped=()) -> RunFolder:
    """A run folder for this plan: new, or with the fits of an earlier run of it.

    A new run in a folder that holds one, or other files of the names of a run, moves
    those to `previous/` (`previous-2/`, ... if that is taken). Resuming needs
    the same plan; limits and the choice of methods may differ. To show a run
    `as_recorded`, only rows and folds must be the same: what else has changed is kept
    in `changes`. Methods that were stopped on request are run again when a run is
    resumed; of a new run the names `stopped` are not run at all.
    """
    path, accepted = Path(path), []
    check_run_folder(path, resume)
    if resume:
        earlier = read_plan(path)
        changes = plan_differences(earlier, plan)
        if as_recorded:
            accepted = environment_differences(earlier, plan)
            if earlier["versions"]["pansophy"] != plan["versions"]["pansophy"]:
                # another version may write the roles down in another way
                accepted += [c for c in changes if c.key == "schema_hash"]
            changes = [c for c in changes if c not in accepted]
        if changes:
            done = "shown" if as_recorded else "resumed"
            raise RunFolderError(
                f"The run in {path} cannot be {done}, since this differs: "
                f"{'; '.join(map(str, changes))}."
            )
    try:
        path.mkdir(parents=True, exist_ok=True)
        folder = RunFolder(path, plan)
        folder.changes = accepted
    except OSError as error:
        raise RunFolderError(
            f"{path} cannot be written to: {error.strerror}."
        ) from error
    try:
        if resume:
            folder.names = list(read_plan(path)["methods"])
            folder.names += [n for n in plan["methods"] if n not in folder.names]
            methods = {**read_plan(path)["methods"], **plan["methods"]}
            plan = folder.plan = {
                **plan,
                "methods": {n: methods[n] for n in folder.names},
            }
            folder.lines = repair_and_read_lines(path)
        else:
            folder.previous = move_to_previous(path, RUN_FILES)
        (path / "predictions").mkdir(exist_ok=True)
        (path / "ended.txt").unlink(missing_ok=True)
        if not as_recorded:
            (path / "stop_requests.txt").unlink(missing_ok=True)
        for name in sorted(stopped):
            request_stop(path, name)
        text = json.dumps(plan, indent=2, ensure_ascii=False)
        write_text_file(path / "plan.json", text + "\n")
        folder.append("results.jsonl", b"")
    except BaseException:
        folder.close()
        raise
    return folder


def check_run_folder(path, resume=False) -> None:
    """One sentence if a folder cannot be used for a run.

    Cheap, so that a wrong name is found before anything is computed.
    """
    path = Path(path)
    there = next(p for p in (path, *path.absolute().parents) if p.exists())
    if not there.is_dir():
        raise RunFolderError(f"{there} is a file, not a folder.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise RunFolderError(f"{path} cannot be written to: Permission denied.")
    if resume and not (path / "plan.json").exists():
        raise RunFolderError(f"There is no run to resume in {path}.")


def refuse_own_input(path, table) -> None:
    """One sentence if the table has a name of the run's files, in its folder.

    Files of these names are moved out of the way of a new run.
    """
    if not isinstance(table, (str, os.PathLike)):
        return
    table = Path(table)
    if table.name in RUN_FILES and table.parent.resolve() == Path(path).resolve():
        raise RunFolderError(
            f"A run in {path} would move its own table, {table.name}: give another "
            "folder, or the table another name."
        )


def lock_run_folder(path):
    """A descriptor that holds the folder as long as this process lives."""
    try:
        return lock_folder(path)
    except FolderLockedError:
        raise RunFolderError(f"Another run is writing to {path}.") from None


def read_plan(path) -> dict:
    try:
        return json.loads((Path(path) / "plan.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise RunFolderError(f"{path} holds no plan that can be read.") from error


def read_lines(path) -> list[dict]:
    """The finished fits of a folder; lines that cannot be read are left out."""
    result = {}
    with contextlib.suppress(FileNotFoundError):
        for raw in (Path(path) / "results.jsonl").read_bytes().split(b"\n"):
            with contextlib.suppress(ValueError):
                line = json.loads(raw)
                if is_valid_line(line):
                    result[line["method"], line["fold"]] = line  # the last word counts
    return list(result.values())


def is_valid_line(line) -> bool:
    """Whether a line has all that `Folder.write` puts into one."""
    if not isinstance(line, dict):
        return False
    fits = lambda d, kinds: all(isinstance(d.get(k), t) for k, t in kinds.items())
    where = line.get("predictions")
    whole = where is None or (isinstance(where, dict) and fits(where, LOCATION_TYPES))
    return fits(line, LINE_TYPES) and line["fold"] >= 0 and whole


def read_stop_requests(path) -> set[str]:
    """What a run was asked to stop: names of methods, or `STOP_ALL`."""
    try:
        text = (Path(path) / "stop_requests.txt").read_text("utf-8")
    except (OSError, ValueError):
        return set()
    return {line for line in text.splitlines() if line}


def request_stop(path, name=STOP_ALL) -> None:
    """Ask the run that writes to a folder to stop a method, or altogether.

    Examples
    --------
    >>> import tempfile
    >>> from pansophy.compare.execution.run_folder import (
    ...     read_stop_requests, request_stop)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     request_stop(folder, "neural network")
    ...     read_stop_requests(folder)
    {'neural network'}
    """
    with open(Path(path) / "stop_requests.txt", "a", encoding="utf-8") as file:
        file.write(" ".join(name.split()) + "\n")


def repair_and_read_lines(path) -> list[dict]:
    """The finished fits, after cutting a torn last line off."""
    file = path / "results.jsonl"
    with contextlib.suppress(FileNotFoundError):
        body = file.read_bytes()
        whole = body.rfind(b"\n") + 1
        if whole < len(body):
            os.truncate(file, whole)
    return read_lines(path)


def read_predictions(path, line) -> np.ndarray | None:
    """The answers that a line points to; None if they are not as they were."""
    where = line.get("predictions")
    if not where:
        return None
    count = math.prod(where["shape"])
    try:
        with open(Path(path) / where["file"], "rb") as file:
            file.seek(where["start"])
            body = file.read(8 * count)
    except OSError:
        return None
    if len(body) < 8 * count or zlib.crc32(body) != where["crc32"]:
        return None
    return np.frombuffer(body, "<f8").astype(float).reshape(where["shape"])


def deserves_retry(line, limits) -> bool:
    """Whether a fit that hit a limit has more room now, or may have been killed."""
    before = line.get("limit")
    if line["kind"] == FailureKind.DIED:
        return True
    if line["kind"] == FailureKind.TIME and before is not None:
        return limits.time_limit is None or limits.time_limit > before
    if line["kind"] == FailureKind.MEMORY:
        return before is None or (limits.memory_limit or math.inf) > before
    return False


def compare_runs(before, after) -> list[str]:
    """In what two run folders differ, a sentence each; nothing if bit for bit equal.

    Times are not compared, nor methods that were stopped on request in the first.
    """
    changed = plan_differences(read_plan(before), read_plan(after))
    results = [f"Different: {change}." for change in changed]
    left = read_stop_requests(before)
    by_fit = lambda path: {
        (k["method"], k["fold"]): k for k in read_lines(path) if k["method"] not in left
    }
    a, b = by_fit(before), by_fit(after)
    for key in sorted(a.keys() | b.keys()):
        where = f"{key[0]}, fold {key[1] + 1}"
        if key not in a or key not in b:
            which = "second" if key in b else "first"
            results.append(f"{where}: only in the {which} run.")
            continue
        one, two = a[key], b[key]
        for name in sorted(one["scores"].keys() | two["scores"].keys()):
            s, t = one["scores"].get(name), two["scores"].get(name)
            if s != t:
                results.append(f"{where}: {name} was {s!r} and is {t!r}.")
        if one["failure"] != two["failure"]:
            texts = [k["failure"] or "no failure" for k in (one, two)]
            results.append(f"{where}: {texts[0]!r} before, {texts[1]!r} now.")
        if prediction_checksum(one) != prediction_checksum(two):
            results.append(f"{where}: predictions differ.")
    return results


def prediction_checksum(line):
    return (line.get("predictions") or {}).get("crc32")

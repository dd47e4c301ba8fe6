"""What the run folders of a folder say: kind, state, leaderboard, files.

A run folder is written by `pansophy compare`, `forecast`, `explore` or `play`, by the
studio or at a terminal. Everything that is shown of a run is read from there; of the
results of fits only what has been appended since the last look is read.

While fits come in, the score of a method is the mean over its folds so far, with the
interval that allows for their shared training rows (`evaluation.statistics`, eq. (2)),
which shrinks with every fold. When the run has ended, the leaderboard is that of
`results.json`, whose intervals come from rows.
"""

import itertools
import json
import math
import time
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from ..core.files.folder_lock import is_folder_held
from .processes import command_words, log_lines

MOST_RUNS = 200  # of a folder that are listed
MOST_READERS = 64  # run folders whose fits are kept in memory
REPORT_SECONDS = 180.0  # that a run of a terminal may take for its report
FAMILIAR = {  # score that needs no explanation, by task
    "classification": "accuracy",
    "ordinal": "accuracy",
    "multilabel": "label accuracy",
    "regression": "mae",
    "count": "mae",
}
REPORTS = ("report.html", "forecast.html", "explore.html")
DOWNLOADS = (
    *REPORTS,
    "model.pansophy",
    "results.json",
    "forecast.json",
    "schema.toml",
    "forecasts.csv",
    "series.csv",
    "agent.pansophy",
    "episode.gif",
    "run.log",
)
PREDICTIONS = "predictions-"  # with which the names of files of predictions begin


class RunKind(StrEnum):
    """The command that wrote a run folder."""

    COMPARE = "compare"
    FORECAST = "forecast"
    EXPLORE = "explore"
    PLAY = "play"


class NoSuchRunError(ValueError):
    """There is no run of the name that was asked for."""

    status = 404


class RunState(StrEnum):
    """How far a run is."""

    STARTING = "starting"
    RUNNING = "running"
    WRITING = "writing"  # the fits are done; model, figures and report are not
    DONE = "done"
    STOPPED = "stopped"  # before its end, with results
    FAILED = "failed"  # without results

    @property
    def is_at_work(self) -> bool:
        return self in (RunState.STARTING, RunState.RUNNING, RunState.WRITING)


class BoardRow(NamedTuple):
    """One line of a leaderboard."""

    method: str
    state: str  # "waiting", "running", "slow", "done", "stopped", "failed"
    fits: int
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    familiar: float | None = None
    text: str = ""  # why it is out
    verdict: str = ""  # a `Standing`, of a run that has ended
    kept: bool = False
    rank: int | None = None


class Board(NamedTuple):
    """A leaderboard, and how far its run is."""

    rows: list[BoardRow]
    waiting: list[str]  # methods that have not begun
    metric: str
    greater: bool
    familiar: str  # name of the familiar score, "" without one
    folds: int
    fits: int = 0
    left: int = 0
    seconds_left: float | None = None
    axis: tuple[float, float] | None = None  # of the bars of intervals

    @property
    def decimals(self) -> int:
        """Decimals of the scores, the same in all lines: four digits of the best."""
        best = next((abs(r.mean) for r in self.rows if r.mean), 1.0)
        return max(0, min(8, 3 - math.floor(math.log10(best))))


@dataclass
class RunFits:
    """The finished fits of a run folder, read as they are appended."""

    path: Path
    position: int = 0
    lines: int = 0  # whole lines so far: the id of an event
    by_fit: dict = field(default_factory=dict)

    def refresh(self) -> "RunFits":
        """Read what has been appended since the last call."""
        from ..compare.execution.run_folder import is_valid_line

        file = self.path / "results.jsonl"
        try:
            size = file.stat().st_size
            if size < self.position:  # another run
                self.position = self.lines = 0
                self.by_fit = {}
            if size == self.position:
                return self
            with open(file, "rb") as body:
                body.seek(self.position)
                new = body.read(size - self.position)
        except OSError:
            return self
        n_whole = new.rfind(b"\n") + 1
        self.position += n_whole
        for raw in new[:n_whole].splitlines():
            self.lines += 1
            try:
                line = json.loads(raw)
            except ValueError:
                continue
            if is_valid_line(line):
                self.by_fit[line["method"], line["fold"]] = line
        return self


class RunSummary(NamedTuple):
    """What a page shows of a run folder."""

    path: Path
    kind: RunKind
    state: RunState
    table: str  # name of the table, as far as it is known
    target: str
    kept: str
    verdict: str
    changed: float  # when it was last written to, in seconds since 1970
    at_work: bool  # whether a process of a studio is

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def report(self) -> str | None:
        """Name of the report, if there is one."""
        return next((n for n in REPORTS if (self.path / n).is_file()), None)

    @property
    def has_model(self) -> bool:
        return (self.path / "model.pansophy").is_file()

    @property
    def downloads(self) -> list[str]:
        """Names of the files that may be taken away."""
        names = [n for n in DOWNLOADS if (self.path / n).is_file()]
        prediction_files = sorted(p.name for p in self.path.glob(f"{PREDICTIONS}*.csv"))
        return names + [n for n in prediction_files if is_prediction_name(n)]


class RunFolders:
    """The run folders directly below a folder.

    Parameters
    ----------
    folder : WorkingFolder
        Refuses every path that leads out of it.
    processes : CommandProcesses
    """

    def __init__(self, folder, processes):
        self.folder = folder
        self.processes = processes
        self.readers: dict[Path, RunFits] = {}

    def listed(self) -> list[RunSummary]:
        """All runs, the latest first."""
        runs = []
        for path in self.folder.root.iterdir():
            if path.name.startswith(".") or path.is_symlink() or not path.is_dir():
                continue
            if _find_kind(path) is not None:
                runs.append(self.read(path))
        runs.sort(key=lambda run: -run.changed)
        return runs[:MOST_RUNS]

    def place(self, name) -> Path:
        """The folder of a run, which must be directly below the root."""
        path = self.folder.place(name)
        if path.parent != self.folder.root or path.name != name or not path.is_dir():
            raise NoSuchRunError(f"There is no run {str(name)[:80]!r} in this folder.")
        return path

    def open(self, name) -> RunSummary:
        """The run of this name; one sentence if there is none."""
        path = self.place(name)
        if _find_kind(path) is None:
            raise NoSuchRunError(f"There is no run {name[:80]!r} in this folder.")
        return self.read(path)

    def read(self, path) -> RunSummary:
        """What a run folder says at this moment."""
        kind = _find_kind(path) or RunKind.COMPARE
        plan = json_object(path / "plan.json")
        results = json_object(path / _result_file(kind))
        settings = plan.get("settings") or {}
        words = command_words(path)
        at_work = self.processes.is_at_work(path)
        table = settings.get("source") or (words[1] if len(words) > 1 else "")
        target = results.get("target") or settings.get("target") or word_after(words)
        if isinstance(target, list):
            target = ", ".join(map(str, target))
        winner = str(results.get("winner") or results.get("kept") or "")
        return RunSummary(
            path,
            kind,
            _find_state(path, kind, results, at_work),
            Path(str(table)).name,
            str(target or ""),
            winner,
            str(results.get("verdict", "")),
            _last_written(path),
            at_work,
        )

    def fits(self, run) -> RunFits:
        """The finished fits of a run, up to now."""
        if run.path not in self.readers:
            while len(self.readers) >= MOST_READERS:
                self.readers.pop(next(iter(self.readers)))
            self.readers[run.path] = RunFits(run.path)
        return self.readers[run.path].refresh()

    def board(self, run) -> Board | None:
        """The leaderboard of a comparison, live or final; None before its plan."""
        plan = json_object(run.path / "plan.json")
        if run.kind is RunKind.FORECAST:
            results = json_object(run.path / "forecast.json")
            return _forecast_board(results) if results.get("ranking") else None
        if run.kind is not RunKind.COMPARE or "metrics" not in plan:
            return None
        results = json_object(run.path / "results.json")
        if results.get("leaderboard") and not run.state.is_at_work:
            return _final_board(results)
        progress = json_object(run.path / "progress.json")
        return _live_board(plan, self.fits(run), progress)


# --- reading --------------------------------------------------------------------------


def json_object(path) -> dict:
    """An object of JSON; an empty one where there is none that can be read."""
    try:
        value = json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _find_kind(path) -> RunKind | None:
    """The command that wrote a folder; None if it is no run folder."""
    words = command_words(path)
    if words and words[0] in tuple(RunKind):
        return RunKind(words[0])
    if (path / "plan.json").is_file():
        task = json_object(path / "plan.json").get("task")
        return RunKind.FORECAST if task == "forecasting" else RunKind.COMPARE
    if (path / "runs" / "settings.json").is_file():
        return RunKind.PLAY
    return RunKind.EXPLORE if (path / "explore.html").is_file() else None


def _result_file(kind) -> str:
    return "forecast.json" if kind is RunKind.FORECAST else "results.json"


def word_after(words, option="--target") -> str:
    """The value of an option among the words of a command."""
    for word, value in itertools.zip_longest(words, words[1:], fillvalue=""):
        if word == option:
            return value
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
    return ""


def _find_state(path, kind, results, at_work) -> RunState:
    """How far a run is, from its files and from who holds it."""
    fits_go_on = is_folder_held(path)
    finished = {
        RunKind.COMPARE: "report.html",
        RunKind.FORECAST: "forecast.html",
        RunKind.EXPLORE: "explore.html",
        RunKind.PLAY: "report.html",
    }[kind]
    has_report = (path / finished).is_file()
    if at_work or fits_go_on:
        if kind is RunKind.COMPARE:
            if not (path / "plan.json").is_file():
                return RunState.STARTING
            return RunState.RUNNING if fits_go_on else RunState.WRITING
        return RunState.RUNNING
    if has_report and (results or kind in (RunKind.EXPLORE, RunKind.PLAY)):
        return RunState.DONE if results.get("complete", True) else RunState.STOPPED
    if results:  # it ended before its report was written
        return RunState.STOPPED
    if not command_words(path) and kind is RunKind.COMPARE:
        age = time.time() - _last_written(path)
        if age < REPORT_SECONDS and (path / "plan.json").is_file():
            return RunState.WRITING  # a terminal does not tell
    return RunState.FAILED


def _last_written(path) -> float:
    """When the files that tell of a run were last written."""
    times = [path.stat().st_mtime]
    names = ("results.jsonl", "results.json", "report.html", "run.log", *REPORTS)
    for name in names:
        try:
            times.append((path / name).stat().st_mtime)
        except OSError:
            continue
    return max(times)


def failure_sentence(run) -> str:
    """Why a run has no results, in the words of its command."""
    lines = log_lines(run.path)
    told = [line for line in lines if line.startswith("pansophy: ")] or lines[-1:]
    return told[-1].removeprefix("pansophy: ") if told else ""


def is_prediction_name(name) -> bool:
    """Whether a name is that of a file of predictions, with no way elsewhere."""
    body = name.removeprefix(PREDICTIONS).removesuffix(".csv")
    plain = "/" not in name and "\\" not in name and "\x00" not in name
    return (
        plain and name.startswith(PREDICTIONS) and name.endswith(".csv") and bool(body)
    )


# --- leaderboards ---------------------------------------------------------------------


def _live_board(plan, fits, progress) -> Board:
    """The methods with their scores so far, best first; those at work after them."""
    from ..compare.evaluation.statistics import corrected_interval

    metric = plan["metrics"][0]
    greater = _is_greater_better(metric)
    familiar = FAMILIAR.get(plan.get("task", ""), "")
    familiar = familiar if familiar in plan["metrics"] else ""
    ratio = float(plan["split"].get("ratio", 0.25))
    total = int(plan["split"]["folds"]) * int(plan["split"]["repeats"])
    states = progress.get("methods") or {}
    rows: list[BoardRow] = []
    waiting: list[str] = []
    for name in plan["methods"]:
        told = states.get(name) or {}
        lines = [v for (m, _), v in sorted(fits.by_fit.items()) if m == name]
        good = [v for v in lines if not v["failure"]]
        failed = next((v["failure"] for v in lines if v["failure"]), "")
        state = told.get("state") or ("running" if lines else "waiting")
        if failed or state == "failed":
            text = told.get("text", "") or failed
            rows.append(BoardRow(name, "failed", len(good), text=text))
            continue
        if not good:
            if state in ("running", "slow"):
                rows.append(BoardRow(name, state, 0, text=told.get("text", "")))
            else:
                waiting.append(name)
            continue
        scores = [v["scores"].get(metric) for v in good]
        scores = [s for s in scores if s is not None]
        known = [v["scores"].get(familiar) for v in good]
        known = [s for s in known if s is not None]
        mean = sum(scores) / len(scores) if scores else None
        low = high = None
        if len(scores) > 1:
            interval = corrected_interval(scores, ratio)
            low, high = interval.low, interval.high
        if len(good) >= total:
            state = "done"
        rows.append(
            BoardRow(
                name,
                state,
                len(good),
                mean,
                low,
                high,
                sum(known) / len(known) if known else None,
                told.get("text", "") if state in ("slow", "stopped") else "",
            )
        )
    sign = -1 if greater else 1
    rows.sort(key=lambda r: (r.mean is None, sign * (r.mean or 0.0)))
    ranked = [
        row._replace(rank=k + 1 if row.mean is not None else None)
        for k, row in enumerate(rows)
    ]
    return Board(
        ranked,
        waiting,
        metric,
        greater,
        familiar,
        total,
        int(progress.get("fits") or len(fits.by_fit)),
        int(progress.get("left") or 0),
        progress.get("seconds_left"),
        bar_axis(ranked, greater),
    )


def _final_board(results) -> Board:
    """The leaderboard of a run that has ended, with its verdicts."""
    settings = results.get("settings") or {}
    metric = settings.get("metric", "")
    familiar = FAMILIAR.get(results.get("task", ""), "")
    key = metric.replace(" ", "_")
    known = familiar.replace(" ", "_")
    total = int(settings.get("folds", 0)) * int(settings.get("repeats", 0))
    rows = [
        BoardRow(
            line["method"],
            "stopped" if line.get("stopped") else "done",
            int(line.get("fits") or total),
            line.get(key),
            line.get(f"{key}_low"),
            line.get(f"{key}_high"),
            line.get(known),
            verdict=str(line.get("verdict", "")),
            kept=bool(line.get("kept")),
            rank=line.get("rank"),
        )
        for line in results["leaderboard"]
    ]
    disqualified = results.get("disqualified") or []
    rows += [BoardRow(name, "failed", 0, text=reason) for name, reason in disqualified]
    greater = _is_greater_better(metric)
    return Board(
        rows, [], metric, greater, familiar, total, axis=bar_axis(rows, greater)
    )


def _forecast_board(results) -> Board:
    """The ranking of a forecast: percent of the error of the last season saved."""
    origins = int(results.get("origins") or 0)
    rows = []
    for line in results["ranking"]:
        mean, low, high = (
            100 * v if isinstance(v, int | float) and math.isfinite(v) else None
            for v in line["skill"][:3]
        )
        rows.append(
            BoardRow(
                line["method"],
                "done",
                origins,
                mean,
                low,
                high,
                verdict=str(line.get("standing", "")),
                kept=line["method"] == results.get("kept"),
                rank=line.get("rank"),
            )
        )
    axis = bar_axis(rows, greater=True)
    return Board(rows, [], "%", True, "", origins, axis=axis)


def _is_greater_better(metric) -> bool:
    """Whether more of a metric is better."""
    from ..compare.metrics import METRICS

    return next((m.greater for m in METRICS if m.name == metric), False)


def bar_axis(rows, greater) -> tuple[float, float] | None:
    """The ends of the axis of the bars: the better half decides, outliers are cut."""
    scored = [r for r in rows if r.mean is not None and math.isfinite(r.mean)]
    if not scored:
        return None
    best = scored[0]
    near = scored[: max(len(scored) // 2 + 1, min(len(scored), 4))]
    ends = [v for r in near for v in (r.low, r.mean, r.high) if v is not None]
    guess = next((r for r in scored if r.method == "dummy"), None)
    if guess is not None and guess.mean is not None and best.mean is not None:
        reach = 3 * (max(ends) - min(ends)) or abs(best.mean) or 1.0
        if abs(guess.mean - best.mean) < reach:
            ends += [v for v in (guess.low, guess.mean, guess.high) if v is not None]
    low = min(ends)
    high = max(ends)
    pad = 0.04 * (high - low) or 0.05 * abs(high) or 1.0
    return low - pad, high + pad

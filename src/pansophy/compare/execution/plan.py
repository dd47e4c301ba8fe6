"""The jobs of a comparison, and what must match for a run to be repeated.

One job is one fit: a method on a fold. Methods come in the order given, cheap to
expensive, so that a comparison that is cut short keeps complete methods. The first fold
in which a method fails excludes it from the ranking: later folds are dropped, earlier
ones still run, so that the fold named does not depend on the number of workers. A
method that races (`race`) waits at a gate after each repeat.
"""

import hashlib
import json
import math
import platform
import re
import threading
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from ... import __version__
from ...params import ParameterError
from .. import resource_limits
from ..option_types import Count, Limit, Natural
from ..options import check_fields

RECORDED_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow")


@dataclass(frozen=True)
class ExecutionLimits:
    """Settings of the execution. None but `threads` and `seed` can change a score."""

    workers: Natural | None = None  # None: one for each core; 0: inside this process
    threads: Count = 1  # of one fit
    time_limit: Limit = 300.0  # seconds of one fit
    memory_limit: Limit = None  # bytes of one worker; None: a share of the free
    max_fits: Count | None = None  # methods that do not fit in whole are not begun
    stop_after: Limit = None  # seconds of everything
    seed: Natural = 0
    cluster: Any = None  # address of a dask scheduler, or a Client

    def __post_init__(self):
        check_fields(self)
        memory = self.memory_limit or math.inf
        if self.workers != 0 and memory < resource_limits.MIN_MEMORY:
            least = resource_limits.format_bytes(resource_limits.MIN_MEMORY)
            given = resource_limits.format_bytes(memory)
            raise ParameterError(f"memory_limit must be at least {least}, got {given}.")


class FailureKind(StrEnum):
    """Why a fit has no scores."""

    NONE = ""
    ERROR = "error"
    TIME = "time"
    MEMORY = "memory"
    DIED = "died"  # its process ended
    SENT = "sent"  # it could not be sent to a worker process


class FitOutcome(NamedTuple):
    """Outcome of one fit."""

    method: int
    fold: int
    scores: dict[str, float] = {}  # by metric
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0  # of one row
    predictions: np.ndarray | None = None  # of the test rows
    warned: dict[str, int] = {}
    failure: str = ""  # one line
    kind: FailureKind = FailureKind.NONE
    model: Any = None  # fitted, of the first fold


class ActiveFit(NamedTuple):
    """A fit at work."""

    method: int
    fold: int
    since: float  # time.monotonic()


class JobQueue:
    """Queue of the fits that are still to be done."""

    def __init__(self, n_methods, n_folds):
        self.left = [set(range(n_folds)) for _ in range(n_methods)]
        self.gates = [math.inf] * n_methods  # folds from here on may not begin yet
        self.ends = [math.inf] * n_methods  # folds from here on are not needed
        self.failed: dict[int, int] = {}  # method -> first fold that failed
        self.dropped: set[int] = set()  # methods of which no fit is wanted
        self.lock = threading.Lock()  # a cluster takes jobs in threads of its own

    def __bool__(self):
        return self.count() > 0

    def take(self, known=()) -> tuple[int, int] | None:
        """The next (method, fold), with a fold that is `known` if there is one."""
        with self.lock:
            for m, left in enumerate(self.left):
                gate = min(self.gates[m], self.ends[m])
                if folds := {f for f in left if f < gate}:
                    f = min(folds & set(known) or folds)
                    left.discard(f)
                    return m, f
        return None

    def put_back(self, method, fold) -> None:
        """A fit that was taken has to be done by another.

        Also one that is not needed now: a gate may open again.
        """
        with self.lock:
            known = self.failed.get(method, fold)
            if fold <= known and method not in self.dropped:
                self.left[method].add(fold)

    def accepts(self, outcome) -> bool:
        """Whether an outcome matters; if it may matter later, it is left to be done."""
        needed = self.is_needed(outcome.method, outcome.fold)
        if not needed:
            self.put_back(outcome.method, outcome.fold)
        return needed

    def set_gate(self, method, gate, end) -> None:
        """Folds from `gate` on may not begin yet, those from `end` on never."""
        with self.lock:
            self.gates[method], self.ends[method] = gate, end

    def count(self) -> int:
        """Fits that are still to be done, as far as is known."""
        with self.lock:
            return sum(f < end for end, left in zip(self.ends, self.left) for f in left)

    def is_needed(self, method, fold) -> bool:
        """Whether the outcome of a fit still matters."""
        if method in self.dropped:
            return False
        return fold <= self.failed.get(method, fold) and fold < self.ends[method]

    def close(self, outcome) -> None:
        """Take note of a fit that is done."""
        m, f = outcome.method, outcome.fold
        with self.lock:
            self.left[m].discard(f)
            if outcome.failure:
                self.failed[m] = min(f, self.failed.get(m, f))
                self.left[m] = {g for g in self.left[m] if g < self.failed[m]}

    def drop(self, method) -> None:
        """No further fit of a method is done; those at work do not matter."""
        with self.lock:
            self.left[method].clear()
            self.dropped.add(method)


# --- what must match ---------------------------------------------------------------


def data_hash(data) -> str:
    """Hash of inputs, answers, weights, groups and times, in this order of rows."""
    total = hashlib.sha256()
    parts = (data.frame.values, data.y, data.weight, data.group, data.time)
    for part in parts:
        total.update(b"-" if part is None else np.ascontiguousarray(part).tobytes())
    for column in data.frame.texts:
        for v in column.to_pylist():
            total.update(b"\0" if v is None else b"\1" + v.encode())
    return total.hexdigest()[:16]


def split_hash(folds) -> str:
    total = hashlib.sha256()
    for train, test in folds:
        total.update(np.asarray(train, np.int64).tobytes() + b"|")
        total.update(np.asarray(test, np.int64).tobytes() + b";")
    return total.hexdigest()[:16]


def fingerprint(value) -> str:
    """Hash of a value's description, wherever in memory it lives."""
    text = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def method_description(method, setting) -> tuple:
    """All that tells one method from another, without importing what it needs."""
    own = method.estimator
    values = {} if own is None else own.get_params(deep=True)
    plain = method._replace(parameters=None, estimator=None)
    return (
        plain,
        type(own).__name__,
        sorted((k, repr(v)) for k, v in values.items()),
        sorted(method.parameters(setting).items()),
    )


def recorded_versions() -> dict[str, str]:
    result = {name: metadata.version(name) for name in RECORDED_LIBRARIES}
    return {"pansophy": __version__, "python": platform.python_version(), **result}


def make_plan(methods, data, schema, metrics, split, limits, settings=None) -> dict:
    """Everything needed to repeat a run, ready for JSON."""
    from .fit_fold import fit_context

    context = fit_context(
        schema, split.folds, limits, metrics[0].name, split.times(data)
    )
    described = {m.name: fingerprint(method_description(m, context)) for m in methods}
    recorded = ("time_limit", "memory_limit", "max_fits", "stop_after", "workers")
    plan = {
        "data_hash": data_hash(data),
        "rows": len(data),
        "target": schema.target,
        "task": schema.task,
        "schema_hash": fingerprint(schema),
        "split": split.summary(),
        "split_hash": split_hash(split.folds),
        "metrics": [m.name for m in metrics],
        "methods": described,
        "seed": int(limits.seed),
        "threads": int(limits.threads),
        "limits": {k: getattr(limits, k) for k in recorded},
        "versions": recorded_versions(),
        "machine": f"{platform.system()} {platform.machine()}",
        "settings": settings or {},
    }
    return json.loads(json.dumps(plan, default=str))


MUST_MATCH = {
    "data_hash": "the rows of the table",
    "target": "the target",
    "task": "the task",
    "schema_hash": "the roles of the columns",
    "split_hash": "the folds",
    "metrics": "the metrics",
    "seed": "the seed",
    "threads": "the threads of a fit",
}


class PlanChange(NamedTuple):
    """One thing in which two plans differ."""

    key: str  # in the plan
    what: str
    before: Any = None  # shown to the reader, if not None
    now: Any = None

    def __str__(self):
        if self.before is None and self.now is None:
            return self.what
        return f"{self.what} ({self.before} before, {self.now} now)"


def plan_differences(before, after) -> list[PlanChange]:
    """In what two plans differ that can change a score."""
    changes = []
    for key, what in MUST_MATCH.items():
        a, b = before.get(key), after.get(key)
        if a == b:
            continue
        readable = all(isinstance(v, str | int) for v in (a, b)) and "hash" not in key
        changes.append(PlanChange(key, what, *((a, b) if readable else ())))
    return changes + environment_differences(before, after)


def environment_differences(before, after) -> list[PlanChange]:
    """In what two plans differ that comes with time or place: versions, settings.

    The results of such a run still stand, but it cannot be resumed.
    """
    changes = []
    a, b = before.get("machine"), after.get("machine")
    if a != b:
        changes.append(PlanChange("machine", "the machine", a, b))
    old, new = before.get("versions", {}), after.get("versions", {})
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            versions = old.get(name), str(new.get(name))
            changes.append(PlanChange("versions", name, *versions))
    was, now = before.get("methods", {}), after.get("methods", {})
    changes += [
        PlanChange("methods", f"the settings of {m}")
        for m in was
        if m in now and was[m] != now[m]
    ]
    return changes

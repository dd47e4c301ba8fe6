"""How long a fit will take and how much memory, before it is begun.

With n rows, d columns and k classes, seconds and megabytes of a fit, and microseconds
of a prediction of one row, follow

    cost = c0 + c (n / 1000)^a (d / 10)^b (k / 2)^g                              (1)

whose five numbers for every method of the portfolio were measured on this library by
`tools/calibrate.py` and are kept in `costs.json`. Seconds are those of the machine
they were measured on times `speed()`, the ratio of a short fixed piece of work here
and there. Predictions are good to a factor of about 3, which is enough to tell a fit
of seconds from one of hours: what exceeds a limit is not run, and listed with the
number and the option that overrides it.
"""

import json
import time
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np

from ...core.threads import single_blas
from ...tables.prepare import ONE_HOT
from ..limits import default_memory, default_workers, shown_bytes

INNER = 3  # folds of one setting in a tuned fit
WIDTH = {"date": 6, "angle": 2, "text": 30}  # columns that one of the table becomes
SLACK = 3.0  # predictions may be wrong by this factor: over a limit only beyond it


class Cost(NamedTuple):
    """Of one fit, and of the prediction of one row."""

    fit_seconds: float
    megabytes: float
    predict_seconds: float


@cache
def table() -> dict:
    """What was measured: {"reference": s, "methods": {"task/name": {...}}}."""
    here = resources.files("pansophy.compare.methods")
    text = here.joinpath("costs.json").read_text("utf-8")
    return json.loads(text)


def growth(numbers, n, d, k) -> float:
    """Eq. (1)."""
    c0, c, a, b, g = numbers
    return c0 + c * (n / 1000) ** a * (d / 10) ** b * (k / 2) ** g


def work() -> float:
    """Seconds of a short fixed piece of work: BLAS, memory and the interpreter.

    Of this thread alone: what else the machine does now says nothing about a fit later.
    """
    rng = np.random.default_rng(0)
    A, x = rng.normal(size=(160, 160)), rng.normal(size=60_000)
    best = np.inf
    with single_blas():
        for _ in range(5):
            begun = time.thread_time()
            for _ in range(4):
                A @ A
            np.sort(x)
            total = 0
            for i in range(30_000):
                total += i & 3
            best = min(best, time.thread_time() - begun)
    return best


@cache
def speed() -> float:
    """How many times longer work takes here than where the costs were measured."""
    return float(np.clip(work() / table()["reference"], 0.1, 10.0))


def width(schema, native) -> int:
    """About how many columns the preparation makes."""
    d = 0
    for c in schema.used:
        if c.role == "category" and not native:
            d += len(c.levels) if len(c.levels) <= ONE_HOT else max(
                1, len(schema.classes) * (len(schema.classes) > 2)
            )  # fmt: skip
        else:
            d += WIDTH.get(c.role, 1)
    return max(1, d)


def predict_cost(method, n, d, k=2, *, labels=1, factor=None) -> Cost | None:
    """The cost of one fit of a method on n rows, or None if nothing is known."""
    if method.members:
        parts = [predict_cost(m, n, d, k, factor=factor) for m in method.members]
        known = [p for p in parts if p is not None]
        return Cost(
            sum(p.fit_seconds for p in known) * (INNER + 1),
            sum(p.megabytes for p in known),
            sum(p.predict_seconds for p in known),
        )
    task = "classification" if method.task == "multilabel" else method.task
    numbers = table()["methods"].get(f"{task}/{method.base_name}")
    if numbers is None or method.estimator is not None:
        return None
    times = (labels if method.several == "each" else 1) * (1 + INNER * method.trials)
    times *= 6 if method.calibrated else 1  # five inner folds, and all rows
    factor = speed() if factor is None else factor
    return Cost(
        growth(numbers["fit"], n, d, k) * times * factor,
        growth(numbers["megabytes"], n, d, k),
        growth(numbers["microseconds"], n, d, k) * 1e-6 * factor,
    )


def over_limits(method, schema, n, limits) -> str:
    """Why a fit is not begun, with the number, or nothing."""
    d = width(schema, method.native)
    k = max(2, len(schema.classes))
    labels = max(1, len(schema.labels))
    cost = predict_cost(method, n, d, k, labels=labels)
    if cost is None:
        return ""
    most = limits.time_limit
    if most is not None and cost.fit_seconds > SLACK * most:
        return (
            f"one fit would take about {duration(cost.fit_seconds)}, over the limit "
            f"of {duration(most)} (--time-limit, or name it in --methods)"
        )
    most = limits.memory_limit
    if most is None:
        most = default_memory(getattr(limits, "workers", None) or default_workers())
    if cost.megabytes * 1e6 > most:
        return (
            f"one fit would take about {shown_bytes(cost.megabytes * 1e6)}, over the "
            f"limit of {shown_bytes(most)} (--memory-limit, or name it in --methods)"
        )
    return ""


def duration(seconds) -> str:
    """In the unit a reader would choose.

    Examples
    --------
    >>> from pansophy.compare.methods.costs import duration
    >>> duration(42.4), duration(400.0), duration(9000.0)
    ('42 s', '7 minutes', '2.5 hours')
    """
    if seconds < 100:
        return f"{seconds:.2g} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.2g} hours" if seconds < 3.6e5 else "days"

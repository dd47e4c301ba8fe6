"""Predicted time and memory of a fit, before it is begun.

With n rows, d columns and k classes, seconds and megabytes of a fit, and microseconds
of a prediction of one row, follow

    cost = c0 + c (n / 1000)^a (d / 10)^b (k / 2)^g                              (1)

whose five numbers for every method of the portfolio were measured on this library by
`tools/calibrate.py` and are stored in `costs.json`. Four additions were fitted by hand
to a few fits: "many" replaces "fit" from `MANY_ROWS` rows on, where settings change;
"categories" is added, with their number for d / 10, where a method's own treatment of
them costs more; "stopped" is the factor by which a fit takes longer where a validation
part decides when to stop, "few" that below `FEW_ROWS` rows. Seconds are those of the
machine they were measured on times `relative_slowness()`, the ratio of a short fixed
piece of work here and there.

Predictions are good to a factor of about 3, and on large tables their sum over all
methods to a factor of about 2, which is enough to tell a fit of seconds from one of
hours. A method that exceeds a limit is not run, and is listed with the number and the
option that overrides it. Boosters are cheaper than predicted, up to ten times for ten
classes, where columns have few different values.

A method whose single fit is predicted to take more than `TIME_SHARE` of the time limit
is skipped as well, unless it is one of `ALWAYS_RUN`: a comparison is the sum of many
fits, and two or three methods would be most of it. This is decided on the scale of the
machine that was measured, so that the same table gets the same methods everywhere.
"""

import json
import time
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np

from ...core.loops.threads import single_blas
from ...tables.prepare import ONE_HOT
from ..resource_limits import default_memory, default_workers, format_bytes

INNER_FOLDS = 3  # folds of one setting in a tuned fit
WIDTH = {"date": 6, "angle": 2, "text": 30}  # columns that one of the table becomes
FEW_ROWS = 2000  # rows below which boosters grow small trees
MANY_ROWS = 50_000  # rows from which forests have fewer trees and larger leaves
EARLY_STOPPING_ROWS = range(2000, 6000)  # rows of which CatBoost sets some aside
TIME_SHARE = 0.2  # of the time limit is what a fit may take without being asked for
ALWAYS_RUN = (
    "dummy",
    "logistic regression",
    "linear regression",
    "poisson regression",
    "gradient boosting",
)
SLACK = 3.0  # predictions may be wrong by this factor: over a limit only beyond it


class FitCost(NamedTuple):
    """Seconds of one fit, and of the prediction of one row."""

    fit_seconds: float
    megabytes: float
    predict_seconds: float


@cache
def measured_costs() -> dict:
    """Measured costs: {"reference": s, "methods": {"task/name": {...}}}."""
    package_files = resources.files("pansophy.compare.methods")
    text = package_files.joinpath("costs.json").read_text("utf-8")
    return json.loads(text)


def power_law(numbers, n, d, k) -> float:
    """Eq. (1)."""
    c0, c, a, b, g = numbers
    return c0 + c * (n / 1000) ** a * (d / 10) ** b * (k / 2) ** g


def time_reference_work() -> float:
    """Seconds of a short fixed piece of work: BLAS, memory and the interpreter.

    Of this thread alone: what else the machine does now says nothing about a fit later.
    """
    rng = np.random.default_rng(0)
    A, x = rng.normal(size=(160, 160)), rng.normal(size=60_000)
    best = np.inf
    with single_blas():
        for _ in range(5):
            start_time = time.thread_time()
            for _ in range(4):
                A @ A
            np.sort(x)
            total = 0
            for i in range(30_000):
                total += i & 3
            best = min(best, time.thread_time() - start_time)
    return best


@cache
def relative_slowness() -> float:
    """Time that work takes here over the time where the costs were measured."""
    return float(
        np.clip(time_reference_work() / measured_costs()["reference"], 0.1, 10.0)
    )


def prepared_width(schema, native) -> int:
    """About how many columns the preparation makes."""
    d = 0
    for c in schema.used:
        if c.role == "category" and not native:
            d += (
                len(c.levels)
                if len(c.levels) <= ONE_HOT
                else max(1, len(schema.classes) * (len(schema.classes) > 2))
            )
        else:
            d += WIDTH.get(c.role, 1)
    return max(1, d)


def predict_cost(
    method, n, d, k=2, *, labels=1, categories=0, factor=None
) -> FitCost | None:
    """The cost of one fit of a method on n rows, or None if nothing is known."""
    task = "classification" if method.task == "multilabel" else method.task
    numbers = measured_costs()["methods"].get(f"{task}/{method.base_name}")
    if numbers is None or method.estimator is not None:
        return None
    times = (labels if method.multilabel == "each" else 1) * (
        1 + INNER_FOLDS * method.trials
    )
    times *= 6 if method.calibrated else 1  # five inner folds, and all rows
    factor = relative_slowness() if factor is None else factor
    has_many_rows = n >= MANY_ROWS and "many" in numbers
    seconds = power_law(numbers["many" if has_many_rows else "fit"], n, d, k)
    if categories and "categories" in numbers:
        seconds += power_law(numbers["categories"], n, 10 * categories, k)
    if n in EARLY_STOPPING_ROWS:
        seconds *= numbers.get("stopped", 1.0)
    if n < FEW_ROWS:
        seconds *= numbers.get("few", 1.0)
    return FitCost(
        seconds * times * factor,
        power_law(numbers["megabytes"], n, d, k),
        power_law(numbers["microseconds"], n, d, k) * 1e-6 * factor,
    )


def _cost_on_schema(method, schema, n, factor=None) -> FitCost | None:
    """`predict_cost` for the columns and classes of a schema."""
    d = prepared_width(schema, method.native)
    k = max(2, len(schema.classes))
    return predict_cost(
        method,
        n,
        d,
        k,
        labels=max(1, len(schema.labels)),
        categories=sum(c.role == "category" for c in schema.used),
        factor=factor,
    )


def fit_and_predict_seconds(method, schema, n, tested=0, factor=None) -> float:
    """Seconds of a fit on n rows that answers for `tested` others; 0: not known."""
    cost = _cost_on_schema(method, schema, n, factor)
    return 0.0 if cost is None else cost.fit_seconds + tested * cost.predict_seconds


def expected_duration(
    methods, left, schema, folds, workers, factor=None
) -> tuple[float, bool]:
    """Seconds that all fits will take, and whether some are not known.

    `left` says how many fits of each method are to be done.
    """
    n, tested = (np.mean([len(rows) for rows in part]) for part in zip(*folds))
    seconds_each = [
        fit_and_predict_seconds(m, schema, n, tested, factor) for m in methods
    ]
    total = float(np.dot(seconds_each, left))
    unknown = any(t == 0 and k for t, k in zip(seconds_each, left, strict=True))
    # at the end the others wait for the longest
    return max(total / max(workers, 1), max(seconds_each, default=0.0)), unknown


def too_expensive(method, schema, n, limits, fits=1) -> str:
    """Why a method is not run unless it is named, with the number, or nothing.

    What is asked for besides, settings to try or calibration, does not count.
    """
    if limits.time_limit is None or method.name in ALWAYS_RUN:
        return ""
    plain = method._replace(trials=0, calibrated=False, name=method.base_name)
    tested = n / 4
    if (
        fit_and_predict_seconds(plain, schema, n, tested, factor=1.0)
        <= TIME_SHARE * limits.time_limit
    ):
        return ""
    workers = getattr(limits, "workers", None)
    workers = default_workers() if workers is None else workers
    seconds = (
        fits
        * fit_and_predict_seconds(method, schema, n, tested)
        / max(1, min(workers, fits))
    )
    return (
        f"would take about {format_duration(seconds)}, over the limit of what is not "
        "asked for (--time-limit, or name it in --methods)"
    )


def over_limits(method, schema, n, limits) -> str:
    """Why a fit is not begun, with the number, or nothing."""
    cost = _cost_on_schema(method, schema, n)
    if cost is None:
        return ""
    limit = limits.time_limit
    if limit is not None and cost.fit_seconds > SLACK * limit:
        return (
            f"one fit would take about {format_duration(cost.fit_seconds)}, over the "
            f"limit of {format_duration(limit)} (--time-limit, or name it in --methods)"
        )
    limit = limits.memory_limit
    if limit is None:
        limit = default_memory(getattr(limits, "workers", None) or default_workers())
    if cost.megabytes * 1e6 > limit:
        return (
            f"one fit would take about {format_bytes(cost.megabytes * 1e6)}, over the "
            f"limit of {format_bytes(limit)} (--memory-limit, or name it in --methods)"
        )
    return ""


def format_duration(seconds) -> str:
    """In the unit a reader would choose.

    Examples
    --------
    >>> from pansophy.compare.methods.costs import format_duration
    >>> format_duration(42.4), format_duration(400.0), format_duration(9000.0)
    ('42 s', '7 minutes', '2.5 hours')
    """
    if seconds < 100:
        return f"{seconds:.2g} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.2g} hours" if seconds < 3.6e5 else "days"

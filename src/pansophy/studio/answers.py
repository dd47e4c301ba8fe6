"""The kept model of a run: a control for each column, answers with reasons, fan charts.

A model file of pansophy holds numbers and names, never code (`persist`), so it may be
read here. The last few models are kept in memory, by the time of their files.
"""

import math
import warnings
from collections import OrderedDict
from threading import Lock
from types import SimpleNamespace
from typing import Any, NamedTuple

MOST_MODELS = 2
MOST_LEVELS = 200  # of a category that are offered
MOST_REASONS = 8
LEVEL = 0.9  # of intervals and sets
SVG_NAMES = "http://www.w3.org/2000/svg"


class Control(NamedTuple):
    """What a visitor may set of one column."""

    name: str
    kind: str  # "number", "choice", "date" or "text"
    value: Any
    low: float | None = None
    high: float | None = None
    step: str = "any"
    levels: tuple[str, ...] = ()
    optional: bool = True  # whether it was missing in training


class ModelShelf:
    """The last models that were read, by path and time of writing."""

    def __init__(self):
        self.models: OrderedDict = OrderedDict()
        self.lock = Lock()

    def model(self, path):
        """The model in a file, read again only if the file is another."""
        from ..persist import load

        status = path.stat()
        key = (str(path), status.st_mtime_ns, status.st_size)
        with self.lock:
            if key not in self.models:
                self.models[key] = load(path)
            self.models.move_to_end(key)
            while len(self.models) > MOST_MODELS:
                self.models.popitem(last=False)
            return self.models[key]


def model_controls(model) -> list[Control]:
    """A control for each column that a model uses, set to what is typical."""
    from ..compare.model.training_reference import common_levels, never_missing
    from ..serve.openapi import example_value

    controls = []
    for column in model.schema.used:
        value = example_value(column, model.reference)
        optional = not never_missing(model.reference, column)
        if column.role in ("category", "ordinal"):
            shown = common_levels(model.reference, column)[:MOST_LEVELS]
            levels = tuple(map(str, shown)) or tuple(map(str, column.levels))
            controls.append(
                Control(column.name, "choice", value, levels=levels, optional=optional)
            )
        elif column.role == "text":
            controls.append(Control(column.name, "text", "", optional=optional))
        elif column.role == "date":
            day = str(value)[:10] if value is not None else ""
            controls.append(Control(column.name, "date", day, optional=optional))
        else:
            controls.append(_number_control(model, column, value, optional))
    return controls


def _number_control(model, column, value, optional) -> Control:
    """A control for a number, with the ends that it had in training."""
    law = None if model.reference is None else model.reference.columns.get(column.name)
    low = high = None
    is_whole = False
    if law is not None and len(law.values):
        low, high = float(law.values[0]), float(law.values[-1])
        is_whole = bool((law.values == law.values.round()).all())
    if column.boolean:
        levels = ("true", "false")
        return Control(
            column.name,
            "choice",
            "true" if value else "false",
            levels=levels,
            optional=optional,
        )
    step = "1" if is_whole else "any"
    return Control(
        column.name, "number", value, low, high, step=step, optional=optional
    )


def row_of_controls(model, given) -> dict:
    """A row as the model reads it, from the texts of the controls.

    An empty text is a missing value.
    """
    row = {}
    for column in model.schema.used:
        text = str(given.get(column.name, "")).strip()
        if text == "" and column.role != "text":
            row[column.name] = None
        elif column.boolean:
            row[column.name] = text.lower() == "true"
        elif column.role in ("category", "ordinal", "text") or column.role == "date":
            row[column.name] = text
        else:
            row[column.name] = _number(text, column.name)
    return row


def _number(text, name) -> float:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise ValueError(f"{name!r} should be a number, got {text[:40]!r}.") from None


def answer_row(model, given) -> dict:
    """The answer for one row: value, probabilities, interval or set, and reasons."""
    from ..compare.model.shapley import explain_rows
    from ..serve.responses import explanation_objects, prediction_objects
    from ..serve.row_reader import RowReader

    row = row_of_controls(model, given)
    rows = RowReader(model).read([row])
    frame = rows.frame()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = model.raw_scores(frame)
        try:
            answer = prediction_objects(model, scores, LEVEL, frame)[0]
        except AttributeError:  # no intervals or sets for this model
            answer = prediction_objects(model, scores)[0]
        reasons = []
        quantity = ""
        try:
            explained = explanation_objects(model, explain_rows(model, frame), scores)
        except AttributeError:
            explained = []
        if explained:
            quantity = explained[0]["reasons for"]
            shares = explained[0]["shares"].items()
            known = [(name, v) for name, v in shares if v is not None]
            known.sort(key=lambda pair: -abs(pair[1]))
            reasons = known[:MOST_REASONS]
    return {
        "answer": answer,
        "about": quantity,
        "decimals": decimals_of([v for _, v in reasons]),
        "reasons": reasons,
        "notes": list(rows.notes),
        "level": LEVEL,
    }


def decimals_of(values) -> int:
    """Decimals that show three digits of the largest of some numbers.

    Examples
    --------
    >>> from pansophy.studio.answers import decimals_of
    >>> decimals_of([0.0782, -0.003]), decimals_of([250.0]), decimals_of([])
    (4, 0, 0)
    """
    largest = max((abs(v) for v in values), default=0.0)
    if largest == 0:
        return 0
    return max(0, min(8, 2 - math.floor(math.log10(largest))))


def fan_chart(model, number) -> bytes:
    """The end of one series with its forecast and intervals, as SVG."""
    from ..forecasting.comparison.forecast_report import fan_figure

    shown = SimpleNamespace(
        panel=model.panel,
        forecast=model.predict(),
        horizon=model.horizon,
        target=model.columns.get("target", ""),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        svg = fan_figure(shown, number).svg
    if "xmlns=" not in svg.partition(">")[0]:  # it was made to stand in a page
        svg = svg.replace("<svg ", f'<svg xmlns="{SVG_NAMES}" ', 1)
    return svg.encode()

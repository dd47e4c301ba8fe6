"""Predictions and explanations as JSON."""

import json
import math
from datetime import UTC, date, datetime

import numpy as np

from ..compare.model.training_reference import common_levels

MOST_CLASSES = 1000  # probabilities in one answer, by row


def json_bytes(value) -> bytes:
    """JSON in bytes; only dates and the like need words for themselves."""
    return json.dumps(value, default=json_default, allow_nan=False).encode()


def json_default(value):
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    return str(value)


def finite_or_none(value):
    """A number that JSON can hold; None where there is none."""
    return value if math.isfinite(value) else None


def prediction_objects(model, p, level=None, frame=None) -> list[dict]:
    """One object a row."""
    schema = model.schema
    if schema.task == "classification":
        out = class_prediction_objects(model, p)
    elif schema.task == "multilabel":
        decided = model.decide(p)
        out = [
            {
                "prediction": {n: int(k) for n, k in zip(schema.labels, yes)},
                "probabilities": dict(zip(schema.labels, map(finite_or_none, q))),
            }
            for yes, q in zip(decided, p.tolist())
        ]
    else:
        out = [{"prediction": finite_or_none(v)} for v in p.tolist()]
    if level is not None:
        add_conformal(model, p, level, frame, out)
    return out


def class_prediction_objects(model, p) -> list[dict]:
    names = [str(c) for c in model.schema.classes]
    labels = [model.schema.classes[k] for k in model.decide(p).tolist()]
    if p.shape[1] > MOST_CLASSES:
        return [{"prediction": c} for c in labels]
    return [
        {"prediction": c, "probabilities": dict(zip(names, map(finite_or_none, q)))}
        for c, q in zip(labels, p.tolist())
    ]


def add_conformal(model, p, level, frame, out):
    """An interval or a set beside each prediction."""
    schema = model.schema
    if schema.task == "classification":
        held = model._conformal_scores("classification", "predict_interval")
        sets = held.sets(p, level, frame)
        for one, row in zip(out, sets):
            one["set"] = [c for c, k in zip(schema.classes, row) if k]
        return
    held = model._conformal_scores("number", "predict_set")
    ends = held.interval(p, level, frame)
    for one, (low, high) in zip(out, ends.tolist()):
        one["low"], one["high"] = finite_or_none(low), finite_or_none(high)


def explanation_objects(model, explanation, p) -> list[dict]:
    """Shares of the columns beside each prediction; see `compare.model.shapley`."""
    from ..compare.model.prediction_table import explained_output, explained_quantities

    out = prediction_objects(model, p)
    values, base = explained_output(model, explanation, p)
    about = explained_quantities(model, explanation, p)
    for i, one in enumerate(out):
        one["reasons for"] = about[i]
        shares = zip(explanation.feature_names, values[i].tolist())
        one["base"] = finite_or_none(float(base[i]))
        one["shares"] = {name: finite_or_none(v) for name, v in shares}
    return out


def schema_summary(model, reader, limits) -> dict:
    """Body of /schema."""
    s = model.schema
    columns = [
        {
            "name": one.column.name,
            "role": one.column.role,
            "required": one.required,
            "levels": common_levels(model.reference, one.column),
            "n_levels": len(one.column.levels),
        }
        for one in reader.inputs
    ]
    return {
        "target": s.target,
        "task": s.task,
        "classes": list(s.classes),
        "labels": list(s.labels),
        "method": model.method,
        "threshold": model.threshold,
        "columns": columns,
        "facts": {k: v for k, v in model.facts.items() if k != "versions"},
        "limits": {"rows": limits.rows, "body_bytes": limits.body_bytes},
    }


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

"""Predictions as columns of an Arrow table, for files and for requests alike."""

import numpy as np
import pyarrow as pa

DEFAULT_REASONS = 3


def prediction_table(
    model, table, frame, level=None, proba=True, explain=False
) -> pa.Table:
    """See `TableModel.answer`; `frame` is that of the table.

    The caller silences warnings, once for all its threads.
    """
    schema = model.schema
    p = model.raw_scores(frame)
    columns = prediction_columns(model, p)
    if proba and p.ndim == 2:
        names = schema.classes if schema.task == "classification" else schema.labels
        probabilities = {f"p({c})": pa.array(p[:, k]) for k, c in enumerate(names)}
        columns = add_distinct_columns(columns, probabilities)
    if level is not None:
        columns = add_distinct_columns(
            columns, conformal_columns(model, p, level, frame)
        )
    if explain:
        n_reasons = DEFAULT_REASONS if explain is True else int(explain)
        if n_reasons < 1:
            raise ValueError(f"explain must name 1 column or more, got {n_reasons}.")
        columns = add_distinct_columns(
            columns, reason_columns(model, table, frame, p, n_reasons)
        )
    return pa.table(columns)


def add_distinct_columns(columns, added) -> dict:
    """Both, where a target may be called like anything: no column hides another."""
    all_columns = dict(columns)
    for name, column in added.items():
        while name in all_columns:
            name += "'"
        all_columns[name] = column
    return all_columns


def prediction_columns(model, p) -> dict:
    """The predictions themselves, under the names of the targets."""
    schema = model.schema
    decided = None
    if schema.task == "classification":
        decided = pa.array(list(schema.classes)).take(pa.array(model.decide(p)))
        return {schema.target: decided}
    if schema.task == "multilabel":
        decided = model.decide(p)
        return {label: pa.array(decided[:, k]) for k, label in enumerate(schema.labels)}
    return {schema.target: pa.array(p)}


def conformal_columns(model, p, level, frame) -> dict:
    """The ends of an interval, or a set as a list of classes."""
    schema = model.schema
    if schema.task == "classification":
        held = model._conformal_scores("classification", "predict_interval")
        sets = held.sets(p, level, frame)
        ends = np.r_[0, np.cumsum(sets.sum(axis=1))].astype(np.int32)
        named = pa.array(list(schema.classes)).take(pa.array(np.nonzero(sets)[1]))
        return {f"{schema.target} set": pa.ListArray.from_arrays(ends, named)}
    held = model._conformal_scores("number", "predict_set")
    ends = held.interval(p, level, frame)
    return {
        f"{schema.target} low": pa.array(ends[:, 0]),
        f"{schema.target} high": pa.array(ends[:, 1]),
    }


def reason_columns(model, table, frame, p, k) -> dict:
    """Reasons in words: the quantity explained, its base, the top k columns."""
    from .shapley import explain_rows

    explanation = explain_rows(model, frame)
    values, base = explained_output(model, explanation, p)
    names = explanation.feature_names
    order = np.argsort(-np.abs(values), axis=1, kind="stable")[:, :k]
    cells = {n: cell_formatter(table.column(n)) for n in names}
    reasons_by_name = {
        "reasons for": pa.array(
            explained_quantities(model, explanation, p), pa.string()
        )
    }
    reasons_by_name[f"{model.schema.target} base"] = pa.array(base)
    for r in range(order.shape[1]):
        reasons = [
            f"{names[j]} = {cells[names[j]](i)} ({values[i, j]:+.3g})"
            for i, j in enumerate(order[:, r])
        ]
        reasons_by_name[f"reason {r + 1}"] = pa.array(reasons, pa.string())
    return reasons_by_name


def explained_quantities(model, explanation, p) -> list[str]:
    """Names of the quantities explained: `log odds of yes`, `probability of b`."""
    schema = model.schema
    n = len(explanation.values)
    scale = explanation.scale or schema.target
    if schema.task not in ("classification", "multilabel"):
        return [scale] * n
    classes = schema.task == "classification"
    names = list(schema.classes if classes else schema.labels)
    if explanation.values.ndim == 2:  # of two classes the second, of one label that one
        return [f"{scale} of {names[-1]}"] * n
    decided = model.decide(p) if classes else p.argmax(axis=1)
    return [f"{scale} of {names[k]}" for k in decided]


def explained_output(model, explanation, p) -> tuple[np.ndarray, np.ndarray]:
    """Values (n, columns) and base (n,) of the output that each row is told about.

    That is the predicted class of several, and the second class of two, whichever is
    predicted, since the first is only its complement; `explained_quantities` names it.
    """
    values = explanation.values
    base = np.asarray(explanation.base_values)
    n = len(values)
    if values.ndim == 2:
        return values, np.full(n, float(base))
    if model.schema.task == "classification":
        decided = model.decide(p)
    else:
        decided = p.argmax(axis=1)
    return values[np.arange(n), :, decided], base[decided]


def cell_formatter(column):
    """Function that formats the value of a row in a reason."""

    def word(i):
        value = column[i].as_py()
        if value is None:
            return "missing"
        if isinstance(value, float):
            return f"{value:.4g}"
        text = str(value)
        return text if len(text) <= 40 else text[:37] + "..."

    return word

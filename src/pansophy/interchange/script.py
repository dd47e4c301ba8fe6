"""What `compare` kept, as a Python script that a reader could have written.

The script reads a table with pandas, prepares its columns with scikit-learn's parts,
scores the method by cross-validation and fits it. It does the same as the kept model in
kind, not to the last digit: rare levels, dates and the means of categories with many
levels are prepared by scikit-learn's rules, which differ in small ways from those of
`tables.Preparation`.
"""

import pprint
import textwrap

from sklearn.base import clone

from .. import __version__
from ..core.files.atomic_files import write_text_file
from .onnx_graph import ExportError

SCORING = {
    "classification": "neg_log_loss",
    "regression": "neg_root_mean_squared_error",
    "count": "neg_mean_poisson_deviance",
}
MANY_LEVELS = 10  # as in `tables.prepare`
DATE_PARTS = '''

def date_parts(table):
    """Days since 1970, year, month, weekday and hour of columns of dates."""
    parts = {}
    for name in table:
        when = pd.to_datetime(table[name])
        parts[name + " days"] = (when - pd.Timestamp(0)).dt.total_seconds() / 86_400
        for unit in ("year", "month", "dayofweek", "hour"):
            parts[f"{name} {unit}"] = getattr(when.dt, unit)
    return pd.DataFrame(parts)
'''


def to_script(model, path=None) -> str:
    """The text of a script that fits and scores the method of a kept model.

    Parameters
    ----------
    model : TableModel
        What `compare` kept.
    path : path, optional
        File to write.

    Returns
    -------
    str
        The script; `python script.py table.csv` runs it.
    """
    from ..compare import TableModel

    if not isinstance(model, TableModel):
        raise ExportError("Only a kept model of `compare` is written as a script.")
    if model.schema.task not in SCORING:
        raise ExportError(
            f"Models for {model.schema.task} are not written as a script."
        )
    text = _script_text(model)
    compile(text, "script", "exec")
    if path is not None:
        write_text_file(path, text)
    return text


def _script_text(model) -> str:
    schema = model.schema
    members = getattr(model.pipeline, "members_", None)
    names = [n for n, _ in getattr(model.pipeline, "members", None) or []]
    pipelines = members or [getattr(model.pipeline, "pipeline_", model.pipeline)]
    if any(type(p).__name__ != "Pipeline" for p in pipelines):
        raise ExportError(f"{model.method} is not written as a script.")
    columns = _columns_by_kind(schema)
    lines = [_script_docstring(model), _import_lines(model, pipelines, columns), ""]
    lines += [f"TARGET = {schema.target!r}"]
    for kind, column_names in columns.items():
        if column_names:
            lines.append(
                f"{kind} = {pprint.pformat(column_names, width=80, compact=True)}"
            )
    body = "\n".join(lines) + "\n"
    if columns["DATES"]:
        body += "\n" + DATE_PARTS
    body += "\n\n" + _preparation_code(pipelines, columns)
    body += "\n\n" + _model_code(schema, names, pipelines, model)
    return body + "\n\n" + _main_code(schema, columns)


def _script_docstring(model) -> str:
    """The script's docstring: what it does, and what was expected of the method."""
    plain = lambda text: str(text).replace("\\", "/").replace('"', "'")
    told = [
        f"{name} {s[0]:.4g} ({s[1]:.4g} to {s[2]:.4g})"
        for name, s in list(model.facts.get("scores", {}).items())[:2]
    ]
    parts = [
        f"Predict {model.schema.target!r}: {model.method}, as `pansophy compare` kept "
        "it."
    ]
    if told:
        parts.append(f"On new rows it expected: {', '.join(told)}.")
    parts.append(f"Written by pansophy {__version__}: python script.py table.csv")
    text = "\n\n".join(textwrap.fill(plain(part), 84) for part in parts)
    return f'"""{text}\n"""\n'


def _columns_by_kind(schema) -> dict[str, list[str]]:
    kinds = {"NUMBERS": [], "DATES": [], "CATEGORIES": [], "LONG_CATEGORIES": []}
    kinds["TEXTS"] = []
    for c in schema.used:
        if c.role in ("number", "angle"):
            kinds["NUMBERS"].append(c.name)
        elif c.role == "date":
            kinds["DATES"].append(c.name)
        elif c.role == "text":
            kinds["TEXTS"].append(c.name)
        else:
            long = len(c.levels) > MANY_LEVELS
            kinds["LONG_CATEGORIES" if long else "CATEGORIES"].append(c.name)
    return kinds


def _estimator_parts(value) -> list:
    """An estimator and those in its parameters."""
    pieces = [value]
    for part in value.get_params(deep=True).values():
        if hasattr(part, "get_params"):
            pieces.append(part)
    return pieces


def _import_lines(model, pipelines, columns) -> str:
    wanted = {
        ("pansophy.compose", "ColumnTransformer"),
        ("pansophy.model_selection", "cross_val_score"),
        ("pansophy.pipeline", "make_pipeline"),
    }
    if model.schema.time:
        wanted |= {("pansophy.model_selection", "TimeSeriesSplit")}
    elif model.schema.group:
        wanted |= {("pansophy.model_selection", "GroupKFold")}
    if columns["NUMBERS"] or columns["DATES"]:
        wanted |= {("pansophy.impute", "SimpleImputer")}
    if columns["DATES"]:
        wanted |= {("pansophy.preprocessing", "FunctionTransformer")}
    if columns["CATEGORIES"]:
        wanted |= {("pansophy.preprocessing", "OneHotEncoder")}
    if columns["LONG_CATEGORIES"]:
        wanted |= {("pansophy.preprocessing", "TargetEncoder")}
    if columns["TEXTS"]:
        wanted |= {
            ("pansophy.decomposition", "TruncatedSVD"),
            ("pansophy.feature_extraction.text", "TfidfVectorizer"),
        }
    if any(p[0].scale for p in pipelines):
        wanted |= {("pansophy.preprocessing", "StandardScaler")}
    if len(pipelines) > 1:
        kind = (
            "Classifier" if hasattr(pipelines[0][1], "predict_proba") else "Regressor"
        )
        wanted |= {("pansophy.ensemble", f"Voting{kind}")}
    for pipeline in pipelines:
        for part in _estimator_parts(pipeline[1]):
            wanted.add((_public_module(type(part)), type(part).__name__))
    modules: dict[str, list[str]] = {}
    for module, name in sorted(wanted):
        modules.setdefault(module, []).append(name)
    lines = ["import sys", "", "import pandas as pd", ""]
    lines += [f"from {m} import {', '.join(names)}" for m, names in modules.items()]
    return "\n".join(lines)


def _public_module(cls) -> str:
    """The package that exports a class, as near to the top as possible."""
    import importlib

    parts = cls.__module__.split(".")
    for stop in range(2, len(parts) + 1):
        name = ".".join(parts[:stop])
        if getattr(importlib.import_module(name), cls.__name__, None) is cls:
            return name
    return cls.__module__


def _preparation_code(pipelines, columns) -> str:
    """A function for each way of preparing columns that some member needs."""
    pieces = []
    for scale in sorted({bool(p[0].scale) for p in pipelines}):
        name = "scaled_columns" if scale else "plain_columns"
        purpose = ", scale" if scale else ""
        widths = [words.V.shape[1] for words in pipelines[0][0].words_]
        listed = "".join(
            f"            (\n                {label!r},\n"
            f"                {code},\n                {selected},\n            ),\n"
            for label, code, selected in _preparation_steps(columns, widths, scale)
        )
        pieces.append(
            f"def {name}():\n"
            f'    """Fill gaps{purpose}, encode levels, inside each fold."""\n'
            f"    return ColumnTransformer(\n        [\n{listed}        ]\n    )\n"
        )
    return "\n\n".join(pieces)


def _preparation_steps(columns, widths, scale) -> list[tuple[str, str, str]]:
    """Name, estimator and columns of each part of a preparation."""
    tail = ", StandardScaler()" if scale else ""
    fill = 'SimpleImputer(strategy="median", add_indicator=True)'
    one_hot = 'OneHotEncoder(handle_unknown="ignore", sparse_output=False)'
    code = {
        "NUMBERS": f"make_pipeline({fill}{tail})",
        "DATES": f"make_pipeline(FunctionTransformer(date_parts), {fill}{tail})",
        "CATEGORIES": one_hot,
        "LONG_CATEGORIES": f"make_pipeline(TargetEncoder(random_state=0){tail})",
    }
    pieces = [(k.lower(), text, k) for k, text in code.items() if columns[k]]
    for name, width in zip(columns["TEXTS"], widths, strict=True):
        topics = f"TfidfVectorizer(), TruncatedSVD({max(width, 1)})"
        pieces.append((name, f"make_pipeline({topics}{tail})", repr(name)))
    return pieces


def _without_codes(estimator):
    """The estimator for columns that are all numbers."""
    estimator = clone(estimator)
    names = [n for n in estimator.get_params() if n.endswith("categorical_features")]
    return estimator.set_params(**dict.fromkeys(names))


def _model_code(schema, names, pipelines, model) -> str:
    code = [
        f"make_pipeline({'scaled' if p[0].scale else 'plain'}_columns(), "
        f"{' '.join(repr(_without_codes(p[1])).split())})"
        for p in pipelines
    ]
    if len(code) == 1:
        value = code[0]
    else:
        kind = "Regressor" if schema.task in ("regression", "count") else "Classifier"
        listed = "".join(
            f"            ({name!r}, {text}),\n"
            for name, text in zip(names, code, strict=True)
        )
        shares = [round(float(a), 4) for a in model.pipeline.weights_.values()]
        soft = '        voting="soft",\n' if kind == "Classifier" else ""
        value = (
            f"Voting{kind}(\n        [\n{listed}        ],\n{soft}"
            f"        weights={shares},\n    )"
        )
    return (
        f'def make_model():\n    """The method that was kept, not fitted yet."""\n'
        f"    return {value}\n"
    )


def _main_code(schema, columns) -> str:
    scoring = SCORING[schema.task]
    lines = ["def main(path):"]
    lines.append('    """Score the method by cross-validation, fit it on all rows."""')
    lines.append('    read = pd.read_csv if path.endswith(".csv") else pd.read_parquet')
    lines.append("    table = read(path)")
    lines.append("    table = table[table[TARGET].notna()]")
    levels = [k for k in ("CATEGORIES", "LONG_CATEGORIES") if columns[k]]
    if levels:
        lines.append(f"    levels = {' + '.join(levels)}")
        lines.append("    table[levels] = table[levels].astype(object)")
    cv = "5"
    groups = ""
    if schema.time:
        lines.append(f"    table = table.sort_values({schema.time!r})")
        cv = "TimeSeriesSplit(5)"
    elif schema.group:
        cv = "GroupKFold(5)"
        groups = f", groups=table[{schema.group!r}]"
    lines.append("    y = table[TARGET]")
    lines.append("    scores = -cross_val_score(")
    lines.append(
        f"        make_model(), table, y, scoring={scoring!r}, cv={cv}{groups}"
    )
    lines.append("    )")
    name = scoring.removeprefix("neg_")
    lines.append(f'    print(f"{name}: {{scores.mean():.4g}}")')
    lines.append("    return make_model().fit(table, y)")
    ending = '\n\n\nif __name__ == "__main__":\n    main(sys.argv[1])\n'
    return "\n".join(lines) + ending

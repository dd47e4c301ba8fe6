"""Export of fitted models to ONNX, with a check on real rows.

What is written is run by onnxruntime on the rows that are given, or on those that a
kept model holds for explanations, and its answers are compared with the model's own:

    |ONNX - model| <= limit (1 + |model|)    of every number,                      (1)

and labels are equal, but for rows whose two best classes are nearer to each other than
the limit. Otherwise nothing is written. ONNX computes in float64 here, so that (1)
holds with 1e-6 for nearly every model; trees round X to float32 first, as ours do.
"""

from typing import NamedTuple

import numpy as np

from ..core.files.atomic_files import replacing_file
from .onnx_estimators import Scores, convert_estimator
from .onnx_graph import ExportError, Graph
from .onnx_preparation import frame_inputs, prepared_matrix, rows_as_inputs

LIMIT = 1e-6
MIN_ROWS = 20  # rows that a check needs


class ExportReport(NamedTuple):
    """What was written, and how near its answers were to the model's."""

    model: object  # the ONNX model
    inputs: list[str]
    outputs: list[str]
    rows: int  # that were compared
    difference: float  # the largest left side of eq. (1), over 1 + |model|

    def __repr__(self):
        return (
            f"ExportReport({', '.join(self.inputs[:6])}"
            f"{', ...' if len(self.inputs) > 6 else ''} -> {', '.join(self.outputs)}; "
            f"{self.rows} rows compared, largest difference {self.difference:.1e})"
        )


def to_onnx(model, X=None, path=None, *, limit=LIMIT) -> ExportReport:
    """Write a fitted model as ONNX, and refuse if its answers are not the model's.

    Parameters
    ----------
    model : fitted estimator, pipeline of estimators, or kept model of `compare`
    X : rows, optional
        Real rows to compare answers on: an array, or a table for a kept model, which
        otherwise takes the rows that it holds for explanations.
    path : path, optional
        File to write.
    limit : float
        Largest difference of two answers, eq. (1) of the module.

    Returns
    -------
    ExportReport

    Raises
    ------
    ExportError
        If the model, or a part of it, has no ONNX formula here, or if answers differ.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.interchange import to_onnx
    >>> from pansophy.linear_model import Ridge
    >>> X = np.arange(40.0).reshape(20, 2) % 7
    >>> report = to_onnx(Ridge().fit(X, X[:, 0]), X)
    >>> report.outputs, report.difference < 1e-12
    (['prediction'], True)
    """
    from ..compare import TableModel

    graph = Graph()
    build = _build_table_model if isinstance(model, TableModel) else _build_estimator
    built = build(graph, model, X)
    facts = {"made by": f"pansophy, {type(model).__name__}"}
    onnx_model = graph.model(facts.items())
    answers = run_onnx(onnx_model, built.rows)
    worst = _largest_difference(built, answers, limit)
    if path is not None:
        with replacing_file(path) as draft:
            draft.write_bytes(onnx_model.SerializeToString())
    rows = len(next(iter(built.rows.values())))
    return ExportReport(onnx_model, list(built.rows), list(answers), rows, worst)


def run_onnx(model, rows) -> dict[str, np.ndarray]:
    """The outputs of an ONNX model for some rows, by name."""
    try:
        import onnxruntime
    except ImportError:
        raise ImportError(
            "Export compares answers by onnxruntime: pip install 'pansophy[onnx]'."
        ) from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # of a version that lacks an operator
        raise ExportError(f"onnxruntime does not take the graph: {error}") from error
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, rows), strict=True))


class _Built(NamedTuple):
    """A graph's inputs for the rows of the check, and what the model answers."""

    rows: dict[str, np.ndarray]
    expected: dict[str, np.ndarray]
    gap: np.ndarray | None = None  # between the two best classes of each row


# --- estimators on matrices -----------------------------------------------------------


def _build_estimator(graph, model, X) -> _Built:
    if X is None:
        raise ExportError("X must hold real rows, on which answers are compared.")
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    _check_rows(len(X))
    x = graph.input("X", X.shape[1])
    answer = convert_estimator(graph, model, x)
    rows = {"X": X}
    if hasattr(model, "classes_"):
        return _class_outputs(graph, model, answer, rows)
    if isinstance(answer, Scores):  # clusters
        label = graph.largest(answer.deciding)
        name = graph.output("label", label, dtype="int64")
        distances = np.sort(np.asarray(model.transform(X)), axis=1)
        gap = distances[:, 1] - distances[:, 0] if distances.shape[1] > 1 else None
        return _Built(rows, {name: np.asarray(model.predict(X))}, gap)
    if hasattr(model, "predict"):
        y = np.asarray(model.predict(X), dtype=float)
        source = graph.flat(answer) if y.ndim == 1 else answer
        width = None if y.ndim == 1 else y.shape[1]
        return _Built(rows, {graph.output("prediction", source, width=width): y})
    Z = np.asarray(model.transform(X), dtype=float)
    name = graph.output("transformed", answer, width=Z.shape[1])
    return _Built(rows, {name: Z})


def _class_outputs(graph, model, answer, rows) -> _Built:
    """The label, and probabilities or scores, of a classifier."""
    X = rows["X"]
    classes = np.asarray(model.classes_)
    deciding = answer.deciding if isinstance(answer, Scores) else answer
    kind = "int64" if classes.dtype.kind in "iub" else "text"
    values = classes if kind == "text" else classes.astype(np.int64)
    table = graph.constant(values, object if kind == "text" else np.int64)
    label = graph.take(table, graph.largest(deciding))
    expected = {graph.output("label", label, dtype=kind): np.asarray(model.predict(X))}
    if not isinstance(answer, Scores):
        P = np.asarray(model.predict_proba(X), dtype=float)
        expected[graph.output("probabilities", answer, width=P.shape[1])] = P
        return _Built(rows, expected, _gap_of_best(P))
    F = np.asarray(model.decision_function(X), dtype=float)
    source = graph.flat(answer.values) if F.ndim == 1 else answer.values
    width = None if F.ndim == 1 else F.shape[1]
    expected[graph.output("scores", source, width=width)] = F
    gap = 2 * np.abs(F) if F.ndim == 1 else np.abs(F).min(axis=1)
    return _Built(rows, expected, gap)


def _gap_of_best(P):
    """Difference of the two largest numbers of each row."""
    if P.shape[1] < 2:
        return None
    best_pair = np.sort(P, axis=1)[:, -2:]
    return best_pair[:, 1] - best_pair[:, 0]


# --- kept models of compare -----------------------------------------------------------


def _build_table_model(graph, model, table) -> _Built:
    frame = model.background if table is None else model._frame(table)
    if frame is None:
        raise ExportError(
            "The model holds no rows to compare answers on: give a table of some."
        )
    _check_rows(len(frame))
    schema = model.schema
    values = frame_inputs(graph, schema.used)
    p = _pipeline_answer(graph, model.pipeline, values, schema)
    rows = rows_as_inputs(frame, schema.used)
    expected = model.scores(frame)
    if schema.task in ("regression", "count"):
        return _Built(rows, {graph.output("prediction", graph.flat(p)): expected})
    if schema.task != "classification":
        raise ExportError(f"Models for {schema.task} are not exported.")
    best_pair = len(schema.classes) == 2
    if best_pair and model.threshold is not None:
        yes = graph.columns(p, [1])
        is_yes = graph.node(
            "GreaterOrEqual", yes, graph.constant([[float(model.threshold)]])
        )
        positions = graph.flat(graph.cast(is_yes, "int64"))
        gap = 2 * np.abs(expected[:, 1] - model.threshold)
    else:
        positions = graph.largest(p)
        gap = _gap_of_best(expected)
    names = graph.constant([str(c) for c in schema.classes], object)
    label = graph.output("label", graph.take(names, positions), dtype="text")
    labels = np.array([str(c) for c in schema.classes])[model.decide(expected)]
    if model._positive_sorts_first:
        p = graph.columns(p, [1, 0])
        expected = expected[:, ::-1]
    name = graph.output("probabilities", p, width=expected.shape[1])
    return _Built(rows, {label: labels, name: expected}, gap)


def _pipeline_answer(graph, pipeline, values, schema) -> str:
    """Numbers (n, 1), or probabilities of all classes, of a fitted pipeline."""
    name = type(pipeline).__name__
    if name == "Blend":
        parts = [
            graph.multiply(
                _pipeline_answer(graph, member, values, schema), [[float(share)]]
            )
            for share, member in zip(pipeline.weights_.values(), pipeline.members_)
        ]
        return graph.total(parts)
    if name == "Tuned":
        return _pipeline_answer(graph, pipeline.pipeline_, values, schema)
    if name != "Pipeline":
        raise ExportError(f"{name} sees the past of the target, and is not exported.")
    x = prepared_matrix(graph, pipeline[0], values)
    answer = convert_estimator(graph, pipeline[1], x)
    if isinstance(answer, Scores):
        raise ExportError(f"{type(pipeline[1]).__name__} gives no probabilities.")
    known = np.asarray(getattr(pipeline[1], "classes_", ()))
    n_classes = len(schema.classes)
    if schema.task == "classification" and len(known) < n_classes:
        place = np.zeros((len(known), n_classes))
        place[np.arange(len(known)), known.astype(int)] = 1.0
        answer = graph.matmul(answer, place)
    return answer


# --- the check ------------------------------------------------------------------------


def _check_rows(n) -> None:
    if n < MIN_ROWS:
        raise ExportError(
            f"At least {MIN_ROWS} rows are needed to compare answers on, got {n}."
        )


def _largest_difference(built, answers, limit) -> float:
    """The largest difference of eq. (1); raises where it is above the limit."""
    worst = 0.0
    for name, expected in built.expected.items():
        answer = answers[name]
        if expected.dtype.kind not in "f":
            differ = np.asarray(answer).astype(str) != expected.astype(str)
            clear = built.gap is None or differ & (built.gap > limit)
            if np.any(differ & clear):
                rows = int(np.sum(differ & clear))
                raise ExportError(
                    f"ONNX gives another {name} in {rows} of {len(differ)} rows: "
                    "nothing is written."
                )
            continue
        if answer.shape != expected.shape:
            raise ExportError(f"ONNX gives {name} of another shape.")
        is_equal = (answer == expected) | (np.isnan(answer) & np.isnan(expected))
        size = np.where(
            is_equal, 0.0, np.abs(answer - expected) / (1 + np.abs(expected))
        )
        worst = max(worst, float(np.max(size, initial=0.0)))
        if not worst <= limit:
            raise ExportError(
                f"ONNX gives another {name}: the largest difference is {worst:.2g}, "
                f"above the limit {limit:g}. Nothing is written."
            )
    return worst

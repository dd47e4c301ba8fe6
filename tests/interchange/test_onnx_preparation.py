"""Kept models of mixed tables as ONNX: columns of every kind, all portfolio methods."""

import numpy as np
import pyarrow as pa
import pytest

from pansophy.interchange import ExportError, to_onnx
from pansophy.interchange.onnx_export import run_onnx
from tests.compare.table_models import fitted, people

pytest.importorskip("onnxruntime")

METHODS = {
    "yes": [
        "dummy", "logistic regression", "naive Bayes", "linear discriminant",
        "linear support vectors", "RBF support vectors", "decision tree",
        "random forest", "extra trees", "gradient boosting",
    ],
    "score": [
        "dummy", "linear regression", "ridge", "lasso", "decision tree",
        "random forest", "gradient boosting", "RBF support vectors",
    ],
    "visits": ["dummy", "poisson regression", "gradient boosting", "random forest"],
    "town": ["logistic regression", "RBF support vectors", "extra trees"],
}  # fmt: skip


def table_without_texts(n=220, seed=0):
    """Numbers with gaps, few and many levels, a date, an angle and an order."""
    rng = np.random.default_rng(seed)
    table = people(n, seed).drop_columns(["note"])
    street = rng.choice([f"street {i:02}" for i in range(25)], n).astype(object)
    street[rng.random(n) < 0.1] = None
    table = table.append_column("street", pa.array(street, pa.string()))
    table = table.append_column("size", pa.array(rng.choice(["S", "M", "L"], n)))
    table = table.append_column("wind", pa.array(rng.integers(0, 360, n) * 1.0))
    town = np.array(["Ulm", "Bonn", "Kiel"])[np.argsort(rng.normal(size=(n, 3)))[:, 0]]
    return table.append_column("town", pa.array(town))


ROLES = {"roles": {"wind": "angle", "size": "ordinal"}}


@pytest.mark.parametrize(
    ("target", "name"), [(t, m) for t, names in METHODS.items() for m in names]
)
def test_every_method_and_kind_of_column(target, name):
    table = table_without_texts()
    model = fitted(table, target, name)
    new = table_without_texts(seed=1)
    report = to_onnx(model, new)
    assert report.difference < 1e-9 and report.rows == len(new)
    roles = {c.role for c in model.schema.used}
    assert {"number", "category", "date"} <= roles


def test_levels_never_seen_and_missing_values_of_every_column():
    table = table_without_texts()
    for name in ("logistic regression", "random forest"):
        model = fitted(table, "yes", name)
        rows = table_without_texts(60, seed=2)
        for j, column in enumerate(rows.column_names):
            values = rows[column].to_pylist()
            values[j * 4] = None
            if isinstance(values[1], str) and column != "yes":
                values[j * 4 + 1] = "never seen"
            rows = rows.set_column(j, column, pa.array(values, rows[column].type))
        assert to_onnx(model, rows).difference < 1e-9


def test_dates_of_all_years_have_their_months_and_weekdays():
    """The calendar in ONNX is NumPy's, on days around leap days and ends of years."""
    from pansophy.interchange.onnx_graph import Graph
    from pansophy.interchange.onnx_preparation import calendar_parts
    from pansophy.tables.date_features import PLAIN, plain_parts

    days = np.arange("1583-01-01", "2500-01-01", 17, dtype="M8[D]")
    edges = [f"{y}-{d}" for y in (1600, 1900, 2000, 2023, 2024, 2100)
             for d in ("02-28", "03-01", "12-31", "01-01")]  # fmt: skip
    days = np.r_[days, np.array(edges, dtype="M8[D]")]
    seconds = days.astype("M8[s]").astype(float)[:, None] + 12_345.5
    seconds[0] = np.nan
    graph = Graph()
    parts = calendar_parts(graph, graph.input("when", 1))
    for name in PLAIN:
        graph.output(name, parts[name], width=1)
    found = run_onnx(graph.model(), {"when": seconds})
    for name, expected in zip(PLAIN, plain_parts(seconds), strict=True):
        np.testing.assert_allclose(found[name], expected, rtol=1e-14, err_msg=name)


def test_a_threshold_and_columns_called_like_outputs(tmp_path):
    table = table_without_texts()
    table = table.rename_columns({"age": "label", "pay": "probabilities"})
    model = fitted(table, "yes", "logistic regression").with_threshold(0.3)
    report = to_onnx(model, path=tmp_path / "kept.onnx")  # on the rows it holds
    assert report.outputs == ["label_out", "probabilities_out"]
    assert {"label", "probabilities"} <= set(report.inputs)
    assert (tmp_path / "kept.onnx").stat().st_size > 1000


def test_columns_of_texts_are_refused_by_name():
    model = fitted(people(), "yes", "logistic regression")
    with pytest.raises(ExportError, match="'note' holds texts"):
        to_onnx(model)

"""The builder of graphs: operators, names of outputs, and what is not installed."""

import sys

import numpy as np
import pytest

from pansophy.interchange.onnx_export import run_onnx
from pansophy.interchange.onnx_graph import Graph


def test_operators_are_those_of_numpy(rng):
    pytest.importorskip("onnxruntime")
    graph = Graph()
    x = graph.input("x", 3)
    Z = rng.normal(size=(4, 3))
    graph.output("distance", graph.squared_distances(x, Z), width=4)
    graph.output("sum", graph.flat(graph.column_sum(graph.add(x, [[1.0, 2.0, 3.0]]))))
    graph.output("held", graph.clip(x, -0.5, None), width=3)
    X = rng.normal(size=(9, 3))
    found = run_onnx(graph.model(), {"x": X})
    expected = ((X[:, None] - Z) ** 2).sum(axis=2)
    np.testing.assert_allclose(found["distance"], expected, atol=1e-12)
    np.testing.assert_allclose(found["sum"], X.sum(axis=1) + 6)
    np.testing.assert_allclose(found["held"], np.maximum(X, -0.5))


def test_an_output_never_has_the_name_of_an_input():
    pytest.importorskip("onnx")
    graph = Graph()
    x = graph.input("label", 1)
    assert graph.output("label", x, width=1) == "label_out"


def test_without_onnx_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'pansophy\[onnx\]'"):
        Graph()

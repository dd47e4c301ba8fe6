"""The check of an export, what is refused, and the file that is written."""

import numpy as np
import pytest

import pansophy as ps
from pansophy.interchange import ExportError, to_onnx
from pansophy.interchange.onnx_export import run_onnx

pytest.importorskip("onnxruntime")
LM, SVM = ps.linear_model, ps.svm
N = 150


def test_what_is_not_exported_says_so(rng):
    X = rng.normal(size=(N, 3))
    y = (X[:, 0] > 0).astype(int)
    with pytest.raises(ExportError, match="KNeighborsClassifier is not among"):
        to_onnx(ps.neighbors.KNeighborsClassifier().fit(X, y), X)
    with pytest.raises(ExportError, match="Of kernels only"):
        to_onnx(SVM.SVC(kernel=ps.kernels.Laplacian()).fit(X, y), X)
    with pytest.raises(ExportError, match="real rows"):
        to_onnx(LM.Ridge().fit(X, y))
    with pytest.raises(ExportError, match="At least 20 rows"):
        to_onnx(LM.Ridge().fit(X, y), X[:5])


def test_an_export_that_differs_is_refused_and_leaves_no_file(rng, tmp_path):
    X = rng.normal(size=(N, 3))
    path = tmp_path / "model.onnx"
    path.write_bytes(b"earlier")

    model = LM.Ridge().fit(X, X[:, 0])
    answers = model.predict(X)
    model.predict = lambda X: answers + 1e-4
    with pytest.raises(ExportError, match=r"largest difference is .*above the limit"):
        to_onnx(model, X, path)
    assert path.read_bytes() == b"earlier"
    model = LM.LogisticRegression().fit(X, (X[:, 0] > 0).astype(int))
    labels = model.predict(X)
    model.predict = lambda X: 1 - labels
    with pytest.raises(ExportError, match="another label in 150 of 150 rows"):
        to_onnx(model, X)


def test_a_file_is_read_by_onnx_alone(rng, tmp_path):
    import onnx

    X = rng.normal(size=(N, 3))
    model = LM.Ridge().fit(X, X[:, 0])
    to_onnx(model, X, tmp_path / "model.onnx")
    read = onnx.load(tmp_path / "model.onnx")
    found = run_onnx(read, {"X": X[:7]})["prediction"]
    np.testing.assert_allclose(found, model.predict(X[:7]), rtol=1e-12)
    assert read.producer_name == "pansophy"

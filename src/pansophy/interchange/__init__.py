"""Ways in and out: ONNX, scikit-learn's fitted models, and plain scripts.

`to_onnx` writes a fitted model as an ONNX graph and compares its answers with the
model's on real rows; `from_sklearn` takes the learned arrays of a fitted scikit-learn
estimator into ours; `to_script` writes what `compare` kept as a Python script that a
reader could have written.
"""

import importlib

__all__ = ["ExportError", "from_sklearn", "to_onnx", "to_script"]

_MODULES = {
    "ExportError": "onnx_graph",
    "from_sklearn": "sklearn_models",
    "to_onnx": "onnx_export",
    "to_script": "script",
}


def __getattr__(name):
    if name in _MODULES:
        module = importlib.import_module(f".{_MODULES[name]}", __name__)
        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(__all__)

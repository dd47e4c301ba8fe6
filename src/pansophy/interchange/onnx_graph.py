"""A small builder of ONNX graphs on the `onnx` package.

Tensors are float64 throughout, since ONNX's operators of double precision give the
answers of NumPy to rounding. Each function adds a node and returns the name of what it
computes, so that a converter reads like the formula of the method.
"""

import numpy as np

OPSET = 20  # of the operators; of trees and labels: ML_OPSET
ML_OPSET = 5
IR_VERSION = 10


class ExportError(ValueError):
    """A model, or a part of it, that has no equal in the other format."""


def _import_onnx():
    """The `onnx` package; one sentence where it is not installed."""
    try:
        import onnx
    except ImportError:
        raise ImportError(
            "Export to ONNX needs onnx and onnxruntime: pip install 'pansophy[onnx]'."
        ) from None
    return onnx


class Graph:
    """Nodes, constants and inputs of a graph that is being built."""

    def __init__(self):
        self._onnx = _import_onnx()
        self._nodes = []
        self._constants = []
        self._inputs = []
        self._outputs = []
        self._count = 0
        self._names = set()  # of inputs and outputs

    def _new_name(self, stem) -> str:
        self._count += 1
        return f"/{stem.lower()}_{self._count}"  # no column begins with a slash

    # --- what goes in, what comes out ----------------------------------------------

    def input(self, name, width, *, text=False) -> str:
        """A matrix (n, width) that is given with each call: float64, or texts."""
        tensor = self._onnx.TensorProto
        kind = tensor.STRING if text else tensor.DOUBLE
        make = self._onnx.helper.make_tensor_value_info
        self._inputs.append(make(name, kind, [None, width]))
        self._names.add(name)
        return name

    def output(self, name, source, *, dtype="double", width=None) -> str:
        """Give a tensor the name of an output, or one like it if an input has that.

        It is (n,) if there is no width.
        """
        while name in self._names:
            name += "_out"
        self._names.add(name)
        tensor = self._onnx.TensorProto
        kind = {"double": tensor.DOUBLE, "int64": tensor.INT64, "text": tensor.STRING}
        shape = [None] if width is None else [None, width]
        self._nodes.append(self._onnx.helper.make_node("Identity", [source], [name]))
        make = self._onnx.helper.make_tensor_value_info
        self._outputs.append(make(name, kind[dtype], shape))
        return name

    def constant(self, value, dtype=np.float64) -> str:
        """An array that belongs to the graph."""
        array = np.asarray(value, dtype=dtype)
        name = self._new_name("constant")
        if array.dtype.kind in "OU":
            tensor = self._onnx.helper.make_tensor(
                name,
                self._onnx.TensorProto.STRING,
                array.shape,
                [str(v).encode() for v in array.ravel()],
            )
        else:
            tensor = self._onnx.numpy_helper.from_array(array, name)
        self._constants.append(tensor)
        return name

    def model(self, metadata=()):
        """The finished model, checked by `onnx`."""
        helper = self._onnx.helper
        graph = helper.make_graph(
            self._nodes, "pansophy", self._inputs, self._outputs, self._constants
        )
        opsets = [
            helper.make_opsetid("", OPSET),
            helper.make_opsetid("ai.onnx.ml", ML_OPSET),
        ]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="pansophy")
        model.ir_version = IR_VERSION
        helper.set_model_props(model, dict(metadata))
        self._onnx.checker.check_model(model)
        return model

    # --- operators -----------------------------------------------------------------

    def node(self, operator, *inputs, domain="", **attributes) -> str:
        """The output of an operator of one output."""
        name = self._new_name(operator)
        self._nodes.append(
            self._onnx.helper.make_node(
                operator, list(inputs), [name], domain=domain, **attributes
            )
        )
        return name

    def add(self, a, b):
        return self.node("Add", a, self._tensor(b))

    def subtract(self, a, b):
        return self.node("Sub", self._tensor(a), self._tensor(b))

    def multiply(self, a, b):
        return self.node("Mul", a, self._tensor(b))

    def divide(self, a, b):
        return self.node("Div", self._tensor(a), self._tensor(b))

    def matmul(self, a, b):
        return self.node("MatMul", a, self._tensor(b))

    def floor_divide(self, a, b):
        return self.node("Floor", self.divide(a, b))

    def _tensor(self, value) -> str:
        """A name as it is; numbers become a constant."""
        return value if isinstance(value, str) else self.constant(value)

    def cast(self, a, dtype):
        tensor = self._onnx.TensorProto
        kinds = {"double": tensor.DOUBLE, "float": tensor.FLOAT, "int64": tensor.INT64}
        return self.node("Cast", a, to=kinds[dtype])

    def total(self, parts):
        """The sum of tensors of one shape."""
        return parts[0] if len(parts) == 1 else self.node("Sum", *parts)

    def columns(self, a, where):
        """Some columns of a matrix, by their positions."""
        return self.node("Gather", a, self.constant(where, np.int64), axis=1)

    def column_sum(self, a):
        """Sums of the rows, as one column (n, 1)."""
        return self.node("ReduceSum", a, self.constant([1], np.int64), keepdims=1)

    def side_by_side(self, parts):
        """Matrices with the same rows as one."""
        return parts[0] if len(parts) == 1 else self.node("Concat", *parts, axis=1)

    def stacked(self, p):
        """(1 - p, p) of one column p."""
        return self.side_by_side([self.subtract([[1.0]], p), p])

    def flat(self, a):
        """A column (n, 1) as (n,)."""
        return self.node("Squeeze", a, self.constant([1], np.int64))

    def where(self, condition, a, b):
        return self.node("Where", condition, self._tensor(a), self._tensor(b))

    def clip(self, a, low=None, high=None):
        """Values held between two numbers; None is no bound."""
        bounds = ["" if v is None else self.constant(v) for v in (low, high)]
        return self.node("Clip", a, *bounds)

    def largest(self, scores):
        """The first column with the largest value, of each row: (n,) int64."""
        return self.node("ArgMax", scores, axis=1, keepdims=0)

    def take(self, values, positions):
        """Entries of a constant array, by positions."""
        return self.node("Gather", values, positions, axis=0)

    def linear(self, x, coefficients, intercept):
        """x C + b with C (columns, outputs)."""
        return self.add(self.matmul(x, coefficients), np.atleast_2d(intercept))

    def squared_distances(self, x, centers):
        """|x - z|^2 of all rows x and centers z, by |x|^2 - 2 x z + |z|^2."""
        Z = np.asarray(centers, dtype=float)
        cross = self.matmul(x, -2.0 * Z.T)
        squares = self.column_sum(self.multiply(x, x))
        distances = self.add(self.add(cross, squares), (Z**2).sum(axis=1)[None])
        return self.node("Relu", distances)  # rounding may leave a little below zero

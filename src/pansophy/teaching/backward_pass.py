"""Back-propagation by hand: every number of one forward and one backward pass.

For one example (x, y) and layers of units,

    v_0 = x,   z_l = W_l v_{l-1} + b_l,   v_l = g(z_l),   f = o(z_L)            (1)

with g between layers and o at the output. The loss L(f, y) goes back as

    delta_L = o'(z_L) dL/df,   delta_l = g'(z_l) * (W_{l+1}' delta_{l+1})       (2)
    dL/dW_l = delta_l v_{l-1}',   dL/db_l = delta_l                             (3)

Losses: squares sum (f - y)^2, half of them, or cross-entropy with a logistic or softmax
output, for which delta_L = f - y. Here rows of W_l are units, as in textbooks; `nn.MLP`
has them in columns and takes many rows of X at once. Several examples are averaged.

Cost      that of a forward pass, twice
Shapes    W_l (m_l, m_{l-1})   b_l, z_l, v_l, delta_l (m_l,)   x (m_0,)   f, y (m_L,)
Refs      [Rumelhart1986]
"""

from typing import Literal, NamedTuple

import numpy as np
import torch

from .neuron import UNITS


class BackwardPass(NamedTuple):
    """The numbers of eqs. (1)-(3), a list entry per layer; prints as a table."""

    sums: list[np.ndarray]  # z_l
    outputs: list[np.ndarray]  # v_0, ..., v_{L-1}, f
    loss: float
    deltas: list[np.ndarray]
    weight_gradients: list[np.ndarray]
    bias_gradients: list[np.ndarray]

    def __str__(self):
        write = lambda a: np.array2string(
            np.asarray(a), precision=7, suppress_small=True, separator=", "
        ).replace("\n", "")
        lines = [f"input    {write(self.outputs[0])}"]
        for i, (z, v) in enumerate(zip(self.sums, self.outputs[1:]), 1):
            lines.append(f"layer {i}  z = {write(z)}  v = {write(v)}")
        lines.append(f"loss     {self.loss:.7f}")
        for i in range(len(self.sums), 0, -1):
            lines.append(
                f"layer {i}  delta = {write(self.deltas[i - 1])}  "
                f"dL/dW = {write(self.weight_gradients[i - 1])}"
            )
        return "\n".join(lines)


def backward(
    weights, x, y, *, biases=None, activation="tanh", output="identity",
    loss: Literal["squared", "half_squared", "cross_entropy"] = "squared",
) -> BackwardPass:  # fmt: skip
    """Forward and backward pass of a small net, with all numbers between.

    Parameters
    ----------
    weights : list of arrays (m_l, m_{l-1})
        A row per unit.
    x, y : arrays of shape (m_0,) and (m_L,), or (n, m_0) and (n, m_L)
    biases : list of arrays (m_l,), or None for none
    activation : str
        g, a name of `nn.ACTIVATIONS`.
    output : str
        o: such a name, or "softmax" (with cross-entropy).
    loss : {"squared", "half_squared", "cross_entropy"}

    Examples
    --------
    >>> from pansophy import nn, teaching
    >>> W1, W2 = [[0.1, 0.2], [0.3, -0.4]], [[0.5, -0.6], [0.7, 0.8]]
    >>> print(teaching.backward([W1, W2], [1, 2], [1, -1]))
    input    [1., 2.]
    layer 1  z = [ 0.5, -0.5]  v = [ 0.4621172, -0.4621172]
    layer 2  z = [ 0.5083289, -0.0462117]  v = [ 0.5083289, -0.0462117]
    loss     1.1514526
    layer 2  delta = [-0.9833423,  1.9075766]  dL/dW = [[-0.4544193,  0.4544193], [ 0.8815239, -0.8815239]]
    layer 1  delta = [0.6634728, 1.6641758]  dL/dW = [[0.6634728, 1.3269457], [1.6641758, 3.3283516]]
    """  # noqa: E501
    weights = [np.atleast_2d(np.asarray(W, float)) for W in weights]
    if biases is None:
        biases = [np.zeros(len(W)) for W in weights]
    biases = [np.atleast_1d(np.asarray(b, float)) for b in biases]
    single = np.ndim(x) < 2
    X = np.atleast_2d(np.asarray(x, float))
    Y = np.asarray(y, float).reshape(len(X), -1)
    _check_shapes(weights, biases, X, Y)
    names = [activation] * (len(weights) - 1) + [output]
    V = [X]
    Z = []
    for W, b, name in zip(weights, biases, names):
        Z.append(V[-1] @ W.T + b)  # (1)
        V.append(apply_activation(name, Z[-1]))
    value, delta = _output_delta(loss, output, V[-1], Y, Z[-1])
    n = len(X)
    deltas = [delta]
    for W, z, name in zip(weights[:0:-1], Z[-2::-1], names[-2::-1]):
        deltas.append(activation_slope(name, z) * (deltas[-1] @ W))  # (2)
    deltas.reverse()
    dW = [d.T @ v / n for d, v in zip(deltas, V)]  # (3)
    db = [d.mean(0) for d in deltas]
    if single:
        Z, V, deltas = ([a[0] for a in parts] for parts in (Z, V, deltas))
    return BackwardPass(Z, V, value, deltas, dW, db)


def _check_shapes(weights, biases, X, Y) -> None:
    """Raise if layers do not fit each other, the input or the target."""
    width = X.shape[1]
    for i, (W, b) in enumerate(zip(weights, biases, strict=True), 1):
        if W.shape[1] != width or b.shape != (len(W),):
            raise ValueError(
                f"layer {i} takes {W.shape[1]} inputs and has {len(b)} biases; it "
                f"should take {width} and have {len(W)}."
            )
        width = len(W)
    if Y.shape[1] != width:
        raise ValueError(f"y has {Y.shape[1]} numbers, but there are {width} outputs.")


def apply_activation(name, Z) -> np.ndarray:
    """g(z) by name; "softmax" works on rows."""
    if name == "softmax":
        return torch.as_tensor(Z).softmax(-1).numpy()
    return UNITS[name].value(torch.as_tensor(Z)).numpy()


def activation_slope(name, Z) -> np.ndarray:
    """g'(z) by name."""
    return UNITS[name].slope(torch.as_tensor(Z)).numpy()


def _output_delta(loss, output, F, Y, Z):
    """The mean loss, and delta_L of eq. (2)."""
    if loss == "cross_entropy":
        if output == "softmax":
            value = -(Y * np.log(F)).sum(1)
        elif output == "logistic":
            value = (np.logaddexp(0, Z) - Y * Z).sum(1)
        else:
            raise ValueError('cross_entropy needs output="logistic" or "softmax".')
        return float(value.mean()), F - Y
    if loss not in ("squared", "half_squared"):
        raise ValueError(
            f'loss must be "squared", "half_squared" or "cross_entropy", got {loss!r}.'
        )
    if output == "softmax":
        raise ValueError('output="softmax" needs loss="cross_entropy".')
    factor = 1.0 if loss == "squared" else 0.5
    D = F - Y
    value = float(factor * (D**2).sum(1).mean())
    return value, 2 * factor * D * activation_slope(output, Z)

"""MLPs of agents: initial weights, and NumPy's way through them for a few rows."""

from itertools import pairwise
from typing import Any

import numpy as np

from ...nn.layers.init import draw_matrix
from ...nn.nets.mlp import MLP


def orthogonal_mlp(sizes, rng, *, activation, last_gain) -> MLP:
    """An MLP with orthogonal matrices: gain sqrt 2, at the output `last_gain`."""
    coefs = []
    for m, k in pairwise(sizes):
        gain = 2**0.5 if len(coefs) < len(sizes) - 2 else last_gain
        coefs.append(gain * draw_matrix("orthogonal", m, k, rng).astype(np.float32))
    intercepts = [np.zeros(k, np.float32) for k in sizes[1:]]
    return MLP(coefs, intercepts, activation=activation, head="identity")


def he_mlp(sizes, rng, activation) -> MLP:
    """An MLP with He's weights, the last layer a tenth of them."""
    coefs = [
        draw_matrix("he_uniform", m, k, rng).astype(np.float32)
        for m, k in pairwise(sizes)
    ]
    coefs[-1] *= 0.1
    intercepts = [np.zeros(k, np.float32) for k in sizes[1:]]
    return MLP(coefs, intercepts, activation=activation, head="identity")


def fan_in_mlp(sizes, rng, activation) -> MLP:
    """An MLP with weights and biases even in +-1 / sqrt(inputs), as torch's layers."""
    coefs, intercepts = [], []
    for m, k in pairwise(sizes):
        bound = m**-0.5
        coefs.append(rng.uniform(-bound, bound, (m, k)).astype(np.float32))
        intercepts.append(rng.uniform(-bound, bound, k).astype(np.float32))
    return MLP(coefs, intercepts, activation=activation, head="identity")


def numpy_layers(mlp: MLP) -> list[tuple[np.ndarray, np.ndarray]]:
    """Matrices and biases of an MLP on the CPU as arrays of the same memory."""
    return [(W.detach().numpy(), b.detach().numpy()) for W, b in mlp.layers]


NUMPY_ACTIVATIONS: dict[str, Any] = {
    "tanh": lambda H: np.tanh(H, out=H),
    "relu": lambda H: np.maximum(H, 0.0, out=H),
}


def numpy_forward(layers, activation, X) -> np.ndarray:
    """Outputs of an MLP for a few rows: NumPy's calls take a third of torch's time."""
    act = NUMPY_ACTIVATIONS[activation]
    H = X
    *hidden, (W, b) = layers
    for V, c in hidden:
        H = H @ V
        H += c
        act(H)
    F = H @ W
    F += b
    return F

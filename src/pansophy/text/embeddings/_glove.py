"""Compiled loop of GloVe."""

from typing import NamedTuple

import numpy as np

from ...core.loops.compiled import FASTMATH, compiled


class GloVeVectors(NamedTuple):
    """Vectors and biases of words and of contexts."""

    U: np.ndarray  # (V, d)
    V: np.ndarray
    b: np.ndarray  # (V,)
    c: np.ndarray


@compiled(fastmath=FASTMATH)
def glove_epoch(rows, columns, logs, weights, order, model, squares, rate):
    """AdaGrad steps over pairs in this order; the sum of the weighted squares.

    `squares` are the sums of squared gradients of all of `model`, which both change.
    """
    d = model.U.shape[1]
    eta = np.float32(rate)
    total = 0.0
    for p in order:
        i = rows[p]
        j = columns[p]
        f = model.b[i] + model.c[j]
        for k in range(d):
            f += model.U[i, k] * model.V[j, k]
        error = f - logs[p]
        g = weights[p] * error
        total += 0.5 * g * error
        for k in range(d):
            gu = g * model.V[j, k]
            gv = g * model.U[i, k]
            squares.U[i, k] += gu * gu
            squares.V[j, k] += gv * gv
            model.U[i, k] -= eta * gu / np.sqrt(squares.U[i, k])
            model.V[j, k] -= eta * gv / np.sqrt(squares.V[j, k])
        squares.b[i] += g * g
        squares.c[j] += g * g
        model.b[i] -= eta * g / np.sqrt(squares.b[i])
        model.c[j] -= eta * g / np.sqrt(squares.c[j])
    return total

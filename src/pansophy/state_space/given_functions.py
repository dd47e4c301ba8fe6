"""Functions of one state, given by users, as functions of many states and the step.

Shapes    Z (m, k)   inputs (n, l)
"""

from math import isfinite

import numpy as np


def over_rows(g, inputs, batched, size, name):
    """g as a function of states (m, k) and the step, whose numbers are checked."""

    def rows(Z, t):
        u = () if inputs is None else (inputs[t],)
        if batched:
            Y = np.asarray(g(Z, *u), dtype=float)
        elif len(Z) == 1:
            Y = np.array(g(Z[0], *u), dtype=float).reshape(1, -1)
        else:
            Y = np.array([g(z, *u) for z in Z], dtype=float).reshape(len(Z), -1)
        if Y.shape != (len(Z), size):
            raise ValueError(f"{name} must give {size} numbers, got {Y.shape[1:]}.")
        if not isfinite(np.add.reduce(Y, axis=None)):
            raise ValueError(f"{name} gave numbers that are not finite at step {t}.")
        return Y

    return rows


def jacobian_of(J, inputs):
    """A derivative as a function of one state and the step."""
    if J is None:
        return None

    def slope(z, t):
        G = J(z) if inputs is None else J(z, inputs[t])
        G = np.ascontiguousarray(G, dtype=float)
        return G if G.ndim > 1 else G.reshape(1, -1)

    return slope

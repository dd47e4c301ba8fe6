"""Loops of sequential minimal optimisation on a working set; see `smo.py`."""

import numpy as np

from ..core.compiled import compiled


@compiled
def optimize_pairs(K, y, C, a, g, tol, n_steps):
    """Pair steps on the working set, in place; returns their number.

    K is the kernel matrix of the set, g the gradient of eq. (1) at a. Stops when the
    largest violation, eq. (3), is at most tol.
    """
    k = a.shape[0]
    tiny = 1e-12
    for step in range(n_steps):
        i = -1
        top = -np.inf
        for t in range(k):
            f = -y[t] * g[t]
            if f > top and ((y[t] > 0 and a[t] < C[t]) or (y[t] < 0 and a[t] > 0)):
                i = t
                top = f
        j = -1
        low = np.inf
        gain = 0.0
        if i < 0:
            return step
        for t in range(k):
            if (y[t] > 0 and a[t] > 0) or (y[t] < 0 and a[t] < C[t]):
                f = -y[t] * g[t]
                low = min(low, f)
                b = top - f
                if b > 0:
                    q = max(K[i, i] + K[t, t] - 2 * K[i, t], tiny)
                    if b * b / q > gain:  # second-order choice, eq. (4)
                        j = t
                        gain = b * b / q
        if j < 0 or top - low <= tol:
            return step
        q = max(K[i, i] + K[j, j] - 2 * K[i, j], tiny)
        move = (top + y[j] * g[j]) / q
        slack_i = C[i] - a[i] if y[i] > 0 else a[i]
        slack_j = a[j] if y[j] > 0 else C[j] - a[j]
        full = min(slack_i, slack_j)
        if move >= full:
            move = full
        # land on a bound exactly where the move ends there
        if move == slack_i:
            a[i] = C[i] if y[i] > 0 else 0.0
        else:
            a[i] += y[i] * move
        if move == slack_j:
            a[j] = 0.0 if y[j] > 0 else C[j]
        else:
            a[j] -= y[j] * move
        for t in range(k):
            g[t] += y[t] * move * (K[t, i] - K[t, j])
    return n_steps

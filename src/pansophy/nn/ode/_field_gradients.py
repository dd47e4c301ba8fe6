"""Compiled stages of a Runge-Kutta step of a perceptron; see `field_gradients`.

The inputs [H; 1; t] of all layers and stages of a step lie in one vector X: those of
layer l begin at s n (rows of the layers before), stage after stage.
"""

import numpy as np

from ...core.loops.compiled import FASTMATH, compiled
from ..nets._compiled_mlp import activate_values, slope_times


@compiled(inner=True, fastmath=FASTMATH)
def _add_multiple(total, factor, x):
    """total += factor x."""
    for q in range(len(x)):
        total[q] += factor * x[q]


@compiled(inner=True)
def _copy_values(x, out):
    for q in range(len(x)):
        out[q] = x[q]


@compiled(inner=True, refcount=True)
def _layer_inputs(field, X, n, s, layer, i):
    """The rows [H; 1; t] of a layer at stage i, as one vector."""
    rows_before = 0
    for j in range(layer):
        rows_before += field.rows[j]
    length = field.rows[layer] * n
    begin = s * n * rows_before + i * length
    return X[begin : begin + length]


@compiled(inner=True, refcount=True)
def _perceptron_stage(field, time, X, n, s, i, out):
    """f(time, y) into `out`, for the y that stands in the inputs of layer 0."""
    n_layers = len(field.rows)
    for layer in range(n_layers):
        m, k, rows = field.sizes[layer], field.sizes[layer + 1], field.rows[layer]
        inputs = _layer_inputs(field, X, n, s, layer, i)
        inputs[m * n : (m + 1) * n] = np.float32(1.0)
        if rows == m + 2:
            inputs[(m + 1) * n :] = np.float32(time)
        begin = field.places[layer]
        W = field.w[begin : begin + k * rows].reshape(k, rows)
        if layer == n_layers - 1:
            np.dot(W, inputs.reshape(rows, n), out.reshape(k, n))
        else:
            Z = _layer_inputs(field, X, n, s, layer + 1, i)[: k * n]
            np.dot(W, inputs.reshape(rows, n), Z.reshape(k, n))
            activate_values(Z, field.rectified)


@compiled
def evaluate_perceptron(field, time, y, X, s, i, out):
    """f(time, y) into `out`, in the place of stage i."""
    d = field.sizes[0]
    n = len(y) // d
    _copy_values(y, _layer_inputs(field, X, n, s, 0, i))
    _perceptron_stage(field, time, X, n, s, i, out)


@compiled
def explicit_stages(field, steps, time, h, y, begin, X, K, y1, last):
    """Fill K, y_1 and the last k, eq. (1); the norm of the error over the tolerance."""
    d = field.sizes[0]
    n = len(y) // d
    s = len(steps.c)
    for i in range(begin, s):
        inputs = _layer_inputs(field, X, n, s, 0, i)[: d * n]
        _copy_values(y, inputs)
        for j in range(i):
            if steps.a[i, j] != 0.0:
                _add_multiple(inputs, np.float32(h * steps.a[i, j]), K[j])
        _perceptron_stage(field, time + steps.c[i] * h, X, n, s, i, K[i])
    _copy_values(K[s - 1], last)
    _copy_values(y, y1)
    for j in range(s):
        if steps.a[s, j] != 0.0:
            _add_multiple(y1, np.float32(h * steps.a[s, j]), K[j])
    if not steps.adaptive:
        return 0.0
    return _error_ratio(steps, h, y, y1, K)


@compiled(inner=True, fastmath=FASTMATH)
def _error_ratio(steps, h, y, y1, K):
    """Root mean square of error / (atol + rtol max(|y|, |y_1|))."""
    error = steps.scratch
    error[:] = np.float32(0.0)
    for j in range(len(steps.c)):
        _add_multiple(error, np.float32(h * steps.error[j]), K[j])
    rtol, atol = np.float32(steps.rtol), np.float32(steps.atol)
    total = np.float32(0.0)
    for q in range(len(y)):
        ratio = error[q] / (atol + rtol * max(abs(y[q]), abs(y1[q])))
        total += ratio * ratio
    return np.sqrt(total / len(y))


@compiled(fastmath=FASTMATH)
def scaled_norm(x, y, steps):
    """Root mean square of x / (atol + rtol |y|)."""
    rtol, atol = np.float32(steps.rtol), np.float32(steps.atol)
    total = np.float32(0.0)
    for q in range(len(x)):
        ratio = x[q] / (atol + rtol * abs(y[q]))
        total += ratio * ratio
    return np.sqrt(total / len(x))


@compiled(inner=True, refcount=True)
def _perceptron_stage_backward(field, X, n, s, i, kbar, work, sums, out):
    """(df/dy)' k_i' into `out`; the derivatives in the weights are added to `sums`."""
    D = kbar
    spare, other_spare = work.first, work.second
    for layer in range(len(field.rows) - 1, -1, -1):
        m, k, rows = field.sizes[layer], field.sizes[layer + 1], field.rows[layer]
        inputs = _layer_inputs(field, X, n, s, layer, i)
        part = work.product[: k * rows]
        np.dot(
            D[: k * n].reshape(k, n), inputs.reshape(rows, n).T, part.reshape(k, rows)
        )
        begin = field.places[layer]
        _add_multiple(sums[begin : begin + k * rows], np.float32(1.0), part)
        begin = field.back_places[layer]
        W = field.back[begin : begin + m * k].reshape(m, k)
        if layer == 0:
            np.dot(W, D[: k * n].reshape(k, n), out.reshape(m, n))
        else:
            G = spare[: m * n].reshape(m, n)
            np.dot(W, D[: k * n].reshape(k, n), G)
            slope_times(G, inputs[: m * n].reshape(m, n), field.rectified)
            D, spare, other_spare = spare, other_spare, spare


@compiled
def explicit_stages_backward(field, steps, h, begin, X, Kbar, ybar, work, sums):
    """Eq. (2) for one step: y' in place of y_1' in `ybar`, k_1' in Kbar[0].

    Kbar holds what the outputs inside the step and the next step add to k_i'.
    """
    n = len(ybar) // field.sizes[0]
    s = len(steps.c)
    Ybar = work.Ybar
    last = s - 1 if steps.reuses_last else s
    _copy_values(ybar, Ybar[last])
    if steps.reuses_last:
        ybar_last = Ybar[s]
        _perceptron_stage_backward(
            field, X, n, s, last, Kbar[last], work, sums, ybar_last
        )
        _add_multiple(Ybar[last], np.float32(1.0), ybar_last)
    for i in range(last - 1, -1, -1):
        for j in range(i + 1, last + 1):
            if steps.a[j, i] != 0.0:
                _add_multiple(Kbar[i], np.float32(h * steps.a[j, i]), Ybar[j])
        if i >= begin:
            _perceptron_stage_backward(field, X, n, s, i, Kbar[i], work, sums, Ybar[i])
    _copy_values(Ybar[last], ybar)
    for i in range(begin, last):
        _add_multiple(ybar, np.float32(1.0), Ybar[i])

"""Compiled passes of the pocket and the multi-class perceptron.

Rows come as in `linear_model/sgd/_sgd.py`; `perceptron.py` has the mathematics.
"""

import math

from ...core.loops.compiled import compiled
from ..sgd._sgd import add_row, add_row_to_average, prefetch_row, row_dot

PREFETCH_DISTANCE = 8  # rows


@compiled
def is_right(y, f, zero):
    """Whether a score f has the sign y; a score of 0 has the sign `zero`."""
    return y * f > 0 or (f == 0 and y == zero)


@compiled
def weight_of_errors(X, indices, indptr, order, y, v, w, b, zero):
    """Weight of the rows on the wrong side of (w, b), or on it."""
    total = 0.0
    for k in range(order.size):
        i = order[k]
        if not is_right(y[i], row_dot(X, indices, indptr, i, w) + b, zero):
            total += v[i] if v.size else 1.0
    return total


@compiled
def pocket_pass(rows, order, y, v, eta, intercept, zero, w, b, kept, z):
    """A pass for two classes, in place; returns the mistakes.

    A score of 0 has the sign `zero`. `kept` is the pocket, without entries for none;
    z (4,) holds its intercept, its errors, its run of rows without a mistake, and the
    current run.
    """
    X, indices, indptr = rows
    wrong = 0
    run = z[3]
    last = order.size - 1
    for k in range(order.size):
        i = order[k]
        prefetch_row(X, indices, indptr, order[min(k + PREFETCH_DISTANCE, last)])
        step = eta * y[i] * (v[i] if v.size else 1.0)
        f = row_dot(X, indices, indptr, i, w) + b[0]
        good = step == 0 or is_right(y[i], f, zero)
        run += good
        if kept.size and (not good or k == last) and run > z[2]:
            z[2] = run  # has stood longer than the one kept: is it better, too?
            result = weight_of_errors(X, indices, indptr, order, y, v, w, b[0], zero)
            if result < z[1]:
                kept[:] = w
                z[0] = b[0]
                z[1] = result
        if not good:
            add_row(X, indices, indptr, i, step, w)
            if intercept:
                b[0] += step
            wrong += 1
            run = 0
    z[3] = run
    return wrong


@compiled
def strongest_rival(X, indices, indptr, i, label, W, b):
    """The best-scored class other than `label` on row i, and the margin over it."""
    score = row_dot(X, indices, indptr, i, W[label]) + b[label]
    best = -1
    high = -math.inf
    for c in range(W.shape[0]):
        if c != label:
            f = row_dot(X, indices, indptr, i, W[c]) + b[c]
            if f > high:
                best, high = c, f
    return best, score - high


@compiled
def multiclass_weight_of_errors(rows, order, codes, v, W, b):
    """Weight of the rows whose own class does not have the single best score."""
    X, indices, indptr = rows
    total = 0.0
    for k in range(order.size):
        i = order[k]
        if strongest_rival(X, indices, indptr, i, codes[i], W, b)[1] <= 0:
            total += v[i] if v.size else 1.0
    return total


@compiled
def multiclass_pass(rows, order, codes, v, eta, intercept, W, b, past, past_b, t):
    """A pass for several classes, in place; returns the mistakes.

    `past` and `past_b` collect what the averages of W and b need.
    """
    X, indices, indptr = rows
    wrong = 0
    for k in range(order.size):
        i = order[k]
        own = codes[i]
        other, margin = strongest_rival(X, indices, indptr, i, own, W, b)
        step = eta * (v[i] if v.size else 1.0)
        if margin <= 0 and step != 0:
            wrong += 1
            for c, change in ((own, step), (other, -step)):
                if past.size:
                    add_row_to_average(X, indices, indptr, i, change, W[c], past[c], t)
                    past_b[c] += t * change if intercept else 0.0
                else:
                    add_row(X, indices, indptr, i, change, W[c])
                if intercept:
                    b[c] += change
        t += 1
    return wrong

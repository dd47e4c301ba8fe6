"""Compiled passes of stochastic gradient descent; `sgd.py` has the mathematics.

Rows come as `sgd.RowArrays`. The small functions take its three arrays apart, since
dense and CSR loops are compiled separately by the dimension of X: a test at run time
costs more than a short row. A pass changes its model in place: the coefficients u, the
scalars z at the places named in `sgd.py`, and what penalty (`paid`), average (`past`)
and step rule (`first`, `second`) remember. Within a pass the coefficients are w = s u,
so that an L2 step is one product; the L1 penalty owed and paid is in units of u.
Between passes s is 1.
"""

import math

import numpy as np

from ...core.loops._intrinsics import prefetch
from ...core.loops.compiled import FASTMATH, compiled
from ...losses._pointwise import loss_gradient, loss_value, sign_of
from .sgd import (
    ADAGRAD,
    INTERCEPT,
    INTERCEPT_SUM,
    INVSCALING,
    L1_OWED,
    MOMENTUM,
    N_AVERAGED,
    N_MOVES,
    NESTEROV,
    OPTIMAL,
    PA1,
    PA2,
    RMSPROP,
    SCALE_SUM,
    STEP_SIZE,
    UPDATE,
)

MAX_GRADIENT = 1e12  # loss gradients are clipped here, as in scikit-learn
# rows that are prefetched ahead, cache lines of each, entries of a line
AHEAD, LINES, LINE = 8, 8, 8
SMALLEST_SCALE = 1e-9  # below this s is multiplied into u


@compiled
def prefetch_row(X, indices, indptr, i):
    """Prefetch the first cache lines of row i, as rows are read in random order."""
    if X.ndim == 2:
        d = X.shape[1]
        for j in range(0, min(d, LINES * LINE), LINE):
            prefetch(X, i * d + j)
    else:
        for k in range(indptr[i], min(indptr[i] + LINES * LINE, indptr[i + 1]), LINE):
            prefetch(X, k)
            prefetch(indices, k)


@compiled
def shuffle_order(order, seed):
    """Shuffle `order` in place (Fisher-Yates with xorshift)."""
    x = np.uint64(seed) | np.uint64(1)
    for i in range(order.size - 1, 0, -1):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        high = x >> np.uint64(32)
        j = np.int64((high * np.uint64(i + 1)) >> np.uint64(32))
        order[i], order[j] = order[j], order[i]


@compiled(fastmath=FASTMATH)
def row_dot(X, indices, indptr, i, u):
    """u . x_i."""
    total = u.dtype.type(0)
    if X.ndim == 2:
        for j in range(u.size):
            total += u[j] * X[i, j]
    else:
        for k in range(indptr[i], indptr[i + 1]):
            total += u[indices[k]] * X[k]
    return total


@compiled(fastmath=FASTMATH)
def add_row(X, indices, indptr, i, c, u):
    """u += c x_i."""
    c = u.dtype.type(c)
    if X.ndim == 2:
        for j in range(u.size):
            u[j] += c * X[i, j]
    else:
        for k in range(indptr[i], indptr[i + 1]):
            u[indices[k]] += c * X[k]


@compiled(fastmath=FASTMATH)
def squared_row_norm(X, indptr, i):
    """|x_i|^2."""
    total = 0.0
    if X.ndim == 2:
        for j in range(X.shape[1]):
            total += X[i, j] * X[i, j]
    else:
        for k in range(indptr[i], indptr[i + 1]):
            total += X[k] * X[k]
    return total


@compiled(fastmath=FASTMATH)
def add_row_to_average(X, indices, indptr, i, c, u, past, q):
    """u += c x_i, and `past` gets q times what changed."""
    c = u.dtype.type(c)
    if X.ndim == 2:
        for j in range(u.size):
            old = u[j]
            new = old + c * X[i, j]
            u[j] = new
            past[j] += q * (new - old)
    else:
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            old = u[j]
            u[j] = old + c * X[k]
            past[j] += q * (u[j] - old)


@compiled(fastmath=FASTMATH)
def apply_l1_debt(u, paid, owed, past, q):
    """Apply the L1 penalty owed to every u_j."""
    owed, zero = u.dtype.type(owed), u.dtype.type(0)
    for j in range(u.size):
        old = u[j]
        down = max(old - (owed + paid[j]), zero)
        up = min(old + (owed - paid[j]), zero)
        new = down if old > 0 else up
        u[j] = new
        paid[j] += new - old
        if past.size:
            past[j] += q * (new - old)


@compiled
def apply_l1_debt_of_row(X, indices, indptr, i, u, paid, owed):
    """Apply the L1 penalty owed to the columns of a sparse row."""
    if X.ndim == 1:
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            old = u[j]
            if old > 0:
                u[j] = max(old - (owed + paid[j]), 0.0)
            else:
                u[j] = min(old + (owed - paid[j]), 0.0)
            paid[j] += u[j] - old


@compiled
def fold_scale(u, paid, past, s, owed, q):
    """Multiply s into u, so that s = 1; returns the penalty owed and q in new units."""
    if s == 0.0 and past.size:
        for j in range(u.size):
            past[j] -= q * u[j]
    for j in range(u.size):
        u[j] *= s
    for j in range(paid.size):
        paid[j] *= s
    return owed * s, (q / s if s > 0 else 0.0)


@compiled
def step_size_at(rule, t, eta):
    """The step size at update t = 1, 2, ..."""
    if rule.step == OPTIMAL:
        return 1.0 / (rule.alpha * (rule.t0 + t - 1))
    if rule.step == INVSCALING:
        return rule.eta0 / t**rule.power
    return eta


@compiled
def clipped_loss_gradient(rule, y, f):
    """dl/df, clipped to MAX_GRADIENT."""
    return min(
        max(loss_gradient(rule.loss, y, f, rule.loss_parameter), -MAX_GRADIENT),
        MAX_GRADIENT,
    )


@compiled
def passive_aggressive_step(rule, size, loss, y, f, y_is_sign):
    """Signed length of a passive-aggressive step along a row of squared norm `size`."""
    if rule.step == PA1:
        step = min(rule.eta0, loss / size) if size > 0 else 0.0
    else:
        step = loss / (size + 0.5 / rule.eta0)
    return step * (y if y_is_sign else sign_of(y - f))


@compiled
def pass_objective(rule, losses, weights, w, b):
    """Mean loss plus penalty; nan if a coefficient has overflowed."""
    size = abs(b)
    square = 0.0
    for j in range(w.size):
        size += abs(w[j])
        square += w[j] * w[j]
    if not math.isfinite(size):
        return math.nan
    mean = losses / weights if weights > 0 else 0.0
    return mean + rule.l1 * (size - abs(b)) + rule.l2 / 2 * square


@compiled
def single_row_pass(rows, order, y, v, factors, y_is_sign, rule, u, paid, past, z):
    """One pass with an update per row; returns eq. (1) with the losses on the way."""
    X, indices, indptr = rows
    l1, averaging = rule.l1 > 0, past.size > 0
    aggressive = rule.step == PA1 or rule.step == PA2
    s = 1.0
    b = z[INTERCEPT]
    t = z[UPDATE]
    eta = z[STEP_SIZE]
    owed = z[L1_OWED]
    q = z[SCALE_SUM]
    losses = weights = 0.0
    wrong = count = 0
    for k in range(order.size):
        i = order[k]
        prefetch_row(X, indices, indptr, order[min(k + AHEAD, order.size - 1)])
        if l1 and not averaging:  # else all is paid at the end of each update
            if X.ndim == 2:
                apply_l1_debt(u, paid, owed, past, q)
            else:
                apply_l1_debt_of_row(X, indices, indptr, i, u, paid, owed)
        yi = y[i]
        f = s * row_dot(X, indices, indptr, i, u) + b
        weight = factors[1] if yi > 0 else factors[0]
        if v.size:
            weight *= v[i]
        loss = loss_value(rule.loss, yi, f, rule.loss_parameter)
        losses += weight * loss
        weights += weight
        eta = step_size_at(rule, t, eta)
        if rule.curvature_bound > 0:
            eta = min(
                eta, 1 / (rule.curvature_bound * (1 + squared_row_norm(X, indptr, i)))
            )
        if aggressive:
            step = weight * passive_aggressive_step(
                rule, squared_row_norm(X, indptr, i), loss, yi, f, y_is_sign
            )
        else:
            step = -eta * weight * clipped_loss_gradient(rule, yi, f)
        s *= max(0.0, 1.0 - eta * rule.l2)
        if s < SMALLEST_SCALE:
            owed, q = fold_scale(u, paid, past, s, owed, q)
            s = 1.0
        if step != 0.0:
            wrong += 1
            if averaging:
                add_row_to_average(X, indices, indptr, i, step / s, u, past, q)
            else:
                add_row(X, indices, indptr, i, step / s, u)
            if rule.intercept:
                b += step
        owed += eta * rule.l1 / s
        if l1 and averaging:  # the average is of coefficients that have paid
            apply_l1_debt(u, paid, owed, past, q)
        if averaging and t >= rule.average:
            q += s
            z[INTERCEPT_SUM] += b
            count += 1
        t += 1
    if l1:
        apply_l1_debt(u, paid, owed, past, q)
    z[L1_OWED], z[SCALE_SUM] = fold_scale(u, paid, past, s, owed, q)
    z[INTERCEPT], z[UPDATE], z[STEP_SIZE] = b, t, eta
    z[N_AVERAGED] += count
    z[N_MOVES] += wrong
    return pass_objective(rule, losses, weights, u, b)


@compiled
def adaptive_direction(rule, g, j, t, first, second):
    """Direction of the step rule for gradient entry g, and the divisor of its step."""
    mu = rule.momentum
    if rule.step == MOMENTUM or rule.step == NESTEROV:
        first[j] = mu * first[j] + g
        out = first[j] if rule.step == MOMENTUM else g + mu * first[j]
        return out, 1.0 - mu
    if rule.step == ADAGRAD:
        second[j] += g * g
        size = math.sqrt(second[j]) + 1e-8
        return g / size, size
    if rule.step == RMSPROP:
        second[j] = 0.9 * second[j] + 0.1 * g * g
        size = math.sqrt(second[j]) + 1e-8
        return g / size, size
    first[j] = 0.9 * first[j] + 0.1 * g
    second[j] = 0.999 * second[j] + 0.001 * g * g
    size = math.sqrt(second[j] / (1 - 0.999**t)) + 1e-8
    return first[j] / (1 - 0.9**t) / size, size


@compiled
def gradient_step(rule, G, gb, eta, u, paid, past, first, second, z):
    """One step of u and b against the gradient (G, gb); s is 1 here."""
    d = u.size
    t = z[UPDATE]
    q = z[SCALE_SUM]
    plain = rule.step < PA1
    shrink = max(0.0, 1.0 - eta * rule.l2)
    for j in range(d):
        old = u[j]
        if plain:
            u[j] = shrink * old - eta * G[j]
        else:
            out, size = adaptive_direction(
                rule, G[j] + rule.l2 * old, j, t, first, second
            )
            new = old - eta * out
            u[j] = sign_of(new) * max(0.0, abs(new) - eta * rule.l1 / size)
        if past.size:
            past[j] += q * (u[j] - old)
    if plain and rule.l1 > 0:
        z[L1_OWED] += eta * rule.l1
        apply_l1_debt(u, paid, z[L1_OWED], past, q)
    if rule.intercept:
        if plain:
            z[INTERCEPT] -= eta * gb
        else:
            z[INTERCEPT] -= eta * adaptive_direction(rule, gb, d, t, first, second)[0]


@compiled
def minibatch_pass(rows, order, y, v, factors, rule, u, paid, past, first, second, z):
    """One pass with an update per batch along its mean gradient; returns eq. (1)."""
    X, indices, indptr = rows
    G = np.zeros(u.size)
    losses = weights = 0.0
    for head in range(0, order.size, rule.batch_size):
        tail = min(head + rule.batch_size, order.size)
        G[:] = 0.0
        gb = size = 0.0
        for k in range(head, tail):
            i = order[k]
            f = row_dot(X, indices, indptr, i, u) + z[INTERCEPT]
            weight = factors[1] if y[i] > 0 else factors[0]
            if v.size:
                weight *= v[i]
            losses += weight * loss_value(rule.loss, y[i], f, rule.loss_parameter)
            weights += weight
            if rule.curvature_bound > 0:
                size = max(size, squared_row_norm(X, indptr, i))
            g = weight * clipped_loss_gradient(rule, y[i], f) / (tail - head)
            if g != 0.0:
                z[N_MOVES] += 1
                add_row(X, indices, indptr, i, g, G)
                gb += g
        z[STEP_SIZE] = step_size_at(rule, z[UPDATE], z[STEP_SIZE])
        if rule.curvature_bound > 0:
            z[STEP_SIZE] = min(z[STEP_SIZE], 1 / (rule.curvature_bound * (1 + size)))
        gradient_step(rule, G, gb, z[STEP_SIZE], u, paid, past, first, second, z)
        if past.size and z[UPDATE] >= rule.average:
            z[SCALE_SUM] += 1.0
            z[INTERCEPT_SUM] += z[INTERCEPT]
            z[N_AVERAGED] += 1
        z[UPDATE] += 1
    return pass_objective(rule, losses, weights, u, z[INTERCEPT])

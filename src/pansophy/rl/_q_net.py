"""Compiled step of a Q net: targets, Huber loss, gradient and Adam in one call."""

import numpy as np

from ..core.compiled import FASTMATH_FUSED, compiled
from ..nn._compiled_mlp import adam_step, mlp_backward, mlp_forward


@compiled(inner=True, fastmath=FASTMATH_FUSED)
def combine_row(scores, duelling, f):
    """Q of all actions from the outputs of the net for a row, eq. (1)."""
    A = len(f)
    if not duelling:
        for a in range(A):
            f[a] = scores[a]
        return
    mean = np.float32(0.0)
    for a in range(A):
        mean += scores[a + 1]
    mean /= np.float32(A)
    for a in range(A):
        f[a] = scores[0] + scores[a + 1] - mean


@compiled(inner=True)
def allowed_argmax(f, allowed):
    """The first best action, of those that are allowed if `allowed` is not empty."""
    best = -1
    for a in range(len(f)):
        if len(allowed) and not allowed[a]:
            continue
        if best < 0 or f[a] > f[best]:
            best = a
    return max(best, 0)


@compiled(inner=True, refcount=True)
def q_targets(older, net, layers, options, batch, work, y):
    """R + discount Q'(x', best action) of each row, eqs. (1) and (2) of `dqn`."""
    n = len(y)
    f = work.f
    F = mlp_forward(older, layers, batch.after, work.H)
    for i in range(n):
        combine_row(F[i], options.duelling, f)
        y[i] = f[allowed_argmax(f, batch.after_mask[i])]
    if options.double:
        for i in range(n):  # values of all actions, while the chooser's are computed
            combine_row(F[i], options.duelling, work.older[i])
        F = mlp_forward(net.w, layers, batch.after, work.H)
        for i in range(n):
            combine_row(F[i], options.duelling, f)
            y[i] = work.older[i, allowed_argmax(f, batch.after_mask[i])]
    for i in range(n):
        y[i] = batch.reward[i] + batch.discount[i] * y[i]


@compiled
def q_learning_step(older, net, layers, options, batch, work):
    """One step along the weighted Huber loss; its mean, and errors in `work.error`."""
    n = len(batch.X)
    y = work.y
    q_targets(older, net, layers, options, batch, work, y)
    F = mlp_forward(net.w, layers, batch.X, work.H)
    k = F.shape[1]
    A = len(work.f)
    D = work.D[: n * k].reshape(n, k)
    D[:] = np.float32(0.0)
    total = 0.0
    for i in range(n):
        combine_row(F[i], options.duelling, work.f)
        a = batch.action[i]
        u = work.f[a] - y[i]
        slope = min(max(u, np.float32(-1.0)), np.float32(1.0))
        work.error[i] = abs(u)
        total += batch.weight[i] * slope * (u - np.float32(0.5) * slope)
        d = np.float32(slope * batch.weight[i] / n)
        if options.duelling:
            D[i, 0] = d
            for b in range(A):
                D[i, b + 1] = -d / np.float32(A)
            D[i, a + 1] += d
        else:
            D[i, a] = d
    mlp_backward(net.w, net.g, layers, batch.X, work.H, work.D, work.spare)
    adam_step(net, options.learning_rate)
    return total / n

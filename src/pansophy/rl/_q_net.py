"""Compiled steps of a Q net: targets, Huber loss, gradient and Adam in one call."""

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
def target_values(older, layers, options, X, work):
    """Q' of all actions after each row, into `work.older`."""
    F = mlp_forward(older, layers, X, work.H)
    for i in range(len(X)):
        combine_row(F[i], options.duelling, work.older[i])


@compiled(inner=True, refcount=True)
def targets_of_batch(net, layers, options, rows, lo, Q, work):
    """R + discount Q'(x', best action) of a batch, eqs. (1) and (2) of `dqn`.

    The batch begins at row `lo`; Q (n, A) holds its values by the target net.
    """
    n = options.n_rows
    y = work.y
    F = Q
    if options.double:
        F = mlp_forward(net.w, layers, rows.after[lo : lo + n], work.H)
    for i in range(n):
        combine_row(F[i], options.double and options.duelling, work.f)
        best = allowed_argmax(work.f, rows.after_mask[lo + i])
        y[i] = rows.reward[lo + i] + rows.discount[lo + i] * Q[i, best]


@compiled
def q_learning_updates(older, net, layers, options, rows, work, error):
    """A step along the weighted Huber loss for each `n_rows` rows; the sum of losses.

    The target net does not change meanwhile, so its values are computed for
    `n_target_rows` rows at once: larger products are faster.
    """
    n = options.n_rows
    A = len(work.f)
    losses = 0.0
    for group in range(0, len(rows.X), options.n_target_rows):
        end = min(group + options.n_target_rows, len(rows.X))
        target_values(older, layers, options, rows.after[group:end], work)
        for lo in range(group, end, n):
            Q = work.older[lo - group : lo - group + n]
            targets_of_batch(net, layers, options, rows, lo, Q, work)
            X = rows.X[lo : lo + n]
            F = mlp_forward(net.w, layers, X, work.H)
            k = F.shape[1]
            D = work.D[: n * k].reshape(n, k)
            D[:] = np.float32(0.0)
            total = 0.0
            for i in range(n):
                combine_row(F[i], options.duelling, work.f)
                a = rows.action[lo + i]
                u = work.f[a] - work.y[i]
                slope = min(max(u, np.float32(-1.0)), np.float32(1.0))
                error[lo + i] = abs(u)
                weight = rows.weight[lo + i]
                total += weight * slope * (u - np.float32(0.5) * slope)
                d = np.float32(slope * weight / n)
                if options.duelling:
                    D[i, 0] = d
                    for b in range(A):
                        D[i, b + 1] = -d / np.float32(A)
                    D[i, a + 1] += d
                else:
                    D[i, a] = d
            mlp_backward(net.w, net.g, layers, X, work.H, work.D, work.spare)
            adam_step(net, options.learning_rate)
            losses += total / n
    return losses

"""Compiled steps of a Q net: targets, Huber loss, gradient and Adam in one call."""

import numpy as np

from ...core.loops.compiled import FASTMATH_FUSED, compiled
from ...nn.nets._compiled_mlp import (
    adam_step,
    mlp_backward,
    mlp_forward,
    mlp_forward_row,
)


@compiled(inner=True, fastmath=FASTMATH_FUSED)
def _combine_row(scores, duelling, f):
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
def _allowed_argmax(f, allowed):
    """The first best action, of those that are allowed if `allowed` is not empty."""
    best = -1
    for a in range(len(f)):
        if len(allowed) and not allowed[a]:
            continue
        if best < 0 or f[a] > f[best]:
            best = a
    return max(best, 0)


@compiled(refcount=False)
def q_values_of_rows(w, layers, duelling, X, spare, scores, Q):
    """Q (n, A) of a few rows, one after the other."""
    for i in range(len(X)):
        mlp_forward_row(w, layers, X[i], spare, scores)
        _combine_row(scores, duelling, Q[i])


@compiled(inner=True, refcount=True)
def _refresh_target_values(older, layers, options, rows, lo, hi, cache, work):
    """Q' after the rows from lo to hi - 1, of which `cache` holds none or an old one.

    Rows are collected first: larger products are faster.
    """
    version = cache.clock[0]
    count = 0
    for i in range(lo, hi):
        place = rows.place[i]
        if cache.version[place] != version:
            cache.version[place] = version
            work.after[count] = rows.after[i]
            work.place[count] = place
            count += 1
        if count == len(work.place) or (count > 0 and i == hi - 1):
            F = mlp_forward(older, layers, work.after[:count], work.H)
            for j in range(count):
                _combine_row(F[j], options.duelling, cache.Q[work.place[j]])
            count = 0


@compiled(inner=True, refcount=True)
def _targets_of_batch(net, layers, options, rows, lo, cache, work):
    """R + discount Q'(x', best action) of a batch, eqs. (1) and (2) of `dqn`.

    The batch begins at row `lo`.
    """
    n = options.n_rows
    f = work.f
    if options.double:
        F = mlp_forward(net.w, layers, rows.after[lo : lo + n], work.H)
        for i in range(n):
            _combine_row(F[i], options.duelling, f)
            work.best[i] = _allowed_argmax(f, rows.after_mask[lo + i])
    for i in range(n):
        Q = cache.Q[rows.place[lo + i]]
        if not options.double:
            work.best[i] = _allowed_argmax(Q, rows.after_mask[lo + i])
        work.y[i] = rows.reward[lo + i] + rows.discount[lo + i] * Q[work.best[i]]


@compiled
def q_learning_updates(older, net, layers, options, rows, cache, work, error):
    """A step along the weighted Huber loss for each `n_rows` rows; sum of losses."""
    n = options.n_rows
    A = len(work.f)
    losses = 0.0
    if options.frozen:
        _refresh_target_values(
            older, layers, options, rows, 0, len(rows.X), cache, work
        )
    for lo in range(0, len(rows.X), n):
        if not options.frozen:  # the last step has moved `older`
            cache.clock[0] += 1
            _refresh_target_values(
                older, layers, options, rows, lo, lo + n, cache, work
            )
        _targets_of_batch(net, layers, options, rows, lo, cache, work)
        X = rows.X[lo : lo + n]
        F = mlp_forward(net.w, layers, X, work.H)
        k = F.shape[1]
        D = work.D[: n * k].reshape(n, k)
        D[:] = np.float32(0.0)
        total = 0.0
        for i in range(n):
            _combine_row(F[i], options.duelling, work.f)
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

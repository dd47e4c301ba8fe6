"""Compiled passes of PPO, A2C and REINFORCE over a batch: loss, gradient, Adam."""

import math
from typing import NamedTuple

import numpy as np

from ...core.loops.compiled import compiled
from ...nn.nets._compiled_mlp import adam_step, mlp_backward, mlp_forward

HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


class ActorRows(NamedTuple):
    """Rows of a batch as arrays; those that a net does not have are of no columns."""

    X: np.ndarray  # (n, d)
    action: np.ndarray  # (n, parts) discrete choices
    choice: np.ndarray  # (n, width) numbers
    mask: np.ndarray  # (n, m) allowed actions
    log_q: np.ndarray  # (n,)
    advantage: np.ndarray  # (n,)
    target: np.ndarray  # (n,)


@compiled(inner=True)
def _standardise_rows(A):
    """Mean 0 and deviation 1 in place; zeros if all are equal, one is left alone."""
    n = len(A)
    if n < 2:
        return
    mean = 0.0
    for i in range(n):
        mean += A[i]
    mean /= n
    squares = 0.0
    for i in range(n):
        squares += (A[i] - mean) ** 2
    std = math.sqrt(squares / (n - 1)) + 1e-8
    for i in range(n):
        A[i] = (A[i] - mean) / std


@compiled(inner=True)
def _clipped_gain(log_ratio, advantage, clip_range):
    """min(r A, clip(r) A), and its derivative in log p: eq. (1) of `ppo`."""
    ratio = math.exp(log_ratio)
    gain = ratio * advantage
    if clip_range == np.inf:
        return gain, gain
    clipped = min(max(ratio, 1.0 - clip_range), 1.0 + clip_range) * advantage
    return min(gain, clipped), gain if gain <= clipped else 0.0


@compiled(inner=True)
def _categorical_rows(F, part, options, totals, D):
    """Losses of discrete actions, and dJ/dF into D; eq. (2) of `action_heads`."""
    n = len(F)
    sizes = options.sizes
    for i in range(n):
        log_prob = 0.0
        entropy = 0.0
        first = 0
        for block in range(len(sizes)):
            top = -np.inf
            for j in range(first, first + sizes[block]):
                if len(part.mask[i]) and not part.mask[i, j]:
                    continue
                top = max(top, F[i, j])
            total = 0.0
            for j in range(first, first + sizes[block]):
                if len(part.mask[i]) and not part.mask[i, j]:
                    D[i, j] = 0.0
                    continue
                D[i, j] = math.exp(F[i, j] - top)
                total += D[i, j]
            log_total = math.log(total) + top
            for j in range(first, first + sizes[block]):
                D[i, j] /= total  # p
                if D[i, j] > 0:
                    entropy -= D[i, j] * (F[i, j] - log_total)
            log_prob += F[i, first + part.action[i, block]] - log_total
            first += sizes[block]
        smaller, slope = _clipped_gain(
            log_prob - part.log_q[i], part.advantage[i], options.clip_range
        )
        totals[0] -= smaller
        totals[1] -= options.entropy_weight * entropy
        c = -slope / n
        e = -options.entropy_weight / n
        first = 0
        for block in range(len(sizes)):
            H = 0.0
            if e != 0.0:
                for j in range(first, first + sizes[block]):
                    if D[i, j] > 0:
                        H -= D[i, j] * math.log(D[i, j])
            for j in range(first, first + sizes[block]):
                p = D[i, j]
                D[i, j] = -c * p
                if e != 0.0 and p > 0:
                    D[i, j] -= e * p * (math.log(p) + H)
            D[i, first + part.action[i, block]] += c
            first += sizes[block]


@compiled(inner=True)
def _normal_rows(F, part, log_std, options, totals, D, slopes):
    """Losses of normal actions, dJ/dF and dJ/dlog s; eq. (3) of `action_heads`."""
    n, width = F.shape
    entropy = 0.0
    for j in range(width):
        entropy += log_std[j] + HALF_LOG_TAU + 0.5
        slopes[j] = -options.entropy_weight
    for i in range(n):
        log_prob = 0.0
        for j in range(width):
            z = (part.choice[i, j] - F[i, j]) * math.exp(-log_std[j])
            log_prob -= 0.5 * z * z + log_std[j] + HALF_LOG_TAU
        smaller, slope = _clipped_gain(
            log_prob - part.log_q[i], part.advantage[i], options.clip_range
        )
        totals[0] -= smaller
        totals[1] -= options.entropy_weight * entropy
        c = -slope / n
        for j in range(width):
            z = (part.choice[i, j] - F[i, j]) * math.exp(-log_std[j])
            D[i, j] = c * z * math.exp(-log_std[j])
            slopes[j] += c * (z * z - 1.0)


@compiled(inner=True)
def _copy_row(source, i, target, k):
    """Row i of one array into row k of another."""
    for j in range(source.shape[1]):
        target[k, j] = source[i, j]


@compiled(inner=True)
def _copy_batch_rows(batch, order, part, options):
    """The rows of a batch in this order into `part`, advantages scaled if asked for."""
    for k in range(len(order)):
        i = order[k]
        _copy_row(batch.X, i, part.X, k)
        _copy_row(batch.action, i, part.action, k)
        _copy_row(batch.choice, i, part.choice, k)
        _copy_row(batch.mask, i, part.mask, k)
        part.log_q[k] = batch.log_q[i]
        part.advantage[k] = batch.advantage[i]
        part.target[k] = batch.target[i]
    if options.standardise:
        _standardise_rows(part.advantage)


@compiled(inner=True, refcount=True)
def _actor_critic_step(net, tables, part, options, work, totals):
    """One gradient step on the rows `part`; losses, times rows, are added to totals."""
    n = len(part.X)
    F = mlp_forward(net.w, tables.policy, part.X, work.H)
    k = F.shape[1]
    D = work.D[: n * k].reshape(n, k)
    if options.continuous:
        log_std = net.w[tables.free : tables.free + k]
        slopes = net.g[tables.free : tables.free + k]
        _normal_rows(F, part, log_std, options, totals, D, slopes)
    else:
        _categorical_rows(F, part, options, totals, D)
    mlp_backward(net.w, net.g, tables.policy, part.X, work.H, work.D, work.spare)
    V = mlp_forward(net.w, tables.value, part.X, work.H)
    for i in range(n):
        error = V[i, 0] - part.target[i]
        totals[2] += options.value_weight * error * error
        work.D[i] = 2.0 * options.value_weight * error / n
    mlp_backward(net.w, net.g, tables.value, part.X, work.H, work.D, work.spare)
    adam_step(net, options.learning_rate)


@compiled
def actor_critic_epoch(net, tables, batch, order, cuts, options, work, totals):
    """Gradient steps over the rows of a batch in this order, cut into pieces."""
    for piece in range(len(cuts) - 1):
        lo, hi = cuts[piece], cuts[piece + 1]
        n = hi - lo
        part = ActorRows(
            work.rows.X[:n],
            work.rows.action[:n],
            work.rows.choice[:n],
            work.rows.mask[:n],
            work.rows.log_q[:n],
            work.rows.advantage[:n],
            work.rows.target[:n],
        )
        _copy_batch_rows(batch, order[lo:hi], part, options)
        _actor_critic_step(net, tables, part, options, work, totals)

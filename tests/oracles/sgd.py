"""Stochastic gradient passes written out plainly: dense w, no scaling, no laziness."""

import numpy as np


def rate(rule, t):
    if rule["step"] == "optimal":
        return 1 / (rule["alpha"] * (rule["t0"] + t - 1))
    if rule["step"] == "invscaling":
        return rule["eta0"] / t ** rule["power"]
    return rule["eta0"]


def pay(w, paid, owed):
    """Each |w_j| pays of the L1 penalty what it owes, not beyond 0."""
    new = np.where(
        w > 0, np.maximum(0, w - (owed + paid)), np.minimum(0, w + (owed - paid))
    )
    return new, paid + new - w


def run(X, y, v, loss, rule, *, passes=1, average=False):
    """Row by row, in order; (w, b), or their means over the updates."""
    w, b, t = np.zeros(X.shape[1]), 0.0, 1
    paid, owed = np.zeros_like(w), 0.0
    sums, sumb = np.zeros_like(w), 0.0
    for _ in range(passes):
        for x, yi, vi in zip(X, y, v, strict=True):
            f = w @ x + b
            eta = rate(rule, t)
            if rule["step"] in ("pa1", "pa2"):
                value, size = float(loss.value(yi, f)), x @ x
                pa1 = min(eta, value / size)
                step = pa1 if rule["step"] == "pa1" else value / (size + 0.5 / eta)
                step *= vi * (yi if loss.domain == "sign" else np.sign(yi - f))
            else:
                step = -eta * vi * float(loss.gradient(np.float64(yi), np.float64(f)))
            shrink = max(0.0, 1 - eta * rule["l2"])
            w, paid, owed = shrink * w, shrink * paid, shrink * owed
            w = w + step * x
            b += step
            owed += eta * rule["l1"]
            w, paid = pay(w, paid, owed)
            sums, sumb = sums + w, sumb + b
            t += 1
    return (sums / (t - 1), sumb / (t - 1)) if average else (w, b)


def run_batches(X, y, loss, transform, divisor, l1, l2, eta, batch, passes=1):
    """Batches in order through a chain of `optim.stochastic`; b is the last entry."""
    A = np.column_stack([X, np.ones(len(X))])
    x = np.zeros(A.shape[1])
    free = np.ones_like(x)
    free[-1] = 0.0
    state = transform.init(x)
    for _ in range(passes):
        for i in range(0, len(A), batch):
            rows, targets = A[i : i + batch], y[i : i + batch]
            g = rows.T @ loss.gradient(targets, rows @ x) / len(rows) + l2 * free * x
            move, state = transform.update(g, state, x)
            x = x + move
            level = eta * l1 * free / divisor(state)
            x = np.sign(x) * np.maximum(0, np.abs(x) - level)
    return x[:-1], x[-1]

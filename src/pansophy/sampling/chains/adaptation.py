"""Adaptation of Hamiltonian samplers: step size by dual averaging, metric in windows.

Step size. With alpha_t the acceptance of step t and alpha* the target,

    h_t = h_(t-1) + (alpha* - alpha_t - h_(t-1)) / (t + 10)                     (1)
    log eps_t = mu - sqrt(t) / 0.05 h_t                                         (2)
    log eps = sum of log eps_t with weights falling as t^-0.75                  (3)

Warm-up steps use (2), which explores; the draws use (3), which converges. mu is the
logarithm of ten times the size found by doubling or halving until one leapfrog step is
accepted with probability near 0.8. Every chain has its own step size.

Metric. The covariance of the target is estimated from the positions of all chains in
windows of 25, 50, 100, ... steps, after 75 steps that find the typical set and before
50 that adapt the final step size (for short runs 15, 75 and 10 % of the steps). Each
window forgets the one before, so the initial positions are forgotten. With N positions
in a window and S their covariance (or variances)

    inv = N / (N + 5) S + 5 / (N + 5) 1e-3 I                                    (4)

and the step size is adapted anew. The positions of all chains are pooled.

Refs      [Nesterov2009] [Hoffman2014] (1) to (3); [Carpenter2017] windows and (4)
"""

from typing import NamedTuple

import numpy as np

INITIAL_STEPS = 75  # steps before the first window
FINAL_STEPS = 50  # steps after the last window
FIRST_WINDOW = 25  # length of the first window
MIN_AVERAGED_STEPS = 10  # below which (3) is not reliable
LOG_TARGET_ACCEPT = np.log(0.8)


class DualAveraging(NamedTuple):
    """Dual averaging by chain, since the metric changed."""

    mu: np.ndarray
    log_eps: np.ndarray  # eq. (3)
    h_bar: np.ndarray  # eq. (1)
    count: np.ndarray  # t of (1) to (3)


class HamiltonianTuning(NamedTuple):
    """State of the adaptation."""

    t: int  # warm-up steps made
    averages: DualAveraging
    window: tuple = ()  # positions (m, k, d) of this window, in parts


def adaptation_windows(total) -> tuple[int, list[int]]:
    """Begin of the first window and ends of all windows in `total` warm-up steps."""
    if total < 20:
        return total, []
    first, last = INITIAL_STEPS, FINAL_STEPS
    if first + FIRST_WINDOW + last > total:
        first, last = int(0.15 * total), int(0.1 * total)
        return first, [total - last]
    ends = []
    size = FIRST_WINDOW
    end = first
    while end < total - last:
        if end + 3 * size > total - last:  # the next window would not fit
            size = total - last - end
        end += size
        ends.append(end)
        size *= 2
    return first, ends


def start_tuning(eps, t=0) -> HamiltonianTuning:
    """A new adaptation from step sizes eps (m,), with an empty window."""
    zero = np.zeros(len(eps))
    return HamiltonianTuning(t, DualAveraging(np.log(10 * eps), zero, zero, zero))


def adapted_step_size(averages):
    """Step sizes (m,) for the draws: (3), conservative after very few steps."""
    log_eps = averages.log_eps
    conservative = averages.mu - np.log(20)
    log_eps = np.where(averages.count > 0, log_eps, conservative)
    too_few = averages.count < MIN_AVERAGED_STEPS
    return np.exp(np.where(too_few, np.minimum(log_eps, conservative), log_eps))


def estimate_inverse_metric(window, dense):
    """inv of eq. (4), (1, d) or (d, d), from the positions of all chains."""
    x = np.concatenate(window, axis=1)
    x = x.reshape(-1, x.shape[2])
    N, d = x.shape
    e = x - x.mean(axis=0)
    S = e.T @ e if dense else (e**2).sum(axis=0)[None]
    unit = np.eye(d) if dense else 1.0
    inv = (N / max(N - 1, 1) * S + 5e-3 * unit) / (N + 5)
    return inv if np.isfinite(inv).all() else None


def momentum_root(inv):
    """A matrix R (or its diagonal) with R R' = inv^-1: momenta are R z."""
    if len(inv) == 1:
        return 1 / np.sqrt(inv)
    L = np.linalg.cholesky(inv)
    return np.ascontiguousarray(np.linalg.inv(L).T)


def velocity_of(inv, p):
    """inv p for momenta (m, d)."""
    return p @ inv if len(inv) == p.shape[1] else p * inv


def find_initial_step_size(rng, value_and_grad, x, log_prob, grad, inv, root, eps):
    """Step sizes (m,) at which one leapfrog step is accepted with probability 0.8."""
    eps = eps.copy()
    direction = np.zeros(len(x))
    active = np.arange(len(x))
    for _ in range(100):
        z = rng.standard_normal(x.shape)[active]
        e = eps[active, None]
        p = z @ root.T if len(root) == x.shape[1] else z * root
        half = p + 0.5 * e * grad[active]
        y = x[active] + e * velocity_of(inv, half)
        value, slope = value_and_grad(y)
        momentum_after = half + 0.5 * e * slope
        kinetic = lambda p: 0.5 * (p * velocity_of(inv, p)).sum(axis=1)
        gain = value - log_prob[active] + kinetic(p) - kinetic(momentum_after)
        accepted = gain > LOG_TARGET_ACCEPT  # False where it is NaN
        sign = np.where(accepted, 1.0, -1.0)
        new = direction[active] == 0
        direction[active[new]] = sign[new]
        same_direction = direction[active] == sign
        active = active[same_direction]
        eps[active] *= 2.0 ** direction[active]
        if not active.size or not ((eps > 1e-300) & (eps < 1e300)).all():
            break
    return np.clip(eps, 1e-10, 1e7)

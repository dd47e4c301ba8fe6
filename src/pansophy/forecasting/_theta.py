"""Compiled Theta methods of all series of a panel."""

from typing import NamedTuple

import numpy as np

from ..core.loops.compiled import compiled
from ._nelder_mead import make_simplex_search, start_search, take_value

GRID = 24  # smoothing weights tried before the search between two of them
GOLDEN = 0.6180339887498949
LOW_ALPHA, HIGH_ALPHA = 1e-4, 0.9999
SEARCH_LIMIT = 400


class ThetaFits(NamedTuple):
    """What is learned of every series."""

    alpha: np.ndarray  # (s,)
    initial: np.ndarray  # (s,) level before the first value
    level: np.ndarray  # (s,) level after the last value
    intercept: np.ndarray  # (s,)
    slope: np.ndarray  # (s,)
    theta: np.ndarray  # (s,)
    sigma: np.ndarray  # (s,)
    fitted: np.ndarray  # (n,)


@compiled(inner=True)
def _fit_line(y):
    """Intercept and slope of the least squares line over t = 1, 2, ...; a count."""
    n = 0
    st = 0.0
    sy = 0.0
    for t in range(len(y)):
        if y[t] == y[t]:
            n += 1
            st += t + 1.0
            sy += y[t]
    if n == 0:
        return 0.0, 0.0, 0
    mean_t = st / n
    mean_y = sy / n
    sxx = 0.0
    sxy = 0.0
    for t in range(len(y)):
        if y[t] == y[t]:
            sxx += (t + 1.0 - mean_t) ** 2
            sxy += (t + 1.0 - mean_t) * (y[t] - mean_y)
    slope = sxy / sxx if sxx > 0.0 else 0.0
    return mean_y - slope * mean_t, slope, n


@compiled(inner=True)
def _smoothing_error(x, alpha):
    """Sum of squared one-step errors at the best first level, and that level.

    The level is A_t + B_t l with the first level l, so that errors are linear in l.
    """
    A = 0.0
    B = 1.0
    cc = 0.0
    cb = 0.0
    bb = 0.0
    for t in range(len(x)):
        if x[t] != x[t]:
            continue
        c = x[t] - A
        cc += c * c
        cb += c * B
        bb += B * B
        A += alpha * c
        B *= 1.0 - alpha
    first = cb / bb if bb > 0.0 else 0.0
    return max(cc - cb * first, 0.0), first


@compiled(inner=True)
def _best_smoothing(x):
    """The weight alpha of least error: a grid, then golden sections around its best."""
    best = LOW_ALPHA
    least_error = np.inf
    for k in range(GRID + 1):
        alpha = LOW_ALPHA + (HIGH_ALPHA - LOW_ALPHA) * k / GRID
        error, _ = _smoothing_error(x, alpha)
        if error < least_error:
            least_error = error
            best = alpha
    width = (HIGH_ALPHA - LOW_ALPHA) / GRID
    low = max(best - width, LOW_ALPHA)
    high = min(best + width, HIGH_ALPHA)
    for _ in range(30):
        a = high - GOLDEN * (high - low)
        b = low + GOLDEN * (high - low)
        error_a, _first = _smoothing_error(x, a)
        error_b, _first = _smoothing_error(x, b)
        if error_a < error_b:
            high = b
        else:
            low = a
    middle = 0.5 * (low + high)
    error, _first = _smoothing_error(x, middle)
    return middle if error < least_error else best


@compiled
def standard_theta(y, offsets, theta, learn, fits):
    """Eqs. (1)-(3) of `theta` for every series; alpha stays as it is unless `learn`."""
    for i in range(len(offsets) - 1):
        begin = offsets[i]
        part = y[begin : offsets[i + 1]]
        if learn:
            a, b, _n = _fit_line(part)
            fits.intercept[i] = a
            fits.slope[i] = b
        a = fits.intercept[i]
        b = fits.slope[i]
        line = np.empty(len(part))
        for t in range(len(part)):
            line[t] = theta * part[t] + (1.0 - theta) * (a + b * (t + 1.0))
        if learn:
            fits.alpha[i] = _best_smoothing(line)
            _error, fits.initial[i] = _smoothing_error(line, fits.alpha[i])
        alpha = fits.alpha[i]
        level = fits.initial[i]
        weight = 1.0 / theta
        squares = 0.0
        count = 0
        for t in range(len(part)):
            mean = weight * level + (1.0 - weight) * (a + b * (t + 1.0))
            fits.fitted[begin + t] = mean
            if part[t] == part[t]:
                squares += (part[t] - mean) ** 2
                count += 1
                level += alpha * (line[t] - level)
        fits.level[i] = level
        fits.theta[i] = theta
        fits.sigma[i] = np.sqrt(squares / max(count - 1, 1))


@compiled(inner=True)
def _run_dynamic(y, alpha, initial, theta, fitted, ahead):
    """Eqs. (4)-(6) of `theta`; the sum of squares from the third value on.

    `fitted` and `ahead` are filled as far as they go; returns the last level too.
    """
    level = initial
    mean = 0.0
    A = 0.0
    B = 0.0
    power = 1.0  # (1 - alpha)^(t - 1)
    total = 0.0
    count = 0
    for t in range(len(y) + len(ahead)):
        power_next = power * (1.0 - alpha)
        step_mean = level + (1.0 - 1.0 / theta) * (
            power * A + (1.0 - power_next) / alpha * B
        )
        if t == 0:
            step_mean = initial
        x = step_mean
        if t < len(y):
            if t < len(fitted):
                fitted[t] = step_mean
            if y[t] == y[t]:
                x = y[t]
                if t >= 2:
                    total += (x - step_mean) ** 2
                    count += 1
        else:
            ahead[t - len(y)] = step_mean
        level = alpha * x + (1.0 - alpha) * level
        k = t + 1.0
        B = ((k - 2.0) * B + 6.0 * (x - mean) / k) / (k + 1.0) if t > 0 else 0.0
        mean = ((k - 1.0) * mean + x) / k
        A = mean - B * (k + 1.0) / 2.0
        power = power_next
    return total, count, level


@compiled(inner=True)
def _dynamic_objective(y, scale, point, nothing):
    """Sum of squares at a point of the search; infinite outside of the bounds."""
    alpha = point[0]
    theta = np.exp(point[1])
    if not 0.01 <= alpha <= 0.99 or not 1.0 <= theta <= 1e6:
        return np.inf
    total, _count, _level = _run_dynamic(
        y, alpha, point[2] * scale, theta, nothing, nothing
    )
    return total


@compiled
def dynamic_theta(y, offsets, learn, fits, ahead):
    """Dynamic optimised Theta of every series, with forecasts `ahead` (s, h)."""
    search = make_simplex_search(3, SEARCH_LIMIT)
    first = np.empty(3)
    step = np.array([0.2, 0.7, 0.2])
    no_fitted = np.empty(0)
    for i in range(len(offsets) - 1):
        begin = offsets[i]
        part = y[begin : offsets[i + 1]]
        if learn:
            scale = 0.0
            known = 0.0
            start = 0.0
            for t in range(len(part)):
                if part[t] == part[t]:
                    start = part[t] if known == 0.0 else start
                    scale += abs(part[t])
                    known += 1.0
            scale = scale / known if scale > 0.0 else 1.0
            first[0] = 0.5
            first[1] = np.log(2.0)
            first[2] = 0.5 * start / scale
            start_search(search, first, step)
            value = _dynamic_objective(part, scale, search.point, no_fitted)
            while not take_value(search, value, 1e-10):
                value = _dynamic_objective(part, scale, search.point, no_fitted)
            best = search.simplex[0]
            fits.alpha[i] = best[0]
            fits.theta[i] = np.exp(best[1])
            fits.initial[i] = best[2] * scale
        total, count, level = _run_dynamic(
            part,
            fits.alpha[i],
            fits.initial[i],
            fits.theta[i],
            fits.fitted[begin : offsets[i + 1]],
            ahead[i],
        )
        fits.level[i] = level
        fits.sigma[i] = np.sqrt(total / max(count - 3, 1))

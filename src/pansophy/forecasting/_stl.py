"""Compiled local regressions of STL."""

import numpy as np

from ..core.loops.compiled import compiled


@compiled(inner=True)
def _local_fit(y, begin, step, n, width, degree, x, left, right, weights, kernel):
    """Local regression of y[begin], y[begin + step], ... at x (1 .. n); eq. (1).

    The points left .. right take part; NaN if their weights vanish.
    """
    h = max(x - left, right - x)
    if width > n:
        h += (width - n) // 2
    high = 0.999 * h
    low = 0.001 * h
    total = 0.0
    for j in range(left, right + 1):
        kernel[j] = 0.0
        r = abs(j - x)
        if r <= high:
            if r <= low:
                kernel[j] = 1.0
            else:
                kernel[j] = (1.0 - (r / h) ** 3) ** 3
            kernel[j] *= weights[begin + (j - 1) * step]
            total += kernel[j]
    if total <= 0.0:
        return np.nan
    for j in range(left, right + 1):
        kernel[j] /= total
    if h > 0.0 and degree > 0:
        mean = 0.0
        for j in range(left, right + 1):
            mean += kernel[j] * j
        b = x - mean
        spread = 0.0
        for j in range(left, right + 1):
            spread += kernel[j] * (j - mean) ** 2
        if np.sqrt(spread) > 0.001 * (n - 1.0):
            b /= spread
            for j in range(left, right + 1):
                kernel[j] *= b * (j - mean) + 1.0
    value = 0.0
    for j in range(left, right + 1):
        value += kernel[j] * y[begin + (j - 1) * step]
    return value


@compiled(inner=True)
def _local_regression(y, begin, step, n, width, degree, jump, weights, kernel, out):
    """Local regression at every `jump`-th point, joined by lines."""
    if n < 2:
        out[0] = y[begin]
        return
    jump = min(jump, n - 1)
    left = 1
    right = min(width, n)
    half = (width + 1) // 2
    for i in range(1, n + 1, jump):
        if width < n:
            if i < half:
                left = 1
            elif i >= n - half + 1:
                left = n - width + 1
            else:
                left = i - half + 1
            right = left + width - 1
        value = _local_fit(
            y, begin, step, n, width, degree, float(i), left, right, weights, kernel
        )
        out[i - 1] = y[begin + (i - 1) * step] if value != value else value
    if jump == 1:
        return
    for i in range(0, n - jump, jump):
        slope = (out[i + jump] - out[i]) / jump
        for j in range(i + 1, i + jump):
            out[j] = out[i] + slope * (j - i)
    last = ((n - 1) // jump) * jump
    if last != n - 1:
        value = _local_fit(
            y, begin, step, n, width, degree, float(n), left, right, weights, kernel
        )
        out[n - 1] = y[begin + (n - 1) * step] if value != value else value
        slope = (out[n - 1] - out[last]) / (n - 1 - last)
        for j in range(last + 1, n - 1):
            out[j] = out[last] + slope * (j - last)


@compiled(inner=True)
def _moving_means(x, n, width, out):
    """Means of `width` values; n - width + 1 of them."""
    total = 0.0
    for i in range(width):
        total += x[i]
    out[0] = total / width
    for i in range(1, n - width + 1):
        total += x[i + width - 1] - x[i - 1]
        out[i] = total / width


@compiled(inner=True)
def _smooth_cycles(y, n, m, widths, degrees, jumps, weights, kernel, cycle, out):
    """Each season by itself, extended by one step at both ends: n + 2 m values."""
    for k in range(m):
        count = (n - 1 - k) // m + 1
        width = widths[0]
        _local_regression(
            y, k, m, count, width, degrees[0], jumps[0], weights, kernel, cycle[1:]
        )
        value = _local_fit(
            y,
            k,
            m,
            count,
            width,
            degrees[0],
            0.0,
            1,
            min(width, count),
            weights,
            kernel,
        )
        cycle[0] = cycle[1] if value != value else value
        left = max(1, count - width + 1)
        value = _local_fit(
            y, k, m, count, width, degrees[0], count + 1.0, left, count, weights, kernel
        )
        cycle[count + 1] = cycle[count] if value != value else value
        for j in range(count + 2):
            out[k + j * m] = cycle[j]


@compiled
def stl_pass(y, m, widths, degrees, jumps, weights, n_inner, season, trend):
    """Inner loop of STL, eqs. (2) to (4); `season` and `trend` are changed in place.

    `widths`, `degrees` and `jumps` are those of season, trend and low-pass filter.
    """
    n = len(y)
    size = n + 2 * m
    cycle = np.empty(n // m + 4)
    kernel = np.empty(size + 2)
    detrended = np.empty(n)
    smoothed = np.empty(size)
    first = np.empty(size)
    second = np.empty(size)
    ones = np.ones(size)
    for _ in range(n_inner):
        for t in range(n):
            detrended[t] = y[t] - trend[t]
        _smooth_cycles(
            detrended, n, m, widths, degrees, jumps, weights, kernel, cycle, smoothed
        )
        _moving_means(smoothed, size, m, first)
        _moving_means(first, n + m + 1, m, second)
        _moving_means(second, n + 2, 3, first)
        _local_regression(
            first, 0, 1, n, widths[2], degrees[2], jumps[2], ones, kernel, second
        )
        for t in range(n):
            season[t] = smoothed[t + m] - second[t]
            detrended[t] = y[t] - season[t]
        _local_regression(
            detrended, 0, 1, n, widths[1], degrees[1], jumps[1], weights, kernel, trend
        )

"""Compiled smoothing of sizes and intervals of intermittent demand, for all series."""

import numpy as np

from ..core.loops.compiled import compiled


@compiled
def croston_of_all(y, offsets, weights, factor, size, interval, rate, fitted, sigma):
    """Eqs. (1) and (2) of `intermittent`: smoothed size and interval of each series.

    `weights` is (weight of sizes, weight of intervals). `rate` (s,) is the forecast,
    `fitted` (n,) what it was before each step.
    """
    for i in range(len(offsets) - 1):
        z = 0.0
        p = 0.0
        gap = 0.0
        seen = False
        squares = 0.0
        count = 0
        for r in range(offsets[i], offsets[i + 1]):
            x = y[r]
            mean = factor * z / p if seen else 0.0
            fitted[r] = mean
            if x != x:
                continue
            gap += 1.0
            squares += (x - mean) ** 2
            count += 1
            if x != 0.0:
                if seen:
                    z += weights[0] * (x - z)
                    p += weights[1] * (gap - p)
                else:
                    z = x
                    p = gap
                    seen = True
                gap = 0.0
        size[i] = z
        interval[i] = p
        rate[i] = factor * z / p if seen else 0.0
        sigma[i] = np.sqrt(squares / max(count, 1))


@compiled
def tsb_of_all(y, offsets, weights, size, probability, rate, fitted, sigma):
    """Eq. (3) of `intermittent`; the first values are means of the series."""
    for i in range(len(offsets) - 1):
        count = 0
        demands = 0
        first = 0.0
        for r in range(offsets[i], offsets[i + 1]):
            if y[r] == y[r]:
                count += 1
                if y[r] != 0.0:
                    first = y[r] if demands == 0 else first
                    demands += 1
        z = first
        d = demands / max(count, 1)
        squares = 0.0
        for r in range(offsets[i], offsets[i + 1]):
            x = y[r]
            fitted[r] = z * d
            if x != x:
                continue
            squares += (x - z * d) ** 2
            if x != 0.0:
                z += weights[0] * (x - z)
                d += weights[1] * (1.0 - d)
            else:
                d -= weights[1] * d
        size[i] = z
        probability[i] = d
        rate[i] = z * d
        sigma[i] = np.sqrt(squares / max(count, 1))


@compiled(inner=True)
def _smoothed_sums(y, width, alpha):
    """Eq. (4): exponential smoothing of the sums of `width` values, from the end."""
    n_blocks = len(y) // width
    head = len(y) - n_blocks * width
    level = 0.0
    for k in range(n_blocks):
        total = 0.0
        known = 0
        for t in range(head + k * width, head + (k + 1) * width):
            if y[t] == y[t]:
                total += y[t]
                known += 1
        if known == 0:
            continue
        total *= width / known
        level = total if level == 0.0 and k == 0 else level + alpha * (total - level)
    return level / width


@compiled
def aggregated_rates(y, offsets, alpha, every_width, width, rate, sigma):
    """Eq. (4) at the mean interval between demands, or the mean over all up to it."""
    for i in range(len(offsets) - 1):
        part = y[offsets[i] : offsets[i + 1]]
        demands = 0
        count = 0
        total = 0.0
        squares = 0.0
        for t in range(len(part)):
            if part[t] == part[t]:
                count += 1
                demands += part[t] != 0.0
                total += part[t]
                squares += part[t] * part[t]
        widest = round(count / demands) if demands > 0 else 1
        widest = max(min(widest, len(part)), 1)
        width[i] = widest
        if every_width:
            mean = 0.0
            for k in range(1, widest + 1):
                mean += _smoothed_sums(part, k, alpha)
            rate[i] = mean / widest
        else:
            rate[i] = _smoothed_sums(part, widest, alpha)
        mean = total / max(count, 1)
        sigma[i] = np.sqrt(max(squares / max(count, 1) - mean * mean, 0.0))

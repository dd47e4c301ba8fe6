"""Compiled last values and averages of all series of a panel."""

import numpy as np

from ..core.loops.compiled import compiled


@compiled
def last_seasons(y, offsets, m, last, fitted, sigma):
    """Last known value of each season (s, m), in the order of the steps ahead.

    `fitted` (n,) is the last known value of the same season before, and `sigma` (s,)
    the root of the mean square of what it misses by.
    """
    held = np.empty(m)
    for i in range(len(offsets) - 1):
        begin = offsets[i]
        n = offsets[i + 1] - begin
        for s in range(m):
            held[s] = np.nan
        recent = np.nan
        squares = 0.0
        count = 0
        for t in range(n):
            x = y[begin + t]
            last_value = held[t % m]
            fitted[begin + t] = last_value
            if x != x:
                continue
            if last_value == last_value:
                squares += (x - last_value) * (x - last_value)
                count += 1
            held[t % m] = x
            recent = x
        for h in range(m):
            x = held[(n + h) % m]
            last[i, h] = recent if x != x else x
        sigma[i] = np.sqrt(squares / count) if count > 0 else 0.0


@compiled
def window_averages(y, offsets, width, mean, fitted, sigma):
    """Mean (s,) of the last `width` known values, and of those before each value."""
    for i in range(len(offsets) - 1):
        begin = offsets[i]
        n = offsets[i + 1] - begin
        window = np.empty(min(width, n))
        total = 0.0
        seen = 0
        squares = 0.0
        count = 0
        for t in range(n):
            x = y[begin + t]
            size = min(seen, len(window))
            fitted[begin + t] = total / size if size > 0 else np.nan
            if x != x:
                continue
            if size > 0:
                e = x - fitted[begin + t]
                squares += e * e
                count += 1
            place = seen % len(window)
            total += x - window[place] if seen >= len(window) else x
            window[place] = x
            seen += 1
        size = min(seen, len(window))
        mean[i] = total / size
        sigma[i] = np.sqrt(squares / count) if count > 0 else 0.0

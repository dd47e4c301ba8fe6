"""Features of dates and angles: calendar parts, cyclic sine and cosine pairs.

A date gives the days since 1970, the year, and its position in the year, the week and
the day; an angle gives its position in its period. A cyclic position t is encoded as
(sin 2 pi t, cos 2 pi t), so that December is next to January, or for trees as the plain
number. Only parts that vary in the training rows are kept.
"""

import numpy as np

DAY = 86400.0
CIRCLES = (
    "elapsed", "year", "month sin", "month cos", "weekday sin", "weekday cos",
    "hour sin", "hour cos",
)  # fmt: skip
PLAIN = ("elapsed", "year", "month", "weekday", "hour")
SOURCE = (0, 1, 2, 2, 3, 3, 4, 4)  # the plain part of each cyclic part


def plain_parts(seconds) -> list[np.ndarray]:
    """Days since 1970, year, month (0-11), weekday (0 is Monday), hour; NaN stays."""
    gone = np.isnan(seconds)
    s = np.where(gone, 0.0, seconds)
    days = np.floor(s / DAY)
    months = days.astype("M8[D]").astype("M8[M]").astype(np.int64)
    nan = np.where(gone, np.nan, 0.0)
    return [
        seconds / DAY,
        1970 + months // 12 + nan,
        months % 12 + nan,
        (days + 3) % 7 + nan,
        (s - days * DAY) / 3600 + nan,
    ]


def date_parts(seconds, plain) -> np.ndarray:
    """Features of k date columns as a matrix (n, parts * k), grouped by part."""
    elapsed, year, month, weekday, hour = parts = plain_parts(seconds)
    if plain:
        return np.concatenate(parts, axis=1)
    circles = [
        cyclic_features(month, 12.0),
        cyclic_features(weekday, 7.0),
        cyclic_features(hour, 24.0),
    ]
    return np.concatenate([elapsed, year, *circles], axis=1)


def varying_date_parts(seconds, plain) -> list[tuple[int, int]]:
    """Pairs (part, column) of the date parts that are not constant."""
    result = plain_parts(seconds)
    source = range(len(PLAIN)) if plain else SOURCE
    return [
        (i, j)
        for j in range(seconds.shape[1])
        for i, part in enumerate(source)
        if _takes_two_values(result[part][:, j])
    ]


def _takes_two_values(x) -> bool:
    known = x[~np.isnan(x)]
    return len(known) > 0 and known.min() < known.max()


def cyclic_features(x, period) -> np.ndarray:
    """Sines, then cosines, of k columns with their periods: (n, 2k)."""
    radians = x * (2 * np.pi / period)
    return np.concatenate([np.sin(radians), np.cos(radians)], axis=1)

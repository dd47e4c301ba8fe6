"""Features of dates and angles: calendar parts, cyclic sine and cosine pairs.

A date gives the days elapsed since 1970, the year, and where it stands in the year, in
the week and in the day; an angle, where it stands in its period. What comes round is
the point (sin 2 pi t, cos 2 pi t) on a circle, so that December lies next to January,
or, for trees, the plain number. Only parts that vary in the training rows are kept.
"""

import numpy as np

DAY = 86400.0
CIRCLES = (
    "elapsed", "year", "month sin", "month cos", "weekday sin", "weekday cos",
    "hour sin", "hour cos",
)  # fmt: skip
PLAIN = ("elapsed", "year", "month", "weekday", "hour")
SOURCE = (0, 1, 2, 2, 3, 3, 4, 4)  # which plain part each part on a circle shows


def plain_parts(seconds) -> list[np.ndarray]:
    """Days elapsed, year, month (0 to 11), weekday (0 is Monday), hour; NaN stays."""
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
    """All parts of k columns of dates, (n, parts x k): part by part."""
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
    """(part, column) of every part that takes more than one value."""
    found = plain_parts(seconds)
    source = range(len(PLAIN)) if plain else SOURCE
    return [
        (i, j)
        for j in range(seconds.shape[1])
        for i, part in enumerate(source)
        if takes_two_values(found[part][:, j])
    ]


def takes_two_values(x) -> bool:
    known = x[~np.isnan(x)]
    return len(known) > 0 and known.min() < known.max()


def cyclic_features(x, period) -> np.ndarray:
    """sin and cos of k columns with their periods, (n, 2k): all sines first."""
    turn = x * (2 * np.pi / period)
    return np.concatenate([np.sin(turn), np.cos(turn)], axis=1)

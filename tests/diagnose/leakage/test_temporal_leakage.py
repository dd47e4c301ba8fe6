"""Dates after the moment of prediction are found."""

import numpy as np

from pansophy.diagnose import find_leaks

N = 800


def number(table, rng):
    return table["x0"] + table["k"] / 3 + rng.normal(size=N)


def classes(table, rng):
    return np.where(number(table, rng) > 1, "yes", "no")


def alarms(table, target="y", **how):
    found = find_leaks(table, target, **how)
    return {f.column: f.kind for f in found if f.severity == "alarm"}


def test_future_dates(honest, rng):
    y = classes(honest, rng)
    opened = np.datetime64("2021-01-01") + rng.integers(0, 700, N)
    closed = opened + rng.integers(1, 60, N)
    table = honest | {"opened": opened, "closed": closed, "y": y}
    assert alarms(table, time="opened") == {"closed": "future dates"}
    (note,) = find_leaks(table, "y")
    assert (note.column, note.severity) == ("closed", "note")
    short, long = rng.integers(1, 30, N), rng.integers(31, 60, N)
    told = opened + np.where(y == "yes", short, long)
    found = find_leaks(honest | {"opened": opened, "closed": told, "y": y}, "y")
    assert [(f.column, f.severity) for f in found] == [("closed", "alarm")]
    written = np.datetime_as_string(closed)  # dates that a file holds as text
    assert alarms(table | {"closed": written}, time="opened") == {
        "closed": "future dates"
    }

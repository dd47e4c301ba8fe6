"""Rows that depend on each other in time or by group."""

import numpy as np
import pyarrow as pa
from scipy.signal import lfilter

from pansophy.diagnose import explore


def test_rows_along_time_and_of_one_person_are_told(rng):
    n = 300
    day = np.arange("2022-01-01", "2022-10-28", dtype="M8[D]")
    # neighbours are alike, but the day does not tell nearly all, as that of a walk may
    x, series = rng.normal(size=n), lfilter([1], [1, -0.95], rng.normal(size=n))
    table = {"day": day[rng.permutation(n)], "x": x}
    order = np.argsort(table["day"])
    table["y"] = np.empty(n)
    table["y"][order] = series
    (told,) = explore(pa.table(table), "y", whole=False).warnings
    assert (told.kind, told.column) == ("time order", "day")
    assert "time='day'" in told.text and told.facts["correlation"] > 0.8
    assert not explore(pa.table(table), "y", time="day", whole=False).warnings
    fair = pa.table({**table, "y": rng.random(n) < 0.5})
    assert not explore(fair, "y", whole=False).warnings
    who = np.repeat(np.arange(30), 10)
    table = {"patient_id": who, "x": x, "y": rng.normal(size=30)[who] + x}
    (told,) = explore(table, "y", whole=False).warnings
    assert told.kind == "repeated group" and "group='patient_id'" in told.text
    assert not explore(table, "y", group="patient_id", whole=False).warnings
    unlike = explore({**table, "y": rng.normal(size=n)}, "y", whole=False).findings
    assert [(f.kind, f.severity) for f in unlike] == [("repeated group", "note")]

"""Rows that depend on each other in time or by group."""

import numpy as np
import pyarrow as pa
from scipy.signal import lfilter

from pansophy.diagnose import explore
from pansophy.diagnose.data.columns import table_view
from pansophy.diagnose.data.dependent_rows import RowDesign, find_design
from pansophy.diagnose.leakage.target_columns import target_columns_of


def test_rows_along_time_and_of_one_person_are_told(rng):
    n = 300
    day = np.arange("2022-01-01", "2022-10-28", dtype="M8[D]")
    # neighbours are alike, but the day does not tell nearly all, as that of a walk may
    x, series = rng.normal(size=n), lfilter([1], [1, -0.95], rng.normal(size=n))
    table = {"day": day[rng.permutation(n)], "x": x}
    order = np.argsort(table["day"])
    table["y"] = np.empty(n)
    table["y"][order] = series
    (told,) = explore(pa.table(table), "y", whole=False).alarms
    assert (told.kind, told.column) == ("time order", "day")
    assert "'day' as the time" in told.text and told.facts["correlation"] > 0.8
    known = explore(pa.table(table), "y", time="day", whole=False)
    assert not known.warnings and not known.alarms
    fair = pa.table({**table, "y": rng.random(n) < 0.5})
    assert not explore(fair, "y", whole=False).warnings
    who = np.repeat(np.arange(30), 10)
    table = {"patient_id": who, "x": x, "y": rng.normal(size=30)[who] + x}
    (told,) = explore(table, "y", whole=False).alarms
    assert told.kind == "repeated group" and "as the group" in told.text
    assert not explore(table, "y", group="patient_id", whole=False).warnings
    unlike = explore({**table, "y": rng.normal(size=n)}, "y", whole=False).findings
    assert [(f.kind, f.severity) for f in unlike] == [("repeated group", "note")]


def test_a_certain_design_is_what_nobody_would_doubt(rng):
    n = 300
    walk = np.cumsum(rng.normal(size=n))
    table = {"year": np.arange(1700, 2000), "x": rng.normal(size=n), "y": walk}
    design = design_of(table)
    assert design.time.column == "year" and design.entity is None
    assert design_of({**table, "y": rng.normal(size=n)}) == RowDesign()
    ten_a_year = {**table, "year": 1990 + np.arange(n) // 10}
    assert design_of(ten_a_year).time.column == "year"  # the file is in its order
    mixed = {k: v[rng.permutation(n)] for k, v in ten_a_year.items()}
    assert design_of(mixed).time is None
    drawn = rng.permutation(n)
    mixed = {k: v[drawn] for k, v in ten_a_year.items()}
    assert design_of(mixed).time is None  # to be asked, not decided
    who = np.repeat(np.arange(100), 3)
    people = {
        "n": who,
        "weight": rng.normal(size=100)[who],
        "sex": rng.integers(0, 2, 100)[who],
        "y": rng.normal(size=n),
    }
    assert design_of(people).entity.columns == ("n",)


def design_of(table):
    view = table_view(pa.table(table))
    return find_design(view, target_columns_of(view, "y"))

"""Reading of columns: stamps, names, forms of dates."""

import numpy as np
import pandas as pd
import pytest

from pansophy.forecasting import Frequency, Panel
from pansophy.forecasting.panel_table import (
    calendar_stamps,
    last_value_lengths,
    stamp_text,
)


def test_weeks_begin_on_monday():
    found, reading = calendar_stamps(["2020-W53", "2021-W01", None])
    days = (found[:2] / 86400).astype(int).astype("M8[D]").astype(str)
    assert days.tolist() == ["2020-12-28", "2021-01-04"] and np.isnan(found[2])
    assert reading == "weeks"
    assert calendar_stamps(["2021-W01", "soon"])[0] is None
    assert calendar_stamps(["2021-01-01"])[0] is None
    (wednesday,), _ = calendar_stamps(["2021-W01-3"])
    assert wednesday == np.datetime64("2021-01-06", "s").astype(int)


def test_weeks_and_months_that_no_year_has_are_no_dates():
    assert calendar_stamps(["2021-W53"])[0] is None  # 2021 has 52 weeks
    assert calendar_stamps(["2021-W00"])[0] is None
    assert calendar_stamps(["2021-13"])[0] is None
    frame = {"t": ["2021-12", "2021-13"], "y": [1, 2]}
    with pytest.raises(ValueError, match="but has '2021-13'"):
        Panel.from_table(frame, "t", "y")


def test_fiscal_texts_are_refused_with_what_is_taken():
    frame = {"t": ["FY24-P01", "FY24-P02"], "y": [1, 2]}
    with pytest.raises(ValueError, match=r"such as 2024-03-15.*but has 'FY24-P01'"):
        Panel.from_table(frame, "t", "y")


def test_whole_numbers_that_are_months_or_days():
    months = {"t": [202411, 202412, 202501, 202502], "y": [1, 2, 3, 4]}
    panel = Panel.from_table(months, "t", "y")
    assert panel.frequency.name == "monthly" and panel.findings.gaps == 0
    assert panel.stamps_ahead(1)[0, 0] == np.datetime64("2025-03-01")
    days = {"t": [20240228, 20240229, 20240301], "y": [1, 2, 3]}
    panel = Panel.from_table(days, "t", "y")
    assert panel.frequency.name == "daily" and panel.findings.gaps == 0
    assert "20240315" in panel.findings.sentences()[-1]
    steps = {"t": [202411, 202412, 202413, 202414], "y": [1, 2, 3, 4]}
    assert Panel.from_table(steps, "t", "y").frequency.unit == "step"
    grid = Frequency("step")
    assert Panel.from_table(months, "t", "y", frequency=grid).lengths.tolist() == [92]


def test_offsets_that_change_with_the_clock():
    days = ["2024-03-30T00:00:00+01:00", "2024-03-31T00:00:00+01:00",
            "2024-04-01T00:00:00+02:00", "2024-04-02T00:00:00+02:00"]  # fmt: skip
    panel = Panel.from_table({"t": days, "y": [1, 2, 3, 4]}, "t", "y")
    assert panel.frequency.name == "daily" and panel.lengths.tolist() == [4]
    assert panel.findings.reading == "local"
    hours = ["2024-03-31 01:00+01:00", "2024-03-31 03:00+02:00",
             "2024-03-31 04:00+02:00"]  # fmt: skip
    panel = Panel.from_table({"t": hours, "y": [1, 2, 3]}, "t", "y")
    assert panel.frequency.name == "hourly" and panel.findings.gaps == 0
    assert panel.findings.reading == "UTC"
    assert panel.stamps_ahead(1)[0, 0] == np.datetime64("2024-03-31T03:00")


def test_numbers_written_as_text():
    frame = {"t": [1, 2, 3], "y": ["1.234,5", "2.000,0", "10,5"]}
    panel = Panel.from_table(frame, "t", "y")
    assert panel.values.tolist() == [1234.5, 2000.0, 10.5]
    assert "1.234,5" in panel.findings.sentences()[-1]
    frame = {"t": [1, 2, 3], "y": ["1", " ", "3"]}
    np.testing.assert_array_equal(
        Panel.from_table(frame, "t", "y").values, [1, np.nan, 3]
    )


def test_the_few_series_of_another_frequency_are_named():
    t = [*range(0, 40, 2)] * 11
    day = np.datetime64("2024-01-01") + np.array(
        [d for s in range(11) for d in range(20)]
    )
    day[-20:] = np.datetime64("2024-01-01") + 7 * np.arange(20)
    frame = {"t": day, "shop": np.repeat(np.arange(11), 20), "y": t}
    panel = Panel.from_table(frame, "t", "y", ["shop"])
    assert panel.findings.other_frequency == ("10 (weekly)",)
    assert panel.frequency.name == "daily"
    assert any("another frequency" in s for s in panel.findings.sentences())


@pytest.mark.parametrize(
    ("texts", "name", "after"),
    [
        (["Q3 2024", "Q4 2024", "Q1 2025"], "quarterly", "2025-04-01"),
        (["11/2024", "12/2024", "01/2025"], "monthly", "2025-02-01"),
        (["2024/11", "2024/12", "2025/01"], "monthly", "2025-02-01"),
        (["Nov 2024", "Dec 2024", "Jan 2025"], "monthly", "2025-02-01"),
        (["November 2024", "December 2024", "January 2025"], "monthly", "2025-02-01"),
    ],
)
def test_more_ways_to_write_months_and_quarters(texts, name, after):
    panel = Panel.from_table({"t": texts, "y": [1, 2, 3]}, "t", "y")
    assert panel.frequency.name == name and panel.findings.gaps == 0
    assert panel.stamps_ahead(1)[0, 0] == np.datetime64(after)
    assert calendar_stamps([*texts, "Foo 2024"])[0] is None


def test_local_days_that_a_reader_made_utc():
    """A reader of CSV turns 2024-03-31T00:00+01:00 into 23:00 UTC of the day before."""
    for zone in ("Europe/Berlin", "America/Lima", "America/New_York"):
        day = pd.date_range("2024-03-08", periods=30, tz=zone)
        frame = {"t": day.tz_convert("UTC"), "y": np.arange(30.0)}
        panel = Panel.from_table(frame, "t", "y")
        assert panel.lengths.tolist() == [30] and panel.findings.reading == "local"
        assert panel.stamps_ahead(1)[0, 0] == np.datetime64("2024-04-07")
    hours = pd.date_range("2024-03-08", periods=30, freq="h", tz="UTC")
    found = Panel.from_table({"t": hours, "y": np.arange(30.0)}, "t", "y")
    assert found.findings.reading == "UTC" and found.frequency.name == "hourly"


def test_stamps_of_no_grid_are_refused():
    weeks = np.cumsum(np.tile([4, 4, 5], 6))
    days = np.datetime64("2021-01-02") + 7 * weeks
    with pytest.raises(ValueError, match=r"do not fit one grid.*fiscal months"):
        Panel.from_table({"t": days, "y": range(18)}, "t", "y")


def test_fiscal_months_and_known_columns_between_rows():
    ends = ["2024-01-27", "2024-02-24", "2024-03-30", "2024-04-27", "2024-05-25"]
    panel = Panel.from_table({"t": ends, "y": range(5)}, "t", "y")
    assert panel.frequency.name == "monthly" and panel.findings.free_days
    frame = {"t": [1, 2, 4], "y": [1, 2, None], "promo": [0, 1, 0]}
    panel = Panel.from_table(frame, "t", "y", known=["promo"])
    assert panel.findings.known_filled == 1
    np.testing.assert_array_equal(panel.future_known(2)[0, :, 0], [1, 0])
    with pytest.raises(ValueError, match="no rows"):
        Panel.from_table({"t": [], "y": []}, "t", "y")


def test_rows_of_one_point_of_a_coarser_grid():
    weeks = np.datetime64("2024-01-01") + 7 * np.arange(9)
    frame = {"t": [*weeks, weeks[3] + 2], "y": range(10)}
    with pytest.raises(ValueError, match=r"same point of the grid \(weekly\)"):
        Panel.from_table(frame, "t", "y")


def test_lengths_end_at_the_last_value():
    values = np.array([1, np.nan, np.nan, np.nan, 2.0])
    np.testing.assert_array_equal(
        last_value_lengths(values, np.array([0, 3, 5])), [1, 2]
    )
    np.testing.assert_array_equal(
        last_value_lengths(values[1:3], np.array([0, 2])), [2]
    )


def test_forms_of_dates_and_of_keys():
    frame = {"d": ["31.01.2024", "29.02.2024", "31.03.2024"], "y": ["1", "2", "3"]}
    panel = Panel.from_table(frame, "d", "y")
    assert panel.frequency.name == "monthly" and panel.values.tolist() == [1, 2, 3]
    two = {"t": [1, 2, 1, 2], "a": [1, 1, 2, 2], "b": ["x"] * 4, "y": [1, 2, 3, 4]}
    keys = Panel.from_table(two, "t", "y", ["a", "b"]).keys
    assert keys["a"].tolist() == [1, 2] and keys["b"].tolist() == ["x", "x"]
    with pytest.raises(ValueError, match="must not be empty"):
        Panel.from_table({**two, "b": ["x", None, "x", "x"]}, "t", "y", ["a", "b"])
    with pytest.raises(ValueError, match="dates right"):
        Panel.from_table({"t": [1, 2, 10**9], "y": [1, 2, 3]}, "t", "y")
    assert stamp_text(86400.0, True) == "1970-01-02" and stamp_text(3.0, False) == "3"

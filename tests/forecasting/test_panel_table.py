"""Reading of columns: stamps, names, forms of dates."""

import numpy as np
import pytest

from pansophy.forecasting import Panel
from pansophy.forecasting.panel_table import (
    calendar_stamps,
    last_value_lengths,
    stamp_text,
)


def test_weeks_begin_on_monday():
    found = calendar_stamps(["2020-W53", "2021-W01", None])
    days = (found[:2] / 86400).astype(int).astype("M8[D]").astype(str)
    assert days.tolist() == ["2020-12-28", "2021-01-04"] and np.isnan(found[2])
    assert calendar_stamps(["2021-W01", "soon"]) is None
    assert calendar_stamps(["2021-01-01"]) is None


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

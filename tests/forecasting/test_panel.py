"""A table becomes a panel, aloud."""

import numpy as np
import pandas as pd
import pytest

from pansophy import Ragged
from pansophy.forecasting import Frequency, Panel
from pansophy.forecasting.panel import as_panel, common_frequency, ragged_range


def table(**changes):
    frame = pd.DataFrame(
        {
            "day": [
                "2024-01-01",
                "2024-01-02",
                "2024-01-04",
                "2024-01-02",
                "2024-01-03",
            ],
            "shop": ["b", "b", "b", "a", "a"],
            "sales": [1.0, 2.0, 4.0, 20.0, 30.0],
        }
    )
    return frame.assign(**changes)


def read(frame, **options):
    return Panel.from_table(frame, "day", "sales", ["shop"], **options)


def test_gaps_stay_missing_and_are_counted():
    panel = read(table())
    assert panel.names.tolist() == ["b", "a"]
    np.testing.assert_array_equal(panel.series[0], [1, 2, np.nan, 4])
    np.testing.assert_array_equal(panel.series[1], [20, 30])
    assert panel.findings.gaps == 1 and panel.findings.series_with_gaps == 1
    assert panel.findings.uneven_ends == 1
    assert any("1 grid point in 1 of 2 series" in s for s in panel.findings.sentences())
    np.testing.assert_array_equal(
        panel.stamps_ahead(2)[1], np.array(["2024-01-04", "2024-01-05"], "M8[s]")
    )
    shuffled = read(table().sample(frac=1, random_state=0).sort_values("shop"))
    np.testing.assert_array_equal(shuffled.series[1], panel.series[0])


def test_doubles_are_refused_or_merged_as_asked():
    frame = pd.concat([table(), table().tail(1)])
    with pytest.raises(ValueError, match="2024-01-03 of a"):
        read(frame)
    assert read(frame, merge="sum").series[1].tolist() == [20.0, 60.0]
    mean = read(frame, merge="mean")
    assert mean.series[1].tolist() == [20.0, 30.0] and mean.findings.merged == 1


def test_what_cannot_be_read_is_named():
    with pytest.raises(ValueError, match="no column 'price'"):
        read(table(), known=["price"])
    with pytest.raises(ValueError, match="row 2"):
        read(table(day=["2024-01-01", None, "2024-01-04", "2024-01-02", "2024-01-03"]))
    with pytest.raises(ValueError, match="should hold numbers"):
        read(table(sales=["x", "y", "z", "u", "v"]))
    with pytest.raises(ValueError, match="must hold dates"):
        read(table(day=["x", "y", "z", "u", "v"]))
    with pytest.raises(ValueError, match="fractions"):
        read(table(day=[0.5, 1.0, 2.0, 3.0, 4.0]))
    with pytest.raises(ValueError, match="different columns"):
        Panel.from_table(table(), "day", "sales", ["sales"])


def test_off_grid_stamps_are_moved_and_named():
    frame = pd.DataFrame(
        {"day": pd.date_range("2024-01-01", periods=8), "sales": np.arange(8.0)}
    )
    frame.loc[3, "day"] += pd.Timedelta(hours=5)
    panel = Panel.from_table(frame, "day", "sales")
    assert panel.findings.off_grid == 1
    assert panel.findings.off_grid_examples == ("2024-01-04 05:00:00",)
    np.testing.assert_array_equal(panel.series[0], np.arange(8.0))


def test_different_frequencies_are_refused():
    days = pd.date_range("2024-01-01", periods=5)
    weeks = pd.date_range("2024-01-01", periods=5, freq="7D")
    frame = pd.DataFrame(
        {"day": [*days, *weeks], "shop": ["a"] * 5 + ["b"] * 5, "sales": 1.0}
    )
    with pytest.raises(ValueError, match=r"1 daily \(such as a\); 1 weekly"):
        read(frame)
    found = common_frequency(np.array([0.0, 1, 2]), np.zeros(3, int), ["x"], False)
    assert found == (Frequency("step", 1, 0), ())


def test_local_days_across_a_change_of_the_clock():
    days = pd.date_range("2024-03-28", periods=6, tz="Europe/Berlin")
    panel = Panel.from_table({"day": days, "sales": np.arange(6.0)}, "day", "sales")
    assert panel.frequency.name == "daily" and panel.lengths.tolist() == [6]
    assert panel.findings.reading == "local"


@pytest.mark.parametrize(
    ("texts", "name", "after"),
    [
        (["2024-W51", "2024-W52", "2025-W01"], "weekly", "2025-01-06"),
        (["2024Q2", "2024Q3", "2024Q4"], "quarterly", "2025-01-01"),
        (["2024-10", "2024-11", "2024-12"], "monthly", "2025-01-01"),
    ],
)
def test_calendar_texts(texts, name, after):
    panel = Panel.from_table({"t": texts, "y": [1, 2, 3]}, "t", "y")
    assert panel.frequency.name == name
    assert panel.stamps_ahead(1)[0, 0] == np.datetime64(after)


def test_known_covariates_reach_into_the_future():
    frame = pd.DataFrame(
        {
            "day": pd.date_range("2024-01-01", periods=5),
            "sales": [1.0, 2, 3, None, None],
            "promo": [0, 1, 0, 1, 0],
        }
    )
    panel = Panel.from_table(frame, "day", "sales", known=["promo"])
    assert panel.lengths.tolist() == [3] and panel.findings.future_rows == 2
    np.testing.assert_array_equal(panel.future_known(2), [[[1], [0]]])
    np.testing.assert_array_equal(panel.known_rows()[:, 0], [0, 1, 0])
    with pytest.raises(ValueError, match="reach 2"):
        panel.future_known(3)
    assert Panel.from_table(frame, "day", "sales").findings.cut_rows == 2
    frame.loc[1, "promo"] = None
    with pytest.raises(ValueError, match="'promo' has 1 empty"):
        Panel.from_table(frame, "day", "sales", known=["promo"])


def test_parts_of_a_panel():
    panel = as_panel([np.arange(4.0), np.arange(2.0)])
    cut = panel.truncated([2, 1])
    np.testing.assert_array_equal(cut.values, [0, 1, 0])
    np.testing.assert_array_equal(panel.following([2, 1], 3)[0], [2, 3, np.nan])
    np.testing.assert_array_equal(panel[[1]].values, [0, 1])
    np.testing.assert_array_equal(ragged_range([5, 9], [2, 1]), [5, 6, 9])
    longer = panel.extended([np.array([9.0]), np.array([8.0, 7.0])])
    np.testing.assert_array_equal(longer.series[1], [0, 1, 8, 7])
    assert panel.with_values(panel.values * 2).values[3] == 6
    with pytest.raises(ValueError, match="same series"):
        panel.extended([1.0])
    with pytest.raises(ValueError, match="between 1 and all"):
        panel.truncated([0, 1])


def test_rows_that_come_later_leave_a_gap():
    first = Panel.from_table({"t": ["2024-01", "2024-02"], "y": [1, 2]}, "t", "y")
    later = Panel.from_table({"t": ["2024-04", "2024-05"], "y": [4, 5]}, "t", "y")
    np.testing.assert_array_equal(first.extended(later).values, [1, 2, np.nan, 4, 5])
    with pytest.raises(ValueError, match="before its end"):
        later.extended(first)


@pytest.mark.parametrize("bad", [np.zeros((2, 3)), [], ["a"], np.array([np.inf])])
def test_bad_series(bad):
    with pytest.raises(ValueError, match=r"must be a vector|must hold num|infinite"):
        as_panel(bad)


def test_ragged_is_a_panel():
    assert len(as_panel(Ragged.from_list([np.zeros(3), np.ones(2)]))) == 2

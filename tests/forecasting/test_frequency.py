"""Grids of time, from days to fiscal years."""

import numpy as np
import pytest

from pansophy.forecasting.frequency import (
    Frequency,
    frequency_name,
    infer_frequency,
    most_frequent,
    usual_seasons,
)

DAY = 86400


def seconds(texts):
    return np.array(texts, "M8[s]").astype(np.int64).astype(float)


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (["2024-01-31", "2024-02-29", "2024-03-31", "2024-05-31"], "monthly"),
        (["2024-01-01", "2024-02-01", "2024-03-01"], "monthly"),
        (["2024-01-30", "2024-02-29", "2024-03-30", "2024-04-30"], "monthly"),
        (["2023-03-31", "2023-06-30", "2023-09-30", "2023-12-31"], "quarterly"),
        (["2020-06-30", "2021-06-30", "2022-06-30"], "yearly"),
        (["2024-01-28", "2024-02-25", "2024-03-31", "2024-04-28"], "monthly"),
        (["2024-01-01", "2024-01-29", "2024-02-26", "2024-03-25"], "every 4 weeks"),
        (["2024-01-01", "2024-01-08", "2024-01-15"], "weekly"),
        (["2024-01-01", "2024-01-02", "2024-01-04"], "daily"),
        (["2024-01-01T00:00", "2024-01-01T00:15", "2024-01-01T00:30"],
         "every 15 minutes"),
        (["2024-01-01T00:30", "2024-01-01T01:30", "2024-01-01T02:30"], "hourly"),
    ],
)  # fmt: skip
def test_calendars(texts, name):
    stamps = seconds(texts)
    grid = infer_frequency(stamps)
    assert grid.name == name
    ordinals = grid.ordinals(stamps)
    assert (np.diff(ordinals) >= 1).all()
    if grid.anchor % 100:
        on_grid = ~grid.off_grid(stamps)
        np.testing.assert_array_equal(grid.stamps(ordinals)[on_grid], stamps[on_grid])
        assert on_grid.all()


def test_business_days_skip_weekends():
    days = seconds(np.arange("2024-01-01", "2024-01-27", dtype="M8[D]"))
    weekday = (days // DAY + 3) % 7
    grid = infer_frequency(days[weekday < 5])
    assert grid == Frequency("business day")
    k = grid.ordinals(days[weekday < 5])
    assert np.array_equal(k, np.arange(k[0], k[0] + 20))
    friday = seconds(["2024-01-05"])
    following = grid.stamps(grid.ordinals(friday) + 1)
    np.testing.assert_array_equal(following, seconds(["2024-01-08"]))
    assert grid.off_grid(seconds(["2024-01-06"])).all()


def test_numbers_and_single_stamps():
    assert infer_frequency([5.0], has_dates=True) is None
    grid = infer_frequency([3, 5, 7, 11], has_dates=False)
    assert grid == Frequency("step", 2, 1)
    np.testing.assert_array_equal(grid.stamps(grid.ordinals([3, 11])), [3, 11])
    assert most_frequent([2, 2, 7]) == (2, 2 / 3)


def test_off_grid_stamps_fall_on_the_point_before():
    grid = Frequency("second", DAY)
    late = seconds(["2024-01-02T03:00"])
    assert grid.off_grid(late).all()
    np.testing.assert_array_equal(
        grid.stamps(grid.ordinals(late)), seconds(["2024-01-02"])
    )


def test_names_and_seasons():
    assert frequency_name(Frequency("second", 5400)) == "every 90 minutes"
    assert Frequency("month", 12).seasons == ()
    assert usual_seasons(Frequency("second", DAY)) == (7.0, 365.25)
    assert usual_seasons(Frequency("second", 7 * DAY))[-1] == 52.18
    assert usual_seasons(Frequency()) == ()

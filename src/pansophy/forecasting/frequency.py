"""Frequency of a time series: the regular grid on which its stamps lie.

A grid numbers its points by whole numbers, its ordinals, so that one step is always 1:

    second           floor((stamp - anchor) / count), for steps of fixed length
    business day     days from Monday to Friday since 1970
    month            floor(months since 1970 / count); the day of the month is fixed,
                     or the last one, or free
    step             whole numbers as they are, where there are no dates

A frequency is inferred from the differences of the stamps of a series. Months are of
unequal length, so that stamps at least 28 days apart are tried as months first: they
must fall into months of their own. Days without any weekend are business days. All else
has steps of fixed length, the most frequent difference. Stamps without a zone are
taken as they are; a day of 23 or 25 hours is one step of a daily series.

Shapes    stamps (n,) seconds since 1970   ordinals (n,) whole numbers
Refs      [Hyndman2021] ch. 2
"""

from typing import Literal, NamedTuple

import numpy as np

DAY = 86400
LAST_DAY = 32  # anchor of months whose stamps are their last day
FREE_DAY = 0  # anchor of months whose stamps fall on different days
MONTHS_FROM = 27.5 * DAY  # shorter differences are no months
Unit = Literal["step", "second", "business day", "month"]


class Frequency(NamedTuple):
    """A grid of stamps: `count` units from one point to the next."""

    unit: Unit = "step"
    count: int = 1
    anchor: int = 0  # seconds into a step, or day of the month

    @property
    def name(self) -> str:
        """The frequency in a word or two: "daily", "every 3 days"."""
        return frequency_name(self)

    def ordinals(self, stamps) -> np.ndarray:
        """The grid point at or before each stamp."""
        stamps = np.asarray(stamps, dtype=float)
        if self.unit == "step":
            steps = np.floor((stamps - self.anchor) / self.count)
            return steps.astype(np.int64)
        if self.unit == "second":
            units = np.round(stamps - self.anchor).astype(np.int64)
            return units // self.count
        if self.unit == "business day":
            days = np.floor(stamps / DAY).astype(np.int64) + 3  # from a Monday
            return 5 * (days // 7) + np.minimum(days % 7, 4)
        return _months_since_1970(stamps) // self.count

    def stamps(self, ordinals) -> np.ndarray:
        """Seconds since 1970 (or whole numbers) of grid points."""
        k = np.asarray(ordinals, dtype=np.int64)
        if self.unit in ("step", "second"):
            return (k * self.count + self.anchor).astype(float)
        if self.unit == "business day":
            return ((k // 5) * 7 + k % 5 - 3) * float(DAY)
        first = (k * self.count + self.month_shift).astype("M8[M]")
        days = first.astype("M8[D]")
        last = (first + 1).astype("M8[D]") - np.timedelta64(1, "D")
        day = self.anchor % 100
        if day == LAST_DAY:
            days = last
        elif day > 1:
            days = np.minimum(days + np.timedelta64(day - 1, "D"), last)
        return days.astype("M8[s]").astype(np.int64).astype(float)

    @property
    def month_shift(self) -> int:
        """Months from the start of a step of several months to its stamp."""
        return self.anchor // 100

    def off_grid(self, stamps) -> np.ndarray:
        """Whether each stamp lies between two grid points."""
        stamps = np.asarray(stamps, dtype=float)
        if self.unit == "month" and self.anchor % 100 == FREE_DAY:
            return np.zeros(len(stamps), dtype=bool)
        return np.abs(self.stamps(self.ordinals(stamps)) - stamps) > 0.5

    @property
    def seasons(self) -> tuple[float, ...]:
        """Lengths of the seasons that are usual at this frequency, shortest first."""
        return usual_seasons(self)

    @property
    def has_dates(self) -> bool:
        return self.unit != "step"


NAMES = {
    ("second", 1): "every second",
    ("second", 60): "every minute",
    ("second", 3600): "hourly",
    ("second", DAY): "daily",
    ("second", 7 * DAY): "weekly",
    ("business day", 1): "every business day",
    ("month", 1): "monthly",
    ("month", 3): "quarterly",
    ("month", 6): "half-yearly",
    ("month", 12): "yearly",
    ("step", 1): "in whole steps",
}
PARTS = ((7 * DAY, "weeks"), (DAY, "days"), (3600, "hours"), (60, "minutes"))


def frequency_name(frequency) -> str:
    """The frequency in a word or two.

    Examples
    --------
    >>> from pansophy.forecasting.frequency import Frequency, frequency_name
    >>> frequency_name(Frequency("month", 3)), frequency_name(Frequency("second", 900))
    ('quarterly', 'every 15 minutes')
    """
    unit, count = frequency.unit, frequency.count
    if (unit, count) in NAMES:
        return NAMES[unit, count]
    if unit == "second":
        for size, word in PARTS:
            if count % size == 0:
                return f"every {count // size} {word}"
    words = {"second": "seconds", "month": "months", "step": "steps"}
    return f"every {count} {words.get(unit, 'business days')}"


def usual_seasons(frequency) -> tuple[float, ...]:
    """Season lengths in steps: a day, a week and a year, as far as they are 2 or more.

    Examples
    --------
    >>> from pansophy.forecasting.frequency import Frequency, usual_seasons
    >>> usual_seasons(Frequency("month")), usual_seasons(Frequency("second", 3600))
    ((12.0,), (24.0, 168.0, 8766.0))
    """
    unit, count = frequency.unit, frequency.count
    if unit == "step":
        return ()
    if unit == "business day":
        return (5.0, 260.89)
    if unit == "month":
        return (12.0 / count,) if 12 % count == 0 and count < 12 else ()
    cycles = [DAY / count, 7 * DAY / count, 365.25 * DAY / count]
    return tuple(round(c, 2) for c in cycles if c >= 2)


def _months_since_1970(stamps) -> np.ndarray:
    days = np.floor(np.asarray(stamps, dtype=float) / DAY).astype(np.int64)
    return days.astype("M8[D]").astype("M8[M]").astype(np.int64)


def most_frequent(values) -> tuple[int, float]:
    """The most frequent whole number, the smallest of several, and its share."""
    numbers, counts = np.unique(values, return_counts=True)
    best = int(np.argmax(counts))
    return int(numbers[best]), float(counts[best] / len(values))


def infer_frequency(stamps, *, has_dates=True) -> Frequency | None:
    """The frequency of one series from its stamps; None if it has fewer than two.

    Parameters
    ----------
    stamps : array of shape (n,)
        Seconds since 1970, or whole numbers.
    has_dates : bool
        Whether they are seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.forecasting.frequency import infer_frequency
    >>> days = np.array(["2024-01-31", "2024-02-29", "2024-03-31"], "M8[s]")
    >>> infer_frequency(days.astype(int)).name
    'monthly'
    """
    stamps = np.unique(np.asarray(stamps, dtype=float))
    if len(stamps) < 2:
        return None
    differences = np.diff(stamps)
    if not has_dates:
        step, _ = most_frequent(np.round(differences).astype(np.int64))
        step = max(step, 1)
        return Frequency("step", step, int(stamps[0]) % step)
    if np.median(differences) >= MONTHS_FROM:
        months = _month_frequency(stamps)
        if months is not None:
            return months
    if _is_business_daily(stamps):
        return Frequency("business day")
    step, _ = most_frequent(np.round(differences).astype(np.int64))
    step = max(step, 1)
    phase, _ = most_frequent(np.round(stamps).astype(np.int64) % step)
    return Frequency("second", step, phase)


def _month_frequency(stamps) -> Frequency | None:
    """Months as a grid, if each stamp has a month of its own; else None."""
    months = _months_since_1970(stamps)
    gaps = np.diff(months)
    if (gaps == 0).any():
        return None
    count, share = most_frequent(gaps)
    if share < 0.5 or (count == 1 and _is_fixed_length(stamps)):
        return None
    shift, _ = most_frequent(months % count)
    days = np.floor(stamps / DAY).astype(np.int64).astype("M8[D]")
    day_of_month = (days - months.astype("M8[M]").astype("M8[D]")).astype(int) + 1
    length = _last_day_of_month(months)
    if (day_of_month == length).mean() > 0.9 and day_of_month.min() > 27:
        anchor = LAST_DAY
    else:
        day, share = most_frequent(day_of_month)
        shortened = (day_of_month == length) & (length < day)
        anchor = day if share + shortened.mean() > 0.9 else FREE_DAY
    return Frequency("month", count, 100 * shift + anchor)


def _last_day_of_month(months) -> np.ndarray:
    first = months.astype("M8[M]")
    return ((first + 1).astype("M8[D]") - first.astype("M8[D]")).astype(int)


def _is_fixed_length(stamps) -> bool:
    """Whether stamps are 28 days apart, as in a calendar of 13 periods."""
    return bool(np.mean(np.diff(stamps) == 28 * DAY) > 0.9 and len(stamps) > 3)


def _is_business_daily(stamps) -> bool:
    """Whether stamps are days of which none is at a weekend."""
    differences = np.diff(stamps)
    if most_frequent(np.round(differences).astype(np.int64))[0] != DAY:
        return False
    weekday = (np.floor(stamps / DAY).astype(np.int64) + 3) % 7
    span = (stamps[-1] - stamps[0]) / DAY
    return bool(span >= 9 and (weekday < 5).all() and np.all(stamps % DAY == 0))

"""Panel: many time series of different lengths on one grid of time.

Series i is values[offsets[i]:offsets[i + 1]], one value for each grid point from its
first to its last stamp; a point without a value is NaN and stays NaN. Its first value
stands at the ordinal start[i] of the frequency. Known covariates, such as promotions
and holidays, may go on beyond the last value: their rows are the future that a forecast
can use. A plain array is a panel of one series without dates.

A table becomes a panel without anything being dropped in silence. Every change is
counted in `PanelFindings`: grid points without a row, stamps between grid points (moved
to the point before), rows without a value after the last one. Two rows of a series
with one stamp are refused unless the way to merge them is named, and so are rows
without a date and series of different frequencies.

Shapes    values (n,)   offsets (s + 1,)   start (s,)   known (m, l), m >= n
Refs      [Hyndman2021] ch. 2
"""

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from ..core.arrays.ragged import Ragged, is_list_of_arrays
from ..core.plain_text import counted_noun
from .frequency import Frequency, infer_frequency

EXAMPLES = 3  # of what is wrong, in an error


# What became of stamps that were not plain dates or whole numbers.
StampReading = Literal["", "local", "UTC", "weeks", "month numbers", "day numbers"]
READINGS = {
    "local": "Stamps are read as local time; their zone is left out.",
    "UTC": "Stamps with a zone are read as UTC, and so are those of the forecasts.",
    "weeks": "Weeks such as 2024-W05 are read as their Monday.",
    "month numbers": "Whole numbers such as 202403 are read as months.",
    "day numbers": "Whole numbers such as 20240315 are read as days.",
}


class PanelFindings(NamedTuple):
    """What was noticed while a table became a panel."""

    rows: int = 0
    series: int = 0
    gaps: int = 0  # grid points without a row
    series_with_gaps: int = 0
    missing_values: int = 0  # rows without a value
    merged: int = 0  # rows that shared a stamp with another
    off_grid: int = 0  # stamps between grid points
    off_grid_examples: tuple[str, ...] = ()
    future_rows: int = 0  # rows after the last value, with known covariates
    cut_rows: int = 0  # rows after the last value, without
    uneven_ends: int = 0  # series that end before the last stamp of the panel
    short: int = 0  # series of fewer than 5 values
    reading: StampReading = ""
    number_form: str = ""  # how numbers written as text are written
    other_frequency: tuple[str, ...] = ()  # series that have not the grid's
    free_days: bool = False  # months, whose stamps fall on different days
    known_filled: int = 0  # grid points whose known columns are those before

    def sentences(self) -> list[str]:
        """The findings in words."""
        texts = []
        if self.gaps:
            is_sparse = self.gaps > self.rows
            texts.append(
                f"{counted_noun(self.gaps, 'grid point')} in {self.series_with_gaps} "
                f"of {self.series} series {'has' if self.gaps == 1 else 'have'} no row "
                f"and stay{'s' if self.gaps == 1 else ''} missing"
                f"{': more than there are rows; do they mix frequencies?' * is_sparse}"
                f"{'' if is_sparse else '.'}"
            )
        if self.missing_values:
            verb = "has" if self.missing_values == 1 else "have"
            texts.append(
                f"{counted_noun(self.missing_values, 'row')} {verb} no value of the "
                "target."
            )
        if self.merged:
            verb = "was" if self.merged == 1 else "were"
            texts.append(
                f"{counted_noun(self.merged, 'row')} {verb} merged into another of the "
                "same stamp."
            )
        if self.off_grid:
            listed = ", ".join(self.off_grid_examples)
            texts.append(
                f"{counted_noun(self.off_grid, 'stamp')} between grid points "
                f"{'was' if self.off_grid == 1 else 'were'} moved to the point before, "
                f"such as {listed}."
            )
        if self.future_rows:
            texts.append(
                "The known columns of the future come from "
                f"{counted_noun(self.future_rows, 'row')} after the last value."
            )
        if self.cut_rows:
            texts.append(
                f"{counted_noun(self.cut_rows, 'row')} after the last value of the "
                f"series {'is' if self.cut_rows == 1 else 'are'} not used, having no "
                "value."
            )
        if self.uneven_ends:
            texts.append(
                f"{self.uneven_ends} of {self.series} series end before the others: "
                "each is forecast from its own end."
            )
        if self.short:
            texts.append(
                f"Fewer than 5 values in {self.short} of {self.series} series."
            )
        if self.other_frequency:
            texts.append(
                f"{len(self.other_frequency)} of {self.series} series had another "
                "frequency and were put on the grid of the others, such as "
                f"{self.other_frequency[0]}."
            )
        if self.free_days:
            texts.append(
                "Stamps fall on different days of the month; forecasts bear the first."
            )
        if self.known_filled:
            texts.append(
                "Known columns of the point before stand in for "
                f"{counted_noun(self.known_filled, 'grid point')} without a row."
            )
        if self.number_form:
            texts.append(f"The target is read from text as {self.number_form}.")
        if self.reading:
            texts.append(READINGS[self.reading])
        return texts


STEPS = Frequency()
NOTHING = PanelFindings()


@dataclass(frozen=True, eq=False, repr=False)
class Panel:
    """Time series of different lengths on one grid, with NaN where a value is missing.

    Parameters
    ----------
    series : Ragged
        The values, one series after the other.
    start : array of int of shape (s,), optional
        Ordinal of the first value of each series; None for 0.
    frequency : Frequency
        The grid.
    keys : dict of str to array of shape (s,)
        What names each series: one array for each column of names.
    known : Ragged or None
        Covariates (l columns) of each series, from its first value on; those beyond
        its last value are the known future.
    known_names : tuple of str
        Names of the covariates.

    Examples
    --------
    >>> from pansophy.forecasting import Panel
    >>> table = {
    ...     "month": ["2024-01-01", "2024-02-01", "2024-04-01", "2024-01-01"],
    ...     "shop": ["a", "a", "a", "b"],
    ...     "sales": [3.0, 4.0, 6.0, 1.0],
    ... }
    >>> panel = Panel.from_table(table, time="month", target="sales", series=["shop"])
    >>> panel
    Panel(2 series of 1 to 4 values, monthly, 1 missing)
    >>> panel.series[0]
    array([ 3.,  4., nan,  6.])
    """

    series: Ragged
    start: Any = None
    frequency: Frequency = STEPS
    keys: dict = field(default_factory=dict)
    known: Ragged | None = None
    known_names: tuple = ()
    findings: PanelFindings = NOTHING

    def __post_init__(self):
        values = np.asarray(self.series.values, dtype=float)
        if values.ndim != 1:
            raise ValueError(
                "the series of a Panel have one value a step, not several."
            )
        if np.isinf(values).any():
            raise ValueError("the series of a Panel hold infinite values.")
        n = len(self.series)
        start = np.zeros(n, np.int64) if self.start is None else self.start
        start = np.asarray(start, dtype=np.int64)
        if len(start) != n:
            raise ValueError(f"start has {len(start)} entries for {n} series.")
        object.__setattr__(self, "series", Ragged(values, self.series.offsets))
        object.__setattr__(self, "start", start)
        if not self.keys:
            object.__setattr__(self, "keys", {"series": np.arange(n)})
        if self.known is not None and (
            len(self.known) != n or (self.known.lengths < self.lengths).any()
        ):
            raise ValueError("known covariates must cover every value of every series.")

    @classmethod
    def from_list(cls, series, **parts) -> "Panel":
        """From a list of vectors."""
        return cls(
            Ragged.from_list([np.ravel(y).astype(float) for y in series]), **parts
        )

    @classmethod
    def from_table(
        cls,
        table,
        time,
        target,
        series=(),
        *,
        known=(),
        frequency=None,
        merge: Literal["sum", "mean"] | None = None,
    ) -> "Panel":
        """From a table with a row for each series and stamp.

        Parameters
        ----------
        table : data frame, Arrow table, dict of columns or file
            The rows, in any order.
        time : str
            Column of dates, or of whole numbers.
        target : str
            Column to forecast.
        series : list of str
            Columns that name the series; none for a single one.
        known : list of str
            Columns of numbers that are known in the future too. Rows after the last
            value of a series give their values there.
        frequency : Frequency or None
            The grid; None to infer it.
        merge : {"sum", "mean"} or None
            What becomes of rows of a series with the same stamp; None refuses them.
        """
        from .panel_table import read_panel

        return read_panel(cls, table, time, target, series, known, frequency, merge)

    def __len__(self) -> int:
        return len(self.series)

    def __repr__(self):
        low, high = (self.lengths.min(), self.lengths.max()) if len(self) else (0, 0)
        missing = int(np.isnan(self.values).sum())
        return (
            f"Panel({len(self)} series of {low} to {high} values, "
            f"{self.frequency.name}, {missing} missing)"
        )

    @property
    def values(self) -> np.ndarray:
        return self.series.values

    @property
    def offsets(self) -> np.ndarray:
        return self.series.offsets

    @property
    def lengths(self) -> np.ndarray:
        return self.series.lengths

    @property
    def ends(self) -> np.ndarray:
        """Ordinal of the first step after each series."""
        return self.start + self.lengths

    @property
    def names(self) -> np.ndarray:
        """One text for each series."""
        columns = [np.asarray(c).astype(str) for c in self.keys.values()]
        return np.array(["/".join(parts) for parts in zip(*columns, strict=True)])

    def __getitem__(self, which) -> "Panel":
        """The panel of some of the series: numbers, a slice or a mask."""
        if isinstance(which, (int, np.integer)):
            which = [which]
        known = None if self.known is None else self.known[which]
        keys = {name: np.asarray(column)[which] for name, column in self.keys.items()}
        return Panel(
            self.series[which],
            self.start[which],
            self.frequency,
            keys,
            known,
            self.known_names,
            self.findings,
        )

    def observed(self) -> np.ndarray:
        """The number of values of each series that are not missing."""
        return np.add.reduceat(~np.isnan(self.values), self.offsets[:-1])

    def with_values(self, values) -> "Panel":
        """A copy of the panel with other values (n,)."""
        return Panel(
            Ragged(np.asarray(values, dtype=float), self.offsets),
            self.start,
            self.frequency,
            self.keys,
            self.known,
            self.known_names,
            self.findings,
        )

    def truncated(self, lengths) -> "Panel":
        """The first `lengths` (s,) values of each series; lengths must be at least 1.

        Known covariates stay, since they are known in the future too.
        """
        lengths = np.asarray(lengths, dtype=np.int64)
        if (lengths < 1).any() or (lengths > self.lengths).any():
            raise ValueError("a series can be cut to between 1 and all of its values.")
        rows = ragged_range(self.offsets[:-1], lengths)
        series = Ragged(self.values[rows], np.r_[0, np.cumsum(lengths)])
        return Panel(
            series,
            self.start,
            self.frequency,
            self.keys,
            self.known,
            self.known_names,
            self.findings,
        )

    def following(self, lengths, horizon) -> np.ndarray:
        """(s, horizon) the values after the first `lengths` (s,); NaN beyond."""
        place = np.asarray(lengths)[:, None] + np.arange(horizon)
        inside = place < self.lengths[:, None]
        rows = np.where(inside, self.offsets[:-1, None] + place, 0)
        return np.where(inside, self.values[rows], np.nan)

    def future_known(self, horizon) -> np.ndarray | None:
        """(s, horizon, l) of the known covariates after each series; None if none.

        Raises ValueError where they do not reach so far.
        """
        if self.known is None:
            return None
        ahead = self.known.lengths - self.lengths
        if (ahead < horizon).any():
            first = int(np.argmax(ahead < horizon))
            location = f" in series {self.names[first]}" if len(self) > 1 else ""
            raise ValueError(
                f"known columns must reach {counted_noun(horizon, 'step')} beyond the "
                f"last value, but reach {ahead[first]}{location}: add rows without the "
                "target that give them."
            )
        rows = self.known.offsets[:-1, None] + self.lengths[:, None]
        return self.known.values[rows + np.arange(horizon)]

    def known_rows(self) -> np.ndarray | None:
        """(n, l) of the known covariates at the values; None if there are none."""
        if self.known is None:
            return None
        return self.known.values[ragged_range(self.known.offsets[:-1], self.lengths)]

    def extended(self, new) -> "Panel":
        """This panel followed by the rows of another one, of the same series."""
        new = as_panel(new)
        if not np.array_equal(new.names, self.names):
            raise ValueError("new rows must be of the same series, in the same order.")
        begins = new.start
        if not new.frequency.has_dates and not new.start.any():
            begins = self.ends  # plain arrays go on where the series ended
        if new.frequency != self.frequency and new.frequency.has_dates:
            raise ValueError(
                f"new rows are {new.frequency.name}, those before are "
                f"{self.frequency.name}."
            )
        if (begins < self.ends).any():
            first = int(np.argmax(begins < self.ends))
            raise ValueError(
                f"new rows of series {self.names[first]} begin before its end."
            )
        parts = []
        for i in range(len(self)):
            gap = np.full(begins[i] - self.ends[i], np.nan)
            parts.append(np.concatenate([self.series[i], gap, new.series[i]]))
        known = None
        names = ()
        if self.known is not None and (
            new.known is not None
            or (self.known.lengths >= [len(p) for p in parts]).all()
        ):
            known = self.known
            names = self.known_names
            if new.known is not None:
                known = _joined_known(self, new, begins)
        return Panel(
            Ragged.from_list(parts), self.start, self.frequency, self.keys, known, names
        )

    def stamps_ahead(self, horizon) -> np.ndarray:
        """(s, horizon) the stamps after each series: dates, or whole numbers."""
        ordinals = self.ends[:, None] + np.arange(horizon)
        return stamps_as_dates(self.frequency, ordinals)


def stamps_as_dates(frequency, ordinals) -> np.ndarray:
    """Grid points as dates (datetime64[s]), or as whole numbers."""
    stamps = frequency.stamps(ordinals).astype(np.int64)
    return stamps.astype("M8[s]") if frequency.has_dates else stamps


def _joined_known(panel, new, begins) -> Ragged:
    """Known covariates of a panel and of later rows, the later ones where they are."""
    parts = []
    for i in range(len(panel)):
        head = panel.known[i][: begins[i] - panel.start[i]]
        parts.append(np.concatenate([head, new.known[i]]))
    return Ragged.from_list(parts)


def ragged_range(begins, lengths) -> np.ndarray:
    """The row numbers begin, begin + 1, ... of runs of some lengths, joined."""
    lengths = np.asarray(lengths, dtype=np.int64)
    offsets = np.r_[0, np.cumsum(lengths)]
    shift = np.repeat(np.asarray(begins) - offsets[:-1], lengths)
    return np.arange(offsets[-1]) + shift


def as_panel(y) -> Panel:
    """A Panel from a Panel, a vector, a list of vectors or a Ragged.

    Examples
    --------
    >>> from pansophy.forecasting.panel import as_panel
    >>> as_panel([1.0, 2.0, 3.0])
    Panel(1 series of 3 to 3 values, in whole steps, 0 missing)
    """
    if isinstance(y, Panel):
        return y
    if isinstance(y, Ragged):
        return Panel(y)
    if is_list_of_arrays(y):
        return Panel.from_list(y)
    values = np.asarray(y)
    if values.dtype.kind not in "fiub":
        try:
            values = values.astype(float)
        except (TypeError, ValueError):
            raise ValueError("a series must hold numbers.") from None
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.ravel()
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(
            "a series must be a vector of at least one value (or give a Panel or a "
            f"list of vectors), got shape {values.shape}."
        )
    return Panel.from_list([values])


def common_frequency(stamps, codes, names, has_dates) -> tuple[Frequency, tuple]:
    """The frequency of all series together, and the names of the few that differ.

    `stamps` (n,) and `codes` (n,), the series of each row. ValueError if many differ.
    """
    guess_members: dict[tuple, list[int]] = {}
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(names) + 1))
    guesses = {}
    for i in range(len(names)):
        rows = order[bounds[i] : bounds[i + 1]]
        guess = infer_frequency(stamps[rows], has_dates=has_dates)
        if guess is not None:
            guesses[i] = guess
            guess_members.setdefault((guess.unit, guess.count), []).append(i)
    if not guess_members:
        guess_of_all = infer_frequency(stamps, has_dates=has_dates)
        default = Frequency("second", 86400) if has_dates else Frequency()
        return guess_of_all or default, ()
    ranked = sorted(guess_members.items(), key=lambda pair: -len(pair[1]))
    trusted = [pair for pair in ranked if len(pair[1]) > 0.1 * len(guesses)]
    kinds = {
        "step" if unit == "step" else (unit, count) for (unit, count), _ in trusted
    }
    business = {("second", 86400), ("business day", 1)}
    odd = tuple(
        f"{names[i]} ({guesses[i].name})"
        for pair in ranked
        if pair not in trusted
        for i in pair[1]
    )
    if kinds == business:
        return guesses[guess_members["second", 86400][0]], odd
    if len(kinds) > 1:
        listed = "; ".join(
            f"{len(members)} {guesses[members[0]].name} (such as {names[members[0]]})"
            for _, members in trusted[:EXAMPLES]
        )
        raise ValueError(
            f"The series have different frequencies: {listed}. Forecast each kind in "
            "a run of its own, or sum the finer ones up before."
        )
    members = ranked[0][1]
    anchors: dict[int, int] = {}
    for i in members:
        anchors[guesses[i].anchor] = anchors.get(guesses[i].anchor, 0) + 1
    anchor = max(anchors, key=lambda a: anchors[a])
    return guesses[members[0]]._replace(anchor=anchor), odd

"""Comparison of new rows with the training rows: drift, unknown levels, ranges.

`diagnose.reference_of` keeps a few numbers of every used column and `diagnose.drift`
tests new rows against them. Both see rows the way the model does: as a table made from
a frame, so that numbers written as text in one file and as numbers in another are the
same. Of texts the length is compared. Of a long table an evenly spaced subset of the
rows of each batch is used, so that the table can be streamed.

A single value can be far from all that was learned from without any drift. With a and b
the ends of a column in training, a number or date is far outside if it lies below

    a - w or above b + w,     w = b - a                                          (1)

and every row is held against that.

Explanations need rows to compare with. They are made, not kept: `background_rows` takes
of each column B values at evenly spaced ranks, in an order of its own, so that columns
have the distributions they had in training and no row of training is in the file:

    z_bj = the value of rank (pi_j(b) + 1/2) / B of column j,  pi_j a permutation    (2)

In columns of fractions it is the middle of two values, which none of the rows had.
Texts are not taken apart like that: a background text is empty.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...diagnose import Reference, drift, reference_of
from ...diagnose.findings import Finding, make_finding
from ...tables import MixedFrame

MIN_ROWS_FOR_DRIFT = 20  # rows below which shares say nothing
MAX_CHECKED_ROWS = 100_000  # rows looked at
CHECKED_PER_BATCH = 2048  # of one batch
WARNING_SHARE = 0.1
UNKNOWN_LEVEL = "(unknown)"
ROLES_WITH_RANGE = ("number", "date")
BACKGROUND_ROWS = 50  # rows that explanations compare with
MIN_SHOWN_ROWS = 5  # rows that have a level before it is shown to others


def training_reference(frame: MixedFrame, columns) -> Reference:
    """Summary of the training rows, with the range of each column."""
    result = reference_of(frame_to_table(frame, columns))
    laws = dict(result.columns)
    for j, c in enumerate(k for k in columns if k.role != "text"):
        law = laws[c.name]
        if c.role in ROLES_WITH_RANGE and len(law.values) > 1:
            values = law.values.copy()
            x = frame.values[:, j]
            values[0], values[-1] = np.fmin.reduce(x), np.fmax.reduce(x)
            laws[c.name] = replace(law, values=values)
    return replace(result, columns=laws)


def background_rows(frame: MixedFrame, rng, n=BACKGROUND_ROWS) -> MixedFrame:
    """Rows for explanations made of the columns of training rows, eq. (2)."""
    n = min(n, len(frame))
    values = np.empty((n, frame.values.shape[1]))
    place = ((np.arange(n) + 0.5) / max(n, 1) * len(frame)).astype(int)
    for j, column in enumerate(frame.values.T):
        x = np.sort(column)
        known = len(x) - np.count_nonzero(np.isnan(x))  # NaN come last
        picked = x[place]
        if known > 1 and (x[:known] != np.rint(x[:known])).any():
            neighbor = np.where(place + 1 < known, place + 1, place - 1)
            picked = np.where(place < known, (picked + x[neighbor]) / 2, picked)
        values[:, j] = rng.permutation(picked)
    texts = tuple(pa.array([""] * n, pa.string()) for _ in frame.texts)
    return MixedFrame(values, texts)


def common_levels(reference, column) -> list:
    """The levels that enough training rows have to be shown, in their order.

    A level of a few rows may be the name of a person.
    """
    rows_of = _rows_by_level(reference, column)
    return [k for k in column.levels if rows_of.get(str(k), 0) >= MIN_SHOWN_ROWS]


def _rows_by_level(reference, column) -> dict[str, int]:
    """Numbers of training rows with the frequent levels of a column."""
    law = None if reference is None else reference.columns.get(column.name)
    if law is None:
        return {}
    known = law.rows * (1 - law.missing)
    return {name: round(share * known) for name, share in law.shares.items()}


def typical_value(reference, column):
    """The median of a column, or its most frequent level if many rows have it."""
    law = None if reference is None else reference.columns.get(column.name)
    if column.role in ("category", "ordinal"):
        rows_of = _rows_by_level(reference, column)
        shown = common_levels(reference, column)
        return max(shown, key=lambda k: rows_of[str(k)], default=None)
    if law is None or not len(law.values):
        return None
    return law.values[len(law.values) // 2]


def frame_to_table(frame, columns) -> pa.Table:
    """A frame as a plain table: numbers, names of levels, dates, lengths of texts."""
    arrays: dict[str, pa.Array] = {}
    number = text = 0
    for c in columns:
        if c.role == "text":
            arrays[f"length of {c.name}"] = pc.utf8_length(frame.texts[text])
            text += 1
            continue
        arrays[c.name] = _column_to_arrow(frame.values[:, number], c)
        number += 1
    return pa.table(arrays)


def never_missing(reference, column) -> bool:
    """Whether a column had no missing value in training, as far as is known."""
    name = f"length of {column.name}" if column.role == "text" else column.name
    law = None if reference is None else reference.columns.get(name)
    return law is not None and law.missing == 0


def _column_to_arrow(values, column) -> pa.Array:
    gone = np.isnan(values)
    if column.role in ("category", "ordinal"):
        names = pa.array([*column.levels, UNKNOWN_LEVEL], pa.string())
        codes = np.where(gone | (values < 0), len(column.levels), values)
        return names.take(pa.array(codes.astype(np.int64), mask=gone))
    if column.role == "date":
        seconds = np.where(gone, 0, values).astype("datetime64[s]")
        return pa.array(seconds, mask=gone)
    return pa.array(values, mask=gone)


class ReferenceCheck:
    """New rows that were looked at, batch by batch."""

    def __init__(self, reference, columns):
        self.reference, self.columns = reference, columns
        self.tables: list[pa.Table] = []
        self.rows = 0
        self.ends = _training_ranges(reference, columns)
        self.far: OutOfRange | None = None

    def add(self, table: pa.Table, far=None) -> "ReferenceCheck":
        if far is not None:
            self.far = far if self.far is None else self.far.with_(far)
        if self.rows < MAX_CHECKED_ROWS:
            self.tables.append(table)
            self.rows += table.num_rows
        return self

    def findings(self) -> list[Finding]:
        """Levels never seen, values far outside, and columns that have drifted."""
        if self.reference is None or not self.rows:
            return []
        table = pa.concat_tables(self.tables)
        new_levels = [
            f for c in self.columns for f in _unknown_level_findings(table, c)
        ]
        far = _range_findings(self.ends, self.far)
        if self.rows < MIN_ROWS_FOR_DRIFT:
            return new_levels + far
        warned = {f.column for f in new_levels if f.severity == "warning"}
        findings = drift(self.reference, table, whole=False).findings
        wanted = lambda f: (
            f.kind in ("drift", "unit changed") and f.column not in warned
        )
        drifted = [f for f in findings if wanted(f)]
        warned = {f.column for f in drifted}  # a column that has moved is told once
        return new_levels + [f for f in far if f.column not in warned] + drifted


class TrainingRanges(NamedTuple):
    """Columns with ends in training: their places in a frame, and the ends."""

    columns: list
    places: list[int]
    low: np.ndarray
    high: np.ndarray


class OutOfRange(NamedTuple):
    """Rows far outside in each of those columns, eq. (1), and the farthest values."""

    rows: int
    counts: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray

    def with_(self, other) -> "OutOfRange":
        low = np.fmin(self.lowest, other.lowest)
        high = np.fmax(self.highest, other.highest)
        return OutOfRange(self.rows + other.rows, self.counts + other.counts, low, high)


def _training_ranges(reference, columns) -> TrainingRanges:
    """Ranges of the columns in training."""
    kept, places, ends = [], [], []
    plain = [c for c in columns if c.role != "text"]
    for j, c in enumerate(plain if reference is not None else []):
        law = reference.columns.get(c.name)
        if c.role in ROLES_WITH_RANGE and law is not None and len(law.values) > 1:
            kept.append(c)
            places.append(j)
            ends.append((law.values[0], law.values[-1]))
    low, high = np.array(ends, dtype=float).reshape(-1, 2).T
    return TrainingRanges(kept, places, low, high)


def count_out_of_range(frame, ends) -> OutOfRange:
    """Eq. (1) for every row of a frame."""
    x = frame.values
    w = ends.high - ends.low
    lowest, highest = (
        f.reduce(x, axis=0, initial=np.nan)[ends.places] for f in (np.fmin, np.fmax)
    )
    low, high = ends.low - w, ends.high + w
    counts = np.zeros(len(low), dtype=np.int64)
    for k in np.flatnonzero((lowest < low) | (highest > high)):
        column = x[:, ends.places[k]]
        counts[k] = np.count_nonzero((column < low[k]) | (column > high[k]))
    return OutOfRange(len(x), counts, lowest, highest)


def _range_findings(ends, far) -> list[Finding]:
    """One finding for each column with values far outside those of training."""
    findings = []
    for k in [] if far is None else np.flatnonzero(far.counts):
        c = ends.columns[k]
        n = int(far.counts[k])
        a, b = ends.low[k], ends.high[k]
        excess_below, excess_above = a - far.lowest[k], far.highest[k] - b
        worst = far.lowest[k] if excess_below > excess_above else far.highest[k]
        tell = lambda v, c=c: str(_column_to_arrow(np.array([v]), c)[0])[:10]
        tell = tell if c.role == "date" else "{:.4g}".format
        text = (
            f"{c.name!r} is far outside the training range in {n:,} of {far.rows:,} "
            f"rows (such as {tell(worst)}, where training had {tell(a)} to {tell(b)}): "
            "predictions there are extrapolated, however sure they look."
        )
        severity = "warning" if n / far.rows >= WARNING_SHARE else "note"
        facts = {"rows": n, "share": n / far.rows, "low": float(a), "high": float(b)}
        findings.append(
            make_finding("out of range", severity, text, column=c.name, **facts)
        )
    return findings


def evenly_spaced_rows(frame, columns, max_rows=CHECKED_PER_BATCH) -> pa.Table:
    """At most so many rows of a frame, evenly spread, for `ReferenceCheck`."""
    step = -(-len(frame) // max_rows)
    rows = np.arange(0, len(frame), step) if step > 1 else slice(None)
    return frame_to_table(frame[rows], columns)


def _unknown_level_findings(table, column):
    """Whether a category has levels that were not in training."""
    if column.role not in ("category", "ordinal"):
        return
    n = pc.sum(pc.equal(table.column(column.name), UNKNOWN_LEVEL)).as_py() or 0
    if n:
        share = n / table.num_rows
        text = (
            f"{_format_share(share)} of the rows have a value of {column.name!r} that "
            "was not in training; it counts as unknown."
        )
        severity = "warning" if share >= WARNING_SHARE else "note"
        yield make_finding(
            "unknown levels", severity, text, column=column.name, share=share
        )


def _format_share(share) -> str:
    return "Under 1 %" if share < 0.01 else f"{100 * share:.0f} %"

"""What the training rows looked like, and how far new rows are from it.

`diagnose.reference_of` keeps a few numbers of every used column and `diagnose.drift`
tests new rows against them. Both see rows the way the model does: as a table made from
a frame, so that numbers written as text in one file and as numbers in another are the
same. Of texts the length is compared. Of a long table every so-manieth row is looked
at, as many in each batch, so that it can stream by.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..diagnose import Reference, drift, reference_of
from ..diagnose.findings import Finding, finding
from ..tables import Frame

FEWEST = 20  # rows below which shares say nothing
MOST = 100_000  # rows looked at
BATCH = 2048  # of one batch
TELLING = 0.1
UNKNOWN = "(unknown)"


def keep(frame: Frame, columns) -> Reference:
    """What is kept of the training rows."""
    return reference_of(table_of(frame, columns))


def table_of(frame, columns) -> pa.Table:
    """A frame as a plain table: numbers, names of levels, dates, lengths of texts."""
    out: dict[str, pa.Array] = {}
    number = text = 0
    for c in columns:
        if c.role == "text":
            out[f"length of {c.name}"] = pc.utf8_length(frame.texts[text])
            text += 1
            continue
        out[c.name] = plain_column(frame.values[:, number], c)
        number += 1
    return pa.table(out)


def complete(reference, column) -> bool:
    """Whether a column had no missing value in training, as far as is known."""
    name = f"length of {column.name}" if column.role == "text" else column.name
    law = None if reference is None else reference.columns.get(name)
    return law is not None and law.missing == 0


def plain_column(values, column) -> pa.Array:
    gone = np.isnan(values)
    if column.role in ("category", "ordinal"):
        names = pa.array([*column.levels, UNKNOWN], pa.string())
        codes = np.where(gone | (values < 0), len(column.levels), values)
        return names.take(pa.array(codes.astype(np.int64), mask=gone))
    if column.role == "date":
        seconds = np.where(gone, 0, values).astype("datetime64[s]")
        return pa.array(seconds, mask=gone)
    return pa.array(values, mask=gone)


class Looked:
    """New rows that were looked at, batch by batch."""

    def __init__(self, reference, columns):
        self.reference, self.columns = reference, columns
        self.tables: list[pa.Table] = []
        self.rows = 0

    def add(self, table: pa.Table) -> "Looked":
        if self.rows < MOST:
            self.tables.append(table)
            self.rows += table.num_rows
        return self

    def findings(self) -> list[Finding]:
        """Levels never seen, and columns that have drifted."""
        if self.reference is None or not self.rows:
            return []
        table = pa.concat_tables(self.tables)
        out = [f for c in self.columns for f in unknown(table, c)]
        if self.rows < FEWEST:
            return out
        told = {f.column for f in out if f.severity == "warning"}
        found = drift(self.reference, table, whole=False).findings
        wanted = lambda f: f.kind in ("drift", "unit changed") and f.column not in told
        return out + [f for f in found if wanted(f)]


def some_of(frame, columns, most=BATCH) -> pa.Table:
    """At most so many rows of a frame, evenly spread, for `Looked`."""
    step = -(-len(frame) // most)
    rows = np.arange(0, len(frame), step) if step > 1 else slice(None)
    return table_of(frame[rows], columns)


def unknown(table, column):
    """Whether a category has levels that were not in training."""
    if column.role not in ("category", "ordinal"):
        return
    n = pc.sum(pc.equal(table.column(column.name), UNKNOWN)).as_py() or 0
    if n:
        share = n / table.num_rows
        text = (
            f"{percent(share)} of the rows have a value of {column.name!r} that was "
            "not in training; it counts as unknown."
        )
        grave = "warning" if share >= TELLING else "note"
        yield finding("unknown levels", grave, text, column=column.name, share=share)


def percent(share) -> str:
    return "Under 1 %" if share < 0.01 else f"{100 * share:.0f} %"

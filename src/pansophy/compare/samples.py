"""The rows of a comparison: inputs, targets, weights, groups and times."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..tables import MixedFrame


@dataclass(frozen=True)
class Samples:
    """n rows, only ever sliced; see `Schema` for what the columns mean."""

    frame: MixedFrame
    y: np.ndarray  # (n,) numbers or class codes; (n, L) of 0 and 1 for labels
    weight: np.ndarray | None = None
    group: np.ndarray | None = None  # codes
    time: np.ndarray | None = None  # seconds, or any number that orders the rows

    def __len__(self):
        return len(self.y)

    def __getitem__(self, where):
        return self.rows(where)

    def rows(self, where) -> "Samples":
        pick = lambda a: None if a is None else a[where]
        rest = map(pick, (self.weight, self.group, self.time))
        return Samples(self.frame[where], self.y[where], *rest)


def fill_empty_labels(table, schema) -> pa.Table:
    """An empty cell among texts that list labels is a row with no label."""
    if schema.task != "multilabel" or schema.form in ("", "list"):
        return table
    position = table.column_names.index(schema.target)
    column = table.column(position)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not column.null_count or pa.types.is_null(column.type):
        return table
    return table.set_column(position, schema.target, pc.fill_null(column, ""))

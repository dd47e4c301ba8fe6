"""Rows ready for preparation: one float matrix, and the columns of free text beside it.

A frame is made from a table once (`Schema.frame`) and then only sliced: nothing in it
has been learned from other rows. Codes of levels are positions in the levels of the
schema, -1 for a level the schema does not know and NaN for a missing value; dates are
seconds since 1970. Whatever is learned (means, encodings, vocabularies) is learned
from the rows of a training part by `Preparation`.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa


@dataclass(frozen=True)
class Frame:
    """n rows: `values` (n, p) of the columns that are not text, `texts` of the others.

    Both follow the order of `Schema.used`.
    """

    values: np.ndarray
    texts: tuple[pa.Array, ...] = ()

    def __len__(self):
        return len(self.values)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.values), self.values.shape[1] + len(self.texts)

    def __getitem__(self, rows) -> "Frame":
        """The rows of an index array, a mask or a slice."""
        if not self.texts or isinstance(rows, slice):
            return Frame(self.values[rows], tuple(t[rows] for t in self.texts))
        where = np.asarray(rows)
        where = np.flatnonzero(where) if where.dtype == bool else where
        return Frame(
            self.values[where], tuple(t.take(pa.array(where)) for t in self.texts)
        )

"""Rows ready for preparation: one float matrix, and free-text columns beside it.

A frame is made from a table once (`Schema.frame`) and then only sliced: nothing in it
has been learned from other rows. Codes of levels are positions in the levels of the
schema, -1 for a level the schema does not know and NaN for a missing value; dates are
seconds since 1970. Means, encodings and vocabularies are learned by `Preparation` from
training rows.
"""

import zlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa


@dataclass(frozen=True)
class MixedFrame:
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

    def __getitem__(self, rows) -> "MixedFrame":
        """The rows of an index array, a mask or a slice."""
        if not self.texts or isinstance(rows, slice):
            return MixedFrame(self.values[rows], tuple(t[rows] for t in self.texts))
        indices = np.asarray(rows)
        indices = np.flatnonzero(indices) if indices.dtype == bool else indices
        return MixedFrame(
            self.values[indices], tuple(t.take(pa.array(indices)) for t in self.texts)
        )

    def digits(self) -> np.ndarray:
        """A hash of each row as a number in [0, 1), uniform like a random draw.

        Equal rows have equal numbers in any frame; values are rounded to float32.
        """
        h = np.zeros(len(self), dtype=np.uint64)
        with np.errstate(over="ignore", invalid="ignore"):
            V = (
                np.where(np.isnan(self.values), np.nan, self.values) + 0.0
            )  # one NaN, one zero
            bits = np.ascontiguousarray(V, dtype=np.float32).view(np.uint32)
            for column in bits.T:
                h = _hashed_words(h ^ column)
            for text in self.texts:
                hashes = (
                    0 if t is None else zlib.crc32(t.encode()) + 1
                    for t in text.to_pylist()
                )
                h = _hashed_words(h ^ np.fromiter(hashes, np.uint64, len(self)))
        return (h >> np.uint64(11)) * 2.0**-53


def _hashed_words(h):
    """The SplitMix64 mixing function of 64-bit words."""
    h = h + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        h = (h ^ (h >> np.uint64(shift))) * np.uint64(factor)
    return h ^ (h >> np.uint64(31))

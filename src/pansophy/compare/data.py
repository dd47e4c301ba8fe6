"""The rows of a comparison: inputs, answers, and what groups and weighs them."""

from dataclasses import dataclass

import numpy as np

from ..tables import Frame


@dataclass(frozen=True)
class Data:
    """n rows, only ever sliced; see `Schema` for what the columns mean."""

    frame: Frame
    y: np.ndarray  # (n,) numbers or class codes; (n, L) of 0 and 1 for labels
    weight: np.ndarray | None = None
    group: np.ndarray | None = None  # codes
    time: np.ndarray | None = None  # seconds, or any number that orders the rows

    def __len__(self):
        return len(self.y)

    def rows(self, where) -> "Data":
        pick = lambda a: None if a is None else a[where]
        rest = map(pick, (self.weight, self.group, self.time))
        return Data(self.frame[where], self.y[where], *rest)

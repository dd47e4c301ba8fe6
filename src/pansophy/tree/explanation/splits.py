"""Descriptions of splits: thresholds, sets of levels and half circles.

A tree holds its splits as numbers and bits. With the tables of its inputs each split
can be read, written as text, and tested on values.
"""

from typing import NamedTuple

import numpy as np

from ..growing._structures import HALF
from ..growing.input_encoding import InputEncoder
from ..storage.tree import LEAF, Tree


class ThresholdSplit(NamedTuple):
    """A number goes left if it is at most `threshold`."""

    feature: int
    threshold: float
    missing_left: bool

    def test(self, x):
        """Whether values go left."""
        x = np.asarray(x, float)
        return np.where(np.isnan(x), self.missing_left, x <= self.threshold)

    def __str__(self):
        return f"column {self.feature} <= {self.threshold:.6g}"


class LevelSplit(NamedTuple):
    """A level goes left if it is one of `left`, right if of `right`."""

    feature: int
    left: tuple
    right: tuple
    missing_left: bool

    def test(self, x):
        """Whether levels go left; one that is in neither set goes as if missing."""
        left, right = set(self.left), set(self.right)
        other = self.missing_left
        answer = [v in left or (v not in right and other) for v in np.ravel(x).tolist()]
        return np.reshape(answer, np.shape(x))

    def __str__(self):
        return f"column {self.feature} in {{{', '.join(map(str, self.left))}}}"


class DirectionalSplit(NamedTuple):
    """An angle t goes left if u . (cos t, sin t) >= 0, u pointing to `direction`.

    Examples
    --------
    >>> from pansophy.tree import DirectionalSplit
    >>> split = DirectionalSplit(feature=0, direction=0.0, period=360.0)
    >>> split.test([350.0, 10.0, 180.0, 370.0])
    array([ True,  True, False,  True])
    >>> print(split)
    column 0 within a quarter turn (90) of 0
    """

    feature: int
    direction: float  # in the units of the column, from 0 to below the period
    period: float = 2 * np.pi
    missing_left: bool = False

    @property
    def u(self):
        """The unit vector of the direction."""
        t = 2 * np.pi * self.direction / self.period
        return np.array([np.cos(t), np.sin(t)])

    def test(self, x):
        """Whether angles go left."""
        x = np.asarray(x, float)
        turn = np.mod((x - self.direction) / self.period + 0.25, 1.0)
        return np.where(np.isnan(x), self.missing_left, turn < 0.5)

    def __str__(self):
        quarter = f"within a quarter turn ({self.period / 4:.6g})"
        return f"column {self.feature} {quarter} of {self.direction:.6g}"


def unpack_code_set(row):
    """(256,) mask of the codes that go left, of a row of `Tree.sets`."""
    return np.unpackbits(row.astype("<u8").view(np.uint8), bitorder="little") > 0


def describe_split(tree: Tree, inputs: InputEncoder, node):
    """The split of a node, or None at a leaf."""
    if tree.children_left[node] == LEAF:
        return None
    f = int(tree.feature[node])
    missing_left = bool(tree.missing_go_to_left[node])
    if inputs.plain or inputs.tables[f] is None or tree.sets is None:
        return ThresholdSplit(f, float(tree.threshold[node]), missing_left)
    table = inputs.tables[f]
    left = unpack_code_set(tree.sets[node])
    if inputs.forms[f] == HALF:
        k = len(table.edges) // 2
        # the first arc of the half circle is the one whose forerunner stays right
        start = np.flatnonzero(left[: 2 * k] & ~np.roll(left[: 2 * k], 1))[0]
        middle = np.mod(table.edges[start] + 0.25, 1.0) * table.period
        return DirectionalSplit(f, float(middle), table.period, missing_left)
    goes = left[table.codes]
    names = lambda mask: tuple(table.values[mask].tolist())
    return LevelSplit(f, names(goes), names(~goes), missing_left)


def describe_splits(tree: Tree, inputs: InputEncoder) -> list:
    """The split of each node, None at leaves."""
    return [describe_split(tree, inputs, node) for node in range(tree.node_count)]

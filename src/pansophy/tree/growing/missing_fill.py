"""Missing values filled in before a tree sees them: by mean, mode or a model.

    mean    the mean of a column of numbers, the mode of one of levels or angles
    mode    the most frequent value of a column; of equals the least
    model   what a tree of the other columns, grown on the rows that have the value,
            predicts for the row

All are learned from the training rows, by weight, and used for new rows too. A tree of
"model" sends values that are missing in its own columns the way that gained more. A
column without any value stays missing.

Cost O(n d) for mean and mode, d trees for "model".

Shapes    X (n, d) float32, numbers and codes
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...core.arrays.codes import encode_values
from ._structures import SQUARE
from .criteria import Criterion
from .grower import GrowthLimits, grow_tree
from .prepared_columns import prepare_columns

FILLS = ("mean", "mode", "model")
LEAF_SHARE = 0.02  # of the weight, in a leaf of a tree that predicts a column


class MissingFill(NamedTuple):
    """Replacements of missing values, by column."""

    values: np.ndarray  # (d,) float32, NaN where a column has no value
    trees: tuple = ()  # by column the tree that predicts it, or None
    levels: tuple = ()  # by column the codes its tree chooses from, or None

    def apply(self, X):
        """X (n, d) without missing values, dense."""
        X = X.toarray() if sp.issparse(X) else X
        gone = np.isnan(X)
        if not gone.any():
            return X
        out = X.copy()
        for f in np.flatnonzero(gone.any(axis=0)):
            rows = np.flatnonzero(gone[:, f])
            tree = self.trees[f] if self.trees else None
            if tree is None:
                out[rows, f] = self.values[f]
                continue
            value = tree.predict(np.ascontiguousarray(X[rows]))[:, 0]
            levels = self.levels[f]
            out[rows, f] = (
                value[:, 0] if levels is None else levels[value.argmax(axis=1)]
            )
        return out


def learn_missing_fill(kind, X, forms, w=None) -> MissingFill:
    """Learn what replaces missing values; `forms` tell codes from numbers."""
    X = X.toarray() if sp.issparse(X) else X
    if w is not None and not np.all(w > 0):
        X, w = X[w > 0], w[w > 0]
    means = kind == "mean"
    fill = lambda x, form: (
        column_mean(x, w) if means and not form else column_mode(x, w)
    )
    values = np.array([fill(x, form) for x, form in zip(X.T, forms)], np.float32)
    if kind != "model":
        return MissingFill(values)
    grown = [grow_column_tree(X, f, forms, w) for f in range(X.shape[1])]
    return MissingFill(values, *map(tuple, zip(*grown)))


def column_mean(x, w):
    """Mean of the values that are there; NaN if there are none."""
    there = ~np.isnan(x)
    if not there.any():
        return np.nan
    weights = None if w is None else w[there]
    return np.average(x[there].astype(float), weights=weights)


def column_mode(x, w):
    """Most frequent value, by weight; of equals the least. NaN if there is none."""
    codes, values = encode_values(x)
    there = codes >= 0
    if not there.any():
        return np.nan
    values = np.asarray(values)
    weight = np.bincount(codes[there], None if w is None else w[there], len(values))
    order = np.argsort(values)
    return values[order][np.argmax(weight[order])]


def grow_column_tree(X, f, forms, w):
    """The tree that predicts column f from the others, and the codes it chooses from.

    Codes are None for numbers; both are None for a column of one value or none.
    """
    rows = np.flatnonzero(~np.isnan(X[:, f]))
    levels, y = np.unique(X[rows, f], return_inverse=True)
    if len(levels) < 2:
        return None, None
    others = X[rows].copy()
    others[:, f] = np.nan  # never asked for
    weights = None if w is None else w[rows]
    total = float(len(rows) if weights is None else weights.sum())
    limits = GrowthLimits(min_weight=LEAF_SHARE * total)
    kinds = np.asarray(forms) if np.any(forms) else None
    table = prepare_columns(others, weights, forms=kinds)
    grow = lambda y, criterion: grow_tree(
        table, y[:, None].astype(float), weights, criterion, limits
    )
    if forms[f]:
        return grow(y, Criterion(SQUARE, 1, (len(levels),))), levels
    return grow(X[rows, f], Criterion(SQUARE, 1)), None

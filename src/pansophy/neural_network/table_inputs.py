"""Deep nets for tables: standardised numbers, codes of categories, their parameters.

Numbers are centred and scaled by the mean and standard deviation of the training rows
(weighted), NaN stays NaN, and the net learns what a missing number means. Categories
are codes (`table_encoding`).

Shapes    numbers (n, d) of float, NaN where missing   codes (n, c) of int64
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from ..nn.layers.numeric_embeddings import distinct_quantiles
from ..params import Flag, FractionBelowOne, NonNegative, TwoOrMore
from ..tree.abstract_decision_tree import ColumnSelection
from .abstract_net import AbstractNet
from .table_encoding import check_new_table, check_table

ENOUGH_ROWS = 200  # of which a tenth can tell when to stop


def learn_table(model, inputs, w):
    """Centre, scale and quantiles of the numbers; the inputs as the net takes them."""
    numbers = inputs[0].astype(np.float64)
    is_known = ~np.isnan(numbers)
    mass = is_known * (np.ones(len(numbers)) if w is None else np.asarray(w))[:, None]
    total = np.maximum(mass.sum(axis=0), 1e-300)
    filled = np.where(is_known, numbers, 0.0)
    centre = (mass * filled).sum(axis=0) / total
    centred = np.where(is_known, numbers - centre, 0.0)
    farthest = np.abs(centred).max(axis=0)  # squares of tiny numbers would vanish
    unit = np.where(farthest > 0, farthest, 1.0)
    spread = unit * np.sqrt((mass * (centred / unit) ** 2).sum(axis=0) / total)
    flat = spread <= 1e-9 * np.abs(centre)
    scale = np.where(flat | (spread == 0), 1.0, spread)
    model.table_ = model.table_._replace(centre=centre, scale=scale)
    numbers = model.table_.standardise(numbers)
    model.bins_ = distinct_quantiles(numbers, model.n_bins, w)
    return numbers, inputs[1]


def encode_table_rows(model, inputs):
    """Checked rows as the net takes them, in the precision they came in."""
    numbers, codes = inputs
    return model.table_.standardise(numbers).astype(numbers.dtype), codes


@dataclass(eq=False, repr=False)
class AbstractTableNet(AbstractNet):
    """Deep nets for rows of numbers and categories.

    Parameters
    ----------
    embedding : {"piecewise", "periodic"} or None, default="piecewise"
        How numbers are embedded; None: only as they are.
    n_bins : int, default=16
        Most pieces of a piecewise linear embedding.
    dropout : float, default=0.1
        Chance that a hidden unit is left out of a training step.
    categorical_features : None, "from_dtype", mask, indices or names, \
default="from_dtype"
        Columns of categories; "from_dtype" takes the text and categorical columns of a
        data frame. Missing and new levels share one vector.
    early_stopping : bool or "auto", default="auto"
        Hold out a share of the rows, stop by their loss and keep the best epoch;
        "auto": with 200 rows or more, and not in `partial_fit`.

    Attributes
    ----------
    table_ : TableEncoder
        Scales of the numbers and levels of the categories.
    bins_ : list of arrays
        Quantiles of each column of numbers, standardised.
    """

    _: KW_ONLY
    embedding: Literal["piecewise", "periodic"] | None = "piecewise"
    n_bins: TwoOrMore = 16
    dropout: FractionBelowOne = 0.1
    categorical_features: ColumnSelection | Literal["from_dtype"] | None = "from_dtype"
    weight_decay: NonNegative = 0.01
    early_stopping: Flag | Literal["auto"] = "auto"  # pyrefly: ignore

    def fit(self, X, y, sample_weight=None, validation=None):
        """Train the net.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            NaN is a missing value.
        y : array of shape (n,), or (n, outputs) of numbers
        sample_weight : array of shape (n,) or None
        validation : (X, y) or (X, y, sample_weight) or None
            Rows of your own to stop by; turns early stopping on.
        """
        return self._fit(X, y, sample_weight, validation)

    def _stops_early(self, n, one_pass):
        if self.early_stopping == "auto":
            return n >= ENOUGH_ROWS and not one_pass
        return bool(self.early_stopping)

    def _check_inputs(self, X, y, sample_weight):
        return check_table(self, X, y, sample_weight)

    def _check_new_inputs(self, X):
        return check_new_table(self, X)

    def _encode_inputs(self, inputs):
        return encode_table_rows(self, inputs)

    def _learn_inputs(self, inputs, w):
        return learn_table(self, inputs, w)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

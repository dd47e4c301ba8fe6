"""Columns of a table as numbers and codes of categories, for networks.

A category gets the number of its level plus 1; 0 is one that is missing or was never
seen. Levels are read by the encoder of the trees (`tree.growing.input_encoding`).

Shapes    numbers (n, d) of float, NaN where missing   codes (n, c) of int64
"""

from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import validate_data

from ..core.arrays.frames import column_names, column_reader
from ..core.arrays.weighted import check_sample_weight
from ..params import check_params
from ..persist.saved_state import FloatArray, Part, saved_state
from ..tree.growing.input_encoding import InputEncoder, numeric_column_values


@saved_state(
    centre=FloatArray("numbers", finite=True),
    scale=FloatArray("numbers", finite=True),
    encoder=Part(InputEncoder),
)
class TableEncoder(NamedTuple):
    """Encoding of the columns of a table, learned from the training rows."""

    encoder: InputEncoder
    centre: np.ndarray  # (d,) of the columns of numbers
    scale: np.ndarray

    @property
    def levels(self) -> list[int]:
        """Codes of each categorical column, 0 included."""
        tables = [t for t in self.encoder.tables if t is not None]
        return [int(t.codes.max(initial=-1)) + 2 for t in tables]

    def standardise(self, numbers):
        """Numbers less their centre, over their scale."""
        return (numbers - self.centre) / self.scale


def check_table(model, X, y, sample_weight):
    """Numbers and codes of training rows, y and weights; sets `table_`."""
    check_params(model)
    categorical = model.categorical_features
    if isinstance(categorical, str) and column_names(X) is None:
        categorical = None
    encoder = None
    if categorical is not None:
        w = None
        if sample_weight is not None:
            w = check_sample_weight(sample_weight, np.shape(X)[0])
        encoder = InputEncoder.learn(X, categorical, w=w)
    checks = {"y_kind": model._y_kind, "ensure_all_finite": "allow-nan"}
    if encoder is None or encoder.plain:
        X, y, w = model._check_training_data(X, y, sample_weight, **checks)
        encoder = InputEncoder(np.zeros(X.shape[1], np.int8))
        inputs = (X, np.zeros((len(X), 0), np.int64))
    else:
        inputs = _numbers_and_codes(encoder, X)
        joined = np.hstack([inputs[0], inputs[1].astype(float)])
        _, y, w = model._check_training_data(joined, y, sample_weight, **checks)
        validate_data(model, X, skip_check_array=True)  # for the names of columns
    no_values = np.zeros(0)
    model.table_ = TableEncoder(encoder, no_values, no_values)
    return inputs, y, w


def check_new_table(model, X):
    """Numbers and codes of new rows."""
    encoder = model.table_.encoder
    if encoder.plain:
        X = model._check_new_data(X, ensure_all_finite="allow-nan")
        return X, np.zeros((len(X), 0), np.int64)
    validate_data(model, X, reset=False, skip_check_array=True)
    return _numbers_and_codes(encoder, X)


def _numbers_and_codes(encoder, X):
    """Columns of numbers (float64) and of codes (int64) of a table with categories."""
    read = column_reader(X)
    n = np.shape(X)[0]
    numbers, codes = [], []
    for f, table in enumerate(encoder.tables):
        if table is None:
            column = numeric_column_values(read(f), f)
            if np.isinf(column).any():
                raise ValueError(f"Input X contains infinity in column {f}.")
            numbers.append(column)
        else:
            code = table.encode(read(f))
            codes.append(np.where(np.isnan(code), 0, code + 1).astype(np.int64))
    stack = lambda columns, dtype: (
        np.stack(columns, axis=1) if columns else np.zeros((n, 0), dtype)
    )
    return stack(numbers, np.float64), stack(codes, np.int64)

"""Words in the table of an ensemble: levels become codes once, for all its members.

Members are fitted to arrays, and often to some of the columns. Where the estimator is
told which columns are categorical or directional (`categorical_features` and
`directional_features`, by name, number, mask or dtype), the ensemble reads the levels
of the whole table as the estimator alone would, hands codes 0, 1, .. on in their place,
and tells each member where among its own columns they stand. Codes keep the order of
the levels, so a member learns what it would from the words; a level that the ensemble
has not seen is missing for its members.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from ..base import check_weights
from ..core.frames import column_names
from ..tree import abstract_decision_tree
from ..tree.input_encoding import (
    InputEncoder,
    categorical_mask,
    column_as_floats,
    column_reader,
    directional_periods,
    table_shape,
)
from .members import in_memory

CHECKS = {
    "dtype": None,
    "accept_sparse": ["csr", "csc"],
    "ensure_all_finite": False,  # the members say what they allow
}


class Coding(NamedTuple):
    """How the words of a table become numbers."""

    inputs: InputEncoder  # the levels, by column
    periods: dict  # of the directional columns, by number

    def encode(self, X):
        """X (n, d) as float64, levels as codes, what is missing or new as NaN."""
        read, n = column_reader(X), table_shape(X)[0]
        out = np.empty((n, len(self.inputs.forms)))
        for f in range(out.shape[1]):
            table = self.inputs.tables[f] if self.inputs.tables else None
            known = table is not None
            out[:, f] = table.encode(read(f)) if known else column_as_floats(read(f), f)
        return out

    def told(self, template, columns=None) -> Any:
        """A copy of the template that knows where its columns hold codes or angles."""
        mask = self.inputs.is_categorical
        columns = np.arange(len(mask)) if columns is None else columns
        turns = {j: self.periods.get(int(f)) for j, f in enumerate(columns)}
        turns = {j: period for j, period in turns.items() if period is not None}
        made, names = clone(template), template.get_params(deep=False)
        if "categorical_features" in names:
            made.set_params(categorical_features=mask[columns])
        if "directional_features" in names:
            made.set_params(directional_features=turns or None)
        return made


def coding_of(template, X, w=None) -> Coding | None:
    """The coding that the estimator asks for of a table; None if of none."""
    categorical = getattr(template, "categorical_features", None)
    directional = getattr(template, "directional_features", None)
    if (categorical is None and directional is None) or sp.issparse(X):
        return None
    d, names = table_shape(X)[1], column_names(X)
    mask, periods = (
        categorical_mask(categorical, X, d, names),
        directional_periods(directional, d, names),
    )
    if not mask.any() and not periods:
        return None
    return Coding(InputEncoder.learn(X, mask, w=w), periods)


def begin(model, template, X, y, y_kind, sample_weight=None):
    """X and y checked for a fit, X with codes for words; sets `coding_` if it has."""
    kept = getattr(model, "coding_", None) if goes_on(model) else None
    model.__dict__.pop("coding_", None)
    words = getattr(template, "categorical_features", None) is not None
    words |= getattr(template, "directional_features", None) is not None
    X = (
        abstract_decision_tree.require_rows_in_memory(X, allow_arrow=True)
        if words
        else in_memory(model, X)
    )
    if words and not sp.issparse(X):
        n = table_shape(X)[0]
        w = check_weights(sample_weight, np.empty((n, 0)))
        coding = coding_of(template, X, w) if kept is None else kept
        if coding is not None:
            _, y, _ = model._begin(np.zeros((n, 1)), y, y_kind=y_kind)
            validate_data(model, X, skip_check_array=True)  # names and width
            model.coding_ = coding
            return coding.encode(X), y
    X, y, _ = model._begin(X, y, y_kind=y_kind, **CHECKS)
    return X.tocsr() if sp.issparse(X) else X, y


def goes_on(model) -> bool:
    """Whether a fit adds to the members there are, which keep their codes."""
    return getattr(model, "warm_start", False) and hasattr(model, "estimators_")


def ready(model, X):
    """X checked for a prediction, with codes for words."""
    check_is_fitted(model)
    coding = getattr(model, "coding_", None)
    if coding is not None:
        X = abstract_decision_tree.require_rows_in_memory(X, allow_arrow=True)
        validate_data(model, X, reset=False, skip_check_array=True)
        return coding.encode(X)
    X = model._ready(in_memory(model, X), **CHECKS)
    return X.tocsr() if sp.issparse(X) else X

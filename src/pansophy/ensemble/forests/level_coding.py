"""Categorical columns of an ensemble: levels become codes once, for all members.

Members are fitted to arrays, and often to some of the columns. Where the estimator says
which columns are categorical or directional (`categorical_features` and
`directional_features`, by name, number, mask or dtype), the ensemble learns the levels
of the whole table as the estimator alone would, passes codes 0, 1, .. to the members in
their place, and tells each member which of its own columns hold codes. Codes keep the
order of the levels, so a member learns what it would from the levels; a level that the
ensemble has not seen is a missing value for its members.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from ...core.arrays.frames import column_names, column_reader
from ...core.arrays.weighted import check_sample_weight
from ...tree import abstract_decision_tree
from ...tree.growing.input_encoding import (
    InputEncoder,
    categorical_mask,
    directional_periods,
    numeric_column_values,
    table_shape,
)
from ..members import require_in_memory

MEMBER_CHECKS = {
    "dtype": None,
    "accept_sparse": ["csr", "csc"],
    "ensure_all_finite": False,  # the members say what they allow
}


class LevelCoding(NamedTuple):
    """Coding of the levels of a table as numbers."""

    inputs: InputEncoder  # the levels, by column
    periods: dict  # of the directional columns, by number

    def encode(self, X):
        """X (n, d) as float64: levels as codes, missing and unseen ones as NaN."""
        read = column_reader(X)
        out = np.empty((table_shape(X)[0], len(self.inputs.forms)))
        for f in range(out.shape[1]):
            table = self.inputs.tables[f] if self.inputs.tables else None
            if table is None:
                out[:, f] = numeric_column_values(read(f), f)
            else:
                out[:, f] = table.encode(read(f))
        return out

    def template_for_columns(self, template, columns=None) -> Any:
        """A clone of the template whose parameters name its codes and angles."""
        mask = self.inputs.is_categorical
        columns = np.arange(len(mask)) if columns is None else columns
        periods = {j: self.periods.get(int(f)) for j, f in enumerate(columns)}
        periods = {j: period for j, period in periods.items() if period is not None}
        made = clone(template)
        names = template.get_params(deep=False)
        if "categorical_features" in names:
            made.set_params(categorical_features=mask[columns])
        if "directional_features" in names:
            made.set_params(directional_features=periods or None)
        return made


def learn_level_coding(template, X, w=None) -> LevelCoding | None:
    """The coding of the columns that the estimator names; None if it names none."""
    categorical = getattr(template, "categorical_features", None)
    directional = getattr(template, "directional_features", None)
    if (categorical is None and directional is None) or sp.issparse(X):
        return None
    d = table_shape(X)[1]
    names = column_names(X)
    mask = categorical_mask(categorical, X, d, names)
    periods = directional_periods(directional, d, names)
    if not mask.any() and not periods:
        return None
    return LevelCoding(InputEncoder.learn(X, mask, w=w), periods)


def check_fit_table(model, template, X, y, y_kind, sample_weight=None, **checks):
    """X and y checked for a fit, X with codes for levels; sets `coding_` if needed.

    `checks` are further options of scikit-learn's `validate_data`.
    """
    kept = getattr(model, "coding_", None) if adds_members(model) else None
    model.__dict__.pop("coding_", None)
    coded = getattr(template, "categorical_features", None) is not None
    coded |= getattr(template, "directional_features", None) is not None
    X = (
        abstract_decision_tree.require_rows_in_memory(X)
        if coded
        else require_in_memory(model, X)
    )
    if coded and not sp.issparse(X):
        n = table_shape(X)[0]
        w = check_sample_weight(sample_weight, n)
        coding = learn_level_coding(template, X, w) if kept is None else kept
        if coding is not None:
            _, y, _ = model._check_training_data(np.zeros((n, 1)), y, y_kind=y_kind)
            validate_data(model, X, skip_check_array=True)  # names and width
            model.coding_ = coding
            return coding.encode(X), y
    checks = {**MEMBER_CHECKS, **checks}
    X, y, _ = model._check_training_data(X, y, y_kind=y_kind, **checks)
    return rows_and_columns_of(X), y


def adds_members(model) -> bool:
    """Whether a fit adds to earlier members, which keep their codes."""
    return getattr(model, "warm_start", False) and hasattr(model, "estimators_")


def check_prediction_table(model, X, **checks):
    """X checked for a prediction, with codes for levels."""
    check_is_fitted(model)
    coding = getattr(model, "coding_", None)
    if coding is not None:
        X = abstract_decision_tree.require_rows_in_memory(X)
        validate_data(model, X, reset=False, skip_check_array=True)
        return coding.encode(X)
    checks = {**MEMBER_CHECKS, **checks}
    X = model._check_new_data(require_in_memory(model, X), **checks)
    return rows_and_columns_of(X)


def rows_and_columns_of(X):
    """X in a form of which rows and columns can be taken; CSR and CSC stay."""
    return X.tocsr() if sp.issparse(X) and X.format not in ("csr", "csc") else X

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
from ..tree import abstract
from ..tree.inputs import Inputs, marked, periods_of, shape_of
from ..tree.reading import as_numbers, names_of, reader
from .members import require_in_memory

MEMBER_CHECKS = {
    "dtype": None,
    "accept_sparse": ["csr", "csc"],
    "ensure_all_finite": False,  # the members say what they allow
}


class LevelCoding(NamedTuple):
    """How the words of a table become numbers."""

    inputs: Inputs  # the levels, by column
    periods: dict  # of the directional columns, by number

    def encode(self, X):
        """X (n, d) as float64, levels as codes, what is missing or new as NaN."""
        read, n = reader(X), shape_of(X)[0]
        out = np.empty((n, len(self.inputs.forms)))
        for f in range(out.shape[1]):
            table = self.inputs.tables[f] if self.inputs.tables else None
            known = table is not None
            out[:, f] = table.encode(read(f)) if known else as_numbers(read(f), f)
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


def learn_level_coding(template, X, w=None) -> LevelCoding | None:
    """The coding that the estimator asks for of a table; None if of none."""
    categorical = getattr(template, "categorical_features", None)
    directional = getattr(template, "directional_features", None)
    if (categorical is None and directional is None) or sp.issparse(X):
        return None
    d, names = shape_of(X)[1], names_of(X)
    mask, periods = marked(categorical, X, d, names), periods_of(directional, d, names)
    if not mask.any() and not periods:
        return None
    return LevelCoding(Inputs.learn(X, mask, w=w), periods)


def check_fit_table(model, template, X, y, y_kind, sample_weight=None):
    """X and y checked for a fit, X with codes for words; sets `coding_` if it has."""
    kept = getattr(model, "coding_", None) if adds_members(model) else None
    model.__dict__.pop("coding_", None)
    words = getattr(template, "categorical_features", None) is not None
    words |= getattr(template, "directional_features", None) is not None
    X = abstract.in_memory(X, tables=True) if words else require_in_memory(model, X)
    if words and not sp.issparse(X):
        n = shape_of(X)[0]
        w = check_weights(sample_weight, np.empty((n, 0)))
        coding = learn_level_coding(template, X, w) if kept is None else kept
        if coding is not None:
            _, y, _ = model._begin(np.zeros((n, 1)), y, y_kind=y_kind)
            validate_data(model, X, skip_check_array=True)  # names and width
            model.coding_ = coding
            return coding.encode(X), y
    X, y, _ = model._begin(X, y, y_kind=y_kind, **MEMBER_CHECKS)
    return X.tocsr() if sp.issparse(X) else X, y


def adds_members(model) -> bool:
    """Whether a fit adds to the members there are, which keep their codes."""
    return getattr(model, "warm_start", False) and hasattr(model, "estimators_")


def check_prediction_table(model, X):
    """X checked for a prediction, with codes for words."""
    check_is_fitted(model)
    coding = getattr(model, "coding_", None)
    if coding is not None:
        X = abstract.in_memory(X, tables=True)
        validate_data(model, X, reset=False, skip_check_array=True)
        return coding.encode(X)
    X = model._ready(require_in_memory(model, X), **MEMBER_CHECKS)
    return X.tocsr() if sp.issparse(X) else X

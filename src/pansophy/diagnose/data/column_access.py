"""Rows and columns of any table: selection, permutation, fits and scores of estimators.

X may be an array, a sparse matrix, a data frame or anything that gives rows by
`X[rows]`. Scores follow scikit-learn: greater is better.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)

from ...core.arrays import frames
from ...core.arrays.codes import as_column, encode_values, missing_mask


class FoldScores(NamedTuple):
    """Scores of one learner on the same folds, and test rows / training rows."""

    train: np.ndarray  # (folds,)
    test: np.ndarray
    ratio: float


def indexable_rows(X):
    """X as something whose rows can be indexed: lists become arrays."""
    return np.asarray(X) if isinstance(X, (list, tuple)) else X


def n_rows(X) -> int:
    """Number of rows of a table."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def select_rows(X, rows):
    """The rows of X at these positions."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _column_names_or_numbers(X) -> list[str]:
    """Names of the columns: the table's own, or x0, x1, ..."""
    names = frames.column_names(X)
    if names is None:
        return [f"x{j}" for j in range(X.shape[1])]
    return [str(name) for name in names]


def column_labels(X, names) -> list[str]:
    """The given column names, checked against X, or the table's own."""
    if names is None:
        return _column_names_or_numbers(X)
    if len(names) != X.shape[1]:
        raise ValueError(f"{X.shape[1]} columns but {len(names)} names.")
    return [str(name) for name in names]


def column_position(names, column) -> int:
    """Position of a column given by its name or number."""
    if str(column) in names:
        return names.index(str(column))
    if isinstance(column, (int, np.integer)) and 0 <= column < len(names):
        return int(column)
    raise ValueError(f"column {column!r} is not in the table.")


def column_values(X, j) -> np.ndarray:
    """Column j as an array of numbers or objects."""
    if hasattr(X, "texts"):  # a Frame: numbers first, then free text
        p = X.values.shape[1]
        return (
            X.values[:, j] if j < p else X.texts[j - p].to_numpy(zero_copy_only=False)
        )
    return as_column(frames.column_reader(X)(j))


def with_permuted_column(X, j, order):
    """A copy of X in which column j is replaced by its values in rows `order`."""
    if hasattr(X, "texts"):
        return _reordered_frame(X, j, order)
    if hasattr(X, "tocsc"):
        mixed = X.tolil(copy=True)
        mixed[:, [j]] = X.tocsc()[:, [j]].toarray()[order]
        return mixed.asformat(X.format)
    if hasattr(X, "iloc"):
        mixed = X.copy()
        mixed.isetitem(j, X.iloc[:, j].array[order])
        return mixed
    if isinstance(X, np.ndarray):
        mixed = X.copy()
        mixed[:, j] = X[order, j]
        return mixed
    name = _column_names_or_numbers(X)[j]
    return X.with_columns(X[name][order].alias(name))  # polars


def _reordered_frame(X, j, order):
    """`with_permuted_column` of a MixedFrame."""
    p = X.values.shape[1]
    if j < p:
        return replace(X, values=with_permuted_column(X.values, j, order))
    texts = list(X.texts)
    texts[j - p] = texts[j - p].take(order)
    return replace(X, texts=tuple(texts))


def with_constant_column(X, j):
    """A copy of X in which column j is constant, so that it carries no information.

    A model that needs this number of columns can thus be fitted without this one.
    """
    values = column_values(X, j)
    known = np.flatnonzero(~missing_mask(values))
    return with_permuted_column(X, j, np.full(n_rows(X), known[0] if len(known) else 0))


def cv_folds(cv, X, y, model, groups=None, seed=0) -> list:
    """Folds as [(training rows, test rows), ...].

    A number makes shuffled folds, stratified for classifiers and keeping groups
    together, with at most as many folds as there are groups; a scikit-learn splitter
    gives its own.
    """
    groups = None if groups is None else _group_codes(groups, n_rows(X))
    if isinstance(cv, (int, np.integer)):
        grouped = groups is not None
        if grouped:
            cv = min(cv, int(groups.max()) + 1)
        classes = is_classifier(model) and y.ndim == 1
        kinds = [[KFold, StratifiedKFold], [GroupKFold, StratifiedGroupKFold]]
        cv = kinds[grouped][classes](cv, shuffle=True, random_state=seed)
    return list(check_cv(cv).split(np.zeros((n_rows(X), 1)), y, groups))


def _group_codes(groups, n) -> np.ndarray:
    """Codes 0, 1, ... of the groups of n rows; there must be two groups at least."""
    codes, levels = encode_values(groups)
    if codes.shape != (n,):
        raise ValueError(f"groups must hold a value for each of {n} rows.")
    if codes.min(initial=0) < 0:
        raise ValueError("groups has missing values.")
    if len(levels) < 2:
        raise ValueError("groups must have at least two different values, got one.")
    return codes


def scorer_of(model, scoring):
    """A function scorer(model, X, y) that returns a number, greater is better."""
    return check_scoring(model, scoring=scoring)


def cross_scores(model, X, y, folds, scorer, *, train=True) -> FoldScores:
    """Cross-validated scores of clones fitted to the training rows of each fold."""
    inside, outside = [], []
    for rows, held in folds:
        fitted = clone(model).fit(select_rows(X, rows), y[rows])
        outside.append(scorer(fitted, select_rows(X, held), y[held]))
        if train:
            inside.append(scorer(fitted, select_rows(X, rows), y[rows]))
    ratio = float(np.mean([len(held) / len(rows) for rows, held in folds]))
    return FoldScores(np.array(inside), np.array(outside), ratio)

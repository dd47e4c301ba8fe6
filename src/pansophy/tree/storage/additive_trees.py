"""Tree models as sums of trees, the form that SHAP values are computed from.

    f(x) = offset + sum_t values_t[leaf of x in tree t]

A single tree is such a sum, a forest an average and a booster a sum of scores. A tree
may add to one output only, as those of a booster for several classes do.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from ..abstract_decision_tree import (
    ARRAY_CHECKS,
    require_rows_in_memory,
    validate_prediction_rows,
)
from ..decision_tree import smoothed_probabilities
from ..growing.prepared_columns import silent_float32_overflow
from ..multiway_tree import as_binary_tree
from .tree import Tree


class AdditiveTrees(NamedTuple):
    """A model as a sum of trees."""

    trees: list[Tree]
    values: list[np.ndarray]  # by tree: (nodes, width), whatever scale is in them
    first: list[int]  # by tree: the output that column 0 of its values adds to
    offset: np.ndarray  # (outputs,)
    rows: Callable  # X as the trees see it, float32 (n, d)
    answer: Callable  # the model's own f(X): (n, outputs)
    names: list | None = None  # of the outputs
    counted: bool = False  # whether rows, not their weights, measure nodes
    scale: str = ""  # what is added up, if not the predictions


def as_additive_trees(model) -> AdditiveTrees:
    """The trees of a fitted model, their values and what they add up to.

    A model may say so itself in a method `_additive`, as boosters do.
    """
    check_is_fitted(model)
    if hasattr(model, "_additive"):
        return model._additive()
    if not (is_classifier(model) or is_regressor(model)):
        raise TypeError(
            f"{type(model).__name__} predicts neither numbers nor classes: there is "
            "no prediction to share out."
        )
    if isinstance(getattr(model, "tree_", None), Tree):
        return additive_tree(model)
    if hasattr(model, "forest_"):
        return additive_forest(model)
    members = getattr(model, "estimators_", None)
    plain = isinstance(members, list) and all(is_threshold_tree(m) for m in members)
    if not plain or hasattr(model, "rotations_"):
        raise TypeError(
            f"{type(model).__name__} is not a sum of trees over the columns of X."
        )
    if not hasattr(model, "estimator_weights_"):
        return additive_bagging(model)
    if hasattr(model, "classes_"):
        return additive_votes(model)
    raise TypeError(
        f"{type(model).__name__} predicts a median of its trees, which is no sum."
    )


def is_threshold_tree(model) -> bool:
    """Whether a member is a tree of ours that compares numbers with thresholds."""
    inputs = getattr(model, "inputs_", None)
    plain = (inputs is None or inputs.plain) and not hasattr(model, "fill_")
    return plain and isinstance(getattr(model, "tree_", None), Tree)


def dense_prediction_rows(model, X):
    """X as the trees of a model see it."""
    X = validate_prediction_rows(model, X)
    X = X.toarray() if sp.issparse(X) else X
    return (
        require_no_missing_values(X)
        if getattr(model, "missing", "default") == "both"
        else X
    )


def require_no_missing_values(X):
    """X itself; raises if a value is missing: its row would be split among leaves."""
    if np.isnan(X).any():
        raise ValueError(
            "missing values that go down all branches (as with missing='both') are "
            "shared out between leaves, and have no SHAP values here."
        )
    return X


def numeric_prediction_rows(model, X):
    """Prediction rows of an ensemble whose members all see numbers."""
    with silent_float32_overflow():
        X = model._check_new_data(require_rows_in_memory(X), **ARRAY_CHECKS)
    return X.toarray() if sp.issparse(X) else X


def additive_tree(model) -> AdditiveTrees:
    """A single tree."""
    value, names = output_values(model, model.tree_)
    return AdditiveTrees(
        [model.tree_],
        [value],
        [0],
        np.zeros(value.shape[1]),
        lambda X: dense_prediction_rows(model, X),
        lambda X: predictions_2d(model, X),
        names,
    )


def additive_multiway_tree(model, rows) -> AdditiveTrees:
    """A tree of many branches a node, over rows(X)."""
    tree = as_binary_tree(model.tree_)
    value = tree.value[:, 0]
    names = list(model.classes_)
    offset = np.zeros(len(names))
    return AdditiveTrees([tree], [value], [0], offset, rows, model.predict_proba, names)


def additive_forest(model) -> AdditiveTrees:
    """The mean of the trees of a packed forest."""
    n = len(model.forest_)
    trees = [model.forest_.tree(t) for t in range(n)]
    pairs = [output_values(model, tree) for tree in trees]
    return AdditiveTrees(
        trees,
        [value / n for value, _ in pairs],
        [0] * n,
        np.zeros(pairs[0][0].shape[1]),
        lambda X: dense_prediction_rows(model, X),
        lambda X: predictions_2d(model, X),
        pairs[0][1],
    )


def additive_bagging(model) -> AdditiveTrees:
    """The mean of trees that may each see some of the columns and of the classes."""
    members = model.estimators_
    n = len(model.estimators_)
    trees = trees_with_global_features(model)
    names = list(model.classes_) if hasattr(model, "classes_") else None
    values = []
    for m in members:
        value = output_values(m, m.tree_)[0] / n
        values.append(value if names is None else align_class_values(value, m, model))
    return AdditiveTrees(
        trees,
        values,
        [0] * n,
        np.zeros(values[0].shape[1]),
        lambda X: numeric_prediction_rows(model, X),
        lambda X: predictions_2d(model, X),
        names,
    )


def additive_votes(model) -> AdditiveTrees:
    """AdaBoost: each tree gives its weight to one class, and takes it from others."""
    K = len(model.classes_)
    total = model.estimator_weights_.sum()
    values = []
    for m, weight in zip(model.estimators_, model.estimator_weights_):
        value = align_class_values(m.tree_.value[:, 0, :], m, model)
        vote = np.eye(K)[value.argmax(axis=1)]
        if K == 2:
            values.append(2.0 * (vote[:, 1:] - vote[:, :1]) * weight / total)
        else:
            values.append((vote * K - 1) / (K - 1) * weight / total)
    decide = lambda X: model.decision_function(X).reshape(-1, values[0].shape[1])
    return AdditiveTrees(
        trees_with_global_features(model),
        values,
        [0] * len(values),
        np.zeros(values[0].shape[1]),
        lambda X: numeric_prediction_rows(model, X),
        decide,
        list(model.classes_[1:] if K == 2 else model.classes_),
    )


def trees_with_global_features(model) -> list[Tree]:
    """The trees of the members, their features numbered as the columns of X."""
    trees = [m.tree_ for m in model.estimators_]
    columns = getattr(model, "estimators_features_", None)
    if columns is None:
        return trees
    place = lambda t, c: np.where(t.feature < 0, t.feature, np.asarray(c)[t.feature])
    d = model.n_features_in_
    return [
        t._replace(feature=place(t, c), n_features=d) for t, c in zip(trees, columns)
    ]


def align_class_values(value, member, model):
    """Class shares of a member in the columns of the ensemble's classes."""
    K = len(model.classes_)
    if value.shape[1] == K:
        return value
    held = np.asarray(member.classes_)
    known = np.isin(held, model.classes_).all()  # else codes stand for the classes
    place = np.searchsorted(model.classes_, held) if known else held.astype(int)
    out = np.zeros((len(value), K))
    out[:, place] = value
    return out


def output_values(model, tree):
    """(nodes, outputs) numbers or class shares, and the names of the outputs."""
    if not hasattr(model, "classes_"):
        value = tree.value[:, :, 0]
        return value, None if value.shape[1] == 1 else list(range(value.shape[1]))
    names = list(model.classes_)
    if tree.n_outputs > 1:
        names = [(o, c) for o, cs in enumerate(model.classes_) for c in cs]
    return smoothed_probabilities(model, tree), names


def predictions_2d(model, X):
    """The model's probabilities or numbers: (n, outputs)."""
    if not hasattr(model, "classes_"):
        out = model.predict(X)
        return out[:, None] if out.ndim == 1 else out
    out = model.predict_proba(X)
    return np.hstack(out) if isinstance(out, list) else out

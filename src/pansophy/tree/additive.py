"""Models that are sums of trees, seen as such.

    f(x) = offset + sum_t values_t[leaf of x in tree t]

A tree is one of them, a forest an average, a booster a sum of scores; some trees add
to one output only, as those of a booster for several classes do.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from .abstract import CHECKS, in_memory, rows_of
from .inputs import narrowing
from .multiway import binary
from .roles import smooth
from .structure import Tree


class Additive(NamedTuple):
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


def trees_of(model) -> Additive:
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
        return of_tree(model)
    if hasattr(model, "forest_"):
        return of_forest(model)
    members = getattr(model, "estimators_", None)
    plain = isinstance(members, list) and all(is_plain_tree(m) for m in members)
    if not plain or hasattr(model, "rotations_"):
        raise TypeError(
            f"{type(model).__name__} is not a sum of trees over the columns of X."
        )
    if not hasattr(model, "estimator_weights_"):
        return of_bag(model)
    if hasattr(model, "classes_"):
        return of_votes(model)
    raise TypeError(
        f"{type(model).__name__} predicts a median of its trees, which is no sum."
    )


def is_plain_tree(model) -> bool:
    """Whether a member is a tree of ours that compares numbers with thresholds."""
    inputs = getattr(model, "inputs_", None)
    return isinstance(getattr(model, "tree_", None), Tree) and (
        inputs is None or inputs.plain
    )


def dense_rows(model, X):
    """X as the trees of a model see it."""
    X = rows_of(model, X)
    X = X.toarray() if sp.issparse(X) else X
    return whole(X) if getattr(model, "missing", "default") == "both" else X


def whole(X):
    """X, refused if rows would be shared out between leaves."""
    if np.isnan(X).any():
        raise ValueError(
            "missing values that go down all branches (as with missing='both') are "
            "shared out between leaves, and have no SHAP values here."
        )
    return X


def plain_rows(model, X):
    """The same for an ensemble whose members all see numbers."""
    with narrowing():
        X = model._check_new_data(in_memory(X), **CHECKS)
    return X.toarray() if sp.issparse(X) else X


def of_tree(model) -> Additive:
    """A single tree."""
    value, names = leaf_values(model, model.tree_)
    return Additive(
        [model.tree_],
        [value],
        [0],
        np.zeros(value.shape[1]),
        lambda X: dense_rows(model, X),
        lambda X: answers(model, X),
        names,
    )


def of_multiway(model, rows) -> Additive:
    """A tree of many branches a node, over rows(X)."""
    tree = binary(model.tree_)
    value, names = tree.value[:, 0], list(model.classes_)
    offset = np.zeros(len(names))
    return Additive([tree], [value], [0], offset, rows, model.predict_proba, names)


def of_forest(model) -> Additive:
    """The mean of the trees of a packed forest."""
    n = len(model.forest_)
    trees = [model.forest_.tree(t) for t in range(n)]
    pairs = [leaf_values(model, tree) for tree in trees]
    return Additive(
        trees,
        [value / n for value, _ in pairs],
        [0] * n,
        np.zeros(pairs[0][0].shape[1]),
        lambda X: dense_rows(model, X),
        lambda X: answers(model, X),
        pairs[0][1],
    )


def of_bag(model) -> Additive:
    """The mean of trees that may each see some of the columns and of the classes."""
    members, n = model.estimators_, len(model.estimators_)
    trees = placed_trees(model)
    names = list(model.classes_) if hasattr(model, "classes_") else None
    values = []
    for m in members:
        value = leaf_values(m, m.tree_)[0] / n
        values.append(value if names is None else spread(value, m, model))
    return Additive(
        trees,
        values,
        [0] * n,
        np.zeros(values[0].shape[1]),
        lambda X: plain_rows(model, X),
        lambda X: answers(model, X),
        names,
    )


def of_votes(model) -> Additive:
    """AdaBoost: each tree gives its weight to one class, and takes it from others."""
    K, total = len(model.classes_), model.estimator_weights_.sum()
    values = []
    for m, weight in zip(model.estimators_, model.estimator_weights_):
        value = spread(m.tree_.value[:, 0, :], m, model)
        vote = np.eye(K)[value.argmax(axis=1)]
        if K == 2:
            values.append(2.0 * (vote[:, 1:] - vote[:, :1]) * weight / total)
        else:
            values.append((vote * K - 1) / (K - 1) * weight / total)
    decide = lambda X: model.decision_function(X).reshape(-1, values[0].shape[1])
    return Additive(
        placed_trees(model),
        values,
        [0] * len(values),
        np.zeros(values[0].shape[1]),
        lambda X: plain_rows(model, X),
        decide,
        list(model.classes_[1:] if K == 2 else model.classes_),
    )


def placed_trees(model) -> list[Tree]:
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


def spread(value, member, model):
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


def leaf_values(model, tree):
    """(nodes, outputs) numbers or class shares, and the names of the outputs."""
    if not hasattr(model, "classes_"):
        value = tree.value[:, :, 0]
        return value, None if value.shape[1] == 1 else list(range(value.shape[1]))
    names = list(model.classes_)
    if tree.n_outputs > 1:
        names = [(o, c) for o, cs in enumerate(model.classes_) for c in cs]
    return smooth(model, tree), names


def answers(model, X):
    """The model's probabilities or numbers: (n, outputs)."""
    if not hasattr(model, "classes_"):
        out = model.predict(X)
        return out[:, None] if out.ndim == 1 else out
    out = model.predict_proba(X)
    return np.hstack(out) if isinstance(out, list) else out

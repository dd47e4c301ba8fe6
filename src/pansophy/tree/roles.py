"""Trees for classes and trees for numbers: what their fits and answers share."""

from typing import NamedTuple

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from ..base import Classifier, Regressor
from ..params import ParameterError
from ._layout import GAUSS, JOINT
from .abstract import (
    AbstractDecisionTree,
    begin,
    check_signs,
    fit_tree,
    values_at,
    weights_of,
)
from .criteria import KINDS, Criterion

ONE_OUTPUT = ("zero_one", "gain_ratio")  # criteria for one column of classes only


class AbstractTreeClassifier(Classifier, AbstractDecisionTree):
    """Shares of classes at the leaves."""

    def fit(self, X, y, sample_weight=None):
        """Grow the tree for the classes y, one column or several."""
        weigh = lambda y: class_weights(self, y, sample_weight)
        X, y = begin(self, X, y, "labels", weigh)
        w = weigh(y)
        target = target_of_classes(self, y, X.shape[1])
        if self.n_outputs_ > 1 and self.criterion in ONE_OUTPUT:
            raise ParameterError(
                f"criterion={self.criterion!r} is for one column of classes, got "
                f"{self.n_outputs_}."
            )
        if target.signs is not None and self.smoothing > 0:
            raise ParameterError(
                "smoothing must be 0 with monotonic_cst: shares drawn to 1 / K by the "
                f"size of their leaf lose their order, got {self.smoothing}."
            )
        self.tree_ = fit_tree(self, X, target.Y, w, target.criterion, target.signs)
        return self

    def predict(self, X):
        """The most likely class; of equals the first."""
        check_is_fitted(self)
        if self.missing != "both" and self.n_outputs_ == 1:
            labels = lambda tree: self.classes_[tree.value[:, 0].argmax(axis=1)]
            return values_at(self, X, labels)
        best = values_at(self, X, lambda tree: tree.value).argmax(axis=2)
        if self.n_outputs_ == 1:
            return self.classes_[best[:, 0]]
        return np.stack([c[b] for c, b in zip(self.classes_, best.T)], axis=1)

    def predict_proba(self, X):
        """Class shares in the leaf, a list of arrays if there are several outputs."""
        p = values_at(self, X, lambda tree: smooth(self, tree))
        if self.n_outputs_ == 1:
            return p
        return np.split(p, np.cumsum(self.n_classes_)[:-1], axis=1)

    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`."""
        p = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(p) if self.n_outputs_ == 1 else [np.log(q) for q in p]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class Target(NamedTuple):
    """Targets as the engine reads them."""

    Y: np.ndarray  # (n, m) numbers, or classes from 0
    criterion: Criterion
    signs: np.ndarray | None  # (d,) monotone constraints


def target_of_classes(model, y, d, accept=lambda counts: None) -> Target:
    """Codes of the classes y, X having d columns; sets what the model says of them.

    `accept` may refuse the numbers of classes before anything is set.
    """
    Y = y[:, None] if y.ndim == 1 else y
    pairs = [np.unique(column, return_inverse=True) for column in Y.T]
    counts = tuple(len(classes) for classes, _ in pairs)
    accept(counts)
    model.n_outputs_, one = len(pairs), len(pairs) == 1
    model.classes_ = pairs[0][0] if one else [classes for classes, _ in pairs]
    model.n_classes_ = counts[0] if one else np.array(counts)
    signs = check_signs(model.monotonic_cst, d, len(pairs), counts[0])
    codes = np.stack([code for _, code in pairs], axis=1).astype(float)
    return Target(codes, Criterion(KINDS[model.criterion], len(pairs), counts), signs)


def target_of_numbers(model, y, w, d, accept=lambda outputs: None) -> Target:
    """The same for the numbers y with weights w."""
    Y = np.asarray(y[:, None] if y.ndim == 1 else y, float)
    sums = Y.sum(axis=0) if w is None else w @ Y
    if model.criterion == "poisson" and (np.any(Y < 0) or np.any(sums <= 0)):
        raise ValueError(
            "criterion='poisson' needs y without negative values and with a positive "
            "sum in every column."
        )
    accept(Y.shape[1])
    model.n_outputs_ = Y.shape[1]
    signs = check_signs(model.monotonic_cst, d, model.n_outputs_)
    criterion = Criterion(KINDS[model.criterion], model.n_outputs_)
    if model.criterion == "quantile":
        criterion = criterion._replace(up=model.quantile, down=1 - model.quantile)
    return Target(Y, criterion, signs)


def class_weights(model, y, sample_weight):
    """Row weights times the factors of their classes, or None."""
    w = weights_of(sample_weight, len(y))
    if model.class_weight is None:
        return w
    factor = compute_sample_weight(model.class_weight, y[:, None] if y.ndim == 1 else y)
    return factor if w is None else w * factor


def smooth(model, tree):
    """(nodes, K) shares (n_c + a) / (n + a K), n and n_c by weight, by output."""
    a, n = getattr(model, "smoothing", 0.0), tree.weighted_n_node_samples[:, None]
    counts = np.atleast_1d(model.n_classes_)
    parts = [tree.value[:, o, :k] for o, k in enumerate(counts)]
    if a > 0:
        parts = [(p * n + a) / (n + a * k) for p, k in zip(parts, counts)]
    return np.concatenate(parts, axis=1)


class AbstractTreeRegressor(Regressor, AbstractDecisionTree):
    """Means, medians or quantiles at the leaves."""

    def fit(self, X, y, sample_weight=None):
        """Grow the tree for the numbers y, one column or several."""
        weigh = lambda y: weights_of(sample_weight, len(y))
        X, y = begin(self, X, y, "numbers", weigh)
        w = weigh(y)
        Y, criterion, signs = target_of_numbers(self, y, w, X.shape[1])
        fit = fit_standard if criterion.kind in (GAUSS, JOINT) else fit_tree
        self.tree_ = fit(self, X, Y, w, criterion, signs)
        return self

    def predict(self, X):
        """The value of the leaf: (n,), or (n, outputs) if there are several."""
        one = lambda tree: tree.value[:, 0, 0]
        all_of = lambda tree: tree.value[:, :, 0]
        check_is_fitted(self)
        return values_at(self, X, one if self.n_outputs_ == 1 else all_of)


def fit_standard(model, X, Y, w, criterion, signs):
    """The tree for targets of mean 0 and variance 1, its values taken back."""
    mean = np.average(Y, axis=0, weights=w)
    spread = np.sqrt(np.average((Y - mean) ** 2, axis=0, weights=w))
    spread[spread == 0] = 1.0
    tree = fit_tree(model, X, (Y - mean) / spread, w, criterion, signs)
    return tree._replace(value=tree.value * spread[:, None] + mean[:, None])

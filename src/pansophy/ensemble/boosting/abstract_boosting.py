"""Boosted models: concatenated trees, raw predictions, and losses by their names.

A boosted model keeps its trees concatenated in `trees_` (leaf values times the learning
rate, the K trees of a round in a row). Its raw prediction is

    f(x) = init(x) + sum of the values of the leaves that x falls into            (1)

and the loss's link turns it into classes, probabilities or means. How the trees are
found is in `boosting.py`.

Shapes    f (n, K)
"""

from abc import abstractmethod
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from ... import losses
from ...base import Estimator
from ...core.arrays.labels import class_codes
from ...core.arrays.rows import is_dataset
from ...core.arrays.weighted import check_sample_weight
from ...core.numerics import sigmoid, softmax
from ...losses import base as kinds
from ...params import ParameterError, ParameterRule
from ...persist.saved_state import (
    BoolArray,
    FloatArray,
    IntArray,
    NumberArray,
    Offsets,
    Part,
    Whole,
    are_binary_trees,
    saved_state,
)
from ...tree.abstract_decision_tree import (
    VirtualSubclass,
    encode_grid,
    splits_match_inputs,
    validate_prediction_rows,
)
from ...tree.growing.input_encoding import InputEncoder
from ...tree.growing.prepared_columns import float32_blocks
from ...tree.storage.additive_trees import AdditiveTrees
from ...tree.storage.packed_forest import PackedForest, pack_forest
from ...tree.storage.tree import LEAF, Tree
from .booster_words import keyword_advice
from .boosting import (
    MULTICLASS_KINDS,
    TARGET_DOMAINS,
    OwnGradients,
    check_target_domain,
)

LossObject = Annotated[
    Any, ParameterRule("a Loss", lambda v: isinstance(v, losses.Loss))
]
LOSS_ALIASES = {
    "squared_error": "half_squared",
    "absolute_error": "absolute",
    "pinball": "quantile",
}


class TreeArrays(NamedTuple):
    """The arrays of trees, one tree after the other."""

    start: np.ndarray  # (T + 1,) first node of each tree
    children_left: np.ndarray
    children_right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    impurity: np.ndarray
    n_node_samples: np.ndarray
    weighted_n_node_samples: np.ndarray
    value: np.ndarray  # (nodes,)
    missing_go_to_left: np.ndarray
    n_features: int
    sets: np.ndarray | None = None  # (nodes, 4)


def are_sound_boosted_trees(trees) -> bool:
    """Whether each slice of the arrays of loaded trees is one tree."""
    left, right = trees.children_left, trees.children_right
    splits = trees.feature[left != LEAF]
    return bool((splits >= 0).all()) and are_binary_trees(left, right, trees.start)


@saved_state(
    start=Offsets("trees", "nodes"),
    children_left=IntArray("nodes", low=-1, below="nodes", dtype=np.int32),
    children_right=IntArray("nodes", low=-1, below="nodes", dtype=np.int32),
    feature=IntArray("nodes", below="n_features", dtype=np.int32),
    threshold=FloatArray("nodes"),
    impurity=FloatArray("nodes"),
    n_node_samples=NumberArray("nodes"),
    weighted_n_node_samples=FloatArray("nodes"),
    value=FloatArray("nodes"),
    missing_go_to_left=BoolArray("nodes"),
    n_features=Whole(low=1),
    sets=IntArray("nodes", 4, dtype=np.uint64, optional=True),
    check=are_sound_boosted_trees,
)
class BoostedTrees(TreeArrays):
    """Concatenated trees: a tree is a slice of every array.

    Children are numbered within their slice. `forest` is the packed form that
    predictions use, made at its first use.
    """

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return len(self.start) - 1

    def tree(self, t) -> Tree:
        """Tree t by itself."""
        cut = slice(self.start[t], self.start[t + 1])
        part = lambda a: a[cut].astype(tree_dtype(a))
        return Tree(
            part(self.children_left),
            part(self.children_right),
            part(self.feature),
            part(self.threshold),
            part(self.impurity),
            part(self.n_node_samples),
            part(self.weighted_n_node_samples),
            part(self.value)[:, None, None],
            part(self.missing_go_to_left),
            self.n_features,
            None if self.sets is None else self.sets[cut],
        )

    def to_list(self) -> list[Tree]:
        """Every tree by itself."""
        return [self.tree(t) for t in range(self.n_trees)]

    @cached_property
    def forest(self) -> PackedForest | None:
        """Packed for prediction; None if there is no tree."""
        return pack_forest(self.to_list()) if self.n_trees else None

    def feature_gains(self):
        """Decrease of the impurity at the splits of each feature, over all trees."""
        parts = [t.compute_feature_importances(normalize=False) for t in self.to_list()]
        return np.sum(parts, axis=0) if parts else np.zeros(self.n_features)


def tree_dtype(a):
    """The type that `Tree` has for an array of this kind."""
    return {"i": np.int64, "f": np.float64}.get(a.dtype.kind, a.dtype)


def keeps_best_rounds(model, booster):
    """Whether the rounds after the best one on held-out rows are dropped."""
    if booster.validation is None:
        return False
    return not model.warm_start if model.keep_best == "auto" else bool(model.keep_best)


def concatenate_trees(trees, n_features) -> BoostedTrees:
    """`BoostedTrees` of a list of trees."""
    trees = list(trees)
    start = np.concatenate(([0], np.cumsum([t.node_count for t in trees], dtype=int)))

    def concatenated(name, kind):
        parts = [getattr(t, name) for t in trees]
        return np.concatenate(parts).astype(kind) if parts else np.empty(0, kind)

    sets = None
    if any(t.sets is not None for t in trees):
        empty = lambda t: np.zeros((t.node_count, 4), np.uint64)
        sets = np.concatenate([empty(t) if t.sets is None else t.sets for t in trees])
    return BoostedTrees(
        start,
        concatenated("children_left", np.int32),
        concatenated("children_right", np.int32),
        concatenated("feature", np.int32),
        concatenated("threshold", np.float64),
        concatenated("impurity", np.float64),
        concatenated("n_node_samples", np.int32),
        concatenated("weighted_n_node_samples", np.float64),
        concatenated("value", np.float64).reshape(-1),
        concatenated("missing_go_to_left", bool),
        int(n_features),
        sets,
    )


def trees_fill_iterations(model) -> bool:
    """Whether every iteration of a loaded model has as many trees."""
    trees = getattr(model, "trees_", None)
    each = getattr(model, "n_trees_per_iteration_", 1)
    k = len(model.classes_) if hasattr(model, "classes_") else 1
    outputs = k if k > 2 else 1
    return trees is None or (each == outputs and trees.n_trees % each == 0)


@saved_state(
    trees_=Part(BoostedTrees, n_features="n_features_in_"),
    inputs_=Part(InputEncoder),
    n_trees_per_iteration_=Whole(low=1),
    baseline_=FloatArray("n_trees_per_iteration_"),
    check=lambda m: splits_match_inputs(m) and trees_fill_iterations(m),
)
class AbstractBoosting(VirtualSubclass, Estimator):
    """A model that is a sum of trees in `trees_`, eq. (1)."""

    _keyword_advice = staticmethod(keyword_advice)

    @abstractmethod
    def fit(self, X, y, sample_weight=None) -> Any: ...

    @abstractmethod
    def _initial_raw(self, X) -> np.ndarray:
        """(n, K) raw predictions before the first tree."""

    @abstractmethod
    def _loss(self) -> losses.Loss:
        """The loss that the parameters and the classes determine."""

    def _kept_trees(self, K):
        """Trees that a warm start continues from; none without a warm start."""
        if not self._continues():
            return []
        had = self.n_trees_per_iteration_
        if had != K:
            raise ValueError(
                f"a warm start needs the classes of the first fit: it had {had} trees "
                f"a round, y now asks for {K}."
            )
        return self.trees_.to_list()

    def _continues(self):
        """Whether the fit adds to the trees of an earlier one."""
        return self.warm_start and hasattr(self, "trees_")

    def _rows(self, X):
        """X as the trees see it, float32 (n, d)."""
        inputs = getattr(self, "inputs_", None)
        if inputs is None or inputs.plain:
            X = validate_prediction_rows(self, X)
            return X.toarray() if sp.issparse(X) else X
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True)
        return inputs.encode(X)

    def _validation_rows(self, X_val, y_val, w_val):
        """The user's validation rows as (X, targets, weights), or None."""
        if X_val is None and y_val is None:
            if w_val is not None:
                raise ValueError("sample_weight_val is given without X_val and y_val.")
            return None
        if X_val is None or y_val is None:
            names = ("y_val", "X_val") if X_val is None else ("X_val", "y_val")
            raise ValueError("{} is provided, but {} was not provided.".format(*names))
        X = self._rows(X_val)
        y = np.asarray(y_val)
        loss = self._loss()
        if y.shape != (len(X),):
            raise ValueError(f"X_val has {len(X)} rows, but y_val has shape {y.shape}.")
        if hasattr(self, "classes_"):
            y = targets_from_codes(loss, class_codes(y, classes=self.classes_)[1])
        else:
            y = y.astype(float)
            check_target_domain(loss, y, type(self).__name__)
        return X, y, check_sample_weight(w_val, len(X))

    def _raw(self, X, rounds=None):
        """(n, K) raw predictions, of the first rounds or all of them."""
        if rounds is not None:
            check_is_fitted(self)
            done = self.trees_.n_trees // self.n_trees_per_iteration_
            if not 0 <= rounds <= done:
                raise ValueError(
                    f"n_rounds must be from 0 to {done}, the rounds of the model, got "
                    f"{rounds}."
                )
        current = getattr(self, "_current_raw", None)
        if current is not None:  # a scorer predicts during a fit
            return current
        check_is_fitted(self)
        inputs = getattr(self, "inputs_", None)
        if is_dataset(X) and (inputs is None or inputs.plain):
            parts = float32_blocks(self._check_new_data(X))
            raw = lambda b: self._add_rounds(b, self._initial_raw(b), 0, rounds)
            return np.concatenate([raw(b) for b in parts])
        X = self._rows(X)
        return self._add_rounds(X, self._initial_raw(X), 0, rounds)

    def _add_rounds(self, X, f, first, last):
        """f plus the trees of rounds first .. last."""
        trees, K = self.trees_, self.n_trees_per_iteration_
        stop = trees.n_trees if last is None else last * K
        if stop > first * K:
            column = None if K == 1 else np.arange(trees.n_trees) % K
            trees.forest.sum(X, first * K, stop, out=f, column=column)
        return f

    def _staged_raw(self, X):
        """(n, K) raw predictions after each round."""
        check_is_fitted(self)
        X = self._rows(X)
        f = self._initial_raw(X)
        for t in range(self.trees_.n_trees // self.n_trees_per_iteration_):
            f = self._add_rounds(X, f, t, t + 1)
            yield f.copy()

    def apply(self, X):
        """(n, rounds, K) numbers of the leaves that rows fall into."""
        check_is_fitted(self)
        X, K = self._rows(X), self.n_trees_per_iteration_
        leaf = np.empty((len(X), self.trees_.n_trees), np.int64)
        for t, tree in enumerate(self.trees_.to_list()):
            leaf[:, t] = tree.apply(X)
        return leaf.reshape(len(X), -1, K)

    @property
    def feature_importances_(self):
        """Share of the total gain by feature; sums to 1, or all 0."""
        check_is_fitted(self)
        gains = self.trees_.feature_gains()
        total = gains.sum()
        return gains / total if total > 0 else gains

    def _compute_partial_dependence_recursion(self, grid, target_features):
        """(K, n) mean of the trees' sum; scikit-learn's inspection calls it.

        The nodes count by rows: weights of Newton's trees are curvatures.
        """
        K = self.n_trees_per_iteration_
        out = np.zeros((K, len(grid)))
        rows = encode_grid(self, grid, target_features)
        for t, tree in enumerate(self.trees_.to_list()):
            counts = tree.n_node_samples.astype(float)
            tree = tree._replace(weighted_n_node_samples=counts)
            tree.compute_partial_dependence(rows, target_features, out[t % K])
        return out

    def plot(self, ax=None):
        """The learning curve: loss of the training and validation rows by round."""
        import matplotlib.pyplot as plt

        check_is_fitted(self)
        ax = plt.gca() if ax is None else ax
        for name, label in (("objective", "training"), ("validation", "validation")):
            if name in self.history_:
                curve = self.history_[name]
                ax.plot(np.arange(1, len(curve) + 1), curve, label=label)
        ax.set_xlabel("rounds")
        ax.set_ylabel(f"mean {self._loss().name} loss")
        ax.legend()
        return ax

    def _additive(self) -> AdditiveTrees:
        """The model as a sum of trees, for explanations of its raw predictions."""
        trees = self.trees_.to_list()
        K = self.n_trees_per_iteration_
        start = self._initial_raw(np.zeros((1, self.n_features_in_), np.float32))
        names = None
        if hasattr(self, "classes_"):
            names = list(self.classes_ if K > 1 else self.classes_[1:])
        return AdditiveTrees(
            trees,
            [tree.value[:, :, 0] for tree in trees],
            [t % K for t in range(len(trees))],
            start[0],
            self._rows,
            self._raw,
            names,
            counted=True,
        )

    def __str__(self):
        if not hasattr(self, "trees_"):
            return repr(self)
        trees = self.trees_
        leaves = int(np.sum(trees.children_left < 0))
        lines = [
            repr(self),
            f"{trees.n_trees} trees, {leaves} leaves, "
            f"mean {self._loss().name} loss {self.history_['objective'][-1]:.6g}"
            if len(self.history_.get("objective", ()))
            else f"{trees.n_trees} trees",
        ]
        share = self.feature_importances_
        names = getattr(self, "feature_names_in_", np.arange(len(share)))
        top = np.argsort(-share, kind="stable")[:5]
        lines.append(
            "most gain: " + ", ".join(f"{names[j]} {share[j]:.1%}" for j in top)
        )
        return "\n".join(lines)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


# -- losses by name --------------------------------------------------------------
def regression_loss(loss, level, name) -> losses.Loss:
    """The loss of a regressor; `level` is that of "quantile"."""
    if callable(loss):
        return OwnGradients(loss).as_loss()
    if not isinstance(loss, str):
        if loss.domain not in TARGET_DOMAINS or loss.kind in MULTICLASS_KINDS:
            raise ParameterError(
                f"loss of {name} must be a loss of numbers, got {loss!r}."
            )
        return loss
    if loss in ("quantile", "pinball"):
        if level is None:
            raise ParameterError(
                f"quantile of {name} must be a number from 0 to 1 for loss={loss!r}, "
                "got None."
            )
        edge = min(max(float(level), 1e-12), 1 - 1e-12)  # 0 and 1: the extremes
        return losses.quantile(edge)
    return losses.get_loss(LOSS_ALIASES.get(loss, loss))


def classification_loss(loss, n_classes, name) -> losses.Loss:
    """The loss of a classifier."""
    if loss == "log_loss":
        return losses.logistic if n_classes <= 2 else losses.softmax
    if isinstance(loss, str):
        loss = losses.get_loss(loss)
    if loss.domain not in ("sign", "fraction", "label"):
        raise ParameterError(f"loss of {name} must be a loss of classes, got {loss!r}.")
    if loss.domain != "label" and n_classes > 2:
        raise ValueError(
            f"loss={loss.name!r} is only suitable for a binary classification problem: "
            f"y of {name} has {n_classes} classes; take 'log_loss'."
        )
    return loss


def targets_from_codes(loss, codes):
    """Codes 0 .. K-1 as the targets that the loss is defined for."""
    if loss.domain == "label":
        return codes.astype(np.int32)
    return np.where(codes == 1, 1.0, -1.0 if loss.domain == "sign" else 0.0)


def probabilities_from_raw(loss, raw):
    """Class probabilities (n, K) of raw predictions."""
    if loss.kind == kinds.SOFTMAX:
        return softmax(raw)
    f = raw[:, 0]
    if loss.kind == kinds.EXPONENTIAL:
        p = sigmoid(2 * f)
    elif loss.domain == "fraction":
        p = loss.link.inverse(f)
    else:
        raise AttributeError(f"loss={loss.name!r} gives scores, not probabilities.")
    return np.stack([1 - p, p], axis=1)


def set_classes(model, y, least=2):
    """Set `classes_` and return the codes of y; fewer than `least` are refused."""
    model.classes_, codes = class_codes(y)
    if len(model.classes_) < least:
        raise ValueError(
            "y contains 1 class after sample_weight trimmed classes with zero weights, "
            "while a minimum of 2 classes are required. "
            f"{type(model).__name__} has the one class {model.classes_.tolist()[0]!r}."
        )
    return codes


def classes_from_raw(model, raw):
    """The class with the highest raw prediction."""
    if len(model.classes_) == 1:
        return np.repeat(model.classes_, len(raw))
    if raw.shape[1] == 1:
        return model.classes_[(raw[:, 0] > 0).astype(int)]
    return model.classes_[raw.argmax(axis=1)]

"""What all boosters share: raw predictions from their trees, and reading them.

A booster keeps its trees end to end in `trees_` (leaf values times the learning rate,
the K trees of a round in a row) and answers with

    f(x) = start(x) + sum of the leaves that x falls into

of which classes, probabilities and means are made by the loss's link.
"""

from abc import abstractmethod
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import compute_sample_weight
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import losses
from ..base import Estimator, check_weights
from ..core.labels import class_codes
from ..core.numerics import sigmoid, softmax
from ..core.rows import is_dataset
from ..losses import base as kinds
from ..params import ParameterError, Rule
from ..tree.abstract import rows_of
from ..tree.additive import Additive
from . import targets
from .binning import float32_blocks

LossObject = Annotated[Any, Rule("a Loss", lambda v: isinstance(v, losses.Loss))]
LOSS_ALIASES = {
    "squared_error": "half_squared",
    "absolute_error": "absolute",
    "pinball": "quantile",
}


class AbstractBoosting(Estimator):
    """A sum of trees in `trees_`."""

    @abstractmethod
    def fit(self, X, y, sample_weight=None) -> Any: ...

    @abstractmethod
    def _start(self, X) -> np.ndarray:
        """(n, K) raw predictions before the first tree."""

    @abstractmethod
    def _loss_of(self) -> losses.Loss:
        """The loss that the parameters and the classes name."""

    def _old_trees(self, K):
        """Trees that a warm start goes on from; none if it is none."""
        if not self._goes_on():
            return []
        had = self.n_trees_per_iteration_
        if had != K:
            raise ValueError(
                f"a warm start needs the classes of the first fit: it had {had} trees "
                f"a round, y now asks for {K}."
            )
        return self.trees_.all()

    def _goes_on(self):
        """Whether the fit adds to the trees that are there."""
        return self.warm_start and hasattr(self, "trees_")

    def _rows(self, X):
        """X as the trees see it, float32 (n, d)."""
        inputs = getattr(self, "inputs_", None)
        if inputs is None or inputs.plain:
            X = rows_of(self, X)
            return X.toarray() if sp.issparse(X) else X
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True)
        return inputs.encode(X)

    def _given_rows(self, X_val, y_val, w_val):
        """Validation rows of the user's own as (X, targets, weights), or None."""
        if X_val is None and y_val is None:
            if w_val is not None:
                raise ValueError("sample_weight_val is given without X_val and y_val.")
            return None
        if X_val is None or y_val is None:
            lacks = "X_val" if X_val is None else "y_val"
            raise ValueError(f"X_val and y_val go together, but {lacks} is missing.")
        X, y, loss = self._rows(X_val), np.asarray(y_val), self._loss_of()
        if y.shape != (len(X),):
            raise ValueError(f"X_val has {len(X)} rows, but y_val has shape {y.shape}.")
        if hasattr(self, "classes_"):
            y = targets_from_codes(loss, class_codes(y, classes=self.classes_)[1])
        else:
            y = y.astype(float)
            targets.check_target_domain(loss, y, type(self).__name__)
        return X, y, check_weights(w_val, np.empty((len(X), 0)))

    def _raw(self, X, rounds=None):
        """(n, K) raw predictions, of the first rounds or all of them."""
        given = getattr(self, "_given", None)
        if given is not None:  # a scorer asks during a fit
            return given
        check_is_fitted(self)
        inputs = getattr(self, "inputs_", None)
        if is_dataset(X) and (inputs is None or inputs.plain):
            parts = float32_blocks(self._ready(X))
            climb = lambda b: self._climb(b, self._start(b), 0, rounds)
            return np.concatenate([climb(b) for b in parts])
        X = self._rows(X)
        return self._climb(X, self._start(X), 0, rounds)

    def _climb(self, X, f, first, last):
        """f plus the trees of rounds first .. last."""
        trees, K = self.trees_, self.n_trees_per_iteration_
        stop = trees.total if last is None else last * K
        if stop > first * K:
            column = None if K == 1 else np.arange(trees.total) % K
            trees.forest.sum(X, first * K, stop, out=f, column=column)
        return f

    def _staged_raw(self, X):
        """The same after each round."""
        check_is_fitted(self)
        X = self._rows(X)
        f = self._start(X)
        for t in range(self.trees_.total // self.n_trees_per_iteration_):
            f = self._climb(X, f, t, t + 1)
            yield f.copy()

    def apply(self, X):
        """(n, rounds, K) numbers of the leaves that rows fall into."""
        check_is_fitted(self)
        X, K = self._rows(X), self.n_trees_per_iteration_
        leaf = np.empty((len(X), self.trees_.total), np.int64)
        for t, tree in enumerate(self.trees_.all()):
            leaf[:, t] = tree.apply(X)
        return leaf.reshape(len(X), -1, K)

    @property
    def feature_importances_(self):
        """Share of the total gain by feature; sums to 1, or all 0."""
        check_is_fitted(self)
        gains = self.trees_.gains()
        total = gains.sum()
        return gains / total if total > 0 else gains

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
        ax.set_ylabel(f"mean {self._loss_of().name} loss")
        ax.legend()
        return ax

    def _additive(self) -> Additive:
        """The model as a sum of trees, for explanations of its raw predictions."""
        trees, K = self.trees_.all(), self.n_trees_per_iteration_
        start = self._start(np.zeros((1, self.n_features_in_), np.float32))
        names = None
        if hasattr(self, "classes_"):
            names = list(self.classes_ if K > 1 else self.classes_[1:])
        return Additive(
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
            f"{trees.total} trees, {leaves} leaves, "
            f"mean {self._loss_of().name} loss {self.history_['objective'][-1]:.6g}"
            if len(self.history_.get("objective", ()))
            else f"{trees.total} trees",
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
    """The loss of a regressor; `level` is for "quantile"."""
    if not isinstance(loss, str):
        if (
            loss.domain not in targets.TARGET_DOMAINS
            or loss.kind in targets.MULTICLASS_KINDS
        ):
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
    return losses.get(LOSS_ALIASES.get(loss, loss))


def classification_loss(loss, n_classes, name) -> losses.Loss:
    """The loss of a classifier."""
    if loss == "log_loss":
        return losses.logistic if n_classes == 2 else losses.softmax
    if isinstance(loss, str):
        loss = losses.get(loss)
    if loss.domain not in ("sign", "fraction", "label"):
        raise ParameterError(f"loss of {name} must be a loss of classes, got {loss!r}.")
    if loss.domain != "label" and n_classes > 2:
        raise ValueError(
            f"loss={loss.name!r} of {name} is for 2 classes, but y has {n_classes} "
            "classes; take 'log_loss'."
        )
    return loss


def targets_from_codes(loss, codes):
    """Codes 0 .. K-1 as the loss wants its targets."""
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


def set_classes(model, y):
    """Sets `classes_` and gives the codes of y; one class is refused."""
    model.classes_, codes = np.unique(y, return_inverse=True)
    if len(model.classes_) < 2:
        raise ValueError(
            f"{type(model).__name__} needs at least 2 classes, but y has one class: "
            f"{model.classes_.tolist()[0]!r}."
        )
    return codes


def class_weights(class_weight, y, w):
    """w times the weight of each row's class."""
    if class_weight is None:
        return w
    factor = compute_sample_weight(class_weight, y)
    return factor if w is None else w * factor


def classes_from_raw(model, raw):
    """The class with the highest raw prediction."""
    if raw.shape[1] == 1:
        return model.classes_[(raw[:, 0] > 0).astype(int)]
    return model.classes_[raw.argmax(axis=1)]

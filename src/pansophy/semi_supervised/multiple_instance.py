"""Multiple-instance learning: a classifier of rows from labels of bags of rows.

Rows come in bags. The first class is the background; a bag of another class c holds at
least one row of c, which one is unknown, and otherwise rows of the background. Row
labels z are hidden, and alternation finds some that fit:

    fit    f to the rows with labels z                                           (1)
    label  in a bag of class c: z_i = c if P(c | x_i) > P(0 | x_i), else 0; and c
           for the row of largest P(c | x_i) in any case                         (2)

until z does not change, or `max_iter`. A new bag gets the class c > 0 of its row of
largest P(c | x), if that row is more probably c than 0. With bags of one row the labels
of the rows are known, and the classifier is the supervised one.

Shapes    X (n, d)   y (n,) the label of each row's bag   groups (n,) its bag
Refs      [Andrews2002] the algorithm; [Dietterich1997] the problem
"""

from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..core.arrays.labels import class_codes
from ..core.drivers.iterate import iterate
from ..params import Count, Verbosity
from ..typing import Fittable
from .abstract_semi_supervised import (
    AbstractSemiSupervised,
    inner_estimator_has,
    probabilities_of_classes,
)


class MultipleInstanceState(NamedTuple):
    """State carried from one iteration to the next."""

    objective: float  # rows that are not called 0
    z: np.ndarray
    changed: int = -1


def _best_row_of_each_bag(p, bag, n_bags):
    """The row of largest p in each bag, the first of equals."""
    order = np.lexsort((np.arange(len(p)), -p, bag))
    return order[np.searchsorted(bag[order], np.arange(n_bags))]


def _relabel_rows(P, codes, bag, n_bags):
    """Eq. (2): `codes` is the class of each row's bag."""
    p = P[np.arange(len(P)), codes]
    z = np.where(p > P[:, 0], codes, 0)
    top = _best_row_of_each_bag(p, bag, n_bags)
    z[top] = codes[top]
    return z


@dataclass(eq=False, repr=False)
class MultipleInstance(AbstractSemiSupervised):
    """A classifier of rows from the labels of bags.

    Parameters
    ----------
    estimator : classifier or None, default=None
        f; None is `LogisticRegression()`.
    max_iter : int, default=50
        Most iterations.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The first one is the background.
    estimator_ : classifier
        f, fitted to `row_labels_`.
    row_labels_ : array of shape (n,)
        z.
    n_iter_, history_
        Iterations; rows not called the first class after each.

    Examples
    --------
    >>> from pansophy.semi_supervised import MultipleInstance
    >>> X = [[0.0], [5.0], [1.0], [0.0], [0.5], [0.2], [0.2], [6.0]]
    >>> bag, y = [0, 0, 1, 1, 1, 1, 2, 2], [1, 1, 0, 0, 0, 0, 1, 1]
    >>> model = MultipleInstance().fit(X, y, groups=bag)
    >>> model.row_labels_
    array([0, 1, 0, 0, 0, 0, 0, 1])
    >>> model.predict_bags([[0.1], [0.3], [5.5]], [7, 7, 9])
    (array([7, 9]), array([0, 1]))
    """

    estimator: Fittable | None = None
    _: KW_ONLY
    max_iter: Count = 50
    verbose: Verbosity = 0

    _tensors = False

    def fit(self, X, y, sample_weight=None, groups=None):
        """Find row labels that fit the bags.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
            The label of each row's bag.
        sample_weight : array of shape (n,), optional
            Handed to the classifier.
        groups : array of shape (n,), optional
            The bag of each row; None makes each row a bag.
        """
        X, y, w = self._check_training_data(
            X,
            y,
            sample_weight,
            y_kind="class",
            accept_sparse="csr",
            ensure_all_finite=self._finite(),
        )
        self.classes_, codes = class_codes(y)
        if len(self.classes_) < 2:
            raise ValueError("y must hold at least 2 classes, got 1 class.")
        bag = np.arange(len(y)) if groups is None else np.asarray(groups)
        if bag.shape != (len(y),):
            raise ValueError(f"groups must hold {len(y)} bags, got {bag.shape}.")
        names, bag = np.unique(bag, return_inverse=True)
        code_of_bag = np.zeros(len(names), int)
        code_of_bag[bag] = codes
        differs = code_of_bag[bag] != codes
        if np.any(differs):
            bag_name = names[bag[np.flatnonzero(differs)[0]]]
            raise ValueError(
                f"the rows of bag {bag_name!r} have different labels in y."
            )
        state = self._alternate(X, codes, w, bag, len(names))
        self.estimator_ = self._fit_labelled(
            clone(self._inner_estimator()), X, state.z, w
        )
        self.row_labels_ = self.classes_[state.z]
        return self

    def _alternate(self, X, codes, w, bag, n_bags):
        """Alternate between eqs. (1) and (2); the last state."""
        base = self._inner_estimator()
        single = n_bags == len(codes)

        def step(state):
            model = self._fit_labelled(clone(base), X, state.z, w)
            P = probabilities_of_classes(model, X, self.classes_)
            z = _relabel_rows(P, codes, bag, n_bags)
            changed = int(np.count_nonzero(z != state.z))
            return MultipleInstanceState(float(np.count_nonzero(z)), z, changed)

        change = lambda old, new: float(new.changed)
        start = MultipleInstanceState(float(np.count_nonzero(codes)), codes)
        if single:
            self.n_iter_ = 0
            self.history_ = {}
            return start
        run = lambda task: iterate(
            step,
            start,
            max_iter=self.max_iter,
            tol=0.0,
            change=change,
            watch=("changed",),
            task=task,
        )
        return self._run_driver(run, total=self.max_iter).state

    def predict(self, X):
        """The class of each row."""
        check_is_fitted(self)
        return self.estimator_.predict(self._rows(X))

    @available_if(inner_estimator_has("predict_proba"))
    def predict_proba(self, X):
        """P(k | x) of each row: (n, K)."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(self._rows(X))

    def predict_bags(self, X, groups):
        """The bags in order, and the class of each: that of its most certain row."""
        check_is_fitted(self)
        P = probabilities_of_classes(self.estimator_, self._rows(X), self.classes_)
        names, bag = np.unique(np.asarray(groups), return_inverse=True)
        if bag.shape != (len(P),):
            raise ValueError(f"groups must hold {len(P)} bags, got {bag.shape}.")
        top = P[_best_row_of_each_bag(P[:, 1:].max(axis=1), bag, len(names))]
        kind = 1 + top[:, 1:].argmax(axis=1)
        is_likelier = top[np.arange(len(top)), kind] > top[:, 0]
        return names, self.classes_[np.where(is_likelier, kind, 0)]

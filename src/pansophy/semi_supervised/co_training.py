"""Co-training: two classifiers that see different columns label rows for each other.

The columns come in two views. In each round a classifier is fitted on each view to the
rows that have a label. Among the rows without one, each classifier labels for every
class c the k_c rows of highest P(c | x), as far as c is the most probable class there.
What is certain in one view is often new information in the other: where the views are
independent given the class, the rows that one adds are to the other like rows drawn at
random. If both label the same row, the more certain one decides.

The numbers k_c (p positives and n negatives in the paper) hold the classes in
proportion. Without them the class that is ahead by chance has the most certain rows,
gets all new labels, and is further ahead in the next round. They share k_best in the
ratio of the known labels, of weight N_c, drawn a little towards equal shares because
few labels tell the ratio badly:

    k_c = max(1, round(k_best (N_c + a) / sum_j (N_j + a))),    a = 4             (1)

A class that is nowhere the most probable is passed over. Some row is labelled in every
round, so the rounds end. Two views that are the same columns with the same classifier
agree in everything: that is self-training, class by class. For new rows the
probabilities of both are multiplied:

    P(y | x) ~ P_1(y | x_1) P_2(y | x_2)                                          (2)

Cost      2 n_iter fits and predictions
Shapes    X (n, d)   views two lists of columns   y (n,)
Refs      [Blum1998]
"""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..core.drivers.iterate import iterate
from ..core.numerics import softmax
from ..params import Count, ParameterError, Verbosity, check_count
from ..persist.saved_state import Each, IntArray, saved_state
from ..typing import Fittable, ListLike
from .abstract_semi_supervised import AbstractSemiSupervised, probabilities_of_classes

MIN_PROBABILITY = 1e-12  # least probability that is multiplied
EXTRA_LABELS = 4.0  # a of eq. (1)


class CoTrainingState(NamedTuple):
    """State carried from one round to the next."""

    objective: float  # share of the rows without a label
    codes: np.ndarray  # place in `classes`, -1 without a label
    labelled_in: np.ndarray  # the round that labelled a row: 0 known, -1 never
    changed: int = -1


def rows_by_class(k_best, weight) -> np.ndarray:
    """Eq. (1): how many rows of each class a view labels in a round.

    >>> rows_by_class(10, [3, 13])
    array([3, 7])
    """
    share = np.asarray(weight, float) + EXTRA_LABELS
    exact = k_best * share / share.sum()
    return np.maximum(np.floor(exact + 0.5).astype(int), 1)


def _choose_rows_to_label(P, Q, free, counts):
    """Codes of the rows that either view labels; the more certain one if both do."""
    rows = np.flatnonzero(free)
    code = np.full(len(P), -1)
    certainty = np.zeros(len(P))
    for A in (P, Q):
        guess = A[rows].argmax(axis=1)
        for c, k in enumerate(counts):
            class_rows = rows[guess == c]
            order = class_rows[np.argsort(-A[class_rows, c], kind="stable")[:k]]
            better = order[(code[order] < 0) | (A[order, c] > certainty[order])]
            code[better] = c
            certainty[better] = A[better, c]
    return code


@saved_state(
    views_=Each(IntArray(None, low=0, below="n_features_in_"), 2),
    labeled_iter_=IntArray(None, low=-1),
)
@dataclass(eq=False, repr=False)
class CoTraining(AbstractSemiSupervised):
    """Two classifiers on two views of the columns label rows for each other.

    Parameters
    ----------
    estimator : classifier or None, default=None
        For the first view; None is `LogisticRegression()`.
    second : classifier or None, default=None
        For the second view; None is the same as for the first.
    views : pair of lists of columns, or None, default=None
        Columns of each view; they may overlap. None is the first and the second half
        of the columns, and all of them twice if there is one.
    k_best : int or list of int, default=10
        Rows that each classifier labels in a round: their number over all classes,
        shared by eq. (1), or one number for each class in the order of `classes_`
        ([n, p] for n negatives and p positives).
    max_iter : int, default=30
        Most rounds.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    estimators_ : list of two classifiers
    views_ : list of two arrays of columns
    classes_ : array
        The known labels.
    transduction_ : array of shape (n,)
        Labels of the training rows; those that got none hold -1 or the empty text.
    labeled_iter_ : array of shape (n,)
        The round that labelled a row: 0 if it was known, -1 if none did.
    n_iter_, history_
        Rounds; the share of rows without a label after each.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.semi_supervised import CoTraining
    >>> X = np.array([[0, 1], [1, 0], [2, 2], [8, 9], [9, 8], [10, 10]]) / 2
    >>> CoTraining(k_best=1).fit(X, [0, -1, -1, -1, -1, 1]).transduction_
    array([0, 0, 0, 1, 1, 1])
    """

    estimator: Fittable | None = None
    _: KW_ONLY
    second: Fittable | None = None
    views: ListLike | None = None
    k_best: Count | ListLike = 10
    max_iter: Count = 30
    verbose: Verbosity = 0

    _tensors = False

    def fit(self, X, y, sample_weight=None):
        """Fit both classifiers, round after round.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
            Labels; -1, or the empty text, where there is none.
        sample_weight : array of shape (n,), optional
            Handed to the classifiers.
        """
        X, codes, w = self._check_partial_labels(X, y, sample_weight)
        counts = self._rows_by_class(codes, w)
        self.views_ = self._columns(X.shape[1])
        parts = [X[:, view] for view in self.views_]
        pair = [
            self._inner_estimator(),
            self._inner_estimator() if self.second is None else self.second,
        ]
        fit = lambda codes: [
            self._fit_labelled(clone(m), Z, codes, w) for m, Z in zip(pair, parts)
        ]

        def step(state):
            models = fit(state.codes)
            P, Q = (
                probabilities_of_classes(m, Z, self.classes_)
                for m, Z in zip(models, parts)
            )
            new_codes = _choose_rows_to_label(P, Q, state.codes < 0, counts)
            new = np.where(new_codes >= 0, new_codes, state.codes)
            rounds = state.labelled_in
            rounds = np.where(new_codes >= 0, rounds.max() + 1, rounds)
            changed = int(np.count_nonzero(new_codes >= 0))
            return CoTrainingState(float(np.mean(new < 0)), new, rounds, changed)

        start = CoTrainingState(
            float(np.mean(codes < 0)), codes, np.where(codes < 0, -1, 0)
        )
        change = lambda old, new: 0.0 if new.objective == 0 else 1.0
        max_iter = self.max_iter if (codes < 0).any() else 0

        def run(task):
            result = iterate(
                step, start, max_iter=max_iter, tol=0.0, change=change, task=task
            )
            return result.as_planned()  # to run out of rounds is one way to end

        state = self._run_driver(run, total=max_iter).state
        self.estimators_: list[Any] = fit(state.codes)
        self.labeled_iter_ = state.labelled_in
        self.transduction_ = self._labels_of_codes(state.codes)
        return self

    def _rows_by_class(self, codes, w):
        """k_c: the user's numbers, or eq. (1)."""
        known = codes >= 0
        k = len(self.classes_)
        k_best: Any = self.k_best
        if isinstance(k_best, Integral):
            part = None if w is None else w[known]
            N = np.bincount(codes[known], weights=part, minlength=k)
            return rows_by_class(k_best, N)
        if len(k_best) != k:
            raise ParameterError(
                f"k_best must hold a number for each of {k} classes, got {len(k_best)}."
            )
        return [check_count("k_best", number) for number in k_best]

    def _columns(self, d):
        """The two lists of columns, checked."""
        if self.views is None:
            half = max(d // 2, 1)
            return [np.arange(half), np.arange(half, d) if d > 1 else np.arange(1)]
        if len(self.views) != 2:
            raise ParameterError(f"views must be two lists, got {len(self.views)}.")
        views = [np.atleast_1d(np.asarray(v)) for v in self.views]
        for view in views:
            is_index_list = view.dtype.kind in "iu" and view.ndim == 1 and len(view)
            if not is_index_list or view.min() < 0 or view.max() >= d:
                raise ParameterError(
                    f"views must hold column numbers from 0 to {d - 1}, got {view}."
                )
        return views

    def predict_proba(self, X):
        """Eq. (2): (n, K)."""
        check_is_fitted(self)
        X = self._rows(X)
        L = 0.0
        for model, view in zip(self.estimators_, self.views_):
            P = probabilities_of_classes(model, X[:, view], self.classes_)
            L = L + np.log(np.maximum(P, MIN_PROBABILITY))
        return softmax(L, axis=1)

    def predict(self, X):
        """The most probable class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

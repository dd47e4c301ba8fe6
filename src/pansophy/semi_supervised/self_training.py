"""Self-training: a classifier learns from its own most certain predictions.

A round fits the classifier to the rows that have a label, known or given by itself,
and labels some of the others:

    threshold   those with    max_k P(k | x) > threshold                         (1)
    k_best      the k_best of largest max_k P(k | x)                             (2)

A label once given stays, so the rows without one only become fewer and the rounds
end: all are labelled, none is certain enough, or `max_iter`. With `revise` the labels
that it gave are dropped and given again in each round, so that early mistakes can be
corrected; the rounds then end when no label changes any more. Known labels never
change. If every label is known the result is the classifier fitted to all rows.

The labels are no better than the classifier's first predictions; the gain is what the
distribution of the unlabelled rows says about the boundary.

Cost      n_iter fits and predictions; memory that of one fit
Shapes    X (n, d)   y (n,)   -1 (or the empty text) for a row without a label
Refs      [Yarowsky1995]; [Lee2013] revised labels
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..core.iterate import iterate
from ..params import Count, Flag, Fraction, Natural, ParameterError, Verbosity
from ..persist.saved_state import IntArray, saved_state
from ..typing import Fittable
from .abstract_semi_supervised import (
    AbstractSemiSupervised,
    inner_estimator_has,
    probabilities_of_classes,
)


class SelfTrainingState(NamedTuple):
    """What one round passes to the next."""

    objective: float  # share of the rows without a label
    codes: np.ndarray  # place in `classes`, -1 without a label
    labelled_in: np.ndarray  # the round that labelled a row: 0 known, -1 never
    model: Any = None
    changed: int = -1  # labels given or changed
    rounds: int = 0


def select_confident_rows(best, free, threshold, criterion, k_best):
    """Eqs. (1) and (2): which of the free rows get their label."""
    if criterion == "threshold":
        return free & (best > threshold)
    rows = np.flatnonzero(free)
    order = np.argsort(-best[rows], kind="stable")[:k_best]
    chosen = np.zeros(len(best), bool)
    chosen[rows[order]] = True
    return chosen


@saved_state(labeled_iter_=IntArray(None, low=-1))
@dataclass(eq=False, repr=False)
class SelfTrainingClassifier(AbstractSemiSupervised):
    """Self-training with any classifier that gives probabilities.

    Parameters
    ----------
    estimator : classifier or None, default=None
        None is `LogisticRegression()`.
    threshold : float, default=0.75
        Least probability at which a row gets a label, with criterion "threshold".
    criterion : {"threshold", "k_best"}, default="threshold"
        Eq. (1) or eq. (2).
    k_best : int, default=10
        Rows labelled in a round, with criterion "k_best".
    max_iter : int or None, default=10
        Most rounds; None for no limit (for `revise`, a hundred).
    verbose : int, default=0
        1 shows a progress bar.
    revise : bool, default=False
        Whether labels of earlier rounds are given again in each round.

    Attributes
    ----------
    estimator_ : classifier
        The last one fitted.
    classes_ : array
        The known labels.
    transduction_ : array of shape (n,)
        Labels of the training rows; those that got none hold -1 or the empty text.
    labeled_iter_ : array of shape (n,)
        The round that labelled a row: 0 if it was known, -1 if none did.
    n_iter_ : int
        Rounds.
    termination_condition_ : {"all_labeled", "no_change", "max_iter"}
        Why the rounds ended.
    history_ : dict of arrays
        "objective", the share of rows without a label, and "changed", by round.

    Examples
    --------
    >>> from pansophy.semi_supervised import SelfTrainingClassifier
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> model = SelfTrainingClassifier().fit(X, [0, -1, -1, -1, -1, 1])
    >>> model.transduction_, model.termination_condition_
    (array([0, 0, 0, 1, 1, 1]), 'all_labeled')
    """

    estimator: Fittable | None = None
    threshold: Fraction = 0.75
    _: KW_ONLY
    criterion: Literal["threshold", "k_best"] = "threshold"
    k_best: Count = 10
    max_iter: Natural | None = 10
    verbose: Verbosity = 0
    revise: Flag = False

    def fit(self, X, y, sample_weight=None):
        """Fit round after round.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
            Labels; -1, or the empty text, where there is none.
        sample_weight : array of shape (n,), optional
            Handed to the classifier.
        """
        X, codes, w = self._check_partial_labels(X, y, sample_weight)
        if self.threshold == 1:
            raise ParameterError(
                "threshold must be below 1: no probability is above 1."
            )
        known = codes >= 0
        base = self._inner_estimator()

        def step(state):
            model = self._fit_labelled(clone(base), X, state.codes, w)
            free = ~known if self.revise else state.codes < 0
            P = probabilities_of_classes(model, X, self.classes_)
            guess = P.argmax(axis=1)
            best = P.max(axis=1)
            pick = select_confident_rows(
                best, free, self.threshold, self.criterion, self.k_best
            )
            new = np.where(free, -1, state.codes)
            new[pick] = guess[pick]
            changed = int(np.count_nonzero(new != state.codes))
            rounds = state.rounds + 1
            labelled_in = np.where(new == state.codes, state.labelled_in, rounds)
            labelled_in = np.where(new < 0, -1, labelled_in)
            unlabelled = float(np.mean(new < 0))
            return SelfTrainingState(
                unlabelled, new, labelled_in, model, changed, rounds
            )

        def change(old, new):
            done = not np.any(new.codes < 0) and not self.revise
            return 0.0 if new.changed == 0 or done else 1.0

        start = SelfTrainingState(float(np.mean(~known)), codes, np.where(known, 0, -1))
        max_iter = self.max_iter
        if max_iter is None:
            max_iter = 100 if self.revise else len(codes)
        if known.all():
            max_iter = 0
        run = lambda task: self._set_termination(
            iterate(
                step,
                start,
                max_iter=max_iter,
                tol=0.0,
                change=change,
                watch=("changed",),
                task=task,
            )
        )
        state = self._run_driver(run, total=max_iter).state
        # the classifier that is kept has seen every label that was given
        self.estimator_ = self._fit_labelled(clone(base), X, state.codes, w)
        self.labeled_iter_ = state.labelled_in
        self.transduction_ = self._labels_of_codes(state.codes)
        return self

    def _set_termination(self, result):
        """Set why the rounds ended; running out of them is no failure to converge."""
        state = result.state
        self.termination_condition_ = "max_iter"
        if not np.any(state.codes < 0) and not self.revise:
            self.termination_condition_ = "all_labeled"
        elif result.reason == "tolerance":
            self.termination_condition_ = "no_change"
        done = result.reason == "max_iter"
        return result._replace(reason="rounds") if done else result

    def predict(self, X):
        """The class of each row."""
        check_is_fitted(self)
        return self.estimator_.predict(self._rows(X))

    @available_if(inner_estimator_has("predict_proba"))
    def predict_proba(self, X):
        """P(k | x): (n, K)."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(self._rows(X))

    @available_if(inner_estimator_has("predict_log_proba"))
    def predict_log_proba(self, X):
        """log P(k | x): (n, K)."""
        check_is_fitted(self)
        return self.estimator_.predict_log_proba(self._rows(X))

    @available_if(inner_estimator_has("decision_function"))
    def decision_function(self, X):
        """Scores of the classifier."""
        check_is_fitted(self)
        return self.estimator_.decision_function(self._rows(X))

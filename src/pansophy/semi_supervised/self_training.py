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

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..core.drivers.iterate import iterate
from ..core.drivers.routing import refuse_unrouted, routed_params, routing_enabled
from ..params import Count, Flag, Fraction, Natural, ParameterError, Verbosity
from ..persist.saved_state import IntArray, saved_state
from ..typing import Fittable
from .abstract_semi_supervised import (
    AbstractSemiSupervised,
    inner_estimator_has,
    probabilities_of_classes,
)


class SelfTrainingState(NamedTuple):
    """State carried from one round to the next."""

    objective: float  # share of the rows without a label
    codes: np.ndarray  # place in `classes`, -1 without a label
    labelled_in: np.ndarray  # the round that labelled a row: 0 known, -1 never
    model: Any = None
    changed: int = -1  # labels given or changed
    rounds: int = 0


def _select_confident_rows(best, free, threshold, criterion, k_best):
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
        1 shows a progress bar and how many labels each round adds.
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

    _tensors = False

    def fit(self, X, y, sample_weight=None, **params):
        """Fit round after round.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
            Labels; -1, or the empty text, where there is none.
        sample_weight : array of shape (n,), optional
            Handed to the classifier; with metadata routing, if it asks for it.
        **params : dict
            With metadata routing: what the classifier asks for. What has an entry for
            each row is cut to the rows that have a label.
        """
        refuse_unrouted(self, "fit", params)
        X, codes, w = self._check_partial_labels(X, y, sample_weight)
        routed = {}
        if routing_enabled():
            by_member = routed_params(self, "fit", params, sample_weight=sample_weight)
            routed = by_member.estimator.fit
            w = None
        if self.threshold == 1:
            raise ParameterError(
                "threshold must be below 1: no probability is above 1."
            )
        known = codes >= 0
        self._warn_if_trivial(np.count_nonzero(~known))
        base = self._inner_estimator()

        def step(state):
            model = self._fit_labelled(clone(base), X, state.codes, w, routed)
            free = ~known if self.revise else state.codes < 0
            P = probabilities_of_classes(model, X, self.classes_)
            guess = P.argmax(axis=1)
            best = P.max(axis=1)
            pick = _select_confident_rows(
                best, free, self.threshold, self.criterion, self.k_best
            )
            new = np.where(free, -1, state.codes)
            new[pick] = guess[pick]
            changed = int(np.count_nonzero(new != state.codes))
            rounds = state.rounds + 1
            labelled_in = np.where(new == state.codes, state.labelled_in, rounds)
            labelled_in = np.where(new < 0, -1, labelled_in)
            unlabelled = float(np.mean(new < 0))
            if self.verbose:
                print(f"End of iteration {rounds}, added {changed} new labels.")
            return SelfTrainingState(
                unlabelled, new, labelled_in, model, changed, rounds
            )

        def change(old, new):
            is_done = not np.any(new.codes < 0) and not self.revise
            return 0.0 if new.changed == 0 or is_done else 1.0

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
        self.estimator_ = self._fit_labelled(clone(base), X, state.codes, w, routed)
        self.labeled_iter_ = state.labelled_in
        self.transduction_ = self._labels_of_codes(state.codes)
        return self

    def _warn_if_trivial(self, unlabelled):
        """Warn if there is nothing to label, or all of it at once."""
        if unlabelled == 0:
            warnings.warn(
                "y contains no unlabeled samples: this is the classifier alone.",
                UserWarning,
                stacklevel=3,
            )
        elif self.criterion == "k_best" and self.k_best > unlabelled:
            warnings.warn(
                "k_best is larger than the amount of unlabeled samples. All unlabeled "
                "samples will be labeled in the first iteration",
                UserWarning,
                stacklevel=3,
            )

    def _set_termination(self, result):
        """Set why the rounds ended; running out of them is no failure to converge."""
        state = result.state
        self.termination_condition_ = "max_iter"
        if not np.any(state.codes < 0) and not self.revise:
            self.termination_condition_ = "all_labeled"
        elif result.reason == "tolerance":
            self.termination_condition_ = "no_change"
        return result.as_planned()

    def _of_inner(self, method, X, params):
        """A method of the classifier at checked rows, with routed arguments."""
        refuse_unrouted(self, method, params)
        check_is_fitted(self)
        if routing_enabled():
            params = routed_params(self, method, params).estimator[method]
        return getattr(self.estimator_, method)(self._rows(X), **params)

    def predict(self, X, **params):
        """The class of each row."""
        return self._of_inner("predict", X, params)

    @available_if(inner_estimator_has("predict_proba"))
    def predict_proba(self, X, **params):
        """P(k | x): (n, K)."""
        return self._of_inner("predict_proba", X, params)

    @available_if(inner_estimator_has("predict_log_proba"))
    def predict_log_proba(self, X, **params):
        """log P(k | x): (n, K)."""
        return self._of_inner("predict_log_proba", X, params)

    @available_if(inner_estimator_has("decision_function"))
    def decision_function(self, X, **params):
        """Scores of the classifier."""
        return self._of_inner("decision_function", X, params)

    @available_if(inner_estimator_has("score"))
    def score(self, X, y, sample_weight=None, **params):
        """The classifier's score; with metadata routing, given what it asks for."""
        refuse_unrouted(self, "score", params)
        check_is_fitted(self)
        if routing_enabled():
            by_member = routed_params(
                self, "score", params, sample_weight=sample_weight
            )
            params = by_member.estimator.score
        elif sample_weight is not None:
            params = {"sample_weight": sample_weight}
        return self.estimator_.score(self._rows(X), y, **params)

    def get_metadata_routing(self):
        """Metadata that the classifier asks for, by method."""
        prediction_methods = (
            "predict",
            "predict_proba",
            "decision_function",
            "predict_log_proba",
        )
        mapping = MethodMapping().add(callee="fit", caller="fit")
        mapping.add(callee="score", caller="fit")
        for method in (*prediction_methods, "score"):
            mapping.add(callee=method, caller=method)
        return MetadataRouter(owner=self).add(
            estimator=self._inner_estimator(), method_mapping=mapping
        )

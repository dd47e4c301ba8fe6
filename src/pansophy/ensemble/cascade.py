"""Cascade: cheap classifiers predict the easy rows, expensive ones the rest.

Stages f_1 .. f_M of rising cost, with probabilities p_m(c | x) and thresholds t_m:

    stage(x) = the first m with max_c p_m(c | x) >= t_m, else M                  (1)
    y(x) = argmax_c p_stage(x)(c | x)                                            (2)

With threshold 0 the first stage predicts every row, with one above 1 the last. A row
costs the stages that it went through, so the mean cost is

    sum_m cost_m times the share of rows that reach stage m                      (3)

which `report` prints.

A later stage may learn from all rows, or only from those that will reach it, as in
[AlpaydinKaynak1998]. Whether a training row does is decided by out-of-fold
probabilities of the stage before, fitted without that row: a stage that saw it would
be too confident.

Shapes    p (n, K)   stage (n,) from 0   thresholds (M - 1,)
Refs      [AlpaydinKaynak1998]; [ViolaJones2001]
"""

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Literal, NamedTuple

import numpy as np

from ..base import Classifier
from ..core.arrays.frames import rows_of_table
from ..params import Jobs, NonNegative, ParameterError
from ..persist.saved_state import IntArray, saved_state
from ..typing import NumberList, Splits
from .committee import (
    AbstractCommittee,
    NamedEstimators,
    fit_clone,
)
from .members import class_probabilities
from .stacking import cross_val_predictions


class CascadeReport(NamedTuple):
    """Rows predicted by each stage and their cost; prints as a table."""

    names: list[str]
    answered: np.ndarray  # share of rows that stop at a stage
    reached: np.ndarray  # share of rows that get there
    cost: np.ndarray  # of a row at the stage
    mean_cost: float  # eq. (3)

    def __str__(self):
        width = max(5, *(len(n) for n in self.names))
        lines = [f"{'stage':<{width}}  reached  answered  cost of a row"]
        for n, r, a, c in zip(self.names, self.reached, self.answered, self.cost):
            lines.append(f"{n:<{width}}  {r:7.1%}  {a:8.1%}  {c:g}")
        return "\n".join([*lines, f"mean cost {self.mean_cost:.4g}"])


@saved_state(n_learned_=IntArray(None, low=0))
@dataclass(eq=False, repr=False)
class CascadeClassifier(Classifier, AbstractCommittee):
    """Classifiers in sequence, each for the rows on which earlier ones were unsure.

    Parameters
    ----------
    estimators : list of (str, classifier) or None, default=None
        The stages, cheapest first, each with `predict_proba`. None takes a decision
        stump, a logistic regression and a decision tree.
    threshold : float or list of float, default=0.9
        Probability from which a stage's prediction is taken: one for all, or one for
        each stage but the last.
    learn_from : {"all", "reached"}, default="all"
        Whether a stage learns from all rows or from those that get there.
    costs : list of float or None, default=None
        Cost of a row at each stage, for `report`; None for 1, 2, 3, ...
    cv : int, splitter, list of splits or None, default=None
        Folds that decide which rows reach a stage under learn_from="reached".
    n_jobs : int or None, default=None
        Folds fitted at the same time.

    Attributes
    ----------
    classes_ : array of shape (K,)
    estimators_ : list of fitted stages
    named_estimators_ : Bunch
    n_learned_ : array of shape (M,)
        Rows that each stage learned from.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.ensemble import CascadeClassifier
    >>> X = np.arange(40.0)[:, None]
    >>> model = CascadeClassifier().fit(X, np.where(X[:, 0] > 19, "b", "a"))
    >>> model.predict([[3.0], [30.0]]), model.stage([[3.0], [30.0]])
    (array(['a', 'b'], dtype='<U1'), array([0, 0]))
    >>> print(model.report(X))
    stage   reached  answered  cost of a row
    stump    100.0%    100.0%  1
    linear     0.0%      0.0%  2
    tree       0.0%      0.0%  3
    mean cost 1
    """

    estimators: NamedEstimators | None = None
    _: KW_ONLY
    threshold: NonNegative | NumberList = 0.9
    learn_from: Literal["all", "reached"] = "all"
    costs: NumberList | None = None
    cv: Splits = None
    n_jobs: Jobs = None

    def _default_estimators(self):
        from ..tree import DecisionTreeClassifier

        stump = DecisionTreeClassifier(max_depth=1, random_state=0)
        return [("stump", stump), *super()._default_estimators()]

    def fit(self, X, y, sample_weight=None):
        """Fit the stages one after the other."""
        X, y, w, classes = self._check_inputs(X, y, sample_weight, {})
        members = self._members()
        member_params = self._member_params(members, w, {})
        thresholds = self._thresholds(len(members))
        self._costs(len(members))  # raises if there are too few
        fitted: list = []
        learned: list = []
        kept = np.arange(len(y))
        for m, (name, estimator) in enumerate(members):
            if not hasattr(estimator, "predict_proba"):
                raise ParameterError(f"stage {name!r} has no predict_proba.")
            weights = {key: value[kept] for key, value in member_params[name].items()}
            part = (rows_of_table(X, kept), y[kept], weights)
            fitted.append(fit_clone(estimator, *part, name))
            learned.append(len(kept))
            if self.learn_from == "reached" and m + 1 < len(members):
                kept = self._rows_of_next_stage(estimator, part, kept, thresholds[m])
        self._store_members(fitted, members, classes)
        self.n_learned_ = np.array(learned)
        return self

    def _rows_of_next_stage(self, estimator, part, kept, threshold):
        """Rows that go on to the next stage, by out-of-fold probabilities.

        All of them where those that go on lack a class, or are too few for folds.
        """
        from sklearn.model_selection import check_cv

        X, y, weights = part
        counts = np.bincount(y)
        cv = check_cv(self.cv, y, classifier=True)
        if counts[counts > 0].min() < cv.get_n_splits(X, y):
            return kept
        splits = list(cv.split(X, y))
        p = cross_val_predictions(
            estimator, X, y, weights, splits, "predict_proba", self.n_jobs
        )
        unsure = p.max(axis=1) < threshold
        complete = len(np.unique(y[unsure])) == len(np.unique(y))
        return kept[unsure] if complete else kept

    def _thresholds(self, M):
        if isinstance(self.threshold, Real):
            return np.full(max(M - 1, 0), float(self.threshold))
        t = np.asarray(self.threshold, float)
        if len(t) != M - 1 or np.any(t < 0):
            raise ParameterError(
                f"threshold of CascadeClassifier must hold {M - 1} numbers of at least "
                f"0, one for each stage but the last, got {len(t)}."
            )
        return t

    def _costs(self, M):
        costs = np.arange(1.0, M + 1) if self.costs is None else np.asarray(self.costs)
        if len(costs) != M or np.any(costs < 0):
            raise ParameterError(
                f"costs of CascadeClassifier must hold {M} numbers of at least 0."
            )
        return costs.astype(float)

    def _predict_by_stages(self, X):
        """Probabilities (n, K), and the stage (n,) that gave them for each row."""
        X = self._prediction_rows(X)
        K = len(self.classes_)
        thresholds = self._thresholds(len(self.estimators_))
        p = class_probabilities(self.estimators_[0], X, K)
        stage = np.zeros(len(p), int)
        left = np.arange(len(p))
        for m, estimator in enumerate(self.estimators_[1:], start=1):
            left = left[p[left].max(axis=1) < thresholds[m - 1]]
            if len(left) == 0:
                break
            p[left] = class_probabilities(estimator, rows_of_table(X, left), K)
            stage[left] = m
        return p, stage

    def predict(self, X):
        """Eq. (2)."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X):
        """Probabilities of the stage that predicts a row: (n, K)."""
        return self._predict_by_stages(X)[0]

    def stage(self, X):
        """Eq. (1): the stage that predicts each row, from 0."""
        return self._predict_by_stages(X)[1]

    def report(self, X) -> CascadeReport:
        """Shares of rows and costs by stage."""
        stage = self.stage(X)
        M = len(self.estimators_)
        answered = np.bincount(stage, minlength=M) / len(stage)
        reached = answered[::-1].cumsum()[::-1]
        cost = self._costs(M)
        names = [n for n, _ in self._members()]
        return CascadeReport(names, answered, reached, cost, float(cost @ reached))

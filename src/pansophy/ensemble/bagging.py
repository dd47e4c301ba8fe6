"""Bagging: many copies of an estimator, each fitted to rows drawn anew, averaged.

Member b is fitted to a draw D_b of rows (with replacement, all n of them by default)
and of columns, and the bag answers with the mean over its B members,

    f(x) = 1/B sum_b f_b(x)                                                     (1)

of class probabilities (of votes, where a member has no probabilities) or of numbers.
If the members have variance s^2 and correlation r, the bag has

    r s^2 + (1 - r) s^2 / B                                                     (2)

so it helps estimators that change much with the data. All rows and some of the columns
is the random subspace method, some of both random patches.

Out of the bag: a row is missing from a share (1 - 1/n)^n -> 1/e of the draws. The mean
of (1) over the members that did not see it is a prediction as on new data. Rows that
every member has seen have none; `oob_missing_` lists them, and the score is over the
others.

Weights. Rows drawn with replacement are drawn with probability proportional to their
weight, as in scikit-learn; where rows are not drawn with replacement the weights are
handed on to the members.

Trees of ours are grown on one table that is checked and sorted once (`members.py`), by
threads; other estimators are fitted as joblib sees fit. What a member draws depends on
its seed alone, so n_jobs changes nothing.

Time B times that of a member. Memory O(n) per member while it is fitted; draws are not
kept but drawn again from the seed.

Shapes    X (n, d)   y (n,)   counts (n,)
Refs      [Breiman1996]; [Ho1998] subspaces; [Louppe2012] patches
"""

import warnings
from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils import column_or_1d

from ..base import Classifier, Regressor
from ..core.labels import class_codes
from ..params import Count, Flag, Jobs, Verbosity
from ..tree import DecisionTreeClassifier, DecisionTreeRegressor
from ..tree.abstract import Share
from ..typing import Fittable, Seed
from .bag import AbstractBagging, available_if_member_has
from .members import checks_warm_start, probabilities_or_votes


@dataclass(eq=False, repr=False)
class BaggingClassifier(Classifier, AbstractBagging):
    """A bag of classifiers.

    Parameters
    ----------
    estimator : classifier or None, default=None
        What to make copies of; None is a `DecisionTreeClassifier`.
    n_estimators : int, default=10
        Members, B of eq. (1).
    max_samples : int, float or None, default=None
        Rows that a member draws: None for as many as there are; a fraction is of
        their number, or of the total weight.
    max_features : int or float, default=1.0
        Columns that a member draws.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement.
    bootstrap_features : bool, default=False
        Whether columns are drawn with replacement.
    oob_score : bool, default=False
        Whether to predict each row by the members that have not seen it.
    warm_start : bool, default=False
        Whether another `fit` keeps the members and adds those that are missing.
    n_jobs : int or None, default=None
        Threads at most for trees of ours, None and -1 for all cores; joblib's jobs
        for other estimators, None for one.
    random_state : int, RandomState, Generator or None, default=None
        For the draws and for the members' own random states.
    verbose : int, default=0
        Above 0 shows a progress bar.

    Attributes
    ----------
    estimator_ : estimator
    estimators_ : list
        The members; their classes are numbers from 0.
    estimators_samples_ : list of arrays
        Rows that each member drew, repeated as often as drawn.
    estimators_features_ : list of arrays
        Columns that each member drew.
    classes_ : array of shape (n_classes,)
    n_classes_ : int
    oob_score_ : float
        Accuracy out of the bag.
    oob_decision_function_ : array of shape (n, n_classes)
        Probabilities out of the bag; NaN for rows that every member has seen.
    oob_missing_ : array
        The numbers of those rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pansophy.ensemble import BaggingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bag = BaggingClassifier(n_estimators=50, oob_score=True, random_state=0)
    >>> bag.fit(X, y).oob_score_ > 0.9
    True
    >>> bag.predict([[5.0, 3.4, 1.5, 0.2]])
    array([0])
    """

    estimator: Fittable | None = None
    n_estimators: Count = 10
    _: KW_ONLY
    max_samples: Count | Share | None = None
    max_features: Count | Share = 1.0
    bootstrap: Flag = True
    bootstrap_features: Flag = False
    oob_score: Flag = False
    warm_start: Flag = False
    n_jobs: Jobs = None
    random_state: Seed = None
    verbose: Verbosity = 0

    @checks_warm_start("estimators_")
    def fit(self, X, y, sample_weight=None):
        """Fit the members to draws of the rows of X and their classes y."""
        X, y = self._checked(X, y, "class", sample_weight)
        self.classes_, codes = class_codes(y)
        self.n_classes_ = len(self.classes_)
        return self._fit(X, codes, sample_weight)

    def predict(self, X):
        """The class with the largest mean probability."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]

    def predict_proba(self, X):
        """Mean probabilities of the members, or shares of their votes, eq. (1)."""
        return self._mean(X, "predict_proba")

    def predict_log_proba(self, X):
        """Logarithms of the mean probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @available_if_member_has("decision_function")
    def decision_function(self, X):
        """Mean of the members' decision functions."""
        return self._mean(X, "decision_function")

    def _default(self):
        return DecisionTreeClassifier()

    def _answer(self, model, X, method):
        if method == "predict_proba":
            return probabilities_or_votes(model, X, self.n_classes_)
        return getattr(model, method)(X)

    def _set_oob(self, mean, y, covered):
        self.oob_decision_function_ = mean
        right = np.argmax(mean[covered], axis=1) == y[covered]
        self.oob_score_ = float(np.mean(right)) if len(right) else np.nan


@dataclass(eq=False, repr=False)
class BaggingRegressor(Regressor, AbstractBagging):
    """A bag of regressors.

    Parameters
    ----------
    estimator : regressor or None, default=None
        What to make copies of; None is a `DecisionTreeRegressor`.
    n_estimators : int, default=10
        Members, B of eq. (1).
    max_samples : int, float or None, default=None
        Rows that a member draws: None for as many as there are; a fraction is of
        their number, or of the total weight.
    max_features : int or float, default=1.0
        Columns that a member draws.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement.
    bootstrap_features : bool, default=False
        Whether columns are drawn with replacement.
    oob_score : bool, default=False
        Whether to predict each row by the members that have not seen it.
    warm_start : bool, default=False
        Whether another `fit` keeps the members and adds those that are missing.
    n_jobs : int or None, default=None
        Threads at most for trees of ours, None and -1 for all cores; joblib's jobs
        for other estimators, None for one.
    random_state : int, RandomState, Generator or None, default=None
        For the draws and for the members' own random states.
    verbose : int, default=0
        Above 0 shows a progress bar.

    Attributes
    ----------
    estimator_ : estimator
    estimators_ : list
        The members.
    estimators_samples_ : list of arrays
        Rows that each member drew, repeated as often as drawn.
    estimators_features_ : list of arrays
        Columns that each member drew.
    oob_score_ : float
        R^2 out of the bag.
    oob_prediction_ : array of shape (n,)
        Predictions out of the bag; NaN for rows that every member has seen.
    oob_missing_ : array
        The numbers of those rows.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.ensemble import BaggingRegressor
    >>> x = np.linspace(0, 3, 200)[:, None]
    >>> bag = BaggingRegressor(n_estimators=20, random_state=0).fit(x, np.sin(x[:, 0]))
    >>> bag.predict([[1.5]]).round(2)
    array([1.])
    """

    estimator: Fittable | None = None
    n_estimators: Count = 10
    _: KW_ONLY
    max_samples: Count | Share | None = None
    max_features: Count | Share = 1.0
    bootstrap: Flag = True
    bootstrap_features: Flag = False
    oob_score: Flag = False
    warm_start: Flag = False
    n_jobs: Jobs = None
    random_state: Seed = None
    verbose: Verbosity = 0

    @checks_warm_start("estimators_")
    def fit(self, X, y, sample_weight=None):
        """Fit the members to draws of the rows of X and the numbers y."""
        X, y = self._checked(X, y, "numbers", sample_weight)
        y = column_or_1d(y, warn=True) if y.ndim == 2 and y.shape[1] == 1 else y
        return self._fit(X, y, sample_weight)

    def predict(self, X):
        """The mean of the members' predictions, eq. (1)."""
        return self._mean(X, "predict")

    def _default(self):
        return DecisionTreeRegressor()

    def _answer(self, model, X, method):
        return model.predict(X)

    def _set_oob(self, mean, y, covered):
        self.oob_prediction_ = mean
        with warnings.catch_warnings():  # R^2 of one row is not defined
            warnings.simplefilter("ignore")
            few = not len(covered)
            score = np.nan if few else r2_score(y[covered], mean[covered])
        self.oob_score_ = float(score)

"""Voting: the average or the majority of the predictions of several estimators.

    numbers   y(x) = sum_m w_m y_m(x)     or the weighted median                 (1)
    classes   y(x) = argmax_c p_c(x)
              hard:  p_c(x) = sum_m w_m [y_m(x) = c]                             (2)
              soft:  p_c(x) = sum_m w_m p_mc(x)                                  (3)

with w_m >= 0 that sum to 1. (1) lies between the smallest and the largest prediction;
its squared error is the mean error of the members less their ambiguity (`diversity`).
The median is robust to one bad member. sum_m w_m (y_m - y)^2 is the variance of a
normal distribution fitted to the predictions. The vote shares (2) are no estimates of
probabilities: three members that are sure of a class at 0.6 share all their votes. So
`predict_proba` is there under soft voting only, and `vote_shares` under both.

scikit-learn's estimators of the same names give (1) by the mean, (3), and the argmax
of (2); the shares of (2), the median and the variance are added here.

Shapes    y_m (n, M)   w (M,)   p (n, K)
Refs      [KroghVedelsby1995]; [Kuncheva2004]
"""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..base import Classifier, Regressor, Transformer
from ..core.arrays.weighted import weighted_median
from ..params import Flag, Jobs, ParameterError, Verbosity
from ..typing import NumberList
from .committee import (
    AbstractCommittee,
    NamedEstimators,
    fit_clones,
)
from .members import class_probabilities


def vote_shares(labels, w, K):
    """Eq. (2): labels (n, M) from 0 to K - 1.

    >>> vote_shares(np.array([[0, 1, 1]]), [0.5, 0.3, 0.3], 2).round(4)
    array([[0.4545, 0.5455]])
    """
    labels = np.asarray(labels)
    w = np.asarray(w, float)
    out = np.zeros((len(labels), K))
    for m, column in enumerate(labels.T):
        out[np.arange(len(labels)), column] += w[m]
    return out / w.sum()


def mean_of_members(outputs, w):
    """Eq. (1): outputs (n, M).

    >>> mean_of_members(np.array([[1.0, 2.0, 4.0]]), [0.5, 0.3, 0.2])
    array([1.9])
    """
    return np.average(outputs, axis=1, weights=w)


def has_soft_votes(model):
    """Whether members vote with probabilities; an AttributeError says so if not."""
    if model.voting == "hard":
        raise AttributeError(
            f"predict_proba is not available when voting={model.voting!r}; vote_shares "
            "gives the shares of the votes."
        )
    return True


class AbstractVoting(Transformer, AbstractCommittee):
    """Members that are all fitted to the same rows."""

    weights: Any
    n_jobs: Any
    verbose: Any

    _tensors = False

    def _fit_members(self, X, y, w, classes, fit_params):
        """Fit every member and store them."""
        members = self._members()
        self._vote_weights(members)
        params = self._member_params(members, w, fit_params)
        fitted = fit_clones(members, X, y, params, self.n_jobs)
        self._store_members(fitted, members, classes)
        if self.verbose:
            for name, _ in members:
                print(f"[Voting] fitted {name}")
        return self

    def _vote_weights(self, members=None):
        """w of eqs. (1) to (3), for the members that take part; sums to 1."""
        given = self._given()
        members = self._members() if members is None else members
        if self.weights is None:
            return np.full(len(members), 1.0 / len(members))
        if len(self.weights) != len(given):
            raise ParameterError(
                "Number of `estimators` and weights must be equal; got "
                f"{len(self.weights)} weights, {len(given)} estimators"
            )
        kept = {n for n, _ in members}
        w = np.array([v for v, (n, _) in zip(self.weights, given) if n in kept], float)
        if np.any(w < 0) or not 0 < w.sum() < np.inf:
            raise ParameterError(
                f"weights of {type(self).__name__} must not be negative and have a "
                "positive sum."
            )
        return w / w.sum()

    def _names(self):
        return [n for n, _ in self._members()]

    @abstractmethod
    def transform(self, X): ...

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


@dataclass(eq=False, repr=False)
class VotingClassifier(Classifier, AbstractVoting):
    """Classifiers that vote.

    Parameters
    ----------
    estimators : list of (str, classifier) or None, default=None
        The members; "drop" in the place of one leaves it out. None takes a logistic
        regression and a decision tree.
    voting : {"hard", "soft"}, default="hard"
        Whether members vote with their class or with their probabilities.
    weights : list of float or None, default=None
        Weight of each member; None for equal ones.
    n_jobs : int or None, default=None
        Members fitted at the same time.
    flatten_transform : bool, default=True
        Whether `transform` under soft voting gives (n, M K) rather than (M, n, K).
    verbose : bool, default=False
        Whether to print each member.

    Attributes
    ----------
    classes_ : array of shape (K,)
    estimators_ : list of fitted members
        Fitted to whole numbers in the place of the classes.
    named_estimators_ : Bunch
    le_ : LabelEncoder
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> from pansophy.ensemble import VotingClassifier
    >>> model = VotingClassifier().fit([[0], [1], [2], [3]], ["no", "no", "yes", "yes"])
    >>> model.predict([[0], [3]])
    array(['no', 'yes'], dtype='<U3')
    """

    estimators: NamedEstimators | None = None
    _: KW_ONLY
    voting: Literal["hard", "soft"] = "hard"
    weights: NumberList | None = None
    n_jobs: Jobs = None
    flatten_transform: Flag = True
    verbose: Verbosity = False

    def fit(self, X, y, sample_weight=None, **fit_params):
        """Fit every member to the rows; `fit_params` need metadata routing."""
        inputs = self._check_inputs(X, y, sample_weight, fit_params)
        return self._fit_members(*inputs, fit_params=fit_params)

    def predict(self, X):
        """The class with the largest share of the votes; of equals the first."""
        soft = self.voting == "soft"
        shares = self.predict_proba(X) if soft else self.vote_shares(X)
        return self.classes_[shares.argmax(axis=1)]

    @available_if(has_soft_votes)
    def predict_proba(self, X):
        """Eq. (3): (n, K)."""
        X = self._prediction_rows(X)
        return np.tensordot(self._vote_weights(), self._shares(X), axes=1)

    def vote_shares(self, X):
        """Eq. (2): (n, K) shares of the votes, by weight, for each class."""
        X = self._prediction_rows(X)
        return vote_shares(self._labels(X), self._vote_weights(), len(self.classes_))

    def transform(self, X):
        """Classes (n, M) as whole numbers, or probabilities under soft voting."""
        X = self._prediction_rows(X)
        if self.voting == "hard":
            return self._labels(X)
        shares = self._shares(X)
        return np.hstack(list(shares)) if self.flatten_transform else shares

    def get_feature_names_out(self, input_features=None):
        """Names of the columns of `transform`."""
        stem = type(self).__name__.lower()
        names = self._names()
        if self.voting == "hard":
            return np.array([f"{stem}_{n}" for n in names], object)
        if not self.flatten_transform:
            raise ValueError(
                "get_feature_names_out is not supported when `voting='soft'` and "
                "`flatten_transform=False`"
            )
        K = len(self.classes_)
        return np.array([f"{stem}_{n}{c}" for n in names for c in range(K)], object)

    def _labels(self, X):
        return np.stack([np.asarray(e.predict(X), int) for e in self.estimators_], 1)

    def _shares(self, X):
        K = len(self.classes_)
        return np.stack([class_probabilities(e, X, K) for e in self.estimators_])


@dataclass(eq=False, repr=False)
class VotingRegressor(Regressor, AbstractVoting):
    """The average, or the median, of several regressors.

    Parameters
    ----------
    estimators : list of (str, regressor) or None, default=None
        The members; "drop" in the place of one leaves it out. None takes a ridge
        regression and a decision tree.
    weights : list of float or None, default=None
        Weight of each member; None for equal ones.
    n_jobs : int or None, default=None
        Members fitted at the same time.
    verbose : bool, default=False
        Whether to print each member.
    combine : {"mean", "median"}, default="mean"
        How the members' predictions are combined.

    Attributes
    ----------
    estimators_ : list of fitted members
    named_estimators_ : Bunch
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> from pansophy.ensemble import VotingRegressor
    >>> from pansophy.linear_model import LinearRegression
    >>> from pansophy.tree import DecisionTreeRegressor
    >>> members = [("a", LinearRegression()), ("b", DecisionTreeRegressor())]
    >>> model = VotingRegressor(members).fit([[0], [1], [2]], [0.0, 2.0, 1.0])
    >>> model.predict([[1]]), model.predict([[1]], return_std=True)[1]
    (array([1.5]), array([0.5]))
    """

    estimators: NamedEstimators | None = None
    _: KW_ONLY
    weights: NumberList | None = None
    n_jobs: Jobs = None
    verbose: Verbosity = False
    combine: Literal["mean", "median"] = "mean"

    def fit(self, X, y, sample_weight=None, **fit_params):
        """Fit every member to the rows; `fit_params` need metadata routing."""
        inputs = self._check_inputs(X, y, sample_weight, fit_params)
        return self._fit_members(*inputs, fit_params=fit_params)

    def predict(self, X, return_std=False):
        """Eq. (1); with `return_std` also the standard deviation of the members."""
        outputs = self.transform(X)
        w = self._vote_weights()
        if self.combine == "mean":
            y = mean_of_members(outputs, w)
        else:
            y = weighted_median(outputs, w, axis=1)
        if not return_std:
            return y
        return y, np.sqrt(mean_of_members((outputs - y[:, None]) ** 2, w))

    def transform(self, X):
        """The members' predictions: (n, M)."""
        X = self._prediction_rows(X)
        return np.stack([np.asarray(e.predict(X)) for e in self.estimators_], axis=1)

    def get_feature_names_out(self, input_features=None):
        """Names of the columns of `transform`."""
        stem = type(self).__name__.lower()
        return np.array([f"{stem}_{n}" for n in self._names()], object)

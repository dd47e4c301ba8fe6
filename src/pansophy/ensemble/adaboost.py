"""AdaBoost: members one after the other, each looking hardest at what was wrong.

Classes (SAMME). Rows have weights w, first all alike. Round m fits a member g_m to the
weighted rows and, with K classes and the learning rate v,

    e_m = sum_i w_i [g_m(x_i) != y_i] / sum_i w_i                               (1)
    a_m = v (log((1 - e_m) / e_m) + log(K - 1))                                 (2)
    w_i <- w_i exp(a_m [g_m(x_i) != y_i]), scaled to sum 1                      (3)

The answer is the class with the largest sum of the a_m of the members that vote for
it. For two classes a_m is twice the half-log weight 1/2 log((1 - e) / e) of the first
papers, whose update exp(-+ half) differs from (3) by a factor common to all rows; so
weights, members and votes are the same.

This is stagewise descent on the exponential loss: coding a vote as 1 for its class and
-1 / (K - 1) for the others, round m multiplies the loss by

    Z_m = (1 - e_m) exp(-a_m (K - 1) / K) + e_m exp(a_m / K)                    (4)

which (2) makes smallest at v = 1, where for two classes Z_m = 2 sqrt(e_m (1 - e_m))
<= 1. The loss after round m, the product of Z_1 .. Z_m, is `error_bounds_`: it never
rises for v <= 1 and, for two classes, bounds the share of training rows (by weight)
that are wrong. By (2) and (3) with v = 1 and K = 2 the member just added has error 1/2
under the new weights, so the next one must differ.

Rounds end at e_m = 0, or when e_m >= 1 - 1/K: the member is no better than chance.

Numbers (AdaBoost.R2). Round m draws n rows by weight, fits a member to them and, with
L_i the absolute errors over the largest of them, L_i^2 or 1 - exp(-L_i),

    e = sum_i w_i L_i     b = e / (1 - e)     a = v log(1 / b)                  (5)
    w_i <- w_i b^(v (1 - L_i)), scaled to sum 1                                 (6)

until e >= 1/2. The answer is the median of the members' predictions, weighted by a.

Time: a round is one member; for trees of ours, whose columns are sorted once, a stump
is one pass over the table.

Shapes    X (n, d)   y (n,)   w (n,)
Refs      [Freund1997]; [Zhu2009] SAMME; [DruckerR2] numbers
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from scipy.special import softmax

from ..base import Classifier, Regressor
from ..core.labels import class_codes
from ..params import Count, Positive
from ..tree import DecisionTreeClassifier, DecisionTreeRegressor
from ..tree.abstract import in_blocks
from ..tree.packed import pack
from ..typing import Fittable, Seed
from . import _adaboost as loops
from .members import takes_sample_weight
from .resample import bootstrap_counts
from .rounds import MIN_WEIGHT, AbstractAdaBoost


def vote_weight(e, K, v=1.0) -> float:
    """a_m of eq. (2); 1 for a member without error, as in scikit-learn.

    >>> round(vote_weight(0.3, 2) / 2, 6)
    0.423649
    """
    return 1.0 if e <= 0 else float(v * (np.log((1.0 - e) / e) + np.log(K - 1.0)))


def loss_factor(e, a, K) -> float:
    """Z_m of eq. (4).

    >>> round(loss_factor(0.3, vote_weight(0.3, 2), 2), 6)
    0.916515
    """
    return float((1.0 - e) * np.exp(-a * (K - 1.0) / K) + e * np.exp(a / K))


@dataclass(eq=False, repr=False)
class AdaBoostClassifier(Classifier, AbstractAdaBoost):
    """AdaBoost for classes (SAMME) with any member that takes weights.

    Parameters
    ----------
    estimator : classifier or None, default=None
        What to make members of; None is a decision tree of one split.
    n_estimators : int, default=50
        Members at most.
    learning_rate : float, default=1.0
        v of eq. (2).
    random_state : int, RandomState, Generator or None, default=None
        For the members' own random states.

    Attributes
    ----------
    estimator_ : estimator
    estimators_ : list
        The members.
    classes_ : array of shape (n_classes,)
    n_classes_ : int
    estimator_weights_ : array of shape (n_estimators,)
        a of eq. (2), 0 for rounds that were not needed. Half of it is the half-log
        weight for two classes.
    estimator_errors_ : array of shape (n_estimators,)
        e of eq. (1), 1 for rounds that were not needed.
    weighted_errors_ : array of shape (rounds,)
        e of eq. (1).
    error_bounds_ : array of shape (rounds,)
        Training exponential loss after each round, the product of eq. (4); for two
        classes a bound on the training error.
    feature_importances_ : array of shape (n_features,)
    n_iter_ : int
        Rounds.
    history_ : dict
        The loss by round.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.ensemble import AdaBoostClassifier
    >>> x, t = np.arange(10)[:, None], [1, 1, 1, -1, -1, -1, 1, 1, 1, -1]
    >>> model = AdaBoostClassifier(n_estimators=3).fit(x, t)
    >>> model.weighted_errors_.round(6)
    array([0.3     , 0.214286, 0.181818])
    >>> [int(np.sum(p != t)) for p in model.staged_predict(x)]
    [3, 3, 0]
    """

    estimator: Fittable | None = None
    _: KW_ONLY
    n_estimators: Count = 50
    learning_rate: Positive = 1.0
    random_state: Seed = None

    def fit(self, X, y, sample_weight=None):
        """Add members until they are enough, without error, or of no more use."""
        X, y = self._checked(X, y, "class", sample_weight)
        self.classes_, self._codes = class_codes(y)
        self.n_classes_ = len(self.classes_)
        template = self._template()
        if not takes_sample_weight(template):
            raise ValueError(
                f"{type(template).__name__} doesn't support sample_weight."
            )
        self._fit(X, y, sample_weight)
        del self._codes
        self.error_bounds_ = self.history_["objective"][: len(self.estimators_)]
        return self

    def _default(self):
        return DecisionTreeClassifier(max_depth=1)

    def _round(self, state, data, seed):
        """Eqs. (1) to (4)."""
        K, model = self.n_classes_, data.member(seed)
        w, wrong = state.w, np.zeros(len(data.y), np.uint8)
        e = self._fit_one(model, data, w, wrong)
        if e >= 1.0 - 1.0 / K and e > 0:
            if not state.models:
                raise ValueError(
                    "BaseClassifier in AdaBoostClassifier ensemble is worse than "
                    "random, ensemble can not be fit: the first member is no better "
                    "than chance."
                )
            return state._replace(done=True)
        a = vote_weight(e, K, self.learning_rate)
        with np.errstate(over="ignore"):  # a huge learning rate; told below
            factor = loss_factor(e, a, K) if K > 1 else 0.0
            loss = min(state.objective * factor, np.finfo(float).max)
            sound = loops.reweight_rows(w, wrong, np.exp(a), MIN_WEIGHT)
        if not sound:
            warnings.warn(
                "sample weights have reached infinite values; lower learning_rate.",
                stacklevel=9,
            )
        return state.add(model, a, e, loss, done=e <= 0 or not sound)

    def _fit_one(self, model, data, w, wrong):
        """Fit a member to weighted rows and mark the wrong ones; its error, eq. (1)."""
        if data.table is None:
            model.fit(data.X, data.y, sample_weight=w)
            wrong[:] = model.predict(data.X) != data.y
            return float(w @ wrong / w.sum())
        grown = data.table.grow(model, w)
        if model.tree_ is not grown.tree:  # pruned: its leaves are others
            leaf = in_blocks(data.table.X, model.tree_.apply)
            wrong[:] = np.argmax(model.tree_.value[:, 0], axis=1)[leaf] != self._codes
            return float(w @ wrong / w.sum())
        leaf = np.flatnonzero(grown.tree.children_left < 0)
        label = np.argmax(grown.tree.value[leaf, 0], axis=1)
        spans = grown.rows, grown.start, grown.stop
        bad, total = loops.mark_misclassified(
            *spans, leaf, label, self._codes, w, wrong
        )
        return bad / total

    def _pack(self):
        """Trees whose leaves hold their weighted votes, eq. (4)'s coding."""
        trees = []
        for model, a in zip(self.estimators_, self.estimator_weights_):
            vote = np.argmax(model.tree_.value[:, 0], axis=1)
            trees.append(model.tree_._replace(value=a * self._coded(vote)[:, None]))
        return pack(trees)

    def _coded(self, codes):
        """(n, K): 1 for the class, -1 / (K - 1) for the others; (n, 1) for K = 2."""
        K = self.n_classes_
        if K == 2:
            return np.where(codes == 1, 1.0, -1.0)[:, None]
        return np.where(codes[:, None] == np.arange(K), 1.0, -1.0 / max(K - 1, 1))

    def _votes(self, X, start, stop):
        """(n, 1 or K) sum of the weighted votes of some members for checked rows."""
        if self._forest is not None:
            return in_blocks(X, lambda Z: self._forest.sum(Z, start, stop))
        out = 0.0
        for m in range(start, stop):
            _, codes = class_codes(self.estimators_[m].predict(X), None, self.classes_)
            out = out + self.estimator_weights_[m] * self._coded(codes)
        return out

    def _decision(self, votes, total):
        """Votes as scikit-learn scales them."""
        if self.n_classes_ == 2:
            return 2.0 * votes[:, 0] / total
        return votes / total if self.n_classes_ > 1 else np.zeros_like(votes)

    def decision_function(self, X):
        """(n,) for two classes, else (n, K): weighted votes over the sum of weights."""
        X = self._rows(X)
        votes = self._votes(X, 0, len(self.estimators_))
        return self._decision(votes, self.estimator_weights_.sum())

    def staged_decision_function(self, X):
        """The decision function after each round."""
        X, votes = self._rows(X), 0.0
        for m, total in enumerate(np.cumsum(self.estimator_weights_[: len(self)])):
            votes = votes + self._votes(X, m, m + 1)
            yield self._decision(votes, total)

    def predict(self, X):
        """The class with the most weighted votes."""
        return self._named(self.decision_function(X))

    def staged_predict(self, X):
        """The predicted classes after each round."""
        yield from map(self._named, self.staged_decision_function(X))

    def _named(self, decision):
        best = decision > 0 if decision.ndim == 1 else np.argmax(decision, axis=1)
        return self.classes_[np.asarray(best, np.int64)]

    def predict_proba(self, X):
        """(n, K) softmax of the decision function, scaled as in scikit-learn."""
        return self._shares(self.decision_function(X))

    def staged_predict_proba(self, X):
        """Probabilities after each round."""
        yield from map(self._shares, self.staged_decision_function(X))

    def _shares(self, decision):
        if decision.ndim == 1:
            return softmax(np.stack([-decision, decision], axis=1) / 2.0, axis=1)
        return softmax(decision / max(self.n_classes_ - 1, 1), axis=1)

    def predict_log_proba(self, X):
        """Logarithms of the probabilities."""
        return np.log(self.predict_proba(X))


REGRESSION_LOSSES = {
    "linear": lambda L: L,
    "square": np.square,
    "exponential": lambda L: -np.expm1(-L),
}


@dataclass(eq=False, repr=False)
class AdaBoostRegressor(Regressor, AbstractAdaBoost):
    """AdaBoost for numbers (R2) with any regressor.

    Parameters
    ----------
    estimator : regressor or None, default=None
        What to make members of; None is a decision tree of depth 3.
    n_estimators : int, default=50
        Members at most.
    learning_rate : float, default=1.0
        v of eqs. (5) and (6).
    loss : {"linear", "square", "exponential"}, default="linear"
        L of eq. (5).
    random_state : int, RandomState, Generator or None, default=None
        For the draws and for the members' own random states.

    Attributes
    ----------
    estimator_ : estimator
    estimators_ : list
        The members.
    estimator_weights_ : array of shape (n_estimators,)
        a of eq. (5), 0 for rounds that were not needed.
    estimator_errors_ : array of shape (n_estimators,)
        e of eq. (5), 1 for rounds that were not needed.
    weighted_errors_ : array of shape (rounds,)
        e of eq. (5).
    feature_importances_ : array of shape (n_features,)
    n_iter_ : int
        Rounds.
    history_ : dict
        The error by round.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.ensemble import AdaBoostRegressor
    >>> x = np.linspace(0, 3, 100)[:, None]
    >>> model = AdaBoostRegressor(random_state=0).fit(x, np.sin(x[:, 0]))
    >>> model.score(x, np.sin(x[:, 0])) > 0.95
    True
    """

    estimator: Fittable | None = None
    _: KW_ONLY
    n_estimators: Count = 50
    learning_rate: Positive = 1.0
    loss: Literal["linear", "square", "exponential"] = "linear"
    random_state: Seed = None

    def fit(self, X, y, sample_weight=None):
        """Add members until they are enough, without error, or of no more use."""
        X, y = self._checked(X, y, "number", sample_weight)
        return self._fit(X, np.asarray(y, float), sample_weight)

    def _default(self):
        return DecisionTreeRegressor(max_depth=3)

    def _round(self, state, data, seed):
        """Eqs. (5) and (6)."""
        w, model = state.w, data.member(seed)
        there = w > 0
        L = np.abs(self._drawn(model, data, w, seed) - data.y)[there]
        L = REGRESSION_LOSSES[self.loss](L / L.max() if L.max() > 0 else L)
        e = float(w[there] @ L)
        if e <= 0:
            return state.add(model, 1.0, 0.0, 0.0, done=True)
        if e >= 0.5:
            if state.models:
                return state._replace(done=True)
            return state.add(model, 0.0, 1.0, e, done=True)
        b = e / (1.0 - e)
        w = w.copy()
        w[there] *= b ** (self.learning_rate * (1.0 - L))
        w /= w.sum()
        w[there] = np.maximum(w[there], MIN_WEIGHT)
        state = state._replace(w=w)
        return state.add(model, float(-self.learning_rate * np.log(b)), e, e)

    def _drawn(self, model, data, w, seed):
        """Predictions of a member fitted to rows drawn by weight."""
        counts = bootstrap_counts(np.random.default_rng(seed), len(w), p=w)
        if data.table is not None:
            data.table.grow(model, counts)
            leaf = in_blocks(data.table.X, model.tree_.apply)
            return model.tree_.value[leaf, 0, 0]
        rows = np.repeat(np.arange(len(w)), counts)
        return model.fit(data.X[rows], data.y[rows]).predict(data.X)

    def _pack(self):
        return pack([m.tree_ for m in self.estimators_])

    def _predictions(self, X):
        """(n, members) predictions and the members' weights."""
        X, forest = self._rows(X), self._forest
        a = self.estimator_weights_[: len(self)]
        if forest is None:
            return np.stack([m.predict(X) for m in self.estimators_], axis=1), a
        value = np.asarray(forest.value[:, 0], float)
        return value[in_blocks(X, forest.leaves)], a

    def predict(self, X):
        """The weighted median of the members' predictions."""
        P, a = self._predictions(X)
        out = np.empty(len(P))
        loops.weighted_lower_medians(P, a, out)
        return out

    def staged_predict(self, X):
        """The predictions after each round."""
        P, a = self._predictions(X)
        order = np.zeros(P.shape, np.int32)
        for stop in range(1, len(self) + 1):
            out = np.empty(len(P))
            loops.staged_lower_medians(P, a, stop, order, out)
            yield out

"""AdaBoost: members fitted in sequence, each with more weight on earlier errors.

Classes (SAMME). Rows have weights w, at first all equal. Round m fits a member g_m to
the weighted rows and, with K classes and the learning rate v,

    e_m = sum_i w_i [g_m(x_i) != y_i] / sum_i w_i                               (1)
    a_m = v (log((1 - e_m) / e_m) + log(K - 1))                                 (2)
    w_i <- w_i exp(a_m [g_m(x_i) != y_i]), scaled to sum 1                      (3)

The prediction is the class with the largest sum of a_m over the members that vote for
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

until e >= 1/2. The prediction is the median of the members' predictions, weighted by a.

Decision trees of this package grow on one table that is sorted once
(`ensemble/forests/tree_table.py`), and predict the training rows by the leaves in which
growth has put them. Time: a round is one member; a stump is one pass over the table.

Shapes    X (n, d)   y (n,)   w (n,)
Refs      [Freund1997]; [Zhu2009] SAMME; [DruckerR2] numbers
"""

import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ...base import Classifier, Estimator, InterruptedFitWarning, Regressor
from ...core.arrays.labels import class_codes
from ...core.arrays.weighted import check_sample_weight
from ...core.drivers.iterate import iterate
from ...core.drivers.progress import run_with_progress
from ...core.loops import threads
from ...params import Count, Positive
from ...persist.saved_state import AnyValue, Each, FloatArray, saved_state
from ...tree import DecisionTreeClassifier, DecisionTreeRegressor
from ...tree.storage.packed_forest import pack_forest
from ...tree.storage.tree import map_dense_blocks
from ...typing import Fittable, Seed
from ..forests.level_coding import check_fit_table, check_prediction_table
from ..forests.tree_table import (
    TreeTable,
    can_share_table,
    check_float32_rows,
    has_threshold_tree,
)
from ..members import (
    bootstrap_counts,
    clone_with_seed,
    member_seeds,
    members_fit_columns,
    takes_sample_weight,
)
from . import _adaboost as loops

REGRESSION_LOSSES = {
    "linear": lambda L: L,
    "square": np.square,
    "exponential": lambda L: -np.expm1(-L),
}
MIN_WEIGHT = np.finfo(float).eps  # positive weights do not fall below this
PARALLEL_VALUES = 1 << 21  # values of a table from which a round uses threads


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


class AdaBoostState(NamedTuple):
    """State carried from one round to the next."""

    w: np.ndarray  # (n,) weights, sum 1
    models: tuple = ()
    weights: tuple = ()
    errors: tuple = ()
    objective: float = 1.0
    done: bool = False

    def add(self, model, weight, error, objective, done=False):
        """The state with one more member."""
        return self._replace(
            models=(*self.models, model),
            weights=(*self.weights, weight),
            errors=(*self.errors, error),
            objective=objective,
            done=done,
        )


def change_until_done(old, new) -> float:
    """The change that `iterate` watches: 0 after the last round, infinite before."""
    return 0.0 if new.done else np.inf


class AdaBoostData(NamedTuple):
    """Data that the members are fitted to."""

    X: Any
    y: np.ndarray
    template: Any
    table: TreeTable | None  # for decision trees of this package

    def clone_with_seed(self, seed):
        """An unfitted member."""
        if self.table is not None:
            return self.table.clone_with_seed(seed)
        return clone_with_seed(self.template, seed)


def members_fit_columns_and_weights(model) -> bool:
    """Whether a loaded ensemble has a weight for each member, which fit its columns."""
    members = getattr(model, "estimators_", [])
    weights = getattr(model, "estimator_weights_", members)
    return len(weights) >= len(members) and members_fit_columns(model)


@saved_state(
    estimators_=Each(AnyValue(), "members"),
    estimator_weights_=FloatArray(None),
    check=members_fit_columns_and_weights,
)
class AbstractAdaBoost(Estimator):
    """Members in `estimators_` with a weight and an error each."""

    _tensors = False

    @abstractmethod
    def fit(self, X, y, sample_weight=None) -> Any: ...

    @abstractmethod
    def staged_predict(self, X) -> Any: ...

    @abstractmethod
    def _default_estimator(self) -> Any:
        """The estimator that None stands for."""

    @abstractmethod
    def _round(self, state, data, seed) -> AdaBoostState:
        """Fit one more member and reweight the rows."""

    def _template(self):
        return self._default_estimator() if self.estimator is None else self.estimator

    def _check_inputs(self, X, y, y_kind, sample_weight):
        """X and y checked for a fit; rows may be arrays where the members take them."""
        template = self._template()
        return check_fit_table(
            self, template, X, y, y_kind, sample_weight, allow_nd=True
        )

    def _fit_rounds(self, X, y, sample_weight):
        """Run rounds until there are enough members, or a further one cannot help."""
        n = X.shape[0]
        w = check_sample_weight(sample_weight, n)
        w = np.full(n, 1.0 / n) if w is None else w / w.sum()
        self.__dict__.pop("_forest", None)
        template = clone(self._template())
        self.estimator_ = template
        table = None
        if X.ndim == 2 and can_share_table(template):
            table = TreeTable(template, X, y, sequential=True)
        coding = getattr(self, "coding_", None)
        if coding is not None:
            template = coding.template_for_columns(template)
        data = AdaBoostData(X, y, template, table)
        seeds = iter(member_seeds(self.random_state, self.n_estimators))
        step = lambda state: self._round(state, data, next(seeds))
        run = lambda task: iterate(
            step,
            AdaBoostState(w),
            max_iter=self.n_estimators,
            tol=0.0,
            change=change_until_done,
            task=task,
        )
        # rounds run in sequence: threads pay only where one round is long
        jobs = 1 if table is not None and n * X.shape[1] < PARALLEL_VALUES else None
        with threads.limit_threads(jobs):
            result = run_with_progress(self, run, total=self.n_estimators, X=X, y=y)
        self._store(result)
        _ = self._forest  # packed now: predictions leave the model as it is
        return self

    def _store(self, result):
        state = result.state
        k = len(state.models)
        if result.interrupted and k:
            warnings.warn(
                f"{type(self).__name__} was interrupted after {k} members; the model "
                "is usable as it stands.",
                InterruptedFitWarning,
                stacklevel=5,
            )
        elif result.interrupted:
            raise KeyboardInterrupt
        self.estimators_ = list(state.models)
        self.estimator_weights_ = np.zeros(self.n_estimators)
        self.estimator_errors_ = np.ones(self.n_estimators)
        self.estimator_weights_[:k] = state.weights
        self.estimator_errors_[:k] = state.errors
        self.weighted_errors_ = np.array(state.errors)
        self.n_iter_ = result.n_iter
        self.history_ = result.history

    @cached_property
    def _forest(self):
        """All members in one packed forest where they are trees of numbers."""
        if not all(has_threshold_tree(m) for m in self.estimators_):
            return None
        return self._pack()

    @abstractmethod
    def _pack(self) -> Any: ...

    def _rows(self, X):
        """X checked for a prediction: float32 for the forest, else as it is."""
        check_is_fitted(self)
        if self._forest is not None:
            return check_float32_rows(self, X)
        return check_prediction_table(self, X, allow_nd=True)

    @property
    def feature_importances_(self):
        """Mean of the members' importances, by their weights."""
        check_is_fitted(self)
        if not all(hasattr(m, "feature_importances_") for m in self.estimators_):
            name = type(self.estimator_).__name__
            raise AttributeError(f"{name} has no feature_importances_.")
        a = self.estimator_weights_[: len(self.estimators_)]
        a = a if a.sum() > 0 else np.ones(len(a))
        return a @ [m.feature_importances_ for m in self.estimators_] / a.sum()

    def staged_score(self, X, y, sample_weight=None):
        """The score after each round."""
        from sklearn.metrics import accuracy_score, r2_score

        score = accuracy_score if hasattr(self, "classes_") else r2_score
        for answer in self.staged_predict(X):
            yield score(y, answer, sample_weight=sample_weight)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "estimators_")

    def __len__(self):
        return len(self.estimators_)

    def __getitem__(self, index):
        return self.estimators_[index]

    def __iter__(self):
        return iter(self.estimators_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self._template()).input_tags
        tags.input_tags.sparse = inner.sparse
        tags.input_tags.allow_nan = inner.allow_nan
        categorical = getattr(self._template(), "categorical_features", None)
        tags.input_tags.string = categorical is not None
        return tags


@dataclass(eq=False, repr=False)
class AdaBoostClassifier(Classifier, AbstractAdaBoost):
    """AdaBoost for classes (SAMME) with any member that takes weights.

    Parameters
    ----------
    estimator : classifier or None, default=None
        The estimator of the members; None is a decision tree of one split.
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
        """Add members until there are enough, one has no error, or none helps."""
        X, y = self._check_inputs(X, y, "class", sample_weight)
        self.classes_, self._codes = class_codes(y)
        self.n_classes_ = len(self.classes_)
        template = self._template()
        if not takes_sample_weight(template):
            raise ValueError(
                f"{type(template).__name__} doesn't support sample_weight."
            )
        self._fit_rounds(X, y, sample_weight)
        del self._codes
        self.error_bounds_ = self.history_["objective"][: len(self.estimators_)]
        return self

    def _default_estimator(self):
        return DecisionTreeClassifier(max_depth=1)

    def _round(self, state, data, seed):
        """Eqs. (1) to (4)."""
        K = self.n_classes_
        model = data.clone_with_seed(seed)
        w = state.w
        wrong = np.zeros(len(data.y), np.uint8)
        e = self._fit_and_mark_errors(model, data, w, wrong)
        if e >= 1.0 - 1.0 / K and e > 0:
            if not state.models:
                raise ValueError(
                    "BaseClassifier in AdaBoostClassifier ensemble is worse than "
                    "random, ensemble can not be fit: the first member is no better "
                    "than chance."
                )
            return state._replace(done=True)
        a = vote_weight(e, K, self.learning_rate)
        with np.errstate(over="ignore"):  # a huge learning rate; warned about below
            factor = loss_factor(e, a, K) if K > 1 else 0.0
            loss = min(state.objective * factor, np.finfo(float).max)
            sound = loops.reweight_rows(w, wrong, np.exp(a), MIN_WEIGHT)
        if not sound:
            warnings.warn(
                "Sample weights have reached infinite values; lower learning_rate.",
                stacklevel=9,
            )
        return state.add(model, a, e, loss, done=e <= 0 or not sound)

    def _fit_and_mark_errors(self, model, data, w, wrong):
        """Fit a member, mark the rows that it gets wrong; its error, eq. (1)."""
        if data.table is None:
            model.fit(data.X, data.y, sample_weight=w)
            wrong[:] = model.predict(data.X) != data.y
            return float(w @ wrong / w.sum())
        grown = data.table.grow(model, w)
        if model.tree_ is not grown.tree:  # pruning has changed the leaves
            leaf = map_dense_blocks(data.table.X, model.tree_.apply)
            wrong[:] = np.argmax(model.tree_.value[:, 0], axis=1)[leaf] != self._codes
            return float(w @ wrong / w.sum())
        leaf = np.flatnonzero(grown.tree.children_left < 0)
        label = np.argmax(grown.tree.value[leaf, 0], axis=1)
        rows = loops.LeafRows(grown.rows, grown.start, grown.stop)
        bad, total = loops.mark_misclassified(rows, leaf, label, self._codes, w, wrong)
        return bad / total

    def _pack(self):
        """Trees whose leaves hold their weighted votes, eq. (4)'s coding."""
        trees = []
        for model, a in zip(self.estimators_, self.estimator_weights_):
            vote = np.argmax(model.tree_.value[:, 0], axis=1)
            trees.append(model.tree_._replace(value=a * self._coded(vote)[:, None]))
        return pack_forest(trees)

    def _coded(self, codes):
        """(n, K): 1 for the class, -1 / (K - 1) for the others; (n, 1) for K = 2."""
        K = self.n_classes_
        if K == 2:
            return np.where(codes == 1, 1.0, -1.0)[:, None]
        return np.where(codes[:, None] == np.arange(K), 1.0, -1.0 / max(K - 1, 1))

    def _votes(self, X, start, stop):
        """(n, 1 or K) sum of the weighted votes of some members for checked rows."""
        if self._forest is not None:
            return map_dense_blocks(X, lambda Z: self._forest.sum(Z, start, stop))
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
        X = self._rows(X)
        votes = 0.0
        for m, total in enumerate(np.cumsum(self.estimator_weights_[: len(self)])):
            votes = votes + self._votes(X, m, m + 1)
            yield self._decision(votes, total)

    def predict(self, X):
        """The class with the most weighted votes."""
        return self._classes_of(self.decision_function(X))

    def staged_predict(self, X):
        """The predicted classes after each round."""
        yield from map(self._classes_of, self.staged_decision_function(X))

    def _classes_of(self, decision):
        best = decision > 0 if decision.ndim == 1 else np.argmax(decision, axis=1)
        return self.classes_[np.asarray(best, np.int64)]

    def predict_proba(self, X):
        """(n, K) softmax of the decision function, scaled as in scikit-learn."""
        return self._probabilities(self.decision_function(X))

    def staged_predict_proba(self, X):
        """Probabilities after each round."""
        yield from map(self._probabilities, self.staged_decision_function(X))

    def _probabilities(self, decision):
        if decision.ndim == 1:
            return softmax(np.stack([-decision, decision], axis=1) / 2.0, axis=1)
        return softmax(decision / max(self.n_classes_ - 1, 1), axis=1)

    def predict_log_proba(self, X):
        """Logarithms of the probabilities."""
        return np.log(self.predict_proba(X))


@dataclass(eq=False, repr=False)
class AdaBoostRegressor(Regressor, AbstractAdaBoost):
    """AdaBoost for numbers (R2) with any regressor.

    Parameters
    ----------
    estimator : regressor or None, default=None
        The estimator of the members; None is a decision tree of depth 3.
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
        """Add members until there are enough, one has no error, or none helps."""
        X, y = self._check_inputs(X, y, "number", sample_weight)
        return self._fit_rounds(X, np.asarray(y, float), sample_weight)

    def _default_estimator(self):
        return DecisionTreeRegressor(max_depth=3)

    def _round(self, state, data, seed):
        """Eqs. (5) and (6)."""
        w = state.w
        model = data.clone_with_seed(seed)
        positive = w > 0
        L = np.abs(self._fit_to_draw(model, data, w, seed) - data.y)[positive]
        L = REGRESSION_LOSSES[self.loss](L / L.max() if L.max() > 0 else L)
        e = float(w[positive] @ L)
        if e <= 0:
            return state.add(model, 1.0, 0.0, 0.0, done=True)
        if e >= 0.5:
            if state.models:
                return state._replace(done=True)
            return state.add(model, 0.0, 1.0, e, done=True)
        b = e / (1.0 - e)
        w = w.copy()
        w[positive] *= b ** (self.learning_rate * (1.0 - L))
        w /= w.sum()
        w[positive] = np.maximum(w[positive], MIN_WEIGHT)
        state = state._replace(w=w)
        return state.add(model, float(-self.learning_rate * np.log(b)), e, e)

    def _fit_to_draw(self, model, data, w, seed):
        """Fit a member to rows drawn by weight; its predictions for all rows."""
        counts = bootstrap_counts(np.random.default_rng(seed), len(w), p=w)
        if data.table is not None:
            data.table.grow(model, counts)
            leaf = map_dense_blocks(data.table.X, model.tree_.apply)
            return model.tree_.value[leaf, 0, 0]
        rows = np.repeat(np.arange(len(w)), counts)
        model.fit(data.X[rows], data.y[rows])
        return model.predict(data.X)

    def _pack(self):
        return pack_forest([m.tree_ for m in self.estimators_])

    def _predictions(self, X):
        """(n, members) predictions and the members' weights."""
        X = self._rows(X)
        forest = self._forest
        a = self.estimator_weights_[: len(self)]
        if forest is None:
            return np.stack([m.predict(X) for m in self.estimators_], axis=1), a
        value = np.asarray(forest.value[:, 0], float)
        return value[map_dense_blocks(X, forest.leaves)], a

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

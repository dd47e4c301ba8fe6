"""Wrappers that supply what an estimator lacks for a task.

`ScoreCalibrated` turns the scores of a classifier into probabilities, or its
probabilities into better ones, by a calibration map fitted to rows held out of inner
folds (`evaluation.calibration`; Platt's sigmoid for two classes, a temperature for
more), since scores of training rows are too confident. A one-versus-one machine gives
K (K - 1) / 2 margins f_kj = -f_jk; counting wins would discard their size. Instead
every pair votes with the probability of a sigmoid, whose slope a is fitted to the
held-out rows of the two classes, one for all pairs:

    s_k = sum_{j != k} log 1 / (1 + exp(-a f_kj))                                (2)

`FlooredCounts` keeps predicted counts above zero, where the Poisson deviance of an
observed count is infinite, and those of models with a log link at most as large as the
largest count seen: a row far outside would otherwise get exp of a large number.
`SmoothedProbabilities` keeps the probability of every class
above zero, where the log loss of an observed class is infinite: n rows voted, and one
further row is shared evenly by the K classes (additive smoothing),

    p' = (n p + 1 / K) / (n + 1),                                                (1)

which matters for few rows and vanishes for many. `MultiLabel` gives the probability of
each of several labels in one matrix, from one model that takes several labels or from
one model a label.
"""

from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, softmax
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ...base import Classifier, Estimator, Regressor
from ..evaluation.calibration import CalibrationMap, fit_calibration, fit_sigmoid
from ..splits import inner_folds

MIN_PROBABILITY = 1e-12  # a probability of 0 is read as this
MIN_COUNT_SHARE = 0.01  # of the mean count: how small a predicted count may get


def _weight_argument(model, sample_weight) -> dict:
    """The weights as an argument of `fit`, where it takes them."""
    if sample_weight is None or not has_fit_parameter(model, "sample_weight"):
        return {}
    return {"sample_weight": sample_weight}


@dataclass(eq=False, repr=False)
class ScoreCalibrated(Classifier, Estimator):
    """A classifier whose probabilities come from a map of its scores.

    Its scores are the logarithms of its own probabilities, or those of its
    `decision_function` if it has none, of pairs of classes by eq. (2).

    Parameters
    ----------
    model : classifier
    cv : int or list of (train, test)
        Inner folds; a fold whose training rows lack a class is left out.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare.methods.wrappers import ScoreCalibrated
    >>> from pansophy.svm import LinearSVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 1)); y = rng.random(500) < 1 / (1 + np.exp(-X[:, 0]))
    >>> model = ScoreCalibrated(LinearSVC()).fit(X, y)
    >>> bool(abs(model.predict_proba([[1.0]])[0, 1] - 0.73) < 0.05)
    True
    """

    model: Any = None
    _: KW_ONLY
    cv: Any = 5

    def fit(self, X, y, sample_weight=None):
        self.classes_, y = np.unique(y, return_inverse=True)
        k = len(self.classes_)
        w = None if sample_weight is None else np.asarray(sample_weight)
        cut = self.cv if isinstance(self.cv, list) else inner_folds(y, self.cv)
        cut = [(a, b) for a, b in cut if len(np.unique(y[a])) == k and len(b)]
        scores = [class_log_scores(self._fitted(X, y, w, a), X[b]) for a, b in cut]
        self.slope_ = 1.0
        self.scale_ = 1.0
        self.map_ = CalibrationMap("none")
        if scores:
            S, rows = np.concatenate(scores), np.concatenate([b for _, b in cut])
            v = None if w is None or not w[rows].sum() > 0 else w[rows]
            if self._pairs():
                self.slope_ = _pairwise_slope(S, y[rows], k, v)
                S = pairwise_votes(S, k, self.slope_)
            self.scale_ = float(S.std()) or 1.0
            method = "sigmoid" if k == 2 else "temperature"
            self.map_ = fit_calibration(self._raw(S), y[rows], method, v)
        self.model_ = self._fitted(X, y, w, slice(None))
        return self

    def _fitted(self, X, y, w, rows):
        part = None if w is None else w[rows]
        model = clone(self.model)
        return model.fit(X[rows], y[rows], **_weight_argument(model, part))

    def _pairs(self) -> bool:
        shape = getattr(self.model, "decision_function_shape", None)
        return shape == "ovo" and len(self.classes_) > 2

    def _raw(self, S):
        """Probabilities as if scores were log odds; the map calibrates them."""
        S = S / self.scale_
        return expit(S) if S.ndim == 1 else softmax(S, axis=1)

    def predict_proba(self, X) -> np.ndarray:
        S = class_log_scores(self.model_, X)
        if self._pairs():
            S = pairwise_votes(S, len(self.classes_), self.slope_)
        p = self.map_.apply(self._raw(S))
        return p if p.ndim == 2 else np.column_stack([1 - p, p])

    def predict(self, X) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(1)]


def class_log_scores(model, X) -> np.ndarray:
    """(n,) for two classes, else (n, k), or (n, k (k - 1) / 2) of pairs."""
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.decision_function(X), dtype=float)
    L = np.log(np.clip(model.predict_proba(X), MIN_PROBABILITY, 1.0))
    return L[:, 1] - L[:, 0] if L.shape[1] == 2 else L


def pairwise_votes(F, k, a) -> np.ndarray:
    """s_k (n, k) of eq. (2)."""
    s = np.zeros((len(F), k))
    for f, (i, j) in zip(F.T, combinations(range(k), 2), strict=True):
        s[:, i] += log_expit(a * f)
        s[:, j] += log_expit(-a * f)
    return s


def _pairwise_slope(F, y, k, w) -> float:
    """a of eq. (2): Platt's slope for the margins of all pairs, no side preferred."""
    w = np.ones(len(F)) if w is None else w
    margins, weights = [], []
    for f, (i, j) in zip(F.T, combinations(range(k), 2), strict=True):
        in_pair = (y == i) | (y == j)
        margins.append(np.where(y == i, f, -f)[in_pair])
        weights.append(w[in_pair])
    m, v = np.concatenate(margins), np.concatenate(weights)
    sides = np.r_[np.ones(len(m)), np.zeros(len(m))]
    a, _ = fit_sigmoid(expit(np.r_[m, -m]), sides, np.r_[v, v])
    return a if a > 0 else 1.0  # uninformative pairs are handled by the temperature


@dataclass(eq=False, repr=False)
class FlooredCounts(Regressor, Estimator):
    """A regressor whose predictions are at least a small share of the mean.

    Parameters
    ----------
    model : regressor
    capped : bool
        Whether predictions are at most the largest target seen in training as well.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from pansophy.compare.methods.wrappers import FlooredCounts
    >>> model = FlooredCounts(LinearRegression()).fit([[0.0], [1.0], [2.0]], [0, 1, 5])
    >>> model.predict([[-9.0], [1.0]])
    array([0.02, 2.  ])
    """

    model: Any = None
    _: KW_ONLY
    capped: bool = False

    def fit(self, X, y, sample_weight=None):
        self.model_ = clone(self.model)
        self.model_.fit(X, y, **_weight_argument(self.model_, sample_weight))
        mean = float(np.average(y, weights=sample_weight))
        self.floor_ = max(MIN_COUNT_SHARE * mean, 1e-12)
        self.ceiling_ = max(float(np.max(y)), self.floor_) if self.capped else np.inf
        return self

    def predict(self, X) -> np.ndarray:
        with np.errstate(over="ignore"):
            p = np.ravel(self.model_.predict(X))
        # getattr: models saved before there was a ceiling
        return np.clip(p, self.floor_, getattr(self, "ceiling_", np.inf))


@dataclass(eq=False, repr=False)
class SmoothedProbabilities(Classifier, Estimator):
    """A classifier that votes, with no class left without a chance: eq. (1).

    Examples
    --------
    >>> from pansophy.compare.methods.wrappers import SmoothedProbabilities
    >>> from pansophy.neighbors import KNeighborsClassifier
    >>> model = SmoothedProbabilities(KNeighborsClassifier(1))
    >>> model = model.fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> model.predict_proba([[0.0]])
    array([[0.875, 0.125]])
    """

    model: Any = None

    def fit(self, X, y, sample_weight=None):
        self.model_ = clone(self.model)
        self.model_.fit(X, y, **_weight_argument(self.model_, sample_weight))
        self.classes_ = self.model_.classes_
        n = len(y) if sample_weight is None else float(np.sum(sample_weight))
        self.shrink_ = n / (n + 1)
        return self

    def predict_proba(self, X) -> np.ndarray | list[np.ndarray]:
        p = self.model_.predict_proba(X)
        return [self._hedge(q) for q in p] if isinstance(p, list) else self._hedge(p)

    def _hedge(self, p):
        return self.shrink_ * p + (1 - self.shrink_) / p.shape[1]

    def predict(self, X) -> np.ndarray:
        return self.model_.predict(X)


@dataclass(eq=False, repr=False)
class MultiLabel(Classifier, Estimator):
    """Several yes-or-no labels: `predict_proba` is the chance of yes, (n, L).

    Parameters
    ----------
    model : classifier
    native : bool
        Whether it takes several labels at once; if not, one model is fitted a label.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare.methods.wrappers import MultiLabel
    >>> from pansophy.tree import DecisionTreeClassifier
    >>> X = np.arange(8.0)[:, None]
    >>> Y = np.c_[X > 3, X % 8 > 9].astype(int)
    >>> MultiLabel(DecisionTreeClassifier(), native=True).fit(X, Y).predict_proba(X[:5])
    array([[0., 0.], [0., 0.], [0., 0.], [0., 0.], [1., 0.]])
    """

    model: Any = None
    _: KW_ONLY
    native: bool = False

    def fit(self, X, y, sample_weight=None):
        y = np.asarray(y)
        self.n_labels_ = y.shape[1]
        self.constant_ = np.array([np.mean(c) if len(set(c)) < 2 else -1 for c in y.T])
        self.classes_ = [np.array([0, 1])] * y.shape[1]
        learned = [j for j in range(y.shape[1]) if self.constant_[j] < 0]
        is_joint = self.native and len(learned) == y.shape[1] > 1
        targets = [y] if is_joint else [y[:, j] for j in learned]
        self.models_ = [
            (m := clone(self.model)).fit(X, t, **_weight_argument(m, sample_weight))
            for t in targets
        ]
        return self

    def predict_proba(self, X) -> np.ndarray:
        if len(self.models_) == 1 < self.n_labels_ == np.sum(self.constant_ < 0):
            p = self.models_[0].predict_proba(X)
            return p if isinstance(p, np.ndarray) else np.stack([q[:, 1] for q in p], 1)
        out = np.empty((len(X), self.n_labels_))
        out[:] = self.constant_
        learned = np.flatnonzero(self.constant_ < 0)
        for j, model in zip(learned, self.models_):
            out[:, j] = model.predict_proba(X)[:, 1]
        return out

    def predict(self, X) -> np.ndarray:
        return (self.predict_proba(X) > 0.5).astype(int)

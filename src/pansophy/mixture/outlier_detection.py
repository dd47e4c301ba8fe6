"""Outlier detection: rows where a density is low, or far from every centre.

    score(x) = log P(x),  or minus the distance to the nearest centre            (1)
    x is an outlier      if     score(x) < tau                                   (2)

so more rows are flagged as tau grows. Without labels tau is the quantile of the
training scores that leaves `contamination` of them below. With labels, `tune` scores
each row by a model fitted to the inliers of the other folds and takes the tau that
maximises

    F1 = 2 TP / (2 TP + FP + FN)      outliers being the positive class          (3)

over these held-out scores. F1 changes only where tau passes a score, so sorting finds
the best one: O(n log n) after the fits. `ClassifierWithOutliers` puts a flag beside a
classifier, which it leaves as it is.

Shapes    X (n, d)   scores (n,)   y (n,)
Refs      [Chandola2009]; [Bishop1994]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from ..base import Classifier, Estimator, OneClass
from ..core.arrays import arrays
from ..core.arrays.threshold_counts import threshold_counts
from ..core.arrays.weighted import tie_tolerance
from ..core.numerics import logsumexp
from ..params import Number, ParameterError, ParameterRule
from ..typing import Fittable, Splits
from .gaussian_mixture import GaussianMixture

Contamination = Annotated[
    float, ParameterRule("a number above 0, at most 0.5", lambda v: 0 < v <= 0.5)
]


def density_scores(model, X):
    """Eq. (1): (n,), higher for more usual rows."""
    if hasattr(model, "score_samples"):
        return model.score_samples(X)
    if hasattr(model, "predict_joint_log_proba"):  # sum over classes of P(x, y)
        return logsumexp(model.predict_joint_log_proba(X), axis=1)
    if hasattr(model, "cluster_centers_") and hasattr(model, "transform"):
        D = model.transform(X)
        return -arrays.namespace(D).min(D, axis=1)
    raise TypeError(
        f"{type(model).__name__} gives neither score_samples, joint probabilities, "
        "nor distances to centres."
    )


def quantile_threshold(scores, share, w=None) -> float:
    """The tau that leaves at least this share of the weight below, and no more rows.

    It lies halfway to the next score, so that a row counts the same as its copies.
    """
    w = np.ones(len(scores)) if w is None else w
    s, w = scores[w > 0], w[w > 0]
    order = np.argsort(s, kind="stable")
    below = np.cumsum(w[order])
    target = share * below[-1] - tie_tolerance(below[-1], len(below))
    at = int(np.searchsorted(below, target))
    value = s[order[at]]
    more = s[s > value]
    if not len(more):
        return float(value)
    middle = value + (more.min() - value) / 2
    return float(middle if middle > value else more.min())


class ThresholdCurve(NamedTuple):
    """Precision, recall, F1 and false positives of each threshold, from low to high."""

    threshold: np.ndarray
    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray
    false_positive_rate: np.ndarray  # share of inliers flagged


def threshold_curve(scores, outlier) -> ThresholdCurve:
    """Eq. (3) and its parts for every threshold that flags at least one row."""
    counts = threshold_counts(outlier, -np.asarray(scores, float))
    score = -counts.threshold[1:]  # distinct scores, rising
    next_score = np.append(score[1:], np.inf)
    middle = score + (next_score - score) / 2
    tau = np.where(middle > score, middle, next_score)  # no number between two scores
    tp, fp = counts.true_positives[1:], counts.false_positives[1:]
    outliers = max(counts.positives, 1)
    return ThresholdCurve(
        tau,
        precision=tp / (tp + fp),
        recall=tp / outliers,
        f1=2 * tp / (tp + fp + outliers),
        false_positive_rate=fp / max(counts.negatives, 1),
    )


def best_threshold(scores, outlier) -> tuple[float, float]:
    """The tau of highest F1, the lowest of equals, and that F1."""
    curve = threshold_curve(scores, outlier)
    best = int(np.argmax(curve.f1))
    return float(curve.threshold[best]), float(curve.f1[best])


def outlier_mask(y):
    """Labels as a mask: -1 is an outlier, 1 is not."""
    y = arrays.to_numpy(y)
    values = set(np.unique(y).tolist())
    if values != {-1, 1}:
        raise ValueError(
            f"y must hold -1 for outliers and 1 for others, not {sorted(values)}."
        )
    return y == -1


@dataclass(eq=False, repr=False)
class DensityOutlierDetector(OneClass, Estimator):
    """Flags rows where a density is low, or that are far from every centre.

    Parameters
    ----------
    estimator : estimator or None, default=None
        What is fitted to the rows: a density (`score_samples`), or a clustering whose
        `transform` gives distances to centres. None is one Normal, `GaussianMixture()`.
    contamination : float, default=0.1
        Share of the training rows to be flagged.
    threshold : float or None, default=None
        tau itself, in place of that share.

    Attributes
    ----------
    estimator_ : estimator
        The fitted density.
    offset_ : float
        tau.
    curve_ : Curve
        Precision, recall, F1 and false alarms of every threshold on held-out rows;
        after `tune`.
    f1_ : float
        F1 of tau there; after `tune`.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.mixture import DensityOutlierDetector
    >>> X = np.array([[0.0], [0.1], [-0.1], [0.2], [9.0]])
    >>> DensityOutlierDetector(contamination=0.2).fit_predict(X)
    array([ 1,  1,  1,  1, -1])
    """

    estimator: Fittable | None = None
    _: KW_ONLY
    contamination: Contamination = 0.1
    threshold: Number | None = None

    def fit(self, X, y=None, sample_weight=None):
        """Fit the density to the rows and set tau; y is not used.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows, most of them usual.
        y : None
            Not used; see `tune` for labelled rows.
        sample_weight : array of shape (n,), optional
            A weight of 3 counts as three copies of the row.

        Returns
        -------
        self : DensityOutlierDetector
        """
        X, w = self._check_training_data(
            X, sample_weight=sample_weight, ensure_min_samples=2, order="C"
        )
        self.estimator_ = self._fitted(X, w)
        if self.threshold is not None:
            self.offset_ = float(self.threshold)
            return self
        scores = arrays.to_numpy(density_scores(self.estimator_, X))
        w = None if w is None else arrays.to_numpy(w)
        self.offset_ = quantile_threshold(scores, self.contamination, w)
        return self

    def _fitted(self, X, w=None):
        model = GaussianMixture() if self.estimator is None else clone(self.estimator)
        return model.fit(X) if w is None else model.fit(X, sample_weight=w)

    def tune(self, X, y, cv: Splits = 5):
        """Fit to the inliers, with the tau that maximises F1 on held-out rows, eq. (3).

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        y : array of shape (n,)
            -1 for outliers, 1 for the others.
        cv : int, splitter or splits, default=5
            Folds; a number means stratified ones, in the order of the rows.

        Returns
        -------
        self : DensityOutlierDetector
        """
        from sklearn.model_selection import check_cv

        X, y, _ = self._check_training_data(X, y, y_kind="class", order="C")
        outlier = outlier_mask(y)
        take = lambda rows: X[rows, :]
        scores, truth = [], []
        for train, test in check_cv(cv, outlier, classifier=True).split(
            np.empty((len(outlier), 1)), outlier
        ):
            model = self._fitted(take(train[~outlier[train]]))
            scores.append(arrays.to_numpy(density_scores(model, take(test))))
            truth.append(outlier[test])
        held, truth = np.concatenate(scores), np.concatenate(truth)
        self.offset_, self.f1_ = best_threshold(held, truth)
        self.curve_ = threshold_curve(held, truth)
        self.estimator_ = self._fitted(take(np.flatnonzero(~outlier)))
        return self

    def score_samples(self, X):
        """Eq. (1): (n,), higher for more usual rows."""
        X = self._check_new_data(X, order="C")
        return density_scores(self.estimator_, X)

    def decision_function(self, X):
        """score - tau: negative for outliers."""
        X = self._check_new_data(X, order="C")
        return density_scores(self.estimator_, X) - self.offset_

    def predict(self, X):
        """-1 for outliers and 1 for the others, eq. (2)."""
        D = self.decision_function(X)
        xp = arrays.namespace(D)
        return 1 - 2 * xp.astype(D < 0, xp.int64)

    def plot(self, ax=None):
        """Precision, recall and F1 against tau, after `tune`."""
        import matplotlib.pyplot as plt

        if not hasattr(self, "curve_"):
            raise AttributeError("there is a curve after tune only.")
        ax = plt.subplots()[1] if ax is None else ax
        for name in ("precision", "recall", "f1"):
            ax.plot(self.curve_.threshold, getattr(self.curve_, name), label=name)
        ax.axvline(self.offset_, color="k", lw=0.8)
        ax.set_xlabel("threshold")
        ax.legend()
        return ax


def classifier_has(name):
    """Whether the classifier, fitted or not, has a method."""

    def check(self):
        return hasattr(getattr(self, "classifier_", self._default()), name)

    return check


@dataclass(eq=False, repr=False)
class ClassifierWithOutliers(Classifier, Estimator):
    """A classifier with a flag for rows unlike those it was fitted to.

    The classes and probabilities are those of the classifier; the flag is that of the
    detector, and neither changes the other.

    Parameters
    ----------
    classifier : estimator or None, default=None
        What predicts classes; None is `LogisticRegression()`.
    detector : estimator, "marginal" or None, default=None
        What flags rows: `fit`, then `predict` with -1 for outliers. None is
        `DensityOutlierDetector()`; "marginal" takes the classifier's own P(x), the sum
        over classes of P(x, y), which generative classifiers have.
    contamination : float or None, default=None
        Share of the training rows to be flagged, where the detector is None or
        "marginal"; None means 0.1.

    Attributes
    ----------
    classifier_, detector_ : estimators
        Fitted.
    offset_ : float
        tau of the marginal, for "marginal".
    classes_ : array of shape (n_classes,)
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.mixture import ClassifierWithOutliers
    >>> X = np.array([[0.0], [0.5], [1.0], [3.0], [3.5], [4.0]])
    >>> model = ClassifierWithOutliers().fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.predict([[0.5], [99.0]]), model.flag([[0.5], [99.0]])
    (array([0, 1]), array([False,  True]))
    """

    classifier: Fittable | None = None
    _: KW_ONLY
    detector: Literal["marginal"] | Fittable | None = None
    contamination: Contamination | None = None

    def _default(self):
        if self.classifier is not None:
            return self.classifier
        from ..linear_model import LogisticRegression

        return LogisticRegression()

    def fit(self, X, y, sample_weight=None):
        """Fit the classifier to rows and labels, and the detector to the rows.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self : ClassifierWithOutliers
        """
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="class", order="C"
        )
        own = self.detector is not None and not isinstance(self.detector, str)
        if own and self.contamination is not None:
            raise ParameterError(
                "contamination of ClassifierWithOutliers is for its own detector; set "
                "that of the detector given."
            )
        share = 0.1 if self.contamination is None else self.contamination
        extra = {} if w is None else {"sample_weight": w}
        self.classifier_ = clone(self._default()).fit(X, y, **extra)
        self.classes_ = self.classifier_.classes_
        if isinstance(self.detector, str):
            scores = arrays.to_numpy(density_scores(self.classifier_, X))
            w = None if w is None else arrays.to_numpy(w)
            self.detector_ = None
            self.offset_ = quantile_threshold(scores, share, w)
            return self
        model = self.detector if own else DensityOutlierDetector(contamination=share)
        self.detector_ = clone(model).fit(X, **extra)
        return self

    def predict(self, X):
        """The class of each row, as the classifier says it."""
        X = self._check_new_data(X, order="C")
        return self.classifier_.predict(X)

    @available_if(classifier_has("predict_proba"))
    def predict_proba(self, X):
        """The probability of each class, as the classifier says it."""
        X = self._check_new_data(X, order="C")
        return self.classifier_.predict_proba(X)

    @available_if(classifier_has("decision_function"))
    def decision_function(self, X):
        """The scores of the classifier."""
        X = self._check_new_data(X, order="C")
        return self.classifier_.decision_function(X)

    def score_samples(self, X):
        """Log-density log P(x) of each row under the detector."""
        X = self._check_new_data(X, order="C")
        model = self.classifier_ if self.detector_ is None else self.detector_
        return density_scores(model, X)

    def flag(self, X):
        """Whether each row is an outlier: (n,)."""
        X = self._check_new_data(X, order="C")
        if self.detector_ is None:
            return density_scores(self.classifier_, X) < self.offset_
        return self.detector_.predict(X) == -1

    def predict_flagged(self, X):
        """The class of each row, and whether it is an outlier."""
        return self.predict(X), self.flag(X)

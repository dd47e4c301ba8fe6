"""Mixture discriminant analysis: a density for each class, and Bayes' rule.

    P(y | x) = P(y) p(x | y) / sum_c P(c) p(x | c)                               (1)

Each p(x | y) is fitted to the rows of its class: by default one Normal, which makes
the classifier quadratic discriminant analysis; with `GaussianMixture(3)` a class may
lie in three places. Any density with `score_samples` can be used.

Cost: that of the densities. Rows may be arrays or tensors, with NaN where a value is
missing if the densities take it.

Shapes    X (n, d)   y (n,)   joint (n, classes)
Refs      [HastieTibshirani1996]
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np
from sklearn.base import clone

from ..base import Classifier, Estimator
from ..core.arrays import arrays
from ..core.arrays.labels import class_codes
from ..core.numerics import log_softmax, logsumexp, safe_log, softmax
from ..params import ParameterError, ParameterRule
from ..typing import NumericArray
from .gaussian_mixture import GaussianMixture


def is_density_or_dict(value):
    one = lambda v: hasattr(v, "fit") and hasattr(v, "score_samples")
    return all(map(one, value.values())) if isinstance(value, dict) else one(value)


DensityOrDict = Annotated[
    Any, ParameterRule("a density, or a dict of densities by class", is_density_or_dict)
]


@dataclass(eq=False, repr=False)
class MixtureClassifier(Classifier, Estimator):
    """Classifier with a mixture, or any other density, for each class.

    Parameters
    ----------
    estimator : density, dict of densities by class, or None, default=None
        What is fitted to the rows of each class. None is `GaussianMixture()`.
    priors : array of shape (classes,) or None, default=None
        P(y) in the order of `classes_`. None takes the shares of the rows.

    Attributes
    ----------
    estimators_ : list of densities
        Fitted, one for each class.
    class_prior_ : array of shape (classes,)
        P(y).
    classes_ : array of shape (classes,)
        Labels.
    n_features_in_ : int
        Number of columns seen in `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.mixture import GaussianMixture, MixtureClassifier
    >>> X = np.array([[0.0], [0.2], [4.0], [4.2], [2.0], [2.1], [2.2], [1.9]])
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> model = MixtureClassifier(GaussianMixture(2, random_state=0, reg_covar=0.01))
    >>> model.fit(X, y).predict([[0.1], [2.05], [4.1]])
    array([0, 1, 0])
    """

    estimator: DensityOrDict | None = None
    _: KW_ONLY
    priors: NumericArray | None = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Fit a density to the rows of each class.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            A weight of 3 counts as three copies of the row.

        Returns
        -------
        self : MixtureClassifier
        """
        X, y, w = self._check_training_data(
            X,
            y,
            sample_weight,
            y_kind="class",
            ensure_all_finite="allow-nan",
            order="C",
        )
        self.classes_, codes = class_codes(y, X)
        codes = arrays.to_numpy(codes)
        mass = np.bincount(codes, None if w is None else arrays.to_numpy(w))
        if len(mass) < 2:
            raise ValueError("a classifier needs 2 classes, got 1 class.")
        if (mass == 0).any():
            label = arrays.to_numpy(self.classes_).tolist()[int(mass.argmin())]
            raise ValueError(f"every row of class {label!r} has sample_weight 0.")
        self.class_prior_ = self._priors(mass)
        xp = arrays.namespace(X)
        self.estimators_ = []
        for c in range(len(mass)):
            at = xp.asarray(np.flatnonzero(codes == c), device=arrays.device(X))
            own = {} if w is None else {"sample_weight": xp.take(w, at)}
            model = clone(self._density(c))
            self.estimators_.append(model.fit(xp.take(X, at, axis=0), **own))
        return self

    def _density(self, c):
        if self.estimator is None:
            return GaussianMixture()
        if not isinstance(self.estimator, dict):
            return self.estimator
        label = arrays.to_numpy(self.classes_).tolist()[c]
        if label not in self.estimator:
            raise ParameterError(f"estimator has no density for class {label!r}.")
        return self.estimator[label]

    def _priors(self, mass):
        if self.priors is None:
            return mass / mass.sum()
        p = np.asarray(arrays.to_numpy(self.priors), dtype=float)
        bad = p.shape != mass.shape or (p < 0).any() or not math.isclose(p.sum(), 1)
        if bad:
            raise ParameterError(
                f"priors must be {len(mass)} shares that sum to 1, got {p}."
            )
        return p

    def predict_joint_log_proba(self, X):
        """log P(y) p(x | y): (n, classes)."""
        X = self._check_new_data(X, ensure_all_finite="allow-nan", order="C")
        parts = [model.score_samples(X) for model in self.estimators_]
        L = arrays.namespace(parts[0]).stack(parts, axis=1)
        return L + arrays.asarray(safe_log(self.class_prior_), like=L)

    def score_samples(self, X):
        """log p(x), whatever the class: (n,)."""
        return logsumexp(self.predict_joint_log_proba(X), axis=1)

    def predict_proba(self, X):
        """Eq. (1): (n, classes)."""
        return softmax(self.predict_joint_log_proba(X), axis=1)

    def predict_log_proba(self, X):
        """log of eq. (1)."""
        return log_softmax(self.predict_joint_log_proba(X), axis=1)

    def predict(self, X):
        """The likeliest class of each row."""
        L = self.predict_joint_log_proba(X)
        xp = arrays.namespace(L)
        best = xp.argmax(L, axis=1)
        if arrays.is_foreign(self.classes_):
            return arrays.namespace(self.classes_).take(self.classes_, best)
        return self.classes_[arrays.to_numpy(best)]

"""What linear classifiers share: labels as codes, class weights, decisions by score.

A classifier keeps `coef_` (1, d) for two classes and (k, d) for more, and decides by

    f = x W^T + b        two classes: the second if f > 0; more: the largest f    (1)

Shapes    X (n, d)   W (1, d) or (k, d)   b (1,) or (k,)   f (n,) or (n, k)
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..base import Classifier, Estimator
from ..core import arrays
from ..core.labels import class_codes
from ..core.rows import DatasetRows
from .base import raw_prediction


def encode_two_or_more_classes(y, X=None):
    """`class_codes` of at least two classes."""
    classes, codes = class_codes(y, X)
    if classes.shape[0] < 2:
        raise ValueError(
            "This solver needs samples of at least 2 classes in the data, but the "
            f"data contains only one class: {arrays.to_numpy(classes).tolist()[0]!r}"
        )
    return classes, codes


def class_factors(class_weight, classes, codes, w=None):
    """One factor per class: 1, those given, or inverse to the classes' weight."""
    k = len(classes)
    if class_weight is None:
        return np.ones(k)
    if isinstance(class_weight, str):  # "balanced"
        counts = np.bincount(codes, weights=w, minlength=k)
        return np.divide(counts.sum(), k * counts, out=np.ones(k), where=counts > 0)
    names = classes.tolist()
    unknown = [label for label in class_weight if label not in names]
    if unknown:
        raise ValueError(
            f"The classes, {unknown}, are not in class_weight's data: y holds {names}."
        )
    return np.array([float(class_weight.get(name, 1.0)) for name in names])


def classes_from_scores(classes, F):
    """Eq. (1): the class that the scores F (n,) or (n, k) name."""
    xp = arrays.namespace(F)
    best = xp.astype(F > 0, xp.int64) if F.ndim == 1 else xp.argmax(F, axis=1)
    if arrays.is_foreign(F) and not arrays.is_foreign(classes):
        best = arrays.to_numpy(best)
    return arrays.namespace(classes).take(classes, best)


def sparse_raw_prediction(model, X):
    """Eq. (1) with W in CSR."""
    product = lambda x: x @ model.coef_.T
    F = X.map(product) if isinstance(X, DatasetRows) else product(X)
    return (F.toarray() if sp.issparse(F) else np.asarray(F)) + model.intercept_


class AbstractLinearClassifier(Classifier, Estimator):
    """Decisions of a model with `classes_`, `coef_` and `intercept_`, eq. (1)."""

    def decision_function(self, X) -> Any:
        """Raw predictions: (n,) for two classes, (n, k) for more."""
        X = self._ready(X, accept_sparse="csr")
        known = sp.issparse(self.coef_)
        F: Any = sparse_raw_prediction(self, X) if known else raw_prediction(self, X)
        return F[:, 0] if F.ndim == 2 and F.shape[1] == 1 else F

    def predict(self, X):
        """The class with the best score."""
        F = self.decision_function(X)  # first: it says if the model is not fitted
        return classes_from_scores(self.classes_, F)

    def sparsify(self):
        """Keep `coef_` as a sparse matrix, which pays where most of it is 0."""
        check_is_fitted(self)
        if not sp.issparse(self.coef_):
            self.coef_ = sp.csr_matrix(arrays.to_numpy(self.coef_))
        return self

    def densify(self):
        """Keep `coef_` as an array again."""
        check_is_fitted(self)
        if sp.issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

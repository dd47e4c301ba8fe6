"""Attribute classifier: recognises classes, even unseen ones, by their attributes.

A signature s_c says for each class which attributes it has (0, 1 or a share between):
striped, has wings, lives in water. One classifier per attribute learns it from the rows
of all classes, and a class is the one whose signature fits best:

    a_j(x) = P(attribute j | x),      learned from rows labelled s_{y_i, j}        (1)
    y(x) = argmin_c sum_j (a_j(x) - s_cj)^2                                        (2)

Since (1) is about attributes, (2) can predict a class without training rows, from its
signature alone (zero-shot), and the attributes explain the prediction. If attributes
are exact and signatures differ, every class is recovered. Without signatures each class
is its own attribute: one against the rest.

An attribute with a share is learned as if a row had it if the share is at least 1/2.
One that all seen classes share is not learned: it is that number for every row.

Shapes    X (n, d)   signatures S (c, m)   a (n, m)
Refs      [Lampert2009]; [Farhadi2009]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ..distances import squared_euclidean
from ..params import ParameterError
from ..typing import Fittable, ListLike, NumericArray
from .abstract_semi_supervised import AbstractSemiSupervised


@dataclass(eq=False, repr=False)
class AttributeClassifier(AbstractSemiSupervised):
    """Recognises classes, seen or not, by their attributes.

    Parameters
    ----------
    signatures : dict of label to list of numbers, array of shape (c, m), or None
        S, from 0 to 1. Rows of an array belong to `classes`. None makes each class of
        y an attribute of its own.
    classes : list or None, default=None
        The labels of the rows of an array of signatures.
    attributes : list of str or None, default=None
        Names of the attributes, for `explain`.
    estimator : classifier or None, default=None
        For each attribute; None is `LogisticRegression()`.

    Attributes
    ----------
    classes_ : array of shape (c,)
        All classes that have a signature, in order.
    signatures_ : array of shape (c, m)
        S in that order.
    estimators_ : list of m classifiers, or numbers where nothing is to be learned
    attributes_ : list of str
        Names of the attributes.

    Examples
    --------
    >>> from pansophy.semi_supervised import AttributeClassifier
    >>> S = {"horse": [0, 1], "snake": [0, 0], "tiger": [1, 0], "zebra": [1, 1]}
    >>> X = [[0, 9], [1, 8], [0, 1], [1, 0], [9, 0], [8, 1]]
    >>> y = ["horse", "horse", "snake", "snake", "tiger", "tiger"]  # no zebra was seen
    >>> model = AttributeClassifier(S, attributes=["striped", "hoofed"]).fit(X, y)
    >>> model.predict([[9, 1], [8, 9]]).tolist()
    ['tiger', 'zebra']
    """

    signatures: dict | NumericArray | None = None
    _: KW_ONLY
    classes: ListLike | None = None
    attributes: ListLike | None = None
    estimator: Fittable | None = None

    _tensors = False

    def fit(self, X, y, sample_weight=None):
        """Learn the attributes.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
            Labels; each has a signature.
        sample_weight : array of shape (n,), optional
            Handed to the classifiers.
        """
        X, y, w = self._check_training_data(
            X,
            y,
            sample_weight,
            y_kind="class",
            accept_sparse="csr",
            ensure_all_finite=self._finite(),
        )
        seen = np.unique(y)
        self.classes_, self.signatures_ = self._classes_and_signatures(seen)
        missing = np.setdiff1d(seen, self.classes_)
        if len(missing):
            label = missing.tolist()[0]
            raise ValueError(f"signatures has none for class {label!r} of y.")
        if len(self.classes_) < 2:
            raise ValueError("a classifier needs 2 classes, got 1 class.")
        S = self.signatures_
        self.attributes_ = self._names(S.shape[1])
        has_attribute = S[np.searchsorted(self.classes_, y)] >= 0.5
        self.estimators_: list[Any] = [
            self._fit_attribute(X, has_attribute[:, j], w) for j in range(S.shape[1])
        ]
        return self

    def _fit_attribute(self, X, has, w):
        """A classifier for one attribute, or its value if all rows share it."""
        if has.all() or not has.any():
            return float(has[0])
        model = clone(self._inner_estimator())
        if w is None:
            return model.fit(X, has.astype(int))
        if not has_fit_parameter(model, "sample_weight"):
            raise ValueError(
                f"{type(model).__name__} takes no sample_weight: leave it out."
            )
        return model.fit(X, has.astype(int), sample_weight=w)

    def _classes_and_signatures(self, seen):
        """Classes in order, and their signatures."""
        S = self.signatures
        if self.classes is not None and (S is None or isinstance(S, dict)):
            raise ParameterError(
                "classes names the rows of an array of signatures, and there is none."
            )
        if S is None:
            return seen, np.eye(len(seen))
        if isinstance(S, dict):
            names, S = np.asarray(list(S)), list(S.values())
        else:
            names = seen if self.classes is None else np.asarray(self.classes)
        S = np.asarray(S, float)
        if S.ndim != 2 or len(S) != len(names):
            raise ParameterError(
                f"signatures must have a row for each of {len(names)} classes, got "
                f"shape {S.shape}."
            )
        if not (np.isfinite(S).all() and S.min() >= 0 and S.max() <= 1):
            raise ParameterError("signatures must be numbers from 0 to 1.")
        order = np.argsort(names)
        return names[order], S[order]

    def _names(self, m):
        if self.attributes is None:
            return [f"attribute{j}" for j in range(m)]
        if len(self.attributes) != m:
            raise ParameterError(
                f"attributes must name {m}, got {len(self.attributes)} names."
            )
        return [str(a) for a in self.attributes]

    def predict_attributes(self, X):
        """Eq. (1): (n, m)."""
        check_is_fitted(self)
        X = self._rows(X)
        A = np.empty((X.shape[0], len(self.estimators_)))
        for j, model in enumerate(self.estimators_):
            learned = hasattr(model, "predict_proba")
            A[:, j] = model.predict_proba(X)[:, 1] if learned else model
        return A

    def decision_function(self, X):
        """Minus the distances of eq. (2); of two classes their difference."""
        D = -squared_euclidean(self.predict_attributes(X), self.signatures_)
        return D[:, 1] - D[:, 0] if D.shape[1] == 2 else D

    def predict(self, X):
        """Eq. (2)."""
        D = squared_euclidean(self.predict_attributes(X), self.signatures_)
        return self.classes_[D.argmin(axis=1)]

    def explain(self, X):
        """The class and the attributes by name, a dict for each row."""
        A = self.predict_attributes(X)
        names = self.predict(X)
        return [
            {"class": c, **dict(zip(self.attributes_, map(float, a)))}
            for c, a in zip(names.tolist(), A)
        ]

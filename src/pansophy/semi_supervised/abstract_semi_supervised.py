"""Semi-supervised classifiers: checks of partial labels, and fits to labelled rows.

A missing label is -1 among numbers and the empty text among texts.
"""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from ..base import Classifier, Estimator
from ..core.arrays.labels import class_codes, known_labels
from ..core.drivers.routing import params_of_rows
from ..linear_model import LogisticRegression


def inner_estimator_has(name):
    """A test for `available_if`: whether the inner classifier has a method."""

    def check(self):
        fitted = getattr(self, "estimator_", None)
        getattr(self._inner_estimator() if fitted is None else fitted, name)
        return True

    return check


def probabilities_of_classes(model, X, classes):
    """P(k | x) over all classes, of a model that may lack some."""
    P = np.asarray(model.predict_proba(X), float)
    full = np.zeros((P.shape[0], len(classes)))
    full[:, np.searchsorted(classes, model.classes_)] = P
    return full


def normalize_missing_labels(y):
    """Labels, with -1 among texts (scikit-learn's missing label) as the empty text.

    >>> normalize_missing_labels(["a", -1, "b"])
    ['a', '', 'b']
    """
    listed = isinstance(y, (list, tuple))
    if not listed and getattr(getattr(y, "dtype", None), "kind", "") != "O":
        return y
    values = list(y)
    if not any(isinstance(v, str) for v in values):
        return y
    values = ["" if isinstance(v, Integral) and v == -1 else v for v in values]
    return values if listed else np.array(values, dtype=object)


class AbstractSemiSupervised(Classifier, Estimator):
    """Checks, codes of labels, and fits to the rows that have one."""

    estimator: Any

    def _inner_estimator(self):
        return LogisticRegression() if self.estimator is None else self.estimator

    def _check_partial_labels(self, X, y, sample_weight, accept_sparse: Any = "csr"):
        """Rows, codes of labels (-1 if missing) and weights; sets `classes_`."""
        X, y, w = self._check_training_data(
            X,
            normalize_missing_labels(y),
            sample_weight,
            y_kind="class",
            accept_sparse=accept_sparse,
            ensure_all_finite=self._finite(),
        )
        known = known_labels(y)
        if not known.any():
            raise ValueError("y holds no label at all: at least one must be known.")
        codes = np.full(len(y), -1)
        self.classes_, codes[known] = class_codes(np.asarray(y)[known])
        return X, codes, w

    def _labels_of_codes(self, codes):
        """Labels of codes; -1 or the empty text for missing ones."""
        names = self.classes_
        out = np.empty(len(codes), names.dtype if names.dtype.kind != "u" else int)
        out[:] = names[np.maximum(codes, 0)]
        out[codes < 0] = "" if names.dtype.kind in "USO" else -1
        return out

    def _fit_labelled(self, model, X, codes, w, routed=None):
        """The model fitted to the rows that have a code, with routed arguments."""
        rows = np.flatnonzero(codes >= 0)
        extra = {} if routed is None else routed
        if len(rows) < X.shape[0]:
            extra = params_of_rows(extra, rows, X.shape[0])
        if w is not None:
            if not has_fit_parameter(model, "sample_weight"):
                raise ValueError(
                    f"{type(model).__name__} takes no sample_weight: leave it out."
                )
            extra = {**extra, "sample_weight": w[rows]}
        part = X if len(rows) == X.shape[0] else X[rows]
        return model.fit(part, self.classes_[codes[rows]], **extra)

    def _finite(self):
        """Whether values may be missing: where the inner classifier allows it."""
        return "allow-nan" if self.__sklearn_tags__().input_tags.allow_nan else True

    def _rows(self, X):
        return self._check_new_data(
            X, accept_sparse="csr", ensure_all_finite=self._finite()
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = self._inner_estimator()
        if hasattr(inner, "__sklearn_tags__"):
            takes = inner.__sklearn_tags__().input_tags
            tags.input_tags.sparse = takes.sparse
            tags.input_tags.allow_nan = takes.allow_nan
        return tags

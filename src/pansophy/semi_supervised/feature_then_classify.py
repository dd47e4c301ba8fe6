"""Feature then classify: features from all rows, a classifier from the labelled ones.

    z = g(x)      g fitted to every row, labelled or not                         (1)
    P(y | x) = P(y | z)    fitted to the labelled rows only                      (2)

Rows without a label enter (1) only. They tell the reduction where rows lie, so that
the classifier has few features to learn from few labels. With all labels known it is
the pipeline of both steps.

Shapes    X (n, d)   z (n, k)   y (n,)   -1 (or the empty text) for no label
"""

from dataclasses import KW_ONLY, dataclass

from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ..typing import Fittable
from .abstract_semi_supervised import AbstractSemiSupervised, inner_estimator_has


@dataclass(eq=False, repr=False)
class FeatureThenClassify(AbstractSemiSupervised):
    """A transformer fitted to all rows, then a classifier fitted to the labelled ones.

    Parameters
    ----------
    transformer : transformer or None, default=None
        g. None is `PCA(0.95)`: the components that hold 95 % of the variance.
    estimator : classifier or None, default=None
        None is `LogisticRegression()`.

    Attributes
    ----------
    transformer_ : transformer
        g, fitted.
    estimator_ : classifier
        Fitted to g of the labelled rows.
    classes_ : array
        The known labels.
    transduction_ : array of shape (n,)
        The labels of the training rows, known or predicted.

    Examples
    --------
    >>> from pansophy.semi_supervised import FeatureThenClassify
    >>> X = [[0.0, 0.1], [1.0, 1.1], [2.0, 1.9], [8.0, 8.2], [9.0, 9.1], [9.5, 9.4]]
    >>> FeatureThenClassify().fit(X, [0, -1, -1, -1, -1, 1]).transduction_
    array([0, 0, 0, 1, 1, 1])
    """

    transformer: Fittable | None = None
    _: KW_ONLY
    estimator: Fittable | None = None

    _tensors = False

    def fit(self, X, y, sample_weight=None):
        """Fit g to all rows, the classifier to the labelled ones.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
            Labels; -1, or the empty text, where there is none.
        sample_weight : array of shape (n,), optional
            Handed to the classifier, and to the transformer if it takes weights.
        """
        sparse = "csr" if self.__sklearn_tags__().input_tags.sparse else False
        X, codes, w = self._check_partial_labels(
            X, y, sample_weight, accept_sparse=sparse
        )
        reducer = clone(self._reducer())
        weighted = w is not None and has_fit_parameter(reducer, "sample_weight")
        self.transformer_ = (
            reducer.fit(X, sample_weight=w) if weighted else reducer.fit(X)
        )
        Z = self.transformer_.transform(X)
        self.estimator_ = self._fit_labelled(
            clone(self._inner_estimator()), Z, codes, w
        )
        labels = self._labels_of_codes(codes)
        free = codes < 0
        if free.any():
            labels[free] = self.estimator_.predict(Z[free])
        self.transduction_ = labels
        return self

    def _reducer(self):
        if self.transformer is not None:
            return self.transformer
        from ..decomposition import PCA

        return PCA(0.95)

    def _features(self, X):
        check_is_fitted(self)
        return self.transformer_.transform(self._rows(X))

    def predict(self, X):
        """The class of each row."""
        Z = self._features(X)
        return self.estimator_.predict(Z)

    @available_if(inner_estimator_has("predict_proba"))
    def predict_proba(self, X):
        """P(k | x): (n, K)."""
        Z = self._features(X)
        return self.estimator_.predict_proba(Z)

    @available_if(inner_estimator_has("decision_function"))
    def decision_function(self, X):
        """Scores of the classifier."""
        Z = self._features(X)
        return self.estimator_.decision_function(Z)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = self.transformer
        takes = None
        if inner is not None and hasattr(inner, "__sklearn_tags__"):
            takes = inner.__sklearn_tags__().input_tags
        tags.input_tags.sparse &= takes is not None and takes.sparse
        tags.input_tags.allow_nan = takes is not None and takes.allow_nan
        return tags

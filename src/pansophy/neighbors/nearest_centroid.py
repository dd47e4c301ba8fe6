"""Nearest centroid: a row has the class whose centre is nearest.

With rows of class c, N_c of n (of weight w if there are weights),

    m_c = mean of the rows of class c        their median for "manhattan"        (1)
    class(x) = argmin_c |x - m_c|                                                (2)

For two classes (2) is the mean-difference rule: the border is the plane through the
middle of m_1 and m_2, at right angles to m_1 - m_2. With priors p_c other than equal
ones, columns are divided by their deviation s within classes (0 counts as 1) and

    score_c(x) = -|(x - m_c) / s|^2 + 2 log p_c                                  (3)

is largest at the class predicted: linear discriminant analysis with a diagonal
covariance. Its softmax gives the probabilities, as in scikit-learn.

*Nearest shrunken centroids* move every m_c towards the mean m of all rows, column by
column, by t steps of the scale that the column has,

    d_c = (m_c - m) / (k_c (s + s_0)),   k_c = sqrt(1 / N_c - 1 / n)             (4)
    m_c = m + k_c (s + s_0) sign(d_c) max(|d_c| - t, 0)                          (5)

with s_0 the median of s. Columns in which all classes reach m no longer count.

Cost      O(n d) to fit; O(c d) a row to predict
Shapes    X (n, d)   m (c, d)   s, m (d,)   k (c,)
Refs      [Tibshirani2002]
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.special import log_softmax
from sklearn.utils.metaestimators import available_if

from ..base import Classifier, Estimator
from ..core.arrays.labels import class_codes
from ..core.arrays.weighted import weighted_median
from ..distances import pairwise
from ..params import ParameterError, Positive
from ..typing import Matrix, NumberList


def class_means(X, codes, w, c):
    """Eq. (1) for "euclidean": (c, d), and the weight of each class (c,)."""
    n = X.shape[0]
    members = sparse.csr_array((w, (codes, np.arange(n))), shape=(c, n))
    N = np.asarray(members.sum(axis=1)).ravel()
    sums = members @ X
    sums = sums.toarray() if sparse.issparse(sums) else np.asarray(sums)
    return sums / N[:, None], N


def within_class_deviation(X, codes, w, M):
    """s (d,): the root of the sum of squares about the class centres over n - c."""
    if sparse.issparse(X):
        rows = X.toarray() - M[codes]
    else:
        rows = X - M[codes]
    free = w.sum() - len(M)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt(w @ (rows * rows) / free)


def shrunken_centers(M, center, s, N, n, t):
    """Deviations of eq. (4), shrunk by t, and the centres of eq. (5)."""
    k = np.sqrt(np.maximum(1 / N - 1 / n, 0.0))[:, None]
    scale = k * (s + np.median(s))
    gap = M - center
    with np.errstate(divide="ignore", invalid="ignore"):
        deviations = np.where(gap == 0, 0.0, gap / scale)
    if not t:
        return deviations, M
    deviations = np.sign(deviations) * np.maximum(np.abs(deviations) - t, 0.0)
    return deviations, center + scale * deviations


def is_euclidean(model):
    """Whether scores are defined: for the euclidean metric."""
    return model.metric == "euclidean"


@dataclass(eq=False, repr=False)
class NearestCentroid(Classifier, Estimator):
    """The class whose centre is nearest; the module text gives the method.

    Parameters
    ----------
    metric : {"euclidean", "manhattan"}, default="euclidean"
        Distance to the centres, which are means or medians.
    shrink_threshold : float or None, default=None
        t of eq. (5).
    priors : {"uniform", "empirical"} or array of shape (c,), default="uniform"
        p of eq. (3): all the same, the shares of the classes, or these.

    Attributes
    ----------
    classes_ : array of shape (c,)
    centroids_ : array of shape (c, d)
        m_c.
    class_prior_ : array of shape (c,)
    within_class_std_dev_ : array of shape (d,)
        s.
    deviations_ : array of shape (c, d)
        Eq. (4), shrunk.
    n_features_in_ : int

    Examples
    --------
    >>> from pansophy.neighbors import NearestCentroid
    >>> X, y = [[-1, -1], [-2, -2], [1, 1], [2, 2]], ["a", "a", "b", "b"]
    >>> model = NearestCentroid().fit(X, y)
    >>> model.centroids_
    array([[-1.5, -1.5],
           [ 1.5,  1.5]])
    >>> model.predict([[0.5, 0.0]])
    array(['b'], dtype='<U1')
    """

    metric: Literal["euclidean", "manhattan"] = "euclidean"
    _: KW_ONLY
    shrink_threshold: Positive | None = None
    priors: Literal["uniform", "empirical"] | NumberList | Matrix = "uniform"

    _tensors = False

    def fit(self, X, y, sample_weight=None):
        """Find the centre of each class.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            A weight of 3 counts as three copies of the row.

        Returns
        -------
        self : NearestCentroid
        """
        X, y, w = self._check_training_data(
            X, y, sample_weight=sample_weight, y_kind="class", accept_sparse="csr"
        )
        X = X.astype(np.float64, copy=False)
        w = np.ones(X.shape[0]) if w is None else np.asarray(w, np.float64)
        if (w == 0).any():
            X, y, w = X[w > 0], y[w > 0], w[w > 0]
        self.classes_, codes = class_codes(y)
        c = len(self.classes_)
        if c < 2:
            raise ValueError(
                "The number of classes has to be greater than one; got 1 class: y of "
                "NearestCentroid needs two."
            )
        self._check_spread(X)
        with np.errstate(over="ignore", invalid="ignore"):
            means, N = class_means(X, codes, w, c)
            M = means
            if self.metric == "manhattan":
                dense = X.toarray() if sparse.issparse(X) else X
                parts = [(dense[codes == j], w[codes == j]) for j in range(c)]
                M = np.array([weighted_median(*part) for part in parts])
            s = within_class_deviation(X, codes, w, M)
        if not np.isfinite(M).all() or np.isinf(s).any():
            raise ValueError("values of X are too large to square: scale its columns.")
        self.class_prior_ = self._class_prior(N)
        if (s == 0).any():
            warnings.warn(
                f"column {int(np.argmin(s))} of X is the same in all rows of every "
                "class: self.within_class_std_dev_ has at least 1 zero standard "
                "deviation.",
                UserWarning,
                stacklevel=2,
            )
        self.within_class_std_dev_ = s
        center = (N @ means) / N.sum()
        self.deviations_, self.centroids_ = shrunken_centers(
            M, center, s, N, float(N.sum()), self.shrink_threshold
        )
        return self

    def _check_spread(self, X):
        """Refuse rows that are all the same."""
        low = X.min(axis=0)
        high = X.max(axis=0)
        if sparse.issparse(low):
            same = (low.toarray() == high.toarray()).all()
        else:
            same = (low == high).all()
        if same:
            raise ValueError(
                "All features have zero variance: all rows of X are the same."
            )

    def _class_prior(self, N):
        if isinstance(self.priors, str):
            return (
                N / N.sum()
                if self.priors == "empirical"
                else np.full(len(N), 1 / len(N))
            )
        p = np.asarray(self.priors, np.float64)
        if p.shape != N.shape or not (p >= 0).all() or not 0 < p.sum() < np.inf:
            raise ParameterError(
                f"priors must be non-negative: {len(N)} numbers of at least 0, not all "
                "0."
            )
        if not np.isclose(p.sum(), 1.0):
            warnings.warn(
                "The priors do not sum to 1. Normalizing such that it sums to one.",
                UserWarning,
                stacklevel=3,
            )
        return p / p.sum()

    def predict(self, X):
        """The class of the nearest centre, or of the largest score with priors."""
        X = self._rows(X)
        if np.allclose(self.class_prior_, 1 / len(self.classes_)):
            D = pairwise(X, self.centroids_, self.metric)
            return self.classes_[D.argmin(axis=1)]
        return self.classes_[self._scores(X).argmax(axis=1)]

    def _rows(self, X):
        X = self._check_new_data(X, accept_sparse="csr")
        X = X.toarray() if sparse.issparse(X) else X
        return X.astype(np.float64, copy=False)

    def _scores(self, X):
        """Eq. (3): (m, c)."""
        s = np.where(self.within_class_std_dev_ > 0, self.within_class_std_dev_, 1.0)
        D = pairwise(X / s, self.centroids_ / s, self.metric)
        with np.errstate(divide="ignore"):
            return 2 * np.log(self.class_prior_) - D * D

    @available_if(is_euclidean)
    def decision_function(self, X):
        """Eq. (3): (m, c); for two classes the second score less the first, (m,)."""
        scores = self._scores(self._rows(X))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @available_if(is_euclidean)
    def predict_log_proba(self, X):
        """The logarithms of `predict_proba`."""
        return log_softmax(self._scores(self._rows(X)), axis=1)

    @available_if(is_euclidean)
    def predict_proba(self, X):
        """The softmax of eq. (3), as scikit-learn has it: (m, c)."""
        return np.exp(self.predict_log_proba(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

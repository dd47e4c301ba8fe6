"""Discrete naive Bayes: BernoulliNB, MultinomialNB, ComplementNB, CategoricalNB.

Eq. (1) of `naive_bayes.py` with discrete families of `column_families.py`. `alpha` is a
pseudo-count for every event: the probabilities are means of the posterior under
Beta(alpha, alpha) or Dirichlet(alpha, ...), which `posterior()` returns; alpha = 0
is maximum likelihood. ComplementNB has no density: it scores a class by how little the
other classes explain the row,

    s_c(x) = - sum_j x_j log q_jc,      q_jc from the counts of all classes but c  (1)

Shapes    X (n, d)   log p (k, d)
Refs      [McCallum1998]; [Rennie2003] eq. (1)
"""

import warnings
from dataclasses import KW_ONLY, dataclass

import numpy as np
import scipy.sparse as sp

from ..core.arrays import arrays
from ..core.arrays.rows import is_dataset
from ..core.numerics import safe_log
from ..distributions import Beta, Dirichlet
from ..distributions.base import SufficientStatistics
from ..params import Count, Flag, NonNegative, ParameterError
from ..persist.saved_state import IntArray, saved_state
from ..predictors.abstract_bayes import check_class_prior, class_log_prior
from ..typing import Matrix, NumberList
from .column_families import (
    COLUMN_FAMILIES,
    CategoryCounts,
    InvalidCountError,
    counts_scaled_for_missing,
    linear_scorer,
    observed_weight,
)
from .naive_bayes import AbstractNaiveBayes

LEAST_ALPHA = 1e-10  # scikit-learn's, where force_alpha is False


@saved_state(n_categories_=IntArray("n_features_in_", low=0))
class AbstractCountNB(AbstractNaiveBayes):
    """Naive Bayes from counts, smoothed by `alpha`."""

    def _alpha(self):
        """The pseudo-counts, checked, as a number or (d,)."""
        alpha = np.asarray(self.alpha, dtype=np.float64)
        name = type(self).__name__
        if alpha.ndim and alpha.shape != (self.n_features_in_,):
            raise ParameterError(
                "When alpha is an array, it should contains `n_features`: alpha of "
                f"{name} has shape {alpha.shape}, X has {self.n_features_in_} columns."
            )
        if not np.all(alpha >= 0):
            raise ParameterError(
                f"All values in alpha must be greater than 0: alpha of {name} is not."
            )
        if alpha.min() < LEAST_ALPHA and not self.force_alpha:
            warnings.warn(
                "alpha too small will result in numeric errors, setting alpha = "
                f"{LEAST_ALPHA:.1e}. Use force_alpha=True to keep alpha unchanged.",
                stacklevel=5,
            )
            alpha = np.maximum(alpha, LEAST_ALPHA)
        return float(alpha) if alpha.ndim == 0 else alpha

    def _estimate(self, sums, groups, X):
        prior = check_class_prior(self, "class_prior", sums.weight.shape[0])
        like = sums.parts[0].total if hasattr(sums.parts[0], "total") else None
        alpha = self._alpha()
        if like is not None and not arrays.all_finite(arrays.as_float(like)):
            raise ValueError(
                f"X of {type(self).__name__} holds counts whose sum overflows: scale "
                "them."
            )
        if like is not None and arrays.is_foreign(like) and not np.isscalar(alpha):
            alpha = arrays.asarray(alpha, like=like)
        self._count(sums, alpha)
        self.class_count_ = sums.weight
        self.class_log_prior_ = class_log_prior(
            prior, sums.weight, fit_prior=self.fit_prior
        )

    def _count(self, sums, alpha):
        s = sums.parts[0]
        N = sums.weight
        p = COLUMN_FAMILIES[self._family].fit(s, N, alpha, None)
        self.distribution_ = (p,)
        self.feature_count_ = counts_scaled_for_missing(s, N)
        self.feature_log_prob_ = safe_log(p.prob)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        tags.input_tags.positive_only = self._family != "bernoulli"
        return tags


@dataclass(eq=False, repr=False)
class BernoulliNB(AbstractCountNB):
    """Naive Bayes for binary columns.

    Parameters
    ----------
    alpha : float or array of shape (n_features,), default=1.0
        Pseudo-count of every event; 0 for maximum likelihood.
    force_alpha : bool, default=True
        Whether to take an alpha below 1e-10 as it is, and not as 1e-10.
    binarize : float or None, default=0.0
        Values above it are 1, others 0. None takes X as 0 and 1.
    fit_prior : bool, default=True
        Whether classes have their frequencies as prior, or all the same.
    class_prior : array of shape (n_classes,) or None, default=None
        Prior of the classes, in place of the frequencies.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_ : array of shape (n_classes,)
        Weight of the rows of each class.
    class_log_prior_ : array of shape (n_classes,)
    feature_count_ : array of shape (n_classes, n_features)
        Weight of the rows with a 1.
    feature_log_prob_ : array of shape (n_classes, n_features)
        log P(x_j = 1 | c).
    distribution_ : tuple of one Bernoulli
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.naive_bayes import BernoulliNB
    >>> X = np.array([[1, 0], [1, 1], [1, 1], [0, 1], [0, 0], [1, 0]])
    >>> model = BernoulliNB().fit(X, [1, 1, 1, 0, 0, 0])
    >>> np.exp(model.feature_log_prob_)
    array([[0.4, 0.4], [0.8, 0.6]])
    >>> model.predict_proba([[1, 1]])
    array([[0.25, 0.75]])
    """

    _: KW_ONLY
    alpha: NonNegative | Matrix | NumberList = 1.0
    force_alpha: Flag = True
    binarize: NonNegative | None = 0.0
    fit_prior: Flag = True
    class_prior: Matrix | NumberList | None = None

    _family = "bernoulli"

    def _prepare(self, x):
        t = self.binarize
        if t is None:
            return x
        if sp.issparse(x):
            if not x.has_canonical_format:  # an entry may be written as a sum
                x = x.copy()
                x.sum_duplicates()
            return sp.csr_array((x.data > t, x.indices, x.indptr), x.shape)
        if arrays.is_foreign(x):
            x = arrays.as_float(x)
            return arrays.namespace(x).astype(x > t, x.dtype)
        above = (x > t).astype(np.float64)
        if x.dtype.kind == "f" and np.isnan(np.min(x)):
            above[np.isnan(x)] = np.nan
        return above

    def posterior(self) -> Beta:
        """Beta distributions (k, d) of P(x_j = 1 | c) given all rows so far."""
        alpha = self._alpha()
        s = self.sums_.parts[0]
        return Beta(alpha, alpha).posterior(
            SufficientStatistics(observed_weight(s, self.class_count_), (s.total,))
        )


@dataclass(eq=False, repr=False)
class MultinomialNB(AbstractCountNB):
    """Naive Bayes for counts, such as of words in a document.

    Parameters
    ----------
    alpha : float or array of shape (n_features,), default=1.0
        Pseudo-count of every event; 0 for maximum likelihood.
    force_alpha : bool, default=True
        Whether to take an alpha below 1e-10 as it is, and not as 1e-10.
    fit_prior : bool, default=True
        Whether classes have their frequencies as prior, or all the same.
    class_prior : array of shape (n_classes,) or None, default=None
        Prior of the classes, in place of the frequencies.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_ : array of shape (n_classes,)
        Weight of the rows of each class.
    class_log_prior_ : array of shape (n_classes,)
    feature_count_ : array of shape (n_classes, n_features)
        Weighted sum of each column.
    feature_log_prob_ : array of shape (n_classes, n_features)
        log of the probability of each word.
    distribution_ : tuple of one Multinomial
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Notes
    -----
    `predict_joint_log_proba` leaves out the number of orders in which the words of a
    row can stand, as it is the same for all classes.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.naive_bayes import MultinomialNB
    >>> X = np.array([[2, 1, 0, 0], [1, 1, 0, 0], [0, 1, 1, 1]])  # aab, ab, cdb
    >>> model = MultinomialNB().fit(X, [1, 1, -1])
    >>> f = np.diff(model.predict_log_proba([[2, 1, 0, 0], [1, 1, 1, 0]]))
    >>> f.ravel().round(7)
    array([3.1172577, 1.0378162])
    """

    _: KW_ONLY
    alpha: NonNegative | Matrix | NumberList = 1.0
    force_alpha: Flag = True
    fit_prior: Flag = True
    class_prior: Matrix | NumberList | None = None

    _family = "multinomial"

    def posterior(self) -> Dirichlet:
        """Dirichlet distributions (k, d) of the words given all rows so far."""
        prior = Dirichlet(self._alpha() + 0 * self.feature_count_)
        return prior.posterior(
            SufficientStatistics(self.class_count_, (self.feature_count_,))
        )


@dataclass(eq=False, repr=False)
class ComplementNB(AbstractCountNB):
    """Multinomial naive Bayes by the complement of each class, for unequal classes.

    Parameters
    ----------
    alpha : float or array of shape (n_features,), default=1.0
        Pseudo-count of every event; 0 for maximum likelihood.
    force_alpha : bool, default=True
        Whether to take an alpha below 1e-10 as it is, and not as 1e-10.
    fit_prior : bool, default=True
        Whether classes have their frequencies as prior, or all the same. The prior
        matters only where there is one class.
    class_prior : array of shape (n_classes,) or None, default=None
        Prior of the classes, in place of the frequencies.
    norm : bool, default=False
        Whether to divide the weights of each class by their sum.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_ : array of shape (n_classes,)
        Weight of the rows of each class.
    class_log_prior_ : array of shape (n_classes,)
    feature_count_ : array of shape (n_classes, n_features)
        Weighted sum of each column.
    feature_log_prob_ : array of shape (n_classes, n_features)
        Weights of the words, eq. (1).
    feature_all_ : array of shape (n_features,)
        Weighted sum of each column over all classes.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.naive_bayes import ComplementNB
    >>> X = np.array([[2, 1, 0, 0], [1, 1, 0, 0], [0, 1, 1, 1]])
    >>> ComplementNB().fit(X, ["+", "+", "-"]).predict([[1, 0, 0, 0], [0, 0, 1, 0]])
    array(['+', '-'], dtype='<U1')
    """

    _: KW_ONLY
    alpha: NonNegative | Matrix | NumberList = 1.0
    force_alpha: Flag = True
    fit_prior: Flag = True
    class_prior: Matrix | NumberList | None = None
    norm: Flag = False

    _family = "multinomial"
    _generative = False

    def _count(self, sums, alpha):
        counts = counts_scaled_for_missing(sums.parts[0], sums.weight)
        xp = arrays.namespace(counts)
        total_counts = xp.sum(counts, axis=0)
        rest = (total_counts - counts) + alpha  # alpha survives counts of any size
        logged = safe_log(rest / xp.sum(rest, axis=1, keepdims=True))
        self.feature_count_ = counts
        self.feature_all_ = total_counts
        total = xp.sum(logged, axis=1, keepdims=True)
        self.feature_log_prob_ = logged / total if self.norm else -logged

    def _scorer(self):
        against = linear_scorer(-self.feature_log_prob_, None)
        return lambda x: -against(x)

    def _prior(self, like):
        log_prior = super()._prior(like)
        return log_prior if like.shape[1] == 1 else 0 * like[0, :]


def cut_fractions(X, error):
    """Categories rounded down to whole numbers, with a warning.

    `error` is what was wrong with X; it is raised if X has no fractions.
    """
    if is_dataset(X) or arrays.is_foreign(X):
        raise error
    X = X if hasattr(X, "columns") else np.asarray(X)  # a frame keeps its names
    values = np.asarray(X, dtype=np.float64)
    fractions = (np.floor(values) != values) & ~np.isnan(values)
    if not fractions.any():
        raise error
    warnings.warn(
        f"column {int(fractions.any(axis=0).argmax())} of X holds numbers that are not "
        "whole: the categories are these numbers rounded down.",
        stacklevel=4,
    )
    return np.floor(X)


@dataclass(eq=False, repr=False)
class CategoricalNB(AbstractCountNB):
    """Naive Bayes for columns of categories 0, 1, 2, ...

    Numbers that are not whole are rounded down, with a warning.

    Parameters
    ----------
    alpha : float, default=1.0
        Pseudo-count of every category; 0 for maximum likelihood.
    force_alpha : bool, default=True
        Whether to take an alpha below 1e-10 as it is, and not as 1e-10.
    fit_prior : bool, default=True
        Whether classes have their frequencies as prior, or all the same.
    class_prior : array of shape (n_classes,) or None, default=None
        Prior of the classes, in place of the frequencies.
    min_categories : int, array of shape (n_features,) or None, default=None
        Least number of categories of the columns; None for those seen in fit.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_ : array of shape (n_classes,)
        Weight of the rows of each class.
    class_log_prior_ : array of shape (n_classes,)
    category_count_ : list of arrays of shape (n_classes, n_categories of the column)
    feature_log_prob_ : list of arrays of shape (n_classes, n_categories of the column)
    n_categories_ : array of shape (n_features,)
    distribution_ : tuple of one list of Categorical
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.naive_bayes import CategoricalNB
    >>> X = np.array([[0, 2], [0, 1], [1, 0], [1, 2]])
    >>> model = CategoricalNB().fit(X, ["a", "a", "b", "b"])
    >>> np.exp(model.feature_log_prob_[0])
    array([[0.75, 0.25], [0.25, 0.75]])
    """

    _: KW_ONLY
    alpha: NonNegative = 1.0
    force_alpha: Flag = True
    fit_prior: Flag = True
    class_prior: Matrix | NumberList | None = None
    min_categories: Count | Matrix | NumberList | None = None

    _family = "categorical"
    _sparse = False

    def _learn(self, X, codes, w, classes, before):
        try:
            return super()._learn(X, codes, w, classes, before)
        except InvalidCountError as error:
            X = cut_fractions(X, error)
        return super()._learn(X, codes, w, classes, before)

    def _map_joint(self, X, finish):
        try:
            return super()._map_joint(X, finish)
        except InvalidCountError as error:
            X = cut_fractions(X, error)
        return super()._map_joint(X, finish)

    def _widths(self, t):
        minimum = self.min_categories
        if minimum is None:
            return t.widths
        minimum = np.asarray(minimum)
        whole = minimum.dtype.kind in "iu"
        if not whole or minimum.shape not in ((), t.widths.shape):
            raise ParameterError(
                f"'min_categories' should have shape ({len(t.widths)},) and integral "
                f"type, a number for each column: got {minimum.dtype} of shape "
                f"{minimum.shape}."
            )
        return np.maximum(t.widths, minimum)

    def _count(self, sums, alpha):
        t: CategoryCounts = sums.parts[0]
        t = t.widened(self._widths(t))
        made = COLUMN_FAMILIES["categorical"].fit(t, sums.weight, alpha, None)
        self.distribution_ = (made,)
        self.n_categories_ = t.widths
        self.category_count_ = t.tables()
        self.feature_log_prob_ = [safe_log(p.prob) for p in made]

    def posterior(self) -> list[Dirichlet]:
        """Dirichlet distributions of each table given all rows so far."""
        alpha = self._alpha()
        return [Dirichlet(alpha + counts) for counts in self.category_count_]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

"""Bayes' rule for classifiers: the posterior is prior times density, normalised.

    P(y = c | x) = pi_c p(x | c) / P(x),      P(x) = sum_c pi_c p(x | c)          (1)

A generative classifier is a prior pi and a density for each class. Everything else is
here: log P(x, c) block by block over arrays, sparse matrices, tensors and tables on
disk, the posterior from it, predictions, the evidence P(x), and samples of y, then x. A
row that no class can produce has no posterior; its prediction is the prior.

Shapes    X (n, d)   log P(x, c) (n, k)   pi (k,)
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..base import Classifier, Estimator, host_array
from ..core.arrays import arrays
from ..core.arrays.rows import as_rows, is_dataset
from ..core.numerics import log_softmax, logsumexp, safe_log
from ..core.random import make_rng
from ..params import ParameterError, check_count

SPARSE_TASKS = 32  # pieces of a sparse matrix: enough for threads, few slices


def check_class_prior(model, name, k):
    """The class prior that a parameter gives, checked; None if it gives none."""
    value = getattr(model, name)
    if value is None:
        return None
    model_name = type(model).__name__
    try:
        prior = np.asarray(arrays.to_numpy(value), dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(
            f"{name} of {model_name} must hold numbers, got {value!r}."
        ) from None
    if prior.shape != (k,):
        raise ParameterError(
            f"Number of priors must match number of classes: {name} of {model_name} "
            f"has shape {prior.shape}, y has {k} classes."
        )
    if not np.all(prior >= 0):
        raise ParameterError(
            f"Priors must be non-negative: {name} of {model_name} is not."
        )
    if not np.isclose(prior.sum(), 1.0):
        raise ParameterError(
            f"The sum of the priors should be 1: {name} of {model_name} sums to "
            f"{prior.sum():g}."
        )
    return prior


def _class_prior_of_counts(counts):
    """The maximum likelihood class prior of eq. (1): relative weights."""
    return counts / arrays.namespace(counts).sum(counts)


def _prior_where_impossible(J, log_prior):
    """log P(x, c), with the prior for rows that no class can produce."""
    xp = arrays.namespace(J)
    possible = xp.max(J, axis=1, keepdims=True) > -xp.inf
    if bool(xp.all(possible)):
        return J
    return xp.where(possible, J, log_prior + xp.zeros_like(J))


def _log_posterior(J, log_prior):
    """log P(c | x) from log P(x, c), eq. (1)."""
    return log_softmax(_prior_where_impossible(J, log_prior))


def _exact_log_posterior(J, log_prior):
    """`_log_posterior` with all digits where P(c | x) is near 1, in any precision.

    The largest term is 1 - sum of the others, whose logarithm is -log1p of their ratio.
    """
    J = _prior_where_impossible(J, log_prior)
    xp = arrays.namespace(J)
    D = J - xp.max(J, axis=1, keepdims=True)
    places = xp.arange(J.shape[1], device=arrays.device(J))
    best = places == xp.argmax(J, axis=1)[:, None]
    other_odds = xp.where(best, xp.zeros_like(D), xp.exp(D))
    return D - xp.log1p(xp.sum(other_odds, axis=1, keepdims=True))


def _classes_at(classes, best):
    """The classes at positions `best`, in the library of the classes."""
    xp = arrays.namespace(classes)
    best = arrays.to_numpy(best) if xp is not arrays.namespace(best) else best
    return xp.take(classes, xp.asarray(best, device=arrays.device(classes)), axis=0)


def row_blocks(X, *aligned, block=None):
    """X in blocks of rows; a sparse matrix in few pieces."""
    if sp.issparse(X):
        block = block or max(1024, -(-X.shape[0] // SPARSE_TASKS))
    return as_rows(X, *aligned, block=block)


def apply_to_dense_rows(score):
    """A function of dense rows that also takes sparse ones, made dense in blocks."""

    def apply(x):
        if not sp.issparse(x):
            return score(x)
        return as_rows(x).map(lambda part: score(part.toarray()))

    return apply


class AbstractBayes(Classifier, Estimator):
    """Posteriors, evidence and samples of a model with `_scorer` and `_draw`.

    `_scorer()` returns a function from a block of rows to log p(x | c); the model has
    `classes_` and log pi in `class_log_prior_`.
    """

    _holes = True  # whether NaN stands for a missing value
    _sparse: Any = "csr"
    _generative = True

    def _checks(self, X) -> dict:
        holes = self._holes and not sp.issparse(X)
        odd = isinstance(X, np.ndarray) and X.dtype in (np.float16, np.longdouble)
        return {
            "accept_sparse": self._sparse,
            "dtype": np.float64 if odd else "numeric",
            "ensure_all_finite": "allow-nan" if holes else True,
        }

    def _scorer(self) -> Any:
        raise TypeError(f"{type(self).__name__} gives no densities.")

    def _prior(self, like):
        """log pi for arrays like `like`."""
        return arrays.asarray(arrays.to_numpy(self.class_log_prior_), like=like)

    def _map_joint(self, X, finish):
        """finish(log P(x, c)) for all rows, block by block."""
        check_is_fitted(self)
        if not arrays.is_foreign(self.class_log_prior_):  # fitted to NumPy arrays
            X = host_array(self, X)
        X = self._check_new_data(X, **({} if is_dataset(X) else self._checks(X)))
        score = self._scorer()
        joint = lambda L: finish(L + self._prior(L))
        return row_blocks(X).map(lambda x: joint(score(x)))

    def predict_joint_log_proba(self, X):
        """log P(x, c) for every class: (n, k)."""
        return self._map_joint(X, lambda J: J)

    def predict_log_proba(self, X):
        """Logarithm of the posterior, eq. (1)."""
        return self._map_joint(X, lambda J: _exact_log_posterior(J, self._prior(J)))

    def predict_proba(self, X):
        """Posterior of the classes, eq. (1)."""
        exp = lambda A: arrays.namespace(A).exp(A)
        return self._map_joint(X, lambda J: exp(_log_posterior(J, self._prior(J))))

    def predict(self, X):
        """The class of the highest posterior."""

        def best(J):
            return arrays.namespace(J).argmax(
                _prior_where_impossible(J, self._prior(J)), axis=1
            )

        codes = self._map_joint(X, best)  # raises NotFittedError first
        return _classes_at(self.classes_, codes)

    @available_if(lambda self: self._generative)
    def score_samples(self, X):
        """log P(x), the evidence of eq. (1): how likely the model finds each row."""
        return self._map_joint(X, logsumexp)

    @available_if(lambda self: self._generative)
    def sample(self, n_samples=1, random_state=None):
        """Draw classes from the prior, then rows from their densities.

        Returns
        -------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        """
        check_is_fitted(self)
        n_samples = check_count("n_samples", n_samples)
        rng = make_rng(random_state)
        pi = np.exp(arrays.to_numpy(self.class_log_prior_).astype(np.float64))
        z = rng.choice(len(pi), size=n_samples, p=pi / pi.sum())
        return self._draw(z, rng), _classes_at(self.classes_, z)

    def _draw(self, z, rng):
        raise TypeError(f"{type(self).__name__} gives no samples.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._holes
        tags.input_tags.sparse = bool(self._sparse)
        return tags


def class_log_prior(prior, counts, *, fit_prior=True):
    """log pi: the given prior, the relative weights, or all equal."""
    if prior is None and not fit_prior:
        k = counts.shape[0]
        prior = np.full(k, 1 / k)
    pi = (
        _class_prior_of_counts(counts)
        if prior is None
        else arrays.asarray(prior, like=counts)
    )
    return safe_log(pi)

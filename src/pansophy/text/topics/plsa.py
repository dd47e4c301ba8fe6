"""Probabilistic latent semantic analysis: documents as mixtures of topics, by EM.

A word of document d comes from topic z with p(z | d), and is w with p(w | z):

    p(w | d) = sum_z p(w | z) p(z | d)                                            (1)
    E   q(z | d, w) = p(w | z) p(z | d) / p(w | d)
    M   p(w | z) ~ sum_d n(d, w) q(z | d, w),   p(z | d) ~ sum_w n(d, w) q        (2)

These are the multiplicative updates of non-negative matrix factorisation under the
Kullback-Leibler divergence, with rows that sum to 1. The symmetric form
p(d, w) = sum_z p(z) p(d | z) p(w | z) is the same model. For new documents p(w | z)
stays and p(z | d) is found by (2) alone.

Cost      O(K nnz) an iteration
Shapes    X (D, V) counts   p(w | z) (K, V)   p(z | d) (D, K)
Refs      [Hofmann1999]; [Gaussier2005] and factorisation
"""

from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ...base import Estimator, PrefixedOutput, Transformer
from ...core.arrays.rows import rows_in_memory
from ...core.drivers.em import em
from ...core.drivers.iterate import iterate
from ...core.random import make_rng
from ...params import Count, NonNegative, Verbosity
from ...typing import Seed
from . import _topic_models as loops


class Topics(NamedTuple):
    """p(z | d) as rows of theta, p(w | z) as columns of phi."""

    theta: np.ndarray  # (D, K)
    phi: np.ndarray  # (V, K)


def csr_arrays(X):
    """(indptr, indices, counts) of a matrix of counts."""
    X = sparse.csr_array(X)
    return (
        X.indptr.astype(np.int64),
        X.indices.astype(np.int64),
        X.data.astype(np.float64),
    )


def _normalized_rows(sums):
    """Rows that sum to 1; a row of zeros becomes uniform."""
    total = sums.sum(axis=1, keepdims=True)
    uniform = np.full_like(sums, 1.0 / sums.shape[1])
    return np.where(total > 0, sums / np.where(total > 0, total, 1.0), uniform)


def expect_topics(rows, weights, topics, *, learn_words=True):
    """Eq. (2), E: sums for both M-steps, and the log-likelihood."""
    theta_sums = np.zeros_like(topics.theta)
    phi_sums = np.zeros_like(topics.phi if learn_words else topics.phi[:0])
    value = loops.expected_topic_counts(
        rows, weights, topics.theta, topics.phi, theta_sums, phi_sums
    )
    return (theta_sums, phi_sums), value


def maximise_topics(stats) -> Topics:
    """Eq. (2), M."""
    theta_sums, phi_sums = stats
    return Topics(_normalized_rows(theta_sums), _normalized_rows(phi_sums.T).T.copy())


class FoldedIn(NamedTuple):
    """p(z | d) of new documents, and minus the log-likelihood of a word before."""

    theta: np.ndarray
    objective: float


def fold_in(rows, phi, *, alpha=0.0, max_iter=200, tol=1e-9):
    """p(z | d) of new documents by eq. (2) with p(w | z) fixed.

    `alpha` is added to the expected counts of every topic: a Dirichlet prior.
    """
    D = len(rows[0]) - 1
    weights = np.ones(D)
    n_words = float(rows[2].sum()) or 1.0

    def step(state):
        topics = Topics(state.theta, phi)
        (sums, _), value = expect_topics(rows, weights, topics, learn_words=False)
        return FoldedIn(_normalized_rows(sums + alpha), -value / n_words)

    start = FoldedIn(np.full((D, phi.shape[1]), 1.0 / phi.shape[1]), np.inf)
    return iterate(step, start, max_iter=max_iter, tol=tol).state.theta


@dataclass(eq=False, repr=False)
class PLSA(PrefixedOutput, Transformer, Estimator):
    """Topics of documents by maximum likelihood, eqs. (1) and (2).

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K.
    max_iter : int, default=200
    tol : float, default=1e-5
        Stops when the log-likelihood of a word rises by less.
    n_init : int, default=1
        Starts, of which the best is kept.
    random_state : int, Generator, RandomState or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    components_ : array of shape (K, V)
        p(w | z); rows sum to 1.
    topic_shares_ : array of shape (K,)
        p(z), the share of all words.
    log_likelihood_ : float
        Of a word.
    n_features_in_, n_iter_, history_, converged_

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.text import PLSA
    >>> X = np.array([[4, 4, 0, 0], [3, 5, 0, 0], [0, 0, 5, 2], [0, 0, 3, 3]])
    >>> topics = PLSA(2, random_state=0).fit_transform(X)
    >>> np.abs(topics[0] - topics[2]).round(3)
    array([1., 1.])
    """

    n_components: Count = 10
    _: KW_ONLY
    max_iter: Count = 200
    tol: NonNegative = 1e-5
    n_init: Count = 1
    random_state: Seed = None
    verbose: Verbosity = 0

    _tensors = False

    def fit(self, X, y=None, sample_weight=None):
        """Learn the topics of documents, given as counts of words."""
        X, w = self._check_training_data(
            X, sample_weight=sample_weight, accept_sparse="csr"
        )
        rows = check_word_counts(self, X)
        D, V = X.shape
        weights = np.ones(D) if w is None else np.asarray(w, dtype=float)
        per_row = np.bincount(
            np.repeat(np.arange(D), np.diff(rows[0])), weights=rows[2], minlength=D
        )
        n_words = float(weights @ per_row) or 1.0
        rng = make_rng(self.random_state)
        seeds = rng.integers(0, 2**63, self.n_init)

        def one_start(i, task):
            # of words, so that neither order nor repetition of rows matters
            phi = np.random.default_rng(seeds[i]).uniform(
                0.5, 1.5, (V, self.n_components)
            )
            start = Topics(
                np.full((D, self.n_components), 1.0 / self.n_components),
                _normalized_rows(phi.T).T.copy(),
            )
            return em(
                lambda topics: expect_topics(rows, weights, topics),
                maximise_topics,
                start,
                n=n_words,
                max_iter=self.max_iter,
                tol=self.tol,
                task=task,
            )

        result = self._run_driver(
            one_start, total=self.max_iter, n_init=self.n_init, X=X
        )
        topics = result.state.params
        self.components_ = np.ascontiguousarray(topics.phi.T)
        self._n_features_out = self.n_components
        shares = (weights * per_row) @ topics.theta
        self.topic_shares_ = shares / n_words if shares.any() else topics.theta.mean(0)
        self.log_likelihood_ = -float(result.state.objective)
        return self

    def fit_transform(self, X, y=None, sample_weight=None):
        """Learn the topics; p(z | d) of the documents."""
        return self.fit(X, y, sample_weight).transform(X)

    def transform(self, X):
        """p(z | d) of documents."""
        X = self._check_new_data(X, accept_sparse="csr")
        return fold_in(check_word_counts(self, X), self.components_.T.copy())

    def score(self, X, y=None) -> float:
        """Mean log-likelihood of a word of documents, with their best p(z | d)."""
        X = self._check_new_data(X, accept_sparse="csr")
        rows = check_word_counts(self, X)
        phi = self.components_.T.copy()
        topics = Topics(fold_in(rows, phi), phi)
        _, value = expect_topics(rows, np.ones(X.shape[0]), topics, learn_words=False)
        return value / (float(rows[2].sum()) or 1.0)

    def perplexity(self, X) -> float:
        """exp of minus `score`."""
        return float(np.exp(-self.score(X)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


def check_word_counts(model, X):
    """CSR arrays of X, which must hold no negative number."""
    rows = csr_arrays(rows_in_memory(X))
    if len(rows[2]) and rows[2].min() < 0:
        raise ValueError(
            f"Negative values in data passed to {type(model).__name__}: counts of "
            "words must be at least 0."
        )
    return rows

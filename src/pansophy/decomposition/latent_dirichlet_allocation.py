"""Latent Dirichlet allocation by variational Bayes, for all documents or in batches.

The model is that of `text/topics/gibbs_lda.py`, which samples it: documents
mix topics, theta_d ~ Dirichlet(alpha), topics draw words, beta_k ~ Dirichlet(eta). Here
the posterior is approximated by independent distributions, theta_d ~ Dirichlet(gamma_d)
and beta_k ~ Dirichlet(lambda_k), that raise a lower bound of log p(words):

    E   gamma_dk = alpha + sum_w n_dw t_dk B_kw / sum_l t_dl B_lw                  (1)
        t_d = exp E[log theta_d],   B = exp E[log beta],   E[log p_k] = psi(a_k) -
        psi(sum a) for p ~ Dirichlet(a)
    M   lambda_kw = eta + sum_d n_dw t_dk B_kw / sum_l t_dl B_lw                   (2)

with (1) repeated for each document until gamma hardly changes. Online learning does (1)
for a batch of documents and moves lambda towards (2) as if all documents were like it:

    lambda = (1 - rho) lambda + rho lambda_batch,   rho = (tau + step)^-kappa      (3)

The bound, which `score` gives, is E[log p(words, theta, beta)] - E[log q(theta, beta)].

Names, defaults, initial values and so the results are those of scikit-learn's class.
Text of any size can be learned by `partial_fit`.

Cost      O(K nnz) an iteration of (1)
Shapes    X (D, V) counts   components_ (K, V) is lambda
Refs      [Blei2003] (1), (2); [Hoffman2010] (3)
"""

import weakref
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import gammaln
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted, check_non_negative

from ..base import Estimator, PrefixedOutput, Transformer
from ..core.drivers.iterate import iterate
from ..core.loops.threads import limit_threads, run_tasks
from ..core.random import draw_seed, make_rng
from ..params import (
    AtLeastOne,
    Count,
    Fraction,
    Jobs,
    Natural,
    NonNegative,
    Positive,
    Verbosity,
    Whole,
    check_params,
)
from ..persist.saved_state import FloatArray, NumberArray, saved_state
from ..persist.saved_state import Whole as WholeState
from ..typing import Seed
from . import _latent_dirichlet_allocation as loops
from .moments import refuse_table

DOCUMENTS = 256  # that a thread takes at a time
INITIAL_SHAPE = 100.0  # of the gamma distribution that lambda and gamma begin with


def legacy_stream(seed) -> np.random.RandomState:
    """A RandomState, whose numbers are those of scikit-learn for the same seed."""
    if isinstance(seed, np.random.RandomState):
        return seed
    if seed is None or isinstance(seed, np.random.Generator):
        return np.random.RandomState(draw_seed(make_rng(seed)))
    return np.random.RandomState(seed)


# streams of fits, for `partial_fit`: not part of a model
STREAMS: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


class DocumentTopics(NamedTuple):
    """gamma of documents and exp E[log theta], eq. (1)."""

    gamma: np.ndarray  # (D, K)
    theta: np.ndarray  # (D, K)


class VariationalState(NamedTuple):
    """lambda, and minus the mean log-probability of a word in the E-step before."""

    components: np.ndarray  # (K, V)
    objective: float
    perplexity: float = np.inf


def exp_dirichlet(A):
    """exp E[log p] of rows p ~ Dirichlet(A)."""
    A = np.ascontiguousarray(A, dtype=float)
    out = np.empty_like(A)
    loops.exp_dirichlet_rows(A, out)
    return out


def csr_rows(X):
    """(indptr, indices, counts) of counts of words, without zeros."""
    X = sparse.csr_array(X)
    if X.has_canonical_format is False:
        X = X.copy()
        X.sum_duplicates()
    return (
        X.indptr.astype(np.int64),
        X.indices.astype(np.int64),
        X.data.astype(np.float64),
    )


def dirichlet_bound(prior, A, log_p):
    """E[log p(x)] - E[log q(x)] of rows x with a Dirichlet prior and posterior A."""
    value = np.sum((prior - A) * log_p)
    value += np.sum(gammaln(A) - gammaln(prior))
    value += np.sum(gammaln(prior * A.shape[1]) - gammaln(A.sum(axis=1)))
    return float(value)


def number_of_words(X):
    """The sum of all counts."""
    return float(X.sum())


@saved_state(
    components_=NumberArray("topics", "n_features_in_"),
    exp_dirichlet_component_=FloatArray("topics", "n_features_in_"),
    n_batch_iter_=WholeState(low=1),
)
@dataclass(eq=False, repr=False)
class LatentDirichletAllocation(PrefixedOutput, Transformer, Estimator):
    """Topics of documents by variational Bayes, eqs. (1) to (3).

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K.
    doc_topic_prior : float or None, default=None
        alpha; None: 1 / K.
    topic_word_prior : float or None, default=None
        eta; None: 1 / K.
    learning_method : {"batch", "online"}, default="batch"
        Whether an iteration uses all documents, eq. (2), or batches, eq. (3).
    learning_decay : float, default=0.7
        kappa of eq. (3).
    learning_offset : float, default=10.0
        tau of eq. (3).
    max_iter : int, default=10
        Passes over the documents.
    batch_size : int, default=128
        Documents of a batch.
    evaluate_every : int, default=-1
        Compute the perplexity after so many passes; 0 or less: never.
    total_samples : float, default=1e6
        Documents in all, for `partial_fit`.
    perp_tol : float, default=0.1
        Stop when the perplexity changes by less, if it is computed.
    mean_change_tol : float, default=1e-3
        Mean change of gamma at which eq. (1) is no longer repeated.
    max_doc_update_iter : int, default=100
        Most repetitions of eq. (1).
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    verbose : int, default=0
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    components_ : array of shape (K, V)
        lambda; rows over their sums are the expected topics.
    exp_dirichlet_component_ : array of shape (K, V)
        exp E[log beta].
    bound_ : float
        Perplexity of the training documents.
    n_batch_iter_ : int
        Steps of eq. (3), plus 1.
    doc_topic_prior_, topic_word_prior_ : float
    n_iter_, history_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.decomposition import LatentDirichletAllocation
    >>> X = np.array([[8, 8, 0, 0], [6, 9, 0, 0], [0, 0, 9, 4], [0, 0, 6, 7]])
    >>> model = LatentDirichletAllocation(2, random_state=0).fit(X)
    >>> topics = model.transform(X)
    >>> bool((topics.argmax(1)[:2] != topics.argmax(1)[2:]).all())
    True
    """

    n_components: Count = 10
    _: KW_ONLY
    doc_topic_prior: Fraction | None = None
    topic_word_prior: Fraction | None = None
    learning_method: Literal["batch", "online"] = "batch"
    learning_decay: Fraction = 0.7
    learning_offset: AtLeastOne = 10.0
    max_iter: Natural = 10
    batch_size: Count = 128
    evaluate_every: Whole = -1
    total_samples: Positive = 1e6
    perp_tol: NonNegative = 1e-1
    mean_change_tol: NonNegative = 1e-3
    max_doc_update_iter: Natural = 100
    n_jobs: Jobs = None
    verbose: Verbosity = 0
    random_state: Seed = None

    _tensors = False

    def fit(self, X, y=None):
        """Learn the topics of documents, given as counts of words."""
        X, _ = self._check_training_data(X, accept_sparse="csr")
        refuse_table(X, "LatentDirichletAllocation")
        check_non_negative(X, "LatentDirichletAllocation.fit")
        X = sparse.csr_array(X)
        self._start(X)
        n_words = number_of_words(X) or 1.0
        passes = 0

        def one_pass(state):
            nonlocal passes
            passes += 1
            value = self._learn_pass(X)
            perplexity = state.perplexity
            if self.evaluate_every > 0 and passes % self.evaluate_every == 0:
                perplexity = self._perplexity(X)
            return VariationalState(self.components_, -value / n_words, perplexity)

        def change(old, new):
            if new.perplexity == old.perplexity or not np.isfinite(old.perplexity):
                return np.inf
            return abs(old.perplexity - new.perplexity)

        def run(task):
            result = iterate(
                one_pass, VariationalState(self.components_, np.inf),
                max_iter=self.max_iter, tol=self.perp_tol, change=change, task=task,
            )  # fmt: skip
            done = result.reason == "max_iter"  # a number of passes is asked for
            return result._replace(reason="finished") if done else result

        with limit_threads(self.n_jobs):
            self._run_driver(run, total=self.max_iter, X=X)
            self.bound_ = self._perplexity(X)
        return self

    def _start(self, X):
        """Set priors and draw the initial lambda."""
        K = self.n_components
        alpha = self.doc_topic_prior
        eta = self.topic_word_prior
        self.doc_topic_prior_ = 1.0 / K if alpha is None else alpha
        self.topic_word_prior_ = 1.0 / K if eta is None else eta
        stream = STREAMS[self] = legacy_stream(self.random_state)
        self.n_batch_iter_ = 1
        drawn = stream.gamma(INITIAL_SHAPE, 1 / INITIAL_SHAPE, (K, X.shape[1]))
        self._set_components(drawn.astype(X.dtype))
        self._n_features_out = K

    def _set_components(self, components):
        self.components_ = components
        self.exp_dirichlet_component_ = exp_dirichlet(components).astype(
            components.dtype
        )

    def _learn_pass(self, X) -> float:
        """One pass over the documents; the sum of n log p of its E-steps."""
        if self.learning_method == "batch":
            value, sums = self._expect_words(X)
            self._set_components((self.topic_word_prior_ + sums).astype(X.dtype))
            self.n_batch_iter_ += 1
            return value
        batches = gen_batches(X.shape[0], self.batch_size)
        return sum(self._learn_batch(X[b], X.shape[0]) for b in batches)

    def _learn_batch(self, X, total) -> float:
        """Eq. (3) for one batch."""
        value, sums = self._expect_words(X)
        rho = (self.learning_offset + self.n_batch_iter_) ** -self.learning_decay
        target = self.topic_word_prior_ + total / X.shape[0] * sums
        mixed = (1 - rho) * self.components_ + rho * target
        self._set_components(mixed.astype(self.components_.dtype))
        self.n_batch_iter_ += 1
        return value

    def _expect_words(self, X):
        """The sum of n log p, and the sums of eq. (2)."""
        rows = csr_rows(X)
        B = self._word_rows()
        result = self._expect_documents(rows, B, STREAMS.get(self), X.dtype)
        sums = np.zeros_like(B)
        eps = np.finfo(X.dtype).eps
        value = loops.word_topic_sums(rows, result.theta, B, eps, sums)
        return value, (sums * B).T

    def _word_rows(self):
        """B of eq. (1), a row for each word."""
        return np.ascontiguousarray(self.exp_dirichlet_component_.T, dtype=float)

    def _expect_documents(self, rows, B, stream, dtype) -> DocumentTopics:
        """Eq. (1), from gamma drawn, or from ones without a stream."""
        shape = (len(rows[0]) - 1, B.shape[1])
        if stream is None:
            gamma = np.ones(shape)
        else:
            gamma = stream.gamma(INITIAL_SHAPE, 1 / INITIAL_SHAPE, shape)
            gamma = gamma.astype(dtype).astype(float)
        theta = exp_dirichlet(gamma)
        alpha = float(self.doc_topic_prior_)
        eps = float(np.finfo(dtype).eps)
        tasks = [
            partial(
                loops.update_documents, rows, at, min(at + DOCUMENTS, shape[0]), B,
                alpha, self.max_doc_update_iter, float(self.mean_change_tol), eps,
                gamma, theta,
            )
            for at in range(0, shape[0], DOCUMENTS)
        ]  # fmt: skip
        for _ in run_tasks(tasks):
            pass
        return DocumentTopics(gamma, theta)

    def partial_fit(self, X, y=None):
        """Learn from some of the documents, in batches, eq. (3)."""
        is_first = not hasattr(self, "components_")
        if is_first:
            X, _ = self._check_training_data(X, accept_sparse="csr")
        else:
            check_params(self)
            X = self._check_new_data(X, accept_sparse="csr")
        refuse_table(X, "LatentDirichletAllocation")
        check_non_negative(X, "LatentDirichletAllocation.partial_fit")
        X = sparse.csr_array(X)
        if is_first:
            self._start(X)
        elif self not in STREAMS:  # a model that was loaded
            STREAMS[self] = legacy_stream(self.random_state)
        with limit_threads(self.n_jobs):
            for batch in gen_batches(X.shape[0], self.batch_size):
                self._learn_batch(X[batch], self.total_samples)
        return self

    def _gamma(self, X) -> DocumentTopics:
        """Eq. (1) for documents, from the same initial values for all."""
        return self._expect_documents(csr_rows(X), self._word_rows(), None, X.dtype)

    def _checked_counts(self, X, whom):
        check_is_fitted(self, "components_")
        X = self._check_new_data(X, accept_sparse="csr")
        check_non_negative(X, f"LatentDirichletAllocation.{whom}")
        return sparse.csr_array(X)

    def transform(self, X, *, normalize=True):
        """Expected shares of topics in documents.

        Parameters
        ----------
        X : array or sparse matrix of shape (D, V)
        normalize : bool, default=True
            Whether rows sum to 1; False: gamma.
        """
        X = self._checked_counts(X, "transform")
        with limit_threads(self.n_jobs):
            gamma = self._gamma(X).gamma
        if normalize:
            gamma = gamma / gamma.sum(axis=1, keepdims=True)
        return gamma.astype(X.dtype)

    def fit_transform(self, X, y=None, *, normalize=True):
        """Learn the topics; the shares of topics in the documents."""
        return self.fit(X, y).transform(X, normalize=normalize)

    def _bound(self, X, topics, sub_sampling=False) -> float:
        """The variational bound of log p(words)."""
        rows = csr_rows(X)
        value = loops.log_likelihood_of_words(rows, topics.theta, self._word_rows())
        with np.errstate(divide="ignore"):
            log_theta = np.log(topics.theta)
            log_beta = np.log(np.asarray(self.exp_dirichlet_component_, dtype=float))
        value += dirichlet_bound(self.doc_topic_prior_, topics.gamma, log_theta)
        if sub_sampling:
            value *= self.total_samples / X.shape[0]
        components = np.asarray(self.components_, dtype=float)
        return value + dirichlet_bound(self.topic_word_prior_, components, log_beta)

    def _perplexity(self, X, sub_sampling=False) -> float:
        bound = self._bound(X, self._gamma(X), sub_sampling)
        words = number_of_words(X)
        if sub_sampling:
            words *= self.total_samples / X.shape[0]
        return float(np.exp(-bound / words)) if words else np.nan

    def score(self, X, y=None) -> float:
        """The bound of the log-probability of documents."""
        X = self._checked_counts(X, "score")
        with limit_threads(self.n_jobs):
            return self._bound(X, self._gamma(X))

    def perplexity(self, X, sub_sampling=False) -> float:
        """exp of minus the bound for each word.

        Parameters
        ----------
        X : array or sparse matrix of shape (D, V)
        sub_sampling : bool, default=False
            Whether X is a sample of `total_samples` documents.
        """
        X = self._checked_counts(X, "perplexity")
        with limit_threads(self.n_jobs):
            return self._perplexity(X, sub_sampling)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

"""Latent Dirichlet allocation: topics with priors, by collapsed Gibbs sampling.

    theta_d ~ Dirichlet(alpha),   phi_k ~ Dirichlet(beta)
    z_i ~ theta_d,   w_i ~ phi_{z_i}   for every word i of document d             (1)

With theta and phi integrated out the topics z have the joint probability

    log p(w, z) = sum_d log B(n_d + alpha) / B(alpha)
                  + sum_k log B(n_k + beta) / B(beta)                             (2)

with n_dk words of document d and n_kw words w in topic k, and B the multivariate beta
function. A sweep draws every z_i given the others,

    p(z_i = k) ~ (n_dk + alpha)(n_kw + beta) / (n_k + V beta)                     (3)

where counts leave out word i. A fractional count is words of less weight. phi and theta
are read off the counts, averaged over the last `n_samples` sweeps. New documents are
folded in with phi fixed.

Cost      O(K) a word and sweep, in vectors of topics
Shapes    X (D, V) counts   components_ (K, V)
Refs      [Blei2003]; [Griffiths2004] (2), (3); [Mimno2011], [Bouma2009] coherence
"""

from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from ...base import Estimator, PrefixedOutput, Transformer
from ...core.arrays.unreadable import array_of_numbers
from ...core.drivers.iterate import repeat
from ...core.random import make_rng
from ...params import (
    Count,
    ParameterError,
    Positive,
    Verbosity,
    check_argument,
    check_count,
    check_list,
)
from ...typing import Seed
from . import _topic_models as loops
from ._topic_models import BLOCK, TopicCounts
from .plsa import Topics as TopicShares
from .plsa import check_word_counts, expect_topics, fold_in


class TopicState(NamedTuple):
    """Topics of all words after a sweep, and minus eq. (2) for each word."""

    z: np.ndarray
    counts: TopicCounts
    sums: tuple[np.ndarray, int]  # word counts of the sweeps that are averaged
    objective: float


TABLE = 256  # counts whose log Gamma is worked out once


def _log_gamma_table(prior):
    """log Gamma(n + prior) - log Gamma(prior) of n = 1, 2, ...; the prior at 0."""
    table = gammaln(np.arange(TABLE) + prior) - gammaln(prior)
    table[0] = prior
    return table


def topic_log_joint(counts, alpha, beta, K=None) -> float:
    """log p(w, z), eq. (2); rows of counts may be padded beyond K topics."""
    K = counts.documents.shape[1] if K is None else K
    V = len(counts.words)
    of_documents = counts.documents.sum(axis=1, dtype=float)
    of_topics = counts.topics[:K].astype(float)
    inside = loops.log_gamma_sum(counts.documents, K, _log_gamma_table(alpha))
    inside += loops.log_gamma_sum(counts.words, K, _log_gamma_table(beta))
    outside = (gammaln(of_documents + K * alpha) - gammaln(K * alpha)).sum()
    outside += (gammaln(of_topics + V * beta) - gammaln(V * beta)).sum()
    return float(inside - outside)


@dataclass(eq=False, repr=False)
class GibbsLDA(PrefixedOutput, Transformer, Estimator):
    """Topics of documents by collapsed Gibbs sampling, eqs. (1) to (3).

    Parameters
    ----------
    n_components : int, default=10
        Number of topics, K.
    doc_topic_prior : float or None, default=None
        alpha; None: 1 / K.
    topic_word_prior : float or None, default=None
        beta; None: 1 / K.
    max_iter : int, default=200
        Sweeps.
    n_samples : int, default=20
        The last sweeps, over which counts are averaged.
    random_state : int, Generator, RandomState or None, default=None
    verbose : int, default=0

    Attributes
    ----------
    components_ : array of shape (K, V)
        Mean counts of words in topics, with beta added: rows over their sums are phi.
    doc_topic_prior_, topic_word_prior_ : float
    n_features_in_, n_iter_
    history_ : dict
        `objective`: minus log p(w, z) of a word, after each sweep.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.text import GibbsLDA
    >>> X = np.array([[8, 8, 0, 0], [6, 9, 0, 0], [0, 0, 9, 4], [0, 0, 6, 7]])
    >>> model = GibbsLDA(2, max_iter=50, random_state=0)
    >>> topics = model.fit_transform(X)
    >>> bool((topics.argmax(1)[:2] != topics.argmax(1)[2:]).all())
    True
    """

    n_components: Count = 10
    _: KW_ONLY
    doc_topic_prior: Positive | None = None
    topic_word_prior: Positive | None = None
    max_iter: Count = 200
    n_samples: Count = 20
    random_state: Seed = None
    verbose: Verbosity = 0

    _tensors = False

    def fit(self, X, y=None):
        """Draw topics for the words of documents, given as counts of words."""
        X, _ = self._check_training_data(X, accept_sparse="csr")
        indptr, indices, values = check_word_counts(self, X)
        repeats = np.ceil(values).astype(np.int64)
        K = self.n_components
        alpha = self.doc_topic_prior_ = float(self.doc_topic_prior or 1 / K)
        beta = self.topic_word_prior_ = float(self.topic_word_prior or 1 / K)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(indptr))
        documents = np.repeat(rows, repeats).astype(np.int32)
        words = np.repeat(indices, repeats).astype(np.int32)
        filled = repeats > 0  # a count of 2.5 is three words of weight 5/6
        weight = np.repeat(values[filled] / repeats[filled], repeats[filled])
        weight = weight.astype(np.float32)
        rng = make_rng(self.random_state)
        start = initial_topics(documents, words, weight, X.shape, K, rng)
        stream = rng.integers(0, 2**63, 1).astype(np.uint64)
        first_kept = self.max_iter - min(self.n_samples, self.max_iter)
        inverse = (1 / (start.counts.topics + X.shape[1] * beta)).astype(np.float32)
        inverse[K:] = 0.0
        running = np.empty(len(inverse), np.float32)
        sweeps = 0

        def sweep(state):
            nonlocal sweeps
            loops.gibbs_sweep(
                documents, words, weight, state.z, state.counts, np.float32(alpha),
                np.float32(beta), stream, inverse, running,
            )  # fmt: skip
            sweeps += 1
            sums, n = state.sums
            if sweeps > first_kept:
                sums, n = sums + state.counts.words, n + 1
            value = -topic_log_joint(state.counts, alpha, beta, K) / max(1, len(words))
            return state._replace(sums=(sums, n), objective=value)

        def run(task):
            return repeat(sweep, start, self.max_iter, task=task)

        state = self._run_driver(run, total=self.max_iter, X=X).state
        sums, n = state.sums
        counts = (sums / n if n else state.counts.words)[:, :K]
        self.components_ = np.ascontiguousarray(counts.T.astype(float)) + beta
        self._n_features_out = K
        return self

    def _phi(self):
        """p(w | k) as columns."""
        shares = self.components_ / self.components_.sum(axis=1, keepdims=True)
        return shares.T.copy()

    def transform(self, X):
        """Shares of the topics in documents."""
        X = self._check_new_data(X, accept_sparse="csr")
        rows = check_word_counts(self, X)
        return fold_in(rows, self._phi(), alpha=self.doc_topic_prior_)

    def score(self, X, y=None) -> float:
        """Mean log-likelihood of a word of documents, with their shares of topics."""
        X = self._check_new_data(X, accept_sparse="csr")
        rows = check_word_counts(self, X)
        phi = self._phi()
        theta = fold_in(rows, phi, alpha=self.doc_topic_prior_)
        shares = TopicShares(theta, phi)
        _, value = expect_topics(rows, np.ones(X.shape[0]), shares, learn_words=False)
        return value / (float(rows[2].sum()) or 1.0)

    def perplexity(self, X) -> float:
        """exp of minus `score`."""
        return float(np.exp(-self.score(X)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


def initial_topics(documents, words, weights, shape, K, rng) -> TopicState:
    """Topics drawn evenly."""
    z = rng.integers(0, K, len(words)).astype(np.int32)
    size = -(-K // BLOCK) * BLOCK
    counts = TopicCounts(
        np.zeros((shape[0], size), np.float32),
        np.zeros((shape[1], size), np.float32),
        np.zeros(size, np.float32),
    )
    loops.add_assignments(documents, words, weights, z, counts)
    return TopicState(z, counts, (np.zeros((shape[1], size)), 0), np.inf)


def sample_topic_corpus(phi, lengths, *, alpha=0.5, random_state=None):
    """Documents drawn from the generative process (1), as counts of words.

    Parameters
    ----------
    phi : array of shape (K, V)
        p(w | k).
    lengths : array of int
        Words of each document.
    alpha : float
    random_state : int, Generator or None

    Returns
    -------
    X : array of shape (D, V)
    theta : array of shape (D, K)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.text import sample_topic_corpus
    >>> X, theta = sample_topic_corpus(np.eye(2), [5, 7], random_state=0)
    >>> X.sum(axis=1).tolist()
    [5, 7]
    """
    rng = make_rng(random_state)
    phi = _topic_weights(phi, "phi")
    check_argument("alpha", alpha, Positive)
    lengths = [
        check_count("a length", n, 0)
        for n in check_list("lengths", lengths, "a list of whole numbers")
    ]
    if not lengths:
        raise ParameterError("lengths must hold at least one number.")
    theta = rng.dirichlet(np.full(len(phi), alpha), size=len(lengths))
    mixed = theta @ phi
    mixed /= mixed.sum(axis=1, keepdims=True)
    X = np.stack([rng.multinomial(n, p) for n, p in zip(lengths, mixed)])
    return X, theta


def _topic_weights(components, name) -> np.ndarray:
    """Weights of words in topics as a matrix (K, V)."""
    weights = array_of_numbers(components, name)
    if weights.ndim != 2:
        raise ParameterError(
            f"{name} must have the shape (topics, words), got {weights.shape}."
        )
    return weights


def top_words(components, terms, n=10) -> list[list[str]]:
    """The n words with the largest weight in each topic.

    Parameters
    ----------
    components : array of shape (K, V)
    terms : sequence of str
    n : int

    Examples
    --------
    >>> from pansophy.text import top_words
    >>> top_words([[0.1, 0.6, 0.3]], ["a", "b", "c"], 2)
    [['b', 'c']]
    """
    weights = _topic_weights(components, "components")
    terms = check_list("terms", terms, "a list of texts")
    if len(terms) != weights.shape[1]:
        raise ParameterError(
            f"components has {weights.shape[1]} columns, but there are {len(terms)} "
            "terms."
        )
    order = np.argsort(-weights, axis=1, kind="stable")[:, :n]
    return [[str(terms[j]) for j in row] for row in order]


def topic_coherence(components, X, n=10, *, measure="u_mass"):
    """Coherence of topics: how often their top words share documents; higher is better.

    The mean over pairs of top words, with D(w) the number of documents that hold w,
    D(w, v) those that hold both, N all documents, p = D / N:

        u_mass   log((D(w, v) + 1) / D(w)), w the word with more weight
        npmi     log(p(w, v) / (p(w) p(v))) / -log p(w, v), from -1 (never together)
                 to 1 (always together)

    Parameters
    ----------
    components : array of shape (K, V)
    X : matrix of counts of shape (D, V)
    n : int
        Top words.
    measure : {"u_mass", "npmi"}, default="u_mass"

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.text import topic_coherence
    >>> X = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    >>> topic_coherence([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]], X, n=2).round(3)
    array([ 0.405, -0.693])
    >>> topic_coherence([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]], X, 2, measure="npmi")
    array([ 1., -1.])
    """
    if measure not in COHERENCE:
        raise ParameterError(
            f"measure must be one of {sorted(COHERENCE)}, got {measure!r}."
        )
    weights = _topic_weights(components, "components")
    counts = X if sparse.issparse(X) else _topic_weights(X, "X")
    if counts.shape[1] != weights.shape[1]:
        raise ParameterError(
            f"components has {weights.shape[1]} columns, but X has {counts.shape[1]}."
        )
    inside = sparse.csr_array(sparse.csr_array(counts) > 0, dtype=float)
    coherences = []
    for row in np.argsort(-weights, axis=1, kind="stable")[:, :n]:
        B = inside[:, row]
        n_shared = np.asarray((B.T @ B).todense())
        i, j = np.triu_indices(len(row), 1)
        n_documents = np.diag(n_shared)
        values = COHERENCE[measure](
            n_shared[i, j], n_documents[i], n_documents[j], inside.shape[0]
        )
        coherences.append(np.mean(values) if len(values) else np.nan)
    return np.array(coherences)


def _u_mass_coherence(both, first, second, N):
    """u_mass of pairs of words, the first of which weighs more in the topic."""
    return np.log((both + 1) / np.maximum(first, 1))


def _npmi_coherence(both, first, second, N):
    """Normalised pointwise mutual information of pairs of words."""
    out = np.full(len(both), -1.0)
    seen = both > 0
    p = both[seen] / N
    pmi = np.log(p * N * N / (first[seen] * second[seen]))
    is_everywhere = p >= 1  # both words are in every document
    out[seen] = np.where(
        is_everywhere, 1.0, pmi / np.where(is_everywhere, 1.0, -np.log(p))
    )
    return out


COHERENCE = {"u_mass": _u_mass_coherence, "npmi": _npmi_coherence}

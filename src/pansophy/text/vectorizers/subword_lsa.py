"""Latent semantic analysis over parts of words: a vector for every text and any word.

The terms are runs g of n letters of a word between blanks ("cat" has " cat" and "cat "
for n = 4), so that forms of a word and its compounds share most of their terms, and a
word that training has not seen still has a vector. A text with counts c_w of its words
has the weights

    t_g = idf_g sum over words w of (1 + log c_w) idf_w n_g(w)                     (1)

with n_g(w) how often g is in w and, of N documents of which N_w hold w and N_g hold g,
idf_w = log(1 + (N - N_w + 1/2) / (N_w + 1/2)) and idf_g = 1 + log((1 + N) / (1 + N_g)).
Weights of documents, scaled to length 1, are the rows of a matrix whose leading right
singular vectors V are the directions of meaning, as in `text/vectorizers/lsa.py`, and

    z = sum over words of (1 + log c_w) idf_w u_w,   u_w = sum over g in w of idf_g V_g
                                                                                   (2)

scaled to length 1 is the vector of a text. It is linear in the words, so that u_w is
made once for each distinct word.

Cost      O(distinct words of a block * letters * k + words * k); the SVD of `fit`
Refs      [Deerwester1990]; [Bojanowski2017] parts of words
"""

from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator, Transformer
from ...params import Count, TwoOrMore, check_params
from ...persist.saved_state import AnyArray, FloatArray, saved_state
from ...typing import Seed
from ..search.search_analysis import SearchAnalysis
from ..search.vector_index import unit_vectors
from .abstract_vectorizer import TextInput, check_documents
from .count_vectorizer import CountVectorizer, document_matrix
from .lsa import leading_directions
from .tfidf import document_frequency
from .token_table import IdCounter, enlarged

SMALL_CORPUS = 200  # documents up to which all words are kept, beyond it those of two
MOST_WORDS = 150_000  # whose vectors are kept in memory
POWER_ITERATIONS = 3  # of the randomised SVD


class SubwordTable(NamedTuple):
    """Words and parts of words, sorted, with their weights: the table of eq. (2)."""

    words: np.ndarray  # (W,) str
    word_idf: np.ndarray  # (W,)
    unknown_idf: float
    grams: np.ndarray  # (G,) str
    projection: np.ndarray  # (G, k) idf_g V_g
    ngram_size: int


class WordCounts(NamedTuple):
    """1 + log c of the words of documents, and the words, sorted."""

    words: np.ndarray
    X: sparse.csr_array


def _log_word_counts(texts) -> WordCounts | None:
    """Counts of words in texts; None if there are no words."""
    analysis = SearchAnalysis()
    counter = IdCounter()
    counter.add(analysis.known_or_new(texts), max(1, analysis.size))
    if not analysis.size:
        return None
    words = np.array(analysis.terms(), dtype=str)
    order = np.argsort(words)
    X = document_matrix(counter.result(), len(words), np.float32)[:, order]
    X = sparse.csr_array(X)
    X.sort_indices()
    X.data = 1 + np.log(X.data)
    return WordCounts(words[order], X)


def _gram_counts(words, ngram_size, grams=None):
    """n_g(w) of words as rows, and the parts g."""
    vectorizer = CountVectorizer(
        analyzer="char_wb",
        ngram_range=(ngram_size, ngram_size),
        vocabulary=grams,
        dtype=np.float32,
    )
    if grams is None:
        return vectorizer.fit_transform(words), vectorizer.get_feature_names_out()
    return vectorizer.transform(words), grams


def _word_weights(n_documents, holders):
    """idf_w of words that so many documents hold."""
    return np.log(1 + (n_documents - holders + 0.5) / (holders + 0.5))


class SubwordEncoder:
    """Vectors of texts by eq. (2), for many blocks of texts.

    Vectors of words are made when they are met first, and forgotten when there are
    very many.

    Parameters
    ----------
    table : SubwordTable
    """

    def __init__(self, table: SubwordTable):
        self.table = table
        self.idf = dict(zip(table.words.tolist(), table.word_idf.tolist()))
        self._forget_words()

    def _forget_words(self):
        self.analysis = SearchAnalysis()
        self.n_words = 0
        self.vectors = np.empty((0, self.table.projection.shape[1]), np.float32)
        self.weights = np.empty(0, np.float32)

    def transform(self, texts) -> np.ndarray:
        """z of texts, rows of length 1; a text without words is 0."""
        if self.n_words > MOST_WORDS:
            self._forget_words()
        counter = IdCounter()
        counter.add(self.analysis.known_or_new(texts), max(1, self.analysis.size))
        self._learn_words(self.analysis.terms()[self.n_words :])
        X = document_matrix(counter.result(), self.n_words, np.float32)
        X.data = 1 + np.log(X.data)
        Z = np.asarray(X @ self.vectors[: self.n_words], dtype=np.float32)
        return unit_vectors(Z, X @ self.weights[: self.n_words])

    def _learn_words(self, words):
        """idf_w and idf_w u_w of words that were not met before."""
        if not len(words):
            return
        table = self.table
        first = self.n_words
        last = first + len(words)
        if last > len(self.weights):
            size = max(last, 2 * len(self.weights))
            self.weights = enlarged(self.weights, size)
            new_vectors = np.empty((size, self.vectors.shape[1]), np.float32)
            new_vectors[:first] = self.vectors[:first]
            self.vectors = new_vectors
        N, _ = _gram_counts(words, table.ngram_size, table.grams)
        idf = [self.idf.get(word, table.unknown_idf) for word in words]
        self.weights[first:last] = idf
        self.vectors[first:last] = N @ table.projection
        self.vectors[first:last] *= self.weights[first:last, None]
        self.n_words = last


def _fit_subword_table(
    texts, n_components, ngram_size, max_features, random_state
) -> SubwordTable:
    """The table of eq. (2), learned from documents."""
    result = _log_word_counts(texts)
    if result is None:
        raise ValueError("empty vocabulary; no document holds a word of two letters.")
    n = result.X.shape[0]
    holders = document_frequency(result.X)
    word_idf = _word_weights(n, holders)
    N, grams = _gram_counts(result.words, ngram_size)
    weighted = result.X.copy()
    weighted.data *= word_idf.astype(np.float32)[weighted.indices]
    T = sparse.csr_array(weighted @ N)
    held = document_frequency(T)
    min_texts = 1 if n <= SMALL_CORPUS else 2
    kept = np.flatnonzero(held >= min_texts)
    if not len(kept):  # all documents differ in every letter
        kept = np.arange(len(held))
    if len(kept) > max_features:
        most_frequent = np.argsort(-held[kept], kind="stable")[:max_features]
        kept = np.sort(kept[most_frequent])
    gram_idf = 1 + np.log((1 + n) / (1 + held[kept]))
    if len(kept) < T.shape[1]:
        T = T[:, kept]
    T.data *= gram_idf.astype(np.float32)[T.indices]
    _scale_rows(T)
    k = min(n_components, *T.shape)
    V, _ = leading_directions(T, k, random_state, n_iter=POWER_ITERATIONS)
    frequent = holders >= min_texts
    return SubwordTable(
        result.words[frequent],
        word_idf[frequent],
        float(_word_weights(n, 1)),
        np.asarray(grams[kept], dtype=str),
        (V.T * gram_idf[:, None]).astype(np.float32),
        ngram_size,
    )


def _scale_rows(T) -> None:
    """Divide the rows of a sparse matrix by their lengths, in place."""
    rows = np.repeat(np.arange(T.shape[0]), np.diff(T.indptr))
    length = np.sqrt(np.bincount(rows, T.data.astype(float) ** 2, minlength=T.shape[0]))
    T.data /= np.where(length > 0, length, 1).astype(T.dtype)[rows]


@saved_state(
    words_=AnyArray("words"),
    word_idf_=FloatArray("words"),
    grams_=AnyArray("grams"),
    projection_=FloatArray("grams", "directions"),
)
@dataclass(eq=False, repr=False)
class SubwordLSA(TextInput, Transformer, Estimator, auto_wrap_output_keys=None):
    """Vectors of texts by parts of words and a truncated SVD, eqs. (1) and (2).

    Parameters
    ----------
    n_components : int, default=128
        k; no more than there are documents or parts of words.
    ngram_size : int, default=4
        Letters of a part, with the blanks around a word.
    max_features : int, default=30000
        Most parts, those that most documents hold.
    random_state : int, Generator, RandomState or None, default=None

    Attributes
    ----------
    words_, word_idf_ : arrays of shape (words,)
        Words and their idf; those of one document only if there are few documents.
    unknown_idf_ : float
        idf of all other words.
    grams_ : array of shape (grams,)
        Parts of words.
    projection_ : array of shape (grams, k)
        idf_g V_g.

    Examples
    --------
    >>> from pansophy.text import SubwordLSA
    >>> texts = ["painting walls", "a painter paints", "baking bread", "a baker bakes"]
    >>> model = SubwordLSA(2, random_state=0).fit(texts)
    >>> Z = model.transform(["repainting", "painted", "bakery"])
    >>> bool(Z[0] @ Z[1] > 0.9), bool(abs(Z[0] @ Z[2]) < 0.1)
    (True, True)
    """

    n_components: Count = 128
    _: KW_ONLY
    ngram_size: TwoOrMore = 4
    max_features: Count = 30_000
    random_state: Seed = None

    def fit(self, raw_documents, y=None):
        """Learn the parts of words and the directions of texts."""
        check_documents(raw_documents)
        check_params(self)
        table = _fit_subword_table(
            list(raw_documents),
            self.n_components,
            self.ngram_size,
            self.max_features,
            self.random_state,
        )
        self.words_ = table.words
        self.word_idf_ = table.word_idf
        self.unknown_idf_ = table.unknown_idf
        self.grams_ = table.grams
        self.projection_ = table.projection
        return self

    def transform(self, raw_documents):
        """Vectors z of texts, of length 1; one without a known part is 0."""
        check_is_fitted(self)
        check_documents(raw_documents)
        return SubwordEncoder(self._table()).transform(list(raw_documents))

    def _table(self) -> SubwordTable:
        return SubwordTable(
            self.words_,
            self.word_idf_,
            self.unknown_idf_,
            self.grams_,
            self.projection_,
            self.ngram_size,
        )

    def get_feature_names_out(self, input_features=None):
        """subwordlsa0, subwordlsa1, ..."""
        check_is_fitted(self)
        k = self.projection_.shape[1]
        return np.array([f"subwordlsa{i}" for i in range(k)], dtype=object)

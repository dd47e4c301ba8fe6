"""Latent semantic analysis over parts of words: a vector for every text and any word.

The terms are runs g of n letters of a word between blanks ("cat" has " cat" and "cat "
for n = 4), so that forms of a word and its compounds share most of their terms, and a
word that training has not seen still has a vector. A text with counts c_w of its words
has the weights

    t_g = idf_g sum over words w of (1 + log c_w) idf_w n_g(w)                     (1)

with n_g(w) how often g is in w and, of N documents of which N_w hold w and N_g hold g,
idf_w = log(1 + (N - N_w + 1/2) / (N_w + 1/2)) and idf_g = 1 + log((1 + N) / (1 + N_g)).
Weights of documents, scaled to length 1, are the rows of a matrix whose leading right
singular vectors V are the directions of meaning, as in `text/lsa.py`, and

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

from ..base import Estimator, Transformer
from ..params import Count, TwoOrMore, check_params
from ..persist.saved_state import AnyArray, FloatArray, saved_state
from ..typing import Seed
from .abstract_vectorizer import TextInput, check_documents
from .count_vectorizer import CountVectorizer
from .lsa import leading_directions
from .vector_index import unit_vectors

SMALL_CORPUS = 200  # documents up to which all words are kept, beyond it those of two


class SubwordTable(NamedTuple):
    """What eq. (2) needs: words and parts of words, sorted, and their weights."""

    words: np.ndarray  # (W,) str
    word_idf: np.ndarray  # (W,)
    unknown_idf: float
    grams: np.ndarray  # (G,) str
    projection: np.ndarray  # (G, k) idf_g V_g
    ngram_size: int


class WordCounts(NamedTuple):
    """1 + log c of the words of documents, and the words."""

    words: np.ndarray
    X: sparse.csr_array


def log_word_counts(texts) -> WordCounts | None:
    """Counts of words in texts; None if there are no words."""
    vectorizer = CountVectorizer(dtype=np.float64)
    try:
        X = sparse.csr_array(vectorizer.fit_transform(texts))
    except ValueError as error:
        if "empty vocabulary" in str(error):
            return None
        raise
    X.data = 1 + np.log(X.data)
    return WordCounts(vectorizer.get_feature_names_out(), X)


def gram_counts(words, ngram_size, grams=None):
    """n_g(w) of words as rows, and the parts g."""
    vectorizer = CountVectorizer(
        analyzer="char_wb", ngram_range=(ngram_size, ngram_size), vocabulary=grams
    )
    if grams is None:
        return vectorizer.fit_transform(words), vectorizer.get_feature_names_out()
    return vectorizer.transform(words), grams


def document_frequency(X) -> np.ndarray:
    """Documents (rows) that hold each column."""
    return np.bincount(X.indices, minlength=X.shape[1])


def word_weights(n_documents, holders):
    """idf_w of words that so many documents hold."""
    return np.log(1 + (n_documents - holders + 0.5) / (holders + 0.5))


def subword_vectors(texts, table: SubwordTable) -> np.ndarray:
    """z of texts, eq. (2), rows of length 1; a text without words is 0."""
    found = log_word_counts(texts)
    k = table.projection.shape[1]
    if found is None:
        return np.zeros((len(texts), k), np.float32)
    N, _ = gram_counts(found.words, table.ngram_size, table.grams)
    U = np.asarray(N @ table.projection, dtype=np.float32)
    at = np.searchsorted(table.words, found.words)
    at = np.minimum(at, len(table.words) - 1)
    if len(table.words):
        is_known = table.words[at] == found.words
        idf = np.where(is_known, table.word_idf[at], table.unknown_idf)
    else:
        idf = np.full(len(found.words), table.unknown_idf)
    U *= idf[:, None].astype(np.float32)
    Z = np.asarray(found.X @ U, dtype=np.float32)
    return unit_vectors(Z, found.X @ idf)


def fit_subword_table(
    texts, n_components, ngram_size, max_features, random_state
) -> SubwordTable:
    """The table of eq. (2), learned from documents."""
    found = log_word_counts(texts)
    if found is None:
        raise ValueError("empty vocabulary; no document holds a word of two letters.")
    n = found.X.shape[0]
    holders = document_frequency(found.X)
    word_idf = word_weights(n, holders)
    N, grams = gram_counts(found.words, ngram_size)
    T = sparse.csr_array(found.X @ sparse.diags_array(word_idf) @ N)
    held = document_frequency(T)
    least = 1 if n <= SMALL_CORPUS else 2
    kept = np.flatnonzero(held >= least)
    if not len(kept):  # all documents differ in every letter
        kept = np.arange(len(held))
    if len(kept) > max_features:
        most = np.argsort(-held[kept], kind="stable")[:max_features]
        kept = np.sort(kept[most])
    gram_idf = 1 + np.log((1 + n) / (1 + held[kept]))
    T = sparse.csr_array(T[:, kept] @ sparse.diags_array(gram_idf))
    length = np.sqrt(np.asarray(T.multiply(T).sum(axis=1)).ravel())
    T = sparse.csr_array(sparse.diags_array(1 / np.where(length > 0, length, 1)) @ T)
    k = min(n_components, *T.shape)
    V, _ = leading_directions(T, k, random_state)
    projection = V.T * gram_idf[:, None]
    frequent = holders >= least
    return SubwordTable(
        np.asarray(found.words[frequent], dtype=str),
        word_idf[frequent],
        float(word_weights(n, 1)),
        np.asarray(grams[kept], dtype=str),
        projection.astype(np.float32),
        ngram_size,
    )


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
        table = fit_subword_table(
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
        return subword_vectors(list(raw_documents), self._table())

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

"""BM25: ranks documents for a query, by the words that they share.

With f the count of term t in document d, |d| the length of d, l the mean length, N
documents, n of them with the term,

    s(d, q) = sum over the terms t of q (repeated ones again) of idf_t c(f)       (1)

where c and idf are a row of the table in `text/search/bm25_formulas.py`, eq. (2) there.

N, n and l are counters and c is worked out when they have changed, so documents come
and go without an index being made anew: a block of new documents is a segment of
postings, deleted ones are marked, and segments are merged when there are many.

A document may have fields (a mapping of names to texts): f and |d| are then sums over
fields with `field_weights` [Robertson2004]. A phrase in quotation marks in a query is a
term of its own.

Cost      O(characters) to index; O(postings of the query's terms) a query
Refs      [Robertson1994], [Robertson2009] BM25; [Lv2011] bm25l, bm25+; [Kamphuis2020]
"""

import re
import weakref
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator
from ...core.loops.threads import limit_threads, run_tasks
from ...params import (
    Flag,
    Fraction,
    NonNegative,
    ParameterError,
    check_count,
    check_params,
)
from ...persist.saved_state import (
    BoolArray,
    Each,
    FloatArray,
    Part,
    Whole,
    saved_state,
)
from ..vectorizers.abstract_vectorizer import (
    AbstractVectorizer,
    TextInput,
    check_documents,
)
from ..vectorizers.count_vectorizer import document_matrix
from ..vectorizers.token_table import DocumentIds, IdCounter, concatenate_documents
from . import _bm25 as loops
from ._bm25 import Postings
from .bm25_formulas import (
    METHODS,
    Method,
    SearchResult,
    TermFormula,
    check_query,
    query_list,
)
from .search_analysis import SearchAnalysis
from .search_words import begins_terms, query_words

SEGMENTS = 8  # more are merged


class SearchCache(NamedTuple):
    """Arrays that are derived from the fitted ones at the first query."""

    analysis: object
    impacts: list
    state: tuple  # what the impacts were made for


CACHES: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
QUOTED = re.compile(r'"([^"]*)"')


def _index_is_sound(model) -> bool:
    """Whether postings and kept words are those of the documents there are."""
    if not hasattr(model, "segments_"):
        return True
    n = len(model.is_live_)
    known = all(int(p.documents.max(initial=-1)) < n for p in model.segments_)
    return known and (not model.positions or len(model.tokens_.ends) == n)


@saved_state(
    check=_index_is_sound,
    segments_=Each(Part(Postings)),
    document_lengths_=FloatArray("documents", low=0.0),
    is_live_=BoolArray("documents"),
    tokens_=Part(DocumentIds),
    n_documents_=Whole(),
)
@dataclass(eq=False, repr=False)
class BM25(TextInput, Estimator):
    """Ranks documents for queries by the words they share, eqs. (1) and (2).

    Parameters
    ----------
    k1 : float, default=1.5
        How soon repeated words stop to count.
    b : float, default=0.75
        How much long documents are discounted.
    method : {"bm25", "lucene", "robertson", "atire", "bm25l", "bm25+", "printed"}
        Row of the table of eq. (2).
    delta : float, default=0.5
        Of "bm25l" and "bm25+".
    vectorizer : CountVectorizer or None, default=None
        How texts become terms; None: the words of every script, in lower case, as
        `BM25Index` has them (`text/search/search_words.py`).
    field_weights : mapping or None, default=None
        Weight of each field of documents that are mappings; None: all 1.
    positions : bool, default=False
        Whether to keep the order of words, which phrases in quotation marks need.

    Attributes
    ----------
    n_documents_ : int
        How many there are, without deleted ones.
    document_lengths_ : array of shape (documents ever added,)
    is_live_ : array of bool, of the same shape

    Examples
    --------
    >>> from pansophy.text import BM25
    >>> documents = ["the cat sat on the mat", "the dog sat", "cats and dogs"]
    >>> model = BM25().fit(documents)
    >>> model.scores("cat sat").round(6)
    array([1.184353, 0.529582, 0.      ])
    >>> model.search("dog", k=1).documents
    array([[1]])
    >>> model.partial_fit(["another dog"]).delete([1]).search("dog", k=1).documents
    array([[3]])
    """

    k1: NonNegative = 1.5
    b: Fraction = 0.75
    _: KW_ONLY
    method: Method = "bm25"
    delta: NonNegative = 0.5
    vectorizer: AbstractVectorizer | None = None
    field_weights: Mapping | None = None
    positions: Flag = False

    def fit(self, documents, y=None):
        """Index documents: texts, or mappings of fields to texts."""
        check_documents(documents)
        check_params(self)
        self.terms_ = np.empty(0, dtype=object)
        self.segments_ = []
        self.document_lengths_ = np.empty(0)
        self.is_live_ = np.empty(0, dtype=bool)
        self.tokens_ = DocumentIds(np.empty(0, np.int32), np.empty(0, np.int64))
        CACHES.pop(self, None)
        return self._add(documents)

    def partial_fit(self, documents, y=None):
        """Add documents; they are numbered on from those that are there."""
        if not hasattr(self, "segments_"):
            return self.fit(documents)
        check_documents(documents)
        return self._add(documents)

    def _add(self, documents):
        documents = list(documents)
        analysis = self._analysis()
        fields = self._fields(documents)
        parts = []
        counted = [self._count(analysis, texts, parts) for _, texts in fields]
        X = sum_of_fields([weight for weight, _ in fields], counted)
        first = len(self.document_lengths_)
        arrays = loops.postings_of_rows(
            X.indptr.astype(np.int64), X.indices, X.data, analysis.size, first
        )
        lengths = np.asarray(X.sum(axis=1), dtype=float).ravel()
        new = np.ones(len(documents), dtype=bool)
        self.segments_.append(Postings(*arrays))
        self.document_lengths_ = np.concatenate([self.document_lengths_, lengths])
        self.is_live_ = np.concatenate([self.is_live_, new])
        self.n_documents_ = int(self.is_live_.sum())
        self.terms_ = np.asarray(analysis.terms(), dtype=object)
        if self.positions:
            self.tokens_ = concatenate_documents([self.tokens_, *parts])
        while len(self.segments_) > SEGMENTS:
            self._merge_last()
        return self

    def _fields(self, documents):
        """(weight, texts) of each field; documents that are texts have one."""
        if not documents or not isinstance(documents[0], Mapping):
            if self.field_weights is not None:
                raise ParameterError(
                    "field_weights of BM25 are for documents that are mappings of "
                    "fields to texts."
                )
            return [(1.0, documents)]
        if self.positions:
            raise ParameterError("positions of BM25 need documents of one text each.")
        weights = self.field_weights
        if weights is None:
            weights = dict.fromkeys(sorted({f for d in documents for f in d}), 1.0)
        return [(w, [d.get(f, "") for d in documents]) for f, w in weights.items()]

    def _count(self, analysis, texts, parts):
        """Counts of terms of texts; their order goes to `parts` if it is kept."""
        counter = IdCounter()
        for block in analysis.blocks(texts):
            counter.add(block, analysis.size)
            if self.positions:
                parts.append(DocumentIds(block.ids.copy(), block.ends))
        return counter.result()

    def delete(self, documents):
        """Take documents out, by their numbers."""
        check_is_fitted(self, "segments_")
        numbers = np.asarray(documents, dtype=np.int64).ravel()
        n = len(self.is_live_)
        wrong = [int(d) for d in numbers if not (0 <= d < n and self.is_live_[d])]
        if wrong:
            raise ValueError(f"there are no documents with the numbers {wrong[:5]}.")
        self.is_live_[numbers] = False
        self.n_documents_ = int(self.is_live_.sum())
        if 2 * self.n_documents_ < n and self.segments_:
            while len(self.segments_) > 1:
                self._merge_last()
            empty = Postings(
                np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)
            )
            self._replace_last(1, empty, self.segments_[-1])
        return self

    def _merge_last(self):
        self._replace_last(2, *self.segments_[-2:])

    def _replace_last(self, count, a, b):
        arrays = loops.merged_postings(a, b, self.is_live_)
        self.segments_[-count:] = [Postings(*arrays)]
        CACHES.pop(self, None)

    def _analysis(self):
        """The table of terms and how texts become terms."""
        cache = CACHES.get(self)
        if cache is not None:
            return cache.analysis
        vectorizer = self.vectorizer
        if vectorizer is None:
            analysis = SearchAnalysis()
            analysis.tokens.add(self.terms_.tolist())
            CACHES[self] = SearchCache(analysis, [], ())
            return analysis
        if not vectorizer._is_compiled():
            raise ParameterError(
                "vectorizer of BM25 must use a built-in analyzer and token_pattern."
            )
        vectorizer._check_analysis()
        analysis = vectorizer._analysis()
        if analysis.has_phrases:
            raise ParameterError("vectorizer of BM25 must have ngram_range=(1, 1).")
        analysis.tokens.add(self.terms_.tolist())
        CACHES[self] = SearchCache(analysis, [], ())
        return analysis

    def _impacts(self):
        """c(f) - c(0) of every posting, for the present mean length."""
        average = self._mean_length()
        state = (len(self.is_live_), self.n_documents_, average, self.k1, self.b)
        state += (self.method, self.delta, tuple(len(p[1]) for p in self.segments_))
        cache = CACHES[self]
        if cache.state == state:
            return cache.impacts
        impacts = [self._impacts_of(p, average) for p in self.segments_]
        CACHES[self] = SearchCache(cache.analysis, impacts, state)
        return impacts

    def _mean_length(self):
        lengths = self.document_lengths_[self.is_live_]
        mean = float(lengths.mean()) if len(lengths) else 0.0
        return mean if mean > 0 else 1.0

    def _impacts_of(self, postings, average):
        out = np.empty(len(postings.documents), np.float32)
        loops.set_impacts(
            postings, self.document_lengths_, average, float(self.k1), float(self.b),
            float(self.delta), METHODS[self.method].kind, out,
        )  # fmt: skip
        return out

    def _formula(self) -> TermFormula:
        return TermFormula(
            float(self.k1), float(self.b), self.method, float(self.delta)
        )

    def _idf(self, terms):
        """idf of terms, 0 for those of no document."""
        n = np.zeros(len(terms), np.int64)
        for postings in self.segments_:
            loops.live_frequencies(postings, self.is_live_, terms, n)
        idf = np.zeros(len(terms))
        known = n > 0
        idf[known] = self._formula().idf(
            float(self.n_documents_), n[known].astype(float)
        )
        return idf

    def _query(self, texts):
        """Terms of queries as `DocumentIds`, and idf of each term."""
        analysis = self._analysis()
        result = analysis.known(texts)
        terms, term_index = np.unique(result.ids, return_inverse=True)
        return result, self._idf(terms)[term_index]

    def scores(self, query):
        """s(d, q) of every document ever added, NaN for deleted ones."""
        check_is_fitted(self, "segments_")
        phrases = QUOTED.findall(check_query(query))
        result, idf = self._query([QUOTED.sub(" ", query)])
        work = np.full(len(self.is_live_), -np.inf)
        touched = np.empty(len(work) + 1, np.int32)
        for postings, impacts in zip(self.segments_, self._impacts()):
            loops.add_scores(postings, impacts, result.ids, idf, work, touched)
        document_scores = (
            np.where(work == -np.inf, 0.0, work) + idf.sum() * self._formula().absent()
        )
        for character in self._lone_characters(QUOTED.sub(" ", query)):
            self._add_beginnings(character, document_scores)
        for phrase in phrases:
            self._add_phrase(phrase, document_scores)
        document_scores[~self.is_live_] = np.nan
        return document_scores

    def _lone_characters(self, query) -> list[str]:
        """Single characters of scripts without blanks: each begins many terms."""
        if self.vectorizer is not None:
            return []
        return [word for word in query_words(query) if begins_terms(word)]

    def _add_beginnings(self, character, out):
        """Add the score of all terms that begin with a character, as one term.

        What the term that is the character alone has added comes off again.
        """
        terms = [t for t, word in enumerate(self.terms_) if word.startswith(character)]
        token = self._analysis().tokens.find([character])
        for t in token[token >= 0]:
            self._add_as_one([t], out, -1.0)
        self._add_as_one(terms, out)

    def _add_as_one(self, terms, out, times=1.0):
        """Add the score of several terms that count as one."""
        parts = [
            (self._documents_of(s, t), self._counts_of(s, t))
            for s in self.segments_
            for t in terms
        ]
        if not parts:
            return
        documents = np.concatenate([d for d, _ in parts])
        counts = np.bincount(
            documents, np.concatenate([c for _, c in parts]), len(self.is_live_)
        )
        holders = np.flatnonzero((counts > 0) & self.is_live_)
        self._add_term(holders, counts[holders].astype(np.float32), out, times)

    def _add_term(self, holders, counts, out, times=1.0):
        """Add the score of a term of these documents."""
        if not len(holders):
            return
        postings = Postings(
            np.array([0, len(holders)]), holders.astype(np.int32), counts
        )
        idf = times * self._formula().idf(float(self.n_documents_), len(holders))
        out += idf * self._formula().absent()
        out[holders] += idf * self._impacts_of(postings, self._mean_length())

    def _add_phrase(self, phrase, out):
        """Add the score of a run of words as one term."""
        if not self.positions:
            raise ParameterError("phrases in quotation marks need positions=True.")
        words = self._analysis().known([phrase]).ids
        if len(words) == 0 or (words < 0).any():
            return
        holders = self._documents_with(words)
        result = np.zeros(len(holders), np.int64)
        loops.count_phrase(*self.tokens_, holders, words, result)
        counts = result[result > 0].astype(np.float32)
        self._add_term(holders[result > 0], counts, out)

    def _documents_with(self, terms):
        """Live documents that have the rarest of some terms."""
        lists = [
            np.concatenate([self._documents_of(s, int(t)) for s in self.segments_])
            for t in terms
        ]
        documents: np.ndarray = min(lists, key=len)  # type: ignore[bad-assignment]
        return documents[self.is_live_[documents]]

    @staticmethod
    def _documents_of(postings, term):
        if term >= len(postings.starts) - 1:
            return np.empty(0, np.int32)
        return postings.documents[postings.starts[term] : postings.starts[term + 1]]

    @staticmethod
    def _counts_of(postings, term):
        if term >= len(postings.starts) - 1:
            return np.empty(0, np.float32)
        return postings.frequency[postings.starts[term] : postings.starts[term + 1]]

    def search(self, queries, k=10, *, n_jobs=None) -> SearchResult:
        """The k best documents of each query that share a term with it.

        Parameters
        ----------
        queries : str or list of str
        k : int
        n_jobs : int or None
            Threads for a list of queries.
        """
        check_is_fitted(self, "segments_")
        queries = query_list(queries)
        queries = [check_query(query) for query in queries]
        k = min(check_count("k", k), max(1, len(self.is_live_)))
        if any('"' in query or self._lone_characters(query) for query in queries):
            rows = [_best_of_scores(self.scores(query), k) for query in queries]
            return SearchResult(*(np.stack(part) for part in zip(*rows)))
        result, idf = self._query(queries)
        base = np.add.reduceat(np.append(idf, 0.0), _starts_of(result.ends))
        base = (
            np.where(np.diff(result.ends, prepend=0) > 0, base, 0)
            * self._formula().absent()
        )
        blocks = np.array_split(np.arange(len(queries)), max(1, len(queries) // 64))
        with limit_threads(n_jobs):
            parts = list(
                run_tasks(
                    [partial(self._search_block, result, idf, i, k) for i in blocks]
                )
            )
        best = np.concatenate([documents for documents, _ in parts])
        values = np.concatenate([scores for _, scores in parts])
        return SearchResult(best, values + base[:, None])

    def _search_block(self, found, idf, queries, k):
        """The k best documents of some of the queries."""
        start = _starts_of(found.ends)[queries[0]] if len(queries) else 0
        ends = found.ends[queries] - start
        cut = slice(start, start + (ends[-1] if len(ends) else 0))
        n = len(self.is_live_)
        scores = np.full(n, -np.inf)
        touched = np.empty(n, np.int32)
        documents = []
        values = []
        for postings, impacts in zip(self.segments_, self._impacts()):
            best = np.empty((len(queries), k), np.int64)
            best_scores = np.full((len(queries), k), -np.inf)
            loops.search_postings(
                postings, impacts, found.ids[cut], ends, idf[cut], self.is_live_,
                scores, touched, best, best_scores,
            )  # fmt: skip
            documents.append(best)
            values.append(np.where(best < 0, -np.inf, best_scores))
        documents = np.concatenate(documents, axis=1)
        values = np.concatenate(values, axis=1)
        order = np.lexsort((documents, -values), axis=1)[:, :k]
        values = np.take_along_axis(values, order, axis=1)
        documents = np.take_along_axis(documents, order, axis=1)
        return documents, np.where(documents < 0, np.nan, values)


def _starts_of(ends):
    """Starts of parts that end at `ends`."""
    return np.concatenate([[0], ends[:-1]]).astype(np.int64)


def _best_of_scores(scores, k):
    """The k documents of the highest scores above 0; -1 and NaN where none is left."""
    order = np.lexsort((np.arange(len(scores)), -np.nan_to_num(scores, nan=-np.inf)))
    order = order[:k]
    result = scores[order] > 0
    return np.where(result, order, -1), np.where(result, scores[order], np.nan)


def sum_of_fields(weights, counted):
    """Counts of terms of documents, added up over fields with weights; CSR."""
    n = 1 + max(int(counts.indices.max(initial=-1)) for counts in counted)
    X = sum(w * document_matrix(c, n, np.float64) for w, c in zip(weights, counted))
    return sparse.csr_matrix(X)

"""The formulas of BM25: how much a term adds to the score of a document.

With f the count of term t in document d, |d| the length of d, l the mean length, N
documents, n of them with the term,

    s(d, q) = sum over the terms t of q (repeated ones again) of idf_t c(f)       (1)
    z = 1 - b + b |d| / l

    method      c(f)                                     idf
    bm25        f (k1 + 1) / (f + k1 z)                  log(1 + (N-n+1/2)/(n+1/2))
    lucene      f / (f + k1 z)                           the same
    robertson   f / (f + k1 z)                           log((N-n+1/2)/(n+1/2)), >= 0
    atire       f (k1 + 1) / (f + k1 z)                  log(N/n)
    bm25l       (k1+1)(f/z + delta) / (k1 + f/z + delta) log((N+1)/(n+1/2))
    bm25+       f (k1 + 1) / (f + k1 z) + delta          log((N+1)/n)
    printed     f (k1 + 1) / (f + k1 z)                  1 + log((N-n+1/2)/(n+1/2))  (2)

"printed" is the form of some lecture notes, whose idf is negative for a term of most
documents. In bm25l and bm25+ c(0) > 0, which is added to every document alike, so ranks
are those of sums over shared terms of idf (c(f) - c(0)).

This module needs NumPy alone, so that a search in an index on disk begins at once.
Loops over all postings of an index in memory are compiled (`text/search/_bm25.py`).

Refs      [Robertson1994], [Robertson2009] BM25; [Lv2011] bm25l, bm25+; [Kamphuis2020]
"""

from typing import Literal, NamedTuple

import numpy as np

Method = Literal["bm25", "lucene", "robertson", "atire", "bm25l", "bm25+", "printed"]


class Variant(NamedTuple):
    """One row of the table of eq. (2)."""

    kind: int  # of c: 0 without k1 + 1, 1 with it, 2 of bm25l, 3 of bm25+
    idf: str


METHODS = {
    "bm25": Variant(1, "lucene"),
    "lucene": Variant(0, "lucene"),
    "robertson": Variant(0, "robertson"),
    "atire": Variant(1, "atire"),
    "bm25l": Variant(2, "bm25l"),
    "bm25+": Variant(3, "bm25+"),
    "printed": Variant(1, "printed"),
}

IDF = {
    "lucene": lambda N, n: np.log(1 + (N - n + 0.5) / (n + 0.5)),
    "robertson": lambda N, n: np.log(np.maximum((N - n + 0.5) / (n + 0.5), 1)),
    "atire": lambda N, n: np.log(N / n),
    "bm25l": lambda N, n: np.log((N + 1) / (n + 0.5)),
    "bm25+": lambda N, n: np.log((N + 1) / n),
    "printed": lambda N, n: 1 + np.log((N - n + 0.5) / (n + 0.5)),
}


class SearchResult(NamedTuple):
    """Documents and scores of queries, best first; -1 and NaN where there are fewer."""

    documents: np.ndarray  # (queries, k) int64
    scores: np.ndarray  # (queries, k)


class TermFormula(NamedTuple):
    """Parameters of eq. (2)."""

    k1: float
    b: float
    method: str
    delta: float

    def idf(self, N, n):
        """idf of terms of n among N documents."""
        return IDF[METHODS[self.method].idf](N, n)

    def absent(self) -> float:
        """c(0)."""
        if self.method == "bm25l":
            return (self.k1 + 1) * self.delta / (self.k1 + self.delta)
        return self.delta if self.method == "bm25+" else 0.0

    def gains(self, f, lengths, average):
        """c(f) - c(0) of counts f in documents of some lengths."""
        z = 1 - self.b + self.b * lengths / average
        kind = METHODS[self.method].kind
        if kind == 0:
            return f / (f + self.k1 * z)
        if kind == 2:
            g = f / z + self.delta
            return (self.k1 + 1) * g / (self.k1 + g) - self.absent()
        return f * (self.k1 + 1) / (f + self.k1 * z)

    def largest_gain(self) -> float:
        """Upper bound of c(f) - c(0), for any f."""
        kind = METHODS[self.method].kind
        if kind == 0:
            return 1.0
        return self.k1 + 1 - (self.absent() if kind == 2 else 0.0)


def query_list(queries) -> list:
    """One query or several as a list."""
    is_one = isinstance(queries, str) or not hasattr(queries, "__iter__")
    return [queries] if is_one else list(queries)


def check_query(query) -> str:
    """Refuse a query that is not text."""
    if not isinstance(query, str):
        raise ValueError(f"a query must be text, got {query!r}.")
    return query

"""Compiled loops of BM25: impacts of postings, scores of queries, best documents."""

from typing import NamedTuple

import numpy as np

from ...core.loops.compiled import compiled
from ...persist.saved_state import FloatArray, IntArray, Offsets, saved_state


@saved_state(
    starts=Offsets("terms", "postings", empty=True),
    documents=IntArray("postings", low=0, dtype=np.int32),
    frequency=FloatArray("postings", dtype=np.float32),
)
class Postings(NamedTuple):
    """Documents of each term; those of t are documents[starts[t]:starts[t + 1]]."""

    starts: np.ndarray  # (terms + 1,) int64
    documents: np.ndarray  # (n,) int32, ascending within a term
    frequency: np.ndarray  # (n,) float32, f of eq. (1)


@compiled
def set_impacts(postings, lengths, average, k1, b, delta, kind, impacts):
    """c(f) - c(0) of every posting, eq. (2); kind is the row of the table."""
    for i in range(len(postings.documents)):
        f = np.float64(postings.frequency[i])
        size = 1 - b + b * lengths[postings.documents[i]] / average
        if kind == 0:
            c = f / (f + k1 * size)
        elif kind == 1:
            c = f * (k1 + 1) / (f + k1 * size)
        elif kind == 2:
            g = f / size + delta
            c = (k1 + 1) * g / (k1 + g) - (k1 + 1) * delta / (k1 + delta)
        else:  # c(0) = delta, added again by the caller
            c = f * (k1 + 1) / (f + k1 * size)
        impacts[i] = c


@compiled
def live_frequencies(postings, is_live, terms, out):
    """Document frequencies of some terms among live documents, added to `out`."""
    for j in range(len(terms)):
        t = terms[j]
        if t < 0 or t >= len(postings.starts) - 1:
            continue
        for i in range(postings.starts[t], postings.starts[t + 1]):
            out[j] += is_live[postings.documents[i]]


@compiled(inner=True)
def add_term(postings, impacts, t, w, scores, touched, n):
    """Add the impacts of one term; how many documents have been touched."""
    if t < 0 or t >= len(postings.starts) - 1:
        return n
    for i in range(postings.starts[t], postings.starts[t + 1]):
        d = postings.documents[i]
        s = scores[d]
        if s == -np.inf:
            touched[n] = d
            n += 1
            s = 0.0
        scores[d] = s + w * impacts[i]
    return n


@compiled(inner=True)
def _is_worse(s, d, t, e):
    """Whether document d with score s ranks after e with score t."""
    return s < t or (s == t and d > e)


@compiled(inner=True)
def _sift_down(best, best_scores, s, d):
    """Replace the root of a heap, its worst document."""
    k = len(best)
    slot = 0
    while True:
        child = 2 * slot + 1
        if child >= k:
            break
        sibling = child + 1
        if sibling < k and _is_worse(
            best_scores[sibling], best[sibling], best_scores[child], best[child]
        ):
            child = sibling
        if not _is_worse(best_scores[child], best[child], s, d):
            break
        best[slot] = best[child]
        best_scores[slot] = best_scores[child]
        slot = child
    best[slot] = d
    best_scores[slot] = s


@compiled(inner=True)
def _sift_up(best, best_scores, size, s, d):
    """Add a document to a heap of `size`."""
    slot = size
    while slot > 0:
        parent = (slot - 1) // 2
        if not _is_worse(s, d, best_scores[parent], best[parent]):
            break
        best[slot] = best[parent]
        best_scores[slot] = best_scores[parent]
        slot = parent
    best[slot] = d
    best_scores[slot] = s


@compiled(inner=True)
def _take_best(scores, touched, n_touched, is_live, best, best_scores):
    """A heap of the live documents of the highest scores; clears `scores`.

    Ties go to the lower number. Returns how many there are.
    """
    k = len(best)
    size = 0
    for i in range(n_touched):
        d = np.int64(touched[i])
        s = scores[d]
        scores[d] = -np.inf
        if not is_live[d]:
            continue
        if size < k:
            _sift_up(best, best_scores, size, s, d)
            size += 1
        elif _is_worse(best_scores[0], best[0], s, d):
            _sift_down(best, best_scores, s, d)
    return size


@compiled
def search_postings(
    postings, impacts, terms, ends, weights, is_live, scores, touched, best, best_scores
):
    """The best documents of queries among those of the postings, in no order.

    The terms of query q are terms[ends[q - 1]:ends[q]]. `scores` holds -inf for every
    document and is left so; rows of `best` are filled up with -1.
    """
    position = 0
    for q in range(len(ends)):
        n = 0
        while position < ends[q]:
            n = add_term(
                postings,
                impacts,
                terms[position],
                weights[position],
                scores,
                touched,
                n,
            )
            position += 1
        size = _take_best(scores, touched, n, is_live, best[q], best_scores[q])
        best[q, size:] = -1


@compiled
def add_scores(postings, impacts, terms, weights, scores, touched):
    """Add the impacts of one query's terms to the scores of all documents."""
    for i in range(len(terms)):
        add_term(postings, impacts, terms[i], weights[i], scores, touched, 0)


@compiled
def postings_of_rows(indptr, indices, values, n_terms, first_document):
    """Postings of documents whose terms are rows of a CSR matrix."""
    starts = np.zeros(n_terms + 1, np.int64)
    for i in range(len(indices)):
        starts[indices[i] + 1] += 1
    for t in range(n_terms):
        starts[t + 1] += starts[t]
    places = starts[:-1].copy()
    documents = np.empty(len(indices), np.int32)
    frequency = np.empty(len(indices), np.float32)
    for d in range(len(indptr) - 1):
        for i in range(indptr[d], indptr[d + 1]):
            t = indices[i]
            documents[places[t]] = first_document + d
            frequency[places[t]] = values[i]
            places[t] += 1
    return starts, documents, frequency


@compiled
def merged_postings(a, b, is_live):
    """Postings of two segments without dead documents, those of a first."""
    n_terms = max(len(a.starts), len(b.starts)) - 1
    starts = np.zeros(n_terms + 1, np.int64)
    documents = np.empty(len(a.documents) + len(b.documents), np.int32)
    frequency = np.empty(len(documents), np.float32)
    n = 0
    for t in range(n_terms):
        if t < len(a.starts) - 1:
            for i in range(a.starts[t], a.starts[t + 1]):
                if is_live[a.documents[i]]:
                    documents[n] = a.documents[i]
                    frequency[n] = a.frequency[i]
                    n += 1
        if t < len(b.starts) - 1:
            for i in range(b.starts[t], b.starts[t + 1]):
                if is_live[b.documents[i]]:
                    documents[n] = b.documents[i]
                    frequency[n] = b.frequency[i]
                    n += 1
        starts[t + 1] = n
    return starts, documents[:n].copy(), frequency[:n].copy()


@compiled
def count_phrase(ids, ends, documents, phrase, out):
    """Number of times a run of tokens occurs in each of some documents."""
    m = len(phrase)
    for j in range(len(documents)):
        d = documents[j]
        start = ends[d - 1] if d > 0 else 0
        count = 0
        for i in range(start, ends[d] - m + 1):
            is_match = True
            for k in range(m):
                if ids[i + k] != phrase[k]:
                    is_match = False
                    break
            count += is_match
        out[j] = count


@compiled
def copy_postings(documents, counts, starts, places, out, out_counts):
    """Copy the postings of terms, documents[starts[i]:starts[i + 1]], to places[i]."""
    for i in range(len(places)):
        shift = places[i] - starts[i]
        for j in range(starts[i], starts[i + 1]):
            out[j + shift] = documents[j]
            out_counts[j + shift] = counts[j]

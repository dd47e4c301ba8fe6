"""Matching of names: pairs of two lists that are nearly the same text.

Names are made alike first (`Normalizer`). Comparing all n m pairs is avoided by
blocking: the candidates of a name are those with the largest cosine of TF-IDF weights
of runs of `n_gram` characters, found by a sparse product, which touches only pairs that
share a run. Candidates are then compared by a similarity s from 0 to 1:

    levenshtein    1 - d(a, b) / max(|a|, |b|)                                    (1)
    indel          1 - d(a, b) / (|a| + |b|), insertions and deletions only       (2)
    jaro_winkler   of `text/strings/string_distances.py`
                    (3)

Pairs below the threshold are left out. With `one_to_one` the pairs are taken by falling
similarity, each name once; otherwise each name of the left list has its best one.

Cost      O(pairs that share a rare run) + O(n candidates |a| |b| / 64)
Refs      [Winkler1990]; [Navarro2001] filters by runs
"""

import itertools
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from ...params import Fraction, ParameterError, check_argument, check_count, check_list
from ..tokenizers.normalizers import Normalizer
from ..vectorizers.tfidf import TfidfVectorizer
from . import _string_distances as loops
from .string_distances import coded_sequences, jaro_winkler_similarity

ROWS = 512  # names whose candidates are searched at a time
FREQUENT = 1000  # a run of more names, and of a tenth of all, does not make candidates
ALIKE = Normalizer("nfkc", lowercase=True, strip_accents=True, whitespace=True)

Similarity = Literal["levenshtein", "indel", "jaro_winkler"]


class NameMatches(NamedTuple):
    """Pairs (left[i], right[i]) of positions in two lists, and their similarity."""

    left: np.ndarray
    right: np.ndarray
    similarity: np.ndarray


def comparable_name(name, sort_words) -> str:
    """A name in lower case without accents and repeated spaces; None is empty."""
    if name is None:
        return ""
    text = ALIKE(str(name))
    if not sort_words:
        return text
    words = "".join(c if c.isalnum() else " " for c in text).split()
    return " ".join(sorted(words))


def _candidate_pairs(left, right, n_gram, n_candidates):
    """(i, j) of names that share runs of characters, the best ones of each i."""
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(n_gram, n_gram))
    try:
        R = sparse.csr_array(vectorizer.fit_transform(right))
    except ValueError:  # no name has a character
        return np.empty(0, np.int64), np.empty(0, np.int64)
    L = sparse.csr_array(vectorizer.transform(left))
    times = np.bincount(R.indices, minlength=R.shape[1])
    rare = (times <= FREQUENT) | (times <= 0.1 * len(right))
    columns = sparse.csr_array(R[:, rare].T)
    L = L[:, rare]
    rows = []
    results = []
    for start in range(0, len(left), ROWS):
        P = sparse.csr_array(L[start : start + ROWS] @ columns)
        for i in range(P.shape[0]):
            cut = slice(P.indptr[i], P.indptr[i + 1])
            weights = P.data[cut]
            best = P.indices[cut]
            if len(best) > n_candidates:
                # ties in the order of the names, whatever order the product has
                order = np.lexsort((best, -weights))[:n_candidates]
                best = best[order]
            results.append(best)
            rows.append(np.full(len(best), start + i))
    return np.concatenate(rows), np.concatenate(results).astype(np.int64)


def pair_similarities(left, right, i, j, similarity):
    """Eqs. (1) to (3) of the pairs (i, j), sorted by i."""
    if similarity == "jaro_winkler":
        pairs = zip(i.tolist(), j.tolist())
        return np.array([jaro_winkler_similarity(left[a], right[b]) for a, b in pairs])
    A, B = coded_sequences(left, right)
    size_a = (A.ends - A.starts)[i]
    size_b = (B.ends - B.starts)[j]
    is_indel = similarity == "indel"
    d = np.zeros(len(i), np.int32)
    bounds = np.flatnonzero(np.diff(i, prepend=-1, append=-1))
    for start, end in itertools.pairwise(bounds):
        cut = slice(start, end)
        loops.long_distances(
            A.of(i[start]), B.codes, B.starts[j[cut]], B.ends[j[cut]], B.n_symbols,
            is_indel, d[cut],
        )  # fmt: skip
    if is_indel:  # the loop gives the longest common subsequence
        return 2 * d / (size_a + size_b)
    return 1 - d / np.maximum(size_a, size_b)


def _one_to_one_pairs(matches: NameMatches) -> NameMatches:
    """Pairs by falling similarity, each name once; sorted by the left one."""
    order = np.lexsort((matches.right, matches.left, -matches.similarity))
    taken_left = set()
    taken_right = set()
    kept = []
    for p in order.tolist():
        a = int(matches.left[p])
        b = int(matches.right[p])
        if a not in taken_left and b not in taken_right:
            taken_left.add(a)
            taken_right.add(b)
            kept.append(p)
    kept = np.array(sorted(kept, key=matches.left.__getitem__), dtype=np.int64)
    return NameMatches(*(part[kept] for part in matches))


def _best_pairs(matches: NameMatches) -> NameMatches:
    """The best pair of each left name; of equal ones the first."""
    order = np.lexsort((matches.right, -matches.similarity, matches.left))
    first = np.diff(matches.left[order], prepend=-1) > 0
    return NameMatches(*(part[order[first]] for part in matches))


def match_names(
    left, right, *, threshold=0.8, similarity: Similarity = "levenshtein",
    one_to_one=False, sort_words=False, n_gram=3, n_candidates=20,
) -> NameMatches:  # fmt: skip
    """Pairs of names that are nearly the same.

    Parameters
    ----------
    left, right : list of str
        None and empty names match nothing.
    threshold : float, default=0.8
        Least similarity of a pair.
    similarity : {"levenshtein", "indel", "jaro_winkler"}, default="levenshtein"
        Eqs. (1) to (3), of names in lower case without accents.
    one_to_one : bool, default=False
        Whether each name is in one pair at most.
    sort_words : bool, default=False
        Whether the order of words does not matter ("Doe, Jane" is "Jane Doe").
    n_gram : int, default=3
        Names that share no run of so many characters of a word (with the blanks around
        it) are not compared.
    n_candidates : int, default=20
        Most names that one name is compared with.

    Returns
    -------
    matches : NameMatches
        Sorted by the left name.

    Examples
    --------
    >>> from pansophy.text import match_names
    >>> found = match_names(["Jon Smith", "Ana Díaz", "Li"], ["ana diaz", "john smith"])
    >>> found.left.tolist(), found.right.tolist(), found.similarity.round(2).tolist()
    ([0, 1], [1, 0], [0.9, 1.0])
    """
    if similarity not in ("levenshtein", "indel", "jaro_winkler"):
        raise ParameterError(
            'similarity must be "levenshtein", "indel" or "jaro_winkler", got '
            f"{similarity!r}."
        )
    check_argument("threshold", threshold, Fraction)
    check_count("n_gram", n_gram)
    check_count("n_candidates", n_candidates)
    for names, side in ((left, "left"), (right, "right")):
        if isinstance(names, str):
            raise ParameterError(f"{side} must be a list of names, not one text.")
    left, right = (
        [
            comparable_name(name, sort_words)
            for name in check_list(side, names, "a list of names")
        ]
        for names, side in ((left, "left"), (right, "right"))
    )
    # equal names are compared once
    distinct_left, of_left = np.unique(
        np.array(left, dtype=object), return_inverse=True
    )
    distinct_right, of_right = np.unique(
        np.array(right, dtype=object), return_inverse=True
    )
    a = distinct_left.tolist()
    b = distinct_right.tolist()
    if not any(a) or not any(b):
        empty = np.empty(0, np.int64)
        return NameMatches(empty, empty, np.empty(0))
    i, j = _candidate_pairs(a, b, n_gram, n_candidates)
    s = pair_similarities(a, b, i, j, similarity)
    kept = s >= threshold
    pairs = NameMatches(i[kept], j[kept], s[kept])
    if not one_to_one:
        pairs = _best_pairs(pairs)
        first = _first_positions(of_right, len(b))
        pairs = _expand_left(pairs, of_left, len(a))
        return pairs._replace(right=first[pairs.right])
    pairs = _expand_left(pairs, of_left, len(a))
    pairs = _expand_left(
        pairs._replace(left=pairs.right, right=pairs.left), of_right, len(b)
    )
    return _one_to_one_pairs(pairs._replace(left=pairs.right, right=pairs.left))


def _first_positions(codes, n):
    """First position of each code."""
    first = np.full(n, len(codes))
    np.minimum.at(first, codes, np.arange(len(codes)))
    return first


def _expand_left(pairs: NameMatches, of_left, n) -> NameMatches:
    """Pairs of distinct names as pairs of all positions that have them."""
    order = np.argsort(of_left, kind="stable")
    counts = np.bincount(of_left, minlength=n)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    times = counts[pairs.left]
    total = int(times.sum())
    inside = np.arange(total) - np.repeat(np.cumsum(times) - times, times)
    left = order[np.repeat(starts[pairs.left], times) + inside]
    matches = NameMatches(
        left, np.repeat(pairs.right, times), np.repeat(pairs.similarity, times)
    )
    by_left = np.lexsort((matches.right, matches.left))
    return NameMatches(*(part[by_left] for part in matches))

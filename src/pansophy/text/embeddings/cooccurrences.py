"""Words that occur together: counts of pairs, pointwise mutual information, phrases.

With n(x, y) how often word y follows x within a window,

    PMI(x, y) = log p(x, y) / (p(x) p(y))                                          (1)
    NPMI = PMI / -log p(x, y),   PPMI = max(PMI, 0)                                (2)

p(x, y) is n(x, y) over the number of pairs; p(x) and p(y) are shares of words
("unigram") or the marginals of the table of pairs ("pairs"). For three words the
denominator is p(x) p(y) p(z). Pairs do not cross the ends of sentences. Dunning's ratio
compares the table of pairs that begin with x or not and end with y or not, counts O,
with what independence expects, E of the same margins:

    G2 = 2 sum O log(O / E)                                                        (3)

Refs      [Church1990] PMI; [Bouma2009] NPMI; [Dunning1993] (3)
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ...core.arrays.codes import encode_values
from ...core.arrays.unreadable import array_of_numbers
from ...params import ParameterError, check_count, check_list, check_string
from ..vectorizers.abstract_vectorizer import check_documents, check_sentence

LIST_OF_SENTENCES = "a list of sentences, each a text or a list of words"


class Cooccurrence(NamedTuple):
    """Counts of pairs of words: counts[i, j] is n(words[i], words[j])."""

    words: list[str]
    counts: sparse.csr_array
    frequencies: np.ndarray  # of the words


def remove_stop_words(tokens: Iterable[str], stop_words="english") -> list[str]:
    """Tokens that are not in a list of stop words, in their order.

    Parameters
    ----------
    tokens : iterable of str, or str, split at spaces
    stop_words : "english" or collection of str

    Examples
    --------
    >>> from pansophy.text import remove_stop_words
    >>> remove_stop_words(["the", "cat", "sat", "on", "the", "mat"])
    ['cat', 'sat', 'mat']
    """
    if isinstance(stop_words, str):
        if stop_words != "english":
            raise ParameterError(
                f'stop_words must be "english" or a collection, got {stop_words!r}.'
            )
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        stop_words = ENGLISH_STOP_WORDS
    listed = frozenset(check_list("stop_words", stop_words, "a collection of texts"))
    tokens = tokens.split() if isinstance(tokens, str) else tokens
    tokens = check_list("tokens", tokens, "a list of texts")
    return [token for token in tokens if check_string("a token", token) not in listed]


def _words_of_sentences(sentences) -> list[list[str]]:
    """Words of sentences; one that is a text is split at spaces."""
    return [
        s.split() if isinstance(s, str) else list(check_sentence(s))
        for s in check_list("sentences", check_documents(sentences), LIST_OF_SENTENCES)
    ]


def cooccurrence(sentences, *, window=1, symmetric=False) -> Cooccurrence:
    """Counts of pairs of words within a window.

    Parameters
    ----------
    sentences : list of lists of str, or of str, split at spaces
    window : int, default=1
        How far apart two words may be; 1: neighbours.
    symmetric : bool, default=False
        Whether to count (y, x) for every (x, y) too.

    Returns
    -------
    pairs : Cooccurrence
        Words in alphabetic order.

    Examples
    --------
    >>> from pansophy.text import cooccurrence
    >>> pairs = cooccurrence([["the", "cat", "sat"], ["the", "dog", "sat"]])
    >>> pairs.words
    ['cat', 'dog', 'sat', 'the']
    >>> pairs.counts.toarray()[3]
    array([1, 1, 0, 0])
    """
    window = check_count("window", window)
    sentences = _words_of_sentences(sentences)
    words = [word for sentence in sentences for word in sentence]
    if not words:
        empty = sparse.csr_array((0, 0), dtype=np.int64)
        return Cooccurrence([], empty, np.empty(0, np.int64))
    codes, levels = encode_values(words)
    ends = np.cumsum([len(s) for s in sentences])
    counts = count_pairs(codes, ends, len(levels), window=window, symmetric=symmetric)
    frequencies = np.bincount(codes, minlength=len(levels))
    return Cooccurrence([str(word) for word in levels], counts, frequencies)


def count_pairs(
    codes, ends, n_words, *, window=1, symmetric=False, by_distance=False
) -> sparse.csr_array:
    """Counts of pairs of numbered words (n_words, n_words) within a window.

    Parameters
    ----------
    codes : array of int
        The words of all sentences, one sentence after the other.
    ends : array of int
        Where each sentence ends.
    n_words : int
    window, symmetric
        Of `cooccurrence`.
    by_distance : bool, default=False
        Whether a pair at distance r counts 1 / r.
    """
    sentence = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
    kind = np.float64 if by_distance else np.int64
    total = sparse.csr_array((n_words, n_words), dtype=kind)
    for gap in range(1, window + 1):
        is_equal = sentence[gap:] == sentence[:-gap]
        x, y = codes[:-gap][is_equal], codes[gap:][is_equal]
        value = np.full(len(x), 1 / gap if by_distance else 1, dtype=kind)
        explanation = sparse.coo_array((value, (x, y)), shape=(n_words, n_words))
        total = total + explanation.tocsr()
    return sparse.csr_array(total + total.T) if symmetric else total


def pmi(pairs, *, marginals="unigram", kind="pmi"):
    """Pointwise mutual information of the pairs that occur, eqs. (1) and (2).

    Parameters
    ----------
    pairs : Cooccurrence, or matrix of counts
    marginals : {"unigram", "pairs"}, default="unigram"
        What p(x) and p(y) are shares of. A matrix has "pairs" only.
    kind : {"pmi", "ppmi", "npmi"}, default="pmi"

    Returns
    -------
    scores : sparse array of the shape of the counts
        Pairs that never occur are not stored; their PMI is -inf.

    Examples
    --------
    >>> from pansophy.text import cooccurrence, pmi
    >>> text = "the cat sat on the mat . the dog sat on the mat"
    >>> pairs = cooccurrence([s.split() for s in text.split(" . ")])
    >>> i, j = pairs.words.index("cat"), pairs.words.index("sat")
    >>> round(float(pmi(pairs)[i, j]), 6)
    1.974081
    """
    is_pairs = isinstance(pairs, Cooccurrence)
    if marginals not in ("unigram", "pairs"):
        raise ParameterError(
            f'marginals must be "unigram" or "pairs", got {marginals!r}.'
        )
    if kind not in ("pmi", "ppmi", "npmi"):
        raise ParameterError(f'kind must be "pmi", "ppmi" or "npmi", got {kind!r}.')
    counts = pairs.counts if is_pairs else pairs
    if not sparse.issparse(counts):
        counts = array_of_numbers(counts, "pairs")
        if counts.ndim != 2:
            raise ParameterError(
                f"pairs must be a matrix of counts, got the shape {counts.shape}."
            )
    N = sparse.coo_array(counts).astype(float)
    N.sum_duplicates()
    N.eliminate_zeros()
    total = N.data.sum()
    p = N.data / total
    if marginals == "pairs" or not is_pairs:
        p_x = np.asarray(N.sum(axis=1)).ravel() / total
        p_y = np.asarray(N.sum(axis=0)).ravel() / total
    else:
        p_x = p_y = pairs.frequencies / pairs.frequencies.sum()
    i, j = N.coords
    scores = np.log(p / (p_x[i] * p_y[j]))
    if kind == "npmi":
        scores = np.where(p < 1, scores / -np.log(np.where(p < 1, p, 0.5)), 1.0)
    elif kind == "ppmi":
        scores = np.maximum(scores, 0.0)
    return sparse.coo_array((scores, (i, j)), shape=N.shape).tocsr()


class Collocation(NamedTuple):
    """A run of words that occurs more often than its words would by chance."""

    words: tuple[str, ...]
    count: int
    score: float


def collocations(
    sentences, *, length=2, measure="pmi", min_count=2, top=20
) -> list[Collocation]:
    """Runs of two or three words with the highest scores.

    Parameters
    ----------
    sentences : list of lists of str, or of str, split at spaces
    length : {2, 3}, default=2
    measure : {"pmi", "npmi", "likelihood_ratio"}, default="pmi"
        Eqs. (1) and (2), or Dunning's likelihood ratio, which rare pairs do not win;
        the last is for two words.
    min_count : int, default=2
        Least number of occurrences.
    top : int, default=20

    Examples
    --------
    >>> from pansophy.text import collocations
    >>> text = "new york is big . he left new york . new is not old"
    >>> [c.words for c in collocations([s.split() for s in text.split(" . ")])]
    [('new', 'york')]
    """
    if length not in (2, 3):
        raise ParameterError(f"length must be 2 or 3, got {length!r}.")
    words: Counter = Counter()
    runs: Counter = Counter()
    first: Counter = Counter()  # how often a run begins with a word
    last: Counter = Counter()
    for sentence in _words_of_sentences(sentences):
        words.update(sentence)
        runs.update(zip(*(sentence[i:] for i in range(length))))
        first.update(sentence[: 1 - length])
        last.update(sentence[length - 1 :])
    if measure == "likelihood_ratio" and length != 2:
        raise ParameterError('measure="likelihood_ratio" is for two words.')
    n_words = sum(words.values())
    n_runs = sum(runs.values())
    results = []
    for run, count in runs.items():
        if count < min_count:
            continue
        if measure == "likelihood_ratio":
            score = log_likelihood_ratio(count, first[run[0]], last[run[-1]], n_runs)
        else:
            shares = [words[word] / n_words for word in run]
            score = _collocation_score(measure, count / n_runs, shares)
        results.append(Collocation(run, count, score))
    results.sort(key=lambda c: (-c.score, c.words))
    return results[:top]


def _collocation_score(measure, p, shares) -> float:
    """Eq. (1) or (2) of a run that has the share p of all runs."""
    score = float(np.log(p) - np.log(shares).sum())
    if measure == "pmi":
        return score
    if measure == "npmi":
        return score / -float(np.log(p)) if p < 1 else 1.0
    raise ParameterError(
        f'measure must be "pmi", "npmi" or "likelihood_ratio", got {measure!r}.'
    )


def log_likelihood_ratio(count, first, last, n_pairs) -> float:
    """Eq. (3): pairs that begin with x (`first`) and that end with y (`last`).

    Examples
    --------
    >>> round(log_likelihood_ratio(10, 10, 10, 20), 4)  # 20 log 4
    27.7259
    """
    table = np.array(
        [[count, first - count], [last - count, n_pairs - first - last + count]], float
    )
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n_pairs
    inside = table > 0
    ratio = table[inside] * np.log(table[inside] / expected[inside])
    return 2 * float(ratio.sum())

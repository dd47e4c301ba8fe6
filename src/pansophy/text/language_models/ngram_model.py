"""N-gram language models: the next word given the n - 1 words before.

Every smoothing here interpolates with the shorter context h' of h = w_1 ... w_{k-1},

    p(w | h) = a(h w) + b(h) p(w | h'),   p(w | nothing shorter) = 1 / V           (1)

so that p sums to 1 over the V words (with end and unknown word, without start) for
every context, seen or not. With c(h w) counts, c(h) = sum_w c(h w), N_r(h) the number
of words that follow h exactly r times, N(h) that of all,

    mle            a = c(h w) / c(h),   b = 0                (b = 1 where c(h) = 0)
    add_k          a = c / (c(h) + k V),   b = k V / (c(h) + k V), h' = uniform
    jelinek_mercer a = lambda c / c(h),   b = 1 - lambda
    witten_bell    a = c / (c(h) + N(h)),   b = N(h) / (c(h) + N(h))
    good_turing    a = r* / c(h),   b = the rest;   r* = (r + 1) n_{r+1} / n_r, with
                   n_r from the line log n_r = A + B log r where counts are few
    absolute       a = (c - D) / c(h),   b = D N(h) / c(h)
    kneser_ney     the same; shorter contexts count distinct words before, not times
    modified_kneser_ney   the same with D_1, D_2, D_3+ by the count                (2)

D = n_1 / (n_1 + 2 n_2) and the three of modified Kneser-Ney come from counts of counts
at each order; where these are undefined (small or odd data) a discount takes the value
that makes left-out words likeliest, and `discount_fallback_` says for which orders.

Cost      O(n) look-ups a token in training and in use; memory of the distinct n-grams
Refs      [Chen1999] all; [Kneser1995]; [Gale1995] Good-Turing; [Witten1991]
"""

import itertools
import weakref
from dataclasses import KW_ONLY, dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator
from ...params import Count, OpenFraction, Positive, check_params
from ...persist.saved_state import FloatArray, IntArray, Part, Whole, saved_state
from ..vectorizers.abstract_vectorizer import TextInput, check_documents, check_sentence
from ..vectorizers.token_table import DocumentIds, PhraseTable, TokenTable
from . import _ngram_model as loops
from .language_model import (
    bits_per_byte,
    join_log_probs,
    number_of_bytes,
    perplexity,
    token_cross_entropy,
)

UNKNOWN, START, END = "<unk>", "<s>", "</s>"
SPECIAL = (UNKNOWN, START, END)


class NGramCounts(NamedTuple):
    """Counts of the distinct runs of words of each length."""

    table: PhraseTable
    count: np.ndarray  # of each phrase, as (2) asks for it
    length: np.ndarray  # words in it
    prefix: np.ndarray  # phrase without its last word, -1 for single words
    total: np.ndarray  # c(h) of each phrase as a context, at [-1] that of the empty one
    follow: np.ndarray  # (phrases + 1, 3): words that follow once, twice, more often
    n_words: int  # V


def _sum_by_context(values, prefix, n):
    """Sums of values over phrases with the same prefix; the empty one at [-1]."""
    return np.roll(np.bincount(prefix + 1, weights=values, minlength=n + 1), -1)


def _count_ngrams(documents, order, n_words, *, is_continuation) -> NGramCounts:
    """Counts of all runs of 1 to `order` words of padded sentences.

    With `is_continuation` a run shorter than `order` counts the distinct words before
    it, unless it begins with a start, before which there is nothing.
    """
    table = PhraseTable()
    result = table.phrases(documents, (1, order))
    arrays = table.arrays
    n = len(table)
    prefix = arrays.prefix[:n].astype(np.int64)
    last = arrays.last[:n]
    length = np.ones(n, np.int64)
    first = last.astype(np.int64).copy()
    for k in range(2, order + 1):  # a phrase comes after its prefix
        longer = np.flatnonzero((prefix >= 0) & (length[prefix] == k - 1))
        length[longer] = k
        first[longer] = first[prefix[longer]]
    count = np.bincount(result.ids, minlength=n).astype(float)
    start = SPECIAL.index(START)
    if is_continuation:
        suffix = np.empty(n, np.int64)
        loops.suffix_ids(arrays, suffix)
        preceding_counts = np.bincount(suffix[suffix >= 0], minlength=n).astype(float)
        inside = (length < order) & (first != start)
        count = np.where(inside, preceding_counts, count)
    count[last == start] = 0.0  # a start is never predicted
    total = _sum_by_context(count, prefix, n)
    kinds = [count == 1, count == 2, count >= 3]
    follow = np.stack([_sum_by_context(kind, prefix, n) for kind in kinds], axis=1)
    return NGramCounts(table, count, length, prefix, total, follow, n_words)


class Discounts(NamedTuple):
    """D_1, D_2 and D_3+ of each length of phrase, and where they had to be fitted."""

    values: np.ndarray  # (order + 1, 3)
    fallback: list[int]


def _closed_form_discounts(counts, is_modified):
    """D of one length from counts of counts, or None if it is undefined."""
    n1, n2, n3, n4 = (int(np.sum(counts == r)) for r in (1, 2, 3, 4))
    if n1 == 0 or n2 == 0:
        return None
    Y = n1 / (n1 + 2 * n2)
    if not is_modified:
        return np.full(3, Y)
    if n3 == 0 or n4 == 0:
        return None
    D = np.array([1 - 2 * Y * n2 / n1, 2 - 3 * Y * n3 / n2, 3 - 4 * Y * n4 / n3])
    valid = (D > 0).all() and (np.array([1, 2, 3]) + 1e-12 > D).all()
    return D if valid else None


def _left_out_discount(ngrams, k):
    """The D that makes words likeliest when each is left out in turn.

    A word seen once becomes unseen and has what is set aside, (1): of the others
    (c - 1 - D) / (c(h) - 1) is left.
    """
    chosen = np.flatnonzero((ngrams.length == k) & (ngrams.count > 0))
    c = ngrams.count[chosen]
    h = ngrams.prefix[chosen]
    total = ngrams.total[h]
    distinct = ngrams.follow[h].sum(axis=1)
    usable = total > 1
    c, total, distinct = c[usable], total[usable], distinct[usable]

    def loss(D):
        rest = np.maximum(total - 1, 1)
        spare = D * np.maximum(distinct - (c == 1), 1) / rest / ngrams.n_words
        kept = np.maximum(c - 1 - D, 0) / rest
        return -float(np.sum(c * np.log(kept + spare + 1e-300)))

    if not len(c):
        return np.full(3, 0.5)
    best = minimize_scalar(loss, bounds=(0.01, 0.99), method="bounded")
    return np.full(3, float(best.x))


def _find_discounts(ngrams, order, *, is_modified) -> Discounts:
    """D of every length of phrase, eq. (2)."""
    values = np.zeros((order + 1, 3))
    fallback = []
    for k in range(1, order + 1):
        of_length = ngrams.count[ngrams.length == k]
        result = _closed_form_discounts(of_length, is_modified)
        if result is None:
            fallback.append(k)
            result = _left_out_discount(ngrams, k)
        values[k] = result
    return Discounts(values, fallback)


class Interpolation(NamedTuple):
    """a and b of eq. (1); b of the empty context at [-1]."""

    a: np.ndarray  # (phrases,)
    b: np.ndarray  # (phrases + 1,)


def _with_unseen_contexts(ngrams, a, b) -> Interpolation:
    """b = 1 where nothing follows a context; a = 0 there."""
    seen = ngrams.total > 0
    a = np.where(ngrams.count > 0, a, 0.0)
    return Interpolation(a, np.where(seen, b, 1.0))


def _smooth_by_discount(ngrams, discounts) -> Interpolation:
    """Absolute discounting and both kinds of Kneser-Ney, eq. (2)."""
    kind = np.clip(ngrams.count, 1, 3).astype(np.int64) - 1
    D = discounts.values[ngrams.length, kind]
    D = np.minimum(D, ngrams.count)
    total = np.maximum(ngrams.total, 1e-300)
    a = (ngrams.count - D) / total[ngrams.prefix]
    discounted = _sum_by_context(D, ngrams.prefix, len(a))
    return _with_unseen_contexts(ngrams, a, discounted / total)


def _smooth_by_share(ngrams, share) -> Interpolation:
    """a = share(h) c / c(h), b = 1 - share(h): mle, Jelinek-Mercer, Witten-Bell."""
    total = np.maximum(ngrams.total, 1e-300)
    a = share[ngrams.prefix] * ngrams.count / total[ngrams.prefix]
    return _with_unseen_contexts(ngrams, a, 1 - share)


def _smooth_add_k(ngrams, k, order) -> Interpolation:
    """Add-k at the longest context, which has the uniform distribution below it."""
    V = ngrams.n_words
    total_mass = ngrams.total + k * V
    a = ngrams.count / total_mass[ngrams.prefix]
    a[ngrams.length < order] = 0.0
    b = k * V / total_mass
    context = np.append(ngrams.length, 0)
    b[context < order - 1] = 1.0
    return _with_unseen_contexts(ngrams, a, b)


def _good_turing_counts(counts):
    """r* for each count r of one length of phrase [Gale1995]."""
    r, n_r = np.unique(counts[counts > 0], return_counts=True)
    if len(r) < 2:
        return np.where(counts > 0, counts * 0.5, 0.0)
    lower = np.concatenate([[0], r[:-1]])
    upper = np.concatenate([r[1:], [2 * r[-1] - lower[-1]]])
    Z = 2 * n_r / (upper - lower)  # spread over the gaps between counts
    B, A = np.polyfit(np.log(r), np.log(Z), 1)
    line = lambda x: np.exp(A + B * np.log(x))
    smoothed = (r + 1) * line(r + 1) / line(r)
    discounted = smoothed.copy()
    for i, x in enumerate(r):  # take the raw estimate while it differs clearly
        following = n_r[r == x + 1]
        if not len(following):
            break
        raw = (x + 1) * following[0] / n_r[i]
        spread = (x + 1) * np.sqrt(
            following[0] / n_r[i] ** 2 * (1 + following[0] / n_r[i])
        )
        if abs(raw - smoothed[i]) <= 1.65 * spread:
            break
        discounted[i] = raw
    discounted = np.clip(discounted, 0.05 * r, r)  # a discount, never a bonus
    return np.where(
        counts > 0, discounted[np.searchsorted(r, counts).clip(0, len(r) - 1)], 0
    )


def _smooth_good_turing(ngrams, order) -> Interpolation:
    """Good-Turing counts, and what they leave goes to the shorter context."""
    adjusted = np.zeros(len(ngrams.count))
    for k in range(1, order + 1):
        is_length_k = ngrams.length == k
        adjusted[is_length_k] = _good_turing_counts(ngrams.count[is_length_k])
    total = np.maximum(ngrams.total, 1e-300)
    a = adjusted / total[ngrams.prefix]
    used = _sum_by_context(adjusted, ngrams.prefix, len(a)) / total
    return _with_unseen_contexts(ngrams, a, 1 - used)


def _ngrams_are_sound(model) -> bool:
    """Whether runs of words come after their prefixes and are of known words."""
    if not hasattr(model, "prefix_"):
        return True
    n = len(model.vocabulary_)
    ids = sorted(v for v in model.vocabulary_.values() if type(v) is int)
    earlier = model.prefix_ < np.arange(len(model.prefix_))
    known = int(model.last_.max(initial=-1)) < n
    return bool(earlier.all()) and known and ids == list(range(n)) and n >= 3


@saved_state(
    check=_ngrams_are_sound,
    vocabulary_=Part(dict),
    prefix_=IntArray("runs", low=-1, dtype=np.int32),
    last_=IntArray("runs", low=0, dtype=np.int32),
    a_=FloatArray("runs", low=0.0, high=1.0),
    b_=FloatArray("runs+1", low=0.0, high=1.0),
    order=Whole(low=1, high=1000),
)
@dataclass(eq=False, repr=False)
class NGramModel(TextInput, Estimator):
    """Language model of the last n - 1 words, eqs. (1) and (2).

    Parameters
    ----------
    order : int, default=3
        n.
    smoothing : str, default="modified_kneser_ney"
        "mle", "add_k", "jelinek_mercer", "witten_bell", "good_turing", "absolute",
        "kneser_ney" or "modified_kneser_ney".
    k : float, default=1.0
        Of "add_k".
    share : float, default=0.7
        lambda of "jelinek_mercer".
    min_count : int, default=1
        Words that occur less often become the unknown word.
    analyzer : {"word", "char"}, default="word"
        Whether a sentence given as text is words between spaces, or characters.

    Attributes
    ----------
    vocabulary_ : dict
        Id of each word; the first are the unknown word, start and end.
    discounts_ : array of shape (order + 1, 3)
        D_1, D_2, D_3+ of each length of run, where there are any.
    discount_fallback_ : list of int
        Lengths whose counts of counts did not give discounts.

    Examples
    --------
    >>> from pansophy.text import NGramModel
    >>> model = NGramModel(2, smoothing="add_k").fit(["the cat sat", "the dog sat"])
    >>> model.prob("cat", ["the"])
    0.25
    >>> round(model.perplexity(["the cat sat"]), 4)
    3.1588
    """

    order: Count = 3
    _: KW_ONLY
    smoothing: Literal[
        "mle", "add_k", "jelinek_mercer", "witten_bell", "good_turing", "absolute",
        "kneser_ney", "modified_kneser_ney",
    ] = "modified_kneser_ney"  # fmt: skip
    k: Positive = 1.0
    share: OpenFraction = 0.7
    min_count: Count = 1
    analyzer: Literal["word", "char"] = "word"

    start_token = SPECIAL.index(START)
    end_token = SPECIAL.index(END)

    def fit(self, sentences, y=None):
        """Count the runs of words of sentences: texts, or lists of words."""
        check_documents(sentences)
        check_params(self)
        words = self._words(sentences)
        if not words:
            raise ValueError("NGramModel needs at least one sentence, got none.")
        self.vocabulary_ = _chosen_vocabulary(words, self.min_count)
        ngrams = _count_ngrams(
            self._padded(words),
            self.order,
            n_words=len(self.vocabulary_) - 1,  # a start is never predicted
            is_continuation=self.smoothing in ("kneser_ney", "modified_kneser_ney"),
        )
        smoothed = self._smooth(ngrams)
        self.prefix_ = ngrams.prefix.astype(np.int32)
        self.last_ = ngrams.table.arrays.last[: len(ngrams.table)].copy()
        self.a_ = smoothed.a
        self.b_ = smoothed.b
        TABLES.pop(self, None)
        return self

    def _smooth(self, ngrams) -> Interpolation:
        self.discounts_ = None
        self.discount_fallback_ = []
        if self.smoothing in ("absolute", "kneser_ney", "modified_kneser_ney"):
            is_modified = self.smoothing.startswith("modified")
            result = _find_discounts(ngrams, self.order, is_modified=is_modified)
            self.discounts_ = result.values
            self.discount_fallback_ = result.fallback
            return _smooth_by_discount(ngrams, result)
        if self.smoothing == "add_k":
            return _smooth_add_k(ngrams, self.k, self.order)
        if self.smoothing == "good_turing":
            return _smooth_good_turing(ngrams, self.order)
        distinct = ngrams.follow.sum(axis=1)
        share = {
            "mle": np.ones_like(ngrams.total),
            "jelinek_mercer": np.full_like(ngrams.total, self.share),
            "witten_bell": ngrams.total / np.maximum(ngrams.total + distinct, 1e-300),
        }[self.smoothing]
        return _smooth_by_share(ngrams, share)

    def _words(self, sentences):
        """Words of sentences, a list of lists."""
        split = list if self.analyzer == "char" else str.split
        return [
            split(sentence) if isinstance(sentence, str) else list(map(str, sentence))
            for sentence in map(check_sentence, sentences)
        ]

    def _padded(self, words) -> DocumentIds:
        """Ids of sentences with order - 1 starts before and an end after."""
        lengths = np.fromiter(map(len, words), np.int64, len(words))
        flat = itertools.chain.from_iterable(words)
        unknown = itertools.repeat(SPECIAL.index(UNKNOWN))
        result = map(self.vocabulary_.get, flat, unknown)
        ends = np.cumsum(lengths + self.order)
        ids = np.full(int(ends[-1]) if len(ends) else 0, self.start_token, np.int32)
        # every sentence moves its words by its own starts and by all before it
        shift = self.order * np.arange(len(words)) + self.order - 1
        n = int(lengths.sum())
        places = np.arange(n) + np.repeat(shift, lengths)
        ids[places] = np.fromiter(result, np.int32, n)
        ids[ends - 1] = self.end_token
        return DocumentIds(ids, ends)

    def _tables(self) -> "LookupTables":
        """Hash table of the runs of words, made when it is first needed."""
        check_is_fitted(self)
        if self not in TABLES:
            table = PhraseTable.from_parts(self.prefix_, self.last_)
            children = np.argsort(self.prefix_, kind="stable")
            bounds = np.arange(-1, len(self.prefix_) + 1)
            starts = np.searchsorted(self.prefix_[children], bounds)
            TABLES[self] = LookupTables(table, children, starts)
        return TABLES[self]

    def log_probs(self, sentences) -> list[np.ndarray]:
        """log p of every word of each sentence and of its end."""
        check_documents(sentences)
        documents = self._padded(self._words(sentences))
        arrays = self._tables().table.arrays
        out = np.empty(len(documents.ids))
        uniform = 1.0 / (len(self.vocabulary_) - 1)
        with np.errstate(divide="ignore"):
            n = loops.token_log_probs(
                *documents, self.order, arrays, self.a_, self.b_, uniform, out
            )
        sizes = np.diff(documents.ends, prepend=0) - (self.order - 1)
        return np.split(out[:n], np.cumsum(sizes)[:-1])

    def score_samples(self, sentences):
        """log p of each sentence, with its end."""
        return np.array([values.sum() for values in self.log_probs(sentences)])

    def score(self, sentences, y=None) -> float:
        """Mean log p of a word."""
        return -token_cross_entropy(join_log_probs(self.log_probs(sentences)))

    def perplexity(self, sentences) -> float:
        """Perplexity of the words of sentences, ends included."""
        return perplexity(join_log_probs(self.log_probs(sentences)))

    def bits_per_byte(self, sentences) -> float:
        """Bits for each byte of sentences, with one byte between two of them."""
        separator = "" if self.analyzer == "char" else " "
        texts = [s if isinstance(s, str) else separator.join(s) for s in sentences]
        logs = join_log_probs(self.log_probs(sentences))
        return bits_per_byte(logs, number_of_bytes(texts))

    def probs(self, context=()):
        """p of every word of the vocabulary after the words of a context."""
        ids = [self.vocabulary_.get(str(word), 0) for word in context]
        lead = [self.start_token] * (self.order - 1)
        return self._next([*lead, *ids])

    def prob(self, word, context=()) -> float:
        """p of a word (or "</s>") after the words of a context, the sentence so far."""
        return float(self.probs(context)[self.vocabulary_.get(word, 0)])

    def _next(self, ids):
        """p of every word after ids."""
        tables = self._tables()
        p = np.full(len(self.vocabulary_), 1.0 / (len(self.vocabulary_) - 1))
        p[self.start_token] = 0.0
        words = np.asarray(ids[len(ids) - self.order + 1 :], dtype=np.int32)
        loops.next_word_probs(
            words, tables.table.arrays, tables.children, tables.starts, self.a_,
            self.b_, p,
        )  # fmt: skip
        return p

    def advance(self, tokens, state=None):
        """log p of what follows each of the tokens (n, L), and the last words."""
        n, L = tokens.shape
        lead = self.order - 1
        if state is None:
            state = np.full((n, lead), self.start_token, dtype=np.int64)
        words = np.concatenate([state, tokens], axis=1)
        with np.errstate(divide="ignore"):
            logits = np.log(
                [
                    [self._next(row[: lead + i + 1].tolist()) for i in range(L)]
                    for row in words
                ]
            )
        return logits, words[:, words.shape[1] - lead :]

    def encode(self, sentence) -> list[int]:
        """Ids of the words of a sentence."""
        check_is_fitted(self)
        (words,) = self._words([sentence])
        return [self.vocabulary_.get(word, 0) for word in words]

    def decode(self, tokens) -> list[str]:
        """Words of ids."""
        words = list(self.vocabulary_)
        return [words[token] for token in tokens]


class LookupTables(NamedTuple):
    """Runs of words by their parts, and in the order of their prefixes."""

    table: PhraseTable
    children: np.ndarray
    starts: np.ndarray


TABLES: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _chosen_vocabulary(words, min_count) -> dict[str, int]:
    """Ids of the words that occur often enough, after those of `SPECIAL`."""
    table = TokenTable(SPECIAL)
    ids = table.add([word for sentence in words for word in sentence])
    count = np.bincount(ids, minlength=len(table))
    count[: len(SPECIAL)] = min_count
    texts = table.texts()
    kept = np.flatnonzero(count >= min_count).tolist()
    return {texts[i]: j for j, i in enumerate(kept)}

"""Hidden Markov tagger: tags as a Markov chain that emits the words of a sentence.

    P(t_1..t_n, w_1..w_n) = prod_i P(t_i | t_i-1) P(w_i | t_i)  P(end | t_n)      (1)

All of it is counted in tagged sentences. By Bayes' rule P(w | t) = P(t | w) P(w) / P(t)
with P(w) the same for all tags, so that a row of evidence is log P(t | w) - log P(t):

    P(t | w) = (n(t, w) + mu Q(t | w)) / (n(w) + mu)                              (2)

shrinks what is known about a word to what its form says. Q comes from the words that
are rare in training, as unknown words will be, by ever longer endings s_m of m letters
among words of the same casing,

    Q_m = (n(t, s_m) + theta Q_m-1) / (n(s_m) + theta),   Q_0 from the casing     (3)

up to the longest ending that occurred. An unknown word has P(t | w) = Q(t | w). The
best tags are the Viterbi path, the probability of each tag comes from forward-backward
(`core.chains.filtering`).

Cost      O(words) to fit; O(n k^2) to tag n words with k tags
Refs      [Brants2000] (3); [Rabiner1989]
"""

from collections import Counter
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator
from ...core.arrays.labels import class_codes
from ...core.chains.filtering import Chain, Evidence, smooth_chain, viterbi
from ...params import Count, NonNegative, Positive, check_params
from ...persist.saved_state import AnyArray, FloatArray, saved_state
from .word_features import (
    check_sentences,
    check_tags,
    class_weight_offsets,
    split_by_sentence,
    tag_accuracy,
    word_shape,
)


def _casing_class(word: str) -> str:
    """One of a few kinds of words: with digits, capitals, signs."""
    shape = word_shape(word)
    if "d" in shape:
        return "digits"
    if shape == "X" and len(word) > 1:
        return "capitals"
    if shape.startswith("X"):
        return "capital"
    return "letters" if set(shape) <= {"x", "c"} else "signs"


def _ending_keys(word: str, longest: int) -> list[str]:
    """Keys of a word's casing and of its endings of 1, 2, ... letters."""
    casing = _casing_class(word)
    lower = word.lower()
    lengths = range(1, min(longest, len(lower)) + 1)
    return [f"{casing} ", *(f"{casing} {lower[-m:]}" for m in lengths)]


def _transition_counts(codes, ends, k):
    """Counts of first tags (k,), of pairs (k, k) and of last tags (k,)."""
    starts = np.r_[0, ends[:-1]]
    first = np.bincount(codes[starts], minlength=k).astype(float)
    last = np.bincount(codes[ends - 1], minlength=k).astype(float)
    inner = np.setdiff1d(np.arange(1, len(codes)), starts)
    pairs = np.bincount(codes[inner - 1] * k + codes[inner], minlength=k * k)
    return first, pairs.reshape(k, k).astype(float), last


def _ending_shares(words, table, rare, longest, theta):
    """Keys of endings, and Q of eq. (3) for each, (keys, tags).

    `table` has the counts n(t, w), a row for each of `words`.
    """
    counts: dict[str, np.ndarray] = {}
    for i in np.flatnonzero(rare):
        for key in _ending_keys(words[i], longest):
            counts[key] = counts.get(key, 0.0) + table[i]
    all_rare = table[rare].sum(axis=0) if rare.any() else table.sum(axis=0)
    Q = {"": (all_rare + 1.0 / len(all_rare)) / (all_rare.sum() + 1.0)}
    for key in sorted(counts, key=len):  # an ending comes after shorter ones
        n = counts[key]
        casing, _, ending = key.partition(" ")
        shorter = f"{casing} {ending[1:]}" if ending else ""
        Q[key] = (n + theta * Q[shorter]) / (n.sum() + theta)
    return list(Q), np.stack(list(Q.values()))


@saved_state(
    words_=AnyArray("words"),
    word_counts_=FloatArray("words", "tags"),
    endings_=AnyArray("endings"),
    ending_shares_=FloatArray("endings", "tags"),
    start_=FloatArray("tags"),
    end_=FloatArray("tags"),
    transitions_=FloatArray("tags", "tags"),
    tag_shares_=FloatArray("tags"),
    tag_offsets_=FloatArray("tags"),
)
@dataclass(eq=False, repr=False)
class HMMTagger(Estimator):
    """Tags of words by a hidden Markov model, eqs. (1) to (3).

    Parameters
    ----------
    alpha : float, default=0.1
        Added to the counts of pairs of tags.
    form_weight : float, default=0.1
        mu: words that the form of a word counts as.
    ending_weight : float, default=1.0
        theta: words that a shorter ending counts as.
    longest_ending : int, default=6
        Letters of the longest ending.
    rare_count : int, default=10
        Words that occur at most so often teach about unknown ones.
    class_weight : dict, "balanced" or None, default=None
        Factors c of the tags, eq. (1) of `text.taggers.word_features`.

    Attributes
    ----------
    classes_ : array of shape (k,)
        The tags, sorted.
    start_, end_ : arrays of shape (k,)
        P(t | start) and P(end | t).
    transitions_ : array of shape (k, k)
        P(t' | t), which with `end_` sums to 1 over t'.
    words_, word_counts_ : arrays of shape (words,) and (words, k)
        n(t, w).
    tag_offsets_ : array of shape (k,)
        log c.

    Examples
    --------
    >>> from pansophy.text import HMMTagger
    >>> sentences = ["the dog barks", "a cat sleeps", "the cat barks"]
    >>> tags = [["D", "N", "V"]] * 3
    >>> HMMTagger().fit(sentences, tags).predict(["a fox sleeps"])
    [['D', 'N', 'V']]
    """

    alpha: NonNegative = 0.1
    _: KW_ONLY
    form_weight: Positive = 0.1
    ending_weight: Positive = 1.0
    longest_ending: Count = 6
    rare_count: Count = 10
    class_weight: dict | Literal["balanced"] | None = None

    def fit(self, sentences, tags):
        """Count tags and words of tagged sentences.

        Parameters
        ----------
        sentences : list of lists of str, or of str, split at spaces
        tags : list of sequences of labels
        """
        check_params(self)
        sentences = check_sentences(sentences)
        labels = np.concatenate(check_tags(tags, sentences))
        self.classes_, codes = class_codes(labels)
        self.tag_offsets_ = class_weight_offsets(
            self.class_weight, self.classes_, labels
        )
        k = len(self.classes_)
        words = [word for sentence in sentences for word in sentence]
        index = {word: i for i, word in enumerate(dict.fromkeys(words))}
        rows = np.array([index[word] for word in words])
        table = np.zeros((len(index), k))
        np.add.at(table, (rows, codes), 1.0)
        self.words_ = np.array(list(index))
        self.word_counts_ = table
        self.tag_shares_ = table.sum(axis=0) / table.sum()
        self._count_transitions(codes, np.cumsum([len(s) for s in sentences]), k)
        rare = table.sum(axis=1) <= self.rare_count
        keys, shares = _ending_shares(
            list(index), table, rare, self.longest_ending, self.ending_weight
        )
        self.endings_ = np.array(keys)
        self.ending_shares_ = shares
        return self

    def _count_transitions(self, codes, ends, k):
        """Chances of tags after tags, smoothed by `alpha`, with the end as a tag."""
        first, pairs, last = _transition_counts(codes, ends, k)
        self.start_ = (first + self.alpha) / (first.sum() + self.alpha * k)
        transitions = np.c_[pairs, last] + self.alpha
        with np.errstate(invalid="ignore"):
            transitions = transitions / transitions.sum(axis=1, keepdims=True)
        transitions = np.nan_to_num(transitions, nan=1.0 / (k + 1))
        self.transitions_ = np.ascontiguousarray(transitions[:, :k])
        self.end_ = transitions[:, k].copy()

    def word_tag_shares(self, words) -> np.ndarray:
        """P(t | w) of words, eq. (2), whatever stands around them: (words, k)."""
        check_is_fitted(self, "word_counts_")
        index = {word: i for i, word in enumerate(self.words_.tolist())}
        endings = {key: i for i, key in enumerate(self.endings_.tolist())}
        out = np.empty((len(words), len(self.classes_)))
        result: dict[str, np.ndarray] = {}
        for i, word in enumerate(words):
            if word not in result:
                result[word] = self._shares_of(word, index, endings)
            out[i] = result[word]
        return out

    def _shares_of(self, word, index, endings):
        """P(t | w) of one word. At the start of a sentence a word may be capitalised:
        an unknown one with a capital is looked up in lower case too.
        """
        row = index.get(word, index.get(word.lower()))
        keys = _ending_keys(word, self.longest_ending)
        known = [key for key in keys if key in endings]
        Q = self.ending_shares_[endings[known[-1] if known else ""]]
        n = 0.0 if row is None else self.word_counts_[row]
        mu = self.form_weight
        return (n + mu * Q) / (np.sum(n) + mu)

    def _evidence(self, sentences):
        """The chain of eq. (1), and the evidence of all words."""
        words = [word for sentence in sentences for word in sentence]
        tiny = np.finfo(float).tiny
        U = np.log(np.maximum(self.word_tag_shares(words), tiny))
        U -= np.log(np.maximum(self.tag_shares_, tiny))
        U += self.tag_offsets_
        ends = np.cumsum([len(sentence) for sentence in sentences])
        U[ends - 1] += np.log(np.maximum(self.end_, tiny))
        return Chain(self.start_, self.transitions_), Evidence(U, None, ends)

    def predict(self, sentences) -> list[list]:
        """The most probable tags of the words of each sentence."""
        check_is_fitted(self, "word_counts_")
        sentences = check_sentences(sentences)
        tags = self.classes_[viterbi(*self._evidence(sentences))[0]]
        return [part.tolist() for part in split_by_sentence(tags, sentences)]

    def predict_proba(self, sentences) -> list[np.ndarray]:
        """Probability of the tags of every word: an array (words, k) a sentence."""
        check_is_fitted(self, "word_counts_")
        sentences = check_sentences(sentences)
        P, _ = smooth_chain(*self._evidence(sentences))
        return split_by_sentence(P, sentences)

    def score(self, sentences, tags) -> float:
        """Share of the words with the right tag."""
        return tag_accuracy(self, sentences, tags)


def most_frequent_tags(sentences, tags) -> dict[str, object]:
    """The tag that each word has most often: what a tagger has to beat.

    Examples
    --------
    >>> from pansophy.text import most_frequent_tags
    >>> most_frequent_tags(["can can do", "can go"], ["MNV", "MV"])["can"]
    'M'
    """
    sentences = check_sentences(sentences)
    counts: dict[str, Counter] = {}
    for words, part in zip(sentences, check_tags(tags, sentences)):
        for word, tag in zip(words, part.tolist()):
            counts.setdefault(word, Counter())[tag] += 1
    return {word: count.most_common(1)[0][0] for word, count in counts.items()}

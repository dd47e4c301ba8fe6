"""Spelling correction: the likeliest dictionary word behind a misspelt one.

    best w = argmax  log p(w | words before) - lambda D(x, w)                      (1)

with D an edit distance (a typing error costs lambda nats: the noisy channel with
p(x | w) proportional to exp(-lambda D)) and p a language model of words: frequencies,
or an n-gram model for whole sentences. A word of the dictionary is returned as it is by
`correct`. Without frequencies all words are equally likely and ties go to the more
similar by Jaro and Winkler, then to the alphabet.

An edit changes the counts of letters by at most one letter more and one less, so that

    max(letters of x that w lacks, letters of w that x lacks) <= D(x, w)          (2)

and distances are worked out for the words alone that (2) lets pass.

Cost      N words of the dictionary: 32 N small additions a word, and the distances of
          the few that are left
Refs      [Kernighan1990], [Norvig2009]; [Ukkonen1992] (2)
"""

import re
import weakref
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator
from ...params import Count, NonNegative, check_params
from ..language_models.ngram_model import NGramModel
from ..vectorizers.abstract_vectorizer import TextInput
from .string_distances import edit_distances, jaro_winkler_similarity

BUCKETS = 32  # into which letters are counted: a power of 2
LETTER_COUNTS: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
PUNCTUATED = re.compile(r"(\W*)(.*?)(\W*)", re.DOTALL)


def letter_counts(words) -> np.ndarray:
    """How often each word has letters of each bucket, (n, BUCKETS).

    Examples
    --------
    >>> letter_counts(["aab"])[0, [ord("a") % 32, ord("b") % 32]]
    array([2, 1], dtype=int16)
    """
    text = "".join(words).encode("utf-32-le", "surrogatepass")
    bucket = np.frombuffer(text, np.uint32) % BUCKETS
    row = np.repeat(np.arange(len(words)), [len(word) for word in words])
    counts = np.bincount(row * BUCKETS + bucket, minlength=len(words) * BUCKETS)
    return counts.reshape(len(words), BUCKETS).astype(np.int16)


def _in_case_of(word, model) -> str:
    """A word in lower case with the capitals of another one."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


class Correction(NamedTuple):
    """A candidate for a misspelt word."""

    word: str
    distance: int
    score: float  # eq. (1)


def _check_word(word) -> str:
    """A word as it is; what is no text is refused."""
    if not isinstance(word, str):
        raise ValueError(f"a word must be str, got {word!r}.")
    return word


@dataclass(eq=False, repr=False)
class SpellCorrector(TextInput, Estimator):
    """Finds dictionary words near a misspelt one, likeliest first, eq. (1).

    Parameters
    ----------
    max_distance : int, default=2
        Words that are further away are no candidates.
    kind : {"levenshtein", "osa", "damerau", "indel"}, default="damerau"
        Edit distance; "damerau" counts swapped letters as one error.
    error_cost : float, default=4.0
        lambda of eq. (1).
    language_model : NGramModel or None, default=None
        A fitted one, for p(w | words before) in `correct_sentence`.

    Attributes
    ----------
    words_ : array of str
        The dictionary, in alphabetic order.
    log_frequencies_ : array
        log p of each.

    Examples
    --------
    >>> from pansophy.text import SpellCorrector
    >>> words = ["cat", "car", "cart", "care", "cards", "cast"]
    >>> model = SpellCorrector().fit(words)
    >>> [c.word for c in model.candidates("carr")]
    ['car', 'care', 'cart', 'cards', 'cat', 'cast']
    >>> model.correct("carr")
    'car'
    """

    max_distance: Count = 2
    _: KW_ONLY
    kind: Literal["levenshtein", "osa", "damerau", "indel"] = "damerau"
    error_cost: NonNegative = 4.0
    language_model: NGramModel | None = None

    def fit(self, words, y=None):
        """Learn a dictionary.

        Parameters
        ----------
        words : mapping of words to counts, or iterable of words
            Repeated words count as often as they occur.
        """
        check_params(self)
        if isinstance(words, str):
            raise ValueError("words must be a mapping or a list of words, not a text.")
        counts: dict = dict(words) if isinstance(words, Mapping) else {}
        if not counts:
            for word in words:
                counts[word] = counts.get(word, 0) + 1
        if not counts:
            raise ValueError("SpellCorrector needs at least one word, got none.")
        wrong = next((word for word in counts if not isinstance(word, str)), None)
        if wrong is not None or None in counts:
            raise ValueError(f"words must be str, got {wrong!r}.")
        self.words_ = np.array(sorted(counts), dtype=object)
        values = np.array([counts[word] for word in self.words_], dtype=float)
        if not (values > 0).all():
            raise ValueError("counts of words must be above 0.")
        self.log_frequencies_ = np.log(values / values.sum())
        LETTER_COUNTS.pop(self, None)
        return self

    def candidates(self, word, *, top=10) -> list[Correction]:
        """Dictionary words within `max_distance`, best first."""
        check_is_fitted(self)
        return self._candidates(_check_word(word), self.log_frequencies_, top)

    def _candidates(self, word, log_p, top):
        candidates = self._words_of_like_letters(word)
        distance = edit_distances([word], self.words_[candidates], self.kind)[0]
        results = [
            Correction(
                str(self.words_[i]),
                int(d),
                float(log_p[i] - self.error_cost * d),
            )
            for i, d in zip(candidates, distance)
            if d <= self.max_distance
        ]
        alike = {c.word: jaro_winkler_similarity(word, c.word) for c in results}
        results.sort(key=lambda c: (-c.score, -alike[c.word], c.word))
        return results[:top]

    def _words_of_like_letters(self, word) -> np.ndarray:
        """Places of the words whose letters allow `max_distance`, eq. (2)."""
        counts = LETTER_COUNTS.get(self)
        if counts is None:
            counts = LETTER_COUNTS[self] = letter_counts(self.words_)
        gap = counts - letter_counts([word])
        missing, extra = -np.minimum(gap, 0).sum(axis=1), np.maximum(gap, 0).sum(axis=1)
        return np.flatnonzero(np.maximum(missing, extra) <= self.max_distance)

    def _knows(self, word) -> bool:
        place = np.searchsorted(self.words_, word)
        return bool(place < len(self.words_) and self.words_[place] == word)

    def correct(self, word) -> str:
        """The word itself if it is in the dictionary, else the best candidate.

        Signs around a word stay, and so does a capital: "Teh," becomes "The," where
        the dictionary has "the". Without a candidate the word is returned as it is.
        """
        check_is_fitted(self)
        if self._knows(_check_word(word)):
            return word
        opening, core, closing = PUNCTUATED.fullmatch(word).groups()  # pyrefly: ignore
        lower = core.lower()
        if not core or self._knows(core) or self._knows(lower):
            return word
        results = self.candidates(core, top=1)
        if lower != core:
            results += [
                c._replace(word=_in_case_of(c.word, core))
                for c in self.candidates(lower, top=1)
            ]
        if not results:
            return word
        best = max(results, key=lambda c: c.score)
        return f"{opening}{best.word}{closing}"

    def correct_sentence(self, words) -> list[str]:
        """Correct the words of a sentence one after the other.

        With a language model p(w | words before) replaces the frequencies, and words
        of the dictionary may be corrected too where the context asks for it.
        """
        check_is_fitted(self)
        model = self.language_model
        words = words.split() if isinstance(words, str) else list(words)
        if model is None:
            return [self.correct(word) for word in words]
        corrected: list[str] = []
        ids = np.array([model.vocabulary_.get(word, 0) for word in self.words_])
        for word in words:
            p = model.probs(corrected[-model.order :])
            log_p = np.log(np.maximum(p[ids], 1e-300))
            result = self._candidates(word, log_p, 1)
            corrected.append(result[0].word if result else word)
        return corrected

"""Spelling correction: the likeliest dictionary word behind a misspelt one.

    best w = argmax  log p(w | words before) - lambda D(x, w)                      (1)

with D an edit distance (a typing error costs lambda nats: the noisy channel with
p(x | w) proportional to exp(-lambda D)) and p a language model of words: frequencies,
or an n-gram model for whole sentences. A word of the dictionary is returned as it is by
`correct`. Without frequencies all words are equally likely and ties go to the more
similar by Jaro and Winkler, then to the alphabet.

Cost      one row of the matrix of distances a word, bit-parallel
Refs      [Kernighan1990], [Norvig2009]
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator
from ..params import Count, NonNegative, check_params
from .abstract_vectorizer import TextInput
from .ngram_model import NGramModel
from .string_distances import edit_distances, jaro_winkler_similarity


class Correction(NamedTuple):
    """A candidate for a misspelt word."""

    word: str
    distance: int
    score: float  # eq. (1)


def check_word(word) -> str:
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
        return self

    def candidates(self, word, *, top=10) -> list[Correction]:
        """Dictionary words within `max_distance`, best first."""
        check_is_fitted(self)
        return self._candidates(check_word(word), self.log_frequencies_, top)

    def _candidates(self, word, log_p, top):
        distance = edit_distances([word], self.words_, self.kind)[0]
        near = np.flatnonzero(distance <= self.max_distance)
        results = [
            Correction(
                str(self.words_[i]),
                int(distance[i]),
                float(log_p[i] - self.error_cost * distance[i]),
            )
            for i in near
        ]
        alike = {c.word: jaro_winkler_similarity(word, c.word) for c in results}
        results.sort(key=lambda c: (-c.score, -alike[c.word], c.word))
        return results[:top]

    def correct(self, word) -> str:
        """The word itself if it is in the dictionary, else the best candidate.

        Without a candidate the word is returned as it is.
        """
        check_is_fitted(self)
        at = np.searchsorted(self.words_, check_word(word))
        if at < len(self.words_) and self.words_[at] == word:
            return word
        result = self.candidates(word, top=1)
        return result[0].word if result else word

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
        out: list[str] = []
        ids = np.array([model.vocabulary_.get(word, 0) for word in self.words_])
        for word in words:
            p = model.probs(out[-model.order :])
            log_p = np.log(np.maximum(p[ids], 1e-300))
            result = self._candidates(word, log_p, 1)
            out.append(result[0].word if result else word)
        return out

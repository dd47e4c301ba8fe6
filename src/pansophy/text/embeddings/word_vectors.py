"""Vectors of words: what skip-gram and GloVe share, from sentences to neighbours.

Words that occur often enough are numbered, the most frequent first, and sentences
become runs of their numbers; other words are left out, as if they were not there. With
vectors u_w, similar words have a large cosine, and differences stand for relations:
the answer to "a is to b as c is to ?" is the word with the largest cosine to

    u_b / |u_b| - u_a / |u_a| + u_c / |u_c|                                        (1)

Refs      [Mikolov2013b] (1)
"""

from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator, Transformer
from ...params import Count, Verbosity, check_count
from ...persist.saved_state import AnyArray, FloatArray, saved_state
from ...typing import Seed
from ..search.vector_index import rows_of_unit_length
from ..vectorizers.abstract_vectorizer import TextInput, check_documents, check_sentence
from ..vectorizers.token_table import (
    DocumentIds,
    TokenTable,
    blocks_of_texts,
    concatenate_documents,
    join_lower,
)


class NumberedSentences(NamedTuple):
    """Sentences as runs of word numbers, and how often each word occurs."""

    words: list[str]
    counts: np.ndarray
    ids: np.ndarray  # (tokens,) int32
    ends: np.ndarray  # (sentences,) where each ends


def _word_ids(sentences, table: TokenTable, *, insert=True) -> DocumentIds:
    """Numbers of the words of sentences: lists of words, or texts in lower case."""
    parts = []
    sentences = map(check_sentence, check_documents(sentences))
    for block in blocks_of_texts(sentences):
        if isinstance(block[0], str):
            if not all(isinstance(text, str) for text in block):
                raise ValueError("sentences must all be texts or all lists of words.")
            parts.append(table.words(join_lower(block), min_length=1, insert=insert))
            continue
        flat = [str(word) for words in block for word in words]
        ends = np.cumsum([len(words) for words in block])
        result = table.add(flat) if insert else table.find(flat)
        parts.append(DocumentIds(result, ends))
    if not parts:
        return DocumentIds(np.empty(0, np.int32), np.empty(0, np.int64))
    return concatenate_documents(parts)


def number_sentences(sentences, min_count) -> NumberedSentences:
    """Words that occur often enough, the most frequent first, and the sentences."""
    table = TokenTable()
    ids, ends = _word_ids(sentences, table)
    counts = np.bincount(ids, minlength=len(table))
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] >= min_count]
    number = np.full(len(counts), -1, np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    kept, ends = known_words(number[ids], ends)
    texts = table.texts()
    return NumberedSentences([texts[i] for i in order], counts[order], kept, ends)


def known_words(ids, ends) -> DocumentIds:
    """Sentences without the words numbered -1."""
    known = ids >= 0
    n_known = np.concatenate([[0], np.cumsum(known)])
    return DocumentIds(np.ascontiguousarray(ids[known]), n_known[ends])


class SimilarWord(NamedTuple):
    """A word and the cosine of its vector to another."""

    word: str
    similarity: float


@saved_state(words_=AnyArray("words"), vectors_=FloatArray("words", None))
@dataclass(eq=False, repr=False)
class AbstractWordVectors(
    TextInput, Transformer, Estimator, auto_wrap_output_keys=None
):
    """Parameters and use of word vectors; `fit` sets `words_` and `vectors_`."""

    vector_size: Count = 100
    _: KW_ONLY
    window: Count = 5
    min_count: Count = 5
    random_state: Seed = None
    verbose: Verbosity = False

    def _number(self, sentences) -> NumberedSentences:
        """Numbered sentences, or one sentence about why there are none."""
        numbered = number_sentences(sentences, self.min_count)
        if not len(numbered.words):
            raise ValueError(
                f"no word of the texts occurs min_count={self.min_count} times: lower "
                f"min_count of {type(self).__name__}."
            )
        return numbered

    def _place(self, word) -> int:
        check_is_fitted(self, "vectors_")
        result = np.flatnonzero(self.words_ == word)
        if not len(result):
            raise KeyError(f"the word {word!r} has no vector.")
        return int(result[0])

    def vector(self, word) -> np.ndarray:
        """The vector of a word; KeyError if it has none."""
        place = self._place(word)
        return self.vectors_[place]

    def similarity(self, word, other) -> float:
        """Cosine of the vectors of two words."""
        a, b = rows_of_unit_length(np.stack([self.vector(word), self.vector(other)]))
        return float(a @ b)

    def most_similar(self, positive, negative=(), *, n=10) -> list[SimilarWord]:
        """Words whose vectors have the largest cosine to a sum of unit vectors.

        Parameters
        ----------
        positive, negative : str or list of str
            Words whose vectors are added and subtracted; they are not answers.
        n : int, default=10
        """
        n = check_count("n", n)
        plus = [positive] if isinstance(positive, str) else list(positive)
        minus = [negative] if isinstance(negative, str) else list(negative)
        places = [self._place(word) for word in (*plus, *minus)]
        if not places:
            raise ValueError("positive and negative have no words.")
        units = rows_of_unit_length(self.vectors_.astype(float))
        signs = np.array([1.0] * len(plus) + [-1.0] * len(minus))
        cosine = units @ rows_of_unit_length(signs @ units[places])
        cosine[places] = -np.inf
        best = np.argsort(-cosine, kind="stable")[
            : min(n, len(cosine) - len({*places}))
        ]
        return [SimilarWord(str(self.words_[i]), float(cosine[i])) for i in best]

    def analogy(self, a, b, c, *, n=1) -> list[SimilarWord]:
        """Answers to "a is to b as c is to ?", eq. (1)."""
        return self.most_similar([b, c], [a], n=n)

    def transform(self, texts) -> np.ndarray:
        """The mean vector of the words of each text, (texts, vector_size).

        Words without a vector are left out; a text of such words only is 0.
        """
        check_is_fitted(self, "vectors_")
        table = TokenTable(self.words_.tolist())
        ids, ends = known_words(*_word_ids(texts, table, insert=False))
        sums = np.zeros((len(ids) + 1, self.vectors_.shape[1]))
        np.cumsum(self.vectors_[ids], axis=0, out=sums[1:])
        sizes = np.diff(ends, prepend=0)
        total = np.diff(sums[ends], axis=0, prepend=sums[:1])
        return total / np.maximum(sizes, 1)[:, None]

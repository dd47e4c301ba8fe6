"""Tokenizer: from texts to arrays of ids and back, with every step a parameter.

    normalise -> split and number -> special tokens -> pad

`model` says what tokens are: words, characters or bytes of a vocabulary that is
learned from texts, or a byte-level tokeniser (`BPE`, `Unigram`). For characters that
are known, for bytes and for byte-level tokenisers, without normalisation,

    decode(encode(text)) = text                                                    (1)

Words are runs of letters and digits or of other signs; white space between them is no
token, and decoding puts one space between words.
"""

from collections import Counter
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator
from ...params import Count, Flag, ParameterError, check_params
from ...persist.saved_state import AnyValue, Each, Part, saved_state
from ..vectorizers.abstract_vectorizer import TextInput, check_documents
from .abstract_byte_tokenizer import AbstractByteTokenizer, Encoding
from .normalizers import Normalizer
from .pre_tokenizers import split_text
from .vocabulary import PaddedIds, Vocabulary, pad_ids


def check_text(text) -> str:
    """Refuse what is no text."""
    if not isinstance(text, str):
        raise ValueError(f"text must be str, got {text!r}.")
    return text


def _split_words(text):
    """Words of a text, and where each ends in its bytes; spaces are left out."""
    pieces = split_text(text, "words")
    words = [piece.decode("utf-8", "surrogatepass") for piece in pieces.texts()]
    kept = [i for i, word in enumerate(words) if not word.isspace()]
    return [words[i] for i in kept], pieces.ends[kept]


def _split_characters(text):
    """Characters of a text, and where each ends in its bytes."""
    sizes = [len(c.encode("utf-8", "surrogatepass")) for c in text]
    return list(text), np.cumsum(sizes, dtype=np.int64)


def _split_bytes(text):
    """Bytes of a text as numbers, and where each ends."""
    data = text.encode("utf-8", "surrogatepass")
    return list(data), np.arange(1, len(data) + 1)


UNITS = {"words": _split_words, "characters": _split_characters, "bytes": _split_bytes}


def _byte_starts(text):
    """Byte offsets of the characters of a text, and of its end."""
    _, ends = _split_characters(text)
    return np.concatenate([[0], ends]).astype(np.int64)


def _are_texts_or_bytes(tokenizer) -> bool:
    """Whether the tokens of a loaded tokeniser are distinct texts, or all bytes."""
    if not hasattr(tokenizer, "tokens_"):
        return True
    tokens = tokenizer.tokens_
    texts = all(type(t) is str for t in tokens) or tokens == list(range(256))
    return texts and len(set(tokens)) == len(tokens)


@saved_state(
    check=_are_texts_or_bytes,
    tokens_=Each(AnyValue()),
    model_=Part(AbstractByteTokenizer, optional=True),
)
@dataclass(eq=False, repr=False)
class Tokenizer(TextInput, Estimator):
    """Ids of texts: normalisation, tokens, special tokens and padding.

    Parameters
    ----------
    model : {"words", "characters", "bytes"}, BPE or Unigram, default="words"
        What tokens are. BPE and Unigram are fitted to the normalised texts.
    normalizer : Normalizer or None, default=None
        What is done to texts before.
    vocab_size : int or None, default=None
        Most words or characters, the most frequent ones; None: all.
    min_frequency : int, default=1
        Words and characters that occur less often are unknown.
    unknown : str or None, default="<unk>"
        Token for words and characters that are not known; None: they are an error.
    padding, start, end : str or None, default="<pad>", "<s>", "</s>"
        Special tokens.
    special_tokens : tuple of str, default=()
        Further special tokens.
    add_ends : bool, default=False
        Whether `encode` puts `start` and `end` around the tokens of a text.

    Attributes
    ----------
    tokens_ : list
        Ordinary tokens by id.
    model_ : fitted BPE or Unigram, or None

    Examples
    --------
    >>> from pansophy.text import Normalizer, Tokenizer
    >>> model = Tokenizer("words", normalizer=Normalizer(lowercase=True))
    >>> model.fit(["The cat sat.", "the dog sat"]).tokens_
    ['sat', 'the', '.', 'cat', 'dog']
    >>> model.encode("The bird sat").tolist()
    [1, 5, 0]
    >>> model.decode(model.encode("The bird sat"))
    'the <unk> sat'
    >>> model.batch(["the cat", "the cat sat"]).ids.tolist()
    [[1, 3, 6], [1, 3, 0]]
    """

    model: Literal["words", "characters", "bytes"] | AbstractByteTokenizer = "words"
    _: KW_ONLY
    normalizer: Normalizer | None = None
    vocab_size: Count | None = None
    min_frequency: Count = 1
    unknown: str | None = "<unk>"
    padding: str | None = "<pad>"
    start: str | None = "<s>"
    end: str | None = "</s>"
    special_tokens: tuple | list = ()
    add_ends: Flag = False

    def fit(self, texts, y=None):
        """Learn the tokens of texts, which may come from an iterator."""
        check_documents(texts)
        check_params(self)
        if self.add_ends and (self.start is None or self.end is None):
            raise ParameterError("add_ends of Tokenizer needs start and end.")
        normalized = (self._normalized(text) for text in texts)
        self.model_ = None
        if isinstance(self.model, AbstractByteTokenizer):
            self.model_ = clone(self.model).fit(normalized)
            self.tokens_ = [str(i) for i in range(len(self.model_.tokens_))]
        elif self.model == "bytes":
            for text in normalized:
                check_text(text)
            self.tokens_ = list(range(256))
        else:
            counts = Counter()
            for text in normalized:
                counts.update(UNITS[self.model](text)[0])
            named = self._special()
            result = Vocabulary.from_counts(
                {t: n for t, n in counts.items() if t not in named},
                max_size=self.vocab_size,
                min_frequency=self.min_frequency,
            )
            self.tokens_ = list(result.tokens)
        return self

    def _normalized(self, text):
        check_text(text)
        return text if self.normalizer is None else self.normalizer(text)

    def _special(self):
        """Special tokens but the unknown and the padding one."""
        named = [t for t in (self.start, self.end) if t is not None]
        return (*named, *self.special_tokens)

    @property
    def vocabulary_(self) -> Vocabulary:
        """The tokens with the special ones after them."""
        check_is_fitted(self, "tokens_")
        is_complete = self.model_ is not None or self.model == "bytes"
        return Vocabulary(
            self.tokens_,
            unknown=None if is_complete else self.unknown,
            padding=self.padding,
            special_tokens=self._special(),
        )

    def encode(self, text) -> np.ndarray:
        """Ids of the tokens of a text."""
        return self.encode_with_offsets(text).ids

    def encode_with_offsets(self, text) -> Encoding:
        """Ids of the tokens of a text, and where they end in its UTF-8 bytes.

        Token i is the bytes offsets[i] to offsets[i + 1] of the text before
        normalisation, with the white space before a word and without what
        normalisation leaves out at the ends; `start` and `end` are no bytes.
        """
        vocabulary = self.vocabulary_
        check_text(text)
        places = None
        plain = text
        if self.normalizer is not None:
            plain, places = self.normalizer.with_places(text)
        if self.model_ is not None:
            ids, offsets = self.model_.encode_with_offsets(plain)
        else:
            tokens, ends = UNITS[self.model](plain)
            ids = vocabulary.ids(tokens)
            offsets = np.concatenate([[0], ends]).astype(np.int64)
        if places is not None:
            # a place inside a character is that of the character
            character = np.searchsorted(_byte_starts(plain), offsets, side="right") - 1
            offsets = _byte_starts(text)[places[character]]
        if self.add_ends:
            border_ids = vocabulary.ids([self.start, self.end])
            ids = np.concatenate([border_ids[:1], ids, border_ids[1:]])
            offsets = np.concatenate([offsets[:1], offsets, offsets[-1:]])
        return Encoding(ids.astype(np.int32), offsets)

    def batch(self, texts, length=None, *, side="right") -> PaddedIds:
        """Ids of texts as one array with a mask; see `Vocabulary.pad`."""
        if self.padding is None:
            raise ParameterError("Tokenizer has no padding token.")
        padding = self.vocabulary_.id(self.padding)
        return pad_ids([self.encode(t) for t in texts], padding, length, side=side)

    def decode(self, ids, *, skip_special=True) -> str:
        """The text of ids.

        Parameters
        ----------
        ids : sequence of int
        skip_special : bool, default=True
            Whether special tokens but the unknown one are left out.
        """
        vocabulary = self.vocabulary_
        hidden = set(vocabulary.special_tokens) - {self.unknown}
        parts: list[str] = []
        ordinary: list[int] = []
        n = len(self.tokens_)
        for i, token in zip(np.asarray(ids).tolist(), vocabulary.tokens_of(ids)):
            if i < n:
                ordinary.append(i)
            elif not (skip_special and token in hidden):
                parts += self._text_of(ordinary)
                ordinary = []
                parts.append(token)
        parts += self._text_of(ordinary)
        return (" " if self.model == "words" else "").join(parts)

    def _text_of(self, ids) -> list[str]:
        """Texts of ordinary tokens."""
        if self.model_ is not None:
            return [self.model_.decode(ids)]
        if self.model == "bytes":
            return [bytes(ids).decode("utf-8", "replace")]
        return [self.tokens_[i] for i in ids]

"""From documents to tokens: what the vectorizers share.

A document goes through four steps, each a parameter:

    decode       bytes, a file or a file name become text
    preprocess   accents are removed, letters become lower case
    tokenize     words by a pattern, or runs of characters (`analyzer`)
    n-grams      runs of m to n tokens without the stop words

The usual choices are compiled (`text.vectorizers.token_table`): words of a known
pattern and runs of characters. Callables, other patterns and methods that a subclass
replaces go through Python, one document at a time, with the same result.
"""

import re
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import chain
from typing import Literal

import numpy as np
from sklearn.feature_extraction.text import (
    ENGLISH_STOP_WORDS,
    strip_accents_ascii,
    strip_accents_unicode,
)

from ...base import Estimator, Transformer
from ...params import Flag, ParameterError
from .token_table import (
    BLOCK,
    DocumentIds,
    PhraseTable,
    TokenTable,
    blocks_of_texts,
    concatenate_documents,
    drop_tokens,
    join_lower,
    join_texts,
)

DEFAULT_PATTERN = r"(?u)\b\w\w+\b"

# patterns of runs of word characters, with the least length of a run
RUNS_OF_WORD_CHARACTERS = {
    DEFAULT_PATTERN: 2,
    r"\b\w\w+\b": 2,
    r"\w\w+": 2,
    r"\w{2,}": 2,
    r"(?u)\b\w+\b": 1,
    r"\b\w+\b": 1,
    r"(?u)\w+": 1,
    r"\w+": 1,
}

ACCENTS = {"ascii": strip_accents_ascii, "unicode": strip_accents_unicode}
REPEATED_SPACE = re.compile(r"\s\s+")
STEPS = ("build_analyzer", "build_tokenizer", "build_preprocessor", "decode")


class TextInput:
    """Role of estimators that are fitted to texts."""

    _takes_texts = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # type: ignore[missing-attribute]
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


@dataclass(eq=False, repr=False)
class AbstractVectorizer(TextInput, Transformer, Estimator, auto_wrap_output_keys=None):
    """Parameters and steps of the analysis of documents."""

    _: KW_ONLY
    input: Literal["filename", "file", "content"] = "content"
    encoding: str = "utf-8"
    decode_error: Literal["strict", "ignore", "replace"] = "strict"
    strip_accents: Literal["ascii", "unicode"] | Callable | None = None
    lowercase: Flag = True
    preprocessor: Callable | None = None
    tokenizer: Callable | None = None
    stop_words: Literal["english"] | list | frozenset | set | tuple | None = None
    token_pattern: str | None = DEFAULT_PATTERN
    ngram_range: tuple | list = (1, 1)
    analyzer: Literal["word", "char", "char_wb"] | Callable = "word"

    def decode(self, doc):
        """A document as text, by the parameters input, encoding and decode_error."""
        if self.input == "filename":
            with open(doc, "rb") as file:
                doc = file.read()
        elif self.input == "file":
            doc = doc.read()
        if isinstance(doc, bytes):
            doc = doc.decode(self.encoding, self.decode_error)
        if not isinstance(doc, str):
            shown = "np.nan" if doc is np.nan else repr(doc)
            if not callable(self.analyzer) and self.preprocessor is None:
                raise ValueError(
                    f"{shown} is an invalid document, expected byte or unicode string."
                )
        return doc

    def build_preprocessor(self):
        """A function that removes accents and makes letters lower case."""
        if self.preprocessor is not None:
            return self.preprocessor
        accents = self.strip_accents
        if isinstance(accents, str):
            if accents not in ACCENTS:
                raise ParameterError(
                    f"strip_accents must be one of {sorted(ACCENTS)}, got {accents!r}."
                )
            accents = ACCENTS[accents]
        return partial(_normalize_text, accents=accents, lower=self.lowercase)

    def build_tokenizer(self):
        """A function that splits a text into tokens."""
        if self.tokenizer is not None:
            return self.tokenizer
        if self.token_pattern is None:
            raise ParameterError("token_pattern must be given without a tokenizer.")
        pattern = re.compile(self.token_pattern)
        if pattern.groups > 1:
            raise ParameterError(
                "More than 1 capturing group in token pattern. Only a single group "
                "should be captured."
            )
        return pattern.findall

    def get_stop_words(self):
        """The stop words as a frozenset, or None."""
        stop = self.stop_words
        if stop is None:
            return None
        if isinstance(stop, str) and stop != "english":
            raise ParameterError(f"not a built-in stop list: {stop}")
        return ENGLISH_STOP_WORDS if isinstance(stop, str) else frozenset(stop)

    def build_analyzer(self):
        """A function that gives the tokens or n-grams of a document."""
        if callable(self.analyzer):
            return partial(_analyze_by_callable, decode=self.decode, by=self.analyzer)
        preprocess = self.build_preprocessor()
        steps = {"decode": self.decode, "preprocess": preprocess}
        if self.analyzer == "word":
            stop_words = self.get_stop_words()
            tokenize = self.build_tokenizer()
            self._check_stop_words_consistency(stop_words, preprocess, tokenize)
            grams = partial(
                _word_ngrams, ngram_range=self.ngram_range, stop_words=stop_words
            )
            return partial(_analyze_document, **steps, tokenize=tokenize, grams=grams)
        if self.analyzer not in ("char", "char_wb"):
            raise ParameterError(
                "analyzer must be 'word', 'char', 'char_wb' or callable, got "
                f"{self.analyzer!r}."
            )
        grams = partial(
            _character_ngrams,
            ngram_range=self.ngram_range,
            within_words=self.analyzer == "char_wb",
        )
        return partial(_analyze_document, **steps, tokenize=None, grams=grams)

    def _check_stop_words_consistency(self, stop_words, preprocess, tokenize):
        """Warn if stop words are not what the steps before make of them."""
        if stop_words is None or stop_words is ENGLISH_STOP_WORDS:
            return
        try:
            tokens = set(chain(*(tokenize(preprocess(word)) for word in stop_words)))
        except Exception:  # steps of the user's may take no single words
            return
        if unexpected := tokens - stop_words:
            warnings.warn(
                "Your stop_words may be inconsistent with your preprocessing. "
                f"Tokenizing the stop words generated tokens {sorted(unexpected)} not "
                "in "
                "stop_words.",
                stacklevel=4,
            )

    def _check_analysis(self):
        """Check n-gram lengths; warn of parameters without effect."""
        try:
            low, high = self.ngram_range
            valid = int(low) == low >= 1 and int(high) == high >= 1
        except (TypeError, ValueError):
            valid = False
            low = high = 1
        if not valid:
            raise ParameterError(
                f"ngram_range of {type(self).__name__} must be two whole numbers of at "
                f"least 1, got {self.ngram_range!r}."
            )
        if low > high:
            raise ParameterError(
                f"Invalid value for ngram_range={self.ngram_range} lower boundary "
                "larger than the upper boundary."
            )
        called = callable(self.analyzer)
        not_words = called or self.analyzer != "word"
        other_pattern = self.token_pattern not in (None, DEFAULT_PATTERN)
        unused = [
            (
                self.tokenizer is not None and self.token_pattern is not None,
                "token_pattern",
                "'tokenizer' is not None",
            ),
            (
                called and self.preprocessor is not None,
                "preprocessor",
                "'analyzer' is callable",
            ),
            (
                called and tuple(self.ngram_range) != (1, 1),
                "ngram_range",
                "'analyzer' is callable",
            ),
            (
                not_words and self.stop_words is not None,
                "stop_words",
                "'analyzer' != 'word'",
            ),
            (not_words and other_pattern, "token_pattern", "'analyzer' != 'word'"),
            (
                not_words and self.tokenizer is not None,
                "tokenizer",
                "'analyzer' != 'word'",
            ),
        ]
        for is_unused, name, reason in unused:
            if is_unused:
                warnings.warn(
                    f"The parameter '{name}' will not be used since {reason}'",
                    stacklevel=4,
                )

    def _is_compiled(self):
        """Whether the analysis is one of those that are compiled."""
        has_own_steps = all(
            getattr(type(self), step) is getattr(AbstractVectorizer, step)
            for step in STEPS
        )
        if not has_own_steps or callable(self.analyzer) or self.tokenizer is not None:
            return False
        return self.analyzer != "word" or self.token_pattern in RUNS_OF_WORD_CHARACTERS

    def _analysis(self):
        """The compiled analysis, an `Analysis`."""
        return Analysis(
            self.build_preprocessor(),
            self.decode,
            str(self.analyzer),
            RUNS_OF_WORD_CHARACTERS.get(self.token_pattern or "", 2),
            (int(self.ngram_range[0]), int(self.ngram_range[1])),
            self.get_stop_words(),
        )


def check_documents(documents):
    """Refuse a single text where documents are expected."""
    if isinstance(documents, str):
        raise ValueError(
            "Iterable over raw text documents expected, string object received."
        )
    return documents


def check_sentence(sentence):
    """A text or a list of words, as it is; anything else is refused."""
    if isinstance(sentence, bytes) or not hasattr(sentence, "__iter__"):
        raise ValueError(
            f"a sentence must be a text or a list of words, got {sentence!r}."
        )
    return sentence


def _normalize_text(text, accents=None, lower=False):
    """A text in lower case, without accents."""
    if lower:
        text = text.lower()
    return text if accents is None else accents(text)


def _analyze_document(doc, *, decode, preprocess, tokenize, grams):
    """Tokens or n-grams of one document, in Python."""
    text = preprocess(decode(doc))
    return grams(text if tokenize is None else tokenize(text))


def _analyze_by_callable(doc, *, decode, by):
    """Tokens of one document by a callable analyzer."""
    return by(decode(doc))


def _word_ngrams(tokens, *, ngram_range, stop_words):
    """Runs of tokens, joined by spaces, without stop words."""
    low, high = ngram_range
    if stop_words is not None:
        tokens = [token for token in tokens if token not in stop_words]
    if (low, high) == (1, 1):
        return tokens
    return [
        " ".join(tokens[i : i + length])
        for length in range(low, min(high, len(tokens)) + 1)
        for i in range(len(tokens) - length + 1)
    ]


def _character_ngrams(text, *, ngram_range, within_words):
    """Runs of characters, of the whole text or inside " word "."""
    low, high = ngram_range
    text = REPEATED_SPACE.sub(" ", text)
    parts = [f" {word} " for word in text.split()] if within_words else [text]
    ngrams = []
    for part in parts:
        for length in range(low, high + 1):
            if length >= len(part):
                if part and (within_words or length == len(part)):
                    ngrams.append(part)
                break
            ngrams += [part[i : i + length] for i in range(len(part) - length + 1)]
    return ngrams


class Analysis:
    """Tokens of documents as ids, compiled; keeps the distinct tokens.

    Parameters
    ----------
    preprocess, decode : functions of a document
    analyzer : {"word", "char", "char_wb"}
    min_length : int
        Of a word.
    ngram_range : (int, int)
    stop_words : frozenset or None
    """

    def __init__(
        self,
        preprocess,
        decode,
        analyzer="word",
        min_length=2,
        ngram_range=(1, 1),
        stop_words=None,
    ):
        self.preprocess = preprocess
        self.decode = decode
        self.analyzer = analyzer
        self.min_length = min_length
        self.ngram_range = ngram_range
        keywords = getattr(preprocess, "keywords", {})
        self.lower_only = keywords == {"accents": None, "lower": True}
        self.has_phrases = analyzer == "word" and ngram_range[1] > 1
        self.stop_words = stop_words if analyzer == "word" else None
        self.tokens = TokenTable()
        self.phrases = PhraseTable()
        self.is_fixed = False
        self.columns = None  # column of each id of a fixed vocabulary, -1 if none
        self._set_stop_words()

    def _set_stop_words(self):
        if not self.stop_words:
            self.is_stop_word = None
            return
        ids = self.tokens.add(sorted(self.stop_words))
        self.is_stop_word = np.zeros(len(self.tokens), np.uint8)
        self.is_stop_word[ids] = 1

    def fix_vocabulary(self, terms):
        """Know these terms only; `columns` says which term an id stands for."""
        if self.has_phrases:
            words = self.tokens.add_parts(terms)
            sizes = np.diff(words.ends, prepend=0)
            phrase_ids = self.phrases.phrases(words, (1, int(sizes.max())))
            # of each term the phrase of all its words is the last that begins at its
            # first word: the first word begins min(its length, longest) phrases
            starts = np.concatenate([[0], phrase_ids.ends[:-1]])
            ids = phrase_ids.ids[starts + sizes - 1]
        else:
            ids = self.tokens.add(terms)
        self.columns = np.full(self.size, -1, np.int64)
        self.columns[ids] = np.arange(len(terms))
        self.is_fixed = True

    @property
    def size(self):
        """Number of distinct tokens or phrases."""
        return len(self.phrases) if self.has_phrases else len(self.tokens)

    def terms(self):
        """Texts of the tokens or phrases, by id."""
        texts = self.tokens.texts()
        return self.phrases.texts(texts) if self.has_phrases else texts

    def blocks(self, documents):
        """`DocumentIds` of documents, block by block."""
        low, high = self.ngram_range
        windows = high * (high - low + 1) if self.analyzer != "word" else 1
        for block in blocks_of_texts(self._texts(documents), BLOCK // windows + 1):
            yield self._ids(block)

    def known_or_new(self, documents) -> DocumentIds:
        """Ids of the tokens of documents; new tokens get the next ids."""
        return concatenate_documents(list(self.blocks(documents)))

    def known(self, documents) -> DocumentIds:
        """Ids of the tokens of documents, -1 where they are not known."""
        was_fixed = self.is_fixed
        self.is_fixed = True
        try:
            return self.known_or_new(documents)
        finally:
            self.is_fixed = was_fixed

    def _texts(self, documents):
        """Texts of documents, preprocessed unless that is lower case alone."""
        decode = self.decode
        preprocess = self.preprocess
        if self.lower_only:
            return (d if type(d) is str else decode(d) for d in documents)
        return (preprocess(decode(d)) for d in documents)

    def _ids(self, texts):
        join = join_lower if self.lower_only else join_texts
        insert = not self.is_fixed
        if self.analyzer == "word":
            result = self.tokens.words(
                join(texts), min_length=self.min_length, insert=insert
            )
            if self.is_stop_word is not None:
                result = drop_tokens(result, self.is_stop_word)
            if self.has_phrases:
                result = self.phrases.phrases(result, self.ngram_range, insert=insert)
            return result
        is_within_words = self.analyzer == "char_wb"
        if is_within_words:
            texts = [f" {'  '.join(t.split())} " if t.split() else "" for t in texts]
        else:
            texts = [REPEATED_SPACE.sub(" ", text) for text in texts]
        return self.tokens.windows(
            join(texts), self.ngram_range, within_words=is_within_words, insert=insert
        )

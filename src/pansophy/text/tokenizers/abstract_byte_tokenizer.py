"""Base class of byte-level tokenisers: pieces and their cache, bytes, special tokens.

A text is cut into pieces by a pre-tokeniser; a piece that has occurred before is looked
up, and the tokeniser encodes the others. Every byte is a token, so each text has tokens
and their bytes, joined, are the text:

    decode(encode(text)) = text                                                    (1)

The ids of single bytes are those of GPT-2, printable ones first; special tokens have
the last ids and are ordinary characters of a text unless `encode` is told to look for
them. Files of Hugging Face tokenizers (JSON) name bytes by characters.
"""

import contextlib
import json
import weakref
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator
from ...core.files.atomic_files import write_text_file
from ...params import Count, ParameterError, check_params
from ..vectorizers.abstract_vectorizer import TextInput, check_documents
from ..vectorizers.token_table import TokenTable, blocks_of_texts
from . import _bpe as loops
from .pre_tokenizers import split_text

CACHED_PIECES = 1 << 18  # more distinct pieces are forgotten
BLOCK = 1 << 20  # characters of text that are read at a time
GPT4_PATTERN = (  # the rule "gpt4" as files of tokenizers write it
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
ISOLATED = {"behavior": "Isolated", "invert": False}  # pieces, and what is between

PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTES_BY_ID = PRINTABLE + [b for b in range(256) if b not in set(PRINTABLE)]
ID_OF_BYTE = np.argsort(BYTES_BY_ID).astype(np.int32)

# the characters that stand for bytes in JSON files: printable ones for themselves
CHARACTER_OF_BYTE = {
    b: chr(b if i < len(PRINTABLE) else 256 + i - len(PRINTABLE))
    for i, b in enumerate(BYTES_BY_ID)
}
BYTE_OF_CHARACTER = {c: b for b, c in CHARACTER_OF_BYTE.items()}

PreTokenizerRule = Literal["gpt2", "gpt4", "words", "bytes"]


class PieceCounts:
    """Distinct pieces of texts and how often they occur."""

    def __init__(self):
        self.table = TokenTable()
        self.counts = np.zeros(0, np.int64)

    def add(self, text, rule):
        """Count the pieces of one more text."""
        ids = self.table.add_bytes(*split_text(text, rule))
        new_counts = np.bincount(ids, minlength=len(self.table))
        new_counts[: len(self.counts)] += self.counts
        self.counts = new_counts


class PieceTokens(NamedTuple):
    """Tokens of pieces, one after the other, and where those of each piece end."""

    tokens: np.ndarray  # int32
    ends: np.ndarray  # int64


class PieceEncoder:
    """Encodes pieces of texts, and remembers the tokens of those that have occurred.

    Parameters
    ----------
    encode_new : function (bytes, bounds) -> PieceTokens
        Tokens of pieces data[bounds[i]:bounds[i + 1]] that are new.
    """

    def __init__(self, encode_new: Callable):
        self.encode_new = encode_new
        self.forget()

    def forget(self):
        """Begin with no piece."""
        self.pieces = TokenTable()
        self.starts = np.empty(0, np.int64)
        self.ends = np.empty(0, np.int64)
        self.tokens = np.empty(0, np.int32)

    def encode(self, pieces):
        """Tokens of the pieces of a text."""
        if len(self.pieces) > CACHED_PIECES:
            self.forget()
        known = len(self.pieces)
        ids = self.pieces.add_bytes(*pieces)
        if len(self.pieces) > known:
            self._add(*self.encode_new(*self.pieces.symbols(known)))
        sizes = (self.ends - self.starts)[ids]
        out = np.empty(int(sizes.sum()), np.int32)
        loops.gather_pieces(ids, self.starts, self.ends, self.tokens, out)
        return out

    def _add(self, tokens, ends):
        offset = len(self.tokens)
        self.tokens = np.concatenate([self.tokens, tokens])
        starts = np.concatenate([[0], ends[:-1]])
        self.starts = np.concatenate([self.starts, starts + offset])
        self.ends = np.concatenate([self.ends, ends + offset])


ENCODERS: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


class Encoding(NamedTuple):
    """Tokens of a text; token i is the bytes offsets[i] to offsets[i + 1] of it."""

    ids: np.ndarray
    offsets: np.ndarray


def tokens_are_sound(model) -> bool:
    """Whether tokens are bytes, with all single ones among the ordinary ones."""
    tokens = model.tokens_
    if not all(type(token) is bytes for token in tokens):
        return False
    n = model.n_ordinary_
    single = {token for token in tokens[:n] if len(token) == 1}
    return len(single) == 256 and n <= len(tokens)


@dataclass(eq=False, repr=False)
class AbstractByteTokenizer(TextInput, Estimator):
    """Encoding and decoding of texts by tokens that are bytes.

    A subclass gives `_learn`, `_piece_encoder` and its parameters.
    """

    vocab_size: Count = 8000
    _: KW_ONLY
    pre_tokenizer: PreTokenizerRule = "gpt2"
    special_tokens: tuple | list = ()

    def fit(self, texts, y=None):
        """Learn the tokens of texts, which may come from an iterator."""
        check_documents(texts)
        check_params(self)
        return self._fit(texts)

    def fit_files(self, paths):
        """Learn the tokens of text files, read a block at a time."""
        check_params(self)
        paths = [paths] if isinstance(paths, (str, Path)) else list(paths)
        return self._fit(lines_of_files(paths))

    def _fit(self, texts):
        n_tokens = self.vocab_size - len(self.special_tokens)
        if n_tokens < 256:
            raise ParameterError(
                f"vocab_size of {type(self).__name__} must be at least 256 and the "
                f"special tokens, got {self.vocab_size}."
            )
        pieces = PieceCounts()
        for text in texts:
            if not isinstance(text, str):
                raise ValueError(f"texts must be str, got {text!r}.")
            pieces.add(text, self.pre_tokenizer)
        self._learn(pieces, n_tokens)
        return self

    @abstractmethod
    def _learn(self, pieces: PieceCounts, n_tokens) -> None:
        """Learn so many ordinary tokens from pieces."""

    @abstractmethod
    def _piece_encoder(self) -> PieceEncoder:
        """Encoder of pieces by the tokens that were learned."""

    def _set_tokens(self, tokens):
        special = [str(t).encode() for t in self.special_tokens]
        self.tokens_ = [*tokens, *special]
        self.n_ordinary_ = len(tokens)
        ENCODERS.pop(self, None)

    def _encoder(self) -> PieceEncoder:
        check_is_fitted(self, "tokens_")
        if self not in ENCODERS:
            ENCODERS[self] = self._piece_encoder()
        return ENCODERS[self]

    def encode(self, text, *, allowed_special=()) -> np.ndarray:
        """Ids of the tokens of a text.

        Parameters
        ----------
        text : str or bytes
            Bytes need not be UTF-8; `decode(..., errors="surrogateescape")` and
            `decode_bytes` give them back.
        allowed_special : tuple of str or "all"
            Special tokens to look for; others are ordinary characters.
        """
        return self.encode_with_offsets(text, allowed_special=allowed_special).ids

    def encode_with_offsets(self, text, *, allowed_special=()) -> Encoding:
        """Ids of the tokens of a text, and where they are in its UTF-8 bytes."""
        if isinstance(text, bytes):
            text = text.decode("utf-8", "surrogateescape")
        if not isinstance(text, str):
            raise ValueError(f"text must be str or bytes, got {text!r}.")
        encoder = self._encoder()
        return self._encode_pieces(text, allowed_special, encoder.encode)

    def _encode_pieces(self, text, allowed_special, encode) -> Encoding:
        """Tokens of a text, by a function of its `Pieces`."""
        ids = []
        for part, special in self._split_special(text, allowed_special):
            if special is not None:
                ids.append(np.array([special], np.int32))
            elif part:
                is_one_piece = self.pre_tokenizer == "bytes"  # which is one piece
                for block in [part] if is_one_piece else blocks_at_spaces(part):
                    ids.append(encode(split_text(block, self.pre_tokenizer)))
        result = np.concatenate(ids) if ids else np.empty(0, np.int32)
        return Encoding(result, np.concatenate([[0], np.cumsum(self._sizes()[result])]))

    def _sizes(self):
        """Number of bytes of each token."""
        return np.fromiter(map(len, self.tokens_), np.int64, len(self.tokens_))

    def _split_special(self, text, allowed):
        """(text, None) and ("", id) parts of a text, by the special tokens in it."""
        allowed = self.special_tokens if allowed == "all" else tuple(allowed)
        unknown = [t for t in allowed if t not in self.special_tokens]
        if unknown:
            raise ParameterError(f"special tokens {unknown} are not known.")
        position = 0
        while allowed:
            results = [(text.find(t, position), -len(t), t) for t in allowed]
            results = [f for f in results if f[0] >= 0]
            if not results:
                break
            place, _, token = min(results)
            yield text[position:place], None
            yield "", self.n_ordinary_ + list(self.special_tokens).index(token)
            position = place + len(token)
        yield text[position:], None

    def decode_bytes(self, ids) -> bytes:
        """The bytes of tokens."""
        check_is_fitted(self, "tokens_")
        tokens = self.tokens_
        numbers = np.asarray(ids)
        is_integer = numbers.dtype.kind in "iu" or not numbers.size
        if not is_integer or (numbers < 0).any() or (numbers >= len(tokens)).any():
            raise ValueError(f"ids must be below {len(tokens)}, whole and at least 0.")
        return b"".join([tokens[i] for i in numbers.astype(np.int64)])

    def decode(self, ids, errors="replace") -> str:
        """The text of tokens; `errors` says what to do with broken UTF-8."""
        return self.decode_bytes(ids).decode("utf-8", errors)


def byte_characters(token) -> str:
    """Bytes as the characters that stand for them in JSON files."""
    return "".join(map(CHARACTER_OF_BYTE.__getitem__, token))


def bytes_of_characters(text) -> bytes:
    """The bytes that characters of JSON files stand for."""
    return bytes(map(BYTE_OF_CHARACTER.__getitem__, text))


def write_byte_level_file(path, tokenizer, model) -> None:
    """Write a file of Hugging Face tokenizers; `model` is the part of that name."""
    if tokenizer.pre_tokenizer == "words":
        raise ParameterError(
            'files of tokenizers need pre_tokenizer "gpt2", "gpt4" or "bytes".'
        )
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    pre_tokenizer = {**byte_level, "use_regex": tokenizer.pre_tokenizer == "gpt2"}
    if tokenizer.pre_tokenizer == "gpt4":
        split = {"type": "Split", "pattern": {"Regex": GPT4_PATTERN}, **ISOLATED}
        pre_tokenizer = {"type": "Sequence", "pretokenizers": [split, pre_tokenizer]}
    content = {
        "version": "1.0",
        "added_tokens": [
            {
                "id": tokenizer.n_ordinary_ + i, "content": token, "single_word": False,
                "lstrip": False, "rstrip": False, "normalized": False, "special": True,
            }
            for i, token in enumerate(tokenizer.special_tokens)
        ],
        "pre_tokenizer": pre_tokenizer,
        "decoder": {**byte_level, "use_regex": True},
        "model": model,
    }  # fmt: skip
    write_text_file(path, json.dumps(content, ensure_ascii=False))


class ByteLevelFile(NamedTuple):
    """Contents of a JSON file of Hugging Face tokenizers."""

    model: dict
    pre_tokenizer: Literal["gpt2", "gpt4", "bytes"]
    special_tokens: tuple
    special_ids: tuple

    def check_special_ids(self, path, n_ordinary, kind) -> None:
        """Raise ValueError if ids of special tokens do not follow the ordinary ones."""
        n = len(self.special_ids)
        if self.special_ids != tuple(range(n_ordinary, n_ordinary + n)):
            raise ValueError(
                f"{path} gives its special tokens the ids {list(self.special_ids)[:5]}"
                f"{', ...' if n > 5 else ''}; {kind} reads files in which they follow "
                f"the ordinary ones, from {n_ordinary} on."
            )


@contextlib.contextmanager
def wrong_content_as_one_sentence(path, kind):
    """Turn the errors of a file that is built in another way into one sentence."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(
            f"{path} is not a byte-level {kind} file of tokenizers."
        ) from error


def _pre_tokenizer_of_file(path, pre, kind) -> Literal["gpt2", "gpt4", "bytes"]:
    """The name of the pre-tokeniser that a file of tokenizers describes."""
    parts = pre["pretokenizers"] if pre.get("type") == "Sequence" else [pre]
    *splits, last = parts
    if last.get("type") != "ByteLevel":
        raise ValueError(f"{path} is not a byte-level {kind} file of tokenizers.")
    if last.get("add_prefix_space"):
        raise ValueError(
            f"{path} adds a space before a text (add_prefix_space), which {kind} does "
            "not."
        )
    uses_regex = last.get("use_regex", True)
    if not splits:
        return "gpt2" if uses_regex else "bytes"
    for split in splits:
        pattern = (split.get("pattern") or {}).get("Regex")
        if split.get("type") != "Split" or pattern is None:
            raise ValueError(
                f"{path} cuts texts by {split.get('type')!r}, which {kind} does not."
            )
        options = {key: split.get(key) for key in ISOLATED}
        if pattern != GPT4_PATTERN or options != ISOLATED or uses_regex:
            raise ValueError(
                f"{path} cuts texts by the regular expression {pattern!r}; {kind} "
                "reads those of GPT-2 and GPT-4."
            )
    return "gpt4"


def read_byte_level_file(path, kind) -> ByteLevelFile:
    """Read a file of Hugging Face tokenizers with a byte-level model of one kind."""
    content = json.loads(Path(path).read_text("utf-8"))
    model = content["model"]
    if model.get("type") != kind:
        raise ValueError(f"{path} is not a byte-level {kind} file of tokenizers.")
    rule = _pre_tokenizer_of_file(path, content.get("pre_tokenizer") or {}, kind)
    if normalizer := content.get("normalizer"):
        raise ValueError(
            f"{path} has a normalizer ({normalizer.get('type')}), which {kind} has not."
        )
    special = {t["content"]: t["id"] for t in content.get("added_tokens", [])}
    return ByteLevelFile(
        model,
        rule,
        tuple(sorted(special, key=special.__getitem__)),
        tuple(sorted(special.values())),
    )


def lines_of_files(paths):
    """Texts of about `BLOCK` characters of files, cut at ends of lines."""
    for path in paths:
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            for block in blocks_of_texts(file, BLOCK):
                yield "".join(block)


def blocks_at_spaces(text):
    """A long text in blocks, cut where every rule begins a new piece.

    That is at a space between two letters.
    """
    start = 0
    while len(text) - start > BLOCK:
        end = start + BLOCK
        while end < len(text):
            end = text.find(" ", end)
            if end < 0:
                end = len(text)
            elif text[end - 1].isalpha() and text[end + 1 : end + 2].isalpha():
                break
            else:
                end += 1
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]

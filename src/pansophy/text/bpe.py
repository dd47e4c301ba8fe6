"""Byte-pair encoding: tokens of a text, from single bytes up to frequent words.

Training starts from the 256 bytes as tokens and repeats: the pair of neighbouring
tokens that is most frequent becomes a new token. Of equally frequent pairs the one
with the smaller ids is merged first, left id before right id. Pairs do not cross the
pieces of a pre-tokeniser (`text.pre_tokenizers`), so only the distinct pieces and how
often they occur matter, and a text of any size is read once.

Encoding cuts a text into pieces and merges in each the pair that was learnt first,
until none is left; a piece that has occurred before is looked up. Decoding joins the
bytes of the tokens, so that every text comes back exactly.

The ids of single bytes are those of GPT-2: printable ones first. Files of tokenizers
(JSON) and of tiktoken (base64 and rank) are read and written. The latter knows no
pairs: any two tokens whose bytes together are a token merge, the lowest rank first.

Cost      training O(text) + O(symbols of the distinct pieces * log); encoding O(text)
          while pieces repeat, O(n log n) in the length n of a new piece
Refs      [Gage1994]; [Sennrich2016]; [Radford2019] bytes
"""

import base64
import json
import weakref
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator
from ..core.atomic_files import replacing_file, write_text_file
from ..params import Count, ParameterError, check_params
from ..persist.saved_state import AnyValue, Each, IntArray, Whole, saved_state
from . import _bpe as loops
from ._bpe import MergeTable
from .abstract_vectorizer import TextInput, check_documents
from .pre_tokenizers import split_text
from .token_table import TokenTable, blocks_of_texts

LONGEST_SCAN = 64  # bytes of a piece from which on a heap is quicker than scanning
CACHED_PIECES = 1 << 18  # more distinct pieces are forgotten
BLOCK = 1 << 20  # characters of text that are read at a time

PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTES_BY_ID = PRINTABLE + [b for b in range(256) if b not in set(PRINTABLE)]
ID_OF_BYTE = np.argsort(BYTES_BY_ID).astype(np.int32)

# the characters that stand for bytes in JSON files: printable ones for themselves
CHARACTER_OF_BYTE = {
    b: chr(b if i < len(PRINTABLE) else 256 + i - len(PRINTABLE))
    for i, b in enumerate(BYTES_BY_ID)
}
BYTE_OF_CHARACTER = {c: b for b, c in CHARACTER_OF_BYTE.items()}


class PieceCounts:
    """Distinct pieces of texts and how often they occur."""

    def __init__(self):
        self.table = TokenTable()
        self.counts = np.zeros(0, np.int64)

    def add(self, text, rule):
        """Count the pieces of one more text."""
        ids = self.table.add_bytes(*split_text(text, rule))
        more = np.bincount(ids, minlength=len(self.table))
        more[: len(self.counts)] += self.counts
        self.counts = more


class Encoder:
    """Tables for encoding, with the tokens of the pieces that have occurred."""

    def __init__(self, byte_tokens, merges: MergeTable):
        self.byte_tokens = byte_tokens
        self.merges = merges
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
            self._encode_new(known)
        sizes = (self.ends - self.starts)[ids]
        out = np.empty(int(sizes.sum()), np.int32)
        loops.gather_pieces(ids, self.starts, self.ends, self.tokens, out)
        return out

    def _encode_new(self, known):
        data, bounds = self.pieces.symbols(known)
        out = np.empty(len(data), np.int32)
        ends = np.empty(len(bounds) - 1, np.int64)
        n = loops.encode_pieces(
            data, bounds[:-1], bounds[1:], self.byte_tokens, self.merges,
            LONGEST_SCAN, out, ends,
        )  # fmt: skip
        at = len(self.tokens)
        self.tokens = np.concatenate([self.tokens, out[:n]])
        starts = np.concatenate([[0], ends[:-1]])
        self.starts = np.concatenate([self.starts, starts + at])
        self.ends = np.concatenate([self.ends, ends + at])


ENCODERS: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


class Encoding(NamedTuple):
    """Tokens of a text; token i is the bytes offsets[i] to offsets[i + 1] of it."""

    ids: np.ndarray
    offsets: np.ndarray


def merges_are_sound(model) -> bool:
    """Whether tokens are bytes, with all single ones, and merges are of tokens."""
    if not hasattr(model, "tokens_"):
        return True
    tokens = model.tokens_
    if not all(type(token) is bytes for token in tokens):
        return False
    n = model.n_ordinary_
    single = {token for token in tokens[:n] if len(token) == 1}
    if len(single) != 256 or n > len(tokens):
        return False
    if model.merges_ is None:
        return True
    earlier = model.merges_ < np.arange(256, 256 + len(model.merges_))[:, None]
    return bool(earlier.all()) and n == 256 + len(model.merges_)


@saved_state(
    check=merges_are_sound,
    merges_=IntArray("merges", 2, low=0, dtype=np.int32, optional=True),
    tokens_=Each(AnyValue()),
    n_ordinary_=Whole(low=256),
)
@dataclass(eq=False, repr=False)
class BPE(TextInput, Estimator):
    """Byte-pair encoding of text.

    Parameters
    ----------
    vocab_size : int, default=8000
        Number of tokens, with the 256 bytes and the special ones.
    pre_tokenizer : {"gpt2", "gpt4", "words", "bytes"}, default="gpt2"
        How texts are cut into pieces, which tokens do not cross.
    special_tokens : tuple of str, default=()
        Tokens of their own, with the last ids. In a text they are ordinary characters
        unless `encode` is told to look for them.
    min_frequency : int, default=1
        Pairs that occur less often are not merged.

    Attributes
    ----------
    merges_ : array of shape (n_merges, 2)
        Ids that became a token, in order.
    tokens_ : list of bytes
        Bytes of each id.

    Examples
    --------
    >>> from pansophy.text import BPE
    >>> model = BPE(vocab_size=260).fit(["low lower lowest"])
    >>> [model.tokens_[i] for i in model.encode("slow")]
    [b's', b'low']
    >>> model.decode(model.encode("any text, even 日本"))
    'any text, even 日本'
    """

    vocab_size: Count = 8000
    _: KW_ONLY
    pre_tokenizer: Literal["gpt2", "gpt4", "words", "bytes"] = "gpt2"
    special_tokens: tuple | list = ()
    min_frequency: Count = 1

    def fit(self, texts: Iterable[str], y=None):
        """Learn the merges of texts, which may come from an iterator."""
        check_documents(texts)
        check_params(self)
        return self._fit(texts)

    def fit_files(self, paths):
        """Learn the merges of text files, read a block at a time."""
        check_params(self)
        paths = [paths] if isinstance(paths, (str, Path)) else list(paths)
        return self._fit(lines_of_files(paths))

    def _fit(self, texts):
        n_merges = self.vocab_size - 256 - len(self.special_tokens)
        if n_merges < 0:
            raise ParameterError(
                "vocab_size of BPE must be at least 256 and the special tokens, got "
                f"{self.vocab_size}."
            )
        pieces = PieceCounts()
        for text in texts:
            if not isinstance(text, str):
                raise ValueError(f"texts must be str, got {text!r}.")
            pieces.add(text, self.pre_tokenizer)
        data, bounds = pieces.table.symbols()
        self.merges_ = loops.learn_merges(
            ID_OF_BYTE[data], bounds, pieces.counts, 256, n_merges, self.min_frequency
        )
        tokens = [bytes([b]) for b in BYTES_BY_ID]
        for left, right in self.merges_.tolist():
            tokens.append(tokens[left] + tokens[right])
        self._set_tokens(tokens)
        return self

    def _set_tokens(self, tokens):
        special = [str(t).encode() for t in self.special_tokens]
        self.tokens_ = [*tokens, *special]
        self.n_ordinary_ = len(tokens)
        ENCODERS.pop(self, None)

    def _encoder(self) -> Encoder:
        check_is_fitted(self, "tokens_")
        if self not in ENCODERS:
            ordinary = self.tokens_[: self.n_ordinary_]
            index = {token: i for i, token in enumerate(ordinary)}
            byte_tokens = [index[bytes([b])] for b in range(256)]
            if self.merges_ is None:
                made = merges_of_tokens(ordinary, index)
            else:
                left, right = self.merges_.T.astype(np.uint64)
                n = len(self.merges_)
                results = np.arange(256, 256 + n, dtype=np.int32)
                ranks = np.arange(n, dtype=np.int32)
                made = merge_table((left << np.uint64(32)) | right, results, ranks)
            ENCODERS[self] = Encoder(np.array(byte_tokens, np.int32), made)
        return ENCODERS[self]

    def encode(self, text, *, allowed_special=()) -> np.ndarray:
        """Ids of the tokens of a text.

        Parameters
        ----------
        text : str
        allowed_special : tuple of str or "all"
            Special tokens to look for; others are ordinary characters.
        """
        return self.encode_with_offsets(text, allowed_special=allowed_special).ids

    def encode_with_offsets(self, text, *, allowed_special=()) -> Encoding:
        """Ids of the tokens of a text, and where they are in its UTF-8 bytes."""
        if not isinstance(text, str):
            raise ValueError(f"text must be str, got {text!r}.")
        encoder = self._encoder()
        ids = []
        for part, special in self._split_special(text, allowed_special):
            if special is not None:
                ids.append(np.array([special], np.int32))
            elif part:
                whole = self.pre_tokenizer == "bytes"  # which is one piece
                for block in [part] if whole else blocks_at_spaces(part):
                    ids.append(encoder.encode(split_text(block, self.pre_tokenizer)))
        found = np.concatenate(ids) if ids else np.empty(0, np.int32)
        return Encoding(found, np.concatenate([[0], np.cumsum(self._sizes()[found])]))

    def _sizes(self):
        """Number of bytes of each token."""
        return np.fromiter(map(len, self.tokens_), np.int64, len(self.tokens_))

    def _split_special(self, text, allowed):
        """(text, None) and ("", id) parts of a text, by the special tokens in it."""
        allowed = self.special_tokens if allowed == "all" else tuple(allowed)
        unknown = [t for t in allowed if t not in self.special_tokens]
        if unknown:
            raise ParameterError(f"special tokens {unknown} are not known.")
        at = 0
        while allowed:
            found = [(text.find(t, at), -len(t), t) for t in allowed]
            found = [f for f in found if f[0] >= 0]
            if not found:
                break
            where, _, token = min(found)
            yield text[at:where], None
            yield "", self.n_ordinary_ + list(self.special_tokens).index(token)
            at = where + len(token)
        yield text[at:], None

    def decode_bytes(self, ids) -> bytes:
        """The bytes of tokens."""
        check_is_fitted(self, "tokens_")
        tokens = self.tokens_
        try:
            return b"".join([tokens[i] for i in np.asarray(ids, dtype=np.int64)])
        except IndexError as error:
            raise ValueError(f"ids must be below {len(tokens)}.") from error

    def decode(self, ids, errors="replace") -> str:
        """The text of tokens; `errors` says what to do with broken UTF-8."""
        return self.decode_bytes(ids).decode("utf-8", errors)

    def to_json(self, path) -> None:
        """Write a file that Hugging Face tokenizers read."""
        check_is_fitted(self, "tokens_")
        if self.pre_tokenizer not in ("gpt2", "bytes") or self.merges_ is None:
            raise ParameterError(
                'files of tokenizers need merges and pre_tokenizer "gpt2" or "bytes".'
            )
        n = self.n_ordinary_
        names = [byte_characters(token) for token in self.tokens_[:n]]
        byte_level = {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": True,
        }
        content = {
            "version": "1.0",
            "added_tokens": [
                {
                    "id": n + i, "content": token, "single_word": False,
                    "lstrip": False, "rstrip": False, "normalized": False,
                    "special": True,
                }
                for i, token in enumerate(self.special_tokens)
            ],
            "pre_tokenizer": {**byte_level, "use_regex": self.pre_tokenizer == "gpt2"},
            "decoder": {**byte_level, "use_regex": True},
            "model": {
                "type": "BPE",
                "vocab": {name: i for i, name in enumerate(names)},
                "merges": [[names[i], names[j]] for i, j in self.merges_.tolist()],
            },
        }  # fmt: skip
        write_text_file(path, json.dumps(content, ensure_ascii=False))

    @classmethod
    def from_json(cls, path):
        """Read a byte-level file of Hugging Face tokenizers."""
        content = json.loads(Path(path).read_text("utf-8"))
        model = content["model"]
        pre = content.get("pre_tokenizer") or {}
        if model.get("type") != "BPE" or pre.get("type") != "ByteLevel":
            raise ValueError(f"{path} is not a byte-level BPE file of tokenizers.")
        index = {bytes_of_characters(k): v for k, v in model["vocab"].items()}
        special = {t["content"]: t["id"] for t in content.get("added_tokens", [])}
        merges = []
        for merge in model["merges"]:
            left, right = merge.split(" ") if isinstance(merge, str) else merge
            merges.append((bytes_of_characters(left), bytes_of_characters(right)))
        ordered = [bytes([b]) for b in BYTES_BY_ID]
        ordered += [left + right for left, right in merges]
        if [index.get(token) for token in ordered] != list(range(len(ordered))):
            raise ValueError(f"{path}: ids are not those of bytes and merges in order.")
        use_regex = pre.get("use_regex", True)
        names = sorted(special, key=special.__getitem__)
        self = cls(
            len(ordered) + len(names),
            pre_tokenizer="gpt2" if use_regex else "bytes",
            special_tokens=tuple(names),
        )
        pairs = [(index[left], index[right]) for left, right in merges]
        self.merges_ = np.array(pairs, dtype=np.int32).reshape(-1, 2)
        self._set_tokens(ordered)
        return self

    def to_tiktoken(self, path) -> None:
        """Write a file of tiktoken: a token in base64 and its rank in each line."""
        check_is_fitted(self, "tokens_")
        lines = [
            base64.b64encode(token) + f" {i}\n".encode()
            for i, token in enumerate(self.tokens_[: self.n_ordinary_])
        ]
        with replacing_file(path) as draft:
            draft.write_bytes(b"".join(lines))

    @classmethod
    def from_tiktoken(
        cls,
        path,
        *,
        pre_tokenizer: Literal["gpt2", "gpt4", "words", "bytes"] = "gpt4",
        special_tokens=(),
    ):
        """Read a file of tiktoken; its pre-tokeniser is not in the file."""
        ranks = {}
        for line in Path(path).read_bytes().splitlines():
            token, rank = line.split()
            ranks[base64.b64decode(token)] = int(rank)
        if sorted(ranks.values()) != list(range(len(ranks))):
            raise ValueError(f"{path}: ranks must be 0, 1, 2, ... once each.")
        missing = [b for b in range(256) if bytes([b]) not in ranks]
        if missing:
            raise ValueError(f"{path}: there is no token for the byte {missing[0]}.")
        self = cls(
            len(ranks) + len(special_tokens),
            pre_tokenizer=pre_tokenizer,
            special_tokens=tuple(special_tokens),
        )
        self.merges_ = None
        self._set_tokens(sorted(ranks, key=ranks.__getitem__))
        return self


def merge_table(keys, results, ranks) -> MergeTable:
    """The hash table of merges."""
    slots = np.zeros(1 << max(4, (2 * len(keys)).bit_length()), np.int32)
    loops.fill_merge_slots(slots, keys)
    return MergeTable(slots, keys, results, ranks)


def merges_of_tokens(tokens, index) -> MergeTable:
    """Merges of every two tokens whose bytes are a token, with its id as rank."""
    keys = []
    results = []
    for rank, token in enumerate(tokens):
        for cut in range(1, len(token)):
            left = index.get(token[:cut])
            right = index.get(token[cut:])
            if left is not None and right is not None:
                keys.append((left << 32) | right)
                results.append(rank)
    made = np.array(results, dtype=np.int32)
    return merge_table(np.array(keys, dtype=np.uint64), made, made)


def byte_characters(token) -> str:
    """Bytes as the characters that stand for them in JSON files."""
    return "".join(map(CHARACTER_OF_BYTE.__getitem__, token))


def bytes_of_characters(text) -> bytes:
    """The bytes that characters of JSON files stand for."""
    return bytes(map(BYTE_OF_CHARACTER.__getitem__, text))


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
    at = 0
    while len(text) - at > BLOCK:
        end = at + BLOCK
        while end < len(text):
            end = text.find(" ", end)
            if end < 0:
                end = len(text)
            elif text[end - 1].isalpha() and text[end + 1 : end + 2].isalpha():
                break
            else:
                end += 1
        yield text[at:end]
        at = end
    yield text[at:]

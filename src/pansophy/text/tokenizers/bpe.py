"""Byte-pair encoding: tokens of a text, from single bytes up to frequent words.

Training starts from the 256 bytes as tokens and repeats: the pair of neighbouring
tokens that is most frequent becomes a new token. Of equally frequent pairs the one
with the smaller ids is merged first, left id before right id. Pairs do not cross the
pieces of a pre-tokeniser (`text.tokenizers.pre_tokenizers`), so only the distinct
pieces and how often they occur matter, and a text of any size is read once.

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
from dataclasses import KW_ONLY, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...core.files.atomic_files import replacing_file
from ...params import Count, ParameterError
from ...persist.saved_state import AnyValue, Each, IntArray, Whole, saved_state
from . import _bpe as loops
from ._bpe import MergeTable
from .abstract_byte_tokenizer import (
    BYTES_BY_ID,
    ID_OF_BYTE,
    AbstractByteTokenizer,
    Encoding,
    PieceEncoder,
    PieceTokens,
    PreTokenizerRule,
    byte_characters,
    bytes_of_characters,
    read_byte_level_file,
    tokens_are_sound,
    write_byte_level_file,
    wrong_content_as_one_sentence,
)

__all__ = ["BPE", "BYTES_BY_ID", "ID_OF_BYTE", "Encoding"]

LONGEST_SCAN = 64  # bytes of a piece from which on a heap is quicker than scanning


def _encode_by_merges(data, bounds, *, byte_tokens, merges: MergeTable) -> PieceTokens:
    """Tokens of pieces of bytes, by merging."""
    out = np.empty(len(data), np.int32)
    ends = np.empty(len(bounds) - 1, np.int64)
    n = loops.encode_pieces(
        data, bounds[:-1], bounds[1:], byte_tokens, merges, LONGEST_SCAN, out, ends
    )
    return PieceTokens(out[:n], ends)


def _merges_are_sound(model) -> bool:
    """Whether tokens are bytes, with all single ones, and merges are of tokens."""
    if not hasattr(model, "tokens_"):
        return True
    if not tokens_are_sound(model):
        return False
    if model.merges_ is None:
        return True
    earlier = model.merges_ < np.arange(256, 256 + len(model.merges_))[:, None]
    return bool(earlier.all()) and model.n_ordinary_ == 256 + len(model.merges_)


@saved_state(
    check=_merges_are_sound,
    merges_=IntArray("merges", 2, low=0, dtype=np.int32, optional=True),
    tokens_=Each(AnyValue()),
    n_ordinary_=Whole(low=256),
)
@dataclass(eq=False, repr=False)
class BPE(AbstractByteTokenizer):
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

    _: KW_ONLY
    min_frequency: Count = 1

    def _learn(self, pieces, n_tokens):
        data, bounds = pieces.table.symbols()
        self.merges_ = loops.learn_merges(
            ID_OF_BYTE[data],
            bounds,
            pieces.counts,
            256,
            n_tokens - 256,
            self.min_frequency,
        )
        tokens = [bytes([b]) for b in BYTES_BY_ID]
        for left, right in self.merges_.tolist():
            tokens.append(tokens[left] + tokens[right])
        self._set_tokens(tokens)

    def _piece_encoder(self):
        ordinary = self.tokens_[: self.n_ordinary_]
        index = {token: i for i, token in enumerate(ordinary)}
        byte_tokens = [index[bytes([b])] for b in range(256)]
        if self.merges_ is None:
            table = _merges_of_tokens(ordinary, index)
        else:
            left, right = self.merges_.T.astype(np.uint64)
            n = len(self.merges_)
            results = np.arange(256, 256 + n, dtype=np.int32)
            ranks = np.arange(n, dtype=np.int32)
            table = _merge_table((left << np.uint64(32)) | right, results, ranks)
        return PieceEncoder(
            partial(
                _encode_by_merges,
                byte_tokens=np.array(byte_tokens, np.int32),
                merges=table,
            )
        )

    def to_json(self, path) -> None:
        """Write a file that Hugging Face tokenizers read."""
        check_is_fitted(self, "tokens_")
        if self.merges_ is None:
            raise ParameterError("files of tokenizers need merges.")
        names = [byte_characters(token) for token in self.tokens_[: self.n_ordinary_]]
        model = {
            "type": "BPE",
            "vocab": {name: i for i, name in enumerate(names)},
            "merges": [[names[i], names[j]] for i, j in self.merges_.tolist()],
        }
        write_byte_level_file(path, self, model)

    @classmethod
    def from_json(cls, path):
        """Read a byte-level file of Hugging Face tokenizers."""
        with wrong_content_as_one_sentence(path, "BPE"):
            return cls._from_json(path)

    @classmethod
    def _from_json(cls, path):
        file = read_byte_level_file(path, "BPE")
        n_ordinary = 256 + len(file.model["merges"])
        file.check_special_ids(path, n_ordinary, "BPE")
        index = {bytes_of_characters(k): v for k, v in file.model["vocab"].items()}
        merges = []
        for merge in file.model["merges"]:
            left, right = merge.split(" ") if isinstance(merge, str) else merge
            merges.append((bytes_of_characters(left), bytes_of_characters(right)))
        ordered = [bytes([b]) for b in BYTES_BY_ID]
        ordered += [left + right for left, right in merges]
        if [index.get(token) for token in ordered] != list(range(len(ordered))):
            raise ValueError(f"{path}: {_why_ids_differ(index)}.")
        self = cls(
            len(ordered) + len(file.special_tokens),
            pre_tokenizer=file.pre_tokenizer,
            special_tokens=file.special_tokens,
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
        pre_tokenizer: PreTokenizerRule = "gpt4",
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


def _why_ids_differ(index) -> str:
    """A phrase for a vocabulary that is not bytes and merges in order."""
    missing = [b for b in range(256) if bytes([b]) not in index]
    if missing:
        return (
            f"there is no token for {len(missing)} bytes, the first of them "
            f"{missing[0]}; it was trained without the whole alphabet"
        )
    return "ids are not those of bytes and merges in order"


def _merge_table(keys, results, ranks) -> MergeTable:
    """The hash table of merges."""
    slots = np.zeros(1 << max(4, (2 * len(keys)).bit_length()), np.int32)
    loops.fill_merge_slots(slots, keys)
    return MergeTable(slots, keys, results, ranks)


def _merges_of_tokens(tokens, index) -> MergeTable:
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
    token_ids = np.array(results, dtype=np.int32)
    return _merge_table(np.array(keys, dtype=np.uint64), token_ids, token_ids)

"""Distinct tokens of texts and their ids: what every count of words is made of.

A text is read as code points in blocks of about a million characters. A token is

    word      a run of word characters (letters, digits, underscore) of a least length
    char      every run of m to n characters
    char_wb   every run of m to n characters inside " word "

and gets an id by a hash table, in order of first appearance. Runs of m to n words
(n-grams) are phrases: (prefix, last word) pairs with ids of their own.

Cost      O(characters) time; memory of a block and of the distinct tokens
"""

import itertools
from functools import cache
from typing import NamedTuple

import numpy as np

from ...persist.saved_state import IntArray, saved_state
from . import _token_table as loops
from ._token_table import PhraseArrays, TokenArrays

BLOCK = 1 << 20  # characters read at a time
ASCII = 128
NO_SEPARATOR = 0x110000  # beyond the code points


def _are_within(documents) -> bool:
    """Whether the ends of documents ascend to the number of ids."""
    ends = documents.ends
    last = int(ends[-1]) if len(ends) else 0
    return last == len(documents.ids) and bool((np.diff(ends, prepend=0) >= 0).all())


@saved_state(
    check=_are_within,
    ids=IntArray(None, low=-1, dtype=np.int32),
    ends=IntArray(None, low=0, dtype=np.int64),
)
class DocumentIds(NamedTuple):
    """Tokens of documents: those of document d are ids[ends[d - 1]:ends[d]]."""

    ids: np.ndarray  # (n_tokens,) int32, -1 where unknown
    ends: np.ndarray  # (n_documents,) int64


class DocumentCounts(NamedTuple):
    """Counts of ids in documents, rows of a CSR matrix."""

    indptr: np.ndarray
    indices: np.ndarray
    counts: np.ndarray


@cache
def _word_characters(ascii_only):
    """Whether each code point is a letter, a digit or an underscore."""
    n = ASCII if ascii_only else 0x110000
    flags = np.fromiter((c.isalnum() for c in map(chr, range(n))), np.uint8, n)
    flags[ord("_")] = 1
    return flags


class JoinedTexts(NamedTuple):
    """Texts one after the other: the last character of text d is text[ends[d] - 1]."""

    text: str
    ends: np.ndarray  # (n_texts,) int64

    def code_points(self):
        """The characters as numbers."""
        data = self.text.encode("utf-32-le", "surrogatepass")
        return np.frombuffer(data, dtype=np.uint32)


def join_texts(texts) -> JoinedTexts:
    """Texts as one."""
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)))
    return JoinedTexts("".join(texts), ends)


def join_lower(texts) -> JoinedTexts:
    """Texts in lower case as one."""
    joined = join_texts(texts)
    if joined.text.isascii():
        return joined._replace(text=joined.text.lower())
    return join_texts([text.lower() for text in texts])


def blocks_of_texts(texts, size=BLOCK):
    """Lists of consecutive texts of about `size` characters together."""
    block = []
    length = 0
    for text in texts:
        block.append(text)
        length += len(text)
        if length >= size:
            yield block
            block = []
            length = 0
    if block:
        yield block


def enlarged(array, size, fill=None):
    """A copy of an array with room for `size` entries."""
    out = np.empty(size, dtype=array.dtype)
    out[: len(array)] = array
    if fill is not None:
        out[len(array) :] = fill
    return out


def _bounded_lengths(lengths, ends):
    """Least and largest length of a run; none is longer than the longest document."""
    longest = int(np.diff(ends, prepend=0).max(initial=1))
    low = min(lengths[0], longest + 1)
    return low, max(low, min(lengths[1], longest))


def _empty_slots(n):
    """An empty hash table for n entries, at most half full."""
    return np.full(1 << max(6, (2 * n - 1).bit_length()), -1, dtype=np.int32)


class TokenTable:
    """Distinct tokens, with ids in order of first appearance.

    Parameters
    ----------
    texts : iterable of str
        Tokens to begin with; repeated ones keep their first id.
    """

    def __init__(self, texts=()):
        self._arrays = TokenArrays(
            _empty_slots(64),
            np.empty(64, np.uint64),
            np.zeros(65, np.int64),
            np.empty(1024, np.uint32),
            np.zeros(1, np.int64),
        )
        self.add(list(texts))

    def __len__(self):
        return int(self._arrays.size[0])

    def _reserve(self, tokens, characters):
        """Make room for so many more tokens and characters."""
        a = self._arrays
        used = len(self)
        capacity = used + tokens
        if capacity > len(a.hashes):
            capacity = max(capacity, 2 * len(a.hashes))
            a = a._replace(
                hashes=enlarged(a.hashes, capacity),
                starts=enlarged(a.starts, capacity + 1),
            )
        if 2 * capacity > len(a.slots):
            a = a._replace(slots=_empty_slots(capacity))
            loops.refill_slots(a.slots, a.hashes, used)
        end = int(a.starts[used]) + characters
        if end > len(a.arena):
            a = a._replace(arena=enlarged(a.arena, max(end, 2 * len(a.arena))))
        self._arrays = a

    def add(self, texts) -> np.ndarray:
        """Add texts as one token each, whatever their characters; their ids."""
        return self._split(join_texts(texts), NO_SEPARATOR, insert=True).ids

    def find(self, texts) -> np.ndarray:
        """The ids of texts that are tokens, -1 for the others."""
        return self._split(join_texts(texts), NO_SEPARATOR, insert=False).ids

    def add_parts(self, texts) -> DocumentIds:
        """Add the parts of texts between spaces as tokens; their ids."""
        return self._split(join_texts(texts), ord(" "), insert=True)

    def add_bytes(self, data, ends) -> np.ndarray:
        """Add pieces of bytes as tokens, data[ends[i - 1]:ends[i]]; their ids.

        A byte is a symbol of its own here, so that a table is of bytes or of texts.
        """
        symbols = np.frombuffer(data, np.uint8).astype(np.uint32)
        self._reserve(len(ends), len(symbols))
        ids = np.empty(len(ends), np.int32)
        separator = np.uint32(NO_SEPARATOR)
        loops.texts_to_ids(
            symbols, ends, separator, self._arrays, True, ids, np.empty_like(ends)
        )
        return ids

    def symbols(self, first=0):
        """Symbols of the tokens from `first` on, and where each begins and ends."""
        a = self._arrays
        bounds = a.starts[first : len(self) + 1]
        return a.arena[bounds[0] : bounds[-1]], bounds - bounds[0]

    def _split(self, texts, separator, insert):
        chars = texts.code_points()
        capacity = len(texts.ends)
        if separator != NO_SEPARATOR:
            capacity += int(np.count_nonzero(chars == separator))
        if insert:
            self._reserve(capacity, len(chars))
        ids = np.empty(capacity, np.int32)
        id_ends = np.empty(len(texts.ends), np.int64)
        separator = np.uint32(separator)
        loops.texts_to_ids(
            chars, texts.ends, separator, self._arrays, insert, ids, id_ends
        )
        return DocumentIds(ids, id_ends)

    def words(self, texts: JoinedTexts, *, min_length=2, insert=True) -> DocumentIds:
        """Ids of the words of each text; unknown ones are -1 unless `insert`."""
        chars = texts.code_points()
        capacity = len(chars) // (min_length + 1) + len(texts.ends)
        if insert:
            self._reserve(capacity, len(chars))
        is_word = _word_characters(not len(chars) or int(chars.max()) < ASCII)
        ids = np.empty(capacity, np.int32)
        id_ends = np.empty(len(texts.ends), np.int64)
        n = loops.words_to_ids(
            chars, texts.ends, is_word, min_length, self._arrays, insert, ids, id_ends
        )
        return DocumentIds(ids[:n], id_ends)

    def windows(self, texts: JoinedTexts, lengths, *, within_words=False, insert=True):
        """Ids of the runs of lengths[0] to lengths[1] characters of each text."""
        chars = texts.code_points()
        low, high = _bounded_lengths(lengths, texts.ends)
        capacity = len(chars) * (high - low + 1) + len(texts.ends)
        if insert:
            self._reserve(capacity, high * capacity)
        ids = np.empty(capacity, np.int32)
        id_ends = np.empty(len(texts.ends), np.int64)
        limits = np.array([low, high])
        n = loops.windows_to_ids(
            chars, texts.ends, limits, within_words, self._arrays, insert, ids, id_ends
        )
        return DocumentIds(ids[:n], id_ends)

    def texts(self) -> list[str]:
        """The tokens in the order of their ids."""
        a = self._arrays
        starts = a.starts[: len(self) + 1].tolist()
        data = a.arena[: starts[-1]].tobytes()
        all_characters = data.decode("utf-32-le", "surrogatepass")
        return [all_characters[i:j] for i, j in itertools.pairwise(starts)]


class PhraseTable:
    """Distinct runs of tokens, with ids in order of first appearance."""

    def __init__(self):
        self.arrays = PhraseArrays(
            _empty_slots(64),
            np.empty(64, np.int32),
            np.empty(64, np.int32),
            np.zeros(1, np.int64),
        )

    @classmethod
    def from_parts(cls, prefix, last):
        """The table of phrases that are given by their parts, in order of their ids."""
        table = cls()
        table._reserve(len(prefix))
        table.arrays.prefix[: len(prefix)] = prefix
        table.arrays.last[: len(last)] = last
        table.arrays.size[0] = len(prefix)
        loops.refill_phrase_slots(
            table.arrays.slots, table.arrays.prefix, table.arrays.last, len(prefix)
        )
        return table

    def __len__(self):
        return int(self.arrays.size[0])

    def _reserve(self, phrases):
        a = self.arrays
        used = len(self)
        capacity = used + phrases
        if capacity > len(a.prefix):
            capacity = max(capacity, 2 * len(a.prefix))
            a = a._replace(
                prefix=enlarged(a.prefix, capacity), last=enlarged(a.last, capacity)
            )
        if 2 * capacity > len(a.slots):
            a = a._replace(slots=_empty_slots(capacity))
            loops.refill_phrase_slots(a.slots, a.prefix, a.last, used)
        self.arrays = a

    def phrases(self, documents, lengths, *, insert=True) -> DocumentIds:
        """Ids of the runs of lengths[0] to lengths[1] tokens of each document."""
        low, high = _bounded_lengths(lengths, documents.ends)
        if insert:
            self._reserve(len(documents.ids) * high)
        out = np.empty(len(documents.ids) * (high - low + 1), np.int32)
        ends = np.empty(len(documents.ends), np.int64)
        n = loops.tokens_to_phrases(
            *documents, np.array([low, high]), self.arrays, insert, out, ends
        )
        return DocumentIds(out[:n], ends)

    def texts(self, tokens) -> list[str]:
        """The phrases in the order of their ids, tokens joined by spaces."""
        a = self.arrays
        n = len(self)
        phrases: list[str] = []
        for prefix, last in zip(a.prefix[:n].tolist(), a.last[:n].tolist()):
            phrases.append(
                tokens[last] if prefix < 0 else f"{phrases[prefix]} {tokens[last]}"
            )
        return phrases


def drop_tokens(documents, is_listed) -> DocumentIds:
    """Documents without the tokens whose ids are listed."""
    ids = documents.ids.copy()
    ends = documents.ends.copy()
    n = loops.drop_listed(ids, ends, is_listed)
    return DocumentIds(ids[:n], ends)


def concatenate_documents(parts) -> DocumentIds:
    """Documents of several blocks, one after the other."""
    starts = np.cumsum([0] + [len(p.ids) for p in parts])
    ids = np.concatenate([p.ids for p in parts]) if parts else np.empty(0, np.int32)
    ends = [p.ends + s for p, s in zip(parts, starts)]
    return DocumentIds(ids, np.concatenate(ends) if ends else np.empty(0, np.int64))


class IdCounter:
    """Counts of ids in documents, block by block.

    Entries of a document are in the order of first appearance.
    """

    def __init__(self):
        self._last = np.empty(0, np.int64)
        self._place = np.empty(0, np.int64)
        self._documents = 0
        self._parts = []

    def add(self, documents, n_ids) -> None:
        """Count the ids (below n_ids) of a block of documents."""
        if n_ids > len(self._last):
            size = max(n_ids, 2 * len(self._last))
            self._last = enlarged(self._last, size, fill=-1)
            self._place = np.empty(size, np.int64)
        ids, ends = documents
        indptr = np.zeros(len(ends) + 1, np.int64)
        indices = np.empty(len(ids), np.int32)
        counts = np.empty(len(ids), np.int64)
        n = loops.count_ids(
            ids, ends, self._last, self._place, self._documents, indptr, indices, counts
        )
        self._documents += len(ends)
        self._parts.append(
            DocumentCounts(indptr, indices[:n].copy(), counts[:n].copy())
        )

    def result(self) -> DocumentCounts:
        """Counts of all documents so far."""
        if not self._parts:
            empty = np.empty(0, np.int64)
            return DocumentCounts(np.zeros(1, np.int64), empty, empty)
        starts = np.cumsum([0] + [len(p.indices) for p in self._parts])
        pointers = [p.indptr[1:] + s for p, s in zip(self._parts, starts)]
        return DocumentCounts(
            np.concatenate([np.zeros(1, np.int64), *pointers]),
            np.concatenate([p.indices for p in self._parts]),
            np.concatenate([p.counts for p in self._parts]),
        )

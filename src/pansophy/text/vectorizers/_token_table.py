"""Compiled loops of text analysis: tokens of code points, their ids, their counts.

A table gives each distinct token an id: `slots` is an open-addressing hash table of
ids (-1 where empty, a power of two of places), `hashes` holds the hash of each token,
`starts` where its characters begin in `arena`, one after the other. Phrases, which are
runs of tokens, are kept the same way by their parts: phrase = (prefix, last token).
Callers make the arrays large enough for a block of text beforehand.
"""

from typing import NamedTuple

import numpy as np

from ...core.loops.compiled import compiled

EMPTY_HASH = np.uint64(14695981039346656037)


class TokenArrays(NamedTuple):
    """Distinct tokens: the characters of token i are arena[starts[i]:starts[i + 1]]."""

    slots: np.ndarray  # (power of two,) int32
    hashes: np.ndarray  # (capacity,) uint64
    starts: np.ndarray  # (capacity + 1,) int64
    arena: np.ndarray  # (capacity of characters,) uint32
    size: np.ndarray  # (1,) int64, the number of tokens


class PhraseArrays(NamedTuple):
    """Distinct runs of tokens: phrase i is phrase prefix[i] followed by last[i]."""

    slots: np.ndarray  # (power of two,) int32
    prefix: np.ndarray  # (capacity,) int32, -1 for a single token
    last: np.ndarray  # (capacity,) int32
    size: np.ndarray  # (1,) int64


@compiled(inner=True, inline="always")
def _extend_hash(h, char):
    """The hash of a text and one more character (FNV-1a over code points)."""
    return (h ^ np.uint64(char)) * np.uint64(1099511628211)


@compiled(inner=True)
def _token_id(table, chars, start, stop, h, insert):
    """The id of chars[start:stop] with hash h; new ones get the next id.

    Without `insert` a new one is -1.
    """
    mask = np.uint64(len(table.slots) - 1)
    place = (h ^ (h >> np.uint64(29))) & mask
    length = stop - start
    while True:
        i = table.slots[place]
        if i < 0:
            break
        if table.hashes[i] == h:
            begin = table.starts[i]
            if table.starts[i + 1] - begin == length:
                is_equal = True
                for k in range(length):
                    if table.arena[begin + k] != chars[start + k]:
                        is_equal = False
                        break
                if is_equal:
                    return np.int64(i)
        place = (place + np.uint64(1)) & mask
    if not insert:
        return np.int64(-1)
    i = table.size[0]
    table.slots[place] = i
    table.hashes[i] = h
    begin = table.starts[i]
    for k in range(length):
        table.arena[begin + k] = chars[start + k]
    table.starts[i + 1] = begin + length
    table.size[0] = i + 1
    return i


@compiled
def refill_slots(slots, hashes, size):
    """Place `size` tokens in an empty table."""
    mask = np.uint64(len(slots) - 1)
    for i in range(size):
        place = (hashes[i] ^ (hashes[i] >> np.uint64(29))) & mask
        while slots[place] >= 0:
            place = (place + np.uint64(1)) & mask
        slots[place] = i


@compiled
def texts_to_ids(chars, ends, separator, table, insert, ids, id_ends):
    """Ids of the parts of each text between separators; how many there are.

    With a separator that is no code point each text is one token.
    """
    position = 0
    n = 0
    for d in range(len(ends)):
        start = position
        h = EMPTY_HASH
        while position < ends[d]:
            if chars[position] == separator:
                ids[n] = _token_id(table, chars, start, position, h, insert)
                n += 1
                start = position + 1
                h = EMPTY_HASH
            else:
                h = _extend_hash(h, chars[position])
            position += 1
        ids[n] = _token_id(table, chars, start, position, h, insert)
        n += 1
        id_ends[d] = n
    return n


@compiled
def words_to_ids(chars, ends, is_word, min_length, table, insert, ids, id_ends):
    """Ids of the runs of word characters of each document; how many there are."""
    position = 0
    n = 0
    for d in range(len(ends)):
        stop = ends[d]
        while position < stop:
            if not is_word[chars[position]]:
                position += 1
                continue
            start = position
            h = EMPTY_HASH
            while position < stop and is_word[chars[position]]:
                h = _extend_hash(h, chars[position])
                position += 1
            if position - start >= min_length:
                ids[n] = _token_id(table, chars, start, position, h, insert)
                n += 1
        id_ends[d] = n
    return n


@compiled
def windows_to_ids(chars, ends, lengths, within_words, table, insert, ids, id_ends):
    """Ids of all runs of lengths[0] to lengths[1] characters of each document.

    With `within_words` a document is words between spaces, " a  b ", and no run
    crosses a border of words; a word shorter than lengths[0] counts once, whole.
    """
    position = 0
    n = 0
    for d in range(len(ends)):
        stop = ends[d]
        while position < stop:
            end = stop
            if within_words:
                end = position + 1
                while end < stop and chars[end] != 32:
                    end += 1
                end = min(end + 1, stop)
            shortest = lengths[0]
            if within_words:
                shortest = min(shortest, end - position)
            for start in range(position, end - shortest + 1):
                h = EMPTY_HASH
                for i in range(start, min(start + lengths[1], end)):
                    h = _extend_hash(h, chars[i])
                    if i - start + 1 >= shortest:
                        ids[n] = _token_id(table, chars, start, i + 1, h, insert)
                        n += 1
            position = end
        id_ends[d] = n
    return n


@compiled
def drop_listed(ids, id_ends, is_listed):
    """Remove the listed ids in place, keeping unknown ones (-1); how many stay."""
    n = 0
    position = 0
    for d in range(len(id_ends)):
        while position < id_ends[d]:
            i = ids[position]
            if i < 0 or i >= len(is_listed) or not is_listed[i]:
                ids[n] = i
                n += 1
            position += 1
        id_ends[d] = n
    return n


@compiled(inner=True)
def _hash_of_phrase(prefix, last):
    key = (np.uint64(prefix + 1) << np.uint64(32)) | np.uint64(last)
    h = key * np.uint64(0x9E3779B97F4A7C15)
    return h ^ (h >> np.uint64(31))


@compiled(inner=True)
def phrase_id(table, prefix, last, insert):
    """The id of a phrase; new ones get the next id, or -1 if not `insert`."""
    mask = np.uint64(len(table.slots) - 1)
    place = _hash_of_phrase(prefix, last) & mask
    while True:
        i = table.slots[place]
        if i < 0:
            break
        if table.prefix[i] == prefix and table.last[i] == last:
            return np.int64(i)
        place = (place + np.uint64(1)) & mask
    if not insert:
        return np.int64(-1)
    i = table.size[0]
    table.slots[place] = i
    table.prefix[i] = prefix
    table.last[i] = last
    table.size[0] = i + 1
    return i


@compiled
def refill_phrase_slots(slots, prefix, last, size):
    """Place `size` phrases in an empty table."""
    mask = np.uint64(len(slots) - 1)
    for i in range(size):
        place = _hash_of_phrase(prefix[i], last[i]) & mask
        while slots[place] >= 0:
            place = (place + np.uint64(1)) & mask
        slots[place] = i


@compiled
def tokens_to_phrases(ids, id_ends, lengths, table, insert, phrases, phrase_ends):
    """Ids of all runs of lengths[0] to lengths[1] tokens; how many there are."""
    n = 0
    position = 0
    for d in range(len(id_ends)):
        stop = id_ends[d]
        for i in range(position, stop):
            prefix = np.int64(-1)
            known = True
            for length in range(1, min(lengths[1], stop - i) + 1):
                token = ids[i + length - 1]
                if token < 0:
                    known = False
                if known:
                    prefix = phrase_id(table, prefix, np.int64(token), insert)
                    known = prefix >= 0
                if length >= lengths[0]:
                    phrases[n] = prefix if known else -1
                    n += 1
        position = stop
        phrase_ends[d] = n
    return n


@compiled
def count_ids(ids, id_ends, last_document, place, first_document, indptr, out, counts):
    """Distinct known ids of each document and their counts, in order of appearance.

    `last_document` (one entry an id, less than `first_document`) and `place` are
    scratch. Writes `indptr[1:]`, `out` and `counts`; returns how many entries.
    """
    n = 0
    position = 0
    for d in range(len(id_ends)):
        document = first_document + d
        while position < id_ends[d]:
            i = ids[position]
            position += 1
            if i < 0:
                continue
            if last_document[i] == document:
                counts[place[i]] += 1
            else:
                last_document[i] = document
                place[i] = n
                out[n] = i
                counts[n] = 1
                n += 1
        indptr[d + 1] = n
    return n

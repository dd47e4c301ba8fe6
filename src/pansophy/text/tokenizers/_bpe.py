"""Compiled loops of byte-pair encoding: merges from counts, tokens from merges."""

from typing import NamedTuple

import numpy as np

from ...core.loops.compiled import compiled


class Pairs(NamedTuple):
    """Pairs of neighbouring tokens: their counts, and lists of the words they are in.

    The words of pair i are entry_words[j - 1] for j = heads[i], entry_next[j - 1], ...
    until 0.
    """

    keys: np.ndarray  # (capacity,) uint64: left << 32 | right
    counts: np.ndarray  # (capacity,) int64
    heads: np.ndarray  # (capacity,) int64
    entry_words: np.ndarray  # (capacity,) int32
    entry_next: np.ndarray  # (capacity,) int64
    sizes: np.ndarray  # (2,) int64: pairs, entries


class PairHeap(NamedTuple):
    """Pairs by falling count, then rising key; counts are those when pushed."""

    counts: np.ndarray  # (capacity,) int64
    keys: np.ndarray  # (capacity,) uint64
    size: np.ndarray  # (1,) int64


@compiled(inner=True)
def _pair_key(left, right):
    return (np.uint64(left) << np.uint64(32)) | np.uint64(right)


@compiled(inner=True)
def _slot_of(slots, keys, key):
    """Slot of a pair in the hash table, or the empty one for it."""
    mask = np.uint64(len(slots) - 1)
    h = key * np.uint64(0x9E3779B97F4A7C15)
    place = (h ^ (h >> np.uint64(32))) & mask
    while slots[place] and keys[slots[place] - 1] != key:
        place = (place + np.uint64(1)) & mask
    return place


@compiled
def _fill_pair_slots(slots, keys, n):
    """Place n pairs in an empty table."""
    for i in range(n):
        slots[_slot_of(slots, keys, keys[i])] = i + 1


@compiled(inner=True)
def _comes_first(count, key, other_count, other_key):
    """Whether a pair is merged before another: more frequent, else smaller."""
    return count > other_count or (count == other_count and key < other_key)


@compiled(inner=True)
def _push_pair(heap, count, key):
    """Add a pair."""
    slot = heap.size[0]
    heap.size[0] = slot + 1
    while slot > 0:
        parent = (slot - 1) // 2
        if not _comes_first(count, key, heap.counts[parent], heap.keys[parent]):
            break
        heap.counts[slot] = heap.counts[parent]
        heap.keys[slot] = heap.keys[parent]
        slot = parent
    heap.counts[slot] = count
    heap.keys[slot] = key


@compiled(inner=True)
def _drop_first_pair(heap):
    """Remove the first pair."""
    size = heap.size[0] - 1
    heap.size[0] = size
    count = heap.counts[size]
    key = heap.keys[size]
    slot = 0
    while True:
        child = 2 * slot + 1
        if child >= size:
            break
        sibling = child + 1
        if sibling < size and _comes_first(
            heap.counts[sibling],
            heap.keys[sibling],
            heap.counts[child],
            heap.keys[child],
        ):
            child = sibling
        if not _comes_first(heap.counts[child], heap.keys[child], count, key):
            break
        heap.counts[slot] = heap.counts[child]
        heap.keys[slot] = heap.keys[child]
        slot = child
    heap.counts[slot] = count
    heap.keys[slot] = key


@compiled(inner=True, refcount=True)
def _slots_with_room(slots, pairs, more):
    """The hash table of the pairs, larger if so many more would crowd it."""
    n = pairs.sizes[0]
    if 2 * (n + more) <= len(slots):
        return slots
    size = len(slots)
    while size < 4 * (n + more):
        size *= 2
    slots = np.zeros(size, np.int32)
    for i in range(n):
        slots[_slot_of(slots, pairs.keys, pairs.keys[i])] = i + 1
    return slots


@compiled(inner=True)
def _add_to_pair(slots, pairs, key, count, word):
    """Add a word's count to a pair, which may be new; its index."""
    place = _slot_of(slots, pairs.keys, key)
    if slots[place] == 0:
        i = pairs.sizes[0]
        pairs.sizes[0] = i + 1
        pairs.keys[i] = key
        pairs.counts[i] = 0
        pairs.heads[i] = 0
        slots[place] = i + 1
    i = np.int64(slots[place]) - 1
    pairs.counts[i] += count
    head = pairs.heads[i]
    if head == 0 or pairs.entry_words[head - 1] != word:
        entry = pairs.sizes[1]
        pairs.sizes[1] = entry + 1
        pairs.entry_words[entry] = word
        pairs.entry_next[entry] = head
        pairs.heads[i] = entry + 1
    return i


@compiled(inner=True)
def _merge_word(symbols, begin, length, merged, slots, pairs, count, word):
    """Merge a pair in one word, change the counts of its neighbours; the new length.

    `merged` is (left, right, new).
    """
    left, right, new = merged
    key = _pair_key(left, right)
    end = begin + length
    kept_length = begin
    i = begin
    while i < end:
        if i + 1 == end or symbols[i] != left or symbols[i + 1] != right:
            symbols[kept_length] = symbols[i]
            kept_length += 1
            i += 1
            continue
        if kept_length > begin:
            previous = symbols[kept_length - 1]
            old = _pair_key(previous, left)
            if old != key:
                pairs.counts[slots[_slot_of(slots, pairs.keys, old)] - 1] -= count
            _add_to_pair(slots, pairs, _pair_key(previous, new), count, word)
        if i + 2 < end:
            following = symbols[i + 2]
            old = _pair_key(right, following)
            if old != key:
                pairs.counts[slots[_slot_of(slots, pairs.keys, old)] - 1] -= count
            _add_to_pair(slots, pairs, _pair_key(new, following), count, word)
        symbols[kept_length] = new
        kept_length += 1
        i += 2
    return kept_length - begin


@compiled
def learn_merges(symbols, starts, counts, n_base, max_merges, min_count):
    """The merges of byte-pair encoding, (m, 2), in order.

    `symbols[starts[w]:starts[w + 1]]` are the tokens of word w, which occurs counts[w]
    times; they are overwritten. The most frequent pair is merged in all words that
    have it, which changes the counts of pairs beside it. The heap may hold an old count
    of a pair: it is then pushed again with its present one. Every merge in a word
    makes it shorter by one and makes two pairs at most, which bounds the capacities.
    """
    capacity = 3 * len(symbols) + 1
    pairs = Pairs(
        np.empty(capacity, np.uint64),
        np.empty(capacity, np.int64),
        np.empty(capacity, np.int64),
        np.empty(capacity, np.int32),
        np.empty(capacity, np.int64),
        np.zeros(2, np.int64),
    )
    heap = PairHeap(
        np.empty(capacity, np.int64),
        np.empty(capacity, np.uint64),
        np.zeros(1, np.int64),
    )
    slots = np.zeros(1 << 12, np.int32)
    lengths = np.empty(len(counts), np.int64)
    for w in range(len(counts)):
        lengths[w] = starts[w + 1] - starts[w]
        slots = _slots_with_room(slots, pairs, lengths[w])
        for i in range(starts[w], starts[w + 1] - 1):
            key = _pair_key(symbols[i], symbols[i + 1])
            _add_to_pair(slots, pairs, key, counts[w], w)
    for i in range(pairs.sizes[0]):
        _push_pair(heap, pairs.counts[i], pairs.keys[i])
    merges = np.empty((max_merges, 2), np.int32)
    m = 0
    while m < max_merges and heap.size[0]:
        count = heap.counts[0]
        key = heap.keys[0]
        _drop_first_pair(heap)
        pair = np.int64(slots[_slot_of(slots, pairs.keys, key)]) - 1
        present = pairs.counts[pair]
        if count != present:
            if present > 0:
                _push_pair(heap, present, key)
            continue
        if count < min_count:
            break
        left = np.int32(key >> np.uint64(32))
        right = np.int32(key & np.uint64(0xFFFFFFFF))
        merges[m, 0] = left
        merges[m, 1] = right
        merged = (left, right, np.int32(n_base + m))
        m += 1
        pairs.counts[pair] = 0
        first_new = pairs.sizes[0]
        entry = pairs.heads[pair]
        pairs.heads[pair] = 0
        while entry:
            w = np.int64(pairs.entry_words[entry - 1])
            entry = pairs.entry_next[entry - 1]
            slots = _slots_with_room(slots, pairs, 2 * lengths[w])
            lengths[w] = _merge_word(
                symbols, starts[w], lengths[w], merged, slots, pairs, counts[w], w
            )
        for i in range(first_new, pairs.sizes[0]):
            if pairs.counts[i] > 0:
                _push_pair(heap, pairs.counts[i], pairs.keys[i])
    return merges[:m]


class MergeTable(NamedTuple):
    """Merges by pair: pair i becomes token results[i], lower ranks[i] first."""

    slots: np.ndarray  # (power of two,) int32: index + 1, 0 if empty
    keys: np.ndarray  # (pairs,) uint64
    results: np.ndarray  # (pairs,) int32
    ranks: np.ndarray  # (pairs,) int32


NO_RANK = 2**31 - 1


@compiled
def fill_merge_slots(slots, keys):
    """Place pairs in an empty hash table."""
    for i in range(len(keys)):
        slots[_slot_of(slots, keys, keys[i])] = i + 1


@compiled(inner=True)
def _merge_index(table, left, right):
    """Index of the merge of a pair, or -1."""
    return (
        np.int64(table.slots[_slot_of(table.slots, table.keys, _pair_key(left, right))])
        - 1
    )


@compiled(inner=True)
def _encode_short(table, tokens, n):
    """Merge tokens[:n] in place, lowest rank first; how many are left. O(n^2)."""
    while n > 1:
        best = np.int64(-1)
        rank = np.int64(NO_RANK)
        for i in range(n - 1):
            j = _merge_index(table, tokens[i], tokens[i + 1])
            if j >= 0 and table.ranks[j] < rank:
                rank = np.int64(table.ranks[j])
                best = np.int64(i)
        if best < 0:
            break
        tokens[best] = table.results[
            _merge_index(table, tokens[best], tokens[best + 1])
        ]
        n -= 1
        for i in range(best + 1, n):
            tokens[i] = tokens[i + 1]
    return n


@compiled(inner=True)
def _push_merge(heap, rank, place):
    """Add a merge to the heap: lowest rank first, then leftmost."""
    value = (np.uint64(rank) << np.uint64(32)) | np.uint64(place)
    slot = np.int64(heap[0])  # heap[0] is the size, entries begin at 1
    heap[0] = np.uint64(slot + 1)
    slot += 1
    while slot > 1 and value < heap[slot // 2]:
        heap[slot] = heap[slot // 2]
        slot //= 2
    heap[slot] = value


@compiled(inner=True)
def _pop_merge(heap):
    """Remove and return the first merge."""
    first = heap[1]
    size = np.int64(heap[0])
    value = heap[size]
    size -= 1
    heap[0] = np.uint64(size)
    slot = 1
    while 2 * slot <= size:
        child = 2 * slot
        if child < size and heap[child + 1] < heap[child]:
            child += 1
        if value <= heap[child]:
            break
        heap[slot] = heap[child]
        slot = child
    heap[slot] = value
    return first


@compiled(inner=True, refcount=True)
def _encode_long(table, tokens, n):
    """Encode long words with a linked list and a heap. O(n log n)."""
    following = np.arange(1, n + 1)
    preceding = np.arange(-1, n - 1)
    heap = np.empty(3 * n + 1, np.uint64)
    heap[0] = 0
    for i in range(n - 1):
        j = _merge_index(table, tokens[i], tokens[i + 1])
        if j >= 0:
            _push_merge(heap, table.ranks[j], i)
    while heap[0]:
        value = _pop_merge(heap)
        i = np.int64(value & np.uint64(0xFFFFFFFF))
        k = following[i]
        if tokens[i] < 0 or k >= n:
            continue
        j = _merge_index(table, tokens[i], tokens[k])
        if j < 0 or table.ranks[j] != np.int64(value >> np.uint64(32)):
            continue  # one of the two has been merged with another since
        tokens[i] = table.results[j]
        tokens[k] = -1
        following[i] = following[k]
        if following[k] < n:
            preceding[following[k]] = i
            j = _merge_index(table, tokens[i], tokens[following[k]])
            if j >= 0:
                _push_merge(heap, table.ranks[j], i)
        if preceding[i] >= 0:
            j = _merge_index(table, tokens[preceding[i]], tokens[i])
            if j >= 0:
                _push_merge(heap, table.ranks[j], preceding[i])
    m = 0
    for i in range(n):
        if tokens[i] >= 0:
            tokens[m] = tokens[i]
            m += 1
    return m


@compiled
def encode_pieces(data, starts, ends, byte_tokens, table, longest, out, out_ends):
    """Tokens of pieces of bytes; how many there are."""
    n = 0
    for p in range(len(starts)):
        size = ends[p] - starts[p]
        for i in range(size):
            out[n + i] = byte_tokens[data[starts[p] + i]]
        if size <= longest:
            n += _encode_short(table, out[n : n + size], size)
        else:
            n += _encode_long(table, out[n : n + size], size)
        out_ends[p] = n
    return n


@compiled
def gather_pieces(ids, starts, ends, tokens, out):
    """The tokens of a text from those of its pieces; how many there are."""
    n = 0
    for i in range(len(ids)):
        for j in range(starts[ids[i]], ends[ids[i]]):
            out[n] = tokens[j]
            n += 1
    return n

"""Compiled loops of the unigram tokeniser: substrings and lattices of tokens.

The tokens of a vocabulary are a trie: the child of node v by byte b is found in a hash
table by the key 256 v + b + 1, `token[v]` is the token that ends at v, or -1. The arcs
of the lattice of a piece are the tokens that begin at each of its bytes. Every byte is
a token, so each place can be reached.
"""

import math
from typing import NamedTuple

import numpy as np

from ...core._random import random_uniform
from ...core.loops.compiled import compiled


class TokenTrie(NamedTuple):
    """Tokens by their bytes."""

    keys: np.ndarray  # (power of two,) uint64, 0 where empty
    children: np.ndarray  # the same shape, int32
    token: np.ndarray  # (nodes,) int32


class Substrings(NamedTuple):
    """Distinct runs of bytes: run i is data[starts[i]:starts[i] + lengths[i]]."""

    starts: np.ndarray  # int64
    lengths: np.ndarray  # int64
    counts: np.ndarray  # int64


@compiled(inner=True)
def _place_of_child(keys, key):
    """Slot of a child's key in the hash table, or the empty one for it."""
    mask = np.uint64(len(keys) - 1)
    h = key * np.uint64(0x9E3779B97F4A7C15)
    slot = (h ^ (h >> np.uint64(31))) & mask
    while keys[slot] != 0 and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@compiled(inner=True)
def _child_node(trie, node, byte):
    """The child of a node, or -1."""
    key = np.uint64(256 * node + byte + 1)
    slot = _place_of_child(trie.keys, key)
    return np.int64(trie.children[slot]) if trie.keys[slot] == key else np.int64(-1)


@compiled
def fill_trie(data, bounds, trie):
    """Put tokens into an empty trie; the number of nodes."""
    nodes = 1
    for t in range(len(bounds) - 1):
        node = np.int64(0)
        for i in range(bounds[t], bounds[t + 1]):
            key = np.uint64(256 * node + data[i] + 1)
            slot = _place_of_child(trie.keys, key)
            if trie.keys[slot] == 0:
                trie.keys[slot] = key
                trie.children[slot] = nodes
                nodes += 1
            node = np.int64(trie.children[slot])
        trie.token[node] = t
    return nodes


@compiled(inner=True)
def _same_bytes(data, i, j, length):
    k = 0
    while k < length and data[i + k] == data[j + k]:
        k += 1
    return k == length


@compiled(inner=True)
def _place_of_run(slots, hashes, runs, data, start, length, h):
    """The place of a run in the hash table, or the empty place for it."""
    mask = np.uint64(len(slots) - 1)
    slot = (h ^ (h >> np.uint64(29))) & mask
    while slots[slot] >= 0:
        r = slots[slot]
        if (
            hashes[r] == h
            and runs.lengths[r] == length
            and _same_bytes(data, runs.starts[r], start, length)
        ):
            break
        slot = (slot + np.uint64(1)) & mask
    return slot


@compiled(inner=True, refcount=True)
def _larger_slots(slots, hashes, n):
    """A hash table of twice the size with the n runs there are."""
    out = np.full(2 * len(slots), -1, np.int64)
    mask = np.uint64(len(out) - 1)
    for r in range(n):
        slot = (hashes[r] ^ (hashes[r] >> np.uint64(29))) & mask
        while out[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        out[slot] = r
    return out


@compiled
def count_substrings(data, bounds, counts, longest, runs, hashes):
    """Count all runs of 2 to `longest` bytes inside pieces; how many there are.

    Piece p is data[bounds[p]:bounds[p + 1]] and occurs counts[p] times. `runs` and
    `hashes` have room for all runs.
    """
    slots = np.full(1 << 12, -1, np.int64)
    n = 0
    for p in range(len(counts)):
        for start in range(bounds[p], bounds[p + 1]):
            h = np.uint64(14695981039346656037)
            for end in range(start, min(start + longest, bounds[p + 1])):
                h = (h ^ np.uint64(data[end])) * np.uint64(1099511628211)
                length = end + 1 - start
                if length < 2:
                    continue
                slot = _place_of_run(slots, hashes, runs, data, start, length, h)
                r = slots[slot]
                if r >= 0:
                    runs.counts[r] += counts[p]
                    continue
                slots[slot] = n
                hashes[n] = h
                runs.starts[n] = start
                runs.lengths[n] = length
                runs.counts[n] = counts[p]
                n += 1
                if 2 * n > len(slots):
                    slots = _larger_slots(slots, hashes, n)
    return n


@compiled(inner=True)
def _log_add(a, b):
    """log(exp a + exp b)."""
    if a == -np.inf:
        return b
    top = max(a, b)
    return top + math.log1p(math.exp(-abs(a - b)))


@compiled(inner=True)
def _best_arcs(trie, scores, piece, banned, best, arc):
    """Best score and last token of the paths to every place of a piece.

    Of equally good tokens the longest is taken. `banned` is a token to do without.
    """
    n = len(piece)
    best[0] = 0.0
    for j in range(1, n + 1):
        best[j] = -np.inf
        arc[j] = -1
    for i in range(n):
        node = np.int64(0)
        for j in range(i, n):
            node = _child_node(trie, node, piece[j])
            if node < 0:
                break
            t = trie.token[node]
            if t < 0 or t == banned:
                continue
            s = best[i] + scores[t]
            if arc[j + 1] < 0 or s > best[j + 1]:
                best[j + 1] = s
                arc[j + 1] = t


@compiled
def best_segmentations(trie, scores, sizes, data, bounds, out, ends):
    """Tokens of the most probable segmentation of each piece; how many there are."""
    longest = 0
    for p in range(len(bounds) - 1):
        longest = max(longest, bounds[p + 1] - bounds[p])
    best = np.empty(longest + 1)
    arc = np.empty(longest + 1, np.int32)
    n = 0
    for p in range(len(bounds) - 1):
        piece = data[bounds[p] : bounds[p + 1]]
        _best_arcs(trie, scores, piece, -1, best, arc)
        n += _write_path(sizes, arc, len(piece), out[n:])
        ends[p] = n
    return n


@compiled(inner=True)
def _write_path(sizes, arc, end, out):
    """Follow the last tokens back from `end`; the number of tokens."""
    n = 0
    position = end
    while position > 0:
        position -= sizes[arc[position]]
        n += 1
    position = end
    for k in range(n - 1, -1, -1):
        out[k] = arc[position]
        position -= sizes[arc[position]]
    return n


@compiled(inner=True)
def _forward_sums(trie, scores, piece, alpha):
    """alpha_j = log of the summed probability of all segmentations up to j."""
    n = len(piece)
    alpha[0] = 0.0
    for j in range(1, n + 1):
        alpha[j] = -np.inf
    for i in range(n):
        node = np.int64(0)
        for j in range(i, n):
            node = _child_node(trie, node, piece[j])
            if node < 0:
                break
            t = trie.token[node]
            if t >= 0:
                alpha[j + 1] = _log_add(alpha[j + 1], alpha[i] + scores[t])


@compiled
def expected_token_counts(trie, scores, data, bounds, counts, out):
    """E-step: expected uses of tokens over all segmentations; the log-likelihood."""
    longest = 0
    for p in range(len(counts)):
        longest = max(longest, bounds[p + 1] - bounds[p])
    alpha = np.empty(longest + 1)
    beta = np.empty(longest + 1)
    value = 0.0
    for p in range(len(counts)):
        piece = data[bounds[p] : bounds[p + 1]]
        n = len(piece)
        _forward_sums(trie, scores, piece, alpha)
        total = alpha[n]
        value += counts[p] * total
        beta[n] = 0.0
        for i in range(n - 1, -1, -1):
            beta[i] = -np.inf
            node = np.int64(0)
            for j in range(i, n):
                node = _child_node(trie, node, piece[j])
                if node < 0:
                    break
                t = trie.token[node]
                if t < 0:
                    continue
                log_tail = scores[t] + beta[j + 1]
                beta[i] = _log_add(beta[i], log_tail)
                out[t] += counts[p] * math.exp(alpha[i] + log_tail - total)
    return value


@compiled
def best_token_counts(trie, scores, sizes, data, bounds, counts, out):
    """Uses of tokens in the most probable segmentations, added to `out`."""
    longest = 0
    for p in range(len(counts)):
        longest = max(longest, bounds[p + 1] - bounds[p])
    best = np.empty(longest + 1)
    arc = np.empty(longest + 1, np.int32)
    for p in range(len(counts)):
        piece = data[bounds[p] : bounds[p + 1]]
        _best_arcs(trie, scores, piece, -1, best, arc)
        position = len(piece)
        while position > 0:
            out[arc[position]] += counts[p]
            position -= sizes[arc[position]]


@compiled
def scores_without(trie, scores, data, bounds, out):
    """Score of the best segmentation of every token by other tokens."""
    longest = 0
    for t in range(len(out)):
        longest = max(longest, bounds[t + 1] - bounds[t])
    best = np.empty(longest + 1)
    arc = np.empty(longest + 1, np.int32)
    for t in range(len(out)):
        piece = data[bounds[t] : bounds[t + 1]]
        _best_arcs(trie, scores, piece, t, best, arc)
        out[t] = best[len(piece)]


@compiled
def sampled_segmentations(trie, scores, sizes, data, ends, stream, out):
    """Tokens of one segmentation of each piece, drawn by its probability.

    Forward sums, then tokens drawn from the end: the last token of the paths to j is t
    with probability exp(alpha_i + score_t - alpha_j), i where t begins.
    """
    longest = 0
    start = 0
    for p in range(len(ends)):
        longest = max(longest, ends[p] - start)
        start = ends[p]
    alpha = np.empty(longest + 1)
    arc = np.empty(longest + 1, np.int32)
    n = 0
    start = 0
    for p in range(len(ends)):
        piece = data[start : ends[p]]
        start = ends[p]
        _forward_sums(trie, scores, piece, alpha)
        position = len(piece)
        while position > 0:
            left = random_uniform(stream)
            chosen = np.int64(-1)
            for i in range(position - 1, -1, -1):
                t = _token_between(trie, piece, i, position)
                if t < 0:
                    continue
                if chosen < 0:
                    chosen = t
                share = math.exp(alpha[i] + scores[t] - alpha[position])
                if left < share:
                    chosen = t
                    break
                left -= share
            arc[position] = chosen
            position -= sizes[chosen]
        n += _write_path(sizes, arc, len(piece), out[n:])
    return n


@compiled(inner=True)
def _token_between(trie, piece, i, j):
    """The token piece[i:j], or -1."""
    node = np.int64(0)
    for k in range(i, j):
        node = _child_node(trie, node, piece[k])
        if node < 0:
            return np.int64(-1)
    return np.int64(trie.token[node])

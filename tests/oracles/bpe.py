"""Byte-pair encoding as it is told: count all pairs, merge the most frequent one."""

import itertools
from collections import Counter


def merge_pair(tokens, pair, new):
    """Tokens with every pair, from left to right, replaced by a new one."""
    out = []
    i = 0
    while i < len(tokens):
        if tuple(tokens[i : i + 2]) == pair:
            out.append(new)
            i += 2
        else:
            out.append(tokens[i])
            i += 1
    return out


def slow_merges(pieces, n_merges):
    """Merges of pieces (lists of ids below 256)."""
    pieces = [list(p) for p in pieces]
    merges = []
    for m in range(n_merges):
        counts = Counter(pair for p in pieces for pair in itertools.pairwise(p))
        if not counts:
            break
        pair = min(counts, key=lambda q: (-counts[q], q))
        merges.append(pair)
        pieces = [merge_pair(p, pair, 256 + m) for p in pieces]
    return merges


def slow_encode(tokens, merges):
    """Tokens of one piece: the earliest merge first, everywhere."""
    tokens = list(tokens)
    for m, pair in enumerate(merges):
        tokens = merge_pair(tokens, pair, 256 + m)
    return tokens

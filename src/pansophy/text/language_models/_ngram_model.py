"""Compiled loops of n-gram models: probabilities by interpolated lower orders."""

import numpy as np

from ...core.loops.compiled import compiled
from ..vectorizers._token_table import phrase_id


@compiled
def suffix_ids(table, suffix):
    """The phrase without its first word, of each phrase; -1 for single words."""
    for i in range(table.size[0]):
        p = table.prefix[i]
        suffix[i] = -1
        if p >= 0:
            last = np.int64(table.last[i])
            suffix[i] = phrase_id(table, np.int64(suffix[p]), last, False)


@compiled
def token_log_probs(ids, ends, order, table, a, b, uniform, out):
    """log p of every token of padded sentences that is not padding; how many.

    A sentence is order - 1 starts, words, an end; log p of each word and of the end
    goes to `out`, by eq. (1) from the uniform distribution up. b[-1] is that of the
    empty context, whose phrase is -1.
    """
    context = np.empty(order + 1, np.int64)  # phrases of the 0, 1, ... words before
    following = np.empty(order + 1, np.int64)
    context[0] = -1
    following[0] = -1
    n = 0
    start = 0
    for d in range(len(ends)):
        known = 0  # words of the longest known context
        for i in range(start, ends[d]):
            w = np.int64(ids[i])
            p = uniform
            longest = 0
            for k in range(known + 1):
                h = context[k]
                p *= b[h]
                g = phrase_id(table, h, w, False)
                if g >= 0:
                    p += a[g]
                    following[k + 1] = g
                    longest = k + 1
            if i - start >= order - 1:
                out[n] = np.log(p)
                n += 1
            known = min(longest, order - 1)
            for k in range(1, known + 1):
                context[k] = following[k]
        start = ends[d]
    return n


@compiled
def next_word_probs(words, table, children, child_starts, a, b, p):
    """p of every word after the given ones, into p, which holds the uniform one.

    The phrases with prefix h are children[child_starts[h + 1]:child_starts[h + 2]].
    """
    n = len(words)
    h = np.int64(-1)
    for k in range(n + 1):  # the context of the last k words
        h = np.int64(-1)
        for i in range(n - k, n):
            h = phrase_id(table, h, np.int64(words[i]), False)
            if h < 0:
                return
        for i in range(len(p)):
            p[i] *= b[h]
        for j in range(child_starts[h + 1], child_starts[h + 2]):
            g = children[j]
            p[table.last[g]] += a[g]

"""Compiled loop of skip-gram with negative sampling."""

from typing import NamedTuple

import numpy as np

from ...core._random import random_bits, random_uniform
from ...core.loops.compiled import FASTMATH, compiled


class SamplingTables(NamedTuple):
    """Tables to subsample and draw words, and the logistic function at SIZE places."""

    keep: np.ndarray  # (V,) chance that a token of this word is kept
    share: np.ndarray  # (V,) of the alias method
    alias: np.ndarray  # (V,)
    sigmoid: np.ndarray  # over -BOUND..BOUND
    log_sigmoid: np.ndarray


class SkipGramPlan(NamedTuple):
    """Numbers of an epoch."""

    window: int
    negative: int
    rate: float  # at the start of the epoch
    fall: float  # of the rate over the epoch
    bound: float  # of the table of the logistic function


@compiled(fastmath=FASTMATH)
def skip_gram_epoch(ids, ends, U, V, tables, plan, stream):
    """One pass over all sentences; the sum of the losses, and the number of pairs.

    Every token is a centre once. The words around it, within a distance drawn from 1
    to the window, are trained to predict it among `negative` drawn words, which are
    drawn once for the centre.
    """
    d = U.shape[1]
    n_words = len(tables.keep)
    longest = 1
    start = 0
    for end in ends:
        longest = max(longest, end - start)
        start = end
    line = np.empty(longest, np.int64)
    targets = np.empty(plan.negative + 1, np.int64)
    change = np.empty(d, np.float32)
    scale = np.float32((len(tables.sigmoid) - 1) / (2.0 * plan.bound))
    bound = np.float32(plan.bound)
    total = 0.0
    pairs = 0
    start = 0
    for end in ends:
        rate = np.float32(plan.rate - plan.fall * start / len(ids))
        n = 0
        for i in range(start, end):
            if (
                tables.keep[ids[i]] >= 1.0
                or random_uniform(stream) < tables.keep[ids[i]]
            ):
                line[n] = ids[i]
                n += 1
        start = end
        for i in range(n):
            reach = 1 + int(random_bits(stream) % np.uint64(plan.window))
            targets[0] = line[i]
            m = 1
            for _ in range(plan.negative):
                bits = random_bits(stream)
                word = int((bits >> np.uint64(32)) % np.uint64(n_words))
                if np.float32(bits & np.uint64(0xFFFFFF)) >= tables.share[word]:
                    word = tables.alias[word]
                if word != line[i]:
                    targets[m] = word
                    m += 1
            for j in range(max(0, i - reach), min(n, i + reach + 1)):
                if j == i:
                    continue
                a = line[j]
                for c in range(d):
                    change[c] = 0.0
                for t in range(m):
                    b = targets[t]
                    f = np.float32(0.0)
                    for c in range(d):
                        f += U[a, c] * V[b, c]
                    f = min(max(f, -bound), bound)
                    sign = f if t == 0 else -f
                    cell = int((sign + bound) * scale)
                    total -= tables.log_sigmoid[cell]
                    # slope of -log s(sign): s(sign) - 1
                    g = rate * (np.float32(1.0) - tables.sigmoid[cell])
                    if t > 0:
                        g = -g
                    for c in range(d):
                        change[c] += g * V[b, c]
                        V[b, c] += g * U[a, c]
                for c in range(d):
                    U[a, c] += change[c]
                pairs += 1
    return total, pairs

"""Skip-gram and GloVe in plain Python, number by number."""

import math

import numpy as np

MASK = (1 << 64) - 1
STRIDE = 0x9E3779B97F4A7C15


class Stream:
    """The counter-based generator of compiled loops."""

    def __init__(self, seed):
        self.key = int(seed)

    def bits(self):
        z = (self.key + STRIDE) & MASK
        self.key = z
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def uniform(self):
        return ((self.bits() >> 12) + 0.5) * 2.0**-52


def skip_gram_epoch(sentences, U, V, keep, draw, plan, stream):
    """One epoch in float64 with the exact logistic function; changes U and V.

    `draw(bits)` gives a word from random bits, `plan` is (window, negative, rate,
    fall).
    """
    window, negative, rate, fall = plan
    tokens = sum(map(len, sentences))
    total, pairs, start = 0.0, 0, 0
    for words in sentences:
        eta = rate - fall * start / tokens
        start += len(words)
        line = [w for w in words if keep[w] >= 1 or stream.uniform() < keep[w]]
        for i, centre in enumerate(line):
            reach = 1 + stream.bits() % window
            drawn = [draw(stream.bits()) for _ in range(negative)]
            targets = [(centre, 1)] + [(w, 0) for w in drawn if w != centre]
            for j in range(max(0, i - reach), min(len(line), i + reach + 1)):
                if j == i:
                    continue
                u, change = U[line[j]], 0.0
                for target, label in targets:
                    s = 1 / (1 + math.exp(-float(u @ V[target])))
                    total -= math.log(s if label else 1 - s)
                    change = change + eta * (label - s) * V[target]
                    V[target] = V[target] + eta * (label - s) * u
                U[line[j]] = u + change
                pairs += 1
    return total, pairs


def glove_objective(X, U, V, b, c, x_max, alpha):
    """J of GloVe, over the pairs that occur."""
    total = 0.0
    for i, j in zip(*np.nonzero(X)):
        f = min(1.0, (X[i, j] / x_max) ** alpha)
        total += 0.5 * f * (U[i] @ V[j] + b[i] + c[j] - math.log(X[i, j])) ** 2
    return total

"""Divergences as they are defined, one number at a time."""

import math


def kl(p, q):
    """sum p log(p / q) of two lists."""
    total = 0.0
    for a, b in zip(p, q):
        if a > 0:
            total += a * math.log(a / b) if b > 0 else math.inf
    return total


def js(p, q):
    m = [(a + b) / 2 for a, b in zip(p, q)]
    return (kl(p, m) + kl(q, m)) / 2

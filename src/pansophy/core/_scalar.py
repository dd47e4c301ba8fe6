"""Compiled functions of one number, for use inside loops."""

import math

import numpy as np

from .loops.compiled import compiled

LOG2_E = 1.4426950408889634
LN2_HIGH = 6.93147180369123816490e-01  # log 2 = LN2_HIGH + LN2_LOW, with extra digits
LN2_LOW = 1.90821492927058770002e-10


@compiled
def sigmoid(x):
    """1 / (1 + exp(-x)) without overflow."""
    e = math.exp(-abs(x))
    return 1 / (1 + e) if x >= 0 else e / (1 + e)


@compiled
def log1pexp(x):
    """log(1 + exp(x)) without overflow."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@compiled(inline="always")
def exp_series(r):
    """exp(r) for |r| <= log(2) / 2: the Taylor series to r^13 by Horner's rule.

    The error is below rounding. It is inlined before flags are applied, so that it is
    computed with the fastmath set of the loop that calls it, and as vectors there.
    """
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    return p * r + 1.0


@compiled
def popcount(v):
    """The number of ones in a word; LLVM compiles this pattern to one instruction."""
    v = v - ((v >> np.uint64(1)) & np.uint64(0x5555555555555555))
    low = np.uint64(0x3333333333333333)
    v = (v & low) + ((v >> np.uint64(2)) & low)
    v = (v + (v >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (v * np.uint64(0x0101010101010101)) >> np.uint64(56)

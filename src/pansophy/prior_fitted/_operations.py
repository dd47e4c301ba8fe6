"""Compiled loops of `operations`: norm, gelu and softmax of float32 rows.

The exponential is

.. math:: e^x = 2^k \\, 2^f, \\quad k = \\text{round}(x \\log_2 e), \\; |f| \\le 1/2

where a polynomial of degree 6 gives 2^f to 2e-8 and k becomes the exponent of a float32
bit by bit, so that loops of it run in vector instructions. The normal distribution
function takes the error function of [1]_, formula 7.1.26, which is right to 1.5e-7.

References
----------
.. [1] Abramowitz and Stegun (1964). Handbook of mathematical functions.
"""

import math

import numpy as np

from ..core.loops._intrinsics import float32_of_bits
from ..core.loops.compiled import FASTMATH_FUSED, FASTMATH_NO_NAN, compiled

F = np.float32
ZERO, HALF, ONE = F(0), F(0.5), F(1)
LOG2_E = F(math.log2(math.e))
ROUNDING = F(1.5 * 2**23)  # adding it leaves no binary digits after the point
LOWEST = F(-87)  # e^-87 is about the smallest normal float32
# Taylor coefficients of 2^f; the last term is below 2e-8 on [-1/2, 1/2]
C1, C2, C3, C4, C5, C6 = (F(math.log(2) ** i / math.factorial(i)) for i in range(1, 7))
# of the error function
P = F(0.3275911)
A1, A2, A3, A4, A5 = map(
    F, (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
)
ROOT_HALF = F(math.sqrt(0.5))


@compiled(inner=True, fastmath=FASTMATH_FUSED, forceinline=True)
def fast_exponential(x):
    """e^x of a float32 of at most 0; 0 is not reached, but 1e-38."""
    t = max(x, LOWEST) * LOG2_E
    k = (t + ROUNDING) - ROUNDING
    f = t - k
    power = ONE + f * (C1 + f * (C2 + f * (C3 + f * (C4 + f * (C5 + f * C6)))))
    return power * float32_of_bits((np.int32(k) + np.int32(127)) << np.int32(23))


@compiled(fastmath=FASTMATH_FUSED)
def gelu_of(x, out):
    """x times the normal distribution function of x, for flat arrays."""
    for i in range(x.shape[0]):
        v = x[i]
        u = abs(v) * ROOT_HALF
        t = ONE / (ONE + P * u)
        tail = t * (A1 + t * (A2 + t * (A3 + t * (A4 + t * A5))))
        half_tail = HALF * tail * fast_exponential(-u * u)
        out[i] = v * (half_tail if v < ZERO else ONE - half_tail)


@compiled(fastmath=FASTMATH_NO_NAN)
def rms_norm_of(x, eps, out):
    """Rows of x over the root of their mean square."""
    n, d = x.shape
    for i in range(n):
        total = ZERO
        for j in range(d):
            total += x[i, j] * x[i, j]
        factor = ONE / np.sqrt(total / F(d) + eps)
        for j in range(d):
            out[i, j] = x[i, j] * factor


@compiled(inner=True, fastmath=FASTMATH_FUSED)
def exponentials(row, top):
    for j in range(row.shape[0]):
        row[j] = fast_exponential(row[j] - top)


@compiled(inner=True, fastmath=FASTMATH_NO_NAN)
def _largest_score(row):
    top = row[0]
    for j in range(1, row.shape[0]):
        top = max(top, row[j])
    return top


@compiled(inner=True, fastmath=FASTMATH_NO_NAN)
def _total_of(row):
    total = ZERO
    for j in range(row.shape[0]):
        total += row[j]
    return total


@compiled
def softmax_rows(scores):
    """Each row of scores becomes its softmax, in place."""
    for i in range(scores.shape[0]):
        row = scores[i]
        exponentials(row, _largest_score(row))
        factor = ONE / _total_of(row)
        for j in range(row.shape[0]):
            row[j] *= factor

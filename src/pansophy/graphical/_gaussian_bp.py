"""Compiled messages of Gaussian belief propagation over a sparse precision matrix."""

from numba import njit


@njit(cache=True, nogil=True)
def gaussian_sweep(first, head, twin, value, diagonal, h, A, B, order, damping):
    """Each node in `order` speaks to its neighbours; returns the largest change.

    A, B: precision and potential that arrive over each arc, at its head's side. The
    change is infinite where a precision is not above 0.
    """
    gap = 0.0
    for i in order:
        a, b = diagonal[i], h[i]
        for k in range(first[i], first[i + 1]):
            a += A[twin[k]]
            b += B[twin[k]]
        for k in range(first[i], first[i + 1]):
            p, m = a - A[twin[k]], b - B[twin[k]]
            if not p > 0.0:
                return float("inf")
            new_a, new_b = -value[k] * value[k] / p, -value[k] * m / p
            size = 1.0 + abs(new_a) + abs(new_b)
            gap = max(gap, (abs(new_a - A[k]) + abs(new_b - B[k])) / size)
            A[k] = (1.0 - damping) * new_a + damping * A[k]
            B[k] = (1.0 - damping) * new_b + damping * B[k]
    return gap

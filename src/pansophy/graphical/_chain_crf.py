"""Compiled products of sparse features and the weights that some labels have."""

from numba import njit


@njit(cache=True, nogil=True)
def add_label_scores(indptr, indices, data, first, label, w, begin, end, U):
    """U_tl += sum over attributes a of x_ta w_al, for rows from begin to end.

    The weights of attribute a stand at first[a]..first[a + 1], for those labels.
    """
    for t in range(begin, end):
        for i in range(indptr[t], indptr[t + 1]):
            a, x = indices[i], data[i]
            for q in range(first[a], first[a + 1]):
                U[t, label[q]] += x * w[q]


@njit(cache=True, nogil=True)
def weight_gradient(indptr, indices, data, first, label, R, begin, end, G):
    """G_al = sum over rows t of x_ta R_tl, for attributes (columns) begin to end."""
    for a in range(begin, end):
        for q in range(first[a], first[a + 1]):
            G[q] = 0.0
        for i in range(indptr[a], indptr[a + 1]):
            t, x = indices[i], data[i]
            for q in range(first[a], first[a + 1]):
                G[q] += x * R[t, label[q]]

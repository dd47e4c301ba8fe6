"""Compiled products of a sparse feature matrix with the weights of a chain CRF."""

from ...core.loops.compiled import compiled


@compiled
def add_label_scores(indptr, indices, data, first, label, w, first_row, last_row, U):
    """U_tl += sum over attributes a of x_ta w_al, for a range of rows.

    Attribute a has the weights w[first[a] : first[a + 1]], for the labels
    label[first[a] : first[a + 1]].
    """
    for t in range(first_row, last_row):
        for i in range(indptr[t], indptr[t + 1]):
            a, x = indices[i], data[i]
            for q in range(first[a], first[a + 1]):
                U[t, label[q]] += x * w[q]


@compiled
def weight_gradient(
    indptr, indices, data, first, label, R, first_column, last_column, G
):
    """G_al = sum over rows t of x_ta R_tl, for a range of attributes (columns)."""
    for a in range(first_column, last_column):
        for q in range(first[a], first[a + 1]):
            G[q] = 0.0
        for i in range(indptr[a], indptr[a + 1]):
            t, x = indices[i], data[i]
            for q in range(first[a], first[a + 1]):
                G[q] += x * R[t, label[q]]

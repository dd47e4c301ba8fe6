"""Compiled loops of factorisation by stochastic gradient descent."""

from numba import njit

FAST = {"contract", "reassoc", "nsz", "arcp"}


@njit(cache=True, nogil=True, fastmath=FAST)
def sgd_epoch(rows, users, items, r, w, m, reg, rate, biased, b, c, U, V):
    """One step for each of the ratings `rows`, in that order."""
    k = U.shape[1]
    for t in range(len(rows)):
        j = rows[t]
        u, i = users[j], items[j]
        x, v = U[u], V[i]
        e = r[j] - m - b[u] - c[i]
        s = x[0] * v[0]
        for f in range(1, k):
            s += x[f] * v[f]
        e = (e - s) * (w[j] if len(w) else 1)
        if biased:
            b[u] += rate * (e - reg * b[u])
            c[i] += rate * (e - reg * c[i])
        for f in range(k):
            old = x[f]
            x[f] += rate * (e * v[f] - reg * old)
            v[f] += rate * (e * old - reg * v[f])


@njit(cache=True, nogil=True, fastmath=FAST)
def squared_error_sum(first, last, users, items, r, w, m, b, c, U, V):
    """sum_j w_j e_j^2 over some of the ratings."""
    total = 0.0
    for j in range(first, last):
        x, v = U[users[j]], V[items[j]]
        s = x[0] * v[0]
        for f in range(1, len(x)):
            s += x[f] * v[f]
        e = r[j] - m - b[users[j]] - c[items[j]] - s
        total += e * e * (w[j] if len(w) else 1)
    return total

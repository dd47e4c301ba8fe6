"""Counting what came after what: sequences of labels as tables, tests of their order.

Labels of any kind become numbers 0..k-1, and p of them in a row a context, a number
below k^p. That p states before the next one are enough is tested against p + 1: if
they are, then

    G = 2 sum N_bcj log(N_bcj N_c / (N_bc N_cj))                                 (1)

summed over the contexts c, the state b before them and the state j after, has a
chi-squared law in the limit, with one degree for each pair of b and j beyond the first
that is seen with c.

Shapes    codes (n,)   N (k^p, k)   ends (s,) where each sequence ends
Refs      [Billingsley1961]
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc

from ..core.codes import is_missing
from ..core.numerics import safe_divide
from .sequences import joined, sequence_ends

MOST_CELLS = 1 << 26  # of a table of transitions


class MarkovTest(NamedTuple):
    """Whether p states are enough, eq. (1)."""

    statistic: float  # G
    degrees: int
    p_value: float
    order: int

    def __bool__(self):
        """Whether the data leave the property standing, at the 5 % level."""
        return self.p_value >= 0.05


def listed(X, lengths=None):
    """Labels one after the other (n,), and where each sequence ends.

    X is one sequence of labels (a text is one of letters), a list of sequences, all of
    them in one array with their lengths, or a grouped dataframe.
    """
    if isinstance(X, str):
        X = list(X)
    if isinstance(X, (list, tuple)) and any(isinstance(x, (list, tuple)) for x in X):
        X = [labels(x) for x in X]
    X, lengths = joined(X, lengths)
    x = labels(X)
    x = x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x
    if x.ndim != 1 or not len(x):
        raise ValueError(
            f"X must be one sequence of states or several, got shape {x.shape}."
        )
    return x, sequence_ends(len(x), lengths)


def labels(X):
    """An array of labels in which nothing that was no text has become one."""
    x = np.asarray(X)
    if x.dtype.kind in "US" and isinstance(X, (list, tuple)):
        mixed = any(not isinstance(v, (str, bytes)) for v in X)
        return np.asarray(X, dtype=object) if mixed else x
    return x


def coded(x, states=None):
    """Numbers of the states (n,), -1 where one is missing, and the states."""
    there = np.ones(len(x), bool)
    if x.dtype.kind in "Of":
        there = np.array([not is_missing(v) for v in x.tolist()], dtype=bool)
    seen = np.asarray(held := x[there].tolist())
    if seen.dtype.kind in "US" and x.dtype.kind == "O":
        other = [v for v in held if isinstance(v, str) != isinstance(held[0], str)]
        if other:
            raise ValueError(
                f"states must be of one kind, got {held[0]!r} and {other[0]!r}."
            )
    states = np.unique(seen) if states is None else states
    place = np.minimum(np.searchsorted(states, seen), max(len(states) - 1, 0))
    if len(seen) and (wrong := states[place] != seen).any():
        raise ValueError(
            f"X holds the state {seen[wrong][0].item()!r}, which is none of the "
            f"{len(states)} states of the chain."
        )
    codes = np.full(len(x), -1)
    codes[there] = place
    return codes, states


def contexts(codes, at, begins, p, k):
    """Number of the p states before each row `at` of sequences that begin at `begins`,
    -1 where fewer than p are there or one is missing."""
    c = np.zeros(len(at), np.int64)
    short = at - begins < p
    for lag in range(p, 0, -1):
        back = codes[np.maximum(at - lag, 0)]
        short |= back < 0
        c = c * k + back
    return np.where(short, -1, c)


class Counts(NamedTuple):
    """N and what sequences begin and end with."""

    next: np.ndarray  # (k^p, k)
    first: np.ndarray  # (k^p,)
    last: np.ndarray  # (k^p,)


def count(codes, ends, p, k) -> Counts:
    """How often each state came after each context."""
    begins = np.r_[0, ends[:-1]]
    sizes = ends - begins
    c = contexts(codes, np.arange(len(codes)), np.repeat(begins, sizes), p, k)
    ok = (c >= 0) & (codes >= 0)
    N = np.bincount(c[ok] * k + codes[ok], minlength=k ** (p + 1))

    def edge(at):
        found = contexts(codes, at, begins, p, k)
        return np.bincount(found[found >= 0], minlength=k**p).astype(float)

    first = edge(np.minimum(begins + p, ends))
    return Counts(N.reshape(-1, k).astype(float), first, edge(ends))


def fit_table(N, stops, a, learn_stop):
    """Frequencies with pseudo-counts a: transitions (c, k), stops (c,)."""
    whole = np.column_stack([N, stops]) if learn_stop else N
    whole = whole + a
    P = safe_divide(whole, whole.sum(1, keepdims=True) + 0 * whole, 1 / whole.shape[1])
    return (P[:, :-1], P[:, -1]) if learn_stop else (P, np.zeros(len(P)))


def more_history(codes, ends, p, k) -> MarkovTest:
    """Test of p states against p + 1, eq. (1)."""
    N = count(codes, ends, p + 1, k).next.reshape(k, -1, k)  # b, c, j
    pair, after, whole = N.sum(axis=2), N.sum(axis=0), N.sum(axis=(0, 2))
    some = N > 0
    expected = pair[:, :, None] * safe_divide(after, whole[:, None] + 0 * after)
    G = 2 * float((N[some] * np.log(N[some] / expected[some])).sum())
    rows, columns = (pair > 0).sum(axis=0), (after > 0).sum(axis=1)
    degrees = int((np.maximum(rows - 1, 0) * np.maximum(columns - 1, 0)).sum())
    p_value = float(chdtrc(degrees, G)) if degrees else 1.0
    return MarkovTest(G, degrees, p_value, p)


class OrderChoice(NamedTuple):
    """Orders compared on the same transitions; the best by BIC."""

    orders: list
    log_likelihood: np.ndarray
    n_parameters: np.ndarray
    aic: np.ndarray
    bic: np.ndarray
    best: int


def choose_order(X, lengths=None, *, orders=(1, 2, 3)) -> OrderChoice:
    """How many earlier states matter, by BIC.

    All orders predict the same rows: those with as many before them as the highest
    order needs.

    Examples
    --------
    >>> from pansophy.state_space import MarkovChain, choose_order
    >>> chain = MarkovChain.from_matrix([[0.9, 0.1], [0.3, 0.7]])
    >>> choose_order(chain.sample(2000, random_state=0)).best
    1
    """
    x, ends = listed(X, lengths)
    codes, states = coded(x)
    k, top = len(states), max(orders)
    if float(k) ** (top + 1) > MOST_CELLS:
        raise ValueError(f"{k} states and order {top} make too large a table.")
    N = count(codes, ends, top, k).next
    n, found = N.sum(), []
    for p in orders:
        of = N.reshape(-1, k**p, k).sum(axis=0)
        P = safe_divide(of, of.sum(axis=1, keepdims=True) + 0 * of)
        found.append((float((of[of > 0] * np.log(P[of > 0])).sum()), k**p * (k - 1)))
    ll, free = np.array(found).T
    bic = -2 * ll + free * np.log(max(n, 1))
    best = int(orders[int(bic.argmin())])
    return OrderChoice(list(orders), ll, free.astype(int), 2 * free - 2 * ll, bic, best)

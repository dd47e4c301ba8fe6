"""Linear-chain conditional random field: labels of a sequence given all it shows.

For tokens x_1..x_n and labels y_1..y_n

    P(y | x) = exp S(x, y) / Z(x),   S = sum_t U_t(y_t) + sum_t T(y_t-1, y_t)     (1)
    U_t(l) = sum_a w_al x_ta        (+ b_l at the start, e_l at the end)          (2)

and the weights minimise the penalised surprise

    J = sum over sequences (log Z - S) + c2 |w|_2^2 + c1 |w|_1                    (3)

which is convex. Its gradient is expected minus observed counts of each feature, and
the expected ones come from the recursions of `core.filtering`: a chain with the
transitions exp T, which need not sum to 1, and the evidence U has log-likelihood log Z
and as its posteriors the marginals of (1). A sequence of one token is multinomial
logistic regression. L-BFGS, or its orthant-wise form where c1 > 0, takes the steps; the
best labels are Viterbi's path.

By default weights exist for pairs of attribute and label, and of labels, that occur in
the data, as in CRFsuite; the rest count as 0.

Cost      O(features present + n k^2) a step; memory O(n k)
Shapes    X (n, d)   U, P (n, k)   T (k, k)   ends (s,) where sequences end
Refs      [Lafferty2001] [Sutton2012] [Andrew2007]
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse

from ..core import threads
from ..core.filtering import Chain, Evidence, expected_counts
from . import _chain_crf as loops

N_PIECES = 16  # pieces of work for threads


class SparseFeatures(NamedTuple):
    """Rows as they are, and by column, with the weights that each column has."""

    rows: scipy.sparse.csr_array
    columns: scipy.sparse.csc_array
    first: np.ndarray  # (d + 1,) where the weights of a column begin
    label: np.ndarray  # (m,) label of each weight

    def scores(self, w, k):
        """U of eq. (2), (n, k)."""
        U = np.zeros((self.rows.shape[0], k))
        A = self.rows
        work = lambda b, e: loops.add_label_scores(
            A.indptr, A.indices, A.data, self.first, self.label, w, b, e, U
        )
        run_in_pieces(work, A.indptr)
        return U

    def sums(self, R):
        """sum_t x_ta R_tl for each weight, (m,)."""
        G = np.empty(len(self.label))
        A = self.columns
        work = lambda b, e: loops.weight_gradient(
            A.indptr, A.indices, A.data, self.first, self.label, R, b, e, G
        )
        run_in_pieces(work, A.indptr)
        return G


def run_in_pieces(work, indptr):
    """Run work(begin, end) over pieces of about equal numbers of entries."""
    at = np.linspace(0, indptr[-1], N_PIECES + 1)[1:-1]
    cuts = np.r_[0, np.searchsorted(indptr, at), len(indptr) - 1]
    tasks = (
        (lambda b=int(b), e=int(e): work(b, e)) for b, e in pairwise(cuts) if e > b
    )
    for _ in threads.run(tasks):
        pass


def build_features(X, codes, k, everything) -> SparseFeatures:
    """X with weights for every label of a column, or for those seen with it."""
    A = scipy.sparse.csr_array(X)
    C = A.tocsc()
    d = A.shape[1]
    if everything or codes is None:
        first, label = np.arange(d + 1) * k, np.tile(np.arange(k), d)
    else:
        pairs = np.unique(entry_columns(C) * k + codes[C.indices])
        label = pairs % k
        first = np.searchsorted(pairs, np.arange(d + 1) * k)
    return SparseFeatures(
        with_compact_indices(A),
        with_compact_indices(C),
        first.astype(np.int64),
        label.astype(np.int64),
    )


def entry_columns(C):
    """Column of each stored entry."""
    return np.repeat(np.arange(C.shape[1]), np.diff(C.indptr))


def with_compact_indices(A):
    """The same matrix with index arrays of one type, so that loops compile once."""
    A.indptr, A.indices = A.indptr.astype(np.int64), A.indices.astype(np.int32)
    return A


class WeightLayout(NamedTuple):
    """Where each kind of weight stands in theta: features, transitions, both ends."""

    k: int
    m: int
    moves: np.ndarray  # (q,) transitions a * k + b that have a weight
    boundary: bool

    @property
    def size(self):
        return self.m + len(self.moves) + 2 * self.k * self.boundary

    def parts(self, theta):
        """w (m,), T (k, k), b (k,), e (k,)."""
        w, rest = theta[: self.m], theta[self.m :]
        T = np.zeros(self.k**2)
        T[self.moves] = rest[: len(self.moves)]
        ends = rest[len(self.moves) :] if self.boundary else np.zeros(2 * self.k)
        return w, T.reshape(self.k, self.k), ends[: self.k], ends[self.k :]

    def joined(self, w, T, b, e):
        """One vector of weights, or of their counts."""
        ends = (b, e) if self.boundary else ()
        return np.concatenate([w, T.ravel()[self.moves], *ends])


def chain_potentials(F: SparseFeatures, layout: WeightLayout, theta, ends):
    """Chain and evidence of eq. (1), and the logarithm taken out of the chain."""
    w, T, b, e = layout.parts(theta)
    U = F.scores(w, layout.k)
    if layout.boundary:
        U[np.r_[0, ends[:-1]]] += b
        U[ends - 1] += e
    top = float(T.max())
    chain = Chain(np.ones(layout.k), np.exp(T - top))
    return chain, Evidence(U, None, ends), top * (len(U) - len(ends))


def feature_counts(F, layout, P, pairs, ends):
    """Counts of every feature under memberships P (n, k) and pairs (k, k)."""
    first, last = P[np.r_[0, ends[:-1]]].sum(axis=0), P[ends - 1].sum(axis=0)
    return layout.joined(F.sums(P), pairs, first, last)


def neg_log_likelihood(theta, F, layout, ends, observed):
    """sum (log Z - S) of eq. (3), and its gradient."""
    chain, evidence, extra = chain_potentials(F, layout, theta, ends)
    E = expected_counts(chain, evidence)
    expected = feature_counts(F, layout, E.counts, E.trans, ends)
    return E.loglik + extra - theta @ observed, expected - observed


def label_pair_counts(codes, ends, k):
    """How often label b follows label a: (k, k)."""
    inner = np.setdiff1d(np.arange(1, len(codes)), ends)
    N = np.bincount(codes[inner - 1] * k + codes[inner], minlength=k * k)
    return N.reshape(k, k).astype(float)

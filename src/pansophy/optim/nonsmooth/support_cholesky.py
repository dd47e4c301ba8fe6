"""Cholesky factor of G_SS + b I, updated as the support S changes.

Adding or removing a column costs O(s^2) with s = |S|, against s^3/3 for a new factor,
so that an exact solve on the support of a lasso costs no more than a few passes of
coordinate descent. R is upper triangular and stored by rows: R^T R = G_SS + b I.

Refs      [GolubVanLoan2013] 6.5
"""

import numpy as np
from scipy.linalg import LinAlgError, cholesky

from . import _coordinate as loops


class Support:
    """Support S with its Cholesky factor; `solve` updates both to a new support."""

    def __init__(self, dtype):
        self.members = np.empty(0, np.intp)  # S, in the order of R
        self.b = 0.0
        self.R = np.empty((0, 0), dtype)

    def solve(self, G, b, S, rhs):
        """(G_SS + b I)^-1 rhs, or None if the matrix is not positive definite."""
        if not self.move(G, b, S):
            return None
        s = len(S)
        order = np.argsort(self.members)  # S is sorted: the place of each in R
        x = np.empty(s, self.R.dtype)
        x[order] = rhs
        loops.forward_substitute(self.R, s, x)
        loops.back_substitute(self.R, s, x)
        return x[order]

    def holds(self, b, S) -> bool:
        """Whether the factor is already that of S."""
        is_same_support = len(S) == len(self.members) and b == self.b
        return is_same_support and np.array_equal(np.sort(self.members), S)

    def near(self, b, S) -> bool:
        """Whether moving to S is cheaper than a new factor."""
        changes = len(np.setxor1d(self.members, S, assume_unique=True))
        return b == self.b and changes <= 8 + len(S) // 16

    def move(self, G, b, S) -> bool:
        """Update the factor to that of S; False if it is not positive definite."""
        if len(self.members) == 0 or not self.near(b, S):
            return self.renew(G, b, S)
        removed = np.flatnonzero(~np.isin(self.members, S, assume_unique=True))
        new = S[~np.isin(S, self.members, assume_unique=True)]
        s = len(self.members)
        for position in removed[::-1]:
            loops.remove_from_factor(self.R, s, position)
            s -= 1
        members = np.delete(self.members, removed)
        self.reserve(s + len(new))
        for j in new:
            column = G[j, members]
            if not loops.append_to_factor(self.R, s, column, G[j, j] + b):
                self.members = members
                return self.renew(G, b, S)
            members = np.append(members, j)
            s += 1
        self.members = members
        return True

    def renew(self, G, b, S) -> bool:
        """Factor G_SS + b I anew; False if it is not positive definite."""
        A = G[np.ix_(S, S)]
        A[np.diag_indices(len(S))] += b
        size = A.diagonal().copy()
        try:
            R = cholesky(A, overwrite_a=True, check_finite=False)
        except LinAlgError:
            R = np.zeros_like(A)
        if not np.all(R.diagonal() ** 2 > 1e-12 * size):  # more columns than rank
            self.members = np.empty(0, np.intp)
            return False
        self.reserve(len(S))
        self.R[: len(S), : len(S)] = R
        self.members = S.copy()
        self.b = b
        return True

    def reserve(self, s):
        """Make space for a factor of size s."""
        if s > len(self.R):
            R = np.empty((max(s, 2 * len(self.R)),) * 2, self.R.dtype)
            old = len(self.members)
            R[:old, :old] = self.R[:old, :old]
            self.R = R

"""A partition of n rows into k groups: four representations and their conversions.

    labels           z_i in 0..k-1, or -1 for a row in no group                 (1)
    member lists     C_j = {i : z_i = j}, disjoint                              (2)
    representatives  r_i, the row that stands for the group of row i            (3)
    memberships      U_ij >= 0 with sum_j U_ij = 1, or 0 for a row in no group  (4)

(1), (2) and (3) are equivalent and convert back and forth exactly. Of (4) the labels
are the largest entry of each row (the first of equals); labels give a U of 0 and 1.

Time and memory O(n), O(n k) for (4). Groups are numbered; `names` keeps the
original labels where they were not 0..k-1. A group may be empty in (1), (2) and
(4), but has a representative in (3) only if it has rows.

Shapes    z, r (n,)   U (n, k)   X (n, d)   centroids (k, d)
Refs      [Jain1999] the forms
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays.arrays import to_numpy


@dataclass(frozen=True, eq=False, repr=False)
class Partition:
    """Rows in groups: made by one of the methods `from_...`, readable in any form.

    Attributes
    ----------
    labels : array of shape (n,)
        z of eq. (1).
    k : int
        How many groups, empty ones included.
    names : array of shape (k,) or None
        What the groups were called; None for 0..k-1.
    membership : array of shape (n, k) or None
        U of eq. (4) where it was given.

    Examples
    --------
    >>> from pansophy.cluster import Partition
    >>> p = Partition.from_labels(["b", "a", "b"])
    >>> [m.tolist() for m in p.members]
    [[1], [0, 2]]
    >>> p.representatives.tolist()
    [0, 1, 0]
    >>> Partition.from_representatives(p.representatives).is_equivalent(p)
    True
    """

    labels: np.ndarray
    k: int
    names: np.ndarray | None = None
    membership: np.ndarray | None = None

    @classmethod
    def from_labels(cls, labels, k=None):
        """From eq. (1): any labels; -1 among whole numbers is no group."""
        z = np.asarray(to_numpy(labels))
        if z.ndim != 1:
            raise ValueError(f"labels must be one column, got shape {z.shape}.")
        if z.dtype.kind in "iub":
            z = z.astype(np.int64)
            if z.min(initial=0) < -1:
                raise ValueError("labels below -1 name no group.")
            distinct = np.unique(z[z >= 0])
            top = int(distinct[-1]) + 1 if len(distinct) else 0
            if k is not None or top == len(distinct):
                size = top if k is None else int(k)
                if size < top:
                    raise ValueError(f"label {top - 1} does not fit k={size} groups.")
                return cls(z, size)
            out = np.searchsorted(distinct, z)
            return cls(np.where(z < 0, -1, out), len(distinct), distinct)
        names, out = np.unique(z, return_inverse=True)
        return cls(out.astype(np.int64), len(names), names)

    @classmethod
    def from_members(cls, members: Sequence, n=None):
        """From eq. (2): row numbers of each group; rows in none get label -1."""
        lists = [np.asarray(m, dtype=np.int64).ravel() for m in members]
        every = np.concatenate(lists) if lists else np.empty(0, np.int64)
        n = int(every.max(initial=-1)) + 1 if n is None else int(n)
        if len(every) and not 0 <= every.min() <= every.max() < n:
            raise ValueError(f"members must be row numbers from 0 to {n - 1}.")
        if len(np.unique(every)) < len(every):
            raise ValueError("a row is a member of two groups.")
        z = np.full(n, -1, np.int64)
        for j, m in enumerate(lists):
            z[m] = j
        return cls(z, len(lists))

    @classmethod
    def from_representatives(cls, representatives):
        """From eq. (3): r_i must stand for itself; -1 is no group."""
        r = np.asarray(to_numpy(representatives)).astype(np.int64)
        good = (r >= -1) & (r < len(r))
        if not good.all() or not (r[r[r >= 0]] == r[r >= 0]).all():
            raise ValueError("a representative must be a row that stands for itself.")
        distinct = np.unique(r[r >= 0])
        z = np.where(r < 0, -1, np.searchsorted(distinct, r))
        return cls(z, len(distinct), None)

    @classmethod
    def from_membership(cls, membership):
        """From eq. (4): rows that sum to 1, or to 0 for no group."""
        U: Any = np.asarray(to_numpy(membership))
        if U.ndim != 2 or not np.isfinite(U).all() or (U < 0).any():
            raise ValueError("memberships must be an n by k array of numbers >= 0.")
        total = U.sum(axis=1)
        if not np.all(np.isclose(total, 1, atol=1e-5) | (total == 0)):
            raise ValueError("the memberships of a row must sum to 1.")
        z = np.where(total > 0, U.argmax(axis=1), -1)
        return cls(z.astype(np.int64), U.shape[1], None, U)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.labels)

    @property
    def sizes(self) -> np.ndarray:
        """Rows of each group."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.k)

    @property
    def members(self) -> list[np.ndarray]:
        """Eq. (2): the row numbers of each group, rising."""
        order = np.argsort(self.labels, kind="stable")
        order = order[np.count_nonzero(self.labels < 0) :]
        return np.split(order, np.cumsum(self.sizes)[:-1]) if self.k else []

    @property
    def representatives(self) -> np.ndarray:
        """Eq. (3) with the first row of each group as its representative."""
        return self.representatives_from([m[0] if len(m) else -1 for m in self.members])

    def representatives_from(self, exemplars) -> np.ndarray:
        """Eq. (3) with the given rows, one for each group (-1 for an empty one)."""
        e = np.asarray(exemplars, np.int64)
        if len(e) != self.k:
            raise ValueError(f"{self.k} groups need as many exemplars, got {len(e)}.")
        real = e >= 0
        if (self.labels[e[real]] != np.flatnonzero(real)).any():
            raise ValueError("an exemplar must be a row of its own group.")
        return np.where(self.labels < 0, -1, np.append(e, -1)[self.labels])

    def membership_matrix(self) -> np.ndarray:
        """Eq. (4): the memberships given, or 0 and 1 from the labels."""
        if self.membership is not None:
            return self.membership
        return (self.labels[:, None] == np.arange(self.k)).astype(float)

    def labels_by_name(self) -> np.ndarray:
        """Labels by the names of the groups."""
        if self.names is None:
            return self.labels
        if (self.labels >= 0).all():
            return self.names[self.labels]
        return np.where(self.labels < 0, -1, self.names[self.labels])

    def centroids(self, X, sample_weight=None) -> np.ndarray:
        """The (weighted) mean of each group by its memberships; NaN if empty."""
        X = np.asarray(to_numpy(X), np.float64)
        w = np.ones(self.n) if sample_weight is None else np.asarray(sample_weight)
        U = self.membership_matrix() * w[:, None]
        mass = U.sum(axis=0)[:, None]
        sums = U.T @ X
        return np.divide(sums, mass, out=np.full_like(sums, np.nan), where=mass > 0)

    def exemplars(self, X) -> np.ndarray:
        """The row of each group nearest to its centroid; -1 if empty."""
        X, C = np.asarray(to_numpy(X), np.float64), self.centroids(X)
        near = lambda m, c: m[np.argmin(((X[m] - c) ** 2).sum(axis=1))]
        return np.array([near(m, c) if len(m) else -1 for m, c in zip(self.members, C)])

    def is_equivalent(self, other: "Partition") -> bool:
        """Whether both put the same rows together, whatever the names of the groups."""
        if self.n != other.n or ((self.labels < 0) != (other.labels < 0)).any():
            return False
        return bool((self.representatives == other.representatives).all())

    def __repr__(self):
        kind = "soft" if self.membership is not None else "hard"
        loose = int(np.count_nonzero(self.labels < 0))
        rest = f", {loose} in none" if loose else ""
        return f"Partition({kind}: {self.n} rows in {self.k} groups{rest})"

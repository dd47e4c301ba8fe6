"""Ratings: a sparse matrix of users by items, with names, times and weights.

n ratings are kept as triplets (u_j, i_j, r_j) of codes and values, in the order given,
with the names behind the codes, and if wanted a time and a weight w_j for each. A cell
that was rated 0 is known and is not the same as a cell without a rating: every loss in
this package sums over the known cells D only.

Duplicates. Two rows for one cell are merged, in the place of the first:

    "mean"   the weighted mean of the values, and the sum of the weights (default)
    "sum"    the weighted sum of the values, without weights: counts of plays
    "last", "first"   the row with the latest (earliest) time, else the last (first)
    "max"    the row with the largest value, of equal ones the last
    "error"  refused

"mean" loses nothing: sum_j w_j (r_j - f)^2 over the rows of a cell differs by a
constant from W (R - f)^2 with W = sum w_j, R = sum w_j r_j / W. So a weight of k is
the same as k equal rows. The latest time of the merged rows is kept.

Memory is that of the triplets (16 bytes a rating in double precision), and as much
again for each of the two sorted views, by user and by item, once asked for.

Shapes    users, items, values, times, weights (n,)    csr (n_users, n_items)
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .name_codes import (
    check_distinct_names,
    check_labels,
    check_ratings,
    codes_of_names,
    encode_names,
    frame_columns,
)

DUPLICATES = ("mean", "sum", "last", "first", "max", "error")


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """Ratings of items by users, perhaps with times; the module text gives the rules.

    Made by `from_triplets`, `from_frame` or `from_matrix`.

    Parameters
    ----------
    users, items : int arrays of length n
        Codes: positions in `user_names` and `item_names`.
    values : float array of length n
        The ratings. float32 stays float32.
    user_names, item_names : arrays
        Sorted names. A name may have no rating.
    times : array of length n or None
        When each rating was made: numbers or dates.
    weights : float array of length n or None
        How much each rating counts; None is 1 for all.

    Examples
    --------
    >>> from pansophy.recommend import Ratings
    >>> R = Ratings.from_triplets(["ann", "bob", "ann"], ["tea", "tea", "ale"],
    ...                           [4, 2, 5])
    >>> R
    Ratings(n_users=2, n_items=2, n=3, known=75%)
    >>> R.to_matrix()
    array([[ 5.,  4.],
           [nan,  2.]])
    """

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray
    user_names: np.ndarray
    item_names: np.ndarray
    times: np.ndarray | None = None
    weights: np.ndarray | None = None

    @classmethod
    def from_triplets(
        cls, users, items, values=None, *, times=None, weights=None, duplicates="mean"
    ) -> "Ratings":
        """From three columns; without values every rating is 1."""
        u, user_names = encode_names(users, "users")
        i, item_names = encode_names(items, "items")
        r = check_ratings(
            np.ones(len(u)) if values is None else values, len(u), "ratings"
        )
        if len(i) != len(u):
            raise ValueError(f"there are {len(u)} users, but {len(i)} items.")
        ratings = cls(u, i, r, user_names, item_names)
        if times is not None:
            times = check_labels(times, "times")
            if len(times) != len(u):
                raise ValueError(f"there are {len(u)} ratings, but {len(times)} times.")
        if weights is not None:
            weights = check_ratings(weights, len(u), "weights").astype(r.dtype)
            if (weights < 0).any():
                raise ValueError("weights must not be negative.")
        ratings = replace(ratings, times=times, weights=weights)
        if weights is not None and not weights.all():
            ratings = ratings[weights > 0]  # a row of weight 0 is no row
        return _merge_duplicates(ratings, duplicates)

    @classmethod
    def from_frame(
        cls, frame, user="user", item="item", rating="rating", time=None, **options
    ) -> "Ratings":
        """From a data frame of pandas, polars or Arrow, or a dict of columns.

        `user`, `item`, `rating` and `time` name the columns; rating=None makes every
        rating 1. `options` goes to `from_triplets`.
        """
        column_of, _ = frame_columns(frame)
        named = {"user": user, "item": item, "rating": rating, "time": time}
        u, i, r, t = (
            None if name is None else column_of(name, role)
            for role, name in named.items()
        )
        return cls.from_triplets(u, i, r, times=t, **options)

    @classmethod
    def from_matrix(cls, Y, *, user_names=None, item_names=None) -> "Ratings":
        """From a dense matrix with NaN where nothing is known, or a sparse one.

        The stored cells of a sparse matrix are known, stored zeros too.
        """
        C: Any = None
        if sp.issparse(Y):
            C = sp.csr_array(Y) if Y.format != "csr" else Y
            u = np.repeat(np.arange(C.shape[0], dtype=np.int32), np.diff(C.indptr))
            i = C.indices.astype(np.int32, copy=False)
            r = C.data
        else:
            Y = np.asarray(Y)
            if Y.ndim != 2 or Y.dtype.kind not in "fiub":
                raise ValueError("a rating matrix must be two-dimensional numbers.")
            known = ~np.isnan(Y) if Y.dtype.kind == "f" else np.ones(Y.shape, bool)
            u, i = (c.astype(np.int32) for c in np.nonzero(known))
            r = Y[known]
        r = check_ratings(r, len(u), "ratings")
        users, way = check_distinct_names(user_names, Y.shape[0], "user_names")
        u = u if way is None else way[u]
        items, way = check_distinct_names(item_names, Y.shape[1], "item_names")
        i = i if way is None else way[i]
        ratings = cls(u, i, r, users, items)
        unnamed = user_names is None and item_names is None
        if sp.issparse(Y) and unnamed and C.has_canonical_format:  # sorted already
            rows = np.arange(len(r), dtype=np.int32 if len(r) < 2**31 else np.int64)
            cells = (rows, i, C.indptr)
            ratings.__dict__["order"] = sp.csr_array(cells, shape=C.shape)
            return ratings
        return _merge_duplicates(ratings, "error")

    @property
    def shape(self) -> tuple[int, int]:
        """(n_users, n_items)."""
        return len(self.user_names), len(self.item_names)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self):
        n_users, n_items = self.shape
        known = 100 * len(self) / max(n_users * n_items, 1)
        return (
            f"Ratings(n_users={n_users}, n_items={n_items}, n={len(self)}, "
            f"known={known:.3g}%)"
        )

    def __getitem__(self, rows) -> "Ratings":
        """Some of the ratings, with all the names."""
        cut = lambda a: None if a is None else a[rows]
        names = ("users", "items", "values", "times", "weights")
        return replace(self, **{name: cut(getattr(self, name)) for name in names})

    @property
    def T(self) -> "Ratings":
        """Users and items exchanged."""
        return replace(
            self,
            users=self.items,
            items=self.users,
            user_names=self.item_names,
            item_names=self.user_names,
        )

    @cached_property
    def order(self) -> sp.csr_array:
        """Row numbers of the ratings sorted by user, then item, as a sparse matrix."""
        return _sorted_cell_order(self.users, self.items, self.shape)

    @cached_property
    def csr(self) -> sp.csr_array:
        """The values by user, then item: a sparse matrix of shape `shape`."""
        return fill_pattern(self.order, self.values)

    @cached_property
    def user_counts(self) -> np.ndarray:
        """Ratings of each user."""
        return np.bincount(self.users, minlength=self.shape[0])

    @cached_property
    def item_counts(self) -> np.ndarray:
        """Ratings of each item."""
        return np.bincount(self.items, minlength=self.shape[1])

    @cached_property
    def mean(self) -> float:
        """The weighted mean of the ratings; 0 if there are none."""
        if not len(self):
            return 0.0
        return float(np.average(self.values.astype(np.float64), weights=self.weights))

    def to_triplets(self):
        """(user names, item names, values), row by row as given."""
        return self.user_names[self.users], self.item_names[self.items], self.values

    def pairs(self) -> np.ndarray:
        """(n, 2) user and item names: X for scikit-learn, with `values` as y."""
        u, i, _ = self.to_triplets()
        if (u.dtype.kind == "U") != (i.dtype.kind == "U"):
            u, i = u.astype(object), i.astype(object)
        return np.column_stack([u, i])

    def to_matrix(self) -> np.ndarray:
        """The dense matrix, NaN where nothing is known."""
        out = np.full(self.shape, np.nan, self.values.dtype)
        out[self.users, self.items] = self.values
        return out

    def to_frame(self, backend="pandas") -> Any:
        """Columns user, item, rating (and time) as a data frame of that library."""
        import narwhals as nw

        u, i, r = self.to_triplets()
        columns = {"user": u, "item": i, "rating": r}
        if self.times is not None:
            columns["time"] = self.times
        return nw.from_dict(columns, backend=backend).to_native()

    def unweighted(self) -> "Ratings":
        """A copy in which each rating counts once."""
        return self if self.weights is None else replace(self, weights=None)

    def with_names(self, *, users=None, items=None) -> "Ratings":
        """A copy with wider lists of names (users or items without ratings)."""
        renamed = self
        if users is not None:
            codes = _codes_in_names(users, self.user_names, "users")
            renamed = replace(
                renamed, users=codes[self.users], user_names=np.asarray(users)
            )
        if items is not None:
            codes = _codes_in_names(items, self.item_names, "items")
            renamed = replace(
                renamed, items=codes[self.items], item_names=np.asarray(items)
            )
        return renamed


def _codes_in_names(names, labels, what):
    codes = codes_of_names(np.asarray(names), labels, what)
    if (codes < 0).any():
        raise ValueError(f"a name among the {what} is missing from the new list.")
    return codes


def _sorted_cell_order(users, items, shape) -> sp.csr_array:
    """Row numbers 0 .. n-1 by user, then item, equal cells in their order."""
    n = len(users)
    row_numbers = np.arange(n, dtype=np.int32 if n < 2**31 else np.int64)
    C = sp.coo_array((row_numbers, (items, users)), shape=shape[::-1])
    C.has_canonical_format = True  # equal cells are not to be added up
    by_item = C.tocsr()
    return sp.csr_array(by_item.T.tocsr())


def fill_pattern(order, values) -> sp.csr_array:
    """A sparse matrix of this pattern with values[order]."""
    parts = (values[order.data], order.indices, order.indptr)
    return sp.csr_array(parts, shape=order.shape)


def _merge_duplicates(ratings, rule) -> Ratings:
    """One row for every cell, by the rule of the module text."""
    if rule not in DUPLICATES:
        known = ", ".join(map(repr, DUPLICATES))
        raise ValueError(f"duplicates must be one of {known}, got {rule!r}.")
    if rule == "sum" and ratings.weights is not None:  # as if the rows were repeated
        values = ratings.values * ratings.weights
        ratings = replace(ratings, values=values, weights=None)
    order = ratings.order
    row_numbers, cells = order.data, order.indices
    new = np.ones(len(row_numbers), bool)
    new[1:] = cells[1:] != cells[:-1]
    new[order.indptr[:-1][order.indptr[:-1] < len(row_numbers)]] = True
    if new.all():
        return ratings
    if rule == "error":
        j = row_numbers[np.flatnonzero(~new)[0]]
        u, i = ratings.users[j], ratings.items[j]
        raise ValueError(
            f"user {ratings.user_names[u]} rated item {ratings.item_names[i]} more "
            "than once: choose a rule for duplicates."
        )
    starts = np.flatnonzero(new)
    kept_rows, values, weights = _merged_rows(ratings, row_numbers, starts, rule)
    times = ratings.times
    if times is not None:
        times = np.maximum.reduceat(times[row_numbers], starts)
    place = np.argsort(row_numbers[starts], kind="stable")  # where the first row stood
    cut = lambda a: None if a is None else a[place]
    return replace(
        ratings,
        users=ratings.users[kept_rows][place],
        items=ratings.items[kept_rows][place],
        values=values[place],
        times=cut(times),
        weights=cut(weights),
    )


def _merged_rows(ratings, row_numbers, starts, rule):
    """(a row of each cell, its value, its weight) by the rule."""
    r = ratings.values[row_numbers]
    w = ratings.weights
    kept_rows = row_numbers[starts]
    if rule == "mean":
        w = np.ones_like(r) if w is None else w[row_numbers]
        weights = np.add.reduceat(w, starts)
        values = np.add.reduceat(w * r, starts) / weights
        is_constant = np.maximum.reduceat(r, starts) == np.minimum.reduceat(r, starts)
        return (
            kept_rows,
            np.where(is_constant, r[starts], values).astype(r.dtype),
            weights,
        )
    if rule == "sum":
        return kept_rows, np.add.reduceat(r, starts), None
    ends = np.r_[starts[1:], len(row_numbers)]
    rank = r if rule == "max" else ratings.times
    if rank is not None:
        rank = r if rule == "max" else rank[row_numbers]
        group = np.repeat(np.arange(len(starts)), ends - starts)
        row_numbers = row_numbers[
            np.lexsort((rank, group))
        ]  # stable within equal times
    kept_rows = row_numbers[starts] if rule == "first" else row_numbers[ends - 1]
    return kept_rows, ratings.values[kept_rows], None if w is None else w[kept_rows]


def as_ratings(X, y=None, sample_weight=None) -> Ratings:
    """Convert the arguments of `fit` to ratings.

    `Ratings` are taken as they are. With y, X is (n, 2): users and items, an array or
    a data frame. Without y, X is a sparse matrix of users by items, an array of three
    columns, or a data frame whose first three columns are user, item and rating.
    """
    if isinstance(X, Ratings):
        if y is not None:
            raise ValueError("y must be None when X is Ratings: they hold the values.")
        if sample_weight is None:
            return X
        if X.weights is not None:
            raise ValueError("sample_weight must be None: the Ratings have weights.")
        u, i, r = X.to_triplets()
        ratings = Ratings.from_triplets(u, i, r, times=X.times, weights=sample_weight)
        return ratings.with_names(users=X.user_names, items=X.item_names)
    if sp.issparse(X):
        if y is not None or sample_weight is not None:
            raise ValueError(
                "a sparse X holds the ratings itself: y and sample_weight must be None."
            )
        return Ratings.from_matrix(X)
    columns = split_columns(X)
    wanted = 3 if y is None else 2
    if len(columns) != wanted:
        expected = "users, items and ratings" if y is None else "users and items"
        raise ValueError(
            f"X must have {wanted} columns ({expected}), got {len(columns)}; a matrix "
            "of ratings goes through Ratings.from_matrix."
        )
    values = columns[2] if y is None else y
    return Ratings.from_triplets(columns[0], columns[1], values, weights=sample_weight)


def split_columns(X) -> list:
    """The columns of an array, list of rows or data frame."""
    if hasattr(X, "columns") or isinstance(X, dict):
        column_of, names = frame_columns(X)
        return [column_of(name, "ratings") for name in names]
    rows = X if hasattr(X, "dtype") else _rows_as_array(X)
    rows = np.asarray(rows)
    if rows.ndim != 2:
        raise ValueError(
            f"Expected 2D array of users and items, got {rows.ndim}D array instead."
        )
    return [rows[:, j] for j in range(rows.shape[1])]


def _rows_as_array(X):
    """A list of rows that may mix numbers and text, as an array that keeps them so."""
    rows = [tuple(row) for row in X]
    if any(isinstance(value, str) for row in rows for value in row):
        out = np.empty((len(rows), len(rows[0])), object)
        out[:] = rows
        return out
    return np.asarray(rows)

"""What `fit` and `predict` take: ratings, pairs of names, frames, matrices."""

import numpy as np
import scipy.sparse as sp

from .names import columns_of
from .ratings import Ratings


def as_ratings(X, y=None, sample_weight=None) -> Ratings:
    """Whatever `fit` was given, as ratings.

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
        made = Ratings.from_triplets(u, i, r, times=X.times, weights=sample_weight)
        return made.with_names(users=X.user_names, items=X.item_names)
    if sp.issparse(X):
        if y is not None or sample_weight is not None:
            raise ValueError(
                "a sparse X holds the ratings itself: y and sample_weight must be None."
            )
        return Ratings.from_matrix(X)
    columns = split_columns(X)
    wanted = 3 if y is None else 2
    if len(columns) != wanted:
        told = "users, items and ratings" if y is None else "users and items"
        raise ValueError(
            f"X must have {wanted} columns ({told}), got {len(columns)}; a matrix of "
            "ratings goes through Ratings.from_matrix."
        )
    values = columns[2] if y is None else y
    return Ratings.from_triplets(columns[0], columns[1], values, weights=sample_weight)


def split_columns(X) -> list:
    """The columns of an array, list of rows or data frame."""
    if hasattr(X, "columns") or isinstance(X, dict):
        take, names = columns_of(X)
        return [take(name, "ratings") for name in names]
    rows = X if hasattr(X, "dtype") else list_of_rows(X)
    rows = np.asarray(rows)
    if rows.ndim != 2:
        raise ValueError(
            f"Expected 2D array of users and items, got {rows.ndim}D array instead."
        )
    return [rows[:, j] for j in range(rows.shape[1])]


def list_of_rows(X):
    """A list of rows that may mix numbers and text, as an array that keeps them so."""
    rows = [tuple(row) for row in X]
    if any(isinstance(value, str) for row in rows for value in row):
        out = np.empty((len(rows), len(rows[0])), object)
        out[:] = rows
        return out
    return np.asarray(rows)

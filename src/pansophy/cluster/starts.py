"""What k-means and its relatives do before the first turn: weights, rows, centres."""

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from ..core import arrays, rows
from ..core.random import seed_int
from ..typing import Matrix
from .initialization import sample_initial_centers

ROW_CHECKS = {"accept_sparse": "csr", "order": "C", "accept_large_sparse": False}

Init = (
    Literal["k-means++", "random", "farthest"]
    | Callable[..., Any]
    | Matrix
    | list
    | tuple
)


def weights_like(X, w):
    """Row weights in the library of X; ones for None."""
    if w is not None:
        return w
    if arrays.is_foreign(X):
        xp = arrays.namespace(X)
        return xp.ones(X.shape[0], dtype=X.dtype, device=arrays.device(X))
    return np.ones(X.shape[0], X.dtype)


def check_enough_rows(X, k):
    """Refuse more clusters than rows."""
    if X.shape[0] < k:
        raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={k}.")


def warn_empty_clusters(found, k):
    """Say that some clusters are empty; called by `fit`, whose caller it points at."""
    if found < k:
        warnings.warn(
            f"Only {found} of {k} clusters have rows. Possibly X has fewer distinct "
            "rows than n_clusters.",
            ConvergenceWarning,
            stacklevel=3,
        )


def check_scale(X, small=True):
    """Refuse NumPy rows whose squared distances are too large, or `small`, to hold.

    Small enough, that is, for the square of a gap of sqrt(eps) times the widest still
    to be a normal number. NaN is passed over; rows that are all the same are fine.
    """
    low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    info = np.finfo(X.dtype)
    with np.errstate(over="ignore"):
        gap = np.fmax.reduce(high.astype(np.float64) - low, initial=0.0)
        square = gap * gap * X.shape[1]
    if not square <= info.max:
        raise ValueError("X holds values too large to square: scale X.")
    if small and gap > 0 and square < info.smallest_normal / info.eps:
        raise ValueError("the rows of X differ by too little to square: scale X.")


def unit_length_rows(X):
    """Rows of length 1, for directions in place of places."""
    if isinstance(X, rows.DatasetRows):
        raise ValueError(
            "metric='cosine' needs the rows in memory: scale those of a table to "
            "length 1 first and use metric='euclidean'."
        )
    if sparse.issparse(X):
        length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1))).ravel()
    else:
        xp = arrays.namespace(X)
        length = xp.sqrt(xp.sum(X * X, axis=1))
    zero = np.flatnonzero(arrays.to_numpy(length) == 0)
    if len(zero):
        raise ValueError(
            f"row {zero[0]} of X has length 0 and so no direction, which "
            "metric='cosine' needs."
        )
    if sparse.issparse(X):
        return sparse.csr_array(sparse.diags_array(1 / length) @ X).astype(X.dtype)
    return X / length[:, None]


def is_random_init(init) -> bool:
    """Whether starts differ from one another."""
    return callable(init) or isinstance(init, str)


def number_of_starts(init, n_init) -> int:
    """How many starts, and a word if the parameters disagree about it."""
    if n_init == "auto":
        return 10 if is_random_init(init) and init != "k-means++" else 1
    if not is_random_init(init) and n_init != 1:
        warnings.warn(
            f"init gives the centres, so one start is made instead of n_init={n_init}.",
            RuntimeWarning,
            stacklevel=4,
        )
        return 1
    return n_init


def initial_centers(X, w, k, rng, init, key=None):
    """k centres to start from, float64 on the host, whatever `init` is.

    `key` is that of `seed`.
    """
    C: Any = init
    if isinstance(init, str):
        C, _ = sample_initial_centers(X, w, k, rng, method=init, key=key)
    elif callable(init):
        C = init(X, k, random_state=np.random.RandomState(seed_int(rng)))
    C = C.toarray() if sparse.issparse(C) else C
    C = np.array(arrays.to_numpy(C), dtype=np.float64)
    d = X.shape[1]
    if C.shape != (k, d):
        raise ValueError(
            f"The initial centers have shape {C.shape}, but {k} clusters of rows "
            f"with {d} columns need {(k, d)}."
        )
    if not arrays.finite(C):
        raise ValueError("The initial centers contain NaN or infinity.")
    return C

"""Bias model: the mean rating plus a bias for each user and each item.

    r_ui ~ f_ui = m + b_u + c_i                                                  (1)

with m the mean of the ratings and b, c minimising over the known cells D

    J = 1/2 sum_D w_ui (r_ui - f_ui)^2 + l_u/2 |b|^2 + l_i/2 |c|^2               (2)

by alternating: given c, each b_u is a shrunken mean of the residuals, and given b
likewise each c_i,

    b_u = sum_{i in D_u} w_ui (r_ui - m - c_i) / (l_u + sum w_ui).               (3)

Each half of a sweep solves its part exactly, so J never rises; J is convex and the
sweeps converge to its minimum. Moving a constant from all b to all c does not change f,
only the penalty, and sweeps alone are slow to find the best one: it is solved for too,

    b + s, c - s:   s = (l_i sum_i c_i - l_u sum_u b_u) / (l_u n + l_i m).       (4)

A user or item without ratings has bias 0. Without a penalty on b (l_u = 0), adding a
constant to all ratings of one user adds it to the predictions for that user and changes
no others.

`fit_offsets` gives what other recommenders subtract before they look for structure:

    "none"   0            "global"  m             "user"   the user's mean
    "item"   the item's mean        "biases"  f of eq. (1)

Cost O(n) for each sweep; memory O(n). Shapes  b (n_users,)  c (n_items,)
Refs      [Koren2009]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal, NamedTuple

import numpy as np

from ..core.drivers.iterate import iterate
from ..core.drivers.progress import SILENT
from ..params import Count, Flag, NonNegative, Verbosity
from .ratings import Ratings
from .recommender import AbstractFactors

Center = Literal["none", "global", "user", "item", "biases"]


class Offsets(NamedTuple):
    """m, b and c of eq. (1)."""

    mean: float
    user: np.ndarray
    item: np.ndarray

    def at(self, u, i):
        """f of eq. (1) for codes; -1 stands for a stranger, whose bias is 0."""
        return self.mean + bias_at(self.user, u) + bias_at(self.item, i)


class BiasState(NamedTuple):
    """State of the sweeps."""

    b: np.ndarray
    c: np.ndarray
    objective: float  # J
    half: float = np.inf  # J after the users, before the items


def bias_at(b, codes):
    """b[codes], 0 where the code is -1."""
    return np.where(codes < 0, 0.0, b[codes]) if len(b) else np.zeros(np.shape(codes))


def shrunken_means(residual, w, codes, n, reg):
    """Eq. (3): the shrunken mean of `residual` for each code; 0 where there is none."""
    top = np.bincount(
        codes, weights=residual if w is None else w * residual, minlength=n
    )
    mass = np.bincount(codes, weights=w, minlength=n) + reg
    return np.divide(top, mass, out=np.zeros(n), where=mass > 0)


def _fit_biases(ratings, reg_user, reg_item, *, max_iter=500, tol=1e-10, task=SILENT):
    """Minimise eq. (2) by sweeps: a `core.drivers.iterate.Result` of `BiasState`."""
    u, i, w = ratings.users, ratings.items, ratings.weights
    n, m = ratings.shape
    e = ratings.values.astype(np.float64) - ratings.mean
    known, rated = ratings.user_counts > 0, ratings.item_counts > 0
    weight = reg_user * known.sum() + reg_item * rated.sum()

    def value(residual, b, c):
        loss = np.sum(residual * residual if w is None else w * residual * residual)
        return 0.5 * float(loss + reg_user * np.sum(b * b) + reg_item * np.sum(c * c))

    def sweep(state):
        b = shrunken_means(e - state.c[i], w, u, n, reg_user)
        left = e - b[u]
        half = value(left - state.c[i], b, state.c)
        c = shrunken_means(left, w, i, m, reg_item)
        s = (reg_item * c.sum() - reg_user * b.sum()) / weight if weight else 0.0
        b, c = b + s * known, c - s * rated  # eq. (4)
        return BiasState(b, c, value(e - b[u] - c[i], b, c), half)

    start = BiasState(np.zeros(n), np.zeros(m), value(e, np.zeros(n), np.zeros(m)))
    return iterate(sweep, start, max_iter=max_iter, tol=tol, watch=("half",), task=task)


def fit_offsets(ratings: Ratings, kind: str, reg: float = 5.0) -> Offsets:
    """Offsets that are subtracted from the ratings; `reg` is for "biases" only."""
    n, m = ratings.shape
    mean = 0.0 if kind == "none" else ratings.mean
    b = np.zeros(n)
    c = np.zeros(m)
    w = ratings.weights
    if kind == "user":
        b = shrunken_means(
            ratings.values.astype(np.float64) - mean, w, ratings.users, n, 0.0
        )
    elif kind == "item":
        c = shrunken_means(
            ratings.values.astype(np.float64) - mean, w, ratings.items, m, 0.0
        )
    elif kind == "biases":
        run = _fit_biases(ratings, reg, reg, max_iter=50, tol=1e-10)
        if run.interrupted:  # what builds on this has not begun
            raise KeyboardInterrupt
        b, c = run.state.b, run.state.c
    return Offsets(mean, b, c)


def offsets_of_new_users(known: Offsets, ratings, kind, reg=5.0) -> Offsets:
    """The offsets of other users, m and c being known: eq. (3) once."""
    b = np.zeros(ratings.shape[0])
    if kind in ("user", "biases"):
        residual = ratings.values - known.mean - known.item[ratings.items]
        reg = reg if kind == "biases" else 0.0
        b = shrunken_means(residual, ratings.weights, ratings.users, len(b), reg)
    return known._replace(user=b)


@dataclass(eq=False, repr=False)
class BiasModel(AbstractFactors):
    """The mean, plus what is usual for the user, plus what is usual for the item.

    The baseline that every other recommender has to beat. A new user or item has
    bias 0.

    Parameters
    ----------
    reg_user, reg_item : float
        l_u and l_i of eq. (2): as many ratings at the mean are added to each user and
        item.
    max_iter : int
        Greatest number of sweeps.
    tol : float
        Stop when J changes by less than this, relatively.
    clip : bool
        Whether predictions are kept within the range of the ratings seen.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    offsets_ : Offsets
        m, b and c.
    ratings_, users_, items_ : Ratings and names
        The training data.
    n_iter_, history_, converged_ : how the fit converged
        `history_["objective"]` is J after each sweep, "half" after the users.

    Examples
    --------
    >>> from pansophy.recommend import BiasModel
    >>> X = [["ann", "tea"], ["ann", "ale"], ["bob", "tea"]]
    >>> model = BiasModel(reg_user=0, reg_item=0).fit(X, [5, 3, 4])
    >>> model.predict([["bob", "ale"]]).round(4).tolist()
    [2.0]
    """

    reg_user: NonNegative = 5.0
    _: KW_ONLY
    reg_item: NonNegative = 5.0
    max_iter: Count = 500
    tol: NonNegative = 1e-10
    clip: Flag = False
    verbose: Verbosity = 0

    def fit(self, X, y=None, sample_weight=None):
        """Learn from ratings; `Recommender` says what X and y may be."""
        ratings = self._begin_ratings(X, y, sample_weight)

        run = lambda task: _fit_biases(
            ratings,
            self.reg_user,
            self.reg_item,
            max_iter=self.max_iter,
            tol=self.tol,
            task=task,
        )
        state = self._run_driver(run, total=self.max_iter).state
        dtype = ratings.values.dtype
        empty = [np.zeros((size, 0), dtype) for size in ratings.shape]
        self._store(ratings, Offsets(ratings.mean, state.b, state.c), *empty)
        return self

    def _new_users(self, ratings):
        empty = np.zeros((ratings.shape[0], 0), ratings.values.dtype)
        return offsets_of_new_users(
            self.offsets_, ratings, "biases", self.reg_user
        ), empty

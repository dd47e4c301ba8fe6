"""Matrix factorisation of ratings with biases, by stochastic gradient descent.

    f_ui = m + b_u + c_i + U_u . V_i                                             (1)
    J = 1/2 sum_D [ w e^2 + l (b_u^2 + c_i^2 + |U_u|^2 + |V_i|^2) ],  e = r - f  (2)

over the known cells D. For one rating after another, at a step h,

    b_u += h (w e - l b_u)        U_u += h (w e V_i - l U_u)                     (3)
    c_i += h (w e - l c_i)        V_i += h (w e U_u - l V_i)

all from the values before the step. Epoch t takes every rating once, in a new random
order, with h = learning_rate / (1 + decay t). The penalty of a user grows with the
number of ratings (compare `ALS(scale_reg=True)`). Without a penalty and with all cells
known the factors end at the best matrix of rank k, that of the truncated SVD.

Threads. Two ratings that share neither user nor item do not disturb each other. Large
sets are cut into P groups of users by P of items; an epoch is P sub-epochs of P such
blocks with nothing in common, which run in parallel. P depends on the data alone, so
the answer does not depend on the number of threads.

A fit has converged when J changes by less than tol. J may rise in single epochs, as in
all stochastic descent; if it is no longer finite the fit has diverged and the last
finite state is kept: take smaller steps.

Cost      6 k for each rating and epoch; memory O(n) and the factors
Shapes    U (n_users, k)   V (n_items, k)   b (n_users,)   c (n_items,)
Refs      [Koren2009] the steps; [Gemulla2011] the blocks
"""

from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from ..core.drivers.iterate import iterate
from ..core.loops import threads
from ..core.random import make_rng
from ..params import Count, Flag, NonNegative, Positive, Verbosity
from ..typing import Seed
from . import _sgd_factorization as loops
from .als import RidgeProblems, half_sweep
from .bias_model import Offsets
from .recommender import AbstractFactors

BLOCKED_FROM = 200_000  # ratings from which on they are cut into blocks
N_GROUPS = 4  # P
RATINGS_PER_TASK = 1 << 18


class SGDState(NamedTuple):
    """State between two epochs."""

    b: np.ndarray
    c: np.ndarray
    U: np.ndarray
    V: np.ndarray
    t: int  # epochs done
    objective: float  # J


def _balanced_groups(codes, n, parts):
    """A group of each rating, by its code, with about equal numbers of ratings."""
    ends = np.cumsum(np.bincount(codes, minlength=n))
    return np.minimum(parts * (ends - 1) // max(ends[-1], 1), parts - 1)[codes]


def independent_blocks(ratings, parts):
    """Row numbers of the ratings for each sub-epoch and block of it."""
    if parts == 1:
        return [[np.arange(len(ratings))]]
    g = _balanced_groups(ratings.users, ratings.shape[0], parts)
    h = _balanced_groups(ratings.items, ratings.shape[1], parts)
    key = ((h - g) % parts) * parts + g  # sub-epoch, block
    order = np.argsort(key, kind="stable")
    cuts = np.searchsorted(key[order], np.arange(parts * parts + 1))
    blocks = [order[a:b] for a, b in pairwise(cuts)]
    return [blocks[s * parts : (s + 1) * parts] for s in range(parts)]


def _sgd_descent(
    ratings, start, rng, *, m, reg, rate, decay, biased, max_iter, tol, task
):
    """Epochs of eq. (3) until J converges: a `core.drivers.iterate.Result` of
    `SGDState`.
    """
    r = ratings.values
    w = np.empty(0, r.dtype) if ratings.weights is None else ratings.weights
    dtype = r.dtype.type
    columns = loops.RatingColumns(ratings.users, ratings.items, r, w, dtype(m))
    plan = independent_blocks(ratings, N_GROUPS if len(r) >= BLOCKED_FROM else 1)

    def objective(factors):
        cuts = range(0, len(r), RATINGS_PER_TASK)
        part = lambda a: loops.squared_error_sum(
            a, min(a + RATINGS_PER_TASK, len(r)), columns, factors
        )
        loss = sum(threads.run_tasks([lambda a=a: part(a) for a in cuts]))
        b, c, U, V = factors
        sizes = ratings.user_counts @ (b * b + (U * U).sum(1))
        sizes = sizes + ratings.item_counts @ (c * c + (V * V).sum(1))
        return 0.5 * (loss + reg * float(sizes))

    def epoch(state):
        factors = loops.Factors(*(a.copy() for a in state[:4]))
        step = dtype(rate / (1 + decay * state.t))
        run = lambda rows: loops.factor_sgd_epoch(
            rows, columns, dtype(reg), step, biased, factors
        )
        for sub_epoch in rng.permutation(len(plan)):
            orders = [rng.permutation(rows) for rows in plan[sub_epoch]]
            for _ in threads.run_tasks(
                [lambda rows=rows: run(rows) for rows in orders]
            ):
                pass
        return SGDState(*factors, state.t + 1, objective(factors))

    first = loops.Factors(*start)
    state = SGDState(*first, 0, objective(first))
    return iterate(epoch, state, max_iter=max_iter, tol=tol, task=task)


@dataclass(eq=False, repr=False)
class SGDFactorization(AbstractFactors):
    """Factors and biases of users and items by stochastic gradient descent.

    Parameters
    ----------
    n_factors : int, default 16
        k.
    reg : float
        l, the penalty of eq. (2).
    learning_rate : float
        The step size of the first epoch.
    decay : float
        How the steps shrink from epoch to epoch.
    biases : bool
        Whether users and items have biases.
    center : "global" or "none"
        Whether m is the mean of the ratings or 0.
    max_iter : int
        Greatest number of epochs.
    tol : float
        Stop when J changes by less than this, relatively.
    clip : bool
        Whether predictions are kept within the range of the ratings seen.
    random_state : None, int, RandomState or Generator
        Seed of the random numbers.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    user_factors_, item_factors_ : arrays of shape (n_users, k) and (n_items, k)
        U and V.
    offsets_ : Offsets
        m, b and c.
    objective_ : float
        J.
    ratings_, users_, items_ : Ratings and names
        The training data.
    n_iter_, history_, converged_ : how the fit converged
        `history_["objective"]` is J after each epoch.

    Examples
    --------
    >>> from pansophy.datasets import make_ratings
    >>> from pansophy.recommend import Ratings, SGDFactorization
    >>> ratings = Ratings.from_frame(make_ratings(200, 100, 4000, random_state=0))
    >>> model = SGDFactorization(4, random_state=0).fit(ratings)
    >>> bool(model.score(ratings) > 0.3)
    True
    """

    n_factors: Count = 16
    _: KW_ONLY
    reg: NonNegative = 0.05
    learning_rate: Positive = 0.02
    decay: NonNegative = 0.02
    biases: Flag = True
    center: Literal["global", "none"] = "global"
    max_iter: Count = 200
    tol: NonNegative = 1e-3
    clip: Flag = False
    random_state: Seed = None
    verbose: Verbosity = 0

    def fit(self, X, y=None, sample_weight=None):
        """Learn from ratings; `Recommender` says what X and y may be."""
        ratings = self._begin_ratings(X, y, sample_weight)
        rng = make_rng(self.random_state)
        m = 0.0
        if self.center == "global":
            m = ratings.mean
        start = self._start(ratings, rng)
        r = ratings.values
        if self.center == "global" and len(r) and np.all(r == r[0]):
            # nothing is left to explain: the least J, 0, is at factors of 0
            m, start = float(r[0]), tuple(np.zeros_like(a) for a in start)
        run = lambda task: _sgd_descent(
            ratings,
            start,
            rng,
            m=m,
            reg=self.reg,
            rate=self.learning_rate,
            decay=self.decay,
            biased=self.biases,
            max_iter=self.max_iter,
            tol=self.tol,
            task=task,
        )
        state = self._run_driver(run, total=self.max_iter).state
        self._store(ratings, Offsets(m, state.b, state.c), state.U, state.V)
        self.objective_ = state.objective
        return self

    def _start(self, ratings, rng):
        (n, m) = ratings.shape
        k = self.n_factors
        dtype = ratings.values.dtype
        U, V = (0.1 * rng.standard_normal((s, k)) for s in (n, m))
        U[ratings.user_counts == 0], V[ratings.item_counts == 0] = 0, 0
        b, c = np.zeros(n, dtype), np.zeros(m, dtype)
        return b, c, U.astype(dtype), V.astype(dtype)

    def _new_users(self, ratings):
        """Eq. (2) for U_u and b_u together: the bias is a factor that is always 1."""
        m, _, c = self.offsets_
        V = self.item_factors_
        V = np.column_stack([V, np.ones(len(V), V.dtype)]) if self.biases else V
        order, r = ratings.order, ratings.values
        w = np.ones_like(r) if ratings.weights is None else ratings.weights
        t = (w * (r - m - c[ratings.items])).astype(r.dtype)
        ridge = (self.reg * ratings.user_counts).astype(r.dtype)
        row_numbers = order.data
        side = RidgeProblems(
            order.indptr, order.indices, w[row_numbers], t[row_numbers], ridge, False
        )
        U, _ = half_sweep(side, V, np.zeros((ratings.shape[0], V.shape[1]), V.dtype), 0)
        b = U[:, -1].copy() if self.biases else np.zeros(len(U), U.dtype)
        return Offsets(m, b, c), U[:, : self.n_factors].copy()

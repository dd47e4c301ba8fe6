"""Matrix factorisation of ratings by alternating least squares, explicit or implicit.

Every user and item is a vector of k numbers, and U_u . V_i says how u likes i. The
explicit kind fits the known cells D, after offsets o_ui have been taken off:

    J = 1/2 sum_D w_ui (r_ui - o_ui - U_u.V_i)^2
        + l/2 (sum_u s_u |U_u|^2 + sum_i s_i |V_i|^2)                            (1)

The implicit kind fits all cells, since what was never bought tells something too: with
preference p_ui = 1 if r_ui > 0 (else 0) and confidence c_ui = 1 + alpha w_ui |r_ui|
for known cells, p = 0 and c = 1 for all others,

    J = 1/2 sum_{all u, i} c_ui (p_ui - U_u.V_i)^2 + the same penalty.           (2)

With V fixed both fall apart into one ridge problem for each user,

    A_u U_u = b_u,   A_u = G + l s_u I + sum_{i in D_u} a_ui V_i V_i^T           (3)
                     b_u = sum_{i in D_u} t_ui V_i

explicit: a = w, t = w (r - o), G = 0; implicit: a = c - 1, t = c p, G = V^T V, which
takes all the unknown cells at the price of one matrix product. "cholesky" solves (3)
exactly; "cg" takes `cg_steps` steps of conjugate gradients from the U of the sweep
before, each of which lowers J. Then items likewise, with U fixed. So J never rises at
a half sweep; it is not convex in both, hence `n_init` starts. A user without ratings
has b = 0 and gets U_u = 0. The values of J come free with the solves: at U_u the row's
part of J is -1/2 U_u.(b_u + residual), plus a constant.

The matrices of all users are similar, so the steps are preconditioned by

    A_u ~ m_u H + l s_u I                                                        (4)

with m_u = 1 and H = G for the implicit kind; for the explicit kind m_u = sum_i a_ui and
H the mean of V_i V_i^T over all ratings. U and V are rotated to the eigenvectors of H
for a half sweep: (4) is then diagonal for every user, and so is G, whose products cost
k instead of k^2. The steps of a user end when the gradient's squared length in the
norm of (4), about twice what J can still fall, is `CG_TOLERANCE` of what it was.

s = 1, or with `scale_reg` the number (weight) of ratings of the user or item.

Cost of a sweep with n ratings: "cg" 8 k n for each step plus one, and 12 k^2 a row;
"cholesky" k^2 n + k^3/3 a row. Memory 2 sorted copies of the ratings, and the factors.

Shapes    U (n_users, k)   V (n_items, k)   A (k, k)
Refs      [Hu2008] implicit; [Zhou2008] explicit, s; [Takacs2011] steps of cg
"""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from ..core.arrays.rows import Rows
from ..core.drivers.iterate import iterate
from ..core.drivers.progress import SILENT
from ..core.loops import threads
from ..core.random import make_rng
from ..params import Count, Flag, NonNegative, Verbosity
from ..typing import Seed
from . import _als as loops
from .bias_model import Center, Offsets, fit_offsets, offsets_of_new_users
from .ratings import fill_pattern
from .recommender import AbstractFactors

WORK_PER_TASK = 1 << 18  # multiplications of a piece of work, at least
CG_TOLERANCE = 0.02  # of the gradient's squared length: a row is left there
MAX_EXACT_FACTORS = 16  # up to so many factors exact solves are the quicker ones


class RidgeProblems(NamedTuple):
    """Eq. (3) for all rows of one side: what does not change from sweep to sweep."""

    indptr: np.ndarray
    indices: np.ndarray
    a: np.ndarray
    t: np.ndarray
    c: np.ndarray  # l s, one for each row
    dense: bool  # whether unknown cells count: G = V^T V
    m: Any = None  # of eq. (4), one for each row
    share: Any = None  # of the ratings, one for each row of the other side; explicit


class ALSState(NamedTuple):
    """State between two sweeps."""

    U: Any
    V: Any
    objective: float  # J
    half: float = np.inf  # J after the users, before the items


def ridge_problems(
    ratings, off: Offsets, reg, *, implicit=False, alpha=1.0, scale=False
):
    """(users, items, constant): eq. (3) from both sides; J of U = V = 0."""
    r, w = ratings.values, ratings.weights
    if not implicit:
        r = (r - off.at(ratings.users, ratings.items)).astype(r.dtype)
    table = fill_pattern(ratings.order, r)
    mass = (
        None
        if w is None
        else fill_pattern(ratings.order, w.astype(r.dtype, copy=False))
    )
    problems = []
    constant = 0.0
    for turned in (False, True):
        if turned:  # values are carried along: to look them up would be slower
            table = table.T.tocsr()
            mass = None if mass is None else mass.T.tocsr()
        a, t = _confidence_and_target(
            table.data, None if mass is None else mass.data, implicit, alpha
        )
        if not turned:
            squares = t if implicit else t * table.data
            constant = 0.5 * float(squares.sum(dtype=np.float64))
        codes = ratings.items if turned else ratings.users
        n = table.shape[0]
        ones = np.ones(n, r.dtype)
        m = np.bincount(codes, w, n).astype(r.dtype) if scale or not implicit else ones
        c = r.dtype.type(reg) * (m if scale else ones)
        m = ones if implicit else m
        problems.append(
            RidgeProblems(table.indptr, table.indices, a, t, c, implicit, m)
        )
    users, items = problems
    if not implicit:
        total = max(float(users.m.sum(dtype=np.float64)), 1e-30)
        users = users._replace(share=items.m / total)
        items = items._replace(share=users.m / total)
    return users, items, constant


def _preconditioner_axes(side: RidgeProblems, V):
    """(g, h, Q): the axes Q of H, in which H = diag(h) and G = diag(g); eq. (4).

    A direction in which H is nothing but rounding is taken for a little more than that.
    """
    H = _gram_matrix(V, None if side.dense else side.share)
    h, Q = np.linalg.eigh(H.astype(np.float64))
    g = h if side.dense else np.zeros_like(h)
    h = np.maximum(h, 1e3 * np.finfo(V.dtype).eps * max(h[-1], 0.0))
    return g.astype(V.dtype), h.astype(V.dtype), Q.astype(V.dtype)


def _gram_matrix(V, share=None):
    """sum_i V_i V_i^T, or of each row its share."""
    if share is None:
        return Rows(V).sum(lambda v: v.T @ v)
    return Rows(V, share).sum(lambda v, s: (v * s[:, None]).T @ v)


def _confidence_and_target(r, w, implicit, alpha):
    """a and t of eq. (3) for ratings (explicit: less offsets) and weights."""
    if not implicit:
        return (np.ones_like(r), r) if w is None else (w, w * r)
    a = np.abs(r)
    a *= r.dtype.type(alpha)
    if w is not None:
        a *= w
    return a, (a + r.dtype.type(1)) * (r > 0)


def half_sweep(side: RidgeProblems, V, U, steps, enough=CG_TOLERANCE):
    """Solve eq. (3) for every row, starting from U; (U, the rows' part of J).

    `steps` = 0 solves exactly; otherwise at most this many conjugate-gradient steps
    with the preconditioner of eq. (4) are taken, fewer where no more than `enough` of
    the gradient is left. Blocks of rows run on threads, so BLAS is limited to one.
    """
    k = V.shape[1]
    ratings = loops.RowRatings(side.indptr, side.indices, side.a, side.t)
    work = side.indptr.astype(np.float64) + 8 * np.arange(len(side.indptr))
    pieces = int(min(64, max(1, work[-1] * k // WORK_PER_TASK)))
    ends = np.searchsorted(work, np.linspace(0, work[-1], pieces + 1)[1:-1])
    ends = [0, *ends.tolist(), len(U)]
    U = U.copy()
    with threads.single_blas():
        if steps:
            g, h, Q = _preconditioner_axes(side, V)
            V = Rows(V).map(lambda v: v @ Q)
            preconditioner = loops.Preconditioner(g, h, side.m)
            tolerance = V.dtype.type(enough)

            def task(first, last):
                U[first:last] = U[first:last] @ Q
                value = loops.conjugate_gradient_rows(
                    first, last, ratings, V, preconditioner, side.c, U, steps, tolerance
                )
                U[first:last] = U[first:last] @ Q.T
                return value

        else:
            G = _gram_matrix(V) if side.dense else np.empty((0, k), V.dtype)

            def task(first, last):
                return loops.cholesky_rows(first, last, *ratings, V, G, side.c, U)

        tasks = [partial(task, first, last) for first, last in pairwise(ends)]
        return U, sum(threads.run_tasks(tasks))


def _factor_penalty(side, U):
    """l/2 sum_u s_u |U_u|^2."""
    return 0.5 * float(np.einsum("i,ij,ij", side.c, U, U, dtype=np.float64))


def _als_sweeps(users, items, constant, U, V, steps, *, max_iter, tol, task):
    """Sweeps from U and V until J converges: a `core.drivers.iterate.Result` of
    `ALSState`.
    """

    def sweep(state):
        U, value = half_sweep(users, state.V, state.U, steps)
        middle = constant + value + _factor_penalty(items, state.V)
        V, value = half_sweep(items, U, state.V, steps)
        return ALSState(U, V, constant + value + _factor_penalty(users, U), middle)

    return iterate(
        sweep,
        ALSState(U, V, np.inf),
        watch=("half",),
        max_iter=max_iter,
        tol=tol,
        task=task,
    )


@dataclass(eq=False, repr=False)
class ALS(AbstractFactors):
    """Factors of users and items by alternating least squares.

    Parameters
    ----------
    n_factors : int, default 32
        k.
    reg : float
        l, the penalty on the factors.
    implicit : bool
        Whether the ratings are counts of what was done, eq. (2), instead of opinions,
        eq. (1). Predictions are then preferences, about 0 to 1.
    alpha : float
        How much a count of 1 raises the confidence; implicit only.
    center : "biases", "user", "item", "global" or "none"
        What is subtracted from explicit ratings first and added again (see
        `BiasModel`).
    bias_reg : float
        The penalty on biases with center="biases".
    scale_reg : bool
        Whether the penalty of a user or item grows with its ratings.
    solver : "auto", "cg" or "cholesky"
        "auto" solves exactly up to 16 factors.
    cg_steps : int
        Most steps of conjugate gradients for a user or item in a sweep.
    n_init : int
        Starts, of which the one of lowest J is kept.
    max_iter : int
        Greatest number of sweeps.
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
        U and V, of the dtype of the ratings.
    offsets_ : Offsets
        What was subtracted.
    objective_ : float
        J.
    ratings_, users_, items_ : Ratings and names
        The training data.
    n_iter_, history_, converged_ : how the best of the starts converged
        `history_["objective"]` is J after each sweep, "half" after its users.

    Examples
    --------
    >>> from pansophy.datasets import make_ratings
    >>> from pansophy.recommend import ALS, Ratings
    >>> ratings = Ratings.from_frame(make_ratings(200, 100, 4000, random_state=0))
    >>> model = ALS(4, reg=5.0, random_state=0).fit(ratings)
    >>> len(model.recommend(ratings.user_names[0], n=5).names)
    5
    >>> new = model.fold_in([["new", ratings.item_names[0]]], [5.0])
    >>> new.users_.tolist()
    ['new']
    """

    n_factors: Count = 32
    _: KW_ONLY
    reg: NonNegative = 1.0
    implicit: Flag = False
    alpha: NonNegative = 1.0
    center: Center = "biases"
    bias_reg: NonNegative = 5.0
    scale_reg: Flag = False
    solver: Literal["auto", "cg", "cholesky"] = "auto"
    cg_steps: Count = 3
    n_init: Count = 1
    max_iter: Count = 50
    tol: NonNegative = 1e-3
    clip: Flag = False
    random_state: Seed = None
    verbose: Verbosity = 0

    def fit(self, X, y=None, sample_weight=None):
        """Learn from ratings; `Recommender` says what X and y may be."""
        ratings = self._begin_ratings(X, y, sample_weight)
        offsets = fit_offsets(ratings, self._center(), self.bias_reg)
        problem = ridge_problems(ratings, offsets, self.reg, **self._kind())
        rng = make_rng(self.random_state)

        def run(i, task=SILENT):
            U, V = self._start(ratings, rng)
            return _als_sweeps(
                *problem,
                U,
                V,
                self._steps(),
                max_iter=self.max_iter,
                tol=self.tol,
                task=task,
            )

        best = self._run_driver(run, n_init=self.n_init, total=self.max_iter)
        state = best.state
        self._store(ratings, offsets, state.U, state.V)
        self.objective_ = state.objective
        return self

    def _start(self, ratings, rng):
        (n, m) = ratings.shape
        k = self.n_factors
        dtype = ratings.values.dtype
        V = rng.standard_normal((m, k)) * (0.1 / np.sqrt(k))
        return np.zeros((n, k), dtype), V.astype(dtype)

    def _steps(self):
        exact = self.solver == "cholesky"
        if self.solver == "auto":
            exact = self.n_factors <= MAX_EXACT_FACTORS
        return 0 if exact else self.cg_steps

    def _center(self):
        return "none" if self.implicit else self.center

    def _kind(self):
        return {
            "implicit": self.implicit,
            "alpha": self.alpha,
            "scale": self.scale_reg,
        }

    def _new_users(self, ratings):
        offsets = offsets_of_new_users(
            self.offsets_, ratings, self._center(), self.bias_reg
        )
        users, _, _ = ridge_problems(ratings, offsets, self.reg, **self._kind())
        V = self.item_factors_
        U = np.zeros((ratings.shape[0], V.shape[1]), V.dtype)
        return offsets, half_sweep(users, V, U, 0)[0]

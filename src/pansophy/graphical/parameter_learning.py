"""Learning the tables of a Bayesian network from complete rows.

The log-likelihood of complete rows falls apart into the families of the network,

    log p(x) = sum_j sum_u sum_c N_juc log t_juc,    sum_c t_juc = 1             (1)

with N_juc the weight of rows in which node j is in state c and its parents in u. So
every row of every table is estimated by itself, and the likeliest is

    t_juc = (N_juc + a_juc) / (N_ju + a_ju)                                      (2)

where pseudo-counts a (0 for maximum likelihood) are a Dirichlet prior: 1 each is
Laplace's rule and the prior of the K2 score, s / (cells of the table) the prior of the
BDeu score with equivalent size s. A row without any count is even.

With softmax rows t = softmax(h), the gradient of (1) is

    d log p / d h_juc = N_juc - N_ju t_juc                                       (3)

which is 0 at (2). The gradient is never needed where counting can be done, and shows
that both agree. Rows with missing values are the matter of `incomplete`.

Cost      O(n family) for each table
Shapes    codes (n, d), -1 missing   tables: axes of the parents in order, own last
Refs      [Heckerman1995] priors; [KollerFriedman2009] ch. 17
"""

from typing import NamedTuple

import numpy as np

from ..core.iterate import Result, iterate
from ..core.numerics import log_softmax, softmax
from ..core.progress import SILENT, Task
from .incomplete import fit_tables_em
from .tables import estimate_tables, family_counts

__all__ = ["fit_tables_em", "fit_tables_gradient", "fit_tables"]


def fit_tables(
    codes, parents, sizes, *, weights=None, prior=None, equivalent_size: float = 10.0
) -> list[np.ndarray]:
    """Tables of a network from counts, eq. (2).

    Parameters
    ----------
    codes : array of shape (n, d)
        States as whole numbers; a row is left out of the families it misses (-1).
    parents : sequence of tuples of int
        Parents of each node.
    sizes : sequence of int
        Number of states of each node.
    weights : array of shape (n,), optional
    prior : None, "k2", "laplace", "bdeu" or float
        Pseudo-counts a.
    equivalent_size : float, default=10
        s of "bdeu".

    Returns
    -------
    tables : list of arrays
        P(node | parents): axes of the parents in order, own states last.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.graphical import fit_tables
    >>> rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 0], [0, 1], [0, 0]])
    >>> fit_tables(rows, [(), (0,)], (2, 2))[1].round(4)
    array([[0.5   , 0.5   ], [0.6667, 0.3333]])
    """
    N = family_counts(codes, parents, sizes, weights)
    return estimate_tables(N, prior, equivalent_size)


class SoftmaxTables(NamedTuple):
    """Logits h of every table, and minus the mean log-likelihood."""

    logits: list
    objective: float


def fit_tables_gradient(
    codes, parents, sizes, *, weights=None, max_iter: int = 1000, tol: float = 1e-12,
    step: float = 1.0, task: Task = SILENT,
) -> Result:  # fmt: skip
    """Tables by gradient ascent on softmax rows, eq. (3), from even ones.

    `step` is in units of a row's own weight; up to 2 the likelihood rises in every
    turn. Returns a Result whose state has `logits`; softmax over their last axis are
    the tables.
    """
    N = family_counts(codes, parents, sizes, weights)
    goal, scale = estimate_tables(N), max(sum(float(c.sum()) for c in N), 1e-300)

    def settle(h):
        loglik = sum(float((c * log_softmax(x)).sum()) for c, x in zip(N, h))
        return SoftmaxTables(h, -loglik / scale)

    def turn(state):
        pairs = zip(state.logits, goal, strict=True)
        return settle([h + step * (g - softmax(h, axis=-1)) for h, g in pairs])

    start = settle([np.zeros(c.shape) for c in N])
    return iterate(turn, start, max_iter=max_iter, tol=tol, task=task)

"""Gaussian belief propagation: means and variances of a Gaussian by message passing.

    p(x) ~ exp(-x' J x / 2 + h' x),   mean J^{-1} h,   covariance J^{-1}           (1)

J is the precision: J_ij = 0 where i and j are not neighbours. A message from i to j is
a Gaussian in x_j with precision A and potential B,

    a = J_ii + sum_{k != j} A_{k>i},   b = h_i + sum_{k != j} B_{k>i}
    A_{i>j} = -J_ij^2 / a,             B_{i>j} = -J_ij b / a                       (2)

and x_i has variance 1 / (J_ii + sum A) and mean variance * (h_i + sum B). On a tree one
pass forwards and backwards is exact: on a chain it is the Kalman filter and smoother.
With loops, if the messages converge, the means are exact and the variances are not;
they converge if J is walk-summable, for example diagonally dominant.

Cost      O(non-zeros of J) an iteration
Shapes    J (d, d) dense or sparse   h (d,)
Refs      [Weiss2001]; [Malioutov2006]
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee

from ...core.drivers.iterate import Result, iterate
from ._message_passing import gaussian_sweep
from .fixed_point import FixedPointState, last_change, warn_not_converged
from .loopy_belief_propagation import check_propagation_options


@dataclass(eq=False)
class GaussianBeliefs:
    """Means, variances and covariances of neighbours."""

    mean: np.ndarray
    variance: np.ndarray
    pairs: np.ndarray  # (m, 2) neighbours i < j
    covariance: np.ndarray  # (m,) of the two ends of each pair
    run: Result

    @property
    def converged(self) -> bool:
        """Whether the messages converged."""
        return self.run.converged


def _check_precision_system(J, h):
    """J as a symmetric CSR array and h; raises if they do not fit."""
    J = csr_array(J, dtype=float)
    h = np.asarray(h, dtype=float)
    if J.shape[0] != J.shape[1] or h.shape != (J.shape[0],) or not h.size:
        raise ValueError(
            f"precision must be square and potential match it, got {J.shape} and "
            f"{h.shape}."
        )
    if not np.isfinite(J.data).all() or not np.isfinite(h).all():
        raise ValueError("precision and potential must be finite.")
    scale = np.abs(J.data).max(initial=0.0)
    if abs(J - J.T).max() > 1e-10 * scale:
        raise ValueError("precision must be symmetric.")
    if not (J.diagonal() > 0).all():
        i = int(np.argmin(J.diagonal()))
        raise ValueError(f"precision must be positive definite, entry {i}, {i} is not.")
    return J, h


def gaussian_bp(
    precision,
    potential,
    *,
    damping: float = 0.0,
    max_iter: int = 500,
    tol: float = 1e-12,
) -> GaussianBeliefs:
    """Means and variances of the Gaussian of eq. (1), exact on trees.

    Parameters
    ----------
    precision : array or sparse array of shape (d, d)
        J, symmetric and positive definite.
    potential : array of shape (d,)
        h.
    damping : float, default=0.0
        Weight of the old message in an update.
    max_iter : int, default=500
    tol : float, default=1e-12
        Largest relative change of a message at convergence.

    Examples
    --------
    >>> from pansophy.graphical import gaussian_bp
    >>> b = gaussian_bp([[2.0, -1.0], [-1.0, 2.0]], [1.0, 0.0])
    >>> b.mean.round(6), b.variance.round(6), b.covariance.round(6)
    (array([0.666667, 0.333333]), array([0.666667, 0.666667]), array([0.333333]))
    """
    check_propagation_options(damping, max_iter, tol)
    J, h = _check_precision_system(precision, potential)
    entries = J.tocoo()
    is_off_diagonal = (entries.row != entries.col) & (entries.data != 0)
    d = len(h)
    arcs = csr_array(
        (
            entries.data[is_off_diagonal],
            (entries.row[is_off_diagonal], entries.col[is_off_diagonal]),
        ),
        shape=(d, d),
    )
    arcs.sort_indices()
    head = arcs.indices.astype(np.int64)
    first = arcs.indptr.astype(np.int64)
    tail = np.repeat(np.arange(d), np.diff(first))
    twin = np.lexsort(
        (tail, head)
    )  # arcs sorted by head: the k-th is the reverse of arc k
    order = reverse_cuthill_mckee(arcs, symmetric_mode=True).astype(np.int64)
    order = np.concatenate([order, order[::-1]])
    A = np.zeros(len(head))
    B = np.zeros(len(head))
    D = J.diagonal()
    step = lambda s: FixedPointState(
        None,
        gaussian_sweep(first, head, twin, arcs.data, D, h, A, B, order, damping),
    )
    run = iterate(
        step,
        FixedPointState(None, np.inf),
        max_iter=max_iter,
        tol=tol,
        change=last_change,
    )
    forest = len(head) // 2 == d - connected_components(arcs)[0]
    a = D + np.bincount(head, A, minlength=d)
    if run.reason == "diverged" or not (a > 0).all():
        if forest:
            raise ValueError("precision must be positive definite.")
        run = run._replace(reason="diverged")
    warn_not_converged(run, "gaussian_bp", "raise damping or solve the system directly")
    b = h + np.bincount(head, B, minlength=d)
    forward = tail < head
    i, j = tail[forward], head[forward]
    to_tail, to_head = (
        A[twin[forward]],
        A[forward],
    )  # messages from j to i, and from i to j
    tail_precision = a[i] - to_tail
    head_precision = a[j] - to_head
    c = arcs.data[forward]
    covariance = -c / (tail_precision * head_precision - c * c)
    return GaussianBeliefs(b / a, 1.0 / a, np.stack([i, j], 1), covariance, run)

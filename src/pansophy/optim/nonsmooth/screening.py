"""Gap-safe screening: columns that are 0 at the optimum, known before it is reached.

In the letters of `working_set.py`, with the rows sqrt(b) I below X and zeros below y
the elastic net is a lasso, whose dual

    maximise  D(u) = y.u - |u|^2 / 2   with  |x_j u| <= a for all j              (1)

is strongly concave with constant 1. So the best u* is within sqrt(2 gap) of any
feasible u, and where |x_j u*| < a the coefficient is 0. With u = s r of eq. (2) there,

    s |c_j| + L_j (sqrt(2 gap) + sqrt(2 tol)) < a   =>   w_j = 0,
    L_j^2 = |x_j|^2 + b                                                          (2)

c_j in place of |c_j| for coefficients of at least 0. The term with tol is not needed
for w_j = 0: it makes |x_j u| < a hold for every u whose gap is at most tol, so that a
gap of at most tol found on the columns left is the gap on all columns. Columns ruled
out by eq. (2) stay out for this a; their correlations are not computed again. Along a
path the first iteration at a new a has no such columns yet, but there is the residual
r0 of an earlier one, for which all correlations are known:

    |x_j r| <= |x_j r0| + |x_j| |r - r0|                                         (3)

Columns that eq. (3) keeps below a cannot bind u, and need no product either. `SLACK`
units of rounding are allowed for.

Cost      O(n d) once for the norms, O(d) per iteration
Refs      [Ndiaye2017]
"""

from typing import Any

import numpy as np

from ...penalties.base import POSITIVE

SLACK = 64  # units of rounding of |y|^2 that a gap may be wrong by
WAIT = 3  # iterations after which the norms of all columns are computed
CHEAP = 16  # entries of a column up to which its product costs less than screening
FEW = 0.5  # share of columns up to which separate products are faster than all


class GapSafeScreen:
    """Correlations of a design with residuals, skipping columns that cannot matter."""

    def __init__(self, design):
        self.design = design
        self.n_rounds = 0
        entries = design.X.nnz if design.sparse else design.n * design.d
        self.pays = entries > CHEAP * design.d
        self.lengths: Any = None  # |x_j|
        self.r: Any = None  # r0 of eq. (3)
        self.c: Any = None  # all its correlations

    def bounds(self, r, penalty, energy):
        """The right-hand side of eq. (3), or None while it is not known."""
        self.n_rounds += 1
        if not self.pays or self.n_rounds <= WAIT or self.r is None:
            return None
        if self.lengths is None:
            self.lengths = self.design.lengths()
        eps = float(np.finfo(r.dtype).eps)
        moved = float(np.linalg.norm(r - self.r)) + SLACK * eps * energy**0.5
        return correlation_sizes(self.c, penalty) + self.lengths * moved

    def correlate(self, r, w, penalty, energy, kept=None):
        """c, the columns that may bind u (None for all), and bounds on |c|.

        Columns of `kept` are the only ones that eq. (2) left in; c is out of date
        where it is not needed.
        """
        bound = self.bounds(r, penalty, energy)
        need = kept
        if bound is not None and kept is None:
            need = np.flatnonzero((bound >= penalty.a) | (w != 0))
        if bound is None or need is None or len(need) > FEW * len(w):
            self.r = r
            self.c = self.design.correlate(r)
            return self.c, kept, correlation_sizes(self.c, penalty)
        c = self.c.copy()
        c[need] = self.design.correlate_some(r, need)
        bound[need] = correlation_sizes(c[need], penalty)
        return c, need, bound


def gap_safe_columns(size, s, lengths, gap, penalty, tol, energy):
    """Columns that eq. (2) does not rule out; `size` bounds |c_j| from above.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import penalties
    >>> size, one = np.array([1.0, 0.8, 0.2]), np.ones(3)
    >>> gap_safe_columns(size, 1.0, one, 0.02, penalties.l1(1.0), 1e-4, 2.0)
    array([ True,  True, False])
    """
    slack = SLACK * float(np.finfo(size.dtype).eps) * energy
    radius = (2 * (gap + slack)) ** 0.5 + (2 * tol) ** 0.5
    return s * size + np.sqrt(lengths * lengths + penalty.b) * radius >= penalty.a


def correlation_sizes(c, penalty, kept=None):
    """Magnitudes |c_j|, or c_j for non-negative coefficients; -inf if screened out."""
    size = c if penalty.kind == POSITIVE else np.abs(c)
    if kept is None:
        return size
    out = np.full_like(size, -np.inf)
    out[kept] = size[kept]
    return out

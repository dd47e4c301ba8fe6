"""Passes over the rows of a linear machine for Newton's method.

`look` takes a point w, multipliers beta and a width rho to the state that one pass
makes of them; `direction` solves Newton's system there. The letters and equations are
those of `primal_newton.py`.

Shapes    as in `svm_problem.py`
"""

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from ..core import arrays, threads
from ..core.linalg import cg
from ..core.rows import Rows, total
from .svm_problem import SVMProblem, dual_terms, soft_threshold_rows, svm_losses

MAX_FACTORED = 1500  # unknowns up to which a Newton system is factored


class PrimalNewtonState(NamedTuple):
    """A point, multipliers and what a pass says of them."""

    w: np.ndarray  # where J was taken
    beta: Any
    rho: float
    e: Any
    b: Any  # eq. (2)
    v: np.ndarray  # A^T b
    value: float  # J, eq. (1)
    slack: float  # the sum over rows in the gap
    primal: float  # P(w)
    best: np.ndarray  # the w of lowest P
    objective: float  # P there
    dual: float  # largest D
    best_multipliers: Any  # the beta of largest D
    rows: Any  # over the rows that are left
    index: Any  # which they are, or None for all
    fixed: Any  # beta of all rows; right for those left out
    stalled_steps: int = 0  # steps since the gap last fell

    @property
    def gradient(self):
        return self.w - self.v

    @property
    def gap(self):
        return max(self.objective - self.dual, 0.0)

    @property
    def multipliers(self):
        """The beta of largest D, for all rows."""
        if self.index is None:
            return self.best_multipliers
        beta = self.fixed.copy()
        beta[self.index] = self.best_multipliers
        return beta


class NewtonRows:
    """The passes over the rows of a machine that Newton's method needs.

    Rows that are known to end at a bound are left out: `pull` is their part of
    A^T beta and `base` their part of P at w = 0, eq. (4).
    """

    def __init__(self, machine: SVMProblem, pull=0.0, base=0.0):
        self.machine, self.fixed_rmatvec, self.fixed_loss = machine, pull, base
        X = machine.X
        self.n, self.d = (int(size) for size in X.shape)
        self.foreign, self.sparse = arrays.is_foreign(X), sp.issparse(X)
        block = max(-(-self.n // 8), 1024) if self.sparse else None
        self.blocks = Rows(X, block=1 << 18 if self.foreign else block)

    @cached_property
    def norms(self):
        """|a_i| of every row."""
        if self.sparse:
            square = np.asarray(self.machine.X.power(2).sum(axis=1)).ravel()
        else:
            square = self.blocks.map(lambda X: np.vecdot(X, X), blas=False)
        return np.sqrt(square + self.machine.scale**2)

    def matvec(self, w):
        """A w."""
        d, s = self.d, self.machine.scale
        u = w[:d] if self.sparse else arrays.asarray(w[:d], like=self.machine.X)
        f = self.blocks.map(lambda X: X @ u, blas=False)
        return f + s * float(w[d]) if s else f

    def rmatvec(self, b):
        """A^T b."""
        side = (lambda X, b: X.T @ b) if self.sparse else (lambda X, b: b @ X)
        if self.machine.X.dtype == np.float32:
            b = b.astype(np.float32)
        rows = self.blocks.with_aligned(b)
        return self.with_intercept_entry(rows.sum(side, blas=False), b)

    def with_intercept_entry(self, g, b):
        v = np.empty(self.machine.width)
        v[: self.d] = arrays.to_numpy(g)
        if self.machine.scale:
            v[self.d] = self.machine.scale * float(arrays.namespace(b).sum(b))
        return v

    def rmatvec_update(self, old, b):
        """A^T b from the state before, through the rows whose b is another."""
        if old is None or self.foreign or self.machine.smooth:
            return self.rmatvec(b) + self.fixed_rmatvec
        changed = np.flatnonzero(b != old.b)
        if 4 * len(changed) > self.n:
            return self.rmatvec(b) + self.fixed_rmatvec
        X, step = self.machine.X[changed], b[changed] - old.b[changed]
        return old.v + self.with_intercept_entry(
            step @ X if not self.sparse else X.T @ step, step
        )

    def evaluate(self, w, beta, rho, old=None, e=None):
        """The state at w, which takes a pass unless e is known."""
        m = self.machine
        xp = arrays.namespace(m.target)
        e = m.target - self.matvec(w) if e is None else e
        b = proximal_multipliers(e, beta, rho, m.low, m.high, m.curve, m.epsilon)
        own = float(xp.sum(dual_terms(b, e, m.curve, m.epsilon)))
        psi = float(xp.sum(svm_losses(e, m.low, m.high, m.curve, m.epsilon)))
        off = float(xp.sum((b - beta) ** 2)) if rho else 0.0
        v = self.rmatvec_update(old, b)
        rest = (
            0.5 * float(w @ w) + self.fixed_loss - float(np.sum(w * self.fixed_rmatvec))
        )
        primal, slack = rest + psi, psi - own
        dual = primal - slack - 0.5 * float((w - v) @ (w - v))
        best, objective, top = w, primal, b
        if old is not None and old.objective <= primal:
            best, objective = old.best, old.objective
        if old is not None and old.dual >= dual:
            dual, top = old.dual, old.best_multipliers
        value = rest + own - 0.5 * rho * off
        index, fixed = (None, None) if old is None else (old.index, old.fixed)
        seen = (w, beta, rho, e, b, v, value, slack, primal)
        return PrimalNewtonState(*seen, best, objective, dual, top, self, index, fixed)

    def direction(self, s):
        """Minus the inverse of the Hessian, eq. (3), times the gradient."""
        m = self.machine
        free = (s.b > m.low) & (s.b < m.high)
        if m.epsilon:
            free = free & (s.b != 0)
        free = np.flatnonzero(arrays.to_numpy(free))
        root = 1 / np.sqrt(s.rho + arrays.to_numpy(m.curve[free]))
        count, width = len(free), m.width
        if count >= width and width <= MAX_FACTORED:
            H = self.gram(free, root)
            H[np.diag_indices(width)] += 1.0
            return -sl.cho_solve(sl.cho_factor(H, overwrite_a=True), s.gradient)
        if count <= MAX_FACTORED:
            return self.direction_by_woodbury(free, root, s.gradient)
        return self.direction_by_cg(free, root, s.gradient)

    def direction_by_woodbury(self, free, root, g):
        """`direction` from the smaller system, one unknown for each free row."""
        X, s, d = self.blocks.take(free), self.machine.scale, self.d
        X = X if self.sparse else arrays.to_numpy(X)
        K = X @ X.T
        K = root[:, None] * ((K.toarray() if self.sparse else K) + s * s) * root
        K[np.diag_indices(len(free))] += 1.0
        r = root * (X @ g[:d] + (s * g[d] if s else 0.0))
        z = root * sl.cho_solve(sl.cho_factor(K, overwrite_a=True), r)
        return self.with_intercept_entry(X.T @ z, z) - g

    def gram(self, free, root):
        """The sum in eq. (3), some rows at a time."""
        count, width = len(free), self.machine.width
        step = max(256, (1 << 17) // width)

        def part(i):
            A = self.dense_rows(free[i : i + step]) * root[i : i + step, None]
            return A.T @ A

        tasks = ((lambda i=i: part(i)) for i in range(0, count, step))
        return total(threads.run(tasks))

    def dense_rows(self, free):
        """Rows of A as a NumPy array."""
        X = self.blocks.take(free)
        A = np.empty((len(free), self.machine.width))
        A[:, : self.d] = X.toarray() if self.sparse else arrays.to_numpy(X)
        if self.machine.scale:
            A[:, self.d] = self.machine.scale
        return A

    def direction_by_cg(self, free, root, g):
        """`direction` by conjugate gradients, as far as the gradient is small."""
        X, s, d = self.blocks.take(free), self.machine.scale, self.d
        h = root * root

        def product(U):
            u = U.reshape(-1)
            r = h * (X @ u[:d] + (s * u[d] if s else 0.0))
            out = u.copy()
            out[:d] += X.T @ r
            if s:
                out[d] += s * r.sum()
            return out.reshape(U.shape)

        accuracy = min(0.1, math.sqrt(float(np.linalg.norm(g))))
        return cg(product, -g, tol=accuracy, max_iter=200).state.X.reshape(-1)


def proximal_multipliers(e, beta, rho, low, high, curve, eps):
    """Eq. (2)."""
    xp = arrays.namespace(e)
    u = soft_threshold_rows(rho * beta + e, eps) if rho else soft_threshold_rows(e, eps)
    return xp.clip(u / (rho + curve), low, high)

"""Smooth losses of a kernel model, by Newton's method on features of its kernel.

With features Phi (n, r) whose inner products are the kernel on the training rows (or
an approximation of it), scores F = Phi V + 1 b^T, one column a class or one in all,

    J(V, b) = sum_i w_i l(y_i, F_i) + alpha / 2 |V|^2                             (1)

is convex, alpha above 0 makes it strictly so in V. Newton's steps solve

    (Phi^T D Phi + alpha I) dV + Phi^T D 1 db = -gradient,   D = w l''            (2)

by conjugate gradients that need products with Phi and Phi^T only, preconditioned by a
Cholesky factor of the system (its diagonal blocks for several classes), or of an
approximation of it. Two kinds of features:

    dense       Phi = L of a pivoted Cholesky factor of K, to rounding            (3)
    Nystroem    Phi = K_nm T^-1, T^T T = K_mm for m of the rows: Phi^T D Phi is
                close to n / m times that of the m rows, so that preparing costs
                m^3 and a step n m [Rudi2017]                                     (4)

Refs      [Rudi2017]; [MarteauFerey2019] losses other than squared; [Zhu2005]
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from ..core.drivers.iterate import Result, iterate
from ..core.linalg.cg import conjugate_gradients
from ..core.linalg.linalg import cholesky, solve_cholesky, solve_triangular
from ..losses import Loss, softmax
from ..optim.smooth.gradient import line_search, state_at_position

INNER = 500  # steps of conjugate gradients in a Newton step
CACHED = 1 << 26  # entries of K_nm that are kept: 512 MB


class KernelFeatures(NamedTuple):
    """Phi by its products, and an approximation of Phi^T D Phi."""

    forward: Callable  # V (r, t) -> Phi V (n, t)
    adjoint: Callable  # U (n, t) -> Phi^T U (r, t)
    moments: Callable  # d (n,) -> Phi^T D Phi (r, r), Phi^T d (r,), sum of d
    coefficients: Callable  # V -> coefficients of the kernel expansion
    rank: int
    rows: np.ndarray  # training rows that the expansion uses


class PivotedFactor(NamedTuple):
    L: np.ndarray  # (n, r), rows in the order given
    pivots: np.ndarray  # (r,)


def _pivoted_factor(K) -> PivotedFactor:
    """L L^T = K to rounding, with as many columns as K has rank."""
    n = len(K)
    K = np.asarray(K, dtype=np.float64)
    level = n * np.finfo(float).eps * max(float(np.diagonal(K).max()), 1e-300)
    factor, order, rank, _ = lapack.dpstrf(K, tol=level, lower=1)
    L = np.zeros((n, rank))
    L[order - 1] = np.tril(factor)[:, :rank]
    return PivotedFactor(L, order[:rank] - 1)


def dense_features(K) -> KernelFeatures:
    """Eq. (3): K must be positive semi-definite."""
    L, pivots = _pivoted_factor(K)
    top = L[pivots]  # lower triangular
    return KernelFeatures(
        forward=lambda V: L @ V,
        adjoint=lambda U: L.T @ U,
        moments=lambda d: (L.T @ (d[:, None] * L), L.T @ d, d.sum()),
        coefficients=lambda V: solve_triangular(top, V, transposed=True),
        rank=L.shape[1],
        rows=pivots,
    )


def nystroem_features(kernel, X, centers) -> KernelFeatures:
    """Eq. (4) for a kernel on the rows X, with the rows `centers` of them."""
    rows, _ = kernel.as_rows(X)
    factor = _pivoted_factor(kernel(rows[centers]))
    pivots = centers[factor.pivots]
    top = factor.L[factor.pivots]  # K_mm = top top^T, T = top^T
    Z = rows[pivots]
    n = int(rows.shape[0])
    r = len(pivots)
    # the features of all centres, a sample of those of all rows
    sample = factor.L
    times = n / len(centers)
    kept: Any = kernel(rows, Z) if n * r <= CACHED else None

    def forward(V):
        C = solve_triangular(top, V, transposed=True)
        return kept @ C if kept is not None else kernel.matmul(rows, Z, C)

    def adjoint(U):
        C = kept.T @ U if kept is not None else kernel.matmul(Z, rows, U)
        return solve_triangular(top, C)

    def moments(d):
        d = times * d[centers]
        return sample.T @ (d[:, None] * sample), sample.T @ d, d.sum()

    return KernelFeatures(
        forward=forward,
        adjoint=adjoint,
        moments=moments,
        coefficients=lambda V: solve_triangular(top, V, transposed=True),
        rank=r,
        rows=pivots,
    )


class FeatureSolution(NamedTuple):
    V: np.ndarray  # (r, t)
    b: np.ndarray  # (t,)


class SmoothProblem(NamedTuple):
    """Features, loss, data and penalty of eq. (1)."""

    features: KernelFeatures
    loss: Loss
    y: np.ndarray
    w: np.ndarray
    alpha: float
    outputs: int  # columns of F
    intercept: bool

    def unpack(self, x) -> FeatureSolution:
        t = self.outputs
        V = x[: self.features.rank * t].reshape(-1, t)
        b = x[self.features.rank * t :] if self.intercept else np.zeros(t)
        return FeatureSolution(V, b)

    def centred(self, x) -> FeatureSolution:
        """The solution, with the free constant of softmax scores taken out of b."""
        V, b = self.unpack(x)
        return FeatureSolution(V, b - b.mean() if self.loss is softmax else b.copy())

    def pack(self, V, b):
        return np.concatenate([V.ravel(), b]) if self.intercept else V.ravel()

    def scores(self, x):
        V, b = self.unpack(x)
        return self.features.forward(V) + b

    def per_row(self, F):
        """Scores as the loss takes them: one column is a vector."""
        return F if self.outputs > 1 else F[:, 0]

    def objective(self, x):
        """J of eq. (1) and its gradient."""
        V, b = self.unpack(x)
        F = self.per_row(self.features.forward(V) + b)
        value = float(self.w @ self.loss.value(self.y, F))
        G = self.loss.gradient(self.y, F).reshape(len(self.w), -1) * self.w[:, None]
        slope = self.features.adjoint(G) + self.alpha * V
        return value + 0.5 * self.alpha * float(np.sum(V * V)), self.pack(
            slope, G.sum(axis=0)
        )

    def curvatures(self, F):
        """The diagonal of w l'', (n, t), at least a trace of w."""
        D = self.loss.curvature(self.y, self.per_row(F)).reshape(len(self.w), -1)
        return self.w[:, None] * np.maximum(D, 0.0)

    def hessian_product(self, x):
        """The function v -> H v at x, eq. (2)."""
        F = self.scores(x)
        D = self.curvatures(F)
        is_multiclass = self.loss is softmax
        P = D
        if is_multiclass:
            E = np.exp(F - F.max(axis=1, keepdims=True))
            P = E / E.sum(axis=1, keepdims=True)

        def product(v):
            V, b = self.unpack(v)
            U = self.features.forward(V) + b
            if is_multiclass:
                U = P * (U - np.sum(P * U, axis=1, keepdims=True)) * self.w[:, None]
            else:
                U = D * U
            return self.pack(self.features.adjoint(U) + self.alpha * V, U.sum(axis=0))

        return product

    def preconditioner(self, x):
        """An approximation of H^-1 at x: a factor for each column."""
        D = self.curvatures(self.scores(x))
        solvers = [
            _system_solver(self.features, d, self.alpha, intercept=self.intercept)
            for d in np.maximum(D, 1e-8 * self.w[:, None]).T
        ]

        def precondition(r):
            R, c = self.unpack(r)
            S = np.concatenate([R, c[None, :]])
            Z = np.column_stack([solve(S[:, j]) for j, solve in enumerate(solvers)])
            return self.pack(Z[:-1], Z[-1])

        return precondition


def _system_solver(features, d, alpha, *, intercept):
    """A function that solves eq. (2) for weights d, by a factor: (r + 1, ...) arrays.

    Without an intercept the last row is returned as it is.
    """
    A, h, total = features.moments(d)
    r = len(A)
    M = np.eye(r + 1)
    M[:r, :r] = A
    M.flat[: r * (r + 1) : r + 2] += alpha
    if intercept:
        M[r, :r] = M[:r, r] = h
        M[r, r] = total
    L, _ = cholesky(M)
    return lambda S: solve_cholesky(L, S)


def fit_smooth_loss(problem: SmoothProblem, *, max_iter, tol, task) -> Result:
    """Minimise eq. (1) by Newton's method; `problem.unpack` reads the position.

    The systems are solved the more closely the nearer the optimum is, which keeps the
    convergence better than linear.
    """
    size = problem.features.rank * problem.outputs
    start = state_at_position(
        problem.objective, np.zeros(size + problem.outputs * problem.intercept), 1.0
    )
    first = max(start.slope, 1e-300)
    column = lambda function: lambda P: function(P[:, 0])[:, None]

    def step(s):
        solved = conjugate_gradients(
            column(problem.hessian_product(s.position)),
            -s.gradient,
            precondition=column(problem.preconditioner(s.position)),
            tol=min(0.1, (s.slope / first) ** 0.5),
            max_iter=INNER,
        )
        return line_search(problem.objective, s, solved.state.X)

    return iterate(
        step,
        start,
        max_iter=max_iter,
        tol=tol * max(float(problem.w.sum()), 1e-300),
        change=lambda old, new: new.slope if new.eta > 0 else 0.0,
        task=task,
    )


def fit_squared_loss(
    features, Y, w, alpha, *, intercept, max_iter, tol, task
) -> Result:
    """Eq. (1) for half the squared error of several outputs: one linear system.

    The state holds V above b in one array, (r + 1, t).
    """
    r = features.rank
    W = w[:, None]

    def product(S):
        U = W * (features.forward(S[:r]) + (S[r:] if intercept else 0.0))
        low = U.sum(axis=0, keepdims=True) if intercept else S[r:]
        return np.concatenate([features.adjoint(U) + alpha * S[:r], low])

    right = W * Y
    last = right.sum(axis=0, keepdims=True) if intercept else np.zeros((1, Y.shape[1]))
    return conjugate_gradients(
        product,
        np.concatenate([features.adjoint(right), last]),
        precondition=_system_solver(features, w, alpha, intercept=intercept),
        max_iter=max_iter,
        tol=tol,
        task=task,
    )

"""Smallest eigenvalues and eigenvectors of the normalised graph Laplacian.

    L_sym u = lambda u,   0 = lambda_1 <= lambda_2 <= ... <= 2                  (1)

of L_sym = I - N, N = D^-1/2 W D^-1/2. Each component A gives one u of eigenvalue 0,
D^1/2 1_A scaled to length 1 (for a row without edges its unit vector). These are known
in closed form, since a Lanczos process started from one vector cannot find a multiple
eigenvalue. The rest are the eigenvectors of the largest eigenvalues of

    N - 2 U_0 U_0^T                                                             (2)

on the complement of the null space U_0, whose eigenvalues are all at least -1 > -2,
by a dense solver for few rows, else by Lanczos, and by Lanczos on the inverse of
L_sym + shift where the eigenvalues are too close together for plain Lanczos. "lobpcg"
is a conjugate gradient method for the whole block of eigenvectors, "amg" the same with
an algebraic multigrid preconditioner.

D^-1/2 u solves the relaxed normalised cut of `graph_laplacian`.

Cost      O(n^3) for few rows; else O(edges) for each product
Shapes    W (n, n) CSR or dense   eigenvalues (k,)   vectors (n, k)
Refs      [ShiMalik2000]; [Luxburg2007]; [Lehoucq1998]
"""

import importlib
import warnings
from functools import partial

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse import linalg as spl
from sklearn.exceptions import ConvergenceWarning

from .graph_laplacian import (
    connected_components,
    drop_self_loops,
    inverse_sqrt_degrees,
    node_degrees,
    scale_rows_and_columns,
)

MAX_DENSE_ROWS = 600  # up to which a dense solver is faster
SHIFT = 1e-5  # makes L_sym non-singular
EIGEN_METHODS = ("auto", "dense", "lanczos", "shift_invert", "lobpcg", "amg")
SOLVER_METHODS = {None: "auto", "arpack": "lanczos", "lobpcg": "lobpcg", "amg": "amg"}
BLOCK_RESIDUAL = 1e-10  # of an eigenvector by "lobpcg": squared in its eigenvalue


def laplacian_eigenvectors(W, k, rng=None, *, method="auto", tol=0.0, max_iter=None):
    """The k smallest eigenvalues of L_sym and their eigenvectors, eq. (1).

    Parameters
    ----------
    W : CSR matrix or array of shape (n, n)
        Symmetric weights of at least 0; the diagonal is not used.
    k : int
        Number of eigenvalues, at most n.
    rng : Generator, optional
        Source of the starting vector of Lanczos.
    method : "auto", "dense", "lanczos", "shift_invert", "lobpcg" or "amg"
    tol : float
        Relative accuracy of the eigenvalues of the iterative methods; 0 is machine
        precision.
    max_iter : int, optional
        Restarts of Lanczos.

    Returns
    -------
    eigenvalues : array of shape (k,), rising
    vectors : array of shape (n, k)
        Orthonormal; the largest entry of each is positive. Those of eigenvalue 0
        are indicators of components times D^1/2, largest component first.

    Examples
    --------
    >>> W = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> values, vectors = laplacian_eigenvectors(W, 3)
    >>> values.round(6) + 0.0
    array([0., 1., 2.])
    """
    n = W.shape[0]
    if not 1 <= k <= n:
        raise ValueError(f"k must be from 1 to the {n} rows of the graph, got {k}.")
    if method not in EIGEN_METHODS:
        raise ValueError(f"method must be one of {EIGEN_METHODS}, got {method!r}.")
    W = drop_self_loops(W)
    d = node_degrees(W)
    U0 = _component_indicators(W, d, k)
    m = k - U0.shape[1]
    if m <= 0:
        return np.zeros(k), U0
    N = scale_rows_and_columns(W, inverse_sqrt_degrees(d))
    dense = method == "dense" or (method == "auto" and n <= max(MAX_DENSE_ROWS, 4 * k))
    block = method in ("lobpcg", "amg")
    if method == "amg":
        _import_pyamg()
    if dense or m >= n - 1 or (block and n < 5 * k + 1):
        values, vectors = _dense_eigenvectors(N, U0, m)
    else:
        rng = np.random.default_rng(0) if rng is None else rng
        v0 = rng.uniform(-1, 1, n)
        if block:
            V0 = rng.normal(size=(n, m))
            values, vectors = _block_eigenvectors(N, U0, V0, method, tol, max_iter)
        else:
            values, vectors = _lanczos_eigenvectors(
                N, U0, m, v0, method=method, tol=tol, max_iter=max_iter
            )
    values = np.concatenate([np.zeros(U0.shape[1]), np.clip(values, 0.0, 2.0)])
    return values, _fix_signs(np.concatenate([U0, vectors], axis=1))


def _component_indicators(W, d, k):
    """Eigenvectors of eigenvalue 0, at most k, the largest components first."""
    count, labels = connected_components(W)
    sizes = np.bincount(labels, minlength=count)
    biggest = np.argsort(-sizes, kind="stable")[:k]
    U = np.zeros((W.shape[0], len(biggest)))
    for column, c in enumerate(biggest):
        members = labels == c
        u = np.sqrt(d[members]) if sizes[c] > 1 else np.ones(1)
        U[members, column] = u / np.linalg.norm(u)
    return U


def _dense_eigenvectors(N, U0, m):
    """Eq. (2) by a dense eigenvalue solver."""
    n = N.shape[0]
    A = N.toarray() if sp.issparse(N) else np.array(N, dtype=np.float64)
    A -= 2.0 * U0 @ U0.T
    mu, V = scipy.linalg.eigh(A, subset_by_index=(n - m, n - 1))
    return 1.0 - mu[::-1], V[:, ::-1]


def _lanczos_eigenvectors(N, U0, m, v0, *, method, tol, max_iter):
    """Eq. (2) by restarted Lanczos, plain or on the inverse."""
    n = N.shape[0]
    if method != "shift_invert":
        times = lambda v: N @ v - 2.0 * (U0 @ (U0.T @ v))
        A = spl.LinearOperator((n, n), matvec=times, dtype=np.float64)
        ncv = min(n, max(3 * m + 1, 40))
        limit = max_iter or (60 if method == "auto" and sp.issparse(N) else 20 * n)
        solve = partial(spl.eigsh, which="LA", v0=v0, tol=tol, ncv=ncv)
        try:
            mu, V = solve(A, m, maxiter=limit)
            return _sort_eigenpairs(1.0 - mu, V)
        except spl.ArpackNoConvergence:
            if method == "lanczos":
                raise
    L = sp.csc_array((1.0 + SHIFT) * sp.eye_array(n) - N)
    factor = spl.splu(L, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    # the projection removes the null space, on which L + shift is only the shift
    inverse = lambda v: factor.solve(v - U0 @ (U0.T @ v))
    A = spl.LinearOperator((n, n), matvec=inverse, dtype=np.float64)
    mu, V = spl.eigsh(A, m, which="LA", v0=v0, tol=tol, maxiter=max_iter)
    return _sort_eigenpairs(1.0 / mu - SHIFT, V)


def eigen_method_of_solver(eigen_solver) -> str:
    """The method that scikit-learn's name of a solver means."""
    if eigen_solver not in SOLVER_METHODS:
        raise ValueError(
            "eigen_solver must be None, 'arpack', 'lobpcg' or 'amg', got "
            f"{eigen_solver!r}."
        )
    return SOLVER_METHODS[eigen_solver]


def _import_pyamg():
    """pyamg, or a sentence that says that it is missing."""
    try:
        return importlib.import_module("pyamg")
    except ImportError as error:
        raise ValueError(
            "The eigen_solver was set to 'amg', but pyamg is not available. Install "
            "it, or take another solver."
        ) from error


def _block_eigenvectors(N, U0, V0, method, tol, max_iter):
    """Eq. (2) by LOBPCG from V0 (n, m), orthogonal to U0."""
    M = None
    if method == "amg":
        L = sp.csr_array((1.0 + SHIFT) * sp.eye_array(N.shape[0]) - N)
        M = _import_pyamg().smoothed_aggregation_solver(L).aspreconditioner()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it warns of its own tolerance
        mu, V = spl.lobpcg(
            N, V0, M=M, Y=U0, tol=tol or BLOCK_RESIDUAL, maxiter=max_iter or 2000
        )
    residual = float(np.linalg.norm(N @ V - V * mu, axis=0).max())
    if residual > max(tol, 1e-5):
        warnings.warn(
            f"eigenvectors by {method} did not converge (residual {residual:.1e}).",
            ConvergenceWarning,
            stacklevel=4,
        )
    return _sort_eigenpairs(1.0 - mu, V)


def _sort_eigenpairs(values, vectors):
    """Eigenvalues in increasing order, with their vectors."""
    order = np.argsort(values, kind="stable")
    return values[order], vectors[:, order]


def _fix_signs(V):
    """Columns with signs such that the entry of largest magnitude is positive."""
    top = V[np.argmax(np.abs(V), axis=0), np.arange(V.shape[1])]
    return V * np.where(top < 0, -1.0, 1.0)

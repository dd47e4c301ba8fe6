"""Independent component analysis (FastICA): sources as non-Gaussian as possible.

Rows are mixtures x = A s + m of independent sources. After whitening, z = K (x - m)
with unit covariance, the sources are s = W z for an orthogonal W, each row of which is
an extremum of E[G(w . z)]. A Newton step on that, with g = G', is

    w <- E[z g(w . z)] - E[g'(w . z)] w                                          (1)

"parallel" does so for all rows, then makes W orthogonal again, W <- (W W^T)^-1/2 W;
"deflation" finds one row after another, each orthogonal to those before. Convergence is
cubic in theory and fast in practice; rows have converged when every |w_new . w_old| is
within tol of 1. g is tanh(a u) ("logcosh"), u exp(-u^2/2) ("exp"), u^3 ("cube"), or a
function that gives g and the mean of g'.

Whitening takes the moments of the rows in one pass ("eigh"), or the triangle of a
blocked QR ("svd"), never a decomposition of n rows. Sums over rows go in blocks on
threads.

Cost      n d^2 once, 4 n k^2 an iteration
Shapes    X (n, d)   K (k, d)   Z (n, k)   W (k, k)   components W K   A = pinv(W K)
Refs      [Hyvarinen2000]
"""

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator, PrefixedOutput, Transformer
from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.arrays.rows import as_rows
from ..core.drivers.iterate import iterate
from ..core.drivers.progress import SILENT
from ..core.linalg.linalg import one_thread_if_small
from ..core.linalg.truncated_svd import svd_flip
from ..core.random import make_rng
from ..params import Count, Flag, NonNegative
from ..typing import NumericArray, Seed
from .abstract_pca import center_and_project
from .moments import (
    mean_and_scatter,
    refuse_nonfinite,
    refuse_table,
)
from .pca import axes_by_svd

BLOCK_BYTES = 1 << 19


class ICAState(NamedTuple):
    W: np.ndarray
    objective: float  # how far the rows rotated, 1 - |w_new . w_old|
    n_iter: int = 0


def logcosh_contrast(U, alpha=1.0):
    """g and the mean of g' over rows; U is overwritten."""
    if alpha != 1:
        U *= alpha
    np.tanh(U, out=U)
    return U, alpha * (1 - np.einsum("ij,ij->j", U, U) / len(U))


def exp_contrast(U):
    E = np.exp(-0.5 * U * U)
    return U * E, np.mean((1 - U * U) * E, axis=0)


def cube_contrast(U):
    return U**3, np.mean(3 * U * U, axis=0)


def newton_sums(Z, W, g):
    """E[z g(w . z)] and E[g'(w . z)], eq. (1), for each row of W."""
    n, k = Z.shape
    block = max(256, BLOCK_BYTES // (Z.itemsize * k))

    def stats(z):
        G, slope = g(z @ W.T)
        return G.T @ z, np.asarray(slope) * len(z)

    first, slope = as_rows(Z, block=block).sum(stats)
    return first / n, slope / n


def symmetric_orthogonalization(W):
    """(W W^T)^-1/2 W."""
    s, U = np.linalg.eigh(W @ W.T)
    s = np.maximum(s, np.finfo(W.dtype).tiny)
    return (U / np.sqrt(s)) @ U.T @ W


def parallel_ica(Z, g, W, *, max_iter, tol, task=SILENT):
    """All rows of W together."""

    def step(state):
        A, slope = newton_sums(Z, state.W, g)
        W = symmetric_orthogonalization(A - slope[:, None] * state.W)
        turned = np.abs(np.abs(np.einsum("ij,ij->i", W, state.W)) - 1)
        return ICAState(W, float(turned.max()))

    return iterate(
        step,
        ICAState(symmetric_orthogonalization(W), np.inf),
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.objective,
        task=task,
    )


def deflation_ica(Z, g, W, *, max_iter, tol, task=SILENT):
    """One row of W after another; an iteration is a step of the current row."""
    components = np.zeros((0, W.shape[1]), W.dtype)
    most = 0
    result: Any = None
    for w in W:

        def step(state, found=components):
            A, slope = newton_sums(Z, state.W, g)
            v = A[0] - slope[0] * state.W[0]
            v = v - found.T @ (found @ v)
            v = v / np.linalg.norm(v)
            return ICAState(v[None], float(abs(abs(v @ state.W[0]) - 1)))

        v = w - components.T @ (components @ w)
        start = ICAState((v / np.linalg.norm(v))[None], np.inf)
        last = iterate(
            step,
            start,
            max_iter=max_iter,
            tol=tol,
            change=lambda old, new: new.objective,
            task=task,
        )
        components = np.concatenate([components, last.state.W])
        most = max(most, last.n_iter)
        if result is None or last.reason != "tolerance":
            result = last
        if last.reason == "interrupted":
            rest = np.concatenate([components, W[len(components) :]])
            components = symmetric_orthogonalization(rest)
            break
    return result._replace(state=ICAState(components, result.objective), n_iter=most)


@dataclass(eq=False, repr=False)
class FastICA(PrefixedOutput, Transformer, Estimator):
    """Independent component analysis; the module text gives the method.

    Parameters
    ----------
    n_components : int or None, default=None
        k; None is all, and whiten=False always takes all, with a warning.
    algorithm : {"parallel", "deflation"}, default="parallel"
    whiten : {"unit-variance", "arbitrary-variance"} or False, default="unit-variance"
        Scale of the sources: variance 1, or 1 / n. False says
        that X is white already.
    fun : {"logcosh", "exp", "cube"} or function, default="logcosh"
        g; a function of u gives g(u) and its derivative, over rows.
    fun_args : dict or None, default=None
        {"alpha": a} for "logcosh", a from 1 to 2; keywords of a function.
    max_iter : int, default=200
        Most iterations.
    tol : float, default=1e-4
    w_init : array of shape (k, k), optional
        W to start from; None is random.
    whiten_solver : {"svd", "eigh"}, default="svd"
        "eigh" is quicker, "svd" keeps more digits of badly scaled columns.
    sign_flip : bool, default=False
        Whether each component has its largest entry positive.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    components_ : array of shape (k, d)
        W K, which maps centred rows to sources.
    mixing_ : array of shape (d, k)
        A, its pseudo-inverse.
    mean_ : array of shape (d,)
        m, if whitened.
    whitening_ : array of shape (k, d)
        K / sqrt(n), if whitened.
    n_iter_, history_, converged_, interrupted_
        How the iterations went; the objective is how far W rotated.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.decomposition import FastICA
    >>> t = np.arange(400) / 10
    >>> S = np.column_stack([np.sin(2 * t), np.sign(np.sin(3 * t))])
    >>> found = FastICA(random_state=0).fit_transform(S @ [[1.0, 0.5], [1.0, 2.0]])
    >>> np.abs(np.corrcoef(S.T, found.T))[:2, 2:].max(axis=1).round(2)
    array([1., 1.])
    """

    n_components: Count | None = None
    _: KW_ONLY
    algorithm: Literal["parallel", "deflation"] = "parallel"
    whiten: Literal["unit-variance", "arbitrary-variance", False] = "unit-variance"
    fun: Literal["logcosh", "exp", "cube"] | Callable = "logcosh"
    fun_args: dict | None = None
    max_iter: Count = 200
    tol: NonNegative = 1e-4
    w_init: NumericArray | None = None
    whiten_solver: Literal["svd", "eigh"] = "svd"
    sign_flip: Flag = False
    random_state: Seed = None

    _tensors = False

    def fit(self, X, y=None):
        """Find the components."""
        self._run(X)
        return self

    def fit_transform(self, X, y=None):
        """`fit`, then the sources of the same rows."""
        return self._sources(self._run(X))

    def _run(self, X):
        """Find and store the components; X as checked."""
        X, _ = self._check_training_data(X, ensure_min_samples=2, order="C")
        refuse_table(X, "FastICA")
        g = self._contrast()
        n, d = X.shape
        refuse_overflowing_squares(self, X)
        m: Any = None
        if self.whiten:
            k = min(self.n_components or min(n, d), n, d)
            m, K = self._whitening(X, k)
            Z = center_and_project(X, m, K)
        else:
            if self.n_components not in (None, d):
                warnings.warn(
                    "Ignoring n_components with whiten=False: FastICA finds as many "
                    f"sources as there are columns, {d}.",
                    UserWarning,
                    stacklevel=3,
                )
            k = d
            K = None
            Z = X
        W0 = self._start(k, X.dtype)
        solve = parallel_ica if self.algorithm == "parallel" else deflation_ica
        result = self._run_driver(
            lambda task: solve(
                Z, g, W0, max_iter=self.max_iter, tol=self.tol, task=task
            ),
            total=self.max_iter,
            X=X,
        )
        W = result.state.W
        if self.whiten == "unit-variance":
            S = Z @ W.T
            S -= np.mean(S, axis=0)
            size = np.sqrt(np.einsum("ij,ij->j", S, S) / n)[:, None]
            W = W / np.where(size > 0, size, 1)  # rows may not differ at all
        elif K is not None:  # as scikit-learn: variance 1 / n
            W = W / np.sqrt(n)
        B = W if K is None else W @ K
        if self.sign_flip:
            B = svd_flip(None, B)[1]
        self.components_ = B.astype(X.dtype)
        if K is not None:
            self.mean_ = m.astype(X.dtype)
            self.whitening_ = (K / np.sqrt(n)).astype(X.dtype)
        self.mixing_ = scipy.linalg.pinv(self.components_, check_finite=False)
        return X

    def _warn_if_not_converged(self, reason):
        if reason != "max_iter":
            super()._warn_if_not_converged(reason)
            return
        warnings.warn(
            "FastICA did not converge. Consider increasing tolerance or the maximum "
            f"number of iterations (tol={self.tol}, max_iter={self.max_iter}).",
            ConvergenceWarning,
            stacklevel=5,
        )

    def _contrast(self):
        args = self.fun_args or {}
        if callable(self.fun):

            def g(U):
                G, slope = self.fun(U.T, **args)
                slope = np.asarray(slope)
                return G.T, slope.mean(axis=-1) if slope.ndim == 2 else slope

            return g
        if self.fun != "logcosh":
            return {"exp": exp_contrast, "cube": cube_contrast}[self.fun]
        alpha = args.get("alpha", 1.0)
        if not 1 <= alpha <= 2:
            raise ValueError(f"alpha of fun_args must be from 1 to 2, got {alpha}.")
        return lambda U: logcosh_contrast(U, alpha)

    def _whitening(self, X, k):
        """m and K, so that K (x - m) has unit covariance."""
        n, d = X.shape
        if self.whiten_solver == "svd" or n < d:
            axes = axes_by_svd(X, "FastICA")
            m = axes.mean
            V = np.asarray(axes.V)[:k]
            squares = axes.squares[:k]
        else:
            _, m, S = mean_and_scatter(X)
            refuse_nonfinite(X, m, "FastICA")
            with one_thread_if_small(d):
                values, E = scipy.linalg.eigh(S, check_finite=False)
            V = E[:, ::-1].T[:k]
            squares = np.maximum(values[::-1][:k], 0.0)
        least = 10 * np.finfo(float).eps * float(squares[0])
        if self.whiten_solver == "eigh" and (squares < least).any():
            warnings.warn(
                "There are some small singular values, using whiten_solver = 'svd' "
                "might lead to more accurate solutions.",
                UserWarning,
                stacklevel=4,
            )
        least = least if least > 1e-280 else 1.0  # rows that do not differ
        V = V * np.where(V[:, :1] < 0, -1.0, 1.0)  # a start means the same everywhere
        return m, V * np.sqrt(n / np.maximum(squares, least))[:, None]

    def _start(self, k, dtype):
        if self.w_init is None:
            rng = make_rng(self.random_state)
            return rng.standard_normal((k, k)).astype(dtype)
        W = np.asarray(self.w_init, dtype=dtype)
        if W.shape != (k, k):
            raise ValueError(f"w_init must have shape {(k, k)}, got {W.shape}.")
        return W

    def _sources(self, X):
        m = self.mean_ if self.whiten else np.zeros(X.shape[1], X.dtype)
        return center_and_project(X, m, self.components_)

    def transform(self, X, copy=True):
        """Sources of the rows; X is left as it is whatever `copy` says."""
        return self._sources(self._check_new_data(X, order="C"))

    def inverse_transform(self, X, copy=True):
        """Rows from sources: A s + m."""
        check_is_fitted(self)
        X = np.asarray(X) @ self.mixing_.T
        return X + self.mean_ if self.whiten else X

    @property
    def _n_features_out(self):
        return int(self.components_.shape[0])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

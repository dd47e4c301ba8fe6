"""Kernel ridge regression: ridge regression in the feature space of a kernel.

With K_ij = k(x_i, x_j), weights w_i of the rows and a penalty on |f|^2 in the space of
the kernel, f(x) = sum_i a_i k(x, x_i) minimises

    sum_i w_i (y_i - f(x_i))^2 + alpha |f|^2,     |f|^2 = a^T K a                 (1)

    (S K S + alpha I) u = S y,    a = S u,    S = diag(sqrt(w))                   (2)

so that the residual of a row of weight 1 is alpha a_i. With the linear kernel X^T a is
ridge regression without an intercept. Three solvers, the same optimum:

    "cholesky"   a factor of (2): n^3 / 3, memory n^2. Large systems are factored in
                 single precision and refined to double (`core.linalg.mixed_precision`).
    "cg"         conjugate gradients on (2), preconditioned by a pivoted Cholesky
                 factor; products by tiles, memory O(n) and the factor
    "descent"    a <- a - 2 eta (K a - y + alpha a) from 0                        (3)

(3) is gradient descent on the primal weights w = sum_i a_i phi(x_i) step for step:
stopped early it is a regulariser of its own. "auto" takes "cholesky" up to DENSE rows.

Several outputs share the matrix; alpha may differ between them.

Shapes    X (n, d)   K (n, n)   y (n,) or (n, t)   a like y
Refs      [Saunders1998]; [Gardner2018] preconditioner
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from ..base import Regressor
from ..core.arrays.arrays import asarray, is_foreign, namespace, to_numpy
from ..core.drivers.iterate import Result, iterate
from ..core.linalg.cg import conjugate_gradients, pivoted_cholesky
from ..core.linalg.linalg import low_rank, matrix_size
from ..core.linalg.mixed_precision import solve_shifted_or_least_squares
from ..kernels.base import row_slice, symmetric_gram_matrix
from ..params import (
    Count,
    NonNegative,
    Number,
    ParameterError,
    ParameterRule,
    Positive,
    Verbosity,
)
from ..persist.saved_state import NumberArray, saved_state
from ..predictors.abstract_kernel_model import AbstractKernelModel, KernelParameter

DENSE = 12_000  # rows up to which "auto" makes the matrix: 1.2 GB
RANK = 200  # of the preconditioner
Penalties = Annotated[
    Any,
    ParameterRule(
        "an array of numbers of at least 0, one for each output",
        lambda v: np.ndim(v) == 1 and np.all(np.asarray(v) >= 0),
    ),
]


class DescentState(NamedTuple):
    A: Any  # coefficients, (n, t)
    objective: float  # of eq. (1)
    slope: float  # largest entry of the gradient over that of y


def _solve_dual_ridge(K, Y, alpha):
    """a of eq. (2) for a matrix K and weights of 1, by a factor: (n, t)."""
    columns = []
    for a in np.unique(alpha):
        columns_of_alpha = np.flatnonzero(alpha == a)
        part = namespace(Y).take(Y, _at_like(columns_of_alpha, Y), axis=1)
        columns.append(
            (columns_of_alpha, solve_shifted_or_least_squares(K, float(a), part))
        )
    if len(columns) == 1:
        return columns[0][1]
    order = np.argsort(
        np.concatenate([target_columns for target_columns, _ in columns]), kind="stable"
    )
    xp = namespace(Y)
    joined = xp.concat([part for _, part in columns], axis=1)
    return xp.take(joined, _at_like(order, Y), axis=1)


def _at_like(at, Y):
    """Places as an array of the library of Y."""
    return namespace(Y).asarray(at, device=getattr(Y, "device", None))


def _dual_ridge_by_cg(product, diagonal, row, Y, alpha, **options) -> Result:
    """a of eq. (2) by products with K: one alpha, several right-hand sides."""
    n = int(Y.shape[0])
    rank = min(RANK, n)
    thin = pivoted_cholesky(diagonal, row, rank, tol=1e-6)
    xp = namespace(Y)
    # the part of K left out of the factor adds to the diagonal on average
    rest = alpha + thin.residual / n
    level = max(rest, float(xp.finfo(Y.dtype).eps) * float(xp.sum(diagonal)))
    factor = low_rank(xp.full_like(diagonal, level), thin.L)
    return conjugate_gradients(
        lambda P: product(P) + alpha * P,
        Y,
        precondition=factor.solve,
        **options,
    )


def _dual_ridge_by_descent(product, Y, alpha, eta, *, max_iter, tol, task) -> Result:
    """Gradient descent, eq. (3), from 0."""
    xp = namespace(Y)
    scale = float(xp.max(xp.abs(Y))) or 1.0

    def step(s):
        # one product a step: KA of the last state gives both gradient and objective
        KA = product(s.A)
        G = KA - Y + alpha * s.A
        value = float(xp.sum((KA - Y) ** 2)) + alpha * float(xp.sum(s.A * KA))
        slope = float(xp.max(xp.abs(G))) / scale
        return DescentState(s.A - 2 * eta * G, value, slope)

    start = DescentState(xp.zeros_like(Y), np.inf, np.inf)
    return iterate(
        step,
        start,
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.slope,
        task=task,
    )


@saved_state(dual_coef_=NumberArray("rows", ...))
@dataclass(eq=False, repr=False)
class KernelRidge(Regressor, AbstractKernelModel):
    """Kernel ridge regression; the module text gives the method.

    Parameters
    ----------
    alpha : float or array of shape (t,), default=1
        Penalty, one for all outputs or one for each.
    kernel : str, kernel or function, default="linear"
        A name of scikit-learn's, a kernel of `pansophy.kernels`, one of
        `sklearn.gaussian_process.kernels`, a function of two rows or of two arrays of
        rows, or "precomputed".
    gamma : float or None, default=None
        Of "rbf", "poly", "laplacian", "sigmoid" and "chi2"; None is 1 / d (1 for
        "chi2").
    degree : float, default=3
        Of "poly".
    coef0 : float, default=1
        Of "poly" and "sigmoid".
    kernel_params : dict or None, default=None
        Keywords of a function.
    solver : "auto", "cholesky", "cg" or "descent", default="auto"
        See the module text. "cholesky" makes a matrix of 8 n^2 bytes.
    max_iter : int or None, default=None
        Most steps of "cg" (None: 1000) and "descent" (None: 1000).
    tol : float, default=1e-8
        Relative residual at which "cg" stops, and gradient over y for "descent".
    eta : float or None, default=None
        Step of "descent"; None is 1 / (2 (trace K + alpha)), which converges.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    dual_coef_ : array of shape (n,) or (n, t)
        a.
    X_fit_ : array of shape (n, d), or (n, n) if precomputed
    kernel_ : kernel or None
    solver_ : str
        What "auto" chose.
    solver_reason_ : str
        Why, and how large the matrix is if one was made.
    n_iter_ : int
        Steps of "cg" and "descent"; 1 for "cholesky".
    history_ : dict
        "objective", and "residual" of "cg", after each step.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.kernel_ridge import KernelRidge
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0])
    >>> model = KernelRidge(alpha=0.1, kernel="rbf", gamma=0.5).fit(X, y)
    >>> model.dual_coef_.round(6)
    array([-0.973393,  1.982532, -0.973393])
    >>> model.predict([[0.5]]).round(6)
    array([0.574548])
    """

    alpha: NonNegative | Penalties = 1
    _: KW_ONLY
    kernel: KernelParameter = "linear"
    coef0: Number = 1
    kernel_params: dict | None = None
    solver: Literal["auto", "cholesky", "cg", "descent"] = "auto"
    max_iter: Count | None = None
    tol: NonNegative = 1e-8
    eta: Positive | None = None
    verbose: Verbosity = 0

    _tensors = True
    _warns_of_unused_gamma = False

    def fit(self, X, y, sample_weight=None):
        """Find the coefficients of the kernel expansion.

        Parameters
        ----------
        X : array of shape (n, d), sparse matrix, tensor or list; (n, n) if precomputed
        y : array of shape (n,) or (n, t)
        sample_weight : array of shape (n,), optional
        """
        X, y, w = self._check_kernel_data(X, y, sample_weight, "numbers")
        like = X if is_foreign(X) else np.empty(0, _solution_dtype(X))
        Y = asarray(to_numpy(y) if not is_foreign(y) else y, like=like)
        Y2 = Y if Y.ndim == 2 else Y[:, None]
        alpha = np.broadcast_to(np.asarray(self.alpha, float), (int(Y2.shape[1]),))
        self.solver_, self.solver_reason_ = self._choose_solver(int(X.shape[0]))
        S = None if w is None else namespace(w).sqrt(asarray(w, like=like))[:, None]
        U = self._solve(X, Y2 if S is None else S * Y2, S, alpha)
        A = U if S is None else S * U
        self.dual_coef_ = A if Y.ndim == 2 else A[:, 0]
        self.X_fit_ = X
        return self

    def _choose_solver(self, n) -> tuple[str, str]:
        """The solver, and why: with the size of the matrix where one is made."""
        if self.solver == "cholesky":
            return self.solver, f"it was asked for; {matrix_size(n)}"
        if self.solver != "auto":
            return self.solver, "it was asked for"
        if self._precomputed or n <= DENSE:
            return "cholesky", matrix_size(n)
        return "cg", f"{n} rows are more than the {DENSE} of a factor"

    def _solve(self, X, Y, S, alpha):
        """u of eq. (2)."""
        if self.solver_ == "cholesky":
            K = self._lower_gram(X)
            if S is not None:
                K = S * K * S[:, 0][None, :]
            self.n_iter_ = 1
            return _solve_dual_ridge(K, Y, alpha)
        if np.unique(alpha).size > 1:
            raise ParameterError(
                f"solver={self.solver_!r} of KernelRidge takes one alpha for all "
                "outputs; take 'cholesky'."
            )
        product, diagonal, row = self._operator(X, S)
        limit = self.max_iter or 1000
        a = float(alpha[0])

        def run(task):
            options = {"max_iter": limit, "tol": self.tol, "task": task}
            if self.solver_ == "cg":
                return _dual_ridge_by_cg(product, diagonal, row, Y, a, **options)
            eta = self.eta
            if eta is None:
                eta = 0.5 / (float(namespace(diagonal).sum(diagonal)) + a)
            return _dual_ridge_by_descent(product, Y, a, eta, **options)

        state = self._run_driver(run, total=limit, X=X, y=Y).state
        return state.X if self.solver_ == "cg" else state.A

    def _lower_gram(self, X):
        """k(X, X), of which only the lower triangle counts."""
        if self.kernel_ is None or not self.kernel_.is_psd:
            return self._gram(X)
        rows, _ = self.kernel_.as_rows(X)
        return symmetric_gram_matrix(self.kernel_, rows, mirrored=False)

    def _operator(self, X, S):
        """Products with S K S, its diagonal and its rows, K never made."""
        if self.kernel_ is None:
            K = self._gram(X)
            xp = namespace(K)
            product = lambda P: K @ P
            diagonal = xp.linalg.diagonal(K) + 0
            row = lambda i: K[i, :]
        else:
            kernel = self.kernel_
            rows, _ = kernel.as_rows(X)
            product = lambda P: kernel.matmul(rows, None, P)
            diagonal = kernel.diag(rows)
            # a row with itself is the diagonal, which white noise raises
            row = lambda i: kernel(row_slice(rows, slice(i, i + 1)), rows)[0, :]
        if S is None:
            return product, diagonal, row
        s = S[:, 0]
        weighted = lambda P: S * product(S * P)
        return weighted, diagonal * s * s, lambda i: row(i) * s * s[i]

    def predict(self, X):
        """f of new rows, by tiles.

        Parameters
        ----------
        X : array of shape (m, d), sparse matrix, tensor or list; (m, n) if precomputed
        """
        return self._expansion(self._check_new_rows(X), self.dual_coef_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _solution_dtype(X):
    """float32 of float32 rows, else float64."""
    return X.dtype if getattr(X, "dtype", None) == np.float32 else np.float64

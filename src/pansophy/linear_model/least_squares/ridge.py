"""Ridge regression: least squares with an L2 penalty, for one or many strengths.

    J(B, b) = sum_i w_i |y_i - b - B^T x_i|^2 + sum_t alpha_t |B_t|^2            (1)

The intercept is not penalised. With m the mean and Xc = sqrt(w)(X - 1 m^T),

    B = (Xc^T Xc + alpha I)^-1 Xc^T y           primal, d equations              (2)
      = Xc^T (Xc Xc^T + alpha I)^-1 y           dual, n equations                (3)
      = V diag(1 / (S^2 + alpha)) V^T Xc^T y    from the SVD of Xc               (4)

"cholesky" solves (2) by moments and refinement (`core.linalg.least_squares`), or (3)
when d > n; "svd" takes the SVD of the triangular factor of Xc, which is accurate
however small alpha; "lsqr" (LSMR) and "sparse_cg" use X in products only. The sum of
squares in (1) is not averaged: an alpha for the averaged form must be multiplied by the
sum of w.

`ridge_path` computes (4) for many alphas from one decomposition
(`core.linalg.ridge_spectrum`). As alpha grows, |B| falls and the error on the rows
rises.

Time O(n d min(n, d)) direct, O(nnz) a step iterative; a path then takes d^2 (n d for
d > n) for each alpha.

Shapes    X (n, d)   y (n,) or (n, t)   B (d, t)   b (t,)   alpha () or (t,)
Refs      [Hoerl1970]; [Bjorck1987]; [FongSaunders2011] LSMR; [Hestenes1952] CG;
          [Hastie2004] paths
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...core.arrays import arrays
from ...core.arrays.rows import DatasetRows
from ...core.linalg import linalg
from ...core.linalg.cg import conjugate_gradients
from ...core.linalg.least_squares import least_squares
from ...core.linalg.least_squares_passes import table_in_memory
from ...core.linalg.ridge_spectrum import (
    centred_targets,
    primal_from_dual,
    ridge_coefficients,
    ridge_spectrum,
    row_gram_matrix,
)
from ...params import Count, Flag, NonNegative, ParameterError, UnsupportedChoiceError
from ...predictors.abstract_linear import (
    DENSE_WIDTH,
    AbstractLinearRegressor,
    CentredOperator,
    checked_rows,
    row_major_if_small,
    solve_lsmr,
    store_coefficients,
    target_columns,
    warn_rank_deficient,
)
from ...typing import Matrix, NumberList, Seed

DUAL_ROWS = 2000  # a wide sparse X of at most this many rows is solved by eq. (3)
REFINEMENTS = 2  # refinement passes of the dual


def solve_ridge_dual(X, Y, w, alpha, *, intercept):
    """B and b by eq. (3), refined; None where Xc Xc^T + alpha I is near singular."""
    K, m = row_gram_matrix(X, w, intercept=intercept)
    Y, center = centred_targets(Y, w, intercept=intercept)
    dual = np.empty_like(Y)
    for a in np.unique(alpha):
        at = np.flatnonzero(alpha == a)
        factor = linalg.scaled_cholesky(K + a * np.eye(len(K)))
        if factor is None or factor.q > 1e-4:
            return None
        dual[:, at] = factor.solve(Y[:, at])
        for _ in range(REFINEMENTS):
            left = Y[:, at] - K @ dual[:, at] - a * dual[:, at]
            dual[:, at] += factor.solve(left)
    B = primal_from_dual(X, w, m, dual)
    return B, center - m @ B


def flatten_single_target(model):
    """Give `coef_` of a single target the shape (d,), as in scikit-learn."""
    if model.coef_.ndim == 2 and model.coef_.shape[0] == 1:
        model.coef_ = model.coef_[0, :]


class RidgePath(NamedTuple):
    """Coefficients along the strengths of the penalty."""

    alphas: np.ndarray  # (a,), in the order given
    coefs: np.ndarray  # (d, a), or (t, d, a) for t targets
    intercepts: np.ndarray  # (a,), or (t, a)


def checked_alphas(alphas, *, strictly_positive=False, name="alphas"):
    """Strengths as an array (a,), each at least (or above) 0."""
    given = np.asarray(alphas)
    for i, alpha in enumerate([] if given.ndim != 1 else alphas):
        if isinstance(alpha, (str, bytes)):
            raise ParameterError(
                f"alphas[{i}] must be an instance of float, not "
                f"{type(alpha).__name__} ({name})."
            )
    alphas = np.atleast_1d(given.astype(np.float64))
    if alphas.ndim != 1 or len(alphas) == 0:
        raise ParameterError(f"{name} must be a number or a list of numbers.")
    fine = alphas > 0 if strictly_positive else alphas >= 0
    fine &= np.isfinite(alphas)
    if not np.all(fine):
        i = int(np.argmin(fine))
        limit = "> 0.0" if strictly_positive else ">= 0.0"
        at = f"alphas[{i}]" if given.ndim else "alphas"
        value = given[i] if given.ndim else given
        raise ParameterError(f"{at} == {value}, must be {limit} and finite ({name}).")
    return alphas


def ridge_path(X, y, alphas=None, *, fit_intercept=True, sample_weight=None):
    """Ridge coefficients for every alpha from one decomposition, eq. (4).

    Parameters
    ----------
    X : array, sparse matrix, tensor or path of a table, of shape (n, n_features)
    y : array of shape (n,) or (n, n_targets)
    alphas : list of float or None, default=None
        Strengths of the penalty. None takes 100 from 1e-4 to 1e4 times the mean
        square of the singular values.
    fit_intercept : bool, default=True
    sample_weight : array of shape (n,) or None, default=None

    Returns
    -------
    RidgePath
        `alphas`, `coefs` of shape (n_features, n_alphas) or (n_targets, n_features,
        n_alphas), and `intercepts`.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 2, 2, 4])
    >>> path = ridge_path(X, y, [0.0, 2.0])
    >>> path.coefs.round(6), path.intercepts.round(6)
    (array([[0.9 , 0.642857]]), array([0.9 , 1.285714]))
    """
    X, Y, w, flat = checked_rows(X, y, sample_weight)
    least = 1.0
    if alphas is not None:
        alphas = checked_alphas(alphas)
        least = float(alphas.min())
    S = ridge_spectrum(X, Y, w, min_alpha=least, intercept=fit_intercept)
    if alphas is None:
        alphas = np.logspace(-4, 4, 100) * max(np.mean(S.squares), 1e-300)
    B, b = ridge_coefficients(S, alphas)
    coefs = np.moveaxis(B, 1, 0)
    if not sp.issparse(X) and arrays.is_foreign(X):
        coefs, b = (arrays.asarray(np.ascontiguousarray(a), X) for a in (coefs, b))
    return RidgePath(alphas, coefs[0, ...] if flat else coefs, b[0, ...] if flat else b)


@dataclass(eq=False, repr=False)
class Ridge(AbstractLinearRegressor):
    """Least squares with an L2 penalty.

    Parameters
    ----------
    alpha : float or array of shape (n_targets,), default=1.0
        Strength of the penalty, for all targets or one for each.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalised; otherwise it is 0.
    copy_X : bool, default=True
        scikit-learn's permission to overwrite X, of which no use is made.
    max_iter : int or None, default=None
        Most steps of "lsqr" and "sparse_cg"; None for ten times the larger side.
    tol : float, default=1e-4
        Where "lsqr" and "sparse_cg" stop; the direct solvers go to rounding.
    solver : {"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"}, \
            default="auto"
        "auto" is "cholesky", or "lsqr" for a sparse X of more than 1000 columns and
        2000 rows. scikit-learn's "sag" and "saga" creep up on the optimum that the
        direct solvers give, so they are taken as "auto". "lbfgs" is, as there, for
        positive=True only; the optimum is found by active sets.
    positive : bool, default=False
        Whether to hold the coefficients at 0 or above; needs solver "auto" or "lbfgs".
    random_state : int, RandomState, Generator or None, default=None
        For scikit-learn's "sag" and "saga"; the solvers here draw nothing.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or array of shape (n_targets,)
    n_iter_ : array of shape (n_targets,), or None
        Steps of an iterative solver; None for a direct one.
    solver_ : str
        The solver that was used.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import Ridge
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = Ridge(alpha=2.0).fit(X, [1, 2, 2, 4])
    >>> model.coef_.round(6), round(float(model.intercept_), 6)
    (array([0.642857]), 1.285714)
    """

    alpha: NonNegative | NumberList | Matrix = 1.0
    _: KW_ONLY
    fit_intercept: Flag = True
    copy_X: Flag = True
    max_iter: Count | None = None
    tol: NonNegative = 1e-4
    solver: Literal[
        "auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"
    ] = "auto"
    positive: Flag = False
    random_state: Seed = None

    def fit(self, X, y, sample_weight=None):
        """Minimise eq. (1)."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="numbers", accept_sparse="csr"
        )
        X = row_major_if_small(X)
        Y, flat = target_columns(y, X)
        B, b = self._solve(X, Y, w)
        store_coefficients(self, X, B, b, flat)
        flatten_single_target(self)
        return self

    def _solve(self, X, Y, w):
        """B (d, t) and b (t,) for checked rows; sets solver_ and n_iter_."""
        alpha = self._strengths(Y.shape[1])
        self.solver_ = self._choose_solver(X)
        self.n_iter_ = None  # unless the solver iterates
        solve = {
            "lsqr": self._lsqr,
            "sparse_cg": self._cg,
            "dual": self._dual,
        }.get(self.solver_, self._direct)
        B, b = solve(X, Y, w, alpha)
        self.solver_ = "cholesky" if self.solver_ == "dual" else self.solver_
        return B, b

    def _strengths(self, t):
        alpha = np.asarray(arrays.to_numpy(self.alpha), dtype=np.float64).ravel()
        if len(alpha) not in (1, t):
            raise ParameterError(
                "Number of targets and number of penalties do not correspond: "
                f"{len(alpha)} != {t}. alpha of Ridge holds one number, or one for "
                "each target."
            )
        if not np.all(alpha >= 0):
            raise ParameterError(
                f"alpha of Ridge must be at least 0, got {alpha.min()}."
            )
        return np.broadcast_to(alpha, (t,))

    def _choose_solver(self, X):
        """The solver for this X; raises where there is none."""
        n, d = X.shape
        sparse = sp.issparse(X)
        table = isinstance(X, DatasetRows)
        wide = sparse and d > DENSE_WIDTH
        if self.positive:
            if self.solver not in ("auto", "lbfgs"):
                raise ParameterError(
                    f"solver={self.solver!r} does not support positive fitting: "
                    "positive=True of Ridge needs solver='auto' or 'lbfgs'."
                )
            if wide:
                raise ValueError(
                    f"positive=True takes a sparse X of at most {DENSE_WIDTH} "
                    f"columns, got {d}."
                )
            return "nnls"
        if self.solver == "lbfgs":
            raise ParameterError(
                "solver='lbfgs' of Ridge is for positive=True only, as in scikit-learn."
            )
        if self.solver in ("lsqr", "sparse_cg"):
            if table or arrays.is_foreign(X):
                raise ValueError(
                    f"solver={self.solver!r} needs a NumPy array or a SciPy matrix; "
                    "take 'cholesky' or 'svd'."
                )
            return self.solver
        if self.solver == "svd":
            if sparse:
                raise UnsupportedChoiceError("solver='svd' does not support sparse X.")
            return "svd"
        dual = d > n and (not wide or n <= DUAL_ROWS)
        if self.solver == "cholesky" or not wide or dual:
            return "dual" if dual else "cholesky"
        return "lsqr"

    def _direct(self, X, Y, w, alpha):
        way = {"svd": "svd", "nnls": "qr"}.get(self.solver_, "auto")
        result = least_squares(
            X,
            Y,
            w,
            alpha=alpha,
            intercept=self.fit_intercept,
            solver=way,
            positive=self.positive,
        )
        if not self.positive and np.any(alpha == 0):
            warn_rank_deficient(self, result, *X.shape)
        return result.coef, result.intercept

    def _dual(self, X, Y, w, alpha):
        X = table_in_memory(X) if isinstance(X, DatasetRows) else X
        result = solve_ridge_dual(X, Y, w, alpha, intercept=self.fit_intercept)
        return result or self._direct(X, Y, w, alpha)

    def _lsqr(self, X, Y, w, alpha):
        B, b, self.n_iter_ = solve_lsmr(
            X,
            Y,
            w,
            alpha=alpha,
            intercept=self.fit_intercept,
            tol=self.tol,
            max_iter=self.max_iter,
            name="Ridge",
        )
        return B, b

    def _cg(self, X, Y, w, alpha):
        A = CentredOperator(X, w, intercept=self.fit_intercept)
        Y, center = A.centred_targets(Y, w, intercept=self.fit_intercept)
        product = lambda P: A.T @ (A @ P) + alpha * P
        limit = self.max_iter or 10 * max(X.shape)
        run = self._run_driver(
            lambda task: conjugate_gradients(
                product, A.T @ Y, max_iter=limit, tol=self.tol, task=task
            ),
            total=limit,
            X=X,
            y=Y,
        )
        self.n_iter_ = np.full(Y.shape[1], run.n_iter)
        return run.state.X, center - A.mean @ run.state.X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.solver != "svd"
        tags.target_tags.multi_output = True
        return tags

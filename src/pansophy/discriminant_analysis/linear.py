"""Linear discriminant analysis: normal classes with one covariance, and directions.

    P(y = c | x) ~ pi_c N(x; m_c, S)                                             (1)
    log P(y = c | x) = w_c . x + b_c + const,   w_c = S^-1 m_c,
                       b_c = log pi_c - m_c' S^-1 m_c / 2                        (2)

so the posterior is a softmax of linear scores, for two classes a logistic function of
(w_1 - w_0) . x + b_1 - b_0. The same S whitens the class means for `transform`:
Fisher's directions maximise the scatter between classes over that within,

    J(w) = w' S_B w / w' S_W w          two classes: w ~ S_W^-1 (m_1 - m_0)       (3)

The fit is one pass over the rows (`class_covariances.py`). "svd" scales columns to unit
variance within classes, takes the eigenvectors of their correlation, and drops those
with a root below tol; where some eigenvalue is small, squares have lost the digits that
matter, and a second pass takes the singular values of the rows themselves by folding
triangles. "lsqr" solves (2) with a shrunk or estimated covariance, by the least-norm
solution in scaled columns where S is singular; "eigen" also gives directions from the
generalised eigenvectors of (3), and refuses a singular S. A column whose variance
within classes is no more than the rounding of its mean counts as constant.

Cost O(n d^2) time, O(k d + d^2) memory beyond the data.

Shapes    X (n, d)   m (k, d)   S (d, d)   w (k, d)   b (k,)
Refs      [Fisher1936]; [LedoitWolf2004]; [Bishop2006] 4.1.4 and 4.2.1
"""

import warnings
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.linalg

from ..base import PrefixedOutput, Transformer
from ..core.arrays import arrays
from ..core.arrays.labels import class_codes
from ..core.arrays.rows import DatasetRows
from ..core.linalg.least_squares_passes import triangle_of
from ..core.numerics import log_softmax, safe_log, softmax
from ..distributions import Moments
from ..distributions.gaussian.class_moments import dense_float64
from ..params import (
    Count,
    Flag,
    Fraction,
    NonNegative,
    ParameterError,
    UnsupportedChoiceError,
)
from ..predictors.abstract_linear import AbstractLinearClassifier
from ..typing import Matrix, NumberList
from .class_covariances import (
    CovarianceEstimator,
    blocks_with_classes,
    class_covariances,
    column_list,
    covariances_by_estimator,
    dense_unweighted_rows,
    finite_class_moments,
    moment_precision,
    moments_of_all_classes,
    result_dtype,
    rounding_variance,
    weight_by_class,
)

SMALL_EIGENVALUE = (
    1e-4  # eigenvalues of a correlation below this are found from the rows
)


class DiscriminantSolution(NamedTuple):
    """Scores of all classes, and the directions if the solver gives any."""

    coef: Any  # (k, d)
    intercept: Any  # (k,)
    scalings: Any = None  # (d, r)
    ratio: Any = None  # explained variance of each


def column_scale(variance, rounding):
    """Standard deviations; 1 for columns that are constant up to rounding."""
    return np.where(variance > rounding, np.sqrt(np.maximum(variance, 0)), 1.0)


def within_class_triangle(X, codes, w, means, scale):
    """The triangle of the rows less their class means, columns divided by scale."""

    def stats(x, c, v):
        x = (
            x
            if arrays.is_foreign(x)
            else dense_float64(x).astype(np.float64, copy=False)
        )
        xp = arrays.namespace(x)
        put = lambda a: arrays.asarray(a, like=x)
        D = (x - xp.take(put(means), c, axis=0)) / put(scale)
        return triangle_of(D if v is None else D * xp.sqrt(put(v))[:, None])

    R = np.zeros((0, len(scale)))
    for part in blocks_with_classes(X, codes, w).each(stats):
        R = triangle_of(np.concatenate([R, part]))
    return R


def within_class_whitening(m: Moments, triangle_of_rows, tol, rounding):
    """A (d, r) with A' S A = I on the directions in which classes vary."""
    W = weight_by_class(m).sum()
    wide = m.shape == "diag"
    variance = m.scatter.sum(axis=0) if wide else np.diagonal(m.scatter)
    scale = column_scale(variance / W, rounding)
    values, V = np.zeros(1), np.zeros((len(scale), 0))
    if not wide:
        values, V = np.linalg.eigh(m.scatter / W / np.outer(scale, scale))
        values, V = np.sqrt(np.maximum(values[::-1], 0)), V[:, ::-1]
    if values[-1] ** 2 < SMALL_EIGENVALUE:
        R = triangle_of_rows(scale * np.sqrt(W))
        _, values, Vt = np.linalg.svd(R, full_matrices=False)
        V = Vt.T
    rank = int(np.sum(values > tol))
    if rank == 0:
        raise ValueError(
            "LinearDiscriminantAnalysis needs classes that vary: within each class all "
            "rows of X are equal to within tol."
        )
    return V[:, :rank] / scale[:, None] / values[:rank]


def positive_largest_entries(A):
    """Columns of A with their largest entry positive, so that signs are unique."""
    top = A[np.argmax(np.abs(A), axis=0), np.arange(A.shape[1])]
    return A * np.where(top < 0, -1.0, 1.0)


def solve_svd(
    m: Moments, priors, triangle_of_rows, tol, rounding
) -> DiscriminantSolution:
    """Eq. (2) and (3) in the whitened space."""
    A = within_class_whitening(m, triangle_of_rows, tol, rounding)
    centre = priors @ m.mean
    D = m.mean - centre
    k = len(priors)
    W = weight_by_class(m).sum()
    spread = np.sqrt(W * priors / max(k - 1, 1))[:, None] * D
    _, s, Vt = np.linalg.svd(spread @ A, full_matrices=False)
    rank = int(np.sum(s > tol * s[0]))
    L = positive_largest_entries(A @ Vt[:rank].T)
    ratio = s**2 / max(np.sum(s**2), np.finfo(float).tiny)
    C = D @ L
    coef = C @ L.T
    intercept = -0.5 * np.sum(C * C, axis=1) + safe_log(priors) - coef @ centre
    return DiscriminantSolution(coef, intercept, L, ratio)


def class_scores(solve, means, priors):
    """Eq. (2) with S^-1 M' = solve(M).

    Only differences of scores matter for two classes, so the means are taken about
    their centre: an offset that is large against the spread costs no digits.
    """
    origin = priors @ means if len(priors) == 2 else np.zeros(means.shape[1])
    D = means - origin
    coef = solve(D)
    return coef, safe_log(priors) - 0.5 * np.sum(D * coef, axis=1) - coef @ origin


def solve_lsqr(S, means, priors, rounding) -> DiscriminantSolution:
    """Eq. (2) with a given covariance."""
    scale = column_scale(np.diagonal(S), rounding)
    R = S / np.outer(scale, scale)
    solve = lambda M: scipy.linalg.lstsq(R, (M / scale).T)[0].T / scale
    return DiscriminantSolution(*class_scores(solve, means, priors))


def solve_eigen(S, total, means, priors) -> DiscriminantSolution:
    """Eq. (3) by generalised eigenvectors, eq. (2) through them."""
    values, V = scipy.linalg.eigh(total - S, S)
    values, V = values[::-1], positive_largest_entries(V[:, ::-1])
    coef, intercept = class_scores(lambda M: M @ V @ V.T, means, priors)
    ratio = np.sort(values / np.sum(values))[::-1]
    return DiscriminantSolution(coef, intercept, V, ratio)


@dataclass(eq=False, repr=False)
class LinearDiscriminantAnalysis(PrefixedOutput, Transformer, AbstractLinearClassifier):
    """Normal classes that share a covariance: linear scores, and Fisher's directions.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}, default="svd"
        "svd" drops directions without variance and needs no shrinkage; "lsqr" solves
        for the scores only; "eigen" gives directions, too. The last two take
        shrinkage or a covariance estimator.
    shrinkage : None, "auto" or float from 0 to 1, default=None
        How far the covariances go towards a multiple of the identity; "auto" is the
        estimate of Ledoit and Wolf.
    priors : array of shape (n_classes,) or None, default=None
        Prior of the classes; None for their frequencies.
    n_components : int or None, default=None
        Directions of `transform`; None for min(n_classes - 1, n_features).
    store_covariance : bool, default=False
        Whether "svd" keeps `covariance_`; the other solvers always do.
    tol : float, default=1e-4
        "svd" drops directions whose standard deviation, in columns scaled to 1, is
        below it.
    covariance_estimator : estimator or None, default=None
        With `fit` and `covariance_`, in place of shrinkage; needs X in memory.

    Attributes
    ----------
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,)
    means_ : array of shape (n_classes, n_features)
    priors_ : array of shape (n_classes,)
    covariance_ : array of shape (n_features, n_features)
        Covariance within classes, weighted by the priors.
    scalings_ : array of shape (n_features, rank)
        Directions; the largest entry of each is positive ("svd" and "eigen").
    xbar_ : array of shape (n_features,)
        Mean weighted by the priors ("svd").
    explained_variance_ratio_ : array of shape (n_components,)
        Share of the scatter between classes along each direction.
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.discriminant_analysis import LinearDiscriminantAnalysis
    >>> X = [[1, 2], [2, 3], [3, 3], [2, 1], [6, 5], [7, 8], [8, 6], [7, 7], [9, 8]]
    >>> model = LinearDiscriminantAnalysis().fit(X, [1] * 4 + [0] * 5)
    >>> model.coef_.round(6), model.intercept_.round(6)
    (array([[-5.747976, -1.639676]]), array([34.211877]))
    >>> model.predict_proba([[4, 4]]).round(6)
    array([[0.009366, 0.990634]])
    """

    solver: Literal["svd", "lsqr", "eigen"] = "svd"
    shrinkage: Literal["auto"] | Fraction | None = None
    priors: Matrix | NumberList | None = None
    n_components: Count | None = None
    store_covariance: Flag = False
    tol: NonNegative = 1e-4
    covariance_estimator: CovarianceEstimator | None = None

    def fit(self, X, y, sample_weight=None):
        """Learn means, covariance and directions."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="class", accept_sparse="csr", dtype="numeric"
        )
        self._check_solver()
        classes, codes = class_codes(y, X)
        k = int(classes.shape[0])
        per_class = self.solver != "svd" and (
            self.priors is not None or self.shrinkage == "auto"
        )
        wide = self.solver == "svd" and X.shape[1] > X.shape[0]
        shape = "diag" if wide else "full" if per_class else "tied"
        m = finite_class_moments(X, codes, w, k, shape)
        check_number_of_classes(weight_by_class(m), int(X.shape[0]))
        priors = self._class_priors(weight_by_class(m))
        width = self._width(k)
        solution, S = self._solve(X, codes, w, m, priors)
        self.classes_ = classes
        self._n_features_out = width
        self._store(X, solution, S, m.mean, priors, width)
        return self

    def _check_solver(self):
        if self.solver == "svd" and self.shrinkage is not None:
            raise UnsupportedChoiceError(
                "shrinkage not supported with 'svd' solver: take 'lsqr' or 'eigen'."
            )
        if self.covariance_estimator is None:
            return
        if self.solver == "svd":
            raise ParameterError(
                "covariance estimator is not supported with svd solver. Try another "
                "solver"
            )
        if self.shrinkage:
            raise ParameterError(
                "covariance_estimator and shrinkage parameters are not None. Only one "
                "of the two can be set."
            )

    def _class_priors(self, weight):
        if self.priors is None:
            return weight / weight.sum()
        priors = np.asarray(arrays.to_numpy(self.priors), dtype=np.float64)
        if priors.shape != weight.shape:
            raise ParameterError(
                f"priors of LinearDiscriminantAnalysis must hold {len(weight)} "
                f"numbers, one for each class, got shape {priors.shape}."
            )
        if np.any(priors < 0):
            raise ParameterError("priors must be non-negative")
        if abs(priors.sum() - 1) > 1e-5:
            warnings.warn(
                "The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=3
            )
        return priors / priors.sum()

    def _width(self, k):
        """The number of directions of `transform`."""
        most = min(k - 1, self.n_features_in_)
        if self.n_components is not None and self.n_components > most:
            raise ParameterError(
                "n_components cannot be larger than min(n_features, n_classes - 1): "
                f"{self.n_components} > {most}."
            )
        return most if self.n_components is None else self.n_components

    def _solve(self, X, codes, w, m, priors):
        """The solution and the covariance within classes."""
        tied = m.shape == "tied"
        W = weight_by_class(m).sum()
        rounding = rounding_variance(m, moment_precision(X))
        S = m.scatter / W if tied else None
        if self.solver == "svd":
            triangle_of_rows = lambda scale: within_class_triangle(
                X, codes, w, m.mean, scale
            )
            if S is None and self.store_covariance:
                R = triangle_of_rows(np.full(self.n_features_in_, np.sqrt(W)))
                S = R.T @ R
            return solve_svd(m, priors, triangle_of_rows, self.tol, rounding), S
        if self.covariance_estimator is not None:
            x = dense_unweighted_rows(X, w)
            c = arrays.to_numpy(codes)
            C = covariances_by_estimator(self.covariance_estimator, x, c, len(priors))
            S = np.tensordot(priors, C, axes=1)
            C = covariances_by_estimator(self.covariance_estimator, x, 0 * c, 1)
            total = C[0]
        else:
            every = blocks_with_classes(X, codes, w)
            alone = Moments(m.weight.sum()[None], m.mean[:1], m.scatter[None, ...])
            if tied:
                S = class_covariances(alone, every, self.shrinkage)[0]
            else:
                C = class_covariances(m, every, self.shrinkage)
                S = np.tensordot(priors, C, axes=1)
            if self.solver == "lsqr":
                return solve_lsqr(S, m.mean, priors, rounding), S
            one = blocks_with_classes(X, 0 * codes, w)
            total = class_covariances(moments_of_all_classes(m), one, self.shrinkage)[0]
        if self.solver == "lsqr":
            return solve_lsqr(S, m.mean, priors, rounding), S
        self._check_full_rank(S, rounding)
        return solve_eigen(S, total, m.mean, priors), S

    def _check_full_rank(self, S, rounding):
        """Raise if the covariance within classes cannot be inverted."""
        scale = column_scale(np.diagonal(S), rounding)
        values = np.linalg.eigvalsh(S / np.outer(scale, scale))
        if values[0] > len(S) * np.finfo(float).eps * values[-1]:
            return
        flat = np.flatnonzero(np.diagonal(S) <= rounding)
        why = (
            f"Within classes, column {column_list(self, flat)} does not vary"
            if len(flat)
            else "Within classes, some column is a combination of others"
        )
        raise np.linalg.LinAlgError(
            "The covariance matrix within classes is not full rank. "
            f"{why}: take solver='svd', or shrinkage."
        )

    def _store(self, X, solution, S, means, priors, width):
        """Set the fitted attributes in the array library of X."""
        like = (
            arrays.as_float(X) if arrays.is_foreign(X) else np.empty(0, result_dtype(X))
        )
        put = lambda a: arrays.asarray(np.ascontiguousarray(a), like=like)
        coef, intercept = solution.coef, solution.intercept
        if len(coef) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        self.coef_ = put(coef)
        self.intercept_ = put(intercept)
        self.means_ = put(means)
        self.priors_ = put(priors)
        if self.solver == "svd":
            self.xbar_ = put(priors @ means)
        if self.store_covariance or self.solver != "svd":
            self.covariance_ = put(S)
        if solution.scalings is not None:
            self.scalings_ = put(solution.scalings)
            self.explained_variance_ratio_ = put(solution.ratio[:width])

    def _scores(self, X):
        """Eq. (2) with a column for every class."""
        F = self.decision_function(X)
        xp = arrays.namespace(F)
        return xp.stack([0 * F, F], axis=1) if F.ndim == 1 else F

    def predict_log_proba(self, X):
        """Logarithm of the posterior, eq. (2)."""
        return log_softmax(self._scores(X))

    def predict_proba(self, X):
        """Posterior of the classes, eq. (2)."""
        return softmax(self._scores(X))

    def transform(self, X):
        """Rows along Fisher's directions, eq. (3)."""
        X = self._check_new_data(X, accept_sparse="csr", order="C")
        if self.solver == "lsqr":
            raise UnsupportedChoiceError(
                "transform not implemented for 'lsqr' solver (use 'svd' or 'eigen')."
            )
        L = self.scalings_[:, : self._n_features_out]
        shift = self.xbar_ @ L if self.solver == "svd" else 0.0
        project = lambda x: x @ L - shift
        return X.map(project) if isinstance(X, DatasetRows) else project(X)


def check_number_of_classes(weight, n):
    """Raise unless there are two classes and more rows than classes."""
    k = int(np.sum(weight > 0))
    if k < 2:
        raise ValueError(
            f"The number of classes has to be greater than one; got {k} class"
        )
    if n <= len(weight):
        raise ValueError(
            "The number of samples must be more than the number of classes."
        )

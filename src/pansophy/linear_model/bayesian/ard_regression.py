"""Automatic relevance determination: one penalty for every coefficient.

    y ~ N(b + X theta, 1/alpha),  theta_j ~ N(0, 1/lambda_j)                     (1)
    alpha ~ Gamma(a1, a2),  lambda_j ~ Gamma(l1, l2)                             (2)

With S and theta the covariance and mean of the posterior, gamma_j = 1 - lambda_j S_jj,

    S = (alpha X^T X + diag lambda)^-1,   theta = alpha S X^T y                  (3)
    lambda_j = (gamma_j + 2 l1) / (theta_j^2 + 2 l2)                             (4)
    alpha    = (n - sum gamma + 2 a1) / (|y - X theta|^2 + 2 a2)                 (5)

A lambda_j above `threshold_lambda` means that column j explains nothing: it is removed
for good, so that the fit is sparse and iterations get cheaper. X is read once, into its
triangular factor (`core.linalg.least_squares_passes`); with k columns left eq. (3)
costs k^3, or m^2 k when fewer rows m than columns are left, by the Woodbury identity.

Shapes    X (n, d)   y (n,)   theta, lambda (d,)   S (k, k)
Refs      [MacKay1992]; [Tipping2001]
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from ...core.drivers.iterate import iterate
from ...core.linalg.linalg import cholesky, one_thread_if_small, solve_triangular
from ...params import Count, Flag, NonNegative, Positive, Verbosity
from ...predictors.abstract_linear import store_coefficients
from .bayesian_ridge import (
    EPS,
    AbstractEvidenceRegression,
    as_float_of,
    triangular_statistics,
)


class ARDState(NamedTuple):
    """The hyper-parameters after an iteration."""

    theta: np.ndarray
    alpha: float
    lam: np.ndarray
    objective: float  # minus the log evidence at the start of the iteration


class ARDPosterior(NamedTuple):
    """Eq. (3) on the remaining columns."""

    theta: np.ndarray
    variance: np.ndarray  # diagonal of S
    log_det: float  # of S
    root: Any  # function -> W with W^T W = S


def ard_posterior(R, c, alpha, lam) -> ARDPosterior:
    """Eq. (3) for a triangular factor R (m, k) with its targets c (m,)."""
    m, k = R.shape
    if m >= k:
        A = alpha * (R.T @ R)
        A[np.diag_indices(k)] += lam
        L = cholesky(A)[0]
        W = solve_triangular(L, np.eye(k))
        theta = alpha * (W.T @ (W @ (R.T @ c)))
        log_det = -2 * float(np.log(np.diagonal(L)).sum())
        return ARDPosterior(theta, np.sum(W * W, axis=0), log_det, lambda: W)
    P = R / lam
    B = P @ R.T
    B[np.diag_indices(m)] += 1 / alpha
    L = cholesky(B)[0]
    W = solve_triangular(L, P)
    theta = W.T @ solve_triangular(L, c[:, None])[:, 0]
    variance = np.maximum(1 / lam - np.sum(W * W, axis=0), 0.0)
    log_det = -float(np.log(lam).sum() + m * math.log(alpha))
    log_det -= 2 * float(np.log(np.diagonal(L)).sum())

    def root():
        S = np.diag(1 / lam) - W.T @ W
        return cholesky((S + S.T) / 2)[0].T

    return ARDPosterior(theta, variance, log_det, root)


def ard_log_evidence(P: ARDPosterior, sse, n, alpha, lam, priors):
    """Log density of y and of (alpha, lambda) where eq. (3) gives P."""
    a1, a2, l1, l2 = priors
    fit = P.log_det + float(np.log(lam).sum()) + n * math.log(alpha / (2 * math.pi))
    fit -= alpha * sse + float(lam @ P.theta**2)
    prior = float(np.sum(l1 * np.log(lam) - l2 * lam))
    return fit / 2 + prior + a1 * math.log(alpha) - a2 * alpha


def ard_iteration(R, c, outside, n, state: ARDState, priors, threshold) -> ARDState:
    """Eqs (3) to (5), then columns above the threshold are removed."""
    a1, a2, l1, l2 = priors
    keep = state.lam < threshold
    lam = state.lam.copy()
    theta = np.zeros(len(keep))
    P = ard_posterior(R[:, keep], c, state.alpha, lam[keep])
    sse = outside + float(np.sum((c - R[:, keep] @ P.theta) ** 2))
    score = ard_log_evidence(P, sse, n, state.alpha, lam[keep], priors)
    gamma = 1 - lam[keep] * P.variance
    lam[keep] = (gamma + 2 * l1) / np.maximum(P.theta**2 + 2 * l2, 1e-300)
    alpha = (n - float(gamma.sum()) + 2 * a1) / max(sse + 2 * a2, 1e-300)
    theta[keep] = P.theta
    theta[lam >= threshold] = 0.0
    return ARDState(theta, alpha, lam, -score)


@dataclass(eq=False, repr=False)
class ARDRegression(AbstractEvidenceRegression):
    """Linear regression with a penalty for each coefficient, by maximal evidence.

    Parameters
    ----------
    max_iter : int, default=300
        Most iterations of eqs (3) to (5).
    tol : float, default=1e-3
        Stop when the coefficients change by less in sum.
    alpha_1, alpha_2, lambda_1, lambda_2 : float, default=1e-6
        a1, a2, l1, l2 of eq. (2).
    compute_score : bool, default=False
        Whether to keep the log evidence of every iteration in `scores_`.
    threshold_lambda : float, default=1e4
        Columns whose lambda exceeds this are removed.
    fit_intercept : bool, default=True
        Whether to fit b, which has no prior.
    copy_X : bool, default=True
        scikit-learn's permission to overwrite X, of which no use is made.
    verbose : int, default=0
        Above 0 shows a progress bar.

    Attributes
    ----------
    coef_ : array of shape (d,)
        Mean of the posterior; exactly 0 for removed columns.
    intercept_ : float
    alpha_ : float
        Precision of the noise.
    lambda_ : array of shape (d,)
        Precision of every coefficient.
    sigma_ : array of shape (k, k)
        Covariance of the posterior of the columns that were kept.
    scores_ : array of shape (n_iter_,)
        The log evidence at the start of every iteration, if `compute_score`.
    n_iter_ : int
    X_offset_, X_scale_ : array of shape (d,)
        What is subtracted from the columns, and what they are divided by (ones).
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import ARDRegression
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> model = ARDRegression().fit(X, 3 * X[:, 1] - X[:, 2])
    >>> model.coef_.round(2) + 0.0
    array([ 0.,  3., -1.,  0.])
    """

    _: KW_ONLY
    max_iter: Count = 300
    tol: Positive = 1e-3
    alpha_1: NonNegative = 1e-6
    alpha_2: NonNegative = 1e-6
    lambda_1: NonNegative = 1e-6
    lambda_2: NonNegative = 1e-6
    compute_score: Flag = False
    threshold_lambda: NonNegative = 1e4
    fit_intercept: Flag = True
    copy_X: Flag = True
    verbose: Verbosity = 0

    def fit(self, X, y, sample_weight=None):
        """Maximise the evidence of alpha and every lambda_j."""
        X, y, w = self._check_training_data(
            X,
            y,
            sample_weight,
            y_kind="number",
            accept_sparse="csr",
            ensure_min_samples=2,
        )
        T, n, mean, offset, variance = triangular_statistics(
            X, y, w, self.fit_intercept
        )
        R = T.R
        c = T.c[:, 0]
        outside = float(T.residual[0])
        d = R.shape[1]
        threshold = self.threshold_lambda
        priors = self.alpha_1, self.alpha_2, self.lambda_1, self.lambda_2
        first = ARDState(np.full(d, np.inf), 1 / (variance + EPS), np.ones(d), np.inf)

        def change(old, new):
            done = not np.any(new.lam < threshold)
            return -1.0 if done else float(np.abs(old.theta - new.theta).sum())

        with one_thread_if_small(d):
            run = self._run_driver(
                lambda task: iterate(
                    lambda s: ard_iteration(R, c, outside, n, s, priors, threshold),
                    first,
                    max_iter=self.max_iter,
                    tol=self.tol,
                    change=change,
                    task=task,
                ),
                total=self.max_iter,
                X=X,
                y=y,
            )
        self.alpha_ = run.state.alpha
        self.lambda_ = run.state.lam
        keep = self._kept_columns()
        theta = np.zeros(d)
        self.sigma_ = np.empty((0, 0))
        if keep.any():
            P = ard_posterior(R[:, keep], c, self.alpha_, self.lambda_[keep])
            W = P.root()
            theta[keep] = P.theta
            self.sigma_ = as_float_of(X, W.T @ W)
        objective = -run.history["objective"]
        self.scores_ = objective if self.compute_score else np.empty(0)
        self.X_offset_ = mean
        self.X_scale_ = np.ones(d)
        b = offset - mean @ theta
        store_coefficients(self, X, theta[:, None], np.array([b]), y_is_1d=True)
        return self

    def _kept_columns(self):
        return self.lambda_ < self.threshold_lambda

"""Probabilistic PCA: a Gaussian whose covariance is k directions plus equal noise.

    x = W^T z + m + e,    z ~ N(0, I_k),    e ~ N(0, s2 I)                       (1)

so x ~ N(m, C), C = W^T W + s2 I. With l_1 >= ... >= l_d the eigenvalues of the
covariance (divided by n) and V its eigenvectors, the likelihood is highest at

    s2 = (l_{k+1} + ... + l_d) / (d - k),    W = diag(l_j - s2)^(1/2) V          (2)

up to a rotation of z. EM reaches the same point; its likelihood never falls, and it
needs only products with the rows:

    M = W W^T + s2 I,    Y = W S,    W' = (s2 I + M^-1 W Y^T)^-T Y               (3)
    s2' = (trace S - trace(Y M^-1 W'^T)) / d                                     (4)

With values missing (NaN) there is no closed form; EM integrates over them
(`latent_factor_model.py`). As s2 goes to 0, E[z | x] becomes the orthogonal projection
of PCA.

Cost      that of PCA (2); n d k an iteration (3); n d k^2 with missing values
Shapes    X (n, d)   W (k, d)   m (d,)   S (d, d), never formed in (3)
Refs      [Tipping1999]; [Roweis1998]; [Ilin2010]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.linalg

from ..base import Density, Estimator, PrefixedOutput, Transformer
from ..core.arrays.rows import as_rows, is_dataset
from ..core.drivers.iterate import absolute_change, iterate
from ..core.drivers.progress import SILENT
from ..core.linalg.truncated_svd import CentredMatrix, svd_flip
from ..core.numerics import LOG_2PI
from ..core.random import make_rng
from ..params import Count, NonNegative, ParameterError
from ..typing import Seed
from .latent_factor_model import (
    ELEMENTS,
    FactorParams,
    factor_covariance,
    factor_posterior,
    factor_precision,
    fit_factors_with_missing,
    impute_from_factors,
    sample_factor_model,
)
from .moments import mean_and_total_scatter, refuse_overflowing_sum, refuse_table
from .pca import PCA

ALLOW_NAN = {"order": "C", "ensure_all_finite": "allow-nan"}


class PPCAState(NamedTuple):
    W: np.ndarray
    s2: float
    Y: np.ndarray  # W S
    objective: float  # minus the mean log-likelihood


def ppca_closed_form(variances, V, total, d, n):
    """Eq. (2) from the k leading eigenvalues, their axes and the trace."""
    k = len(variances)
    left = max(total - float(np.sum(variances)), 0.0)
    s2 = left / (d - k) if k < d else 0.0
    least = 1e-12 * max(total / d, 1e-300)
    s2 = max(s2, least)
    return np.sqrt(np.maximum(variances - s2, 0.0))[:, None] * V, s2


def ppca_state(W, s2, square, trace, d) -> PPCAState:
    """The state at given parameters: Y and the objective, which needs Y alone.

    -log p = d/2 log 2 pi + 1/2 log det C + 1/2 trace(C^-1 S), with
    s2 trace(C^-1 S) = trace S - trace(M^-1 W Y^T).
    """
    k = len(W)
    Y = square(W)
    M = W @ W.T + s2 * np.eye(k)
    inner = np.trace(np.linalg.solve(M, W @ Y.T))
    log_det = np.linalg.slogdet(M)[1] + (d - k) * np.log(s2)
    objective = 0.5 * (d * LOG_2PI + log_det + (trace - inner) / s2)
    return PPCAState(W, s2, Y, float(objective))


def ppca_em_step(state: PPCAState, square, trace, d, least) -> PPCAState:
    """Eqs (3) and (4)."""
    W, s2, Y, _ = state
    k = len(W)
    M = W @ W.T + s2 * np.eye(k)
    A = s2 * np.eye(k) + np.linalg.solve(M, W @ Y.T)
    new = np.linalg.solve(A.T, Y)
    s2 = (trace - np.trace(np.linalg.solve(M, Y @ new.T))) / d
    return ppca_state(new, max(float(s2), least), square, trace, d)


def ppca_em(X, k, rng, *, max_iter, tol, task=SILENT):
    """EM from a random start; S W^T only by products with the rows."""
    n, m, scatter = mean_and_total_scatter(X)
    d = int(X.shape[1])
    trace = scatter / n
    refuse_overflowing_sum(X, trace, "ProbabilisticPCA", 1e200)
    A = CentredMatrix(X, m.astype(X.dtype))

    def square(W):
        P = np.ascontiguousarray(W.T).astype(X.dtype)
        out = A.back(A.times(P)) if A.wide else A.square(P)
        return out.T.astype(float) / n

    scale = trace / d if trace / d > 1e-280 else 1.0  # rows that do not differ
    start = rng.standard_normal((k, d)) * np.sqrt(scale / k)
    return m, iterate(
        lambda s: ppca_em_step(s, square, trace, d, 1e-12 * scale),
        ppca_state(start, scale, square, trace, d),
        max_iter=max_iter,
        tol=tol,
        change=absolute_change,
        task=task,
    )


@dataclass(eq=False, repr=False)
class ProbabilisticPCA(PrefixedOutput, Transformer, Density, Estimator):
    """PCA as a density: likelihood, sampling, missing values.

    Parameters
    ----------
    n_components : int or None, default=None
        k; None is one less than the smaller of rows and columns, at least 1.
    method : {"auto", "closed_form", "em"}, default="auto"
        "auto" is the closed form, and EM where values are missing (NaN).
    max_iter : int, default=1000
        Most iterations of EM.
    tol : float, default=1e-7
        Stop when an iteration changes the mean log-likelihood by no more than this.
    random_state : int, RandomState, Generator or None, default=None
        Start of EM, and `sample`.

    Attributes
    ----------
    components_ : array of shape (k, d)
        W, its rows orthogonal and falling in length.
    noise_variance_ : float
        s2.
    mean_ : array of shape (d,)
        m.
    explained_variance_ : array of shape (k,)
        Eigenvalues of C along the components.
    loglike_ : float
        Mean log-likelihood of the rows of `fit`.
    n_iter_, history_, converged_, interrupted_
        How EM went; 1 iteration for the closed form.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.decomposition import ProbabilisticPCA
    >>> root = np.sqrt(3 * np.array([4.0, 1.0, 0.5]))
    >>> model = ProbabilisticPCA(1).fit(np.vstack([np.diag(root), -np.diag(root)]))
    >>> round(model.noise_variance_, 6), float(abs(model.components_[0, 0]).round(6))
    (0.75, 1.802776)
    """

    n_components: Count | None = None
    _: KW_ONLY
    method: Literal["auto", "closed_form", "em"] = "auto"
    max_iter: Count = 1000
    tol: NonNegative = 1e-7
    random_state: Seed = None

    _tensors = False

    def fit(self, X, y=None):
        """Find W, m and s2.

        Parameters
        ----------
        X : array of shape (n, d), or path of a Parquet file
            NaN marks a missing value (not in a file).
        y : None
            Not used.
        """
        X, _ = self._check_training_data(X, ensure_min_samples=2, **ALLOW_NAN)
        table = is_dataset(X)
        if self.method == "em":
            refuse_table(X, f"ProbabilisticPCA with method={self.method!r}")
        k = self.n_components or max(min(X.shape) - 1, 1)
        if k > min(X.shape):
            raise ValueError(
                f"n_components={k} must be at most min(n_samples, n_features)="
                f"{min(X.shape)}."
            )
        missing = not table and bool(np.isnan(X).any())
        if missing and self.method == "closed_form":
            raise ParameterError(
                "method='closed_form' of ProbabilisticPCA needs rows without missing "
                "values; take 'em'."
            )
        if missing or self.method == "em":
            p, self.loglike_ = self._em(X, k, missing)
        else:
            p, self.loglike_ = self._closed(X, k)
        # rotate z so that the rows of W are orthogonal and fall in length
        _, s, V = scipy.linalg.svd(p.W, full_matrices=False)
        W = s[:, None] * svd_flip(None, V)[1]
        self.components_ = W.astype(X.dtype)
        self.mean_ = p.m.astype(X.dtype)
        self.noise_variance_ = float(p.psi[0])
        self.explained_variance_ = (s**2 + self.noise_variance_).astype(X.dtype)
        self._n_features_out = k
        self.n_components_ = k
        return self

    def _closed(self, X, k):
        n, d = X.shape
        model = PCA(k, random_state=self.random_state).fit(X)
        total = float(mean_and_total_scatter(X).scatter) / n
        variances = np.asarray(model.explained_variance_, float) * (n - 1) / n
        V = np.asarray(model.components_, float)
        W, s2 = ppca_closed_form(variances, V, total, d, n)
        kept = np.maximum(variances, s2)
        log_det = np.sum(np.log(kept)) + (d - k) * np.log(s2)
        inner = np.sum(variances / kept) + (total - np.sum(variances)) / s2
        loglik = -0.5 * (d * LOG_2PI + log_det + inner)
        self.n_iter_ = 1
        self.history_ = {"objective": np.array([-loglik])}
        self.converged_ = True
        self.interrupted_ = False
        return FactorParams(W, np.asarray(model.mean_, float), np.full(d, s2)), loglik

    def _em(self, X, k, missing):
        rng = make_rng(self.random_state)
        d = X.shape[1]
        m: Any = None

        def run(task):
            nonlocal m
            if missing:
                return fit_factors_with_missing(
                    X.astype(float),
                    k,
                    rng,
                    tied=True,
                    max_iter=self.max_iter,
                    tol=self.tol,
                    task=task,
                )
            m, result = ppca_em(
                X, k, rng, max_iter=self.max_iter, tol=self.tol, task=task
            )
            return result

        result = self._run_driver(run, total=self.max_iter, X=X)
        state = result.state
        if missing:
            return state.params, -state.objective
        return FactorParams(state.W, m, np.full(d, state.s2)), -state.objective

    def _params(self):
        d = self.n_features_in_
        double = lambda a: np.asarray(a, float)
        psi = np.full(d, max(self.noise_variance_, 1e-300))
        return FactorParams(double(self.components_), double(self.mean_), psi)

    def _each(self, X, which):
        """One part of `posterior`, block by block."""
        p = self._params()
        block = max(64, ELEMENTS // (len(p.W) + 1) ** 2)
        read = lambda x: factor_posterior(x.astype(float), p)[which]
        return as_rows(X, block=None if is_dataset(X) else block).map(read)

    def transform(self, X):
        """E[z | x] of each row; missing values are integrated out."""
        X = self._check_new_data(X, **ALLOW_NAN)
        return self._each(X, 0).astype(X.dtype)

    def fit_transform(self, X, y=None):
        """`fit`, then `transform` of the same rows."""
        return self.fit(X).transform(X)

    def inverse_transform(self, X):
        """E[x | z], the rows W^T z + m."""
        return np.asarray(X) @ self.components_ + self.mean_

    def impute(self, X):
        """X with every missing value at its expectation given the rest of its row."""
        X = self._check_new_data(X, **ALLOW_NAN)
        return impute_from_factors(X.astype(float), self._params()).astype(X.dtype)

    def score_samples(self, X):
        """log p(x) of the observed values of each row."""
        X = self._check_new_data(X, **ALLOW_NAN)
        return self._each(X, 2)

    def score(self, X, y=None):
        """The mean of `score_samples`."""
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples=1):
        """Draw rows of eq. (1)."""
        self._check_new_data(self.mean_[None, :])
        return sample_factor_model(
            n_samples, self._params(), make_rng(self.random_state)
        )

    def get_covariance(self):
        """C = W^T W + s2 I."""
        self._check_new_data(self.mean_[None, :])
        return factor_covariance(self._params())

    def get_precision(self):
        """The inverse of C."""
        self._check_new_data(self.mean_[None, :])
        return factor_precision(self._params())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

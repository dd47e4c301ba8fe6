"""Linear autoregression: each value a linear function of the p before it.

    x_t = c + sum_l A_l x_t-l + e_t,    e_t ~ Normal(0, S)                        (1)

for series of any number of columns (several make a vector autoregression). Given the
first p rows the likelihood is that of a linear regression on the lag matrix
[x_t-1, ..., x_t-p], so the fit is least squares. A forecast puts its own means back
into (1); with F the companion matrix of A_1..A_p, errors spread as

    V_1 = S,    V_h = S + Psi_1 S Psi_1^T + ... + Psi_h-1 S Psi_h-1^T            (2)

with Psi_i the top left block of F^i. The series returns to its mean where every
eigenvalue of F lies inside the unit circle.

Cost      one least squares of n rows and p d columns
Shapes    X (n, d)   coef A (p, d, d)   S (d, d)
Refs      [Lutkepohl2005]
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator
from ..core.arrays.ragged import stack_sequences
from ..core.linalg.least_squares import least_squares
from ..core.random import make_rng
from ..params import Count, Flag, NonNegative, check_count, check_params
from .forecast import Forecast, check_interval_level


def _lag_matrix(X, ends, p):
    """Rows with p rows before them in their sequence, none missing: lags, targets."""
    begins = np.repeat(np.r_[0, ends[:-1]], np.diff(ends, prepend=0))
    t = np.arange(len(X))
    t = t[t - begins >= p]
    lags = np.concatenate([X[t - lag] for lag in range(1, p + 1)], axis=1)
    is_complete = np.isfinite(lags).all(axis=1) & np.isfinite(X[t]).all(axis=1)
    return lags[is_complete], X[t[is_complete]]


@dataclass(eq=False, repr=False)
class AutoRegressive(Estimator):
    """Autoregression of order p by least squares.

    Parameters
    ----------
    order : int, default=1
        Number of earlier rows, p.
    fit_intercept : bool, default=True
    alpha : float, default=0
        Ridge penalty of the coefficients, for many columns and few rows.

    Attributes
    ----------
    coef_ : array of shape (p, d, d)
        A_1..A_p; row i of A_l says what column i takes from the columns l rows before.
    intercept_ : array of shape (d,)
    covariance_ : array of shape (d, d)
        Covariance S of the errors, the most likely one (divided by the rows used).
    n_rows_ : int
        Rows that had p whole rows before them.
    last_ : array of shape (p, d)
        Where the last sequence ends, the start of `forecast`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.state_space import AutoRegressive
    >>> x = 0.5 ** np.arange(8)
    >>> model = AutoRegressive(1, fit_intercept=False).fit(x)
    >>> model.coef_.ravel().round(6), model.forecast(2).mean.ravel().round(6)
    (array([0.5]), array([0.003906, 0.001953]))
    """

    order: Count = 1
    _: KW_ONLY
    fit_intercept: Flag = True
    alpha: NonNegative = 0.0

    def fit(self, X, lengths=None, y=None):
        """Fit to one series (n,) or (n, d), or to several (see `lengths`)."""
        check_params(self)
        X, ends = stack_sequences(X, lengths)
        lags, Y = _lag_matrix(X, ends, self.order)
        p = self.order
        d = X.shape[1]
        if len(Y) == 0:
            raise ValueError(
                f"no row of X has {p} whole rows before it in its sequence: order is "
                "too high, or values are missing."
            )
        fit = least_squares(lags, Y, alpha=self.alpha, intercept=self.fit_intercept)
        B, b = fit.coef, fit.intercept
        E = Y - lags @ B - b
        self.coef_ = np.ascontiguousarray(B.reshape(p, d, d).transpose(0, 2, 1))
        self.intercept_ = b
        self.covariance_ = E.T @ E / len(E)
        self.n_rows_ = len(Y)
        self.n_features_in_ = d
        self.last_ = X[-p:]
        return self

    def _next(self, past):
        """Mean of the next row after rows (p, d), the latest last."""
        return self.intercept_ + np.einsum("pij,pj->i", self.coef_, past[::-1])

    def predict(self, X, lengths=None):
        """Mean of each row given those before it (n, d); NaN for the first p rows."""
        check_is_fitted(self)
        X, ends = stack_sequences(X, lengths)
        p = self.order
        out = np.full(X.shape, np.nan)
        begins = np.repeat(np.r_[0, ends[:-1]], np.diff(ends, prepend=0))
        t = np.arange(len(X))
        t = t[t - begins >= p]
        out[t] = self.intercept_
        for lag, A in enumerate(self.coef_, 1):
            out[t] += X[t - lag] @ A.T
        return out

    def forecast(self, n=1, start=None, *, level=0.95) -> Forecast:
        """Means and covariances of the next n rows, eq. (2).

        start : array of at least p rows, optional
            What came before; None goes on from the end of the data fitted.
        """
        n, past = check_count("n", n), self._start(start)
        check_interval_level(level)
        p = self.order
        d = len(self.intercept_)
        F = self.companion()
        means, covs = np.empty((n, d)), np.empty((n, d, d))
        V = np.zeros((d, d))
        power = np.eye(p * d)
        for h in range(n):
            means[h] = self._next(past)
            past = np.vstack([past[1:], means[h]])
            psi = power[:d, :d]
            V = V + psi @ self.covariance_ @ psi.T
            covs[h] = V
            power = power @ F
        return Forecast(means, covs, level)

    def sample(self, n, start=None, random_state=None):
        """n rows drawn from the model."""
        past = self._start(start)
        rng = make_rng(random_state)
        noise = rng.multivariate_normal(
            np.zeros(len(self.intercept_)), self.covariance_, n, method="eigh"
        )
        rows = []
        for e in noise:
            rows.append(self._next(past) + e)
            past = np.vstack([past[1:], rows[-1]])
        return np.array(rows).reshape(n, -1)

    def _start(self, start):
        check_is_fitted(self)
        past = (
            self.last_
            if start is None
            else stack_sequences(np.asarray(start, float))[0]
        )
        past = past[-self.order :]
        if past.shape != (self.order, len(self.intercept_)):
            raise ValueError(
                f"start must have {self.order} rows of {len(self.intercept_)} columns."
            )
        if not np.isfinite(past).all():
            raise ValueError("the rows before a forecast must hold no missing values.")
        return past

    def companion(self):
        """The matrix F of the same model of order 1 in p rows: (p d, p d)."""
        check_is_fitted(self)
        p, d, _ = self.coef_.shape
        F = np.eye(p * d, k=-d)
        F[:d] = self.coef_.transpose(1, 0, 2).reshape(d, p * d)
        return F

    @property
    def is_stable(self) -> bool:
        """Whether the series returns to its mean."""
        return bool(np.abs(np.linalg.eigvals(self.companion())).max() < 1)

"""Polynomial regression with the degree chosen by leave-one-out or cross-validation.

    f_M(x) = sum over powers of total degree <= M of c_p prod_j z_j^p_j            (1)

where z is x with every column scaled to [-1, 1], so that high powers are not collinear.
The columns of all degrees up to the largest are made once, in increasing degree, and
one QR of them serves every degree: with q_ik the entries of Q and z = Q^T y,

    r_i(M) = y_i - sum_(k <= K_M) q_ik z_k,   h_i(M) = sum_(k <= K_M) q_ik^2       (2)
    error(M) = mean_i (r_i / (1 - h_i))^2                                         (3)

(3) is the exact leave-one-out error (`hat_matrix.py`). The degree with the least is
taken; the training error, which falls with every degree, is not used. With `cv` the
rows are split instead.

Cost      n K^2 for K = (d + M choose M) columns, all degrees together
Shapes    X (n, d)   y (n,)   Q (n, K)   h, r (n, M + 1)
Refs      [Allen1974]; [Bishop2006] 1.1
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.preprocessing import PolynomialFeatures

from ...base import Regressor
from ...core.linalg.least_squares import least_squares
from ...params import Flag, Natural
from ...persist.saved_state import FloatArray, IntArray, saved_state
from ...predictors.abstract_linear import AbstractLinearEstimator
from ...typing import Splits


def polynomial_powers(d, degree, *, interactions=True):
    """Exponents of all terms up to `degree`, (K, d), in rising degree."""
    maker = PolynomialFeatures(degree, include_bias=True).fit(np.zeros((1, d)))
    P = maker.powers_[np.argsort(maker.powers_.sum(axis=1), kind="stable")]
    return P if interactions else P[(P > 0).sum(axis=1) <= 1]


def polynomial_terms(Z, powers):
    """Columns prod_j z_j^p_j of eq. (1)."""
    out = np.ones((len(Z), len(powers)))
    for j in range(Z.shape[1]):
        used = np.flatnonzero(powers[:, j])
        out[:, used] *= Z[:, j : j + 1] ** powers[used, j]
    return out


def leave_one_out_mse(A, y, w, widths):
    """Eqs (2) and (3) for the first `widths` columns of A, from one QR."""
    root = np.sqrt(w)
    A = A * root[:, None]
    y = y * root
    live = w > 0
    Q, R = np.linalg.qr(A[live])
    size = np.abs(np.diagonal(R))
    sound = np.logical_and.accumulate(size > 1e-12 * size.max())
    z = Q.T @ y[live]
    h = np.cumsum(Q**2, axis=1)
    fit = np.cumsum(Q * z, axis=1)
    errors = []
    for K in widths:
        if Q.shape[1] < K or not sound[:K].all() or live.sum() <= K:
            errors.append(np.inf)  # the rows do not determine this many terms
            continue
        left = 1 - h[:, K - 1]
        if np.any(left < 1e-10):
            errors.append(np.inf)
            continue
        e = (y[live] - fit[:, K - 1]) / left
        errors.append(float(np.sum(e**2) / w.sum()))
    return np.array(errors)


def cross_validation_errors(A, y, w, widths, splits):
    """Mean squared error on held-out rows for the first `widths` columns of A."""
    errors = np.zeros(len(widths))
    total = 0.0
    for train, test in splits:
        total += w[test].sum()
        for k, K in enumerate(widths):
            f = least_squares(A[train, :K], y[train, None], w[train], intercept=False)
            errors[k] += w[test] @ (y[test] - A[test, :K] @ f.coef[:, 0]) ** 2
    return errors / total


@saved_state(
    powers_=IntArray("terms", "n_features_in_", low=0),
    coef_=FloatArray("terms"),
    scale_=FloatArray("n_features_in_"),
)
@dataclass(eq=False, repr=False)
class PolynomialRegression(Regressor, AbstractLinearEstimator):
    """A polynomial in the columns of X, of a given or a chosen degree.

    Parameters
    ----------
    degree : int or "cv", default="cv"
        Largest total degree of a term, or "cv" to choose it.
    max_degree : int, default=10
        Largest degree that "cv" tries; fewer where the rows cannot determine it.
    interactions : bool, default=True
        Whether terms may mix columns.
    cv : int, splitter, iterable of splits or None, default=None
        How "cv" holds rows out. None leaves out one at a time, exactly and from one
        factorisation for all degrees.

    Attributes
    ----------
    degree_ : int
    validation_error_ : array of shape (n_degrees,)
        Mean squared error on held-out rows for degrees 0, 1, ...; only with "cv".
    coef_ : array of shape (n_terms,)
        Coefficients c of the terms in the scaled columns, constant first.
    powers_ : array of shape (n_terms, n_features)
        Exponents of the terms.
    center_, scale_ : array of shape (n_features,)
        z = (x - center) / scale.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import PolynomialRegression
    >>> x = np.linspace(-1, 2, 12)
    >>> y = 1 - 2 * x + x**3 + 0.01 * np.cos(40 * x)
    >>> model = PolynomialRegression().fit(x[:, None], y)
    >>> model.degree_
    3
    >>> model.polynomial().convert().coef.round(1)
    array([ 1., -2., -0.,  1.])
    """

    degree: Natural | Literal["cv"] = "cv"
    _: KW_ONLY
    max_degree: Natural = 10
    interactions: Flag = True
    cv: Splits = None

    _any_scale = True  # the columns are scaled first

    _tensors = False

    def fit(self, X, y, sample_weight=None):
        """Choose the degree by eq. (3) if asked to, then fit eq. (1)."""
        X, y, w = self._check_training_data(X, y, sample_weight, y_kind="number")
        X = X.astype(np.float64)
        y = y.astype(np.float64)
        w = np.ones(len(y)) if w is None else w.astype(np.float64)
        seen = X[w > 0]
        low = seen.min(axis=0)
        high = seen.max(axis=0)
        self.center_ = low / 2 + high / 2
        self.scale_ = np.where(high > low, high / 2 - low / 2, 1.0)
        Z = (X - self.center_) / self.scale_
        self.degree_ = self.degree
        if self.degree == "cv":
            self.degree_ = self._choose_degree(Z, y, w)
        self.powers_ = polynomial_powers(
            X.shape[1], self.degree_, interactions=self.interactions
        )
        result = least_squares(
            polynomial_terms(Z, self.powers_), y[:, None], w, intercept=False
        )
        self.coef_ = result.coef[:, 0]
        return self

    def _choose_degree(self, Z, y, w):
        """The degree of least validation error."""
        rows = int(np.sum(w > 0))
        top = 0
        widths = [1]
        for degree in range(1, self.max_degree + 1):
            K = len(
                polynomial_powers(Z.shape[1], degree, interactions=self.interactions)
            )
            if rows <= K:
                break
            top = degree
            widths.append(K)
        P = polynomial_powers(Z.shape[1], top, interactions=self.interactions)
        A = polynomial_terms(Z, P)
        if self.cv is None:
            errors = leave_one_out_mse(A, y, w, widths)
        else:
            splits = check_cv(self.cv, y).split(Z, y)
            errors = cross_validation_errors(A, y, w, widths, splits)
        self.validation_error_ = errors
        return int(np.argmin(errors)) if np.isfinite(errors).any() else 0

    def predict(self, X):
        """Eq. (1) for every row."""
        X = self._check_new_data(X)
        Z = (X.astype(np.float64) - self.center_) / self.scale_
        return polynomial_terms(Z, self.powers_) @ self.coef_

    def polynomial(self):
        """For one column of X, the fit as a numpy.polynomial.Polynomial in x."""
        if self.n_features_in_ != 1:
            raise ValueError(
                f"polynomial() is for one column of X, not {self.n_features_in_}."
            )
        reach = np.array([-1.0, 1.0])
        domain = self.center_[0] + self.scale_[0] * reach
        return np.polynomial.Polynomial(self.coef_, domain=domain, window=reach)

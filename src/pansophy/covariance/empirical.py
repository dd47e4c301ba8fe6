"""Covariance of the columns: empirical, or shrunk towards a multiple of the identity.

    m = mean x_i      S = mean (x_i - m)(x_i - m)^T                              (1)
    S(a) = (1 - a) S + a mu I      mu = tr S / d                                 (2)

(1) is the maximum-likelihood covariance of normal rows; with few rows its eigenvalues
are too spread out, and (2) pulls them together. The a of least expected squared error
is estimated by Ledoit and Wolf, or for normal rows by Chen and others (OAS);
`core/linalg/shrinkage.py` has both formulas.

Every model here gives squared Mahalanobis distances (x - m)^T S^-1 (x - m), by the
pseudo-inverse where the correlations of S are singular.

Shapes    X (n, d)   S (d, d)
Refs      [Ledoit2004]; [Chen2010]
"""

import warnings
from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy import linalg

from ..base import Estimator
from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.linalg.shrinkage import (
    ledoit_wolf_shrinkage,
    oas_shrinkage,
    shrunk_covariance,
)
from ..params import Count, Flag, Fraction, UnsupportedChoiceError


def mean_and_covariance(X, assume_centered=False):
    """Eq. (1): the mean m, zero if assumed, and the covariance S."""
    m = np.zeros(X.shape[1]) if assume_centered else X.mean(axis=0)
    A = X - m
    return m, A.T @ A / len(X)


def _pseudo_inverse(S):
    """S^-1, or the pseudo-inverse where S is singular.

    S counts as singular by the eigenvalues of its correlation matrix: columns of very
    different scale do not make it so.
    """
    size = np.abs(S).max(initial=0.0)
    if size < np.finfo(float).tiny:  # 0 up to underflow
        return np.zeros_like(S)
    scale = np.sqrt(np.diagonal(S))
    if scale.min() > 0:
        values, V = np.linalg.eigh(S / scale / scale[:, None])
        if values[0] > len(S) * np.finfo(float).eps * values[-1]:
            return (V / values) @ V.T / scale / scale[:, None]
    return linalg.pinvh(S / size) / size


def _mean_variance(S) -> float:
    """mu of eq. (2), or 1 where nothing varies."""
    mu = float(np.trace(S)) / len(S)
    return mu if mu > 0 else 1.0


def squared_mahalanobis(X, m, P):
    """(x - m)^T P (x - m) of each row: (n,)."""
    A = X - m
    return np.einsum("ij,ij->i", A @ P, A)


def _normal_log_likelihood(S, P):
    """Mean log density of normal rows with covariance S under precision P."""
    d = len(S)
    sign, log_det = np.linalg.slogdet(P)
    log_det = log_det if sign > 0 else -np.inf
    return float(-np.sum(S * P) + log_det - d * np.log(2 * np.pi)) / 2


def rows_for_moments(model, X):
    """X in double precision, if its moments exist; warns if it has but one row."""
    X = np.ascontiguousarray(X, np.float64)  # sums in one order, whatever that of X
    margin = 4 * np.sqrt(X.shape[1])  # a trace sums over columns, too
    refuse_overflowing_squares(model, X, margin=margin)
    if len(X) == 1:
        warnings.warn(
            "Only one sample available. You may want to reshape your data array: the "
            f"covariance of {type(model).__name__} is 0.",
            UserWarning,
            stacklevel=3,
        )
    return X


@dataclass(eq=False, repr=False)
class AbstractCovariance(Estimator):
    """Base of the covariance models: precision, distances and likelihood."""

    _: KW_ONLY
    store_precision: Flag = True
    assume_centered: Flag = False

    _tensors = False

    def _store(self, m, S):
        self.location_ = m
        self.covariance_ = S
        self.precision_ = _pseudo_inverse(S) if self.store_precision else None
        return self

    def get_precision(self):
        """S^-1, or the pseudo-inverse: (d, d)."""
        if self.store_precision:
            return self.precision_
        return _pseudo_inverse(self.covariance_)

    def mahalanobis(self, X):
        """Squared distances (x - m)^T S^-1 (x - m): (n,)."""
        X = self._check_new_data(X, order="C")
        return squared_mahalanobis(X, self.location_, self.get_precision())

    def score(self, X, y=None):
        """Mean log density of the rows under N(m, S)."""
        X = self._check_new_data(X, order="C")
        S = (X - self.location_).T @ (X - self.location_) / len(X)
        return _normal_log_likelihood(S, self.get_precision())

    def error_norm(self, comp_cov, norm="frobenius", scaling=True, squared=True):
        """The distance of another covariance: Frobenius or spectral norm."""
        error = np.asarray(comp_cov) - self.covariance_
        if norm == "frobenius":
            value = np.sum(error**2)
        elif norm == "spectral":
            value = np.linalg.norm(error, 2) ** 2
        else:
            raise UnsupportedChoiceError(
                f"norm must be 'frobenius' or 'spectral', got {norm!r}."
            )
        value = value / len(error) if scaling else value
        return float(value if squared else np.sqrt(value))


@dataclass(eq=False, repr=False)
class EmpiricalCovariance(AbstractCovariance):
    """The empirical covariance of the rows, eq. (1).

    Parameters
    ----------
    store_precision : bool, default=True
        Whether the inverse is kept.
    assume_centered : bool, default=False
        Whether the mean is taken to be 0.

    Attributes
    ----------
    location_ : array of shape (d,)
        m.
    covariance_ : array of shape (d, d)
        S.
    precision_ : array of shape (d, d) or None
        Its pseudo-inverse.
    n_features_in_ : int

    Examples
    --------
    >>> from pansophy.covariance import EmpiricalCovariance
    >>> EmpiricalCovariance().fit([[0.0, 1.0], [2.0, 5.0]]).covariance_
    array([[1., 2.],
           [2., 4.]])
    """

    def fit(self, X, y=None):
        """Compute mean and covariance.

        Parameters
        ----------
        X : array of shape (n, d)
        y : None
            Not used.

        Returns
        -------
        self : EmpiricalCovariance
        """
        X, _ = self._check_training_data(X)
        X = rows_for_moments(self, X)
        return self._store(*mean_and_covariance(X, self.assume_centered))


@dataclass(eq=False, repr=False)
class ShrunkCovariance(AbstractCovariance):
    """A covariance shrunk towards a multiple of the identity, eq. (2).

    Parameters
    ----------
    store_precision, assume_centered
        As in `EmpiricalCovariance`.
    shrinkage : float, default=0.1
        a.

    Attributes
    ----------
    location_, covariance_, precision_
        As in `EmpiricalCovariance`.
    n_features_in_ : int

    Examples
    --------
    >>> from pansophy.covariance import ShrunkCovariance
    >>> ShrunkCovariance(shrinkage=0.5).fit([[0.0, 1.0], [2.0, 5.0]]).covariance_
    array([[1.75, 1.  ],
           [1.  , 3.25]])
    """

    _: KW_ONLY
    shrinkage: Fraction = 0.1

    def fit(self, X, y=None):
        """Compute the covariance and shrink it.

        Parameters
        ----------
        X : array of shape (n, d)
        y : None
            Not used.

        Returns
        -------
        self : ShrunkCovariance
        """
        X, _ = self._check_training_data(X)
        X = rows_for_moments(self, X)
        m, S = mean_and_covariance(X, self.assume_centered)
        return self._store(m, shrunk_covariance(S, self.shrinkage))


@dataclass(eq=False, repr=False)
class LedoitWolf(AbstractCovariance):
    """A covariance shrunk by the estimate of Ledoit and Wolf.

    Parameters
    ----------
    store_precision, assume_centered
        As in `EmpiricalCovariance`.
    block_size : int, default=1000
        How scikit-learn blocks its sums. Ours need no d-by-d block beyond S itself,
        so that this changes nothing.

    Attributes
    ----------
    location_, covariance_, precision_
        As in `EmpiricalCovariance`.
    shrinkage_ : float
        a.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.covariance import LedoitWolf
    >>> X = np.random.default_rng(0).normal(size=(20, 5))
    >>> 0 < LedoitWolf().fit(X).shrinkage_ < 1
    True
    """

    _: KW_ONLY
    block_size: Count = 1000

    def fit(self, X, y=None):
        """Compute the covariance and shrink it.

        Parameters
        ----------
        X : array of shape (n, d)
        y : None
            Not used.

        Returns
        -------
        self : LedoitWolf
        """
        X, _ = self._check_training_data(X)
        X = rows_for_moments(self, X)
        m, S = mean_and_covariance(X, self.assume_centered)
        squared_norms = np.einsum("ij,ij->i", X - m, X - m)
        mu = _mean_variance(S)  # in its units nothing overflows
        fourth = np.mean((squared_norms / mu) ** 2)
        self.shrinkage_ = ledoit_wolf_shrinkage(S / mu, fourth, len(X))
        return self._store(m, shrunk_covariance(S, self.shrinkage_))


@dataclass(eq=False, repr=False)
class OAS(AbstractCovariance):
    """A covariance shrunk by the oracle approximating rule for normal rows.

    Parameters
    ----------
    store_precision, assume_centered
        As in `EmpiricalCovariance`.

    Attributes
    ----------
    location_, covariance_, precision_
        As in `EmpiricalCovariance`.
    shrinkage_ : float
        a.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.covariance import OAS
    >>> X = np.random.default_rng(0).normal(size=(20, 5))
    >>> 0 < OAS().fit(X).shrinkage_ < 1
    True
    """

    def fit(self, X, y=None):
        """Compute the covariance and shrink it.

        Parameters
        ----------
        X : array of shape (n, d)
        y : None
            Not used.

        Returns
        -------
        self : OAS
        """
        X, _ = self._check_training_data(X)
        X = rows_for_moments(self, X)
        m, S = mean_and_covariance(X, self.assume_centered)
        self.shrinkage_ = oas_shrinkage(S / _mean_variance(S), len(X))
        return self._store(m, shrunk_covariance(S, self.shrinkage_))

"""Stationary kernels (functions of x - z): Gaussian, Matern, Laplacian, periodic, ...

With length scales l_j, one for all columns or one for each (automatic relevance
determination), and s = sum_j (x_j - z_j)^2 / l_j^2, r = sqrt(s),

    RBF                  exp(-s / 2)                                              (1)
    Matern, nu           2^(1-nu) / Gamma(nu) t^nu K_nu(t),  t = sqrt(2 nu) r     (2)
        nu = 1/2         exp(-r)
        nu = 3/2         (1 + t) exp(-t)
        nu = 5/2         (1 + t + t^2 / 3) exp(-t)
        nu = inf         (1)
    RationalQuadratic    (1 + s / (2 a))^-a                                       (3)
    Laplacian            exp(-sum_j |x_j - z_j| / l_j)                            (4)
    Periodic             exp(-2 sum_j sin^2(pi (x_j - z_j) / p_j) / l_j^2)        (5)

(1) to (3) are h(s), so that dk / d log l_j = -2 s_j h'(s), and the sum of (5) in
`base` over a tile, sum_ab M_ab (x_aj - z_bj)^2 with M = W h', needs one product M Z for
all columns j together. (2) for other nu is half an integer away from a Bessel function
of SciPy, which is computed in main memory whatever device holds the rows.

(4) is scikit-learn's `laplacian_kernel` with gamma = 1 / l; with the Euclidean norm in
place of the sum it is (2) with nu = 1/2. (5) is `ExpSineSquared` in one column; in
several it is a product over columns, which is a kernel where `ExpSineSquared` of the
Euclidean distance need not be one. It equals the Gaussian kernel of width l on
(cos, sin) of 2 pi x_j / p_j.

Three conventions for the width of (1): the length scale l of Gaussian processes (as in
`sklearn.gaussian_process.kernels.RBF`), gamma = 1 / (2 l^2) of support vector
machines (`SVC(gamma=)`), and the bandwidth h of exp(-|x - z|^2 / h^2), h = l sqrt(2).
(1) is also a series of homogeneous polynomial kernels, each of whose truncations

    exp(-(|x|^2 + |z|^2) / (2 l^2)) sum_{i <= q} (x.z / l^2)^i / i!               (6)

is a kernel (`truncated_rbf`).

Refs      [Rasmussen2006] 4.2; [ScholkopfSmola2002] 4.4
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special
from scipy import sparse

from ..core.arrays.arrays import asarray, namespace, to_numpy
from ..distances.pairwise_metrics import as_float_rows, columns_block, squared_block
from ..params import check_count
from .base import (
    AbstractKernel,
    array_namespace,
    check_positive_parameter,
    empty_block,
    exponential_in_place,
    full_diag,
)
from .dot import inner_products, row_squared_norms

LONGEST = 1e4  # squared length of scaled rows up to which a product has the digits
LONGEST_SINGLE = 30.0  # the same in single precision


def _scale_field(kernel, name):
    """Store a parameter as a float, or as a tuple of one number a column."""
    value = np.asarray(getattr(kernel, name), dtype=float)
    plain = float(value) if value.ndim == 0 else tuple(value.ravel().tolist())
    object.__setattr__(kernel, name, plain)
    check_positive_parameter(kernel, name)


def _parameter_by_column(kernel, name, X) -> Any:
    """A parameter as a number, or as an array with one entry for each column of X."""
    value = getattr(kernel, name)
    if not isinstance(value, tuple):
        return value
    if len(value) != X.shape[1]:
        words = name.replace("_", " ")
        raise ValueError(
            f"{type(kernel).__name__} has {len(value)} {words}s for {X.shape[1]} "
            "columns."
        )
    return np.asarray(value)


def _scaled_squared_block(X, Z, rate):
    """sum_j rate_j^2 (x_j - z_j)^2 for dense or sparse rows; `rate` as NumPy."""
    if X.shape[1] == 0:
        return empty_block(X, Z)
    if not sparse.issparse(X):
        rate = rate if np.ndim(rate) == 0 else asarray(rate, like=X)
        return squared_block(X, Z, rate)
    X, Z = (A.multiply(rate).tocsr() if np.ndim(rate) else A * rate for A in (X, Z))
    D = -2 * inner_products(X, Z)
    D += row_squared_norms(X)[:, None]
    D += row_squared_norms(Z)[None, :]
    return np.maximum(D, 0.0, out=D)


def _exponential_factors(X, Z, rate):
    """A and B with A B^T = -sum_j rate_j^2 (x_j - z_j)^2; None where digits are lost.

    What rounding does to the exponent is its relative error in exp, so that close pairs
    need no second look as long as the scaled rows are not too long.
    """
    xp = namespace(X)
    rate = rate if np.ndim(rate) == 0 else asarray(rate, like=X)
    center = xp.mean(Z, axis=0)
    A, B = (X - center) * rate, (Z - center) * rate
    a2 = xp.sum(A * A, axis=1)[:, None]
    b2 = xp.sum(B * B, axis=1)[:, None]
    longest = float(xp.max(a2)) + float(xp.max(b2))
    eps = float(xp.finfo(X.dtype).eps)
    if not longest <= (LONGEST_SINGLE if eps > 1e-10 else LONGEST):
        return None
    left = xp.concat([2 * A, a2, xp.ones_like(a2)], axis=1)
    return left, xp.concat([B, -xp.ones_like(b2), -b2], axis=1)


def _negative_squared_block(X, Z, rate):
    """-sum_j rate_j^2 (x_j - z_j)^2 for an exponential, by one matrix product."""
    if X.shape[1] == 0 or sparse.issparse(X):
        return -_scaled_squared_block(X, Z, rate)
    factors = _exponential_factors(X, Z, rate)
    if factors is None:
        rate = rate if np.ndim(rate) == 0 else asarray(rate, like=X)
        return -squared_block(X, Z, rate)
    left, right = factors
    return left @ namespace(X).matrix_transpose(right)


@dataclass(frozen=True)
class RadialKernel(AbstractKernel):
    """A function h of s = sum_j (x_j - z_j)^2 / l_j^2: what (1) to (3) share."""

    length_scale: Any = 1.0

    takes_sparse = True

    @abstractmethod
    def profile(self, s) -> Any:
        """h(s); s may be overwritten."""

    @abstractmethod
    def slope(self, s) -> Any:
        """h'(s), anything finite where s = 0 and h' has no limit."""

    def _rate(self, X) -> Any:
        """1 / l, a float or a NumPy array."""
        return 1.0 / _parameter_by_column(self, "length_scale", X)

    def squared_scaled(self, X, Z):
        """s for all pairs of rows."""
        return _scaled_squared_block(X, Z, self._rate(X))

    def block(self, X, Z):
        return self.profile(self.squared_scaled(X, Z))

    def diag(self, X):
        return full_diag(self.as_rows(X)[0], 1.0)

    def gradient_diag(self, X):
        return _constant_diag_gradient(self, X)

    def scale_gradients(self, X, Z, s) -> list:
        """-2 s_j h'(s) for each length scale."""
        outer = -2 * self.slope(s)
        if not isinstance(self.length_scale, tuple):
            return [outer * s]
        X, Z = dense_rows(X), dense_rows(Z)
        rate = self._rate(X)
        gap = lambda j: (float(rate[j]) * (X[:, j][:, None] - Z[:, j][None, :])) ** 2
        return [outer * gap(j) for j in range(X.shape[1])]

    def gradient_block(self, X, Z):
        return self.scale_gradients(X, Z, self.squared_scaled(X, Z))

    def scale_contractions(self, X, Z, W, s) -> list:
        """sum W_ab of `scale_gradients` for each length scale.

        sum_ab M_ab (x_a - z_b)^2 = sum_a x_a^2 M_a. + sum_b z_b^2 M_.b
        - 2 sum_a x_a (M z)_a, all columns in one product; rows are centred first.
        """
        xp = array_namespace(X)
        M = W * self.slope(s)
        if not isinstance(self.length_scale, tuple):
            return [-2 * xp.sum(M * s)]
        X, Z = dense_rows(X), dense_rows(Z)
        rate = asarray(self._rate(X), like=X)
        center = xp.mean(Z, axis=0)
        A, B = (X - center) * rate, (Z - center) * rate
        total = xp.sum(A * A * xp.sum(M, axis=1)[:, None], axis=0)
        total = total + xp.sum(B * B * xp.sum(M, axis=0)[:, None], axis=0)
        total = -2 * (total - 2 * xp.sum(A * (M @ B), axis=0))
        return [total[j] for j in range(X.shape[1])]

    def contract_block(self, X, Z, W):
        return self.scale_contractions(X, Z, W, self.squared_scaled(X, Z))

    def input_block(self, X, Z, W):
        """dk / dx_j = 2 h'(s) (x_j - z_j) / l_j^2."""
        xp = namespace(X)
        rate = self._rate(X)
        rate = rate if np.ndim(rate) == 0 else asarray(rate, like=X)
        M = W * self.slope(self.squared_scaled(X, Z))
        center = xp.mean(Z, axis=0)
        A, B = X - center, Z - center
        return 2 * rate**2 * (A * xp.sum(M, axis=1)[:, None] - M @ B)


def _constant_diag_gradient(kernel, X):
    """d k(x, x) / d theta of a kernel that is 1 there."""
    return [full_diag(X, 0.0) for _ in kernel.theta]


def dense_rows(X):
    return X.toarray() if sparse.issparse(X) else X


@dataclass(frozen=True, init=False)
class RBF(RadialKernel):
    """The Gaussian (squared exponential) kernel, eq. (1).

    Parameters
    ----------
    length_scale : float or array of shape (d,), default=1.0
        l, one for all columns or one for each.
    gamma : float, optional
        1 / (2 l^2) instead of l.
    width : float, optional
        h = l sqrt(2) instead of l.

    Examples
    --------
    >>> from pansophy.kernels import RBF
    >>> RBF(gamma=0.1)([[1.0, 2.0]], [[3.0, -1.0]]).round(6)
    array([[0.272532]])
    >>> RBF(gamma=0.5) == RBF(1.0)
    True
    """

    length_scale: Any

    learnt = ("length_scale",)

    def __init__(self, length_scale=None, *, gamma=None, width=None):
        is_given = [v is not None for v in (length_scale, gamma, width)]
        if sum(is_given) > 1:
            raise ValueError("RBF takes one of length_scale, gamma and width.")
        for name, value in (("gamma", gamma), ("width", width)):
            if value is not None and not value > 0:
                raise ValueError(f"{name} of RBF must be above 0, got {value}.")
        if gamma is not None:
            length_scale = float((2 * gamma) ** -0.5)
        elif width is not None:
            length_scale = float(width / np.sqrt(2))
        scale = 1.0 if length_scale is None else length_scale
        object.__setattr__(self, "length_scale", scale)
        self.__post_init__()

    def __post_init__(self):
        _scale_field(self, "length_scale")

    @property
    def gamma(self):
        """1 / (2 l^2)."""
        return 0.5 / np.square(self.length_scale)

    def with_params(self, **params):
        """A copy with another length scale, gamma or width."""
        if params.keys() & {"gamma", "width"}:
            return RBF(**params)
        return super().with_params(**params)

    def block(self, X, Z):
        rate = self._rate(X) * math.sqrt(0.5)
        return exponential_in_place(_negative_squared_block(X, Z, rate))

    def tile_function(self, X, Z):
        """Tiles from the factors of the exponent, which are made once."""
        factors = None
        if not sparse.issparse(X) and not sparse.issparse(Z):
            factors = self.exponent_factors(X, Z)
        if factors is None:
            return super().tile_function(X, Z)
        A, B = factors
        transpose = namespace(B).matrix_transpose
        return lambda r, c: exponential_in_place(A[r, :] @ transpose(B[c, :]))

    def exponent_factors(self, X, Z):
        if X.shape[1] == 0:
            return None
        return _exponential_factors(X, Z, self._rate(X) * math.sqrt(0.5))

    def profile(self, s):
        return namespace(s).exp(-0.5 * s)

    def slope(self, s):
        return -0.5 * namespace(s).exp(-0.5 * s)


@dataclass(frozen=True)
class Matern(RadialKernel):
    """The Matern kernel, eq. (2): functions that are differentiable nu - 1/2 times.

    Parameters
    ----------
    length_scale : float or array of shape (d,), default=1.0
        l, one for all columns or one for each.
    nu : float, default=1.5
        Smoothness, above 0; 0.5, 1.5, 2.5 and inf are quick. Not part of theta.

    Examples
    --------
    >>> from pansophy.kernels import Matern
    >>> Matern(nu=0.5)([[0.0]], [[1.0]]).round(6)
    array([[0.367879]])
    """

    length_scale: Any = 1.0
    nu: float = 1.5

    learnt = ("length_scale",)

    def __post_init__(self):
        _scale_field(self, "length_scale")
        if not self.nu > 0:
            raise ValueError(f"nu of Matern must be above 0, got {self.nu}.")

    def profile(self, s):
        xp = namespace(s)
        if self.nu == math.inf:
            return xp.exp(-0.5 * s)
        t = xp.sqrt(2 * self.nu * s)
        if self.nu == 0.5:
            return xp.exp(-t)
        if self.nu == 1.5:
            return (1 + t) * xp.exp(-t)
        if self.nu == 2.5:
            return (1 + t + t * t / 3) * xp.exp(-t)
        return _bessel_term(t, self.nu, self.nu) * (2 ** (1 - self.nu))

    def slope(self, s):
        """h' = -(nu / t) t^nu K_{nu-1}(t) 2^(1-nu) / Gamma(nu), since t' = nu / t."""
        xp = namespace(s)
        if self.nu == math.inf:
            return -0.5 * xp.exp(-0.5 * s)
        t = xp.sqrt(2 * self.nu * s)
        if self.nu == 0.5:
            return -0.5 * xp.exp(-t) / xp.where(t > 0, t, xp.ones_like(t))
        if self.nu == 1.5:
            return -1.5 * xp.exp(-t)
        if self.nu == 2.5:
            return -(5 / 6) * (1 + t) * xp.exp(-t)
        outer = _bessel_term(t, self.nu, self.nu - 1) * (-self.nu * 2 ** (1 - self.nu))
        return outer / xp.where(t > 0, t, xp.ones_like(t))


def _bessel_term(t, nu, order):
    """t^nu K_order(t) / Gamma(nu), in main memory; its limit at t = 0 if that is 1.

    At 0, t^nu K_nu(t) tends to 2^(nu-1) Gamma(nu). Below t = 1e-150 of other orders
    the caller multiplies by s = 0, so that any number will do.
    """
    r = np.asarray(to_numpy(t), dtype=np.float64)
    small = r < 1e-12
    safe = np.where(small, 1.0, r)
    # kve = exp(t) K(t) keeps the digits where K itself underflows
    log = nu * np.log(safe) - safe - scipy.special.gammaln(nu)
    value = np.exp(log) * scipy.special.kve(order, safe)
    value = np.where(small, 2.0 ** (nu - 1) if order == nu else 0.0, value)
    return asarray(value, like=t)


@dataclass(frozen=True)
class RationalQuadratic(RadialKernel):
    """A mixture of Gaussian kernels of all widths, eq. (3).

    Parameters
    ----------
    length_scale : float or array of shape (d,), default=1.0
        l, one for all columns or one for each.
    alpha : float, default=1.0
        a, the mixture of widths; inf would be the Gaussian kernel.

    Examples
    --------
    >>> from pansophy.kernels import RationalQuadratic
    >>> RationalQuadratic()([[0.0]], [[1.0]]).round(6)
    array([[0.666667]])
    """

    length_scale: Any = 1.0
    alpha: float = 1.0

    learnt = ("length_scale", "alpha")

    def __post_init__(self):
        _scale_field(self, "length_scale")
        check_positive_parameter(self, "alpha")

    def profile(self, s):
        return namespace(s).exp(-self.alpha * namespace(s).log1p(s / (2 * self.alpha)))

    def slope(self, s):
        u = s / (2 * self.alpha)
        return -0.5 * namespace(s).exp(-(self.alpha + 1) * namespace(s).log1p(u))

    def alpha_gradient(self, s):
        """dk / d log a = a k (u / (1 + u) - log(1 + u)), u = s / (2 a)."""
        u = s / (2 * self.alpha)
        return self.alpha * self.profile(s) * (u / (1 + u) - namespace(s).log1p(u))

    def gradient_block(self, X, Z):
        s = self.squared_scaled(X, Z)
        return [*self.scale_gradients(X, Z, s), self.alpha_gradient(s)]

    def contract_block(self, X, Z, W):
        s = self.squared_scaled(X, Z)
        last = array_namespace(X).sum(W * self.alpha_gradient(s))
        return [*self.scale_contractions(X, Z, W, s), last]


@dataclass(frozen=True)
class Laplacian(AbstractKernel):
    """exp(-sum_j |x_j - z_j| / l_j), eq. (4).

    Parameters
    ----------
    length_scale : float or array of shape (d,), default=1.0
        l, one for all columns or one for each; 1 / gamma of `laplacian_kernel`.

    Examples
    --------
    >>> from pansophy.kernels import Laplacian
    >>> Laplacian(2.0)([[0.0, 1.0]], [[1.0, 0.0]]).round(6)
    array([[0.367879]])
    """

    length_scale: Any = 1.0

    learnt = ("length_scale",)

    def __post_init__(self):
        _scale_field(self, "length_scale")

    def _distances(self, X, Z):
        if X.shape[1] == 0:
            return empty_block(X, Z)
        rate = 1.0 / _parameter_by_column(self, "length_scale", X)
        rate = float(rate) if np.ndim(rate) == 0 else asarray(rate, like=X)
        return columns_block(X, Z, 1, rate)

    def block(self, X, Z):
        return namespace(X).exp(-self._distances(X, Z))

    def diag(self, X):
        return full_diag(self.as_rows(X)[0], 1.0)

    def gradient_diag(self, X):
        return _constant_diag_gradient(self, X)

    def gradient_block(self, X, Z):
        D = self._distances(X, Z)
        xp = namespace(X)
        K = xp.exp(-D)
        if not isinstance(self.length_scale, tuple):
            return [K * D]
        gap = lambda j: xp.abs(X[:, j][:, None] - Z[:, j][None, :])
        return [K * gap(j) / scale for j, scale in enumerate(self.length_scale)]


@dataclass(frozen=True)
class Periodic(AbstractKernel):
    """Functions that repeat with a period in each column, eq. (5).

    Parameters
    ----------
    length_scale : float or array of shape (d,), default=1.0
        l, the smoothness within a period.
    period : float or array of shape (d,), default=1.0
        p, in the units of x.

    Examples
    --------
    >>> from pansophy.kernels import Periodic
    >>> Periodic(period=2.0)([[0.5]], [[0.5], [2.5], [1.5]]).round(6)
    array([[1.      , 1.      , 0.135335]])
    """

    length_scale: Any = 1.0
    period: Any = 1.0

    learnt = ("length_scale", "period")

    def __post_init__(self):
        _scale_field(self, "length_scale")
        _scale_field(self, "period")

    def _columns(self, X):
        """(l_j, p_j) of every column."""
        d = int(X.shape[1])
        scales_and_periods = (
            _parameter_by_column(self, name, X) for name in ("length_scale", "period")
        )
        return list(
            zip(
                *(np.broadcast_to(v, d).tolist() for v in scales_and_periods),
                strict=True,
            )
        )

    def _angle(self, X, Z, j, period):
        return (math.pi / period) * (X[:, j][:, None] - Z[:, j][None, :])

    def block(self, X, Z):
        xp = namespace(X)
        total = xp.zeros_like(X[:, :1] @ xp.matrix_transpose(Z[:, :1]))
        for j, (scale, period) in enumerate(self._columns(X)):
            total = total + (xp.sin(self._angle(X, Z, j, period)) / scale) ** 2
        return xp.exp(-2 * total)

    def diag(self, X):
        return full_diag(self.as_rows(X)[0], 1.0)

    def input_block(self, X, Z, W):
        """dk / dx_j = -2 pi / p_j k sin(2 a) / l_j^2."""
        xp = namespace(X)
        M = W * self.block(X, Z)
        columns = []
        for j, (scale, period) in enumerate(self._columns(X)):
            slope = xp.sin(2 * self._angle(X, Z, j, period))
            columns.append(-2 * math.pi / period / scale**2 * xp.sum(M * slope, axis=1))
        return xp.stack(columns, axis=1)

    def gradient_diag(self, X):
        return _constant_diag_gradient(self, X)

    def gradient_block(self, X, Z):
        """dk/d log l_j = 4 k sin^2 / l^2, dk/d log p_j = 2 k a sin(2 a) / l^2."""
        xp = namespace(X)
        K = self.block(X, Z)
        widths, periods = [], []
        for j, (scale, period) in enumerate(self._columns(X)):
            a = self._angle(X, Z, j, period)
            widths.append(4 * K * (xp.sin(a) / scale) ** 2)
            periods.append(2 * K * a * xp.sin(2 * a) / scale**2)
        return [
            *(widths if isinstance(self.length_scale, tuple) else [sum(widths)]),
            *(periods if isinstance(self.period, tuple) else [sum(periods)]),
        ]


def truncated_rbf(X, Z=None, *, order, length_scale=1.0):
    """The Gaussian kernel by its first terms, eq. (6): a kernel for every `order`.

    Examples
    --------
    >>> from pansophy.kernels import truncated_rbf
    >>> truncated_rbf([[1.0]], [[0.5]], order=1).round(6)
    array([[0.802892]])
    >>> truncated_rbf([[1.0]], [[0.5]], order=9).round(6)
    array([[0.882497]])
    """
    check_count("order of truncated_rbf", order, 0)
    X, Z = as_float_rows(X, Z)
    xp = namespace(X)
    dot = inner_products(X, Z) / length_scale**2
    term = xp.ones_like(dot)
    total = term
    for i in range(1, order + 1):
        term = term * dot / i
        total = total + term
    norm = lambda A: xp.exp(-0.5 / length_scale**2 * row_squared_norms(A))
    return norm(X)[:, None] * total * norm(Z)[None, :]

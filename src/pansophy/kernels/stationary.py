"""Stationary kernels (functions of x - z): the Gaussian kernel.

    RBF    k(x, z) = exp(-sum_j (x_j - z_j)^2 / (2 l_j^2))                      (1)

Three conventions for one width: the length scale l of Gaussian processes (as in
scikit-learn's `gaussian_process.kernels.RBF`), gamma = 1 / (2 l^2) of support vector
machines (`SVC(gamma=)`), and the bandwidth h of exp(-|x - z|^2 / h^2), h = l sqrt(2).

Refs      [Rasmussen2006] 4.2
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import asarray, is_foreign, namespace
from ..distances.pairwise_metrics import as_float_rows, squared_block
from .base import AbstractKernel, check_positive_parameter


@dataclass(frozen=True, init=False)
class RBF(AbstractKernel):
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

    def __init__(self, length_scale=None, *, gamma=None, width=None):
        given = [v is not None for v in (length_scale, gamma, width)]
        if sum(given) > 1:
            raise ValueError("RBF takes one of length_scale, gamma and width.")
        for name, value in (("gamma", gamma), ("width", width)):
            if value is not None and not value > 0:
                raise ValueError(f"{name} of RBF must be above 0, got {value}.")
        if gamma is not None:
            length_scale = float((2 * gamma) ** -0.5)
        elif width is not None:
            length_scale = float(width / np.sqrt(2))
        scale = np.asarray(1.0 if length_scale is None else length_scale, dtype=float)
        scale = float(scale) if scale.ndim == 0 else tuple(scale.tolist())
        object.__setattr__(self, "length_scale", scale)
        check_positive_parameter(self, "length_scale")

    @property
    def gamma(self):
        """1 / (2 l^2)."""
        return 0.5 / np.square(self.length_scale)

    def _rate(self, X) -> Any:
        """1 / (sqrt(2) l), so that k = exp(-squared distance of scaled rows)."""
        if not isinstance(self.length_scale, tuple):
            return float(np.sqrt(self.gamma))
        if len(self.length_scale) != X.shape[1]:
            raise ValueError(
                f"RBF has {len(self.length_scale)} length scales for {X.shape[1]} "
                "columns."
            )
        return asarray(np.sqrt(self.gamma), like=X)

    def block(self, X, Z):
        D = squared_block(X, Z, self._rate(X))
        if is_foreign(D):
            return namespace(D).exp(-D)
        np.negative(D, out=D)
        return np.exp(D, out=D)

    def diag(self, X):
        X, _ = as_float_rows(X)
        return namespace(X).ones_like(X[:, 0])

    @property
    def theta(self):
        return np.log(np.atleast_1d(self.length_scale))

    def with_theta(self, theta):
        scale = np.exp(theta)
        return RBF(scale if isinstance(self.length_scale, tuple) else scale[0])

    def gradient_block(self, X, Z):
        """dk / d log l_j = 2 k (x_j - z_j)^2 / (2 l_j^2)."""
        K = self.block(X, Z)
        rate = self._rate(X)
        if not isinstance(self.length_scale, tuple):
            return [2 * K * squared_block(X, Z, rate)]
        gap = lambda j: (rate[j] * (X[:, j][:, None] - Z[:, j][None, :])) ** 2
        return [2 * K * gap(j) for j in range(X.shape[1])]

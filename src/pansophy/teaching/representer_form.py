"""The representer form f(x) = sum_i a_i k(x, x_i) and its norm.

The optimum of any sum of losses of f(x_i) plus a growing function of |f| is such a sum
over the training rows. With an explicit feature map it has the weights
w = sum_i a_i phi(x_i), and in any case

    <f, k(x, .)> = f(x),     |f|^2 = a^T K a,     |f(x)| <= |f| sqrt(k(x, x))      (1)

Refs      [ScholkopfSmola2002] 4.2
"""

from typing import Any, NamedTuple

from ..core.arrays.arrays import namespace
from ..kernels.lookup import kernel_for_rows


class KernelExpansion(NamedTuple):
    """f(x) = sum_i a_i k(x, x_i) + b, a function of rows."""

    kernel: Any
    X: Any  # (n, d)
    coef: Any  # a, (n,) or (n, t)
    intercept: Any = 0.0  # b

    def __call__(self, X):
        """f of the rows of X, by tiles."""
        return self.kernel.matmul(X, self.X, self.coef) + self.intercept

    @property
    def norm(self):
        """|f| of eq. (1), without the intercept."""
        return rkhs_norm(self.kernel, self.X, self.coef)


def representer(kernel, X, coef, *, intercept=0.0) -> KernelExpansion:
    """The function sum_i a_i k(x, x_i) + b.

    Parameters
    ----------
    kernel : kernel, name or function
    X : array of shape (n, d)
    coef : array of shape (n,) or (n, t)
        a.
    intercept : float
        b.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.teaching import representer
    >>> X = np.array([[1.0, 0.0], [1.0, 2.0]])
    >>> f = representer("linear", X, np.array([3.0, -1.0]))
    >>> f([[1.0, 1.0]]), round(float(f.norm) ** 2, 6)  # w = X^T a = (2, -2)
    (array([0.]), 8.0)
    """
    return KernelExpansion(kernel_for_rows(kernel, X), X, coef, intercept)


def rkhs_norm(kernel, X, coef):
    """sqrt(a^T K a), the norm of sum_i a_i k(., x_i), eq. (1), by tiles.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.teaching import rkhs_norm
    >>> rkhs_norm("rbf", [[0.0], [0.0]], np.array([1.0, 1.0])).round(6)
    np.float64(2.0)
    """
    KA = kernel_for_rows(kernel, X).matmul(X, None, coef)
    xp = namespace(KA)
    squared = xp.sum(xp.asarray(coef) * KA, axis=0)
    return xp.sqrt(xp.where(squared > 0, squared, xp.zeros_like(squared)))

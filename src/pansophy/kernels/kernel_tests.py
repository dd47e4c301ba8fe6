"""Tests of equal distribution and of independence by kernels: MMD and HSIC.

    MMD^2 = | mean of phi(x) - mean of phi(z) |^2 = a^T K a                        (1)
            with a_i = 1/n on the rows of X and -1/m on those of Z, or
            w_i / sum w and -v_i / sum v for rows with weights
    HSIC  = tr(K J L J) / n^2,   J = I - 1 1^T / n                                 (2)

for kernels k on X and l on Y. (1) is 0 exactly if the two distributions are equal, and
(2) if X and Y are independent, for kernels such as the Gaussian. p is the share of
permutations (of the labels of the rows; of the rows of Y) with a value at least as
large, the observed one counted: a valid level whatever n. The width of a Gaussian
kernel is the median distance unless a kernel is given.

Cost      n^2 and n^2 a permutation; memory n^2
Refs      [Gretton2012] (1); [Gretton2007] (2)
"""

from typing import NamedTuple

import numpy as np

from ..core.arrays.unreadable import array_of_numbers
from ..core.arrays.weighted import check_sample_weight, weighted_median
from ..core.loops.threads import single_blas
from ..core.random import make_rng
from ..distances.pairwise_metrics import euclidean
from ..kernels import RBF, AbstractKernel, center
from ..kernels.base import takes_objects
from ..kernels.lookup import kernel_for_rows
from ..params import Positive, check_argument

FEW = 500  # rows of which the median distance is taken
ROUNDING = 1e-12  # a squared discrepancy below it is 0


class KernelTestResult(NamedTuple):
    """A statistic and its permutation p value."""

    statistic: float
    pvalue: float
    kernels: tuple

    def __str__(self):
        return f"{self.statistic:.4g} (p = {self.pvalue:.3g})"


class Discrepancy(NamedTuple):
    """MMD^2 of two sets of rows, and its permutation p value."""

    value: float
    p: float
    length_scale: float

    def __str__(self):
        return f"MMD^2 {self.value:.4g} (p = {self.p:.3g})"


def median_distance(X, rng=None, sample_weight=None) -> float:
    """The median of the positive distances between (at most 500) rows; 1 if none.

    A row of weight k counts as k equal rows.

    Examples
    --------
    >>> from pansophy.kernel_model import median_distance
    >>> median_distance([[0.0], [1.0], [5.0]])
    4.0
    """
    X = np.asarray(X, dtype=float)
    w = check_sample_weight(sample_weight, len(X))
    if len(X) > FEW:
        drawn = make_rng(rng).permutation(len(X))[:FEW]
        X, w = X[drawn], None if w is None else w[drawn]
    pairs = np.triu_indices(len(X), 1)
    far = euclidean(X)[pairs]
    apart = far > 0
    if w is not None:
        shares = (w[pairs[0]] * w[pairs[1]])[apart]
        result = float(weighted_median(far[apart], shares)) if shares.any() else 1.0
        return result
    return float(np.median(far[apart])) if apart.any() else 1.0


def _chosen_kernel(kernel, X, rng) -> AbstractKernel:
    if kernel is None:
        return RBF(median_distance(X, rng))
    return kernel_for_rows(kernel, X)


def _permutation_pvalue(observed, values) -> float:
    """Share of values at least as large as the observed one, itself counted."""
    slack = 1e-12 * max(1.0, abs(observed))
    return float((1 + np.sum(values >= observed - slack)) / (len(values) + 1))


def _like_rows(X, Z):
    """Two samples of rows, or of images as rows; they must have the same columns."""
    if min(X.ndim, Z.ndim) < 2 or X.shape[1:] != Z.shape[1:]:
        raise ValueError(
            f"X and Z must have like columns, got {X.shape} and {Z.shape}."
        )
    if not (len(X) and len(Z)):
        raise ValueError("X and Z must both have rows.")
    return X.reshape(len(X), -1), Z.reshape(len(Z), -1)


def mmd(
    X, Z, *, length_scale=None, weight_x=None, weight_z=None, permutations=200,
    rows=500, random_state=0,
) -> Discrepancy:  # fmt: skip
    """Maximum mean discrepancy of two sets of rows, eq. (1), with a permutation test.

    Parameters
    ----------
    X, Z : arrays of shape (n, d), (m, d), or images of one shape
    length_scale : float, optional
        Of the Gaussian kernel; the median distance by default.
    weight_x, weight_z : arrays of shape (n,) and (m,), optional
        The value is that of repeated rows; the test relabels each row as one.
    permutations : int
        0: no test, p is NaN.
    rows : int or None
        Rows drawn from each set at most.
    random_state : seed

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.kernel_model import mmd
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> mmd(X, X).value, mmd(X, X + 1).p
    (0.0, 0.004...)
    """
    X, Z = (array_of_numbers(A, n, allow_empty=True) for n, A in (("X", X), ("Z", Z)))
    X, Z = _like_rows(X, Z)
    for name, rows_of_set in (("X", X), ("Z", Z)):
        if not np.isfinite(rows_of_set).all():
            raise ValueError(f"{name} holds infinite values.")
    if length_scale is not None:
        check_argument("length_scale", length_scale, Positive)
    rng = make_rng(random_state)
    X, w = drawn_rows(X, check_sample_weight(weight_x, len(X), "weight_x"), rows, rng)
    Z, v = drawn_rows(Z, check_sample_weight(weight_z, len(Z), "weight_z"), rows, rng)
    pooled = np.vstack([X, Z])
    weights = None
    if w is not None or v is not None:
        w = np.ones(len(X)) if w is None else w
        v = np.ones(len(Z)) if v is None else v
        weights = np.r_[w, v]
    with single_blas():
        if length_scale is None:
            length_scale = median_distance(pooled, rng, weights)
        K = RBF(length_scale)(pooled)
        values = _permuted_mmd(K, len(X), len(Z), permutations, rng, weights)
    value = float(values[0]) if values[0] > ROUNDING else 0.0
    p = _permutation_pvalue(value, values[1:]) if permutations else np.nan
    return Discrepancy(value, p, length_scale)


def drawn_rows(X, w, rows, rng):
    """At most so many rows with their weights, drawn without replacement, in order."""
    if rows is None or len(X) <= rows:
        return X, w
    chosen = np.sort(rng.choice(len(X), rows, replace=False))
    return X[chosen], None if w is None else w[chosen]


def mmd_test(
    X, Z, *, kernel=None, permutations=200, random_state=0
) -> KernelTestResult:
    """Whether two samples come from one distribution, eq. (1).

    Parameters
    ----------
    X, Z : rows of the same kind
    kernel : kernel, name or function, optional
        Gaussian with the median distance by default. A kernel of strings tests texts.
    permutations : int
    random_state : seed

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.kernel_model import mmd_test
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 1
    >>> mmd_test(X, Z).pvalue < 0.01, mmd_test(X[:30], X[30:]).pvalue > 0.05
    (True, True)
    """
    rng = make_rng(random_state)
    n, m = len(X), len(Z)
    if min(n, m) == 0:
        raise ValueError("mmd_test needs rows in both samples.")
    objects = takes_objects(kernel)
    pooled = (
        [*X, *Z] if objects else np.vstack(_like_rows(np.asarray(X), np.asarray(Z)))
    )
    k = _chosen_kernel(kernel, pooled, rng)
    values = _permuted_mmd(k(pooled), n, m, permutations, rng)
    observed = max(float(values[0]), 0.0)
    return KernelTestResult(observed, _permutation_pvalue(observed, values[1:]), (k,))


def _permuted_mmd(K, n, m, permutations, rng, weights=None):
    """a^T K a of eq. (1), first as observed, then for random labels of the rows."""
    A = np.empty((n + m, permutations + 1))
    if weights is None:
        A[:, 0] = np.r_[np.full(n, 1 / n), np.full(m, -1 / m)]
    else:
        w, v = np.split(weights, [n])
        A[:, 0] = np.r_[w / w.sum(), -v / v.sum()]
    for b in range(1, permutations + 1):
        A[:, b] = rng.permutation(A[:, 0])
    return np.einsum("ib,ib->b", A, K @ A)


def hsic_test(
    X, Y, *, kernel=None, kernel_y=None, permutations=200, random_state=0
) -> KernelTestResult:
    """Whether the rows of X and Y, in pairs, are independent, eq. (2).

    Parameters
    ----------
    X, Y : rows, (n, d) and (n, e) or (n,)
    kernel, kernel_y : kernel, name or function, optional
        On X and on Y; Gaussian with the median distance by default.
    permutations : int
    random_state : seed

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.kernel_model import hsic_test
    >>> x = np.random.default_rng(0).normal(size=80)
    >>> y = np.random.default_rng(1).normal(size=80)
    >>> hsic_test(x, x**2).pvalue < 0.01, hsic_test(x, y).pvalue > 0.05
    (True, True)
    """
    if len(X) != len(Y) or len(X) < 2:
        raise ValueError(
            f"hsic_test needs pairs of rows, at least 2; X has {len(X)} and Y {len(Y)}."
        )
    rng = make_rng(random_state)
    matrices, used = [], []
    for rows, choice in ((X, kernel), (Y, kernel_y)):
        if not takes_objects(choice):
            rows = np.asarray(rows, dtype=float)
            rows = rows[:, None] if rows.ndim == 1 else rows
        k = _chosen_kernel(choice, rows, rng)
        used.append(k)
        matrices.append(k(rows))
    K = center(matrices[0])
    L = matrices[1]
    n = len(K)
    observed = float(np.sum(K * L)) / n**2
    values = np.empty(permutations)
    for b in range(permutations):
        order = rng.permutation(n)
        values[b] = np.sum(K * L[np.ix_(order, order)]) / n**2
    return KernelTestResult(
        observed, _permutation_pvalue(observed, values), tuple(used)
    )

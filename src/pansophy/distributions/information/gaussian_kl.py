"""Kullback-Leibler divergence between Normals, in closed form.

    KL = (log det S2 - log det S1 - d + tr(S2^-1 S1) + u' S2^-1 u) / 2,  u = m2 - m1 (1)
    to N(0, I), diagonal:   sum_j (s_j + m_j^2 - 1 - log s_j) / 2                (2)

With r_j the eigenvalues of S2^-1 S1, found from the Cholesky factor of S2, eq. (1) is
sum_j (r_j - 1 - log r_j) / 2 + |L2^-1 u|^2 / 2: terms that are at least 0, so that the
divergence of two nearby Normals is no difference of large numbers. inf if S1 is
singular.

Shapes    mean (..., d)   cov (..., d, d), or (..., d) for a diagonal, or a number
Refs      [CoverThomas2006] ch. 8
"""

from ...core.arrays import arrays
from ...core.numerics import safe_log
from ..base import float_parameter, require_all
from ..gaussian.normal import Normal
from .information import unwrap_scalar


def kl_gaussian(mean, cov, other_mean=0.0, other_cov=1.0):
    """KL(N(mean, cov) || N(other_mean, other_cov)), eq. (1); by default to N(0, I).

    Parameters
    ----------
    mean, other_mean : arrays of shape (..., d)
        Means; a number counts for every coordinate. Two `Normal` may be given in place
        of all four: `kl_gaussian(p, q)`.
    cov, other_cov : arrays
        Covariances (..., d, d), or variances: (..., d) for a diagonal, or a number
        for all coordinates.

    Returns
    -------
    divergence : array of shape (...)

    Examples
    --------
    >>> from pansophy.distributions import kl_gaussian
    >>> round(float(kl_gaussian(0.0, 1.0, 1.0, 4.0)), 6)
    0.443147
    >>> round(float(kl_gaussian([1.0, 2.0], [[2.0, 0.6], [0.6, 1.0]])), 6)
    2.752652
    >>> from pansophy.distributions import Normal
    >>> round(float(kl_gaussian(Normal(0.0, 1.0), Normal(1.0, 4.0))), 6)
    0.443147
    """
    if hasattr(mean, "dense") and hasattr(cov, "dense"):
        p, q = mean, cov
        return kl_gaussian(p.mean, p.dense, q.mean, q.dense)
    m1 = float_parameter(mean)
    xp = arrays.namespace(m1)
    m2, S1, S2 = (arrays.asarray(v, like=m1) for v in (other_mean, cov, other_cov))
    diagonal = _is_diagonal(S1, m1), _is_diagonal(S2, m2)
    if not all(diagonal):
        d = S1.shape[-1] if not diagonal[0] else S2.shape[-1]
        m1 = m1 + xp.zeros((d,), dtype=m1.dtype, device=arrays.device(m1))
    m1 = m1[None] if m1.ndim == 0 and m2.ndim == 0 else m1 + 0 * m2
    m2 = m2 + 0 * m1
    if all(diagonal):
        return unwrap_scalar(_kl_diagonal(m1, S1 + 0 * m1, m2, S2 + 0 * m1))
    S1, S2 = (
        _covariance_matrix(S, m1) if diag else S for S, diag in zip((S1, S2), diagonal)
    )
    L2 = _cholesky_factor(S2, "other_cov")
    spread = xp.linalg.solve(L2, S1)  # L2^-1 S1
    B = xp.linalg.solve(L2, xp.matrix_transpose(spread))  # L2^-1 S1 L2^-T
    values = xp.linalg.eigvalsh((B + xp.matrix_transpose(B)) / 2)
    require_all(
        values > -1e-8, "cov is not a covariance: it has a negative eigenvalue."
    )
    # eigenvalues of S2^-1 S1; each term is at least 0 and 0 for equal covariances
    tiny = _d_eps(values)
    values = xp.where(values < tiny, xp.zeros_like(values), values)
    u = xp.linalg.solve(L2, (m2 - m1)[..., None])[..., 0]
    return unwrap_scalar(xp.sum(_log_ratio_excess(values) + u * u, axis=-1) / 2)


def _d_eps(values):
    """Eigenvalues below this are rounding of 0."""
    xp = arrays.namespace(values)
    top = xp.max(xp.abs(values), axis=-1, keepdims=True)
    return values.shape[-1] * xp.finfo(values.dtype).eps * top


def _is_diagonal(S, mean) -> bool:
    """Whether S holds variances: it has no more axes than its mean."""
    if S.ndim <= max(mean.ndim, 1):
        return True
    if S.ndim == max(mean.ndim, 1) + 1 and S.shape[-1] == S.shape[-2]:
        return False
    raise ValueError(
        f"a mean of shape {tuple(mean.shape)} has a covariance with one more axis, "
        f"square in the last two, or variances; got shape {tuple(S.shape)}."
    )


def _covariance_matrix(v, mean):
    """Variances as diagonal matrices."""
    xp = arrays.namespace(mean)
    eye = xp.eye(mean.shape[-1], dtype=mean.dtype, device=arrays.device(mean))
    return (v + 0 * mean)[..., None] * eye


def _cholesky_factor(S, what):
    """The Cholesky factor of S; an error if S is not positive definite."""
    xp = arrays.namespace(S)
    try:
        L = xp.linalg.cholesky(S)
    except Exception as error:  # each library has its own
        raise ValueError(f"{what} must be positive definite.") from error
    if not arrays.all_finite(L):
        raise ValueError(f"{what} must be positive definite.")
    return L


def _log_ratio_excess(r):
    """r - 1 - log r, at least 0; the digits near r = 1 are kept."""
    xp = arrays.namespace(r)
    gap = r - 1
    near = xp.abs(gap) < 0.5
    small = gap - xp.log1p(xp.where(near, gap, xp.zeros_like(gap)))
    return xp.where(near, small, gap - safe_log(xp.where(near, 1 + 0 * r, r)))


def _kl_diagonal(m1, v1, m2, v2):
    """Eq. (1) for variances: (...)."""
    require_all(v1 >= 0, "cov holds a negative variance.")
    require_all(v2 > 0, "other_cov must hold positive variances.")
    gap = m2 - m1
    return (
        arrays.namespace(m1).sum(_log_ratio_excess(v1 / v2) + gap * gap / v2, axis=-1)
        / 2
    )


def kl_normals(p: Normal, q: Normal):
    """Eq. (1) of two `Normal`: (), or (k,) where one is a batch."""
    if p.d != q.d:
        raise ValueError(f"p has {p.d} coordinates and q {q.d}.")
    if p.shape == q.shape == "diag":
        return kl_gaussian(p.mean, p.cov, q.mean, q.cov)
    return kl_gaussian(p.mean, p.dense, q.mean, q.dense)

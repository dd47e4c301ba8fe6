"""Inverse transform sampling: quantiles of uniform random numbers.

With F the cumulative distribution and U uniform on (0, 1),

    x = F^-1(U) = inf {x : F(x) >= U}      has P(x <= t) = P(U <= F(t)) = F(t)    (1)

F^-1 is given, or found from F: brackets around every root of F(x) = U are doubled until
they contain it, then shrunk by Chandrupatla's method (inverse quadratic interpolation
with bisection), all draws at once. From a table (x_j, F_j) it is the straight line
between neighbours; from probabilities p_j of values v_j it is v_j for the first j with
p_1 + ... + p_j >= U. The draw is monotone in U, so quasi-random or antithetic U may be
passed in.

Cost      O(n) calls of F^-1, or some 20 to 60 calls of F on arrays of n
Refs      [Devroye1986] ch. 2; [Chandrupatla1997]
"""

from typing import Any

import numpy as np

from ...core.random import make_rng

MAX_DOUBLINGS = 200
CDF_TOL = 1e-9  # tolerance of the limits and monotonicity of a CDF


def inverse_transform(
    size,
    *,
    quantile: Any = None,
    cdf: Any = None,
    table: Any = None,
    pmf: Any = None,
    support=(-np.inf, np.inf),
    u=None,
    random_state=None,
):
    """Draws of one variable from its quantile function, its CDF or a table.

    Parameters
    ----------
    size : int or tuple of int
        Number of draws, or shape of the array of draws.
    quantile : function or None
        F^-1 of an array of probabilities.
    cdf : function or None
        F of an array, inverted numerically within `support`.
    table : (x, F) or None
        Grid and F on it, both rising, F from 0 to 1.
    pmf : (values, p) or None
        Values and their probabilities, which sum to one.
    support : (low, high)
        Where F goes from 0 to 1; used with `cdf`.
    u : array of shape `size` or None
        Numbers between 0 and 1 to use; None draws them.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    ndarray of shape `size`

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.sampling import inverse_transform
    >>> F = lambda x: 1 - np.exp(-2 * x)
    >>> inverse_transform(3, cdf=F, support=(0, np.inf), u=[0.1, 0.5, 0.9]).round(4)
    array([0.0527, 0.3466, 1.1513])
    >>> inverse_transform(4, pmf=(["a", "b"], [0.3, 0.7]), u=[0, 0.3, 0.31, 1])
    array(['a', 'a', 'b', 'b'], dtype='<U1')
    """
    sources = [k for k in (quantile, cdf, table, pmf) if k is not None]
    if len(sources) != 1:
        raise ValueError("give exactly one of quantile, cdf, table and pmf.")
    U = make_rng(random_state).random(size) if u is None else np.asarray(u, dtype=float)
    if u is not None:
        U = U.reshape(size)
        if not ((U >= 0) & (U <= 1)).all():
            raise ValueError("u must hold numbers between 0 and 1.")
    if quantile is not None:
        return np.asarray(quantile(U)).reshape(U.shape)
    if cdf is not None:
        return _invert_cdf(cdf, U.ravel(), support).reshape(U.shape)
    if table is not None:
        x, F = table
        return _invert_table(x, F, U)
    values, p = pmf
    return _invert_pmf(values, p, U)


def _invert_table(x, F, U):
    """Quantiles of a tabulated CDF by linear interpolation."""
    x, F = np.asarray(x, dtype=float), np.asarray(F, dtype=float)
    if x.ndim != 1 or x.shape != F.shape or len(x) < 2:
        raise ValueError("table must be two rows (x, F) of the same length.")
    if (np.diff(x) <= 0).any() or (np.diff(F) < 0).any():
        raise ValueError("x must rise and F must not fall along the table.")
    if abs(F[0]) > CDF_TOL or abs(F[-1] - 1) > CDF_TOL:
        raise ValueError(f"F must go from 0 to 1, got {F[0]} to {F[-1]}.")
    j = np.clip(np.searchsorted(F, U, side="left"), 1, len(F) - 1)  # F_j-1 < U <= F_j
    a = j - 1
    b = j
    rise = F[b] - F[a]
    share = np.divide(U - F[a], rise, out=np.zeros_like(U), where=rise > 0)
    return x[a] + np.clip(share, 0, 1) * (x[b] - x[a])


def _invert_pmf(values, p, U):
    """The first value whose cumulative probability reaches U."""
    values, p = np.asarray(values), np.asarray(p, dtype=float)
    if p.ndim != 1 or len(values) != len(p) or not (p >= 0).all():
        raise ValueError("pmf must be values and as many probabilities, none negative.")
    if abs(p.sum() - 1) > 1e-8:
        raise ValueError(f"probabilities must sum to 1, got {p.sum():.6g}.")
    used = np.flatnonzero(p)
    C = np.cumsum(p[used])
    C[-1] = np.inf
    return values[used[np.searchsorted(C, U, side="left")]]


def _invert_cdf(cdf, U, support=(-np.inf, np.inf)):
    """F^-1(U) for U (n,), eq. (1): F is called on arrays of n."""
    from scipy.optimize.elementwise import find_root

    low, high = (float(side) for side in support)
    if not low < high:
        raise ValueError(f"support must be (low, high), got {support}.")
    F = lambda x: np.asarray(cdf(x), dtype=float)
    out = np.empty_like(U)
    out[U <= 0], out[U >= 1] = low, high
    inner = (U > 0) & (U < 1)
    if not inner.any():
        return out
    v = U[inner]
    a, b = _bracket_quantiles(F, v, low, high)
    result = find_root(lambda x, v: F(x) - v, (a, b), args=(v,), maxiter=200)
    # at a jump over v the bracket remains around it: its upper end is the quantile
    failed = ~result.success & (
        np.diff(result.bracket, axis=0)[0] > CDF_TOL * (1 + abs(b))
    )
    if failed.any() or np.isnan(result.x).any():
        raise ValueError(f"cdf could not be inverted at {v[np.argmax(failed)]:.6g}.")
    out[inner] = result.x
    return out


def _bracket_quantiles(F, v, low, high):
    """Points (a, b) with F(a) <= v <= F(b), by doubling on unbounded sides."""
    if np.isfinite(low) and np.isfinite(high):
        a, b = np.full_like(v, low), np.full_like(v, high)
    else:
        start = low if np.isfinite(low) else high if np.isfinite(high) else 0.0
        a, b = (np.full_like(v, start) for _ in range(2))
        for side, sign, end in ((a, -1.0, low), (b, 1.0, high)):
            if np.isfinite(end):
                side[:] = end
                continue
            step = 1.0
            is_unbracketed = np.ones(len(v), dtype=bool)
            for _ in range(MAX_DOUBLINGS):
                side[is_unbracketed] = start + sign * step
                f = F(side)
                is_unbracketed = (f > v) if sign < 0 else (f < v)
                if not is_unbracketed.any():
                    break
                step *= 2.0
    fa, fb = F(a), F(b)
    if ((fa > v) | (fb < v) | np.isnan(fa + fb)).any():
        i = int(np.argmax((fa > v) | (fb < v) | np.isnan(fa + fb)))
        raise ValueError(
            f"cdf must rise from 0 to 1 within support ({low:g}, {high:g}): it does "
            f"not cross {v[i]:.6g} (found {fa[i]:.6g} and {fb[i]:.6g} at the ends)."
        )
    return a, b

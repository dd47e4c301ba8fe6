"""The member of a family nearest to a distribution, in either direction of divergence.

    forward   argmin_q KL(p || q) = argmax E_p log q(X)        needs samples of p (1)
    reverse   argmin_q KL(q || p) = argmax E_q log p(X) + H(q)   needs log p + const (2)

(1) is maximum likelihood: for an exponential family it matches moments, so a Normal
takes the mean and covariance of p and covers all of its modes. (2) pays for mass
where p has none, so q sits on one mode; -(2) is the log normaliser of p at most. It is
maximised over X = m + L e with fixed nodes e (Gauss-Hermite in one or two dimensions,
else antithetic low-discrepancy points), which makes it a smooth function of m and the
triangular L, by L-BFGS from several starts; the best end is kept.

Other families of one coordinate use X = F^-1(u; t) with fixed nodes u in (0, 1), F the
distribution function at parameters t, and the exact entropy (3); sums over the counts
of a Poisson take the place of nodes. Gamma and Beta are for p on (0, inf) and (0, 1).

Shapes    samples (n, d)   m (d,)   L (d, d)   e (s, d)
Refs      [Bishop2006] section 10.1; [Kingma2014] the form m + L e
"""

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import arrays
from ...core.quadrature import gauss_legendre
from ..base import float_parameter
from ..counts import Poisson
from ..densities import fit
from ..mle import AWAY, difference_gradient
from ..priors import Beta, Gamma
from .normal import Normal


class Projection(NamedTuple):
    """The nearest member of a family."""

    distribution: Any
    objective: float  # E_p[-log q], or KL(q || p) less the log normaliser of p
    converged: bool = True


def fit_forward_kl(samples, family="normal", weights=None, **options) -> Projection:
    """The member of a family nearest to p in KL(p || q), eq. (1): it covers p.

    Parameters
    ----------
    samples : array of shape (n, d) or (n,)
        Rows drawn from p.
    family : str, default="normal"
        A family of `fit`.
    weights : array of shape (n,), optional
        Importance weights of the rows.
    **options
        Of the family.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.distributions import fit_forward_kl
    >>> q = fit_forward_kl(np.array([-3.0, -1.0, 1.0, 3.0])).distribution
    >>> q.mean, q.cov
    (array([0.]), array([[5.]]))
    """
    q = fit(samples, family, weights, **options)
    L = q.log_prob(float_parameter(samples))
    xp = arrays.namespace(L)
    if weights is None:
        return Projection(q, -float(xp.mean(L)))
    w = arrays.asarray(weights, like=L)
    return Projection(q, -float(xp.sum(w * L) / xp.sum(w)))


def _normal_quadrature(d: int, n: int):
    """Points (s, d) and weights (s,) that stand for a standard Normal."""
    if d <= 2:
        t, w = np.polynomial.hermite_e.hermegauss(40 if d == 1 else 20)
        w = w / w.sum()
        if d == 1:
            return t[:, None], w
        grid = np.stack(np.meshgrid(t, t), axis=-1).reshape(-1, 2)
        return grid, np.outer(w, w).ravel()
    from scipy.stats import norm, qmc

    half = norm.ppf(qmc.Sobol(d, seed=0).random_base2(int(np.ceil(np.log2(n / 2)))))
    e = np.concatenate([half, -half])
    e = np.linalg.solve(np.linalg.cholesky(e.T @ e / len(e)), e.T).T  # covariance I
    return e, np.full(len(e), 1 / len(e))


def _unpack_normal(t, d, diag):
    """Mean, triangular factor and the logarithms of its diagonal."""
    m, log_s = t[:d], t[d : 2 * d]
    L = np.diag(np.exp(log_s))
    if not diag:
        L[np.tril_indices(d, -1)] = t[2 * d :]
    return m, L, log_s


def _reverse_objective(log_p, gradient, d, diag, e, w) -> Callable:
    """-(2) and its gradient in (m, log diag L, rest of L)."""
    lower = np.tril_indices(d, -1)

    def value(t):
        m, L, log_s = _unpack_normal(t, d, diag)
        with np.errstate(all="ignore"):
            logs = np.asarray(log_p(m + e @ L.T), dtype=float).reshape(-1)
        objective = -(w @ logs) - log_s.sum()
        return objective if np.isfinite(objective) else AWAY

    def both(t):
        m, L, _ = _unpack_normal(t, d, diag)
        G = w[:, None] * np.asarray(gradient(m + e @ L.T), dtype=float).reshape(-1, d)
        dL = G.T @ e
        parts = [-G.sum(axis=0), -np.diag(dL) * np.diag(L) - 1]
        parts += [] if diag else [-dL[lower]]
        return value(t), np.concatenate(parts)

    return (
        both
        if gradient is not None
        else lambda t: (value(t), difference_gradient(value, t))
    )


def fit_reverse_kl(
    log_p: Callable,
    start,
    *,
    family: str = "normal",
    scale: float = 1.0,
    gradient: Callable | None = None,
    shape: str = "full",
    n: int = 512,
    max_iter: int = 500,
) -> Projection:
    """The member of a family nearest to p in KL(q || p), eq. (2): it sits on one mode.

    Parameters
    ----------
    log_p : function
        log p of rows (s, d), up to a constant: (s,).
    start : array of shape (d,) or (starts, d)
        Means to begin from; the best end is kept.
    family : {"normal", "gamma", "beta", "poisson"}, default="normal"
        Of q. All but the Normal have one coordinate: `start` is then a mean or
        several, and `gradient`, `shape` and `n` do not apply.
    scale : float, default=1.0
        Standard deviation to begin with; a quarter of it is tried too.
    gradient : function, optional
        Gradient of log_p for rows (s, d): (s, d); else by differences.
    shape : {"full", "diag"}
        Covariance of the Normal.
    n : int, default=512
        Nodes for more than two dimensions.
    max_iter : int, default=500
        Most steps from each start.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.distributions import fit_reverse_kl
    >>> log_p = lambda x: np.logaddexp(-(x[:, 0] - 4) ** 2 / 2, -(x[:, 0] + 4) ** 2 / 2)
    >>> q = fit_reverse_kl(log_p, [1.0]).distribution
    >>> q.mean.round(2), q.cov.round(1)
    (array([4.]), array([[1.]]))
    """
    from scipy import optimize

    if family != "normal":
        if gradient is not None or shape != "full" or n != 512:
            raise ValueError("gradient, shape and n are options of family='normal'.")
        return _fit_reverse_scalar(log_p, start, family, scale, max_iter)
    if shape not in ("full", "diag"):
        raise ValueError(f"shape must be 'full' or 'diag', got {shape!r}.")
    starts = np.asarray(arrays.to_numpy(start), dtype=float)
    starts = np.atleast_2d(starts)
    d = starts.shape[1]
    diag = shape == "diag"
    e, w = _normal_quadrature(d, n)
    J = _reverse_objective(log_p, gradient, d, diag, e, w)
    rest = [] if diag else np.zeros(d * (d - 1) // 2)
    best: Any = None
    for m, s in product(starts, (scale, scale / 4)):
        t = np.concatenate([m, np.full(d, np.log(s)), rest])
        if J(t)[0] >= AWAY:
            raise ValueError("log_p is not finite around the start.")
        options = {"maxiter": max_iter, "ftol": 1e-14, "gtol": 1e-8}
        result = optimize.minimize(J, t, jac=True, method="L-BFGS-B", options=options)
        best = result if best is None or result.fun < best.fun else best
    m, L, _ = _unpack_normal(best.x, d, diag)
    cov = np.diag(L) ** 2 if diag else L @ L.T
    constant = 0.5 * d * (1 + np.log(2 * np.pi))  # of the entropy of q
    return Projection(
        Normal(m, cov, shape), float(best.fun - constant), best.status == 0
    )


NODES = 400  # of the unit interval, for families other than the Normal


def _gamma_from_moments(mean, sd):
    """Logarithms of shape and rate of the Gamma of this mean and deviation."""
    return np.log([mean**2 / sd**2, mean / sd**2])


def _beta_from_moments(mean, sd):
    """Logarithms of a and b of the Beta of this mean and deviation."""
    max_sd = 0.5 * np.sqrt(mean * (1 - mean))  # of a Beta without poles at its ends
    total = mean * (1 - mean) / min(sd, max_sd) ** 2 - 1
    return np.log([mean * total, (1 - mean) * total])


def _quantile_expectation(ppf, log_p):
    """t -> E_q log p by nodes u: X = F^-1(u; t), eq. (3)."""
    u, w = gauss_legendre(NODES)
    u, w = (u + 1) / 2, w / 2

    def expectation(t):
        return w @ np.asarray(log_p(ppf(u, np.exp(t))[:, None]), float).reshape(-1)

    return expectation


def _poisson_expectation(log_p):
    """t -> E_q log p by the sum over counts that matter."""

    def expectation(t):
        rate = float(np.exp(t[0]))
        x = np.arange(int(rate + 12 * np.sqrt(rate) + 30))
        q = np.exp(Poisson(rate).log_prob(x))
        logs = np.asarray(log_p(x[:, None].astype(float)), float).reshape(-1)
        return q @ np.where(q > 0, logs, 0.0)

    return expectation


def _poisson_entropy(q) -> float:
    """Entropy of a Poisson by the sum over counts that matter."""
    rate = float(q.rate)
    log_q = q.log_prob(np.arange(int(rate + 12 * np.sqrt(rate) + 30)))
    return float(-(np.exp(log_q) * np.where(log_q > -700, log_q, 0)).sum())


def _fit_reverse_scalar(log_p, start, family, scale, max_iter) -> Projection:
    """Eq. (2) for a family of one coordinate, over the logarithms of parameters."""
    from scipy import optimize, special

    make: Callable[..., Any]
    if family == "gamma":
        make = lambda t: Gamma(*np.exp(t))
        begin = _gamma_from_moments
        ppf = lambda u, t: special.gammaincinv(t[0], u) / t[1]
        expectation = _quantile_expectation(ppf, log_p)
        domain = (0.0, np.inf)
    elif family == "beta":
        make = lambda t: Beta(*np.exp(t))
        begin = _beta_from_moments
        ppf = lambda u, t: special.betaincinv(t[0], t[1], u)
        expectation = _quantile_expectation(ppf, log_p)
        domain = (0.0, 1.0)
    elif family == "poisson":
        make = lambda t: Poisson(float(np.exp(t[0])))
        begin = lambda mean, sd: np.log([mean])
        expectation = _poisson_expectation(log_p)
        domain = (0.0, np.inf)
    else:
        raise ValueError(
            f"family must be 'normal', 'gamma', 'beta' or 'poisson', got {family!r}."
        )
    means = np.asarray(arrays.to_numpy(start), dtype=float).reshape(-1)
    if not ((means > domain[0]) & (means < domain[1])).all():
        raise ValueError(f"start must lie between {domain[0]:g} and {domain[1]:g}.")
    closed_form = lambda q: float(q.entropy)
    entropy: Callable = _poisson_entropy if family == "poisson" else closed_form

    def value(t):
        with np.errstate(all="ignore"):
            objective = -expectation(t) - entropy(make(t))
        return float(objective) if np.isfinite(objective) else AWAY

    best: Any = None
    for mean, sd in product(means, (scale, scale / 4)):
        t = begin(mean, sd)
        if value(t) >= AWAY:
            raise ValueError("log_p is not finite around the start.")
        options = {"maxiter": max_iter, "ftol": 1e-14, "gtol": 1e-8}
        bounds = [(-20.0, 20.0)] * len(t)
        slope = lambda t: difference_gradient(value, t)
        result = optimize.minimize(
            value, t, jac=slope, method="L-BFGS-B", bounds=bounds, options=options
        )
        best = result if best is None or result.fun < best.fun else best
    return Projection(make(best.x), float(best.fun), best.status == 0)

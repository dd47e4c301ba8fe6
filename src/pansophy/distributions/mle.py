"""Maximum likelihood for any log-density, with standard errors and simulation.

    J(t) = -(1/n) sum_i log p(x_i; t),      t^ = argmin J                        (1)
    cov(t^) ~ (n J''(t^))^-1                 the inverse observed information    (2)

The minimum is found by L-BFGS within bounds, with gradients by central differences or
by autograd when the start is a torch tensor, and then polished by Newton steps with
the Hessian that (2) needs anyway, as long as they lower |J'|. What theory promises
for n -> inf, `simulate_mle` shows: errors shrink as 1/sqrt(n), and standardised
estimates become Normal.

Shapes    t (k,)   data: arrays of n rows   log p (n,)
Refs      [Wilks1938]; [Byrd1995]
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import arrays
from ..core.random import make_rng, spawn_rngs

STEP = float(np.finfo(float).eps) ** (1 / 3)  # of central differences
CURVE = float(np.finfo(float).eps) ** (1 / 4)  # of second differences
AWAY = 1e100  # stands for an infinite J, which a line search cannot use


class MLE(NamedTuple):
    """Maximum-likelihood estimates with their information matrix."""

    theta: Any  # (k,)
    nll: float  # J at theta
    log_likelihood: float  # -n J
    covariance: Any  # (k, k), eq. (2); NaN for parameters on a bound
    n: float
    converged: bool

    @property
    def standard_errors(self):
        return np.sqrt(np.diagonal(self.covariance))


def negative_log_likelihood(log_density: Callable, theta, *data, weights=None):
    """J of eq. (1): the mean of -log p(x_i; theta).

    Parameters
    ----------
    log_density : function
        log_density(theta, *data) -> (n,).
    theta : array
        Parameters.
    *data : arrays of n rows
        For example X, or X and y for a conditional density.
    weights : array of shape (n,), optional
        Weight of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.distributions import negative_log_likelihood
    >>> coin = lambda p, x: np.log(np.where(x == 1, p, 1 - p))
    >>> round(float(negative_log_likelihood(coin, 0.5, np.array([1, 0]))), 6)
    0.693147
    """
    L = log_density(theta, *data)
    xp = arrays.namespace(L)
    if weights is None:
        return -xp.mean(L)
    w = arrays.asarray(weights, like=L)
    used = xp.where(w > 0, L, xp.zeros_like(L))  # weight 0 of an impossible row
    return -xp.sum(w * used) / xp.sum(w)


def _likelihood_objective(
    log_density, data, weights, start
) -> tuple[Callable, Callable]:
    """J and its gradient as functions of a float64 NumPy vector."""
    shape = tuple(start.shape)
    if arrays.is_torch(start):

        def both(t):
            theta = arrays.asarray(t.reshape(shape), like=start)
            theta.requires_grad_(True)
            value = negative_log_likelihood(log_density, theta, *data, weights=weights)
            value.backward()
            return _finite_or_large(float(value.detach())), arrays.to_numpy(
                theta.grad
            ).ravel()

        return (lambda t: both(t)[0]), (lambda t: both(t)[1].astype(float))

    def J(t):
        with np.errstate(all="ignore"):
            value = negative_log_likelihood(
                log_density, t.reshape(shape), *data, weights=weights
            )
        return _finite_or_large(float(value))

    return J, lambda t: difference_gradient(J, t)


def _finite_or_large(value: float) -> float:
    return value if math.isfinite(value) else AWAY


def difference_gradient(J, t, step=STEP):
    """Gradient by central differences; one-sided where the other side is infinite."""
    g = np.empty(len(t))
    J_here = None
    for j in range(len(t)):
        h = step * max(abs(t[j]), 1.0)
        t_up, t_down = t.copy(), t.copy()
        t_up[j] += h
        t_down[j] -= h
        a, b = J(t_up), J(t_down)
        if a < AWAY and b < AWAY:
            g[j] = (a - b) / (t_up[j] - t_down[j])
            continue
        J_here = J(t) if J_here is None else J_here
        g[j] = (
            (a - J_here) / (t_up[j] - t[j])
            if a < AWAY
            else (J_here - b) / (t[j] - t_down[j])
        )
    return g


def _difference_hessian(gradient, t, step=CURVE):
    """Second derivatives by central differences of the gradient."""
    k = len(t)
    H = np.empty((k, k))
    for j in range(k):
        h = step * max(abs(t[j]), 1.0)
        t_up, t_down = t.copy(), t.copy()
        t_up[j] += h
        t_down[j] -= h
        H[j] = (gradient(t_up) - gradient(t_down)) / (t_up[j] - t_down[j])
    return (H + H.T) / 2


def _newton_refinement(gradient, t, low, high, rounds=3):
    """Newton steps that lower |J'| and stay inside; the last Hessian."""
    g = gradient(t)
    H = _difference_hessian(gradient, t)
    for _ in range(rounds):
        try:
            new = t - np.linalg.solve(H, g)
        except np.linalg.LinAlgError:
            break
        if not (np.isfinite(new).all() and (new > low).all() and (new < high).all()):
            break
        ahead = gradient(new)
        if not np.linalg.norm(ahead) < np.linalg.norm(g):
            break
        t = new
        g = ahead
        H = _difference_hessian(gradient, new)
    return t, H


def fit_mle(
    log_density: Callable,
    start,
    *data,
    weights=None,
    bounds: Sequence | None = None,
    max_iter: int = 1000,
) -> MLE:
    """The parameters of highest likelihood, eq. (1), for any log-density.

    Parameters
    ----------
    log_density : function
        log_density(theta, *data) -> (n,), smooth in theta.
    start : array of shape (k,)
        Where to begin; a torch tensor asks for autograd.
    *data : arrays of n rows
        For example X, or X and y for a conditional density.
    weights : array of shape (n,), optional
        A weight of 3 counts as three copies of the row.
    bounds : sequence of (low, high), optional
        Limits of each parameter, None for no limit.
    max_iter : int, default=1000
        Most steps.

    Returns
    -------
    result : MLE

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.distributions import fit_mle
    >>> coin = lambda p, x: np.where(x == 1, np.log(p), np.log1p(-p))
    >>> x = np.array([1, 1, 1, 0])
    >>> fit_mle(coin, [0.5], x, bounds=[(1e-9, 1 - 1e-9)]).theta.round(6)
    array([0.75])
    """
    from scipy import optimize

    start = (
        start if arrays.is_foreign(start) else np.atleast_1d(np.asarray(start, float))
    )
    J, gradient = _likelihood_objective(log_density, data, weights, start)
    t = arrays.to_numpy(start).astype(float).ravel()
    if J(t) >= AWAY:
        raise ValueError("the likelihood at the start is zero or not a number.")
    pairs = [(None, None)] * len(t) if bounds is None else list(bounds)
    if len(pairs) != len(t):
        raise ValueError(f"{len(t)} parameters have {len(pairs)} bounds.")
    options = {"maxiter": max_iter, "ftol": 1e-15, "gtol": 1e-9}
    result = optimize.minimize(
        J, t, jac=gradient, method="L-BFGS-B", bounds=pairs, options=options
    )
    low = np.array([-np.inf if a is None else a for a, _ in pairs])
    high = np.array([np.inf if b is None else b for _, b in pairs])
    inside = (result.x > low) & (result.x < high)
    t = result.x
    H = None
    if inside.all():
        t, H = _newton_refinement(gradient, t, low, high)
    n = float(data[0].shape[0] if weights is None else np.sum(arrays.to_numpy(weights)))
    converged = result.status == 0 or bool(np.linalg.norm(gradient(t)) < 1e-6)
    nll = J(t)
    theta = arrays.asarray(t.reshape(start.shape), like=start)
    return MLE(theta, nll, -n * nll, _observed_information(H, n, len(t)), n, converged)


def _observed_information(H, n, k):
    """Eq. (2), NaN where J is not curved upwards."""
    if H is None or not np.isfinite(H).all() or np.linalg.eigvalsh(H)[0] <= 0:
        return np.full((k, k), np.nan)
    return np.linalg.inv(n * H)


class Simulation(NamedTuple):
    """Estimates from repeated draws of data, for each n."""

    n: np.ndarray  # (g,)
    estimates: np.ndarray  # (g, repeats, k)
    bias: np.ndarray  # (g, k)
    deviation: np.ndarray  # (g, k), standard deviation of the estimates
    error: np.ndarray  # (g,), root mean squared distance to the truth
    rate: float  # slope of log error over log n: -1/2 for a consistent estimator
    p_normal: np.ndarray  # (g, k), p value of a test that estimates are Normal

    def plot(self, axes=None):
        """Error against n, beside the histogram of estimates for the largest n."""
        import matplotlib.pyplot as plt
        from scipy import stats

        if axes is None:
            _, axes = plt.subplots(1, 2, figsize=(8, 3))
        axes[0].loglog(self.n, self.error, "o-")
        axes[0].set(xlabel="n", ylabel="error", title=f"slope {self.rate:.2f}")
        last = self.estimates[-1]
        spread = np.where(self.deviation[-1] > 0, self.deviation[-1], 1.0)
        axes[1].hist((last - last.mean(axis=0)) / spread, bins=20, density=True)
        z = np.linspace(-4, 4, 200)
        axes[1].plot(z, stats.norm.pdf(z), "k")
        axes[1].set(xlabel="standardised estimate", title=f"n = {self.n[-1]}")
        return axes


def simulate_mle(
    draw: Callable,
    estimate: Callable,
    truth,
    n: Sequence[int],
    *,
    repeats=200,
    seed=None,
) -> Simulation:
    """Simulate the sampling distribution of an estimator on repeated draws of the data.

    Parameters
    ----------
    draw : function
        draw(n, rng) -> data.
    estimate : function
        estimate(data) -> number or array of shape (k,).
    truth : number or array of shape (k,)
        The parameters the data are drawn with.
    n : sequence of int
        Sizes of the data.
    repeats : int, default=200
        Draws for each size.
    seed : int, Generator or None
        Seed of the draws.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.distributions import simulate_mle
    >>> out = simulate_mle(
    ...     lambda n, rng: rng.normal(2.0, 1.0, n), np.mean, 2.0, [50, 200, 800], seed=0
    ... )
    >>> bool(-0.6 < out.rate < -0.4)
    True
    """
    from scipy import stats

    truth = np.atleast_1d(np.asarray(truth, dtype=float))
    sizes = np.asarray(n, dtype=np.int64)
    if len(sizes) < 2 or repeats < 8:
        raise ValueError("give at least 2 sizes n and 8 repeats.")
    rngs = spawn_rngs(make_rng(seed), repeats * len(sizes))
    runs = [
        np.atleast_1d(np.asarray(estimate(draw(int(m), rngs[i * repeats + r])), float))
        for i, m in enumerate(sizes)
        for r in range(repeats)
    ]
    E = np.stack(runs).reshape(len(sizes), repeats, -1)
    gap = E - truth
    error = np.sqrt(np.mean(np.sum(gap**2, axis=2), axis=1))
    rate = float(np.polyfit(np.log(sizes), np.log(np.maximum(error, 1e-300)), 1)[0])
    p = np.array([[stats.shapiro(e).pvalue for e in block.T] for block in E])
    return Simulation(sizes, E, gap.mean(axis=1), E.std(axis=1, ddof=1), error, rate, p)

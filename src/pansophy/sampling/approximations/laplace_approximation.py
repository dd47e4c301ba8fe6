"""Laplace approximation: the Gaussian that matches a density at its mode.

With x* the mode of log p and H the Hessian of -log p there,

    p(x) ~ N(x; x*, H^-1),      log Z = log int p ~ log p(x*) + (d/2) log 2 pi
                                                    - (1/2) log det H             (1)

exact if log p is quadratic. The mode is found by BFGS from `init`, then refined by
Newton steps; H comes from central differences of the gradient, all 2 d of them in one
batch (or of the value, if there is no gradient).

Refs      [Laplace1774]; [Tierney1986]
"""

from typing import NamedTuple

import numpy as np

from ...core.linalg.linalg import NotPositiveDefiniteError, cholesky
from ...core.numerics import LOG_2PI
from ...distributions import Normal
from ..densities.target_density import as_target_density, ensure_gradient

DIFFERENCE_STEP = float(np.finfo(float).eps) ** (1 / 3)


class LaplaceResult(NamedTuple):
    """The approximation, its evidence and Hessian."""

    normal: Normal
    log_evidence: float  # log Z, eq. (1)
    hessian: np.ndarray  # H
    converged: bool

    @property
    def mode(self):
        return self.normal.mean

    def sample(self, n, rng):
        """n draws, (n, d)."""
        return self.normal.sample(n, rng)

    def log_prob(self, X):
        """Log density of the approximation."""
        return self.normal.log_prob(X)


def _negative_hessian(gradient, x):
    """Hessian of -log p at x by differences of the gradient, in one batch."""
    h = DIFFERENCE_STEP * np.maximum(np.abs(x), 1.0)
    steps = np.diag(h)
    g = gradient(np.concatenate([x + steps, x - steps]))
    H = -(g[: len(x)] - g[len(x) :]) / (2 * h[:, None])
    return 0.5 * (H + H.T)


def _central_difference_gradient(value, x):
    """Gradient at rows x (m, d) by central differences of the value."""
    m, d = x.shape
    h = DIFFERENCE_STEP * np.maximum(np.abs(x), 1.0)
    rows = np.repeat(x, d, axis=0)
    moves = np.zeros_like(rows)
    moves[np.arange(m * d), np.tile(np.arange(d), m)] = h.ravel()
    rise = value(rows + moves) - value(rows - moves)
    return rise.reshape(m, d) / (2 * h)


def laplace_approximate(
    log_prob, init, *, grad=None, batched=None, max_iter=500
) -> LaplaceResult:
    """Gaussian approximation of a density at its mode, with its evidence.

    Parameters
    ----------
    log_prob : function or density
        As `as_target_density` takes it; its integral is `exp(log_evidence)`.
    init : array of shape (d,)
        Start of the search for the mode.
    grad : function, True or None
        Gradient; None uses that of torch or a compiled density, else differences.
    batched : bool or None
    max_iter : int

    Returns
    -------
    Laplace
        `normal`, `log_evidence`, `hessian`, `converged`; draws by `sample(n, rng)`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.sampling import laplace_approximate
    >>> run = laplace_approximate(lambda x: -2 * (x[0] - 1) ** 2, [5.0])
    >>> run.mode.round(5), run.normal.cov.round(5)
    (array([1.]), array([[0.25]]))
    """
    from ...optim import minimize

    x = np.atleast_1d(np.asarray(init, dtype=float))
    if x.ndim != 1:
        raise ValueError(f"init must be one position (d,), got shape {x.shape}.")
    density = as_target_density(log_prob, grad, batched)
    try:
        density = ensure_gradient(density, x[None])
        gradient = lambda x: density.value_and_grad(x)[1]
        value_and_slope = density.value_and_grad
    except TypeError:
        gradient = lambda x: _central_difference_gradient(density.value, x)
        value_and_slope = lambda x: (density.value(x), gradient(x))
    if not np.isfinite(density.value(x[None]))[0]:
        raise ValueError("log_prob is not finite at init.")

    def f(x):
        v, g = value_and_slope(x[None])
        return -float(v[0]), -g[0]

    run = minimize(f, x, "bfgs", max_iter=max_iter, tol=1e-8)
    x = np.asarray(run.state.position)
    H = _negative_hessian(gradient, x)
    for _ in range(2):  # Newton steps, while they increase the density
        try:
            new = x + np.linalg.solve(H, gradient(x[None])[0])
        except np.linalg.LinAlgError:
            break
        if not density.value(new[None])[0] >= density.value(x[None])[0]:
            break
        x = new
        H = _negative_hessian(gradient, x)
    L = _cholesky_at_mode(H, x)
    half = float(np.log(np.diag(L)).sum())
    log_z = float(density.value(x[None])[0]) + 0.5 * len(x) * LOG_2PI - half
    C = np.linalg.inv(H)
    small = np.abs(gradient(x[None])[0]) * np.sqrt(np.diag(C))  # in standard deviations
    return LaplaceResult(Normal(x, 0.5 * (C + C.T)), log_z, H, bool(small.max() < 1e-3))


def _cholesky_at_mode(H, x):
    """Cholesky factor of H; raises if x is not a mode."""
    try:
        return cholesky(H, max_grade=0)[0]
    except NotPositiveDefiniteError:
        raise ValueError(
            f"log_prob does not curve downwards in every direction at {x}: there is "
            "no peak that a Gaussian could match; start elsewhere."
        ) from None

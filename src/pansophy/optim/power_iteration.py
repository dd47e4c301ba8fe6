"""Power iteration: the largest singular value of a matrix, from products alone.

    u <- A v / |A v|,    v <- A' u / |A' u|,    sigma = u' A v                   (1)

sigma never exceeds the largest singular value s_1 and rises towards it; the error falls
by (s_2 / s_1)^2 an iteration. A vector v that is handed from call to call makes one
iteration enough where A changes little between calls (spectral normalisation).

Cost      two products with A an iteration
Shapes    A (m, n)   u (m,)   v (n,)
Refs      [GolubVanLoan2013]
"""

from typing import NamedTuple

import numpy as np

from ..core.drivers.iterate import iterate
from ..core.random import make_rng


class PowerState(NamedTuple):
    """State carried from one iteration to the next."""

    u: np.ndarray
    v: np.ndarray
    sigma: float

    @property
    def objective(self) -> float:
        return -self.sigma


class PowerIteration(NamedTuple):
    """The largest singular value, its vectors, and sigma after every iteration."""

    sigma: float
    u: np.ndarray
    v: np.ndarray
    n_iter: int
    converged: bool
    history: np.ndarray


def power_iteration(A, v=None, *, max_iter=1000, tol=1e-12, random_state=0):
    """The largest singular value of A, with its vectors.

    Parameters
    ----------
    A : array, sparse matrix or linear operator of shape (m, n)
    v : array of shape (n,) or None
        Where to start; None draws it.
    max_iter : int
    tol : float
        Relative change of sigma that ends the iteration.
    random_state : int, Generator or None

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.optim import power_iteration
    >>> float(round(power_iteration(np.diag([3.0, 1.0])).sigma, 6))
    3.0
    """
    A = A if hasattr(A, "shape") and hasattr(A, "dot") else np.asarray(A, dtype=float)
    if len(A.shape) != 2:
        raise ValueError(f"A must be a matrix, got shape {A.shape}.")
    if isinstance(A, np.ndarray) and not np.isfinite(A).all():
        raise ValueError("A must hold finite numbers.")
    n = A.shape[1]
    if v is None:
        v = make_rng(random_state).standard_normal(n)
    v = np.asarray(v, dtype=float)
    if v.shape != (n,) or not np.linalg.norm(v) > 0:
        raise ValueError(f"v must have shape ({n},) and not be 0, got {v.shape}.")

    def step(state):
        image = A @ state.v
        sigma = float(np.linalg.norm(image))  # u' A v for u = A v / |A v|
        if sigma == 0:  # A is 0, or v lies in its null space
            return PowerState(image, state.v, 0.0)
        u = image / sigma
        back = A.T @ u
        return PowerState(u, back / np.linalg.norm(back), sigma)

    start = PowerState(np.zeros(A.shape[0]), v / np.linalg.norm(v), 0.0)
    result = iterate(step, start, max_iter=max_iter, tol=tol, change=_sigma_change)
    u, v, sigma = result.state
    history = -result.history["objective"]
    return PowerIteration(sigma, u, v, result.n_iter, result.converged, history)


def _sigma_change(old, new) -> float:
    """Relative change of sigma; 0 where A is 0."""
    return abs(new.sigma - old.sigma) / new.sigma if new.sigma > 0 else 0.0

"""Conjugate gradients: each direction is the gradient corrected by the one before.

    d = -g + beta d_old,     y = g - g_old                                       (1)

    hz    beta = (y - 2 d_old |y|^2 / (d_old.y)) . g / (d_old.y), bounded below  (2)
    pr    beta = max(0, g.y / |g_old|^2)                                         (3)

with strong Wolfe steps; eq. (2) is a descent direction whatever the step. Where f is
a quadratic known by products H v, the best step along d is

    eta = -g.d / (d.H d)                                                         (4)

and the directions are conjugate: the minimum is reached in at most as many steps as
H has different eigenvalues. Memory: four vectors.

Shapes    x, g, d any one shape, any array namespace
Refs      [Hestenes1952] eq. (4); [Polak1969] eq. (3); [Hager2005] eq. (2)
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...core.drivers.iterate import Result
from ...core.drivers.progress import SILENT, FitTask
from .gradient import (
    GradientState,
    inner_product,
    iterate_until_stationary,
    size_of,
    state_at_position,
)
from .strong_wolfe import strong_wolfe

FLOOR = 0.01  # of eq. (2): beta >= -1 / (|d| min(FLOOR, |g|))


class CGState(NamedTuple):
    """A point, f and g there, and the next search direction."""

    position: Any  # x
    objective: float
    gradient: Any  # g
    direction: Any  # d
    eta: float  # step taken
    fall: float  # g.d

    @property
    def slope(self) -> float:
        return size_of(self.gradient)


def _hager_zhang(g, old, d) -> float:
    """beta of Hager and Zhang, eq. (2)."""
    y = g - old
    dy = inner_product(d, y)
    if dy <= 0:
        return 0.0
    beta = (
        inner_product(y, g) - 2 * inner_product(y, y) * inner_product(d, g) / dy
    ) / dy
    floor = -1 / (
        inner_product(d, d) ** 0.5 * min(FLOOR, inner_product(old, old) ** 0.5)
    )
    return max(beta, floor)


def _polak_ribiere(g, old, d) -> float:
    """beta of Polak and Ribiere, eq. (3)."""
    return max(0.0, inner_product(g, g - old) / inner_product(old, old))


BETAS = {"hz": _hager_zhang, "pr": _polak_ribiere}


def conjugate_gradient(
    f: Callable,
    x,
    *,
    beta: str = "hz",
    product: Callable | None = None,
    max_iter: int = 1000,
    tol: float = 1e-6,
    task: FitTask = SILENT,
) -> Result:
    """Minimise f(x) -> (value, gradient) by conjugate gradients until max |g_j| <= tol.

    `product(v)` is H v for a quadratic f; steps are then exact.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> H, b = np.diag([1.0, 10.0, 100.0]), np.ones(3)
    >>> f = lambda x: (x @ H @ x / 2 - b @ x, H @ x - b)
    >>> run = optim.conjugate_gradient(f, np.zeros(3), product=H.__matmul__)
    >>> run.n_iter, run.state.position.round(6)
    (3, array([1.  , 0.1 , 0.01]))
    """
    if beta not in BETAS:
        raise ValueError(f"beta must be one of {sorted(BETAS)}, got {beta!r}.")
    update = BETAS[beta]

    def exact(s, H):
        curvature = inner_product(s.direction, H(s.direction))
        if not curvature > 0:
            return GradientState(s.position, s.objective, s.gradient, 0.0)
        eta = -s.fall / curvature
        return state_at_position(f, s.position + eta * s.direction, eta)

    def search(s):
        line_start = GradientState(s.position, s.objective, s.gradient, s.eta)
        new = strong_wolfe(f, line_start, s.direction, s.eta, curvature=0.1)
        if new.eta == 0 and s.direction is not s.gradient:  # restart
            d = -s.gradient
            new = strong_wolfe(f, line_start, d, first_step(s.gradient), curvature=0.1)
        return new

    def step(s):
        new = search(s) if product is None else exact(s, product)
        g = new.gradient
        d = -g + update(g, s.gradient, s.direction) * s.direction
        fall = inner_product(g, d)
        if not fall < 0:
            d = -g
            fall = -inner_product(g, g)
        # the next trial step has the same first-order decrease as the last one
        grow = min(s.fall / fall, 100.0) if fall < 0 else 1.0
        eta = new.eta * grow if product is None else new.eta
        return CGState(new.position, new.objective, g, d, eta, fall)

    s = state_at_position(f, x, 1.0)
    d = -s.gradient
    fall = -inner_product(s.gradient, s.gradient)
    start = CGState(x, s.objective, s.gradient, d, first_step(s.gradient), fall)
    return iterate_until_stationary(step, start, max_iter=max_iter, tol=tol, task=task)


def first_step(g) -> float:
    """Length of the first trial step: it moves no coordinate by more than 1."""
    size = size_of(g)
    return min(1.0, 1 / size) if size > 0 else 1.0

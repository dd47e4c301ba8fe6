"""Proximal gradient and FISTA: a smooth part plus a penalty with a prox.

    F(x) = f(x) + g(x)                                                           (1)
    x <- prox_{eta g}(z - eta grad f(z))                                         (2)

z = x is the plain method, whose F never rises; FISTA extrapolates,

    z = x + (t_old - 1)/t (x - x_old),   t = (1 + sqrt(1 + 4 t_old^2))/2         (3)

and resets t to 1 whenever F rises or a step reverses direction. eta is halved until f
lies below its quadratic model at z, so no Lipschitz constant is needed. With g the
indicator of a set, eq. (2) is projected gradient descent.

Shapes    x (d,), any array namespace
Refs      [Beck2009] eq. (3) and the search; [ODonoghue2015] restarts
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ...core.arrays.arrays import namespace
from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT, FitTask
from ...penalties.base import euclidean_norm

NOISE = 1e-14  # relative rounding error of f


class ProximalState(NamedTuple):
    """The current point, the extrapolated point and the step length."""

    position: Any  # x
    ahead: Any  # z
    t: float
    eta: float
    objective: float  # F(x)
    change: float  # |x - z| / eta: the length of the generalised gradient at z


def proximal_gradient(
    f: Callable,
    penalty,
    x,
    *,
    eta: float = 1.0,
    accelerate: bool = True,
    max_iter: int = 10000,
    tol: float = 1e-8,
    task: FitTask = SILENT,
) -> Result:
    """Proximal gradient: minimise eq. (1) until the norm of the gradient map <= tol.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim, penalties
    >>> f = lambda x: (np.sum((x - 3) ** 2) / 2, x - 3)
    >>> run = optim.proximal_gradient(f, penalties.box(0, 1), np.zeros(2))
    >>> run.state.position
    array([1., 1.])
    """
    xp = namespace(x)
    dot = lambda a, b: float(xp.sum(a * b))
    total = lambda x, value: float(value) + float(penalty.value(x))

    def search(z, eta):
        """Eq. (2) with the largest eta at which the model bounds f."""
        value, g = f(z)
        for _ in range(100):
            new = penalty.prox(z - eta * g, eta)
            move = new - z
            bound = float(value) + dot(g, move) + dot(move, move) / (2 * eta)
            new_value, ahead = f(new)
            new_value = float(new_value)
            if new_value <= bound:
                break
            # at rounding level only the gradients show whether the model bounds f
            bounded = dot(ahead - g, move) <= dot(move, move) / eta
            if bounded and new_value <= bound + NOISE * abs(bound):
                break
            eta /= 2
        return new, new_value, eta

    def step(s):
        new, value, eta = search(s.ahead, s.eta)
        change = float(euclidean_norm(new - s.ahead)) / eta
        F = total(new, value)
        rises = F - s.objective > NOISE * abs(F)
        t = (1 + math.sqrt(1 + 4 * s.t**2)) / 2
        back = dot(s.ahead - new, new - s.position) > 0
        if not accelerate or rises or back:
            t = 1.0
            weight = 0.0
        else:
            weight = (s.t - 1) / t
        if accelerate and rises:  # stay, and go on without momentum
            return ProximalState(s.position, s.position, 1.0, eta, s.objective, change)
        ahead = new + weight * (new - s.position)
        return ProximalState(new, ahead, t, eta, F, change)

    x = penalty.prox(x, eta) if penalty.indicator else x
    start = ProximalState(x, x, 1.0, eta, total(x, f(x)[0]), math.inf)
    return iterate(
        step,
        start,
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.change,
        task=task,
    )


def fista(f, penalty, x, **options) -> Result:
    """FISTA: `proximal_gradient` with the extrapolation of eq. (3)."""
    return proximal_gradient(f, penalty, x, accelerate=True, **options)


def projected_gradient(f, constraint, x, **options) -> Result:
    """Projected gradient descent: eq. (2) for a constraint."""
    if not constraint.indicator:
        raise ValueError(f"projected_gradient takes a constraint, not {constraint}.")
    return proximal_gradient(f, constraint, x, accelerate=False, **options)

"""Constrained parameters: bounds and simplices for samplers on unconstrained space.

A sampler moves u on R^d; the model has parameters x = T(u) that are positive, within an
interval, or a point of the simplex. By the change of variables

    log p(u) = log pi(T(u)) + log |det dT/du|                                   (1)
    grad log p(u) = (dT/du)' grad log pi(x) + grad log |det dT/du|              (2)

    real       x = u                                     log det = 0
    positive   x = exp u                                 log det = u
    interval   x = a + (b - a) s,  s = sigmoid u         log (b - a) s (1 - s)
    simplex    k - 1 numbers to k: stick breaking, below; its log det is the sum
               of log z_i (1 - z_i) r_i

Stick breaking takes from the rest r_i, r_1 = 1, the part x_i = r_i z_i with
z_i = sigmoid(u_i - log(k - i)), so that u = 0 is the centre; r_(i+1) = r_i - x_i.

The log density may be a NumPy or a torch function. The gradient (2) of a NumPy function
is computed here; that of a torch function comes from autograd.

Shapes    u (m, d)   x (m, D), D = d and one more for every simplex
Refs      [Carpenter2017]
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays.arrays import is_torch, namespace
from ...core.numerics import log1pexp, sigmoid
from .target_density import as_target_density


class ParameterBlock(NamedTuple):
    """One or several parameters with the same constraint."""

    kind: str  # real, positive, interval, simplex
    size: int = 1
    low: float = 0.0
    high: float = 1.0

    @property
    def free(self) -> int:
        """Number of unconstrained coordinates."""
        return self.size - (self.kind == "simplex")


def real(size=1) -> ParameterBlock:
    """Numbers without bounds."""
    return ParameterBlock("real", size)


def positive(size=1) -> ParameterBlock:
    """Numbers above 0."""
    return ParameterBlock("positive", size)


def interval(low, high, size=1) -> ParameterBlock:
    """Numbers between low and high."""
    if not low < high:
        raise ValueError(f"low must be below high, got {low} and {high}.")
    return ParameterBlock("interval", size, float(low), float(high))


def simplex(size) -> ParameterBlock:
    """`size` positive numbers that sum to 1."""
    if size < 2:
        raise ValueError(f"a simplex needs at least 2 numbers, got {size}.")
    return ParameterBlock("simplex", size)


def _stick_breaking(xp, u):
    """Stick breaking: z, r (..., k - 1), the last part, and log of z (1 - z) r."""
    k = u.shape[-1] + 1
    v = u - xp.asarray(np.log(np.arange(k - 1, 0, -1)), dtype=u.dtype)
    z = sigmoid(v)
    log_less = -log1pexp(v)  # log(1 - z) without underflow
    log_left = xp.cumulative_sum(log_less, axis=-1)
    log_r = xp.concat([xp.zeros_like(v[..., :1]), log_left[..., :-1]], axis=-1)
    return z, xp.exp(log_r), xp.exp(log_left[..., -1]), log_less + log_r - log1pexp(-v)


def _to_constrained(part, u):
    """x and log |det| (...,) of one block, NumPy or torch."""
    xp = namespace(u)
    if part.kind == "real":
        return u, xp.sum(0 * u, axis=-1)
    if part.kind == "positive":
        return xp.exp(u), xp.sum(u, axis=-1)
    if part.kind == "interval":
        width = part.high - part.low
        log = np.log(width) - log1pexp(u) - log1pexp(-u)
        return part.low + width * sigmoid(u), xp.sum(log, axis=-1)
    z, r, last, log = _stick_breaking(xp, u)
    return xp.concat([r * z, last[..., None]], axis=-1), xp.sum(log, axis=-1)


def _unconstrained_gradient(part, u, g):
    """Gradient (2) in u of one block from that in x, NumPy."""
    if part.kind == "real":
        return g
    if part.kind == "positive":
        return g * np.exp(u) + 1
    s = sigmoid(u)
    if part.kind == "interval":
        return g * (part.high - part.low) * s * (1 - s) + 1 - 2 * s
    z, r, last, _ = _stick_breaking(namespace(u), u)
    k = part.size
    x = np.concatenate([r * z, last[..., None]], axis=-1)
    # a larger z_i reduces all later parts: d x_j / d u_i = -z_i x_j for j > i
    later = np.cumsum((g * x)[..., ::-1], axis=-1)[..., ::-1][..., 1:]
    own_term = g[..., :-1] * x[..., :-1] * (1 - z) - z * later
    # log det: log z_i (1 - z_i) gives 1 - 2 z_i, each later log r_j gives -z_i
    n_later = np.arange(k - 2, -1, -1)
    return own_term + 1 - 2 * z - n_later * z


@dataclass(eq=False)
class UnconstrainedDensity:
    """The density of u and the map to x; see `unconstrained_density`."""

    log_prob: Any
    parts: tuple
    grad: Any = None

    @property
    def dim(self) -> int:
        """Length d of u."""
        return sum(p.free for p in self.parts)

    def constrain(self, u):
        """x (..., D) of u (..., d), such as `draws.positions`."""
        return self.constrain_with_log_det(u)[0]

    def constrain_with_log_det(self, u):
        """x and log |det| of (1)."""
        if not is_torch(u):
            u = np.asarray(u, dtype=float)
        if u.shape[-1] != self.dim:
            raise ValueError(f"u must have {self.dim} coordinates, got {u.shape[-1]}.")
        xp = namespace(u)
        start = 0
        results = []
        for p in self.parts:
            results.append(_to_constrained(p, u[..., start : start + p.free]))
            start += p.free
        x = xp.concat([x for x, _ in results], axis=-1)
        return x, sum(log for _, log in results)

    def __call__(self, u):
        """log p(u), eq. (1)."""
        x, log_det = self.constrain_with_log_det(u)
        value = self.log_prob(x)
        return (value[0] if self.grad is True else value) + log_det

    def gradient(self, u):
        """Gradient of log p(u), eq. (2)."""
        x = self.constrain_with_log_det(u)[0]
        g = self.log_prob(x)[1] if self.grad is True else self.grad(x)
        g = np.asarray(g, dtype=float)
        start = 0
        x_start = 0
        gradients = []
        for p in self.parts:
            part = _unconstrained_gradient(
                p, u[..., start : start + p.free], g[..., x_start : x_start + p.size]
            )
            gradients.append(part)
            start, x_start = start + p.free, x_start + p.size
        return np.concatenate(gradients, axis=-1)

    def as_target(self):
        """The target density that samplers use."""
        return as_target_density(
            lambda u: self(u), None if self.grad is None else self.gradient
        )


def unconstrained_density(log_prob, parts, grad=None) -> UnconstrainedDensity:
    """The log density of constrained parameters on unconstrained space.

    Parameters
    ----------
    log_prob : function
        log pi of x, one position (D,) or all chains (m, D), NumPy or torch.
    parts : list of Part
        `real(n)`, `positive(n)`, `interval(a, b, n)`, `simplex(k)` in the order of x.
    grad : function, True or None
        Gradient of log_prob in x; True if log_prob gives both; None for torch.

    Returns
    -------
    Transformed
        For a sampler; `constrain(draws.positions)` are the draws of x.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.sampling import NUTS, positive, sample, unconstrained_density
    >>> gamma = unconstrained_density(  # with shape 3
    ...     lambda x: (2 * np.log(x) - x).sum(axis=-1), [positive()],
    ...     grad=lambda x: 2 / x - 1,
    ... )
    >>> draws = sample(NUTS(gamma), 1000, init=[0.0], random_state=0)
    >>> x = gamma.constrain(draws.positions)
    >>> bool(abs(x.mean() - 3) < 0.2 and x.min() > 0)
    True
    """
    return UnconstrainedDensity(log_prob, tuple(parts), grad)

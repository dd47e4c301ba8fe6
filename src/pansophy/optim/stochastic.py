"""Stochastic gradient methods as chains of small transformations.

A `Transform` is a pair: `init(x) -> state` and `update(g, state, x) -> (g, state)`.
Each takes what the one before made of the gradient, and the chain ends with the step
that is added to x. So momentum SGD is `chain_transforms(momentum_trace(0.9),
scale_by(-0.1))`, and any order and mixture is allowed. With g the incoming gradient,

    momentum   v <- mu v + g                        out v                        (1)
    nesterov   v <- mu v + g                        out g + mu v                 (2)
    adagrad    s <- s + g^2                         out g / (sqrt s + e)         (3)
    rmsprop    s <- rho s + (1 - rho) g^2           out g / (sqrt s + e)         (4)
    adam       m, s moving averages of g, g^2, divided by 1 - beta^t             (5)
    scheduled  out -eta(t) g for a schedule eta                                  (6)

`sgd` runs a chain over mini-batches: an epoch visits every row once in random order.
Averaging the points of its steps removes most of the noise that is left at the end,

    mean <- mean + (x - mean) / k,     k = 1, 2, ... from some epoch on          (7)

With weights w_i an epoch draws n rows with probability w_i / sum w instead, so it
minimises the mean of the loss under these weights; balanced ones draw every class y
equally often,

    p_i = 1 / (K n_{y_i}).                                                       (8)

Refs      [Polyak1964] [Nesterov1983] [Duchi2011] [Tieleman2012] [Kingma2015]
          [Polyak1992] eq. (7)
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import namespace
from ..core.class_weight import apply_class_weight
from ..core.iterate import Result, iterate
from ..core.progress import SILENT, Task
from ..core.random import rng_from
from ..core.weighted import check_sample_weight


class Transform(NamedTuple):
    """A pair of functions; see the module text."""

    init: Callable
    update: Callable


def zeros_like_position(x):
    return namespace(x).zeros_like(x)


def chain_transforms(*parts: Transform) -> Transform:
    """One transform out of several, in order."""

    def update(g, state, x):
        new = []
        for part, s in zip(parts, state, strict=True):
            g, s = part.update(g, s, x)
            new.append(s)
        return g, tuple(new)

    return Transform(lambda x: tuple(p.init(x) for p in parts), update)


def scale_by(factor: float) -> Transform:
    """Multiply by a number."""
    return Transform(lambda x: (), lambda g, s, x: (factor * g, s))


def scale_by_schedule(eta) -> Transform:
    """Eq. (6); eta a number or a function of the step number, from 0."""
    rate = eta if callable(eta) else lambda t: eta
    return Transform(lambda x: 0, lambda g, t, x: (-rate(t) * g, t + 1))


def add_weight_decay(strength: float) -> Transform:
    """Add strength x to the gradient: an L2 penalty."""
    return Transform(lambda x: (), lambda g, s, x: (g + strength * x, s))


def clip_by_norm(limit: float) -> Transform:
    """Shorten gradients longer than `limit`."""

    def update(g, state, x):
        xp = namespace(g)
        length = float(xp.sqrt(xp.sum(g * g)))
        return (g * (limit / length) if length > limit else g), state

    return Transform(lambda x: (), update)


def momentum_trace(mu: float) -> Transform:
    """Eq. (1)."""

    def update(g, v, x):
        v = mu * v + g
        return v, v

    return Transform(zeros_like_position, update)


def trace_ahead(mu: float) -> Transform:
    """Eq. (2)."""

    def update(g, v, x):
        v = mu * v + g
        return g + mu * v, v

    return Transform(zeros_like_position, update)


def by_sum_of_squares(eps: float = 1e-8) -> Transform:
    """Eq. (3)."""

    def update(g, s, x):
        s = s + g * g
        return g / (namespace(g).sqrt(s) + eps), s

    return Transform(zeros_like_position, update)


def by_mean_square(rho: float = 0.9, eps: float = 1e-8) -> Transform:
    """Eq. (4)."""

    def update(g, s, x):
        s = rho * s + (1 - rho) * g * g
        return g / (namespace(g).sqrt(s) + eps), s

    return Transform(zeros_like_position, update)


def by_moments(beta1=0.9, beta2=0.999, eps: float = 1e-8) -> Transform:
    """Eq. (5)."""
    first, second = moving_average(beta1), moving_average(beta2)

    def update(g, state, x):
        m, s = first.update(g, state[0], x), second.update(g * g, state[1], x)
        return m[0] / (namespace(g).sqrt(s[0]) + eps), (m[1], s[1])

    return Transform(lambda x: (first.init(x), second.init(x)), update)


def moving_average(beta: float, corrected: bool = True) -> Transform:
    """Moving average m <- beta m + (1 - beta) g, divided by 1 - beta^t if corrected."""

    def update(g, state, x):
        m, t = state
        m, t = beta * m + (1 - beta) * g, t + 1
        return (m / (1 - beta**t) if corrected else m), (m, t)

    return Transform(lambda x: (zeros_like_position(x), 0), update)


def momentum(eta=0.01, mu: float = 0.9) -> Transform:
    """SGD with classical momentum."""
    return chain_transforms(momentum_trace(mu), scale_by_schedule(eta))


def nesterov(eta=0.01, mu: float = 0.9) -> Transform:
    """SGD with Nesterov's momentum."""
    return chain_transforms(trace_ahead(mu), scale_by_schedule(eta))


def adagrad(eta=0.01, eps: float = 1e-8) -> Transform:
    return chain_transforms(by_sum_of_squares(eps), scale_by_schedule(eta))


def rmsprop(eta=0.01, rho: float = 0.9, eps: float = 1e-8) -> Transform:
    return chain_transforms(by_mean_square(rho, eps), scale_by_schedule(eta))


def adam(eta=0.001, beta1=0.9, beta2=0.999, eps: float = 1e-8) -> Transform:
    return chain_transforms(by_moments(beta1, beta2, eps), scale_by_schedule(eta))


def balanced_rates(y, rates=None) -> np.ndarray:
    """Eq. (8): the probability of each row; `rates` of classes other than equal ones.

    Examples
    --------
    >>> from pansophy.optim.stochastic import balanced_rates
    >>> balanced_rates(["a", "a", "a", "b"]).round(4)
    array([0.1667, 0.1667, 0.1667, 0.5   ])
    """
    p = apply_class_weight("balanced", y)
    if rates is not None:
        labels, codes = np.unique(y, return_inverse=True)
        class_rates = np.array([rates.get(v, 0.0) for v in labels.tolist()], float)
        if not (np.all(class_rates >= 0) and class_rates.sum() > 0):
            raise ValueError(f"rates must be above 0 for some class of y, got {rates}.")
        p = p * class_rates[codes]
    return p / p.sum()


def row_probabilities(n, weight, y):
    """The probability of each row, or None where an epoch visits each once."""
    if weight is None:
        return None
    if isinstance(weight, str):
        if weight != "balanced" or y is None or len(y) != n:
            raise ValueError(
                "sample_weight must be numbers, or 'balanced' together with y, the "
                f"classes of {n} rows."
            )
        return balanced_rates(y)
    w = check_sample_weight(weight, n)
    return w / w.sum()


class State(NamedTuple):
    position: Any  # x
    memory: Any  # the chain's state
    objective: float  # mean of the batch values of the epoch
    current: Any = None  # the running point, where position is the mean of eq. (7)
    epoch: int = 0
    count: int = 0  # k


def sgd(
    f: Callable,
    x,
    n: int,
    transform: Transform | None = None,
    *,
    batch_size: int = 32,
    average: int | None = None,
    sample_weight=None,
    y=None,
    max_iter: int = 100,
    tol: float = 1e-6,
    random_state=None,
    task: Task = SILENT,
) -> Result:
    """Minimise the mean over n rows; `f(x, rows) -> (value, gradient)` of a batch.

    An iteration is an epoch: every row once, in random order. `batch_size=n` is
    gradient descent. `average` is the epoch from which on eq. (7) is taken, 0 for the
    first; None for no averaging. With `sample_weight`, one number a row or "balanced"
    for eq. (8) with the classes y, an epoch draws n rows by weight.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> y = np.array([1.0, 2.0, 3.0, 4.0])
    >>> f = lambda x, rows: (np.mean((x - y[rows]) ** 2), 2 * np.mean(x - y[rows]))
    >>> run = optim.sgd(f, np.zeros(()), 4, optim.scale_by_schedule(0.25), batch_size=4)
    >>> float(run.state.position.round(3))
    2.5
    """
    rng = rng_from(random_state)
    transform = scale_by_schedule(0.01) if transform is None else transform
    p = row_probabilities(n, sample_weight, y)

    def step(s):
        order = rng.permutation(n) if p is None else rng.choice(n, n, p=p)
        x, memory, total = s.current, s.memory, 0.0
        mean, k = s.position, s.count
        averaging = average is not None and s.epoch >= average
        for i in range(0, n, batch_size):
            rows = order[i : i + batch_size]
            value, g = f(x, rows)
            move, memory = transform.update(g, memory, x)
            x = x + move
            total += float(value) * len(rows)
            if averaging:
                k += 1
                mean = x if k == 1 else mean + (x - mean) / k
        return State(mean if averaging else x, memory, total / n, x, s.epoch + 1, k)

    start = State(x, transform.init(x), np.inf, x)
    change = lambda old, new: abs(old.objective - new.objective)
    return iterate(step, start, max_iter=max_iter, tol=tol, change=change, task=task)

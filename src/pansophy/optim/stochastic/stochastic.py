"""Stochastic gradient methods as chains of small transformations.

A `Transform` is a pair: `init(x) -> state` and `update(g, state, x) -> (g, state)`.
Each transforms the output of the one before; the output of the last is added to x. So
momentum SGD is `chain_transforms(momentum_trace(0.9), scale_by(-0.1))`, and any order
and mixture is allowed. With g the incoming gradient,

    momentum   v <- mu v + g                        out v                        (1)
    nesterov   v <- mu v + g                        out g + mu v                 (2)
    adagrad    s <- s + g^2                         out g / (sqrt s + e)         (3)
    rmsprop    s <- rho s + (1 - rho) g^2           out g / (sqrt s + e)         (4)
    adam       m, s moving averages of g, g^2, divided by 1 - beta^t             (5)
    scheduled  out -eta(t) g for a schedule eta                                  (6)

Eq. (2) is Nesterov's method for the point that looks ahead, y = x + mu v. Written for x
itself the gradient is taken there,

    v <- mu v - eta(t) g(x + mu v),   x <- x + v                                 (9)

so a transform may have a third function `look(state, x)`: where to take the gradient.

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

from ...core.arrays.arrays import namespace
from ...core.arrays.class_weight import apply_class_weight
from ...core.arrays.weighted import check_sample_weight
from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT, FitTask
from ...core.random import make_rng


class Transform(NamedTuple):
    """A gradient transformation: functions `init`, `update` and `look` of the text."""

    init: Callable
    update: Callable
    look: Callable | None = None  # None takes the gradient at x


def _zeros_like_position(x):
    """Zeros of the shape and array library of x."""
    return namespace(x).zeros_like(x)


def chain_transforms(*parts: Transform) -> Transform:
    """Composition of several transforms, in order."""

    def update(g, state, x):
        new = []
        for part, s in zip(parts, state, strict=True):
            g, s = part.update(g, s, x)
            new.append(s)
        return g, tuple(new)

    look = None
    if any(part.look for part in parts):

        def look(state, x):
            for part, s in zip(parts, state, strict=True):
                x = x if part.look is None else part.look(s, x)
            return x

    return Transform(lambda x: tuple(p.init(x) for p in parts), update, look)


def scale_by(factor: float) -> Transform:
    """Multiply the gradient by a number."""
    return Transform(lambda x: (), lambda g, s, x: (factor * g, s))


def scale_by_schedule(eta) -> Transform:
    """Multiply by -eta(t), eq. (6); eta is a number or a schedule from t = 0."""
    rate = eta if callable(eta) else lambda t: eta
    return Transform(lambda x: 0, lambda g, t, x: (-rate(t) * g, t + 1))


def add_weight_decay(strength: float) -> Transform:
    """Add strength x to the gradient: an L2 penalty."""
    return Transform(lambda x: (), lambda g, s, x: (g + strength * x, s))


def clip_by_norm(limit: float) -> Transform:
    """Scale gradients down to a norm of at most `limit`."""

    def update(g, state, x):
        xp = namespace(g)
        length = float(xp.sqrt(xp.sum(g * g)))
        return (g * (limit / length) if length > limit else g), state

    return Transform(lambda x: (), update)


def momentum_trace(mu: float) -> Transform:
    """Momentum, eq. (1)."""

    def update(g, v, x):
        v = mu * v + g
        return v, v

    return Transform(_zeros_like_position, update)


def trace_ahead(mu: float) -> Transform:
    """Nesterov momentum, eq. (2)."""

    def update(g, v, x):
        v = mu * v + g
        return g + mu * v, v

    return Transform(_zeros_like_position, update)


def by_sum_of_squares(eps: float = 1e-8) -> Transform:
    """Division by the root of the sum of squared gradients, eq. (3)."""

    def update(g, s, x):
        s = s + g * g
        return g / (namespace(g).sqrt(s) + eps), s

    return Transform(_zeros_like_position, update)


def by_mean_square(rho: float = 0.9, eps: float = 1e-8) -> Transform:
    """Division by the root of a moving average of squared gradients, eq. (4)."""

    def update(g, s, x):
        s = rho * s + (1 - rho) * g * g
        return g / (namespace(g).sqrt(s) + eps), s

    return Transform(_zeros_like_position, update)


def by_moments(beta1=0.9, beta2=0.999, eps: float = 1e-8) -> Transform:
    """Adam's ratio of moving averages of g and sqrt(g^2), eq. (5)."""
    first = moving_average(beta1)
    second = moving_average(beta2)

    def update(g, state, x):
        m, m_state = first.update(g, state[0], x)
        s, s_state = second.update(g * g, state[1], x)
        return m / (namespace(g).sqrt(s) + eps), (m_state, s_state)

    return Transform(lambda x: (first.init(x), second.init(x)), update)


def moving_average(beta: float, corrected: bool = True) -> Transform:
    """Moving average m <- beta m + (1 - beta) g, divided by 1 - beta^t if corrected."""

    def update(g, state, x):
        m, t = state
        m = beta * m + (1 - beta) * g
        t = t + 1
        return (m / (1 - beta**t) if corrected else m), (m, t)

    return Transform(lambda x: (_zeros_like_position(x), 0), update)


def momentum(eta=0.01, mu: float = 0.9) -> Transform:
    """SGD with classical momentum."""
    return chain_transforms(momentum_trace(mu), scale_by_schedule(eta))


def nesterov(eta=0.01, mu: float = 0.9, *, lookahead: bool = False) -> Transform:
    """SGD with Nesterov's momentum.

    Both forms take the same steps. By default the position is the point that looks
    ahead, eq. (2), as in PyTorch; `lookahead=True` is the form of textbooks, eq. (9),
    whose position is x.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> f = lambda x, rows: (x * x / 2, x)
    >>> path = optim.Trajectory()
    >>> rule = optim.nesterov(0.1, 0.9, lookahead=True)
    >>> run = optim.sgd(f, np.ones(()), 1, rule, max_iter=5, tol=0, task=path)
    >>> path.positions.round(6)
    array([0.9     , 0.729   , 0.51759 , 0.294589, 0.084499])
    """
    if lookahead:
        return _nesterov_lookahead(eta, mu)
    return chain_transforms(trace_ahead(mu), scale_by_schedule(eta))


def _nesterov_lookahead(eta, mu) -> Transform:
    """Eq. (9)."""
    rate = eta if callable(eta) else lambda t: eta

    def update(g, state, x):
        v, t = state
        v = mu * v - rate(t) * g
        return v, (v, t + 1)

    return Transform(
        lambda x: (_zeros_like_position(x), 0),
        update,
        lambda state, x: x + mu * state[0],
    )


def adagrad(eta=0.01, eps: float = 1e-8) -> Transform:
    """AdaGrad, eq. (3)."""
    return chain_transforms(by_sum_of_squares(eps), scale_by_schedule(eta))


def rmsprop(eta=0.01, rho: float = 0.9, eps: float = 1e-8) -> Transform:
    """RMSProp, eq. (4)."""
    return chain_transforms(by_mean_square(rho, eps), scale_by_schedule(eta))


def adam(eta=0.001, beta1=0.9, beta2=0.999, eps: float = 1e-8) -> Transform:
    """Adam, eq. (5)."""
    return chain_transforms(by_moments(beta1, beta2, eps), scale_by_schedule(eta))


def balanced_rates(y, rates=None) -> np.ndarray:
    """Row probabilities that balance the classes, eq. (8), or give them `rates`.

    Examples
    --------
    >>> from pansophy.optim.stochastic.stochastic import balanced_rates
    >>> balanced_rates(["a", "a", "a", "b"]).round(4)
    array([0.1667, 0.1667, 0.1667, 0.5   ])
    """
    p = np.asarray(apply_class_weight("balanced", y))
    if rates is not None:
        labels, codes = np.unique(y, return_inverse=True)
        class_rates = np.array([rates.get(v, 0.0) for v in labels.tolist()], float)
        if not (np.all(class_rates >= 0) and class_rates.sum() > 0):
            raise ValueError(f"rates must be above 0 for some class of y, got {rates}.")
        p = p * class_rates[codes]
    return p / p.sum()


def _row_probabilities(n, weight, y):
    """Probability of each row, or None if an epoch visits every row once."""
    if weight is None:
        return None
    if isinstance(weight, str):
        if weight != "balanced" or y is None or len(y) != n:
            raise ValueError(
                "sample_weight must be numbers, or 'balanced' together with y, the "
                f"classes of {n} rows."
            )
        return balanced_rates(y)
    w = np.asarray(check_sample_weight(weight, n))
    return w / w.sum()


class EpochState(NamedTuple):
    """The point after an epoch, and the state of the transforms."""

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
    task: FitTask = SILENT,
) -> Result:
    """Mini-batch SGD on the mean over n rows; `f(x, rows)` -> (value, gradient).

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
    rng = make_rng(random_state)
    transform = scale_by_schedule(0.01) if transform is None else transform
    p = _row_probabilities(n, sample_weight, y)

    def step(s):
        order = rng.permutation(n) if p is None else rng.choice(n, n, p=p)
        x = s.current
        memory = s.memory
        total = 0.0
        mean = s.position
        k = s.count
        averaging = average is not None and s.epoch >= average
        for i in range(0, n, batch_size):
            rows = order[i : i + batch_size]
            looked_at = x if transform.look is None else transform.look(memory, x)
            value, g = f(looked_at, rows)
            move, memory = transform.update(g, memory, x)
            x = x + move
            total += float(value) * len(rows)
            if averaging:
                k += 1
                mean = x if k == 1 else mean + (x - mean) / k
        return EpochState(
            mean if averaging else x, memory, total / n, x, s.epoch + 1, k
        )

    start = EpochState(x, transform.init(x), np.inf, x)
    change = lambda old, new: abs(old.objective - new.objective)
    return iterate(step, start, max_iter=max_iter, tol=tol, change=change, task=task)

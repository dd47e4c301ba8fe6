"""Approximation error of nets of growing size: error against hidden units.

One hidden layer of squashing units and a linear output come as near to any continuous
function on an interval as one likes, if there are enough units. The theorem is about
nets that exist, not about those that training finds; the curve shows the latter. Nets
are trained on n points, with noise or without, and judged by the mean squared error
against the function itself on a finer grid. Other regressors can be put beside them.

Refs      [Cybenko1989]; [Hornik1989]
"""

from typing import Any, NamedTuple

import numpy as np
import torch

from ..core.random import make_rng
from ..nn.layers.init import glorot_uniform
from ..nn.nets.mlp import MLP
from ..nn.training.optimisers import Adam
from ..nn.training.schedules import warmup_cosine
from ..nn.training.train import train


class Approximation(NamedTuple):
    """The fit of one net or regressor."""

    name: str
    hidden_sizes: tuple[int, ...] | None  # None: a regressor given by the caller
    error: float  # mean squared, against the function
    training_error: float  # mean squared, against the points
    curve: np.ndarray  # predictions on the grid


class ApproximationCurve(NamedTuple):
    """Fits of nets of several sizes; prints as a table."""

    grid: np.ndarray
    target: np.ndarray
    x: np.ndarray
    y: np.ndarray
    fits: list[Approximation]

    @property
    def errors(self) -> dict[str, float]:
        """Mean squared error against the function, by name."""
        return {fit.name: fit.error for fit in self.fits}

    def __str__(self):
        width = max(len(fit.name) for fit in self.fits)
        return "\n".join(
            f"{fit.name:{width}}  error {fit.error:.6f}  on its points "
            f"{fit.training_error:.6f}"
            for fit in self.fits
        )


def approximation_curve(
    function=np.sin, hidden_sizes=((1,), (50,), (50, 50)), *, interval=(-np.pi, np.pi),
    n=100, noise=0.0, steps=2000, activation="tanh", random_state=0,
    others: dict[str, Any] | None = None,
) -> ApproximationCurve:  # fmt: skip
    """Train nets of several sizes on points of a function of one variable.

    Parameters
    ----------
    function : function of an array
    hidden_sizes : sequence of int or of tuples of int
        Units of the hidden layers of each net.
    interval : pair of floats
    n : int
        Training points, evenly spaced.
    noise : float
        Standard deviation of what is added to them.
    steps : int
        Steps of Adam on all points.
    activation : str
    others : {name: regressor}, optional
        Objects with `fit` and `predict`, such as a support vector regressor.
    random_state : int, Generator or None

    Examples
    --------
    >>> from pansophy import teaching
    >>> curve = teaching.approximation_curve(hidden_sizes=[1, 20], steps=500)
    >>> curve.errors["20 units"] < curve.errors["1 unit"]
    True
    """
    rng = make_rng(random_state)
    low, high = interval
    x = np.linspace(low, high, n)
    grid = np.linspace(low, high, 4 * n)
    target = function(grid)
    y = function(x) + noise * rng.standard_normal(n)
    centre, spread = (low + high) / 2, (high - low) / 12**0.5
    scaled = lambda points: ((points - centre) / spread)[:, None]
    fits = []

    def judge(name, sizes, predict):
        curve = np.asarray(predict(grid)).ravel()
        fitted = np.asarray(predict(x)).ravel()
        error = float(np.mean((curve - target) ** 2))
        training_error = float(np.mean((fitted - y) ** 2))
        fits.append(Approximation(name, sizes, error, training_error, curve))

    for sizes in hidden_sizes:
        sizes = tuple(np.atleast_1d(np.asarray(sizes, int)).tolist())
        start = glorot_uniform([1, *sizes, 1], rng, activation)
        net = MLP(*start, activation=activation, head="identity")
        schedule = warmup_cosine(steps // 20)
        train(
            net, (scaled(x), y[:, None]), epochs=1, batch_size=n, steps_per_epoch=steps,
            optimiser=Adam(0.01), schedule=schedule, seed=rng, device="cpu",
        )  # fmt: skip

        def predict(points, net=net):
            with torch.no_grad():
                return net(torch.as_tensor(scaled(points))).numpy()

        units = " + ".join(map(str, sizes))
        word = "unit" if sizes == (1,) else "units"
        judge(f"{units} {word}", sizes, predict)
    for name, regressor in (others or {}).items():
        regressor.fit(x[:, None], y)
        judge(name, None, lambda points, r=regressor: r.predict(points[:, None]))
    return ApproximationCurve(grid, target, x, y, fits)

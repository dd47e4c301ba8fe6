"""Neural ODEs: classifier and regressor for tables, and dynamics learnt from series.

Tables: columns are scaled and mapped to a state, which flows along a learnt vector
field from t = 0 to 1 and is then read out (`nn.FlowNet`):

    h(0) = W x + b,    h'(t) = f(t, h(t)),    F = V h(1) + c                     (1)

trained as `abstract_net` says. It is a residual net of any depth with one set of
weights: `method` and `n_steps` choose the depth, after training too.

Series: states x_i seen at times t_i follow one field, x'(t) = f(x). With windows of m
steps cut from the series (multiple shooting), the field minimises

    sum over windows and j <= m of |x(t_{i+j}; x_i) - x_{i+j}|^2                 (2)

x(t; x_i) being the solution that starts at the window's first state. Windows keep
gradients short where one long solution would forget, or explode. Times need not be
equally spaced: each row of a batch is integrated over its own interval by scaling time.

Shapes    X (n, d)   y (n,) or (n, outputs)   times (n,)
Refs      [Chen2018]; [Bock1984] multiple shooting
"""

from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from .. import nn
from ..base import Estimator
from ..core.arrays.ragged import as_ragged
from ..core.drivers.iterate import Result
from ..core.random import draw_seed, make_rng
from ..nn.training.abstract_training import WARM_UP, detached_net
from ..nn.training.devices import resolve_device, seeded_torch
from ..nn.training.schedules import warmup_cosine
from ..params import (
    Count,
    DeviceName,
    Flag,
    LayerSizes,
    NonNegative,
    Positive,
    Verbosity,
    check_params,
)
from ..typing import Seed
from .abstract_net import AbstractNet, AbstractNetClassifier, AbstractNetRegressor

ODEMethod = Literal[
    "euler", "midpoint", "heun", "rk4", "bosh3", "dopri5", "trapezoid", "kencarp4"
]
FieldActivation = Literal["tanh", "relu", "logistic", "elu", "leaky"]


def _check_flow_table(model, X, y, w):
    """Rows, targets and weights of a table of numbers."""
    X, y, w = model._check_training_data(X, y, w, y_kind=model._y_kind)
    return (X,), y, w


def _learn_column_scaling(model, inputs, w):
    """Mean and standard deviation of each column over the training rows."""
    (X,) = inputs
    model.center_ = np.average(X, axis=0, weights=w)
    spread = np.sqrt(np.average((X - model.center_) ** 2, axis=0, weights=w))
    flat = spread <= 1e-12 * np.maximum(np.abs(model.center_), 1e-300)
    model.scale_ = np.where(flat, 1.0, spread)
    return _scaled_columns(model, inputs)


def _scaled_columns(model, inputs):
    """Columns as the net takes them."""
    (X,) = inputs
    return (((X - model.center_) / model.scale_).astype(X.dtype),)


def _build_flow_net(model, n_outputs, head):
    """The net of an estimator's parameters."""
    adaptive = nn.TABLEAUS[model.method].adaptive
    options = {"rtol": model.rtol, "atol": model.rtol}
    if not adaptive:
        options = {"step": 1.0 / model.n_steps}
    return nn.FlowNet(
        model.n_features_in_,
        n_outputs,
        width=model.width,
        hidden=np.atleast_1d(np.asarray(model.hidden_layer_sizes, int)).tolist(),
        activation=model.activation,
        time=bool(model.time_dependent),
        head=head,
        method=model.method,
        **options,
    )


@dataclass(eq=False, repr=False)
class AbstractFlow(AbstractNet):
    """Neural ODEs for tables: the field, the solver, columns as they take them.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(32,)
        Hidden layers of the vector field.
    width : int, default=16
        Columns of the state that flows.
    activation : {"tanh", "relu", "logistic", "elu", "leaky"}, default="tanh"
        Of the field; smooth ones suit methods of high order.
    time_dependent : bool, default=True
        Whether the field changes along the flow.
    method : str, default="rk4"
        Solver, one of `nn.TABLEAUS`. With an adaptive one ("dopri5") all rows of a
        prediction share their steps, so that a row's answer depends on the others
        within `rtol`.
    n_steps : int, default=4
        Steps of a method with fixed steps.
    rtol : float, default=0.0001
        Tolerance of an adaptive method.
    mc_dropout : int, default=0
        Must be 0: the flow has no dropout.

    Attributes
    ----------
    center_, scale_ : arrays of shape (d,)
        Of the columns of X.
    """

    hidden_layer_sizes: LayerSizes = (32,)
    _: KW_ONLY
    width: Count = 16
    activation: FieldActivation = "tanh"
    time_dependent: Flag = True
    method: ODEMethod = "rk4"
    n_steps: Count = 4
    rtol: Positive = 1e-4
    learning_rate_init: Positive = 0.01
    n_epochs: Count = 100

    _learn_inputs = _learn_column_scaling
    _encode_inputs = _scaled_columns
    _build_net = _build_flow_net

    def fit(self, X, y, sample_weight=None, validation=None):
        """Train the field and both linear maps.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,), or (n, outputs) of numbers
        sample_weight : array of shape (n,) or None
        validation : (X, y) or (X, y, sample_weight) or None
            Rows of your own to stop by; turns early stopping on.
        """
        return self._fit(X, y, sample_weight, validation)

    def _check_inputs(self, X, y, sample_weight):
        _refuse_mc_dropout(self)
        return _check_flow_table(self, X, y, sample_weight)

    def _check_new_inputs(self, X):
        return (self._check_new_data(X),)


@dataclass(eq=False, repr=False)
class NeuralODEClassifier(AbstractFlow, AbstractNetClassifier):
    """Neural ODE for classes of table rows; the module text gives the method.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(32,)
        Hidden layers of the vector field.

    Attributes
    ----------
    classes_ : array

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from pansophy.neural_network import NeuralODEClassifier
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = NeuralODEClassifier(random_state=0, device="cpu", n_epochs=40)
    >>> bool(model.fit(X, y).score(X, y) > 0.95)
    True
    """


@dataclass(eq=False, repr=False)
class NeuralODERegressor(AbstractFlow, AbstractNetRegressor):
    """Neural ODE for numbers from table rows; the module text gives the method.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(32,)
        Hidden layers of the vector field.

    Attributes
    ----------
    center_, scale_ : arrays of shape (d,)
        Of the columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.neural_network import NeuralODERegressor
    >>> X = np.linspace(-2, 2, 200)[:, None]
    >>> model = NeuralODERegressor(random_state=0, device="cpu", n_epochs=60)
    >>> bool(model.fit(X, np.sin(2 * X[:, 0])).score(X, np.sin(2 * X[:, 0])) > 0.95)
    True
    """


def _refuse_mc_dropout(model):
    """Raise if passes with dropout are asked of a net without any."""
    if model.mc_dropout:
        raise ValueError(
            f"mc_dropout of {type(model).__name__} must be 0: its flow has no dropout; "
            "n_estimators gives several answers."
        )


# Series


class WindowNet(torch.nn.Module):
    """A field and eq. (2) on windows of scaled states."""

    def __init__(self, field, method, n_steps):
        super().__init__()
        self.field = field
        self.method, self.n_steps = method, n_steps

    def losses(self, batch) -> dict:
        """Mean squared error of the windows (k, m + 1, d) with steps (k, m)."""
        states, gaps = batch
        x = states[:, 0]
        total = 0.0
        for j in range(gaps.shape[1]):
            h = gaps[:, j, None]
            scaled = lambda s, y, h=h: h * self.field(s, y)
            x = nn.odeint(
                scaled, x, (0.0, 1.0), self.method, step=1 / self.n_steps,
                checkpoints=False,
            ).y[-1]  # fmt: skip
            total = total + (x - states[:, j + 1]).square().mean()
        return {"loss": total / gaps.shape[1]}


@dataclass(eq=False, repr=False)
class NeuralODEDynamics(Estimator):
    """Dynamics x' = f(x) learnt from series of states, eq. (2).

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(64,)
        Hidden layers of the field f.
    activation : {"tanh", "relu", "logistic", "elu", "leaky"}, default="tanh"
    window : int, default=10
        Steps m of a window; short series have shorter ones.
    n_steps : int, default=2
        Steps of the classical Runge-Kutta method between neighbouring samples.
    weight_decay : float, default=0
    batch_size : int, default=64
        Windows per step.
    learning_rate_init : float, default=0.01
        The highest rate; it falls to 0 along a half cosine.
    n_epochs : int, default=200
        Passes over the windows.
    rtol : float, default=1e-6
        Tolerance of `predict`, which is solved adaptively.
    random_state : int, RandomState, Generator or None, default=None
    verbose : bool or int, default=False
    device : {"auto", "cpu", "cuda"}, default="auto"

    Attributes
    ----------
    field_ : torch module
        f in scaled states.
    center_, scale_ : arrays of shape (d,)
    last_state_, last_time_ : array of shape (d,), float
        Where the last series ends, the start of `forecast`.
    time_scale_ : float
        Median time between samples.
    loss_, n_iter_, history_, converged_, interrupted_
        How training went.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.neural_network import NeuralODEDynamics
    >>> t = np.linspace(0, 10, 200)
    >>> X = np.c_[np.cos(t), -np.sin(t)]
    >>> model = NeuralODEDynamics(n_epochs=20, random_state=0, device="cpu").fit(X, t)
    >>> bool(abs(model.predict(X[0], t[:50]) - X[:50]).max() < 0.1)
    True
    """

    hidden_layer_sizes: LayerSizes = (64,)
    _: KW_ONLY
    activation: FieldActivation = "tanh"
    window: Count = 10
    n_steps: Count = 2
    weight_decay: NonNegative = 0.0
    batch_size: Count = 64
    learning_rate_init: Positive = 0.01
    n_epochs: Count = 200
    rtol: Positive = 1e-6
    random_state: Seed = None
    verbose: Verbosity = False
    device: DeviceName = "auto"

    def fit(self, X, times=None, lengths=None, y=None):
        """Fit to one series (n, d), or several.

        Parameters
        ----------
        X : array (n, d), list of arrays, or Ragged
            States in the order of time.
        times : array of shape (n,) or None
            Of all rows; they rise within each series. None: 0, 1, 2, ...
        lengths : array of int or None
            Rows of each series, if X is one array of several.
        """
        check_params(self)
        series = _read_series(X, lengths)
        states = np.asarray(series.values, dtype=float).reshape(len(series.values), -1)
        if not np.isfinite(states).all():
            raise ValueError("X of NeuralODEDynamics contains NaN or infinity.")
        times = _check_series_times(times, series)
        self.n_features_in_ = states.shape[1]
        self.center_ = states.mean(axis=0)
        spread = states.std(axis=0)
        self.scale_ = np.where(spread > 0, spread, 1.0)
        gaps = np.concatenate(
            [np.diff(times[a:b]) for a, b in pairwise(series.offsets)]
        )
        self.time_scale_ = float(np.median(gaps))
        scaled = (states - self.center_) / self.scale_
        windows = _cut_windows(
            scaled, times / self.time_scale_, series.offsets, self.window
        )
        rng = make_rng(self.random_state)
        hidden = np.atleast_1d(np.asarray(self.hidden_layer_sizes, int)).tolist()
        field = nn.MLPField(
            states.shape[1], hidden, activation=self.activation, rng=draw_seed(rng)
        )
        net = WindowNet(field, "rk4", self.n_steps)
        result = self._train(net, windows, rng)
        self.field_ = detached_net(result.state.net.field)
        losses = result.history.get("loss", np.empty(0))
        self.loss_ = float(losses[-1]) if len(losses) else float("inf")
        self.last_state_ = states[-1]
        self.last_time_ = float(times[-1])
        return self

    def _train(self, net, windows, rng) -> Result:
        batch = min(self.batch_size, len(windows[0]))
        steps = self.n_epochs * -(-len(windows[0]) // batch)
        return self._run_driver(
            lambda task: nn.train(
                net,
                windows,
                epochs=self.n_epochs,
                batch_size=batch,
                optimiser=nn.Adam(self.learning_rate_init, decay=self.weight_decay),
                schedule=warmup_cosine(int(WARM_UP * steps)),
                device=self.device,
                seed=rng,
                task=task,
            ),
            total=self.n_epochs,
            X=windows[0],
            snapshot=lambda state: {"field_": detached_net(state.net.field)},
        )

    def predict(self, start, times):
        """States (m, d) at the times (m,), from the state `start` at times[0].

        Times may fall: the flow then runs backwards. `start` may be (k, d): the
        result is then (m, k, d).
        """
        check_is_fitted(self, "field_")
        start = np.asarray(start, dtype=float)
        if start.shape[-1:] != (self.n_features_in_,):
            raise ValueError(
                f"start must have {self.n_features_in_} columns, got shape "
                f"{start.shape}."
            )
        times = np.asarray(times, dtype=float) / self.time_scale_
        device = resolve_device(self.device)
        with torch.no_grad(), seeded_torch(device, 0):
            x = torch.as_tensor((start - self.center_) / self.scale_, device=device)
            field = detached_net(self.field_).to(device, torch.float64)
            y = nn.odeint(field, x, times, rtol=self.rtol, atol=self.rtol).y
        return y.cpu().numpy() * self.scale_ + self.center_

    def forecast(self, n: int = 1):
        """The next n states after the last series, at its median distance in time."""
        check_is_fitted(self, "field_")
        times = self.last_time_ + self.time_scale_ * np.arange(n + 1)
        return self.predict(self.last_state_, times)[1:]


def _read_series(X, lengths):
    """One array, a list of arrays or a Ragged as series of at least two states."""
    if lengths is None and isinstance(X, np.ndarray) and X.dtype != object:
        X = [X.reshape(len(X), -1)]
    series = as_ragged(X, lengths)
    if (np.diff(series.offsets) < 2).any():
        raise ValueError("every series of X must have at least two states.")
    return series


def _check_series_times(times, series) -> np.ndarray:
    """Times of all rows, which rise within each series."""
    n = len(series.values)
    if times is None:
        first = np.repeat(series.offsets[:-1], np.diff(series.offsets))
        return np.arange(n, dtype=float) - first
    times = np.asarray(times, dtype=float)
    if times.shape != (n,):
        raise ValueError(f"times must have shape ({n},), got {times.shape}.")
    rises = np.diff(times) > 0
    rises[series.offsets[1:-1] - 1] = True  # from one series to the next
    if not (rises.all() and np.isfinite(times).all()):
        raise ValueError("times must be finite and rise within each series.")
    return times


def _cut_windows(states, times, offsets, window) -> tuple[Any, Any]:
    """Overlapping windows (k, m + 1, d) and their time steps (k, m), float32."""
    m = min(window, int(np.diff(offsets).min()) - 1)
    starts = np.concatenate([np.arange(a, b - m) for a, b in pairwise(offsets)])
    index = starts[:, None] + np.arange(m + 1)
    return (
        states[index].astype(np.float32),
        np.diff(times[index], axis=1).astype(np.float32),
    )

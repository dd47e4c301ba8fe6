"""Neural ordinary differential equations, and the residual nets they are limits of.

    h_{j+1} = h_j + s f_j(h_j),       j = 0..n-1      residual net               (1)
    h'(t) = f(t, h(t)),  h(0) = x,  output h(1)       neural ODE                 (2)

Euler's method on (2) with n steps of length 1/n is (1) with s = 1/n and one shared
f. A flow has an inverse, the same equation integrated backwards, so trajectories never
cross; `augment` adds columns of zeros, in whose space they may pass each other. The
solver and its gradients are in `nn.ode`.

`MLPField` is f as a perceptron of y and, if asked, t:

    f(t, y) = W_L g(... g(y W_1 + t w + b_1) ...) + b_L                          (3)

It gives its own derivatives to `nn.ode.field_gradients`, which spares autograd's
bookkeeping: of small fields the larger part of the time.
Shapes    h (n, d)   W_l (m_{l-1}, m_l)   b_l (m_l,)   w (m_1,)
Refs      [He2016] (1); [Chen2018] (2); [Dupont2019] augment
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ..layers.activations import ACTIVATIONS
from ..layers.init import glorot_uniform
from ..ode.field_gradients import field_pass
from ..ode.ode import ODESolution, odeint
from .heads import HEADS, weighted_mean_loss


class MLPField(nn.Module):
    """A vector field that is a perceptron, eq. (3).

    Parameters
    ----------
    width : int
        Columns of y.
    hidden : sequence of int
        Units of each hidden layer.
    activation : str
        One of `nn.ACTIVATIONS`.
    time : bool
        Whether the field depends on t.
    rng : numpy Generator, seed or None
        Draws the initial weights; the last layer starts small, so that the flow starts
        near the identity.
    dtype : torch.dtype
    """

    def __init__(
        self, width: int, hidden: Sequence[int] = (64,), *, activation="tanh",
        time=False, rng=None, dtype=torch.float32,
    ):  # fmt: skip
        super().__init__()
        sizes = [int(width), *(int(m) for m in hidden), int(width)]
        coefs, intercepts = glorot_uniform(
            sizes, np.random.default_rng(rng), activation
        )
        coefs[-1] *= 0.1
        parameter = lambda a: nn.Parameter(torch.tensor(a, dtype=dtype))
        self.weights = nn.ParameterList([parameter(W) for W in coefs])
        self.biases = nn.ParameterList([parameter(0 * b) for b in intercepts])
        self.time_weight = parameter(np.zeros(sizes[1])) if time else None
        self.activation_name = activation

    has_manual_gradients = True

    @property
    def activation(self):
        """g."""
        return ACTIVATIONS[self.activation_name]

    def forward(self, t, y: Tensor) -> Tensor:
        """f(t, y)."""
        H = y
        last = len(self.weights) - 1
        for i, (W, b) in enumerate(zip(self.weights, self.biases)):
            H = H @ W + b
            if i == 0 and self.time_weight is not None:
                H = H + t * self.time_weight
            if i < last:
                H = self.activation.value(H)
        return H

    def manual_pass(self, table, control, y0: Tensor):
        """Steps and their derivatives without autograd, for one solution."""
        return field_pass(self, table, control, y0)


class NeuralODE(nn.Module):
    """The flow of a vector field from one time to another, eq. (2).

    Parameters
    ----------
    field : torch.nn.Module of (t, y)
    t : pair of numbers
        From where to where x flows.
    method : str
        One of `nn.TABLEAUS`.
    options : keyword arguments of `nn.odeint`
        `rtol`, `atol`, `step`, `max_steps`, `gradient`, `checkpoints`.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import MLPField, NeuralODE
    >>> flow = NeuralODE(MLPField(2, (16,), rng=0), rtol=1e-7, atol=1e-7)
    >>> x = torch.randn(5, 2)
    >>> bool((flow.inverse(flow(x)) - x).abs().max() < 1e-5)
    True
    """

    def __init__(self, field, t=(0.0, 1.0), method="dopri5", **options):
        super().__init__()
        self.field = field
        self.t = (float(t[0]), float(t[1]))
        self.method = method
        self.options = options

    def solve(self, x, t=None) -> ODESolution:
        """The states at the times t (by default the two ends)."""
        t = self.t if t is None else t
        return odeint(self.field, x, t, self.method, **self.options)

    def forward(self, x: Tensor) -> Tensor:
        """The state at the end."""
        return self.solve(x).y[-1]

    def inverse(self, y: Tensor) -> Tensor:
        """The x whose flow ends at y."""
        return self.solve(y, self.t[::-1]).y[-1]

    def extra_repr(self):
        return f"t={self.t}, method={self.method!r}"


class ResidualNet(nn.Module):
    """h <- h + scale f_j(h) for each f_j, eq. (1).

    Parameters
    ----------
    blocks : sequence of modules h -> f(h), or one module
        One module is shared by all steps.
    n : int or None
        Number of steps of a shared module.
    scale : float
        s; 1/n makes a shared module Euler's method on [0, 1].

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import NeuralODE, ResidualNet
    >>> layer = torch.nn.Linear(3, 3)
    >>> x = torch.randn(4, 3)
    >>> euler = NeuralODE(lambda t, h: layer(h), method="euler", step=1 / 5)
    >>> torch.allclose(ResidualNet(layer, 5, scale=1 / 5)(x), euler(x))
    True
    """

    def __init__(self, blocks, n: int | None = None, *, scale: float = 1.0):
        super().__init__()
        shared = isinstance(blocks, nn.Module)
        if shared != (n is not None):
            raise ValueError("n is the number of steps of one shared module.")
        self.blocks = nn.ModuleList([blocks] if shared else blocks)
        self.n = len(self.blocks) if n is None else int(n)
        self.scale = float(scale)

    def forward(self, h: Tensor) -> Tensor:
        """h_n."""
        for j in range(self.n):
            h = torch.add(h, self.blocks[j % len(self.blocks)](h), alpha=self.scale)
        return h


class FlowNet(nn.Module):
    """Rows to scores by a flow: a linear map, eq. (2), and a linear map.

    The flow has `width` columns, which may be more than those of x.

    Parameters
    ----------
    n_features, n_outputs : int
    width : int
        Columns of the flow.
    hidden : sequence of int
        Hidden layers of its field.
    activation : str
    time : bool
        Whether the field depends on t.
    head : str
        One of `nn.HEADS`.
    method, options : of `NeuralODE`
    """

    def __init__(
        self, n_features, n_outputs, *, width=16, hidden=(32,), activation="tanh",
        time=True, head="softmax", method="rk4", **options,
    ):  # fmt: skip
        super().__init__()
        self.head = head
        self.input = nn.Linear(n_features, width)
        seed = int(torch.randint(2**31, ()))
        field = MLPField(width, hidden, activation=activation, time=time, rng=seed)
        self.flow = NeuralODE(field, method=method, **options)
        self.output = nn.Linear(width, n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Scores F."""
        return self.output(self.flow(self.input(x)))

    def losses(self, batch) -> dict[str, Tensor]:
        """Weighted mean loss of a batch (x, Y) or (x, Y, w)."""
        x, Y, *rest = batch
        w = rest[0] if rest else None
        return {"loss": weighted_mean_loss(HEADS[self.head], Y, self.forward(x), w)}

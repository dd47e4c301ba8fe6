"""Activation functions, and their derivatives as functions of the output.

Each of these is monotone enough that its slope is a function of the output h = g(z)
alone, so back-propagation needs no z:

    identity  g = z               g' = 1
    relu      g = max(z, 0)       g' = [h > 0]
    logistic  g = 1/(1 + e^-z)    g' = h (1 - h)
    tanh      g = tanh z          g' = 1 - h^2
    leaky     g = max(z, z/10)    g' = 1 if h > 0 else 1/10
    elu       g = z or e^z - 1    g' = 1 if h > 0 else h + 1

    step      g = [z > 0]         sign   g = 1 if z >= 0 else -1   (no useful slope)

Units that jump are in `THRESHOLDS`, apart from those that gradients can train. Maxout
is the largest of several linear maps, which learns the shape of its activation:

    maxout    h = max_p (x W_p + b_p)

with two pieces, one of them 0 and the other the identity, it is relu.

Refs      [Nair2010] relu; [Maas2013] leaky; [Clevert2016] elu;
          [Goodfellow2013] maxout
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...params import check_count

aten = torch.ops.aten
LEAK = 0.1


class Activation(NamedTuple):
    """g, and the product of a gradient with g' written in terms of h = g(z)."""

    name: str
    value: Callable[[Tensor], Tensor]  # z -> h, new
    apply_: Callable[[Tensor], Tensor]  # z -> h, in place
    backward: Callable[[Tensor, Tensor], Tensor]  # dJ/dh, h -> dJ/dz
    differentiable: bool = True  # but for single points

    def slope(self, Z: Tensor) -> Tensor:
        """g'(z)."""
        H = self.value(Z)
        return self.backward(torch.ones_like(H), H)


def _leaky_backward(G, H):
    return torch.where(H > 0, G, LEAK * G)


def _elu_backward(G, H):
    return torch.where(H > 0, G, G * (H + 1))


ACTIVATIONS = {
    a.name: a
    for a in (
        Activation("identity", lambda Z: Z, lambda Z: Z, lambda G, H: G),
        Activation(
            "relu",
            torch.relu,
            torch.relu_,
            lambda G, H: aten.threshold_backward(G, H, 0),
        ),
        Activation("logistic", torch.sigmoid, torch.sigmoid_, aten.sigmoid_backward),
        Activation("tanh", torch.tanh, torch.tanh_, aten.tanh_backward),
        Activation(
            "leaky",
            lambda Z: functional.leaky_relu(Z, LEAK),
            lambda Z: functional.leaky_relu_(Z, LEAK),
            _leaky_backward,
        ),
        Activation("elu", functional.elu, functional.elu_, _elu_backward),
    )
}


def _step_function(Z: Tensor) -> Tensor:
    """1 where z > 0, else 0."""
    return (Z > 0).to(Z.dtype)


def _sign_function(Z: Tensor) -> Tensor:
    """-1 where z < 0, else 1."""
    return torch.where(Z < 0, -1.0, 1.0).to(Z.dtype)


def _no_slope(G, H):
    return torch.zeros_like(G)


THRESHOLDS = {
    a.name: a
    for a in (
        Activation("step", _step_function, _step_function, _no_slope, False),
        Activation("sign", _sign_function, _sign_function, _no_slope, False),
    )
}


class LeakyReLU(nn.Module):
    """max(z, slope z).

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> nn.LeakyReLU()(torch.tensor([-2.0, 3.0]))
    tensor([-0.2000,  3.0000])
    """

    def __init__(self, slope: float = LEAK):
        super().__init__()
        if not 0 <= slope < 1:
            raise ValueError(
                f"slope of LeakyReLU must be from 0 to below 1, got {slope}."
            )
        self.slope = float(slope)

    def forward(self, Z: Tensor) -> Tensor:
        return functional.leaky_relu(Z, self.slope)


class ELU(nn.Module):
    """z where z > 0, a (e^z - 1) elsewhere.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> nn.ELU()(torch.tensor([-2.0, 3.0]))
    tensor([-0.8647,  3.0000])
    """

    def __init__(self, a: float = 1.0):
        super().__init__()
        if a < 0:
            raise ValueError(f"a of ELU must not be negative, got {a}.")
        self.a = float(a)

    def forward(self, Z: Tensor) -> Tensor:
        return functional.elu(Z, self.a)


class Maxout(nn.Module):
    """The largest of several linear maps of the input, unit by unit.

    Parameters
    ----------
    n_inputs, n_units : int
    pieces : int
        Linear maps per unit.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> layer = nn.Maxout(1, 1)
    >>> with torch.no_grad():
    ...     _ = layer.weight.copy_(torch.tensor([[[0.0]], [[1.0]]]))
    ...     _ = layer.bias.zero_()
    >>> layer(torch.tensor([[-2.0], [3.0]])).detach()  # relu
    tensor([[0.],
            [3.]])
    """

    undecayed = ("bias",)

    def __init__(self, n_inputs: int, n_units: int, pieces: int = 2):
        super().__init__()
        check_count("pieces of Maxout", pieces)
        bound = (6 / (n_inputs + n_units)) ** 0.5
        shape = (pieces, n_inputs, n_units)
        self.weight = nn.Parameter(torch.empty(shape).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(pieces, 1, n_units))

    def forward(self, X: Tensor) -> Tensor:
        rows = X.reshape(1, -1, X.shape[-1])
        best = (rows @ self.weight + self.bias).amax(0)
        return best.reshape(*X.shape[:-1], best.shape[-1])

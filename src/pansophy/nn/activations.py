"""Activation functions, and their derivatives as functions of the output.

Each of these is monotone enough that its slope is a function of the output h = g(z)
alone, so back-propagation needs no z:

    identity  g = z               g' = 1
    relu      g = max(z, 0)       g' = [h > 0]
    logistic  g = 1/(1 + e^-z)    g' = h (1 - h)
    tanh      g = tanh z          g' = 1 - h^2
    leaky     g = max(z, z/10)    g' = 1 if h > 0 else 1/10
    elu       g = z or e^z - 1    g' = 1 if h > 0 else h + 1

Refs      [Nair2010] relu; [Maas2013] leaky; [Clevert2016] elu
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

aten = torch.ops.aten
LEAK = 0.1


class Activation(NamedTuple):
    """g, and the product of a gradient with g' written in terms of h = g(z)."""

    name: str
    value: Callable[[Tensor], Tensor]  # z -> h, new
    apply_: Callable[[Tensor], Tensor]  # z -> h, in place
    backward: Callable[[Tensor, Tensor], Tensor]  # dJ/dh, h -> dJ/dz


def leaky_backward(G, H):
    return torch.where(H > 0, G, LEAK * G)


def elu_backward(G, H):
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
            leaky_backward,
        ),
        Activation("elu", functional.elu, functional.elu_, elu_backward),
    )
}

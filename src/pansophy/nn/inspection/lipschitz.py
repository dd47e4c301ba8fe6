"""Lipschitz constants of nets: bounds from above and below, spectral normalisation.

A function f has the Lipschitz constant K if |f(a) - f(b)| <= K |a - b| for all a, b, in
Euclidean norms. That of a linear map is its largest singular value, that of a chain at
most the product, and a sum x + f(x) has at most 1 plus that of f:

    K(f_1 o f_2) <= K(f_1) K(f_2),    K(x -> x + s f(x)) <= 1 + |s| K(f)         (1)

so that a net of linear layers and activations of constant 1 (relu, tanh, |x|, ...) is
bounded by the product of its layers' spectral norms. The largest ratio over pairs of
sample points is a bound from below.

Spectral normalisation divides a weight by its largest singular value sigma, estimated
by power iteration whose vectors are kept from call to call (`optim.power_iteration`). A
convolution is normalised as the linear map it is on its input, by the same iteration
with the convolution and its transpose; the matrix of its kernel has another norm.

Refs      [Miyato2018]; [Gouk2021]
"""

import math
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from ..layers.conv import Conv
from ..nets.neural_ode import ResidualNet

# Largest slope of torch's activations
ACTIVATION_CONSTANTS: dict[type, float] = {
    nn.Identity: 1.0, nn.ReLU: 1.0, nn.LeakyReLU: 1.0, nn.ELU: 1.0, nn.Tanh: 1.0,
    nn.Softplus: 1.0, nn.Hardtanh: 1.0, nn.ReLU6: 1.0, nn.Softshrink: 1.0,
    nn.Sigmoid: 0.25, nn.Dropout: 1.0, nn.Flatten: 1.0, nn.MaxPool1d: 1.0,
    nn.LogSigmoid: 1.0, nn.Softsign: 1.0, nn.Unflatten: 1.0,
    nn.SiLU: 1.0998394, nn.GELU: 1.1289041,
}  # fmt: skip


def lipschitz_bound(net, input_shape=None) -> float:
    """An upper bound on the Lipschitz constant of a net, by eq. (1).

    Parameters
    ----------
    net : torch.nn.Module
        `Sequential`, `ResidualNet`, linear layers, convolutions, activations of
        constant slope bounds, `SpectralNorm` and nests of them, or `nn.MLP`.
    input_shape : tuple of int or None
        Shape of one row, which convolutions need.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import lipschitz_bound
    >>> double = torch.nn.Linear(2, 2)
    >>> double.weight.data = 2 * torch.eye(2)
    >>> lipschitz_bound(torch.nn.Sequential(double, torch.nn.ReLU(), double))
    4.0
    """
    with torch.no_grad():
        shape = None if input_shape is None else tuple(input_shape)
        return float(_bound_and_shape(net, shape)[0])


def _bound_and_shape(net, shape) -> tuple[float, Any]:
    """The bound of a module, and the shape of its output for a row of `shape`."""
    bound = _module_bound(net, shape)
    if shape is not None and not isinstance(net, (nn.Sequential, ResidualNet)):
        like = next(iter(net.parameters()), torch.zeros(1))
        row = torch.zeros(1, *shape, dtype=like.dtype, device=like.device)
        shape = tuple(net(row).shape[1:])
    elif isinstance(net, nn.Sequential):
        for part in net:
            shape = _bound_and_shape(part, shape)[1]
    return bound, shape


def _module_bound(net, shape) -> float:
    """The bound of one module."""
    if isinstance(net, nn.Sequential):
        total = 1.0
        for part in net:
            bound, shape = _bound_and_shape(part, shape)
            total *= bound
        return total
    if isinstance(net, ResidualNet):
        parts = [_module_bound(block, shape) for block in net.blocks]
        steps = [parts[j % len(parts)] for j in range(net.n)]
        return math.prod(1 + abs(net.scale) * bound for bound in steps)
    if isinstance(net, SpectralNorm):
        return _module_bound(net.normalised(), shape)
    if isinstance(net, nn.Linear):
        return float(torch.linalg.matrix_norm(net.weight, 2))
    if isinstance(net, (nn.Conv1d, nn.Conv2d, nn.Conv3d, Conv)):
        if shape is None:
            raise ValueError("a convolution's bound needs input_shape.")
        return _convolution_norm(net, shape)
    weights = getattr(net, "weights", None)
    slope = getattr(getattr(net, "activation", None), "name", None)
    if weights is not None and slope is not None:  # nn.MLP, nn.MLPField
        inner = 0.25 if slope == "logistic" else 1.0
        norms = [float(torch.linalg.matrix_norm(W, 2)) for W in weights]
        return math.prod(norms) * inner ** (len(norms) - 1)
    for kind, constant in ACTIVATION_CONSTANTS.items():
        if type(net) is kind:
            return _leaky_constant(net, constant)
    raise TypeError(
        f"no Lipschitz bound is known for {type(net).__name__}; bounds are there for "
        "linear layers, convolutions, activations, Sequential and ResidualNet."
    )


def _leaky_constant(net, constant) -> float:
    """The constant of an activation with a slope of its own."""
    if isinstance(net, nn.LeakyReLU):
        return max(constant, abs(net.negative_slope))
    if isinstance(net, nn.ELU):
        return max(constant, abs(net.alpha))
    return constant


def lipschitz_estimate(f, X) -> float:
    """The largest |f(a) - f(b)| / |a - b| over pairs of rows of X: a lower bound.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import lipschitz_estimate
    >>> lipschitz_estimate(torch.abs, torch.linspace(-1, 1, 11)[:, None])
    1.0
    """
    X = torch.as_tensor(X)
    X = X if X.is_floating_point() else X.to(torch.get_default_dtype())
    with torch.no_grad():
        Y = f(X)
        output_distances = torch.pdist(Y.reshape(len(Y), -1).double())
        input_distances = torch.pdist(X.reshape(len(X), -1).double())
    apart = input_distances > 0
    if not bool(apart.any()):
        raise ValueError("X must hold at least two different rows.")
    return float((output_distances[apart] / input_distances[apart]).max())


def _convolution_norm(layer, shape, n_iter: int = 200) -> float:
    """The largest singular value of a convolution on inputs of `shape`.

    Power iteration comes from below, so its last change is added.
    """
    generator = torch.Generator(device="cpu").manual_seed(0)
    v = torch.randn(1, *shape, generator=generator).to(layer.weight)
    sigma = old_sigma = 0.0
    for _ in range(n_iter):
        v = v / torch.linalg.vector_norm(v)
        u, back = _convolution_pair(layer, v)
        old_sigma, sigma = sigma, float(torch.linalg.vector_norm(u))
        if sigma == 0:
            return 0.0
        v = back(u)
        if sigma - old_sigma <= 1e-9 * sigma:
            break
    return sigma + max(sigma - old_sigma, 0.0)


def _convolution_pair(layer, v):
    """u = A v for the convolution A without its bias, and the function u -> A' u."""
    with torch.enable_grad():
        leaf = v.detach().requires_grad_()
        u = layer(leaf)
        if layer.bias is not None:
            u = u - layer.bias.view(-1, *[1] * (u.ndim - 2))

    def back(g):
        return torch.autograd.grad(u, leaf, g)[0]

    return u.detach(), back


class SpectralNorm(nn.Module):
    """A linear layer or convolution whose weight is divided by its spectral norm.

    Parameters
    ----------
    layer : torch.nn.Linear, Conv1d, Conv2d or Conv3d, or nn.Conv
    n_iter : int
        Power iterations a training step; the vector is kept between calls, and is
        not moved in evaluation mode.
    scale : float
        The spectral norm wanted.
    input_shape : tuple of int or None
        Shape of one input of a convolution.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import SpectralNorm, lipschitz_bound
    >>> layer = SpectralNorm(torch.nn.Linear(5, 4))
    >>> _ = [layer(torch.randn(2, 5)) for _ in range(50)]
    >>> round(lipschitz_bound(layer), 4)
    1.0
    """

    def __init__(self, layer, *, n_iter: int = 1, scale=1.0, input_shape=None):
        super().__init__()
        kinds = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, Conv)
        if not isinstance(layer, kinds):
            raise TypeError(
                f"SpectralNorm takes linear layers and convolutions, got "
                f"{type(layer).__name__}."
            )
        if not isinstance(layer, nn.Linear) and input_shape is None:
            raise ValueError("a convolution needs input_shape.")
        self.layer = layer
        self.n_iter = int(n_iter)
        self.scale = float(scale)
        self.input_shape = None if input_shape is None else tuple(input_shape)
        shape = (layer.in_features,) if isinstance(layer, nn.Linear) else input_shape
        generator = torch.Generator().manual_seed(0)
        v = torch.randn(*shape, generator=generator).to(layer.weight)
        self.register_buffer("v", v / torch.linalg.vector_norm(v))
        with torch.no_grad():
            for _ in range(15):  # so that the first step is near the answer
                self._iterate()

    def _apply_map(self, v, weight):
        """The layer's linear map on one row."""
        if isinstance(self.layer, nn.Linear):
            return weight @ v
        return self.layer._conv_forward(v[None], weight, None)[0]

    @torch.no_grad()
    def _iterate(self):
        weight = self.layer.weight.detach()
        if isinstance(self.layer, nn.Linear):
            v = weight.t() @ (weight @ self.v)
        else:
            u, back = _convolution_pair(self.layer, self.v[None])
            v = back(u)[0]
        norm = torch.linalg.vector_norm(v)
        if float(norm) > 0:
            self.v.copy_(v / norm)

    def weight(self) -> Tensor:
        """The divided weight; its gradient goes through sigma too."""
        W = self.layer.weight
        v = self.v.clone()  # a later iteration must not change what backward reads
        image = self._apply_map(v, W)
        u = image.detach()
        norm = torch.linalg.vector_norm(u)
        sigma = ((u / norm) * image).sum() if float(norm) > 0 else image.sum() + 1.0
        return W * (self.scale / sigma)

    def forward(self, x: Tensor) -> Tensor:
        """The layer with its normalised weight."""
        if self.training:
            for _ in range(self.n_iter):
                self._iterate()
        if isinstance(self.layer, nn.Linear):
            return nn.functional.linear(x, self.weight(), self.layer.bias)
        return self.layer._conv_forward(x, self.weight(), self.layer.bias)

    @torch.no_grad()
    def normalised(self):
        """A plain layer with the normalised weight."""
        plain = deepcopy(self.layer)
        plain.weight.copy_(self.weight())
        return plain

"""The net of an autoencoder: encoder, code, decoder, and the terms of its loss.

With standardised rows x, an encoder e, a decoder d and codes c = a(e(x)),

    reconstruction   mean_i |x_i - d(c_i)|^2 / 2                                   (1)
    denoising        the same with c_i = a(e(x_i + noise)), to the clean x_i       (2)
    contraction      lambda mean_i |dc/dx|_F^2                                     (3)
    sparsity         beta sum_j KL(rho, r_j),   r_j = mean_i c_ij                  (4)

    KL(rho, r) = rho log(rho / r) + (1 - rho) log((1 - rho) / (1 - r))             (5)

(1) is minus the log-likelihood of a unit Gaussian, but for a constant. Means are
weighted. The loss is the sum of the terms; which of them occur is a matter of options:
a plain autoencoder has (1) alone. With tied weights the decoder has the transposed
matrices of the encoder in reverse order and biases of its own.

New codes are drawn from the Gaussian of the training rows' e(x), then a is applied.

Shapes    x (n, d)   c (n, k)
Refs      [Hinton2006]; [Vincent2008] eq. (2); [Rifai2011] eq. (3); [Ng2011] eq. (4)
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...nn.layers.activations import ACTIVATIONS
from ...nn.layers.dense_layers import DenseLayers
from ..abstract_generator import batch_mean

CORRUPTIONS = {
    "gaussian": lambda X, noise: X + noise * torch.randn_like(X),
    "masking": lambda X, noise: X * (torch.rand_like(X) >= noise),
}


def bernoulli_divergence(rho: float, r: Tensor) -> Tensor:
    """Eq. (5) for tensors with gradients; `distributions.kl` is the general one."""
    return rho * (rho / r).log() + (1 - rho) * ((1 - rho) / (1 - r)).log()


class TiedDecoder(nn.Module):
    """The decoder whose matrices are those of the encoder, transposed."""

    def __init__(self, sizes: Sequence[int], activation: str):
        super().__init__()
        self.activation = activation
        self.biases = nn.ParameterList([torch.zeros(int(m)) for m in sizes[1:]])

    def forward(self, code: Tensor, encoder: DenseLayers) -> Tensor:
        g = ACTIVATIONS[self.activation].value
        h = code
        for i, (layer, bias) in enumerate(zip(reversed(encoder.layers), self.biases)):
            h = functional.linear(h if i == 0 else g(h), layer.weight.t(), bias)
        return h


class AutoencoderNet(nn.Module):
    """Encoder, decoder and loss, eq. (1) to (4).

    Parameters
    ----------
    encoder, decoder : torch modules
        Rows (n, d) to codes (n, k) before the activation, and codes to rows.
    n_components : int
        k.
    code_activation : str
        a, one of `nn.ACTIVATIONS`.
    corruption : {"gaussian", "masking"}
        What eq. (2) does to training rows.
    noise : float
        Its standard deviation, or the share of entries that it sets to 0.
    contraction, sparsity : float
        lambda of eq. (3), beta of eq. (4).
    target_activation : float
        rho.
    """

    code_mean: Tensor
    code_root: Tensor

    capturable = True

    def __init__(
        self, encoder, decoder, n_components, *, code_activation="identity",
        corruption="gaussian", noise=0.0, contraction=0.0, sparsity=0.0,
        target_activation=0.05,
    ):  # fmt: skip
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.code_activation, self.corruption = code_activation, corruption
        self.noise, self.contraction = float(noise), float(contraction)
        self.sparsity, self.rho = float(sparsity), float(target_activation)
        self.register_buffer("code_mean", torch.zeros(n_components))
        self.register_buffer("code_root", torch.eye(n_components))

    def flops(self, n: int) -> float:
        """Operations of a training step on n rows."""
        return sum(
            p.flops(n) for p in (self.encoder, self.decoder) if hasattr(p, "flops")
        )

    def activate(self, raw: Tensor) -> Tensor:
        """Codes from what the encoder gives."""
        return ACTIVATIONS[self.code_activation].value(raw)

    def encode(self, X: Tensor) -> Tensor:
        return self.activate(self.encoder(X))

    def decode(self, code: Tensor) -> Tensor:
        if isinstance(self.decoder, TiedDecoder):
            return self.decoder(code, self.encoder)
        return self.decoder(code)

    def losses(self, batch) -> dict[str, Tensor]:
        """The terms of the loss in nats per row."""
        X = batch["X"]
        seen = X
        if self.noise and self.training:
            seen = CORRUPTIONS[self.corruption](X, self.noise)
        code = self.encode(seen)
        error = (self.decode(code) - X).square().sum(1) / 2
        losses = {"reconstruction": batch_mean(error, batch)}
        if self.contraction:
            slopes = self.squared_slopes(X)
            losses["contraction"] = self.contraction * batch_mean(slopes, batch)
        if self.sparsity:
            r = torch.stack([batch_mean(c, batch) for c in code.T])
            tiny = torch.finfo(r.dtype).eps  # an activation of 0 or 1 has infinite KL
            terms = bernoulli_divergence(self.rho, r.clamp(tiny, 1 - tiny))
            losses["sparsity"] = self.sparsity * terms.sum()
        return losses

    def squared_slopes(self, X: Tensor) -> Tensor:
        """|dc/dx|_F^2 of each row, by one backward pass for each number of a code."""
        with torch.enable_grad():  # validation runs without gradients
            X = X.detach().requires_grad_()
            total: Tensor = X.new_zeros(len(X))
            for column in self.encode(X).sum(0):
                (slope,) = torch.autograd.grad(
                    column, X, create_graph=self.training, retain_graph=True
                )
                total = total + slope.square().sum(1)
        return total

    def draw_codes(self, n: int) -> Tensor:
        """Codes from the Gaussian of the training rows."""
        eps = torch.randn(
            n, len(self.code_mean), dtype=self.code_mean.dtype,
            device=self.code_mean.device,
        )  # fmt: skip
        return self.activate(self.code_mean + eps @ self.code_root.T)

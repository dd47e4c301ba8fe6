"""Regularisers of a discriminator (critic): bounds on how steep it may be.

    clip               every weight of the critic is cut to [-c, c] after its step  (1)
    gradient_penalty   E (|grad f(u)| - 1)^2,  u = t x + (1 - t) G(z), t ~ U(0, 1)  (2)
    one_sided          the same of max(|grad f(u)| - 1, 0)^2
    r1                 E |grad f(x)|^2 / 2 at real rows                             (3)
    spectral           every layer is divided by its largest singular value         (4)
                       (`nn.SpectralNorm`)

(1) and (4) bound the Lipschitz constant of f by construction, (2) pulls its slope
towards 1 between the two sets, (3) pulls it to 0 at the data, which makes the balance
of the game a stable point. The two-sided form of (2) punishes flat critics, too: a
critic that has to turn round must pass slope 0 against it, and in few dimensions it
may never do so; the one-sided form asks no more than |f(a) - f(b)| <= |a - b|. In
(2) there is one t for each row, the norm is over all
values of a row (pixels and channels together), and a small number inside the root keeps
its derivative finite where the gradient is 0; a linear critic of unit slope has penalty
0. The gradient of a row must not depend on other rows, so critics with batch
normalisation are refused.

Refs      [Arjovsky2017] (1); [Gulrajani2017] (2); [Petzka2018] its one-sided form;
          [Mescheder2018] (3); [Miyato2018] (4)
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ...nn import BatchNorm

INSIDE_ROOT = 1e-12
BATCH_NORMS = (BatchNorm, nn.modules.batchnorm._BatchNorm)


def _input_gradients(critic: Callable[[Tensor], Tensor], u: Tensor) -> Tensor:
    """Gradient of each row's score in its own values: (n, values), with a graph."""
    with torch.enable_grad():  # validation runs without gradients
        u = u.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(critic(u).sum(), u, create_graph=True)
    return gradient.flatten(1)


def gradient_penalty(
    critic, real: Tensor, fake: Tensor, t: Tensor | None = None, *, one_sided=False
) -> Tensor:
    """Eq. (2) for each pair of a real and a generated row: (n,).

    Parameters
    ----------
    critic : function of rows that gives scores (n,)
    real, fake : tensors (n, ...)
    t : tensor (n,), optional
        Places between the two; drawn by torch's random numbers by default.
    one_sided : bool, default=False
        Whether slopes below 1 cost nothing.

    Examples
    --------
    >>> import torch
    >>> from pansophy.generative import gradient_penalty
    >>> unit = torch.tensor([0.6, 0.8])
    >>> rows = torch.zeros(3, 2), torch.ones(3, 2)
    >>> gradient_penalty(lambda u: u @ unit, *rows).max().item() < 1e-12
    True
    >>> gradient_penalty(lambda u: 3 * (u @ unit), *rows).round(decimals=4).tolist()
    [4.0, 4.0, 4.0]
    """
    if t is None:
        t = torch.rand(len(real), dtype=real.dtype, device=real.device)
    t = t.view(-1, *[1] * (real.ndim - 1))
    mixed = torch.lerp(fake.detach(), real, t)
    squares = _input_gradients(critic, mixed).square().sum(1)
    excess = (squares + INSIDE_ROOT).sqrt() - 1
    return (excess.relu() if one_sided else excess).square()


def r1_penalty(critic, real: Tensor) -> Tensor:
    """Eq. (3) for each real row: (n,).

    Examples
    --------
    >>> import torch
    >>> from pansophy.generative import r1_penalty
    >>> r1_penalty(lambda x: 2 * x[:, 0], torch.zeros(2, 3)).tolist()
    [2.0, 2.0]
    """
    return _input_gradients(critic, real).square().sum(1) / 2


@torch.no_grad()
def clip_weights(critic: nn.Module, c: float) -> None:
    """Eq. (1), in place.

    Examples
    --------
    >>> import torch
    >>> from pansophy.generative import clip_weights
    >>> layer = torch.nn.Linear(3, 2)
    >>> clip_weights(layer, 0.01)
    >>> bool(layer.weight.abs().max() <= 0.01)
    True
    """
    for p in critic.parameters():
        p.clamp_(-c, c)


def refuse_batch_norm(critic: nn.Module) -> None:
    """Raise if scores of a row depend on the rows beside it."""
    for name, module in critic.named_modules():
        if isinstance(module, BATCH_NORMS):
            raise ValueError(
                f"the critic has batch normalisation ({name!r}), which makes the score "
                "of a row depend on others, so that a gradient penalty means nothing: "
                "take layer or group normalisation."
            )

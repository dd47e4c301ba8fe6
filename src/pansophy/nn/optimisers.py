"""Optimisers on flat vectors: all parameters of a loss are one tensor.

The parameters of a group are moved into one vector w, and their gradients into one
vector g, of which the module's own tensors become views. A step is then a handful of
operations whatever the number of layers, which on small nets is most of the time.

    SGD   u <- mu u - eta g;   w <- w + u   (Nesterov: w <- w + mu u - eta g)   (1)
    Adam  m <- b1 m + (1-b1) g;   v <- b2 v + (1-b2) g^2
          w <- w - eta m^ / (sqrt(v^) + eps),  m^, v^ corrected for their start (2)

`decay` pulls matrices (not biases, gains) towards 0 by eta*decay apart from the
gradient, as in AdamW. Any `torch.optim` class can be used through `TorchOptimiser`.

Refs      [Kingma2015] Adam; [Loshchilov2019] decoupled decay; [Nesterov1983]
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor


class FlatParameters:
    """Parameters of one dtype and device as views of a flat vector."""

    def __init__(self, params: list[torch.nn.Parameter]):
        matrices = [p for p in params if p.ndim > 1]
        self.params = matrices + [p for p in params if p.ndim <= 1]
        total = sum(p.numel() for p in self.params)
        like = self.params[0].detach()
        self.w = torch.empty(total, dtype=like.dtype, device=like.device)
        self.g = torch.zeros_like(self.w)
        self.n_matrix = sum(p.numel() for p in matrices)
        at = 0
        for p in self.params:
            cut = slice(at, at + p.numel())
            self.w[cut] = p.detach().reshape(-1)
            p.data = self.w[cut].view(p.shape)
            p.grad = self.g[cut].view(p.shape)
            at = cut.stop


def flatten_parameters(params: Iterable[torch.nn.Parameter]) -> list[FlatParameters]:
    """Packs of the trainable parameters, one for each dtype and device."""
    groups: dict[Any, list] = {}
    for p in params:
        if p.requires_grad:
            groups.setdefault((p.dtype, p.device), []).append(p)
    return [FlatParameters(group) for group in groups.values()]


class SGD(NamedTuple):
    """Gradient descent with momentum, eq. (1)."""

    lr: float = 0.1
    momentum: float = 0.0
    nesterov: bool = False
    decay: float = 0.0

    def init(self, p: FlatParameters) -> dict[str, Tensor]:
        return {"u": torch.zeros_like(p.w)} if self.momentum else {}

    def step(self, p: FlatParameters, state: dict, scale: float) -> None:
        eta = self.lr * scale
        mu = self.momentum
        if self.decay:
            p.w[: p.n_matrix].mul_(1 - eta * self.decay)
        if not mu:
            p.w.sub_(p.g, alpha=eta)
            return
        u = state["u"].mul_(mu).sub_(p.g, alpha=eta)
        if self.nesterov:
            p.w.add_(u, alpha=mu).sub_(p.g, alpha=eta)
        else:
            p.w.add_(u)


class Adam(NamedTuple):
    """Steps scaled by running moments of the gradient, eq. (2)."""

    lr: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    decay: float = 0.0

    def init(self, p: FlatParameters) -> dict[str, Tensor]:
        return {
            "m": torch.zeros_like(p.w),
            "v": torch.zeros_like(p.w),
            "t": torch.zeros((), device=p.w.device),
        }

    def step(self, p: FlatParameters, state: dict, scale: float) -> None:
        eta = self.lr * scale
        if self.decay:
            p.w[: p.n_matrix].mul_(1 - eta * self.decay)
        m, v, t = state["m"], state["v"], state["t"]
        t.add_(1)
        if FUSED:
            torch._fused_adam_(
                [p.w], [p.g], [m], [v], [], [t],
                lr=eta, beta1=self.beta1, beta2=self.beta2, eps=self.eps,
                weight_decay=0.0, amsgrad=False, maximize=False,
            )  # fmt: skip
        else:
            self.plain(p, m, v, float(t), eta)

    def plain(self, p, m, v, t, eta):
        """Eq. (2) in separate operations, where torch has no fused one."""
        m.lerp_(p.g, 1 - self.beta1)
        v.mul_(self.beta2).addcmul_(p.g, p.g, value=1 - self.beta2)
        spread = v.sqrt().div_((1 - self.beta2**t) ** 0.5).add_(self.eps)
        p.w.addcdiv_(m, spread, value=-eta / (1 - self.beta1**t))


FUSED = hasattr(torch, "_fused_adam_")  # one pass over w, g, m, v; torch's own name


class TorchOptimiser(NamedTuple):
    """Any `torch.optim` class: `TorchOptimiser(torch.optim.Adagrad, {"lr": 0.01})`."""

    make: Callable[..., torch.optim.Optimizer]
    options: dict = {}

    def init(self, p: FlatParameters) -> dict:
        return {"optimiser": self.make(p.params, **self.options)}

    def step(self, p: FlatParameters, state: dict, scale: float) -> None:
        optimiser = state["optimiser"]
        for group in optimiser.param_groups:
            group.setdefault("initial_lr", group["lr"])
            group["lr"] = group["initial_lr"] * scale
        optimiser.step()


Optimiser = SGD | Adam | TorchOptimiser


def optimiser_tensors(state: dict) -> dict[str, Tensor]:
    """An optimiser's state as named tensors."""
    if "optimiser" not in state:
        return dict(state)
    slots = state["optimiser"].state_dict()["state"]
    return {
        f"{i}/{name}": value if isinstance(value, Tensor) else torch.tensor(value)
        for i, slot in slots.items()
        for name, value in slot.items()
        if value is not None
    }


def restore_optimiser(state: dict, tensors: dict[str, Tensor]) -> None:
    """Put back what `optimiser_tensors` gave."""
    if "optimiser" not in state:
        for name, value in tensors.items():
            state[name].copy_(value)
        return
    optimiser = state["optimiser"]
    slots = {}
    for key, value in tensors.items():
        i, name = key.split("/", 1)
        slots.setdefault(int(i), {})[name] = value
    saved = optimiser.state_dict()
    optimiser.load_state_dict({**saved, "state": slots})

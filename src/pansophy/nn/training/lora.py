"""Low-rank adaptation: a trained net learns by small additions to its linear layers.

A linear layer W (m, k) that is frozen gets two thin matrices,

    y = W x + s B A x + b,     A (r, k), B (m, r),   s = alpha / r                (1)

of which only A and B learn: r (m + k) numbers in place of m k. B begins at 0, so that
the net is the same as before. Merged, the layer is W + s B A and costs nothing more;
the old W is kept, so that taking the addition out again gives the same bits.

Refs      [Hu2022]
"""

import math
from collections.abc import Iterable
from fnmatch import fnmatchcase

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...params import check_count
from .fine_tuning import freeze


class LoRALinear(nn.Module):
    """A frozen linear layer with an addition of low rank, eq. (1).

    Parameters
    ----------
    base : torch.nn.Linear
    rank : int
        r.
    alpha : float or None
        s r; None is r, for s = 1.
    dropout : float
        Of what A sees in training.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import LoRALinear
    >>> layer, x = LoRALinear(torch.nn.Linear(4, 3), 2), torch.ones(1, 4)
    >>> torch.equal(layer(x), layer.base(x))
    True
    """

    def __init__(self, base: nn.Linear, rank: int, *, alpha=None, dropout=0.0):
        super().__init__()
        rank = check_count("rank", rank)
        self.base = freeze(base)
        self.scale = (rank if alpha is None else float(alpha)) / rank
        self.dropout = float(dropout)
        A = torch.empty(rank, base.in_features).to(base.weight)
        nn.init.kaiming_uniform_(A, a=math.sqrt(5))
        self.A = nn.Parameter(A)
        self.B = nn.Parameter(torch.zeros(base.out_features, rank).to(base.weight))
        self.register_buffer("original", None)  # W while the addition is merged

    @property
    def weight(self) -> nn.Parameter:
        """W."""
        return self.base.weight

    @property
    def in_features(self) -> int:
        return self.base.in_features

    @property
    def out_features(self) -> int:
        return self.base.out_features

    def addition(self) -> Tensor:
        """s B A, (m, k)."""
        return self.scale * (self.B @ self.A)

    def forward(self, x: Tensor) -> Tensor:
        y = self.base(x)
        if self.original is not None:
            return y
        x = functional.dropout(x, self.dropout, self.training)
        return y + self.scale * functional.linear(functional.linear(x, self.A), self.B)

    @torch.no_grad()
    def merge(self) -> None:
        """Put the addition into W."""
        if self.original is None:
            self.original = self.base.weight.detach().clone()
            self.base.weight.add_(self.addition())

    @torch.no_grad()
    def unmerge(self) -> None:
        """Take the addition out of W again: the bits from before `merge`."""
        if self.original is not None:
            self.base.weight.copy_(self.original)
            self.original = None


def lora_layers(net: nn.Module) -> dict[str, LoRALinear]:
    """The adapted layers of a net by their names."""
    return {n: m for n, m in net.named_modules() if isinstance(m, LoRALinear)}


def add_lora(
    net: nn.Module, names: Iterable[str] = ("*",), *, rank=8, alpha=None, dropout=0.0
) -> nn.Module:
    """Freeze a net and give its linear layers additions that learn.

    Parameters
    ----------
    net : torch module
        Changed in place.
    names : shell patterns of the names of linear layers, default=("*",)
        `"*.W_q"`, say. The layer "output" is left out unless it is named in full.
    rank, alpha, dropout
        Of `LoRALinear`.

    Returns
    -------
    net

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 2))
    >>> nn.count_parameters(nn.add_lora(net, ["0"], rank=2))
    32
    """
    names = list(names)
    linear = {n: m for n, m in net.named_modules() if isinstance(m, nn.Linear)}
    inside = tuple(f"{name}." for name in lora_layers(net))
    linear = {n: m for n, m in linear.items() if not n.startswith(inside or "\0")}
    chosen = []
    for pattern in names:
        results = [n for n in linear if fnmatchcase(n, pattern)]
        if not results:
            known = ", ".join(linear) or "none"
            raise ValueError(
                f"names of add_lora: no linear layer is called {pattern!r}; there are "
                f"{known}."
            )
        chosen += [n for n in results if n != "output" or pattern == "output"]
    freeze(net)
    for name in dict.fromkeys(chosen):
        owner, _, last = name.rpartition(".")
        adapted = LoRALinear(linear[name], rank, alpha=alpha, dropout=dropout)
        setattr(net.get_submodule(owner), last, adapted)
    for layer in lora_layers(net).values():
        layer.A.requires_grad_(True)
        layer.B.requires_grad_(True)
    return net


def merge_lora(net: nn.Module) -> nn.Module:
    """Put the additions of all layers into their weights."""
    for layer in lora_layers(net).values():
        layer.merge()
    return net


def unmerge_lora(net: nn.Module) -> nn.Module:
    """Take the additions out again."""
    for layer in lora_layers(net).values():
        layer.unmerge()
    return net


def remove_lora(net: nn.Module, *, merge=True) -> nn.Module:
    """The net with plain linear layers, the additions put in (or dropped)."""
    for name, layer in lora_layers(net).items():
        if merge:
            layer.merge()
        else:
            layer.unmerge()
        owner, _, last = name.rpartition(".")
        setattr(net.get_submodule(owner), last, layer.base.requires_grad_(True))
    return net


def lora_weights(net: nn.Module) -> dict[str, Tensor]:
    """A and B of every adapted layer by name, to be kept apart from the net."""
    return {
        f"{name}.{part}": getattr(layer, part).detach().cpu().clone()
        for name, layer in lora_layers(net).items()
        for part in ("A", "B")
    }


def load_lora(net: nn.Module, weights: dict[str, Tensor], *, alpha=None) -> nn.Module:
    """Give a net the additions that `lora_weights` took from another.

    Parameters
    ----------
    net : torch module
        With the same linear layers; changed in place. Additions of its own are dropped.
    weights : dict of tensors
    alpha : float or None
        As that of `add_lora`.
    """
    names = list(dict.fromkeys(key.rpartition(".")[0] for key in weights))
    remove_lora(net, merge=False)
    for name in names:
        rank = len(weights[f"{name}.A"])
        layer = lora_layers(add_lora(net, [name], rank=rank, alpha=alpha))[name]
        for part in ("A", "B"):
            parameter = getattr(layer, part)
            weight = weights[f"{name}.{part}"]
            if parameter.shape != weight.shape:
                raise ValueError(
                    f"{name} of the net has an addition {part} of shape "
                    f"{tuple(parameter.shape)}, but that in the file is "
                    f"{tuple(weight.shape)}."
                )
            with torch.no_grad():
                parameter.copy_(weight)
    return net

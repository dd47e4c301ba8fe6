"""Fine-tuning: a trained net whose last layers learn another task.

The layers that are kept are frozen: their parameters take no gradient, their running
statistics stay, and after training they are bit by bit what they were. Layers that are
replaced, or named to be trained, learn as usual; freezing nothing starts from the old
weights and moves all of them.

Refs      [Yosinski2014]
"""

import copy
from collections.abc import Iterable

from torch import nn

from ...core.drivers.iterate import Result
from ..layers.normalisation import BatchNorm
from .train import train

TORCH_BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def _set_trainable(net, names, value):
    """Parameters and running statistics of some parts, or of all of a net."""
    for part in [net.get_submodule(name) for name in names] or [net]:
        part.requires_grad_(value)
        for module in part.modules():
            if isinstance(module, BatchNorm):
                module.frozen = not value
            elif isinstance(module, TORCH_BATCH_NORMS) and not value:
                raise ValueError(
                    "the running means of torch's BatchNorm change in training even "
                    "where it is frozen: use pansophy.nn.BatchNorm."
                )
    return net


def freeze(net: nn.Module, *names: str) -> nn.Module:
    """Keep parts of a net, or all of it, as they are in training.

    Parameters
    ----------
    net : torch module
    *names : str
        Of submodules ("blocks.0"); none: the whole net.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import count_parameters, freeze
    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
    >>> count_parameters(freeze(net, "0"))
    4
    """
    return _set_trainable(net, names, False)


def unfreeze(net: nn.Module, *names: str) -> nn.Module:
    """Let parts of a net, or all of it, learn again.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import count_parameters, freeze, unfreeze
    >>> net = freeze(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)))
    >>> count_parameters(net), count_parameters(unfreeze(net, "1"))
    (0, 4)
    """
    return _set_trainable(net, names, True)


def fine_tune(
    net: nn.Module,
    data,
    *,
    layers: Iterable[str] = ("output",),
    replace=None,
    **options,
) -> Result:
    """Train some layers of a copy of a net on other data; the rest is frozen.

    Parameters
    ----------
    net : torch module with `losses`
        Not changed itself.
    data : what `train` takes
    layers : names of submodules, default=("output",)
        Those that learn, besides the replaced ones.
    replace : dict from name to module, optional
        New layers, for instance an output for other classes.
    **options
        Those of `train`.

    Returns
    -------
    `Result` of `train`, with the new net as `state.net`

    Examples
    --------
    >>> import numpy as np, torch
    >>> from pansophy import nn
    >>> net = nn.ConvNet((1, 4, 4), 2, n_filters=(3,))
    >>> images = np.random.default_rng(0).random((8, 1, 4, 4), dtype=np.float32)
    >>> new = torch.nn.Linear(12, 3)
    >>> data = (images, np.arange(8) % 3)
    >>> result = nn.fine_tune(net, data, replace={"output": new}, epochs=2, seed=0)
    >>> tuned = result.state.net
    >>> torch.equal(tuned.blocks[0][0].conv.weight, net.blocks[0][0].conv.weight)
    True
    """
    tuned = copy.deepcopy(net)
    for name, module in (replace or {}).items():
        owner, _, last = name.rpartition(".")
        tuned.get_submodule(name)  # refuses a name that is not there
        setattr(tuned.get_submodule(owner), last, module)
    freeze(tuned)
    unfreeze(tuned, *{*layers, *(replace or {})})
    return train(tuned, data, **options)

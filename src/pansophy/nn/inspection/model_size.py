"""The size of a net: how many numbers it learns, and what a pass through it costs.

A convolution with F kernels of k_h x k_w over C channels learns F (C k_h k_w + 1)
numbers; a dense layer from m to k units learns k (m + 1). Multiplications and additions
are counted in matrix products, convolutions and attention, which are nearly all the
work; a multiplication with its addition counts as two.
"""

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


def count_parameters(net: nn.Module, *, trainable=True) -> int:
    """Number of trainable parameters; tied ones count once, frozen ones do not.

    Parameters
    ----------
    net : torch module, or an estimator with fitted nets
    trainable : bool, default=True
        Whether frozen parameters are left out.

    Examples
    --------
    >>> from pansophy.nn import Conv, count_parameters
    >>> count_parameters(Conv(3, 6, 5))
    456
    """
    return sum(
        p.numel()
        for fitted_net in fitted_nets(net)
        for p in fitted_net.parameters()
        if p.requires_grad or not trainable
    )


def fitted_nets(model) -> list[nn.Module]:
    """The torch modules of a fitted estimator, or the module itself in a list."""
    if isinstance(model, nn.Module):
        return [model]
    nets = getattr(model, "nets_", None)
    if nets is None and hasattr(model, "coefs_"):  # a perceptron
        nets = [model.as_module()]
    if nets is None:
        raise TypeError(
            f"{type(model).__name__} is neither a torch module nor a fitted estimator "
            "that holds one."
        )
    return list(nets)


def count_flops(net: nn.Module, *inputs) -> int:
    """Operations of one forward pass on these inputs.

    Parameters
    ----------
    net : torch module
    *inputs : tensor, or tuple of int
        What `forward` takes; a tuple of sizes stands for zeros of that shape.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import Conv, count_flops
    >>> count_flops(Conv(3, 6, 5), (1, 3, 32, 32)) == 2 * 28 * 28 * 6 * 75
    True
    """
    like = next(net.parameters(), torch.zeros(()))
    tensors = [
        torch.zeros(x, dtype=like.dtype, device=like.device)
        if isinstance(x, (tuple, list))
        else x
        for x in inputs
    ]
    was_training = net.training
    net.eval()
    try:
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            net(*tensors)
    finally:
        net.train(was_training)
    return int(counter.get_total_flops())

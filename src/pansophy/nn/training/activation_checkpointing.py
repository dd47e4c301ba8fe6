"""Activation checkpointing: less memory for one more forward pass.

A backward pass needs the outputs of all operations of the forward pass. For a block
that is checkpointed only its inputs are kept, and the rest is computed again, with the
same random numbers, when the backward pass arrives. With k blocks memory falls from
that of k blocks to that of one and k inputs; time grows by a third at most.

Refs      [Chen2016Checkpoint]
"""

import torch
from torch.utils.checkpoint import checkpoint

from .parallel import outermost_blocks


def checkpoint_activations(net, blocks=None):
    """Make blocks of a net forget their activations until the backward pass.

    Parameters
    ----------
    net : torch.nn.Module
    blocks : list of its submodules, optional
        By default the members of its lists and sequences of modules.

    Returns
    -------
    net, whose parameters and outputs are the same

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> block = lambda: torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
    >>> net = nn.Sequential(block(), block(), block())
    >>> nn.checkpoint_activations(net) is net
    True
    """
    if blocks is None:
        blocks = outermost_blocks(net)
    if not blocks:
        raise ValueError(
            "the net has no list or sequence of modules: name the blocks to checkpoint."
        )
    for block in blocks:
        if getattr(block.forward, "__name__", "") != "recomputing":
            block.forward = recomputed(block.forward)
    return net


def recomputed(forward):
    """A forward function that is called again in the backward pass."""

    def recomputing(*arguments, **options):
        if not torch.is_grad_enabled():
            return forward(*arguments, **options)
        return checkpoint(forward, *arguments, use_reentrant=False, **options)

    return recomputing

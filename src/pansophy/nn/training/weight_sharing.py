"""Parameter sharing: several weights of a net that are one.

Tied weights are one parameter with several places. The gradient of a shared parameter
is the sum of the gradients of its places (chain rule), and a tie cannot break, since
there is only one number to update. `tie` shares whole parameters between layers (an
embedding and an output layer), or entries of one parameter by groups (weights that a
symmetry makes equal). What a net may learn is what is left: `count_parameters`.
"""

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize


class TiedEntries(nn.Module):
    """A parameter whose entries with the same group number are one weight."""

    groups: Tensor

    def __init__(self, groups: Tensor):
        super().__init__()
        self.register_buffer("groups", groups)

    def forward(self, shared: Tensor) -> Tensor:
        return shared[self.groups]

    def right_inverse(self, weight: Tensor) -> Tensor:
        """The shared weights: the mean over each group."""
        flat = self.groups.reshape(-1)
        n = int(flat.max()) + 1
        total = weight.new_zeros(n).index_add_(0, flat, weight.reshape(-1))
        return total / torch.bincount(flat, minlength=n)


def tie(net: nn.Module, *names: str, groups=None) -> nn.Module:
    """Tie weights of a net, in place, so that they stay equal in training.

    Parameters
    ----------
    net : torch module
    *names : str
        Two or more parameters ("encoder.weight") that become the first one of them; or
        one, with `groups`.
    groups : array of the parameter's shape, optional
        Numbers 0, 1, ...: entries of the same number become one weight, the mean of
        what they were. A net tied so is saved by its `state_dict`.

    Returns
    -------
    the net

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import count_parameters, tie
    >>> net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    >>> count_parameters(net), count_parameters(tie(net, "0.weight", "1.weight"))
    (24, 15)
    """
    for name in names:
        if name not in dict(net.named_parameters(remove_duplicate=False)):
            raise ValueError(f"the net has no parameter {name!r}.")
    if groups is None:
        if len(names) < 2:
            raise ValueError("tie takes two parameters or more, or one and groups.")
        first = net.get_parameter(names[0])
        for name in names[1:]:
            owner, _, last = name.rpartition(".")
            if net.get_parameter(name).shape != first.shape:
                raise ValueError(
                    f"{names[0]} has shape {tuple(first.shape)}, but {name} "
                    f"{tuple(net.get_parameter(name).shape)}."
                )
            setattr(net.get_submodule(owner), last, first)
        return net
    if len(names) != 1:
        raise ValueError("groups tie the entries of one parameter.")
    weight = net.get_parameter(names[0])
    index = torch.as_tensor(groups, dtype=torch.int64, device=weight.device)
    if index.shape != weight.shape or int(index.min()) < 0:
        raise ValueError(
            f"groups must be whole numbers from 0 in the shape {tuple(weight.shape)}."
        )
    _, index = torch.unique(index, return_inverse=True)
    owner, _, last = names[0].rpartition(".")
    parametrize.register_parametrization(
        net.get_submodule(owner), last, TiedEntries(index)
    )
    return net

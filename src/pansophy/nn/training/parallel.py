"""Training by several processes: one gradient of all their rows.

Start as many processes as there are devices (`torchrun --nproc-per-node=8 script.py`),
call `torch.distributed.init_process_group` in each, and train as usual. `batch_size` is
that of all processes together: each takes its part of every batch, so that

    g = sum_r (k_r / K) g_r,   K = sum_r k_r                                    (1)

over processes r with k_r rows is the gradient of the whole batch, and a run does the
same steps whatever the number of processes (but for rounding, and for what is each
process's own: random numbers inside the net and batch statistics of normalisation, of
which those of process 0 are saved).

data   every process holds the whole net; a step adds up the flat gradient vectors
fsdp   every process holds a part of each parameter, its gradient and its optimiser's
       state; parameters are put together layer by layer when they are needed (torch's
       `fully_shard`). Gradients come as means over processes, so that losses are
       multiplied by k_r R / K for (1), with R processes. Muon needs whole matrices and
       is refused.

Process 0 writes checkpoints, which hold whole parameters and the random numbers and
optimiser states of every process; the number of processes must be the same on resume.

Refs      [Rajbhandari2020]
"""

from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor

from .optimisers import Muon, ParameterPack, TorchOptimiser, decay_order


class SingleProcess:
    """A process that trains alone."""

    rank = 0
    size = 1
    prefix = ""  # of what is its own in a checkpoint
    several = False

    def shared(self, value):
        """The value of process 0, in every process."""
        return value

    def gathered(self, value) -> list:
        """The values of all processes, in order, in every process."""
        return [value]

    def total(self, value: float, device) -> float:
        """The sum of a number over all processes."""
        return value

    def mean_losses(self, parts: dict[str, tuple[float, float]]) -> dict[str, float]:
        """Means over the rows of all processes from (mean, rows) of each."""
        return {name: mean for name, (mean, _) in parts.items()}

    def share_weights(self, net) -> None:
        """Give every process the parameters and buffers of process 0."""

    def reduce_gradients(self, packs: list[ParameterPack], weight: float) -> None:
        """Make flat gradients those of all processes, eq. (1)."""


class Processes:
    """The processes that train one net, as one of them sees them."""

    several = True

    def __init__(self):
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()
        self.prefix = f"process {self.rank}/"

    def shared(self, value):
        box = [value]
        dist.broadcast_object_list(box, src=0)
        return box[0]

    def gathered(self, value) -> list:
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value)
        return values

    def total(self, value: float, device) -> float:
        box = torch.tensor(float(value), dtype=torch.float64, device=device)
        dist.all_reduce(box)
        return float(box)

    def mean_losses(self, parts: dict[str, tuple[float, float]]) -> dict[str, float]:
        sums: dict[str, list[float]] = {}
        for process_parts in self.gathered(parts):
            for name, (mean, rows) in process_parts.items():
                entry = sums.setdefault(name, [0.0, 0.0])
                entry[0] += mean * rows
                entry[1] += rows
        return {name: total / rows for name, (total, rows) in sums.items() if rows}

    @torch.no_grad()
    def share_weights(self, net) -> None:
        for tensor in net.state_dict().values():
            dist.broadcast(tensor, src=0)

    @torch.no_grad()
    def reduce_gradients(self, packs: list[ParameterPack], weight: float) -> None:
        if not packs:
            return
        total = self.total(weight, packs[0].flat.g.device)
        for pack in packs:
            g = pack.flat.g
            if weight == 0:  # a process without rows ran one that does not count
                g.zero_()
            dist.all_reduce(g.mul_(weight / total if total else 0.0))


def joined_processes(
    parallel: Literal["auto", "none", "data", "fsdp"],
) -> SingleProcess | Processes:
    """The processes of a run, or one that is alone."""
    if parallel not in ("auto", "none", "data", "fsdp"):
        raise ValueError(
            f'parallel must be "auto", "none", "data" or "fsdp", got {parallel!r}.'
        )
    ready = dist.is_available() and dist.is_initialized()
    if parallel in ("data", "fsdp") and not ready:
        raise ValueError(
            f"parallel is {parallel!r}, but this process belongs to no group: start "
            "the script with torchrun and call torch.distributed.init_process_group."
        )
    if parallel == "none" or not ready:
        return SingleProcess()
    is_parallel = dist.get_world_size() > 1 or parallel == "fsdp"
    return Processes() if is_parallel else SingleProcess()


class ShardedParameters:
    """This process's part of parameters that `fully_shard` has divided.

    Has the flat vectors w and g that optimisers work on; `collect` fills g from the
    gradients and `scatter` writes w back.
    """

    def __init__(self, params, spared=()):
        decayed, spared_matrices, vectors = decay_order(params, spared)
        matrices = decayed + spared_matrices
        self.params = matrices + vectors
        self.parts = [p.to_local() for p in self.params]
        self.w = torch.cat([t.detach().reshape(-1) for t in self.parts])
        self.g = torch.zeros_like(self.w)
        self.n_matrix = sum(t.numel() for t in self.parts[: len(matrices)])
        self.n_decayed = sum(t.numel() for t in self.parts[: len(decayed)])

    def pieces(self, flat: Tensor):
        """The parts of a flat vector, in the shapes of the parameters' parts."""
        offset = 0
        for part in self.parts:
            yield flat[offset : offset + part.numel()].view(part.shape)
            offset += part.numel()

    @torch.no_grad()
    def collect(self) -> None:
        """g from the gradients that backward passes left, which are then dropped."""
        for p, piece in zip(self.params, self.pieces(self.g)):
            if p.grad is None:
                piece.zero_()
            else:
                piece.copy_(p.grad.to_local())
            p.grad = None

    @torch.no_grad()
    def scatter(self) -> None:
        """The parameters' parts from w."""
        for p, piece in zip(self.params, self.pieces(self.w)):
            p.to_local().copy_(piece)

    @torch.no_grad()
    def refresh(self) -> None:
        """w from the parameters' parts, after they were loaded."""
        for p, piece in zip(self.params, self.pieces(self.w)):
            piece.copy_(p.to_local())


def shard_net(net) -> None:
    """Divide the parameters of a net among the processes, block by block."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

    device = next(net.parameters()).device.type
    mesh = init_device_mesh(device, (dist.get_world_size(),))
    for block in outermost_blocks(net):
        fully_shard(block, mesh=mesh)
    fully_shard(net, mesh=mesh)
    if hasattr(net, "losses"):  # a plain module is called by its forward
        register_fsdp_forward_method(net, "losses")


def outermost_blocks(net) -> list:
    """Members of lists and sequences of modules that have parameters."""
    if isinstance(net, (torch.nn.ModuleList, torch.nn.Sequential)):
        return [b for b in net if next(b.parameters(), None) is not None]
    return [block for child in net.children() for block in outermost_blocks(child)]


def pack_sharded(named: dict[str, Any], rule, spared=()) -> list[ParameterPack]:
    """One pack of this process's part of the trainable parameters."""
    if isinstance(rule, (Muon, TorchOptimiser)) or hasattr(rule, "rules"):
        raise ValueError(
            f'parallel="fsdp" takes SGD, Adam or Lion, not {type(rule).__name__}: a '
            "process holds a part of each matrix only."
        )
    params = [p for p in named.values() if p.requires_grad]
    flat: Any = ShardedParameters(params, spared)
    return [ParameterPack(rule, flat, rule.init(flat))]


def whole_tensors(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors put together from the parts of all processes; others as they are."""
    return {
        key: t.full_tensor() if hasattr(t, "full_tensor") else t
        for key, t in tensors.items()
    }


@torch.no_grad()
def load_whole_tensors(net, tensors: dict[str, Tensor]) -> None:
    """Load whole parameters into a net that may be divided among processes."""
    state = net.state_dict()
    if not any(hasattr(t, "full_tensor") for t in state.values()):
        net.load_state_dict(tensors)
        return
    from torch.distributed.tensor import distribute_tensor

    for key, target in state.items():
        value = tensors[key].to(target.device)
        if hasattr(target, "full_tensor"):
            part = distribute_tensor(value, target.device_mesh, target.placements)
            target.to_local().copy_(part.to_local())
        else:
            target.copy_(value)

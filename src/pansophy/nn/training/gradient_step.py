"""One step of training: losses, their gradients, and the optimisers' moves.

With batches j of k_j rows the step is along the gradient of the mean over their rows,

    g = sum_j (k_j / K) dJ_j/dw,   K = sum_j k_j                                (1)

One optimiser takes the sum of all losses. A dict of optimisers takes each loss by its
name: first the losses that are tensors, all at the present weights, which then step
together; then the losses that are functions, in order, each called when everything
before it has stepped. A name that is absent does not step.

A graph is kept for a second backward pass only while another tensor of the same call
of `losses` still needs it.
"""

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from .optimisers import ParameterPack, pack_parameters, spared_parameters
from .parallel import SingleProcess, pack_sharded


class LossTotals:
    """Sums of each loss over rows, kept on the device and read once an epoch."""

    def __init__(self):
        self.sums: dict[str, Tensor] = {}
        self.rows: dict[str, float] = {}

    def add(self, name: str, value: Tensor, rows: float) -> None:
        """Count a mean loss of this many rows."""
        if name not in self.sums:
            on_mps = value.device.type == "mps"  # which has no float64
            exact = torch.float32 if on_mps else torch.float64
            self.sums[name] = torch.zeros((), dtype=exact, device=value.device)
            self.rows[name] = 0
        self.sums[name].add_(value, alpha=rows)
        self.rows[name] += rows

    def means(self, processes) -> dict[str, float]:
        """The mean of each loss that occurred in any process, and a fresh start."""
        names = [name for name, rows in self.rows.items() if rows]
        parts = {n: (float(self.sums[n]) / self.rows[n], self.rows[n]) for n in names}
        means = processes.mean_losses(parts)
        for name in self.sums:
            self.sums[name].zero_()  # the same tensors: a CUDA graph adds to them
            self.rows[name] = 0
        return means


class GradientStep:
    """A step of a net: `step(batches, scale)` with batches as (batch, weight).

    Parameters
    ----------
    net : torch.nn.Module with `losses`
    optimiser : optimiser, or a dict of them by name of loss
    totals : LossTotals
        Takes the losses of every step.
    clip, clip_value : float or None
        Largest norm of the gradient of a loss, largest size of its entries.
    amp : bool
        Whether to compute in bfloat16; losses must come out as float32.
    losses : function of a batch or None
        In place of `net.losses`, as when it is compiled.
    processes : of `nn.parallel`
        The processes of the run; gradients are those of all their rows.
    sharded : bool
        Whether the processes hold parts of the parameters.
    """

    def __init__(
        self, net, optimiser, totals, *, clip=None, clip_value=None, amp=False,
        losses=None, processes=None, sharded=False,
    ):  # fmt: skip
        self.net, self.totals = net, totals
        self.by_name = isinstance(optimiser, dict)
        self.clip, self.clip_value = clip, clip_value
        self.amp = amp
        self.losses = losses or net.losses
        self.processes = processes or SingleProcess()
        self.sharded = sharded
        rules = optimiser if self.by_name else {"": optimiser}
        named = {name: parameters_of_loss(net, name) for name in rules}
        refuse_shared_parameters(named)
        spared = spared_parameters(net)
        self.packs: dict[str, list[ParameterPack]] = {
            name: pack_sharded(named[name], rule, spared)
            if sharded
            else pack_parameters(named[name], rule, spared)
            for name, rule in rules.items()
        }
        has_gradients = getattr(net, "has_manual_gradients", False)
        self.manual = has_gradients and not (amp or self.by_name or sharded or losses)

    def __call__(self, batches, scale) -> None:
        """One step; called in the mode of `grad_mode`."""
        if self.by_name:
            self._step_by_name(batches, scale)
            return
        if self.manual and len(batches) == 1:  # gradients overwrite those before
            ((batch, rows),) = batches
            self._count(self.net.gradients(batch), rows)
        else:
            compute = self._manual_gradients if self.manual else self._backward
            self._zero_gradients("")
            for batch, rows, share in self._with_shares(batches):
                compute(batch, rows, share)
        self._move("", batches, scale)

    def grad_mode(self):
        """Gradients on for autograd, off for a net that computes its own."""
        return torch.set_grad_enabled(not self.manual)

    def _count(self, values, rows):
        for name, value in values.items():
            self.totals.add(name, value, rows)

    def _with_shares(self, batches):
        """(batch, rows, share in the gradient) of each batch, eq. (1)."""
        total = sum(rows for _, rows in batches)
        factor = 1.0
        if self.sharded:  # whose gradients are means over processes
            device = next(self.net.parameters()).device
            overall = self.processes.total(total, device)
            factor = total * self.processes.size / overall if overall else 0.0
        for batch, rows in batches:
            part = rows / total if len(batches) > 1 and total else 1.0
            yield batch, rows, part * factor

    def _manual_gradients(self, batch, rows, share):
        """Gradients by the net itself."""
        flat = [pack.flat for pack in self.packs[""]]
        old_gradients = [p.g.clone() for p in flat]
        self._count(self.net.gradients(batch), rows)
        for p, g in zip(flat, old_gradients):
            p.g.mul_(share).add_(g)

    def _backward(self, batch, rows, share):
        """Gradients of the sum of all losses by autograd."""
        with self.autocast():
            losses = self.losses(batch)
            losses = {k: v() if callable(v) else v for k, v in losses.items()}
        total: Any = sum(self._checked(name, v) for name, v in losses.items())
        (total if share == 1 else total * share).backward()
        for name, value in losses.items():
            self.totals.add(name, value.detach(), rows)

    def _step_by_name(self, batches, scale):
        deferred: dict[str, list] = {}
        moved: list[str] = []
        for batch, rows, share in self._with_shares(batches):
            with self.autocast():
                losses = self.losses(batch)
            if unknown := sorted(losses.keys() - self.packs.keys()):
                raise ValueError(
                    f"the net has losses without an optimiser: {unknown}; there are "
                    f"optimisers for {sorted(self.packs)}."
                )
            ready = {k: v for k, v in losses.items() if not callable(v)}
            for name, value in losses.items():
                if callable(value):
                    later = (value, rows, share)
                    deferred.setdefault(name, []).append(later)
            for i, (name, value) in enumerate(ready.items()):
                if name not in moved:
                    moved.append(name)
                    self._zero_gradients(name)
                is_shared = i + 1 < len(ready)  # another tensor may share this graph
                self._backward_of(name, value, rows, share, retain_graph=is_shared)
        for name in moved:
            self._move(name, batches, scale)
        for name, calls in deferred.items():
            self._zero_gradients(name)
            for function, rows, share in calls:
                with self.autocast():
                    value = function()
                self._backward_of(name, value, rows, share)
            self._move(name, batches, scale)

    def _backward_of(self, name, value, rows, share, *, retain_graph=False):
        """Gradients of one loss in the parameters of its name."""
        own_parameters = [q for pack in self.packs[name] for q in pack.flat.params]
        value = self._checked(name, value)
        scaled = value if share == 1 else value * share
        scaled.backward(inputs=own_parameters, retain_graph=retain_graph)
        self.totals.add(name, value.detach(), rows)

    def _checked(self, name, value):
        if value.dtype in (torch.bfloat16, torch.float16):
            raise ValueError(
                f"the loss {name!r} is of type {value.dtype}, which keeps two or three "
                "digits: compute it in float32, e.g. of predictions.float()."
            )
        return value

    def autocast(self):
        """bfloat16 arithmetic inside, if the run asks for it."""
        if not self.amp:
            return nullcontext()
        device = next(self.net.parameters()).device.type
        return torch.autocast(device, torch.bfloat16)

    def _zero_gradients(self, name):
        for pack in self.packs[name]:
            if self.sharded:
                pack.flat.collect()  # drops what is left of an earlier backward pass
            pack.flat.g.zero_()

    def _join_gradients(self, packs, batches):
        """Gradients of the rows of all processes."""
        if self.sharded:
            for pack in packs:
                pack.flat.collect()
        else:
            weight = sum(rows for _, rows in batches)
            self.processes.reduce_gradients(packs, weight)

    def _clip_norm(self, packs):
        """Shorten the gradient in all packs to the norm `clip`, if it is longer."""
        norms = [torch.linalg.vector_norm(pack.flat.g) for pack in packs]
        norm = torch.linalg.vector_norm(torch.stack(norms))
        if self.sharded:
            total = self.processes.total(float(norm) ** 2, norm.device)
            norm = torch.tensor(total**0.5, dtype=norm.dtype, device=norm.device)
        factor = torch.clamp(self.clip / (norm + 1e-12), max=1.0)
        for pack in packs:
            pack.flat.g.mul_(factor)

    def _move(self, name, batches, scale):
        """Clip the gradient of a name and let its optimisers step."""
        packs = self.packs[name]
        if self.sharded or self.processes.several:
            self._join_gradients(packs, batches)
        if self.clip_value is not None:
            for pack in packs:
                pack.flat.g.clamp_(-self.clip_value, self.clip_value)
        if self.clip is not None:
            self._clip_norm(packs)
        for pack in packs:
            pack.rule.step(pack.flat, pack.state, scale)
            if self.sharded:
                pack.flat.scatter()


def parameters_of_loss(net, name) -> dict[str, torch.nn.Parameter]:
    """The parameters that the loss of this name moves, by their names in the net."""
    if not name:
        return dict(net.named_parameters())
    if hasattr(net, "groups"):
        parameters = net.groups()[name]
    else:
        parameters = getattr(net, name).parameters()
    names = {id(p): full for full, p in net.named_parameters()}
    return {names.get(id(p), f"{name}.{i}"): p for i, p in enumerate(parameters)}


def refuse_shared_parameters(named: dict[str, dict]) -> None:
    """Raise if a parameter belongs to two losses: two rules would move it."""
    owner: dict[int, str] = {}
    for loss, params in named.items():
        for full, p in params.items():
            if id(p) in owner and p.requires_grad:
                raise ValueError(
                    f"parameter {full!r} belongs to two losses, {owner[id(p)]!r} and "
                    f"{loss!r}: give it to one of them (`groups`), or train the sum of "
                    "the losses with one optimiser."
                )
            owner[id(p)] = loss

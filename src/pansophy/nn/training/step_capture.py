"""Steps of training as CUDA graphs: launched whole, not kernel by kernel.

A step of a small net is dozens of kernels of a few microseconds each, and the CPU
takes longer to launch them than the GPU to run them. A CUDA graph records the kernels
of a whole step (forward, backward, optimiser, sums of the losses) once and launches
them as one. Its kernels read and write fixed addresses, so batches are copied into
buffers of the graph, one graph for each shape of a batch (a pass has two: the last
batch may be short), and the rate is a tensor.

A graph repeats what Python did while it was recorded. A net may therefore be recorded
only if every step does the same: no counters in Python, no names that come and go, no
branch on values. A net says so by `capturable = True`, which is what `compile="auto"`
looks for; `compile="graph"` records any net.

The first steps on a side stream, which torch asks for before recording, are undone:
parameters, optimisers, sums and random numbers are put back. So all steps of one shape
are the graph's from the first on, also those after a checkpoint, and a resumed run is
the same run.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from .gradient_step import GradientStep
from .optimisers import FUSED, TorchOptimiser

WARM_UP_STEPS = 3  # before recording, so that libraries have allocated what they need
GRAPHS = 4  # shapes of batches that are recorded; others run kernel by kernel


class RecordedStep(NamedTuple):
    """A graph, the buffers it reads its batch from, and the rows it counts."""

    graph: Any
    buffers: list[Tensor]
    rows: dict[str, float]  # by name of loss


class CapturedStep:
    """A `GradientStep` launched as CUDA graphs."""

    def __init__(self, step: GradientStep, device):
        self.step = step
        self.packs = step.packs
        self.autocast, self.grad_mode = step.autocast, step.grad_mode
        self.scale = torch.ones((), device=device)  # torch's fused Adam reads float32
        self.last_scale = 1.0
        self.recorded: dict[Any, RecordedStep] = {}
        self.failure: str | None = None

    @property
    def execution(self) -> str:
        """Description of how steps are run."""
        if self.failure:
            return f"kernel by kernel: {self.failure}"
        return "CUDA graph"

    def __call__(self, batches, scale) -> None:
        ((batch, rows),) = batches
        parts = _batch_tensors(batch)
        if self.failure or parts is None:
            self.failure = self.failure or "batches are not tuples or dicts of tensors"
            self.step(batches, scale)
            return
        if scale != self.last_scale:
            self.scale.fill_(scale)
            self.last_scale = scale
        key = (rows, *((t.shape, t.dtype) for t in parts))
        recorded = self.recorded.get(key)
        if recorded is None:
            if len(self.recorded) < GRAPHS:
                recorded = self._record(batch, parts, rows)
            if recorded is None:
                self.step(batches, scale if self.failure else self.scale)
                return
            self.recorded[key] = recorded
        torch._foreach_copy_(recorded.buffers, parts)
        recorded.graph.replay()
        counted = self.step.totals.rows
        for name, k in recorded.rows.items():
            counted[name] += k

    def _record(self, batch, parts, rows) -> RecordedStep | None:
        """The graph of a step on batches like this one, or None if it cannot be."""
        buffers = [t.clone() for t in parts]
        batches = [(_with_tensors(batch, buffers), rows)]
        totals = self.step.totals
        state = StepState(self.step, self.scale.device)
        graph = torch.cuda.CUDAGraph()
        side = torch.cuda.Stream(self.scale.device)
        side.wait_stream(torch.cuda.current_stream(self.scale.device))
        try:
            with torch.cuda.stream(side):
                for _ in range(WARM_UP_STEPS):
                    self.step(batches, self.scale)
            torch.cuda.current_stream(self.scale.device).wait_stream(side)
            state.put_back()
            rows_before = dict(totals.rows)
            # other threads may go on reading batches into page-locked memory
            mode = "thread_local"
            with torch.cuda.graph(graph, stream=side, capture_error_mode=mode):
                self.step(batches, self.scale)
            counted = {
                name: k - rows_before.get(name, 0)
                for name, k in totals.rows.items()
                if k != rows_before.get(name, 0)
            }
        except RuntimeError as error:
            torch.cuda.synchronize(self.scale.device)
            self.failure = f"recording failed ({str(error).splitlines()[0]})"
            state.put_back()
            return None
        state.put_back()
        return RecordedStep(graph, buffers, counted)


class StepState:
    """Everything a step changes, to be put back."""

    def __init__(self, step: GradientStep, device):
        self.device = device
        self.totals = step.totals
        self.rows = dict(step.totals.rows)
        held = dict(step.net.state_dict(keep_vars=False))
        self.sums = {k: v.clone() for k, v in step.totals.sums.items()}
        tensors = [*held.values()]
        for packs in step.packs.values():
            for pack in packs:
                tensors += pack.state.values()
        self.tensors = tensors
        self.values = [t.clone() for t in tensors]
        self.random = torch.cuda.get_rng_state(device)
        self.random_cpu = torch.get_rng_state()

    @torch.no_grad()
    def put_back(self) -> None:
        """Undo what steps did since this object was made."""
        for tensor, value in zip(self.tensors, self.values):
            tensor.copy_(value)
        for name, total in self.totals.sums.items():
            total.copy_(self.sums.get(name, torch.zeros_like(total)))
        self.totals.rows = {name: self.rows.get(name, 0) for name in self.totals.sums}
        torch.cuda.set_rng_state(self.random, self.device)
        torch.set_rng_state(self.random_cpu)


def _batch_tensors(batch) -> list[Tensor] | None:
    """The tensors of a batch, or None if it holds something else."""
    if isinstance(batch, Tensor):
        return [batch]
    parts = list(batch.values()) if isinstance(batch, dict) else batch
    if not isinstance(parts, (list, tuple)):
        return None
    return list(parts) if all(isinstance(t, Tensor) for t in parts) else None


def _with_tensors(batch, parts: list[Tensor]):
    """A batch like this one, of other tensors."""
    if isinstance(batch, Tensor):
        return parts[0]
    if isinstance(batch, dict):
        return dict(zip(batch, parts))
    return tuple(parts)


def why_not_captured(
    net, step: GradientStep, device, *, requested: bool, accumulate: int
):
    """Why steps cannot be CUDA graphs, in words; None if they can."""
    rules = [pack.rule for packs in step.packs.values() for pack in packs]
    if device.type != "cuda":
        return "a CUDA graph needs a CUDA device"
    if not requested and not getattr(net, "capturable", False):
        return "the net does not say that it is capturable"
    if any(p.dtype == torch.float64 for p in net.parameters()):
        return "parameters are float64"
    if accumulate > 1:
        return "batches are accumulated"
    if step.processes.several:
        return "several processes train together"
    if any(isinstance(rule, TorchOptimiser) for rule in rules) or not FUSED:
        return "the optimiser keeps state outside its tensors"
    return None

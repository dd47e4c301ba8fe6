r"""Training of the prior-fitted network: made-up tables in, their new rows predicted.

A step draws B tables of N rows from the prior, of which n are for training, and lowers
the mean negative log probability of the targets of the others:

.. math:: L = -\frac{1}{B (N - n)} \sum_b \sum_{i > n}
          \log p_w(y_{bi} \mid x_{bi}, X_{b, \le n}, y_{b, \le n})                 (1)

whose minimum over w is the posterior predictive distribution of the prior. One body
answers for classes and for numbers (`targets`). The loss of a class is the negative log
of its probability; that of a number z, which the hats :math:`h_k` share between two
knots, is

.. math:: L = -\sum_k h_k(z) \log p_k                                              (2)

Since :math:`\sum_k h_k(z) z_k = z`, the mean of the optimal p is the conditional mean
of z, however wide the spaces between knots.

Matrices of the blocks move by Muon, the rest by Adam; gradients are cut at norm 1; the
rate is flat and falls linearly at the end; what is kept is a running mean of the
weights. The network computes in bfloat16 on a GPU, weights are float32. A step always
has about the same number of rows, whatever the shape of its tables, and nothing in it
waits for the device.

A checkpoint holds weights, moments, mean and both random sources, so that a resumed run
is the same run, up to the rounding of the device and to the clock if it has a limit of
time.
"""

import json
import time
from dataclasses import KW_ONLY, asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from ..nn.training.checkpoint import read_checkpoint, write_checkpoint
from ..nn.training.optimisers import Adam, Muon, ParameterGroups, pack_parameters
from ..nn.training.schedules import TrainingProgress, warmdown
from .cells import N_CELL_FEATURES, describe_columns, encode_cells
from .network import IDENTITY, NetworkShape, forward
from .pretrained import FORMAT, load_pretrained
from .prior import RandomSource, TableBatch, draw_tables
from .targets import FARTHEST_KNOT, N_CLASSES, N_KNOTS, encode_targets, hat_weights

TRAINED_SHAPE = NetworkShape(
    n_cell_features=N_CELL_FEATURES,
    n_targets=N_CLASSES + N_CELL_FEATURES,
    n_outputs=N_CLASSES + N_KNOTS,
    column_blocks=3,
    row_blocks=3,
)
TOY_SHAPE = NetworkShape(
    n_cell_features=N_CELL_FEATURES,
    n_targets=N_CLASSES + N_CELL_FEATURES,
    n_outputs=N_CLASSES + N_KNOTS,
    width=32,
    n_inducing=8,
    n_summaries=2,
    n_thinking=4,
    column_blocks=1,
    row_blocks=1,
    context_blocks=3,
    head_width=16,
)

BY_ADAM = (
    "cell",
    "cell_target",
    "row_target",
    "summaries",
    "thinking",
    "output",
    "inducing.*",
    "*.scale",
)
SIZES_OF_TABLES = {128: 0.1, 256: 0.2, 512: 0.27, 1024: 0.25, 1536: 0.12, 2560: 0.06}
COLUMN_COUNTS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 26, 34, 48)
MOST_TABLES = 256  # of a step
AVERAGE_EVERY = 20  # steps


def initial_network_weights(
    shape: NetworkShape, source: RandomSource
) -> dict[str, Tensor]:
    """Random weights; blocks begin as the identity, since what they add is 0."""
    weights = {}
    for name, size in shape.parameters().items():
        draw = source.normal(*size)
        part = name.rsplit(".", maxsplit=1)[-1]
        if part in ("mix", "down"):
            weights[name] = torch.zeros_like(draw)
        elif part == "scale":
            weights[name] = torch.full_like(draw, 0.25)
        elif name.startswith(("inducing", "summaries", "thinking")):
            weights[name] = 0.02 * draw
        elif name in ("cell_target", "row_target"):
            weights[name] = draw
            weights[name][:, N_CLASSES:] /= N_CELL_FEATURES**0.5
        else:
            weights[name] = draw / (3 * size[-1]) ** 0.5
    return weights


class StepInputs(NamedTuple):
    """All that a step reads: the tables, and what is to be answered."""

    cells: Tensor  # (B, N, d, n_cell_features)
    targets: Tensor  # (B, n, n_targets) of the training rows
    answers: Tensor  # (B, N - n, n_outputs): shares of the new rows' targets
    possible: Tensor  # (n_outputs,), which outputs are in the softmax
    identities: Tensor  # (B, d, IDENTITY)
    weight: Tensor  # () of the loss


def step_inputs(tables: TableBatch, n: int, identities, weight: float) -> StepInputs:
    """Tables of which the first n rows are for training, for `table_loss`."""
    X, y, n_classes = tables
    B, N = y.shape
    targets, mean, scale = encode_targets(y[:, :n], n_classes)
    answers = torch.zeros(B, N - n, N_CLASSES + N_KNOTS, device=y.device)
    possible = torch.zeros(N_CLASSES + N_KNOTS, dtype=torch.bool, device=y.device)
    if n_classes:
        answers.scatter_(2, y[:, n:, None], 1.0)
        possible[:n_classes] = True
    else:
        answers[..., N_CLASSES:] = hat_weights((y[:, n:] - mean) / scale)
        possible[N_CLASSES:] = True
    weight = torch.full((), weight, device=y.device)
    cells = encode_cells(describe_columns(X[:, :n]), X)
    return StepInputs(cells, targets, answers, possible, identities, weight)


def table_loss(weights, shape: NetworkShape, inputs: StepInputs) -> Tensor:
    """Equation (1) or (2): mean loss of the rows that are not for training."""
    dtype = weights["cell"].dtype
    cells, targets = inputs.cells.to(dtype), inputs.targets.to(dtype)
    outputs, _ = forward(weights, shape, cells, targets, inputs.identities.to(dtype))
    scores = outputs.float().masked_fill(~inputs.possible, -1e9)
    return -(inputs.answers * torch.log_softmax(scores, -1)).sum(-1).mean()


class RecordedSteps:
    """Steps as CUDA graphs, one for each shape of the tables and one for the update.

    A step is a thousand kernels that take half as long to run as to launch. All graphs
    share one pool of memory, since they never run at the same time.
    """

    def __init__(self):
        self.pool = torch.cuda.graph_pool_handle()
        self.stream = torch.cuda.Stream()
        self.steps: dict[tuple, tuple[torch.cuda.CUDAGraph, StepInputs, Tensor]] = {}
        self.update_graph: torch.cuda.CUDAGraph | None = None

    def _record(self, work) -> tuple[torch.cuda.CUDAGraph, Any]:
        """Graph of a call of `work`, which is run once before, and its result."""
        graph = torch.cuda.CUDAGraph()
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            work()
        torch.cuda.current_stream().wait_stream(self.stream)
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream):
            result = work()
        return graph, result

    def gradients(self, work, inputs: StepInputs) -> Tensor:
        """The result of `work(inputs)`, valid until the next step."""
        shape = (*inputs.cells.shape, inputs.targets.shape[1])
        if shape not in self.steps:
            buffers = StepInputs(*(t.clone() for t in inputs))
            graph, loss = self._record(lambda: work(buffers))
            self.steps[shape] = graph, buffers, loss
        graph, buffers, loss = self.steps[shape]
        for buffer, values in zip(buffers, inputs, strict=True):
            buffer.copy_(values)
        graph.replay()
        return loss

    def update(self, work, state: list[Tensor]) -> None:
        """Do what `work` does to the state."""
        if self.update_graph is None:
            old_values = [t.clone() for t in state]
            self.update_graph, _ = self._record(work)
            for t, value in zip(state, old_values, strict=True):
                t.copy_(value)
        self.update_graph.replay()


@dataclass
class PriorTraining:
    """A run of training that can be stopped and continued.

    Examples
    --------
    >>> from pansophy.prior_fitted.training import TOY_SHAPE, PriorTraining
    >>> run = PriorTraining(TOY_SHAPE, n_steps=3, rows_per_step=256)
    >>> run.run().step
    3
    """

    shape: NetworkShape = TRAINED_SHAPE
    _: KW_ONLY
    n_steps: int | None = None  # of the whole run, or
    seconds: float | None = None  # the time of the whole run
    rows_per_step: int = 32_768
    cells_per_step: int = 500_000
    share_of_numbers: float = 0.3
    weight_of_numbers: float = 0.5
    learning_rate: float = 1e-3
    decay_share: float = 0.4  # of the run, in which the rate falls
    averaging: float = 0.999
    device: str = "cpu"
    seed: int = 0
    log_every: int = 500
    start: dict[str, Tensor] | None = None  # weights to begin with

    step: int = field(default=0, init=False)
    n_tables: int = field(default=0, init=False)
    elapsed: float = field(default=0.0, init=False)

    def __post_init__(self):
        if (self.n_steps is None) == (self.seconds is None):
            raise ValueError("give n_steps or seconds, the length of the whole run.")
        self.source = RandomSource(self.seed, self.device)
        weights = self.start or initial_network_weights(self.shape, self.source)
        self.named = {
            name: torch.nn.Parameter(w.to(self.device, torch.float32).clone())
            for name, w in weights.items()
        }
        adam = Adam(self.learning_rate, 0.9, 0.98, decay=0.01)
        muon = Muon(self.learning_rate, decay=0.05)
        rules = ParameterGroups(dict.fromkeys(BY_ADAM, adam), muon)
        self.packs = [
            pack for pack in pack_parameters(self.named, rules) if len(pack.flat.w)
        ]
        self.average = [pack.flat.w.clone() for pack in self.packs]
        self.names = {id(p): name for name, p in self.named.items()}
        self.schedule = warmdown(self.decay_share, warmup=300)
        self.rate = torch.zeros((), device=self.device)
        self.recorded = RecordedSteps() if self.device.startswith("cuda") else None

    @property
    def progress(self) -> float:
        """Share of the whole run that is done."""
        if self.n_steps is not None:
            return self.step / self.n_steps
        assert self.seconds is not None
        return self.elapsed / self.seconds

    def run(self, most_seconds: float | None = None, log=None) -> "PriorTraining":
        """Train to the end of the run, or for so many seconds."""
        begin = time.perf_counter()
        elapsed_before = self.elapsed
        totals = torch.zeros(2, 2, device=self.device)  # sum and count, by kind
        while self.progress < 1:
            spent = time.perf_counter() - begin
            self.elapsed = elapsed_before + spent
            if most_seconds is not None and spent > most_seconds:
                break
            numbers = self.source.chance(self.share_of_numbers)
            loss = self._take_step(numbers)
            totals[int(numbers)] += torch.stack([loss, torch.ones_like(loss)])
            if log and self.step % self.log_every == 0:
                means = (totals[:, 0] / totals[:, 1]).tolist()
                totals.zero_()
                log(
                    f"{self.elapsed:.0f} s, step {self.step}, {self.n_tables} tables, "
                    f"classes {means[0]:.4f}, numbers {means[1]:.4f}, "
                    f"rate {self._rate():.2e}"
                )
        return self

    def _rate(self) -> float:
        total = self.step / self.progress if self.progress > 0 else 10**9
        progress = TrainingProgress(self.step, 0, 0, int(max(total, self.step + 1)))
        return self.schedule(progress)

    def _draw_shape(self, source: RandomSource) -> tuple[int, int, int, int]:
        """Tables, rows, columns and training rows of a step.

        A pair of rows and columns has two numbers of training rows, so that there are
        few enough shapes to record a graph of each.
        """
        host = source.host
        sizes, chances = zip(*SIZES_OF_TABLES.items(), strict=True)
        N = int(host.choice(sizes, p=chances))
        N = min(N, self.rows_per_step)
        d = int(source.pick(COLUMN_COUNTS))
        B = min(self.rows_per_step // N, self.cells_per_step // (N * d), MOST_TABLES)
        shares = np.random.default_rng((N, d)).uniform((0.3, 0.61), (0.61, 0.92))
        n = int(N * shares[host.integers(2)])
        return max(B, 1), N, d, max(n, 2)

    def _take_step(self, numbers: bool) -> Tensor:
        B, N, d, n = self._draw_shape(self.source)
        with torch.no_grad():
            tables = draw_tables(self.source, B, N, d, numbers)
            identities = self.source.normal(B, d, IDENTITY)
            weight = self.weight_of_numbers if numbers else 1.0
            inputs = step_inputs(tables, n, identities, weight)
        self.rate.fill_(self._rate())
        if self.recorded:
            loss = self.recorded.gradients(self._gradients, inputs)
            self.recorded.update(self._update, self._state())
        else:
            loss = self._gradients(inputs)
            self._update()
        self.step += 1
        self.n_tables += B
        if self.step % AVERAGE_EVERY == 0:
            share = 1 - self.averaging**AVERAGE_EVERY
            share = max(share, AVERAGE_EVERY / (self.step + AVERAGE_EVERY))
            for mean, pack in zip(self.average, self.packs, strict=True):
                mean.lerp_(pack.flat.w, share)
        return loss

    def _gradients(self, inputs: StepInputs) -> Tensor:
        """Put the gradients of the loss into the packs, and give the loss back."""
        dtype = torch.bfloat16 if self.device.startswith("cuda") else torch.float32
        leaves = [
            pack.flat.w.detach().to(dtype).clone().requires_grad_()
            for pack in self.packs
        ]
        weights = {}
        for pack, leaf in zip(self.packs, leaves, strict=True):
            parts = torch.split(leaf, [p.numel() for p in pack.flat.params])
            for p, part in zip(pack.flat.params, parts, strict=True):
                weights[self.names[id(p)]] = part.view(p.shape)
        loss = table_loss(weights, self.shape, inputs)
        gradients = torch.autograd.grad(loss * inputs.weight, leaves)
        for pack, gradient in zip(self.packs, gradients, strict=True):
            pack.flat.g.copy_(gradient)
        return loss.detach()

    @torch.no_grad()
    def _update(self) -> None:
        """Move the weights by the gradients in the packs, cut at norm 1."""
        squares = [pack.flat.g.square().sum() for pack in self.packs]
        norm = torch.stack(squares).sum().sqrt()
        finite = torch.isfinite(norm)
        factor = torch.where(finite, (1 / norm).clamp(max=1.0), 0.0)
        for pack in self.packs:
            g = pack.flat.g
            g.copy_(torch.where(finite, g * factor, 0.0))
            pack.rule.step(pack.flat, pack.state, self.rate)

    def _state(self) -> list[Tensor]:
        """All that an update changes."""
        changed = [pack.flat.w for pack in self.packs]
        return changed + [t for pack in self.packs for t in pack.state.values()]

    def weights(self, averaged: bool = True) -> dict[str, Tensor]:
        """The running mean of the weights, or those of the last step."""
        flats = self.average if averaged else [pack.flat.w for pack in self.packs]
        weights = {}
        for pack, flat in zip(self.packs, flats, strict=True):
            parts = torch.split(flat, [p.numel() for p in pack.flat.params])
            for p, part in zip(pack.flat.params, parts, strict=True):
                weights[self.names[id(p)]] = part.view(p.shape).clone()
        return {name: weights[name] for name in self.named}

    @torch.no_grad()
    def held_out_loss(self, n_batches: int = 60, seed: int = 10**6) -> dict[str, float]:
        """Losses of the averaged weights on tables of another seed, by kind."""
        source = RandomSource(seed, self.device)
        dtype = torch.bfloat16 if self.device.startswith("cuda") else torch.float32
        weights = {name: w.to(dtype) for name, w in self.weights().items()}
        losses: dict[str, list] = {"classes": [], "numbers": []}
        for i in range(n_batches):
            B, N, d, n = self._draw_shape(source)
            kind = "numbers" if i % 2 else "classes"
            tables = draw_tables(source, B, N, d, kind == "numbers")
            inputs = step_inputs(tables, n, source.normal(B, d, IDENTITY), 1.0)
            losses[kind].append(table_loss(weights, self.shape, inputs))
        return {
            kind: float(torch.stack(batch_losses).mean())
            for kind, batch_losses in losses.items()
        }

    def save_checkpoint(self, path) -> None:
        """Write all that the rest of the run depends on."""
        tensors = {"random": self.source.generator.get_state()}
        for i, (pack, mean) in enumerate(zip(self.packs, self.average, strict=True)):
            tensors |= {f"{i}/weights": pack.flat.w, f"{i}/average": mean}
            tensors |= {f"{i}/state/{name}": t for name, t in pack.state.items()}
        facts = {
            "step": self.step,
            "n_tables": self.n_tables,
            "elapsed": self.elapsed,
            "host": self.source.host.bit_generator.state,
        }
        write_checkpoint(path, tensors, facts)

    def load_checkpoint(self, path) -> None:
        """Go on where `save_checkpoint` was."""
        tensors, facts = read_checkpoint(path)
        for i, (pack, mean) in enumerate(zip(self.packs, self.average, strict=True)):
            pack.flat.w.copy_(tensors[f"{i}/weights"])
            mean.copy_(tensors[f"{i}/average"])
            for name, t in pack.state.items():
                t.copy_(tensors[f"{i}/state/{name}"])
        self.source.generator.set_state(tensors["random"])
        self.source.host.bit_generator.state = facts["host"]
        self.step, self.n_tables = facts["step"], facts["n_tables"]
        self.elapsed = facts["elapsed"]

    def export(self, path, provenance: dict | None = None) -> None:
        """Write the averaged weights in bfloat16, as the estimators read them."""
        facts = {"steps": self.step, "tables": self.n_tables, **(provenance or {})}
        limits = {
            "n_classes": N_CLASSES,
            "n_knots": N_KNOTS,
            "farthest_knot": FARTHEST_KNOT,
            "columns": max(COLUMN_COUNTS),
            "rows": int(0.92 * max(SIZES_OF_TABLES)),
        }
        meta = {
            "format": FORMAT,
            "shape": json.dumps(asdict(self.shape)),
            "limits": json.dumps(limits),
            "provenance": json.dumps(facts),
        }
        weights = {k: w.bfloat16().cpu() for k, w in self.weights().items()}
        save_file(weights, Path(path), metadata=meta)


def read_weights(path) -> tuple[dict[str, Tensor], NetworkShape]:
    """Weights that `PriorTraining.export` wrote, as float32 tensors, to start from."""
    pretrained = load_pretrained(path)
    weights = {name: torch.tensor(w) for name, w in pretrained.weights.items()}
    return weights, pretrained.shape

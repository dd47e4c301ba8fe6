"""The training loop of every net: batches, steps, schedules, validation, checkpoints.

A net is a torch module with `losses(batch) -> {name: scalar}`. One optimiser takes the
sum of the losses; a dict of optimisers takes each loss by its name and moves only the
parameters of that name (`net.groups()[name]`, else those of the submodule of that
name). A loss may be a function without arguments: it is then called after the earlier
names have stepped, which is how a GAN alternates. A net may
offer `gradients(batch)`, which fills `.grad` without autograd and is used when
`has_manual_gradients` is true.

Why a resumed run is the same run: a step depends on parameters, optimiser state, the
batch order and torch's random numbers, and on nothing else. A checkpoint holds all
four (and the stopping rule's), so the continuation equals the uninterrupted run bit by
bit on one kind of device.

Details that matter
- Parameters of a group are views of one vector (`nn.optimisers`): one update a step.
- Losses are summed on the device and read once an epoch: no waiting in between.
- Validation runs on the same random numbers each epoch, so that its noise cancels.
- Random numbers of the surrounding program are left as they were.

Refs      [Prechelt1998] early stopping
"""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from ..core.iterate import Result
from ..core.progress import SILENT, FitTask
from ..core.random import draw_seed, make_rng
from . import optimisers
from .batches import Batches
from .checkpoint import read_checkpoint, write_checkpoint
from .devices import limit_threads, resolve_device, seeded_torch
from .optimisers import Adam, Optimiser
from .schedules import Schedule, TrainingProgress
from .stopping import EarlyStopping, StoppingState

CHECKPOINTED_COUNTERS = (
    "epoch",
    "step",
    "seen",
    "reason",
    "history",
)  # what a checkpoint counts


class Net(Protocol):
    """What `train` needs beyond a torch module."""

    def losses(self, batch: Any) -> dict[str, Tensor]: ...


class TrainingState(NamedTuple):
    """Where a run stands after an epoch."""

    net: Any
    objective: float  # what the stopping rule looks at; else the training loss
    epoch: int
    step: int
    seen: int  # rows
    optimiser: dict[str, Tensor]  # by "name/pack/slot"


def train(net, data, *, task: FitTask = SILENT, **options) -> Result:
    """Train a net on data; `options` are the fields of `Training`.

    Returns a `Result` whose state is a `TrainingState` and whose history has one entry
    per epoch for `loss` (and for each name, if there are several), `valid_loss` and
    whatever `evaluate` reports. Reasons to end: "finished" (all epochs done, no
    stopping rule), "max_iter" (the same with one), "tolerance", "callback",
    "interrupted", "diverged" (the weights of the last finite epoch are kept).
    """
    return Training(net, data, **options).run(task)


@dataclass
class Training:
    """One run. See `train`.

    Parameters
    ----------
    net : torch.nn.Module with `losses`
    data : array, tuple or dict of arrays, or object with `take` and a length
    epochs, batch_size : int
    optimiser : SGD, Adam, Custom, or a dict of them by name of loss
    schedule : function of a `schedules.Clock`, or None
        Factor on the rate, asked before every step.
    clip : float or None
        Largest norm of a loss's gradient.
    amp : bool
        bfloat16 arithmetic where torch deems it safe.
    device : str
        "auto" takes a CUDA device if there is one.
    seed : int, Generator, RandomState or None
    shuffle : bool
    steps_per_epoch : int or None
        None: an epoch is one pass over the data.
    valid : like data, or None
        Gives `valid_loss`.
    evaluate : function of the net that returns {name: number}, or None
    stop : EarlyStopping or None
    after_step : function of the net, or None
        For clipped, tied or averaged weights.
    optimiser_state : dict of tensors or None
        `State.optimiser` of a run to go on from.
    checkpoint : path or None
        Where to write the state of the run, every `checkpoint_every` epochs.
    resume : bool
        Go on from `checkpoint` if the file exists.
    tag : str
        Must be the same for a run to be resumed.
    """

    net: Any
    data: Any
    _: KW_ONLY
    epochs: int = 10
    batch_size: int = 128
    optimiser: Optimiser | dict[str, Optimiser] = Adam()  # noqa: RUF009 (immutable)
    schedule: Schedule | None = None
    clip: float | None = None
    amp: bool = False
    device: Any = "auto"
    seed: Any = None
    shuffle: bool = True
    steps_per_epoch: int | None = None
    valid: Any = None
    evaluate: Callable | None = None
    stop: EarlyStopping | None = None
    after_step: Callable | None = None
    optimiser_state: dict | None = None
    checkpoint: str | Path | None = None
    resume: bool = False
    checkpoint_every: int = 1
    tag: str = ""
    history: dict[str, list] = field(default_factory=dict, init=False)

    def run(self, task: FitTask = SILENT) -> Result:
        begun = time.perf_counter()
        self.device = resolve_device(self.device)
        rng = make_rng(self.seed)
        threads = limit_threads(self.net, self.device, self.batch_size)
        with threads, seeded_torch(self.device, draw_seed(rng)):
            self._prepare(rng)
            try:
                reason = self._loop(task)
            except KeyboardInterrupt:
                reason = "interrupted"
            if self.stop and self.stop.restore and self.best_weights:
                self.net.load_state_dict(self.best_weights)
        self.net.eval()
        history = {name: np.asarray(v) for name, v in self.history.items()}
        seconds = time.perf_counter() - begun
        return Result(self.state(), self.epoch, reason, history, seconds)

    def _prepare(self, rng):
        net = self.net.to(self.device)
        rules: Any = self.optimiser
        self.optimisers = rules if isinstance(rules, dict) else {"": rules}
        self.flat_parameters, self.optimiser_states = {}, {}
        for name, rule in self.optimisers.items():
            self.flat_parameters[name] = optimisers.flatten_parameters(
                parameters_of_loss(net, name)
            )
            self.optimiser_states[name] = [
                rule.init(p) for p in self.flat_parameters[name]
            ]
        order = rng if self.shuffle else None
        self.batches = Batches(self.data, self.batch_size, order, self.device)
        self.valid_batches = None
        if self.valid is not None:
            self.valid_batches = Batches(self.valid, self.batch_size, None, self.device)
        self.epoch_steps = self.steps_per_epoch or self.batches.per_pass
        self.epoch = self.step = self.seen = 0
        self.reason = None
        self.best_weights = None
        self.stopping = self.stop.start() if self.stop else StoppingState()
        if self.optimiser_state:
            self._load_optimiser(self.optimiser_state)
        if self.resume and self.checkpoint and Path(self.checkpoint).exists():
            self._load()
        self.last_finite_weights = copy_weights(net)

    def _loop(self, task) -> str:
        stream = self.batches.stream()
        while self.reason is None and self.epoch < self.epochs:
            child = task.child(f"epoch {self.epoch}")
            values = self._epoch(stream)
            if not all(map(math.isfinite, values.values())):
                self.net.load_state_dict(self.last_finite_weights)
                return "diverged"
            values.update(self._validate())
            for name, value in values.items():
                self.history.setdefault(name, []).append(value)
            self.epoch += 1
            self.last_finite_weights = copy_weights(self.net)
            self._update_stopping()
            if self.checkpoint and self._checkpoint_due():
                self._save()
            if child.end(self.state()) and self.reason is None:
                return "callback"
        return self.reason or ("max_iter" if self.stop else "finished")

    def _checkpoint_due(self):
        last = self.reason is not None or self.epoch == self.epochs
        return last or self.epoch % self.checkpoint_every == 0

    def _epoch(self, stream) -> dict[str, float]:
        """Steps of one epoch; the mean losses over its rows."""
        self.net.train()
        manual = getattr(self.net, "has_manual_gradients", False) and not self.amp
        manual = manual and not isinstance(self.optimiser, dict)
        step = self._manual_step if manual else self._autograd_step
        with torch.set_grad_enabled(not manual):
            return self._steps(stream, step)

    def _steps(self, stream, step):
        """All steps of an epoch; the mean of each loss over its rows."""
        total = self.epochs * self.epoch_steps
        sums = {}
        rows = 0
        for _ in range(self.epoch_steps):
            batch, k = next(stream)
            scale = self.stopping.rate
            if self.schedule is not None:
                scale *= self.schedule(
                    TrainingProgress(self.step, self.epoch, self.seen, total)
                )
            for name, value in step(batch, scale).items():
                if name not in sums:
                    on_mps = value.device.type == "mps"  # which has no float64
                    exact = torch.float32 if on_mps else torch.float64
                    sums[name] = torch.zeros((), dtype=exact, device=value.device)
                sums[name].add_(value, alpha=k)
            if self.after_step is not None:
                self.after_step(self.net)
            rows += k
            self.step += 1
        self.seen += rows
        means = {name: float(value) / rows for name, value in sums.items()}
        return {"loss": sum(means.values()), **means}

    def _manual_step(self, batch, scale):
        """One step with the net's own gradients."""
        values = self.net.gradients(batch)
        self._optimiser_step("", scale)
        return values

    def _autograd_step(self, batch, scale):
        """One step on every loss by autograd."""
        with self._autocast():
            losses = self.net.losses(batch)
        if not isinstance(self.optimiser, dict):
            self._zero_gradients("")
            total: Any = sum(losses.values())
            total.backward()
            self._optimiser_step("", scale)
            return {name: value.detach() for name, value in losses.items()}
        if missing := losses.keys() ^ self.optimisers.keys():
            raise ValueError(f"losses and optimisers differ in {sorted(missing)}.")
        values = {}
        waiting = []
        for name, value in losses.items():
            if callable(value):  # deferred until the earlier losses have stepped
                for ready in waiting:
                    self._optimiser_step(ready, scale)
                waiting = []
                with self._autocast():
                    value = value()
            self._zero_gradients(name)
            own = [q for p in self.flat_parameters[name] for q in p.params]
            value.backward(inputs=own, retain_graph=True)
            waiting.append(name)
            values[name] = value.detach()
        for ready in waiting:
            self._optimiser_step(ready, scale)
        return values

    def _autocast(self):
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.amp)

    def _zero_gradients(self, name):
        for p in self.flat_parameters[name]:
            p.g.zero_()

    def _optimiser_step(self, name, scale):
        rule, packs = self.optimisers[name], self.flat_parameters[name]
        if self.clip is not None:
            norms = [torch.linalg.vector_norm(p.g) for p in packs]
            norm = torch.linalg.vector_norm(torch.stack(norms))
            factor = torch.clamp(self.clip / (norm + 1e-12), max=1.0)
            for p in packs:
                p.g.mul_(factor)
        for p, slot in zip(packs, self.optimiser_states[name]):
            rule.step(p, slot, scale)

    @torch.no_grad()
    def _validate(self) -> dict[str, float]:
        if self.valid_batches is None and self.evaluate is None:
            return {}
        self.net.eval()
        values = {}
        with seeded_torch(self.device, 0):
            if self.valid_batches is not None:
                total = 0.0
                for batch, k in self.valid_batches.one_pass():
                    with self._autocast():
                        parts = self.net.losses(batch).values()
                    parts = [v() if callable(v) else v for v in parts]
                    total = total + sum(v.double() for v in parts) * k
                values["valid_loss"] = float(total) / self.valid_batches.n
            if self.evaluate is not None:
                values.update(self.evaluate(self.net))
        return values

    def _update_stopping(self):
        """Apply the stopping rule to the epoch just recorded."""
        rule = self.stop
        if rule is None:
            return
        if rule.monitor not in self.history:
            raise ValueError(f"nothing named {rule.monitor!r} was measured.")
        value = rule.signed(self.history[rule.monitor][-1])
        if value < self.stopping.best and rule.restore:
            self.best_weights = copy_weights(self.net)
        self.stopping, over = rule.update(self.stopping, value)
        self.reason = "tolerance" if over else None

    def state(self) -> TrainingState:
        rule = self.stop or EarlyStopping("loss")
        value = rule.signed(self.history.get(rule.monitor, [math.inf])[-1])
        slots = self._optimiser_tensors()
        return TrainingState(self.net, value, self.epoch, self.step, self.seen, slots)

    def _optimiser_tensors(self):
        return {
            f"{name}/{i}/{key}": tensor
            for name, slots in self.optimiser_states.items()
            for i, slot in enumerate(slots)
            for key, tensor in optimisers.optimiser_tensors(slot).items()
        }

    def _load_optimiser(self, tensors):
        for name, slots in self.optimiser_states.items():
            for i, slot in enumerate(slots):
                start = f"{name}/{i}/"
                own = {
                    key.removeprefix(start): torch.as_tensor(value)
                    for key, value in tensors.items()
                    if key.startswith(start)
                }
                optimisers.restore_optimiser(slot, own)

    def _save(self):
        tensors = {f"net/{k}": v for k, v in self.net.state_dict().items()}
        for key, value in (self.best_weights or {}).items():
            tensors[f"best/{key}"] = value
        for key, value in self._optimiser_tensors().items():
            tensors[f"optimiser/{key}"] = value
        tensors["random/cpu"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["random/cuda"] = torch.cuda.get_rng_state(self.device)
        names = (*CHECKPOINTED_COUNTERS, "tag")
        facts = {name: getattr(self, name) for name in names}
        facts["stopping"] = self.stopping.to_json()
        facts["batches"] = self.batches.state_dict()
        write_checkpoint(self.checkpoint, tensors, facts)

    def _load(self):
        tensors, facts = read_checkpoint(self.checkpoint)
        if facts["tag"] != self.tag:
            raise ValueError(
                f"{self.checkpoint} belongs to another run: its data or parameters "
                "differ from this one's."
            )
        of = lambda start: {
            key.removeprefix(start): value
            for key, value in tensors.items()
            if key.startswith(start)
        }
        self.net.load_state_dict(of("net/"))
        self.best_weights = of("best/") or None
        self._load_optimiser(of("optimiser/"))
        torch.set_rng_state(tensors["random/cpu"])
        if self.device.type == "cuda" and "random/cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random/cuda"], self.device)
        for name in CHECKPOINTED_COUNTERS:
            setattr(self, name, facts[name])
        self.stopping = StoppingState.from_json(facts["stopping"])
        self.batches.load_state_dict(facts["batches"])


def parameters_of_loss(net, name) -> Iterable[torch.nn.Parameter]:
    """The parameters that the loss of this name moves."""
    if not name:
        return net.parameters()
    if hasattr(net, "groups"):
        return net.groups()[name]
    return getattr(net, name).parameters()


@torch.no_grad()
def copy_weights(net) -> dict[str, Tensor]:
    """A copy of everything in a net's state."""
    return {key: value.clone() for key, value in net.state_dict().items()}

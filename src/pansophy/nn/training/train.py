"""The training loop of every net: batches, steps, schedules, validation, checkpoints.

A net is a torch module with `losses(batch) -> {name: scalar}`. One optimiser takes the
sum of the losses; a dict of optimisers takes each loss by its name and moves only the
parameters of that name (`net.groups()[name]`, else those of the submodule of that
name). What else a net may do:

- leave a name out of a step: that name then does not step (a critic that steps five
  times as often as its generator); only a name without an optimiser is an error;
- give a function without arguments as a loss: it is called after the losses before it
  have stepped, which is how a GAN alternates (`nn.training.gradient_step`);
- take gradients inside `losses`, as a gradient penalty does: validation runs without
  gradients, so such a net opens `torch.enable_grad()` itself;
- offer `gradients(batch)`, which fills `.grad` without autograd and is used when
  `has_manual_gradients` is true;
- say by `batch_weight(batch)` what a batch counts in means over batches (tokens that
  are not padding, say); otherwise it counts by its rows;
- say by `capturable = True` that every step does the same, so that on a GPU a step may
  be recorded as a CUDA graph (`nn.training.step_capture`);
- say by `flops(rows)` the operations of a step on so many rows, for threads and MFU.

Why a resumed run is the same run: a step depends on parameters, optimiser state, the
batch order and torch's random numbers, and on nothing else. A checkpoint holds all
four (and averages and the stopping rule's state), so the continuation equals the
uninterrupted run bit by bit on one kind of device.

Details that matter
- Parameters of a group are views of one vector (`nn.training.optimisers`): one update a
step.
- Losses are summed on the device and read once an epoch: no waiting in between.
- Validation runs on the same random numbers each epoch, so that its noise cancels.
- Random numbers of the surrounding program are left as they were.
- The weights to fall back on after a divergence are copied after each epoch; of nets
  beyond a million numbers only when 20 steps have passed, which cost far more.

Refs      [Prechelt1998] early stopping
"""

import math
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from ...core.drivers.iterate import Result, StopReason
from ...core.drivers.progress import SILENT, FitTask
from ...core.random import draw_seed, make_rng
from ...params import check_count, check_keywords
from . import optimisers
from .batches import Batches
from .checkpoint import read_checkpoint, write_checkpoint
from .devices import (
    deterministic_torch,
    limit_torch_threads,
    peak_flops,
    resolve_device,
    seeded_torch,
)
from .gradient_step import GradientStep, LossTotals
from .optimisers import Adam, make_optimiser
from .parallel import (
    joined_processes,
    load_whole_tensors,
    shard_net,
    whole_tensors,
)
from .schedules import TrainingProgress, make_schedule
from .step_capture import CapturedStep, why_not_captured
from .stopping import (
    EarlyStopping,
    OverfittingWarning,
    StoppingState,
    overfitting_advice,
)
from .supervised_losses import SupervisedLosses
from .torch_data import as_torch_source
from .weight_average import AveragedWeights, WeightAverage

SMALL_NET = 1 << 20  # numbers; larger nets are not copied after short epochs
COPY_STEPS = 20

CHECKPOINTED_COUNTERS = (
    "epoch",
    "step",
    "seen",
    "reason",
    "history",
)  # what a checkpoint counts


class Net(Protocol):
    """Contract of `train`, beyond a torch module."""

    def losses(self, batch: Any) -> dict[str, Tensor]: ...


class TrainingState(NamedTuple):
    """State of a run after an epoch."""

    net: Any
    objective: float  # what the stopping rule looks at; else the training loss
    epoch: int
    step: int
    seen: int  # rows
    optimiser: dict[str, Tensor]  # by "name/pack/slot"
    execution: str = "kernel by kernel"  # or "CUDA graph", and why not


class EpochEnd(NamedTuple):
    """What a callback of `train` is told after an epoch."""

    net: Any
    epoch: int  # epochs done
    values: dict[str, float]  # of this epoch
    history: dict[str, list]  # of all


def train(net, data, *, task: FitTask | None = None, **options) -> Result:
    """Train a net on data; `options` are the fields of `Training`.

    A plain module, in the way of PyTorch, needs a loss and nothing else::

        train(net, loader, loss=torch.nn.CrossEntropyLoss(), epochs=5)

    Returns a `Result` whose state is a `TrainingState` and whose history has one entry
    per epoch for `loss` (and for each name, if there are several), `valid_loss`,
    whatever `evaluate` reports, and `rows_per_second`; where the net tells its
    operations `flops_per_second`, and `mfu` (their share of what the device can do)
    where that is known. A name that did not occur in an epoch is NaN there.

    Reasons to end: "finished" (all epochs done, no stopping rule), "max_iter" (the
    same with one), "tolerance", "callback", "interrupted", "diverged" (a loss that is
    not finite; the weights of the last finite epoch are kept, and a warning says so).
    """
    check_keywords(Training, options)
    result = Training(net, data, **options).run(SILENT if task is None else task)
    # an estimator, which has a task, warns itself
    if result.reason == StopReason.DIVERGED and task is None:
        moment = (
            f"after epoch {result.n_iter}" if result.n_iter else "in the first epoch"
        )
        warnings.warn(
            f"training diverged: a loss was not finite {moment}, and the weights "
            "before were kept. Look for NaN and huge values in the data, or take "
            "smaller "
            "steps.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return result


@dataclass
class Training:
    """One run. See `train`.

    Parameters
    ----------
    net : torch.nn.Module, with `losses` unless `loss` is given
    data : array, tuple or dict of arrays, or a source of rows
        Sources are in `nn.training.data_sources`; a torch Dataset or DataLoader or an
        iterable of batches will do too (`nn.training.torch_data`). With `loss`, dtypes
        are cast by the rule of `nn.training.supervised_losses`.
    loss : str, torch loss, `losses.Loss`, function of (output, target), or None
        What a plain module is trained on, such as "cross_entropy"; None asks
        `net.losses`.
    metrics : dict of functions of (output, target), or None
        With `loss`: numbers of each epoch, and as `valid_...` of the validation rows.
    weighted : bool
        With `loss`: whether the last part of a batch holds weights of its rows.
    epochs, batch_size : int
    drop_last : bool
        Leave out the last rows of a pass that do not fill a batch.
    accumulate : int
        Batches per step: the step is along the mean gradient of all their rows.
        `steps_per_epoch` and schedules count steps, not batches.
    optimiser : str, SGD, Adam, Lion, Muon, TorchOptimiser, ParameterGroups, or a dict
        A name ("adamw"), a rule, or a class or object of `torch.optim`. A dict has one
        for each name of a loss.
    lr : float or None
        The rate of the optimiser; None is its own.
    schedule : str, function of a `schedules.TrainingProgress`, torch scheduler or None
        Factor on the rate, asked before every step: "cosine", "linear", "warmdown",
        "one_cycle" or a function. A scheduler of torch steps after each epoch
        (OneCycleLR and CyclicLR after each step) and cannot be resumed.
    clip, clip_value : float or None
        Largest norm of a loss's gradient; largest size of its entries.
    average : WeightAverage or None
        Averages of the weights are validated, evaluated and left in the net.
    amp : bool
        bfloat16 arithmetic where torch deems it safe; losses must be float32.
    compile : {"auto", "none", "graph", "inductor"}
        "graph" launches a step as one CUDA graph, "inductor" has `torch.compile`
        generate its kernels (and records a graph of them if the net is capturable),
        "auto" takes graphs for float32 nets that are capturable. Where that cannot be,
        `TrainingState.execution` tells why.
    deterministic : bool
        Only operations of torch that give the same bits every time, or an error.
    parallel : {"auto", "none", "data", "fsdp"}
        How processes that torchrun started share the work (`nn.parallel`): "data"
        adds up gradients, "fsdp" also divides parameters; "auto" is "data" in a
        process group.
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
    callbacks : sequence of functions of an `EpochEnd`
        Called after each epoch; one that returns True ends the run.
    verbose : bool
        Print a line after each epoch.
    optimiser_state : dict of tensors or None
        `TrainingState.optimiser` of a run to go on from.
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
    loss: Any = None
    metrics: dict[str, Callable] | None = None
    weighted: bool = False
    epochs: int = 10
    batch_size: int = 128
    drop_last: bool = False
    accumulate: int = 1
    optimiser: Any = Adam()  # noqa: RUF009 (immutable)
    lr: float | None = None
    schedule: Any = None
    clip: float | None = None
    clip_value: float | None = None
    average: WeightAverage | None = None
    amp: bool = False
    compile: Literal["auto", "none", "graph", "inductor"] = "auto"
    deterministic: bool = False
    parallel: Literal["auto", "none", "data", "fsdp"] = "auto"
    device: Any = "auto"
    seed: Any = None
    shuffle: bool = True
    steps_per_epoch: int | None = None
    valid: Any = None
    evaluate: Callable | None = None
    stop: EarlyStopping | None = None
    after_step: Callable | None = None
    callbacks: Sequence[Callable] = ()
    verbose: bool = False
    optimiser_state: dict | None = None
    checkpoint: str | Path | None = None
    resume: bool = False
    checkpoint_every: int = 1
    tag: str = ""
    history: dict[str, list] = field(default_factory=dict, init=False)

    def run(self, task: FitTask = SILENT) -> Result:
        start_time = time.perf_counter()
        self.device = resolve_device(self.device)
        self.processes = joined_processes(self.parallel)
        rng = make_rng(self.seed)
        if self.processes.several:  # all draw the same orders
            state = self.processes.shared(rng.bit_generator.state)
            rng.bit_generator.state = state
        threads = limit_torch_threads(self.net, self.device, self.batch_size)
        exact = deterministic_torch(self.deterministic)
        seed = draw_seed(rng) + self.processes.rank
        with exact, threads, seeded_torch(self.device, seed):
            self._prepare(rng)
            try:
                reason = self._loop(task)
            except KeyboardInterrupt:
                reason = StopReason.INTERRUPTED
            self._final_weights(reason)
        self.net.eval()
        self._warn_of_overfitting(reason)
        history = {name: np.asarray(v) for name, v in self.history.items()}
        seconds = time.perf_counter() - start_time
        return Result(self.state(), self.epoch, reason, history, seconds)

    def _warn_of_overfitting(self, reason):
        """Warn if a run stopped by held-out losses had long been overfitting."""
        by_loss = self.stop is not None and self.stop.monitor == "valid_loss"
        if reason == StopReason.TOLERANCE and by_loss:
            losses = self.history["loss"], self.history["valid_loss"]
            if advice := overfitting_advice(*losses):
                warnings.warn(advice, OverfittingWarning, stacklevel=4)

    def _prepare(self, rng):
        check_count("accumulate", self.accumulate)
        net = self.net.to(self.device)
        self.processes.share_weights(net)
        self.optimiser = make_optimiser(self.optimiser, self.lr)
        self._prepare_schedule()
        self._prepare_losses(net)
        is_parallel = self.processes.several
        part = (self.processes.rank, self.processes.size) if is_parallel else None
        self.take_step = self._make_step(net)
        self.averaged = AveragedWeights(self.average, net) if self.average else None
        self.batch_weight = getattr(net, "batch_weight", None)
        order = rng if self.shuffle else None
        self.batches = Batches(
            as_torch_source(self.data),
            self.batch_size,
            order,
            self.device,
            part,
            drop_last=self.drop_last,
        )
        self.valid_batches = None
        if self.valid is not None:
            self.valid_batches = Batches(
                as_torch_source(self.valid), self.batch_size, None, self.device, part
            )
        self.epoch_windows = self._windows()
        self.epoch = self.step = self.seen = 0
        self.reason = None
        self.best_weights = None
        self.best_epoch = 0
        self.stopping = self.stop.start() if self.stop else StoppingState()
        if self.optimiser_state:
            self._load_optimiser(self.optimiser_state)
        if self.resume and self.checkpoint and Path(self.checkpoint).exists():
            self._load()
        self.size = sum(p.numel() for p in net.parameters())
        self.last_finite_weights = self._evaluated_weights()
        self.copied_at = self.step

    def _prepare_schedule(self):
        """The factor on the rate, or a scheduler of torch that steps by itself."""
        self.torch_schedule = None
        if not hasattr(self.schedule, "get_last_lr"):
            self.schedule = make_schedule(self.schedule)
            return
        bound = getattr(self.optimiser, "optimiser", None)
        if bound is not self.schedule.optimizer:
            raise ValueError(
                "a scheduler of torch belongs to an optimiser of torch: give the one "
                "it was made for as optimiser."
            )
        if self.checkpoint:
            raise ValueError(
                "a scheduler of torch is not part of a checkpoint: give a schedule of "
                "pansophy.nn.schedules."
            )
        self.torch_schedule, self.schedule = self.schedule, None
        steppers = (
            torch.optim.lr_scheduler.OneCycleLR,
            torch.optim.lr_scheduler.CyclicLR,
        )
        self.steps_each_batch = isinstance(self.torch_schedule, steppers)

    def _step_torch_schedule(self, values):
        """Let a scheduler of torch see the end of an epoch."""
        scheduler = self.torch_schedule
        if scheduler is None or self.steps_each_batch:
            return
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau
        if isinstance(scheduler, plateau):
            scheduler.step(values.get("valid_loss", values["loss"]))
        else:
            scheduler.step()

    def _prepare_losses(self, net):
        """The function of a batch that is minimised."""
        if self.loss is None:
            if not hasattr(net, "losses"):
                raise TypeError(
                    f"{type(net).__name__} has no method losses(batch): give "
                    'loss="cross_entropy", another name, a torch loss or a function '
                    "of (output, target)."
                )
            if self.metrics:
                raise ValueError("metrics need loss: a net with losses has evaluate.")
            self.losses = net.losses
            self.supervised = None
        else:
            self.supervised = SupervisedLosses(
                net, self.loss, self.metrics, self.weighted
            )
            self.losses = self.supervised.to(self.device)

    def _make_step(self, net):
        """The step of this run: plain, compiled, or recorded as a CUDA graph."""
        if self.compile not in ("auto", "none", "graph", "inductor"):
            raise ValueError(
                'compile must be "auto", "none", "graph" or "inductor", got '
                f"{self.compile!r}."
            )
        inductor = self.compile == "inductor"
        self.totals = LossTotals()
        sharded = self.parallel == "fsdp"
        if sharded:
            if self.average is not None:
                raise ValueError('average cannot be combined with parallel="fsdp".')
            shard_net(net)
            if self.supervised is None:
                self.losses = net.losses  # gathers the parameters before it begins
        step = GradientStep(
            net,
            self.optimiser,
            self.totals,
            clip=self.clip,
            clip_value=self.clip_value,
            amp=self.amp,
            losses=torch.compile(self.losses) if inductor else self.supervised,
            processes=self.processes,
            sharded=sharded,
        )
        self.execution = "torch.compile" if inductor else "kernel by kernel"
        if self.compile == "none":
            return step
        why_not = why_not_captured(
            net,
            step,
            self.device,
            requested=self.compile == "graph",
            accumulate=self.accumulate,
        )
        if why_not is None:
            return CapturedStep(step, self.device)
        self.execution += f": {why_not}"
        return step

    def _windows(self) -> list[int]:
        """Numbers of batches of the steps of an epoch."""
        if self.steps_per_epoch:
            return [self.accumulate] * self.steps_per_epoch
        if getattr(self.batches.source, "per_pass", 0) is None:
            raise ValueError(
                "the data are an iterable without a length: give steps_per_epoch."
            )
        n_full, rest = divmod(self.batches.per_pass, self.accumulate)
        return [self.accumulate] * n_full + [rest] * (rest > 0)

    def _loop(self, task) -> str:
        with closing(self.batches.stream()) as stream:
            return self._epochs(stream, task)

    def _epochs(self, stream, task) -> str:
        """Epoch after epoch, until there is a reason to end."""
        while self.reason is None and self.epoch < self.epochs:
            child = task.child(f"epoch {self.epoch}")
            values = self._epoch(stream)
            if not all(map(math.isfinite, values.values())):
                self.net.load_state_dict(self.last_finite_weights)
                return StopReason.DIVERGED
            with self.averaged.in_net() if self.averaged else nullcontext():
                values.update(self._validate())
            self._step_torch_schedule(values)
            self._record(values)
            self.epoch += 1
            wants_to_end = self._tell_epoch(values)
            self._update_stopping()
            self._copy_finite_weights()
            if self.checkpoint and self._checkpoint_due():
                self._save()
            if (child.end(self.state()) or wants_to_end) and self.reason is None:
                return StopReason.CALLBACK
        planned_end = StopReason.MAX_ITER if self.stop else StopReason.FINISHED
        return self.reason or planned_end

    def _tell_epoch(self, values) -> bool:
        """Print a line and call the callbacks; whether one asks to end."""
        if self.verbose:
            numbers = "  ".join(f"{name} {v:.4g}" for name, v in values.items())
            print(f"epoch {self.epoch}/{self.epochs}  {numbers}", flush=True)
        told = EpochEnd(self.net, self.epoch, dict(values), self.history)
        answers = [callback(told) for callback in self.callbacks]
        return any(answer is True for answer in answers)

    def _record(self, values):
        """Add the values of an epoch to the history."""
        for name in values.keys() | self.history.keys():
            past = self.history.setdefault(name, [math.nan] * self.epoch)
            past.append(values.get(name, math.nan))

    def _copy_finite_weights(self):
        """Keep the weights that a diverging run falls back on."""
        if self.best_weights is not None and self.best_epoch == self.epoch:
            self.last_finite_weights = self.best_weights
        elif self.size > SMALL_NET and self.step - self.copied_at < COPY_STEPS:
            return
        else:
            self.last_finite_weights = self._evaluated_weights()
        self.copied_at = self.step

    def _evaluated_weights(self) -> dict[str, Tensor]:
        """A copy of the net's state as it is validated."""
        with self.averaged.in_net() if self.averaged else nullcontext():
            return copy_weights(self.net)

    def _final_weights(self, reason):
        """Leave in the net what the run is to give: the best, or the averages."""
        if self.stop and self.stop.restore and self.best_weights:
            load_whole_tensors(self.net, whole_tensors(self.best_weights))
        elif self.averaged is not None and reason != StopReason.DIVERGED:
            self.averaged.put_into_net()

    def _checkpoint_due(self):
        last = self.reason is not None or self.epoch == self.epochs
        return last or self.epoch % self.checkpoint_every == 0

    def _epoch(self, stream) -> dict[str, float]:
        """Steps of one epoch; the mean losses over its rows, and its speed."""
        self.net.train()
        start_time = time.perf_counter()
        rows = 0
        take_step = self.take_step
        with take_step.grad_mode():
            for window in self.epoch_windows:
                batches = [next(stream) for _ in range(window)]
                for _, k in batches:
                    rows += k
                if self.batch_weight is not None:
                    batches = [(b, self._weight(b, k)) for b, k in batches]
                take_step(batches, self._rate_factor())
                self.step += 1
                if self.torch_schedule is not None and self.steps_each_batch:
                    self.torch_schedule.step()
                if self.after_step is not None:
                    self.after_step(self.net)
                if self.averaged is not None:
                    self.averaged.after_step(self.step)
        if self.averaged is not None:
            self.averaged.after_epoch(self.epoch + 1)
        means = self.totals.means(self.processes)  # waits for the device
        rows = int(self.processes.total(rows, self.device))
        self.seen += rows
        seconds = time.perf_counter() - start_time
        measured = self.supervised.metric_means() if self.supervised else {}
        speed = self._speed(rows, seconds)
        return {"loss": sum(means.values()), **means, **measured, **speed}

    def _rate_factor(self) -> float:
        """Factor on the rate of the next step."""
        if self.schedule is None:
            return self.stopping.rate
        total = self.epochs * len(self.epoch_windows)
        progress = TrainingProgress(self.step, self.epoch, self.seen, total)
        return self.stopping.rate * self.schedule(progress)

    def _weight(self, batch, rows):
        """Weight of a batch in means: its rows, unless the net says otherwise."""
        if self.batch_weight is None or not rows:
            return rows
        return self.batch_weight(batch)

    def _speed(self, rows, seconds) -> dict[str, float]:
        """Rows and operations per second of an epoch, and their share of the peak."""
        speed = {"rows_per_second": rows / seconds}
        if hasattr(self.net, "flops"):
            speed["flops_per_second"] = self.net.flops(rows) / seconds
            peak = peak_flops(self.device, self.amp)
            if peak is not None:
                speed["mfu"] = speed["flops_per_second"] / peak
        return speed

    @torch.no_grad()
    def _validate(self) -> dict[str, float]:
        if self.valid_batches is None and self.evaluate is None:
            return {}
        self.net.eval()
        values = {}
        with seeded_torch(self.device, 0):
            if self.valid_batches is not None:
                total, count = 0.0, 0
                for batch, k in self.valid_batches.one_pass():
                    weight = self._weight(batch, k)
                    with self.take_step.autocast():
                        parts = self.losses(batch).values()
                        parts = [v() if callable(v) else v for v in parts]
                    total = total + sum(v.detach().double() for v in parts) * weight
                    count += weight
                total = self.processes.total(float(total), self.device)
                count = self.processes.total(count, self.device)
                values["valid_loss"] = total / count
                if self.supervised:
                    values.update(self.supervised.metric_means("valid_"))
            if self.evaluate is not None:
                values.update(self.processes.shared(self.evaluate(self.net)))
        return values

    def _update_stopping(self):
        """Apply the stopping rule to the epoch just recorded."""
        rule = self.stop
        if rule is None:
            return
        if rule.monitor not in self.history:
            raise ValueError(f"nothing named {rule.monitor!r} was measured.")
        if self.epoch <= rule.after:
            return
        value = rule.signed(self.history[rule.monitor][-1])
        if value < self.stopping.best and rule.restore:
            self.best_weights = self._evaluated_weights()
            self.best_epoch = self.epoch
        self.stopping, is_over = rule.update(self.stopping, value)
        self.reason = StopReason.TOLERANCE if is_over else None

    def state(self) -> TrainingState:
        rule = self.stop or EarlyStopping("loss")
        value = rule.signed(self.history.get(rule.monitor, [math.inf])[-1])
        return TrainingState(
            self.net,
            value,
            self.epoch,
            self.step,
            self.seen,
            self._optimiser_tensors(),
            getattr(self.take_step, "execution", self.execution),
        )

    def _optimiser_tensors(self):
        return {
            f"{name}/{i}/{key}": tensor
            for name, packs in self.take_step.packs.items()
            for i, pack in enumerate(packs)
            for key, tensor in optimisers.optimiser_tensors(pack.state).items()
        }

    def _load_optimiser(self, tensors):
        for name, packs in self.take_step.packs.items():
            for i, pack in enumerate(packs):
                start = f"{name}/{i}/"
                parameter_state = {
                    key.removeprefix(start): torch.as_tensor(value)
                    for key, value in tensors.items()
                    if key.startswith(start)
                }
                optimisers.restore_optimiser(pack.state, parameter_state)

    def _save(self):
        tensors = {
            f"net/{k}": v for k, v in whole_tensors(self.net.state_dict()).items()
        }
        for key, value in whole_tensors(self.best_weights or {}).items():
            tensors[f"best/{key}"] = value
        if self.averaged is not None:
            for key, value in self.averaged.average.items():
                tensors[f"average/{key}"] = value
        own_tensors = self._own_tensors()
        if self.processes.several:  # objects travel by way of the host
            own_tensors = {key: value.cpu() for key, value in own_tensors.items()}
        for part in self.processes.gathered(own_tensors):
            tensors |= part
        names = (*CHECKPOINTED_COUNTERS, "tag")
        facts = {name: getattr(self, name) for name in names}
        facts["stopping"] = self.stopping.to_json()
        facts["averaged"] = self.averaged.n if self.averaged else 0
        facts["batches"] = self.batches.state_dict()
        facts["processes"] = self.processes.size
        if self.processes.rank == 0:
            write_checkpoint(self.checkpoint, tensors, facts)
        self.processes.shared(None)  # none goes on before the file is there

    def _own_tensors(self) -> dict[str, Tensor]:
        """Tensors of this process alone: optimiser states and random numbers."""
        prefix = self.processes.prefix
        tensors = {
            f"{prefix}optimiser/{key}": value
            for key, value in self._optimiser_tensors().items()
        }
        tensors[f"{prefix}random/cpu"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors[f"{prefix}random/cuda"] = torch.cuda.get_rng_state(self.device)
        return tensors

    def _load(self):
        tensors, facts = read_checkpoint(self.checkpoint)
        if facts["processes"] != self.processes.size:
            raise ValueError(
                f"{self.checkpoint} was written by {facts['processes']} processes and "
                f"cannot be resumed by {self.processes.size}."
            )
        prefix = self.processes.prefix
        if facts["tag"] != self.tag:
            raise ValueError(
                f"{self.checkpoint} belongs to another run: its data or parameters "
                "differ from this one's."
            )
        tensors_of = lambda start: {
            key.removeprefix(start): value
            for key, value in tensors.items()
            if key.startswith(start)
        }
        load_whole_tensors(self.net, tensors_of("net/"))
        self.best_weights = tensors_of("best/") or None
        for pack in (p for packs in self.take_step.packs.values() for p in packs):
            if hasattr(pack.flat, "refresh"):
                pack.flat.refresh()
        self._load_optimiser(tensors_of(f"{prefix}optimiser/"))
        if self.averaged is not None:
            self.averaged.load(tensors_of("average/"), facts["averaged"])
        torch.set_rng_state(tensors[f"{prefix}random/cpu"])
        if self.device.type == "cuda" and f"{prefix}random/cuda" in tensors:
            torch.cuda.set_rng_state(tensors[f"{prefix}random/cuda"], self.device)
        for name in CHECKPOINTED_COUNTERS:
            setattr(self, name, facts[name])
        self.stopping = StoppingState.from_json(facts["stopping"])
        self.batches.load_state_dict(facts["batches"])


@torch.no_grad()
def copy_weights(net) -> dict[str, Tensor]:
    """A copy of everything in a net's state."""
    return {key: value.clone() for key, value in net.state_dict().items()}

"""The engine: runs every method on the same folds and collects its trial.

Fits run in worker processes (`worker_pool`), on a cluster (`dask_cluster`) or in this
process, through the same function (`fit_fold.fit_fold`) and with the same outcomes.
Methods run from cheap to expensive, so that a comparison that is cut short keeps
complete methods. A method that fails in any fold is not ranked, with the reason; nor is
one that was cut off. One that can no longer come first may stop early (`race`). Each
finished fit is in the run folder as soon as it is done.
"""

import contextlib
import pickle
import signal
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from .. import resource_limits
from ..evaluation.racing import RaceStop
from ..methods.method import Method
from ..splits import folds_of
from . import shared_store
from .fit_fold import (
    FitTimeout,
    PreparationCache,
    Workload,
    fit_context,
    fit_fold,
    time_limited,
)
from .plan import ActiveFit, ExecutionLimits, FailureKind, FitOutcome, JobQueue
from .progress import ProgressDisplay
from .race import Race, racing_methods
from .run_folder import STOP_ALL
from .worker_pool import NoWorkers, WorkerPool, fit_on_workers

__all__ = ["Trial", "folds_of", "make_workload", "run_trials"]
PREDICTION_BYTES = (
    1e9  # bytes of answers that are held, beyond those of the first repeat
)


@dataclass
class Trial:
    """Results of one method over all folds."""

    method: Method
    scores: dict[str, list[float]]  # one per fold, by metric
    fit_seconds: list[float] = field(default_factory=list)
    predict_seconds: list[float] = field(default_factory=list)  # of one row
    losses: np.ndarray | None = None  # mean loss of each row over the repeats
    repeat_losses: np.ndarray | None = field(default=None, repr=False)  # (R, n)
    losses_metric: str = ""  # the metric of the losses
    predictions: np.ndarray | None = None  # of rows held out in the first repeat
    all_predictions: np.ndarray | None = field(
        default=None, repr=False
    )  # in every repeat
    warned: dict[str, int] = field(default_factory=dict)
    failure: str = ""
    stopped: RaceStop | None = None  # in the race, after some of the repeats
    fitted_model: Any = field(default=None, repr=False)  # the model, or its bytes
    refit: Callable | None = field(default=None, repr=False)  # fits it anew

    @property
    def model(self):
        """The pipeline fitted in the first fold."""
        if isinstance(self.fitted_model, bytes):
            try:
                self.fitted_model = pickle.loads(self.fitted_model)
            except Exception:
                self.fitted_model = None
        if self.fitted_model is None and self.refit is not None:
            self.fitted_model = self.refit()
        return self.fitted_model


class TrialAggregator:
    """Outcomes put together, whatever the order in which they come."""

    def __init__(self, work, split, racers=()):
        self.work, self.split = work, split
        self.race = Race(work, split, racers)
        self.cancelled: set[int] = set()  # methods that were stopped on request
        self.done: list[dict[int, FitOutcome]] = [{} for _ in work.methods]
        self.losses: dict[int, np.ndarray] = {}  # method -> (repeats, n)
        self.all_predictions: dict[int, np.ndarray] = {}  # method -> (repeats, n, ...)

    def add(self, outcome) -> None:
        m, f, p = outcome.method, outcome.fold, outcome.predictions
        keep = outcome.model if f == 0 else None
        self.done[m][f] = outcome._replace(predictions=None, model=keep)
        if p is None or outcome.failure:
            return
        n = len(self.work.data)
        test = self.work.folds[f][1]
        repeat = f // self.split.per_repeat
        first = self.work.metrics[0]
        if first.row_losses is not None:
            if m not in self.losses:
                self.losses[m] = np.full((self.split.repeats, n), np.nan)
            self.losses[m][repeat, test] = first.row_losses(self.work.data.y[test], p)
        if m not in self.all_predictions:
            repeats = self.split.repeats if self.fits_in_memory(p) else 1
            self.all_predictions[m] = np.full((repeats, n, *p.shape[1:]), np.nan)
        if repeat < len(self.all_predictions[m]):
            self.all_predictions[m][repeat, test] = p

    def cancel(self, m, job_queue) -> None:
        """Stop a method on request, unless it is done or out already."""
        finished = len(self.done[m]) == len(self.work.folds) or m in self.race.stops
        if not finished and not self.failure(m):
            self.cancelled.add(m)
            job_queue.drop(m)

    def fits_in_memory(self, p) -> bool:
        """Whether there is room for the answers of every method in every repeat."""
        each = 8 * len(self.work.data) * int(np.prod(p.shape[1:]))
        return each * self.split.repeats * len(self.work.methods) <= PREDICTION_BYTES

    def trial(self, m, method, cut="") -> Trial:
        """Results of method m so far; `cut` says why it was stopped."""
        work = self.work
        stop = self.race.stops.get(m)
        repeats = self.split.repeats if stop is None else stop.repeats
        end = repeats * self.split.per_repeat  # a resumed run may hold later folds
        done = {f: o for f, o in self.done[m].items() if f < end}
        good = [done[f] for f in sorted(done) if not done[f].failure]
        trial = Trial(
            method,
            {k.name: [o.scores[k.name] for o in good] for k in work.metrics},
            [o.fit_seconds for o in good],
            [o.predict_seconds for o in good],
            failure=self.failure(m) or ("" if len(good) == end else cut),
            stopped=stop,
        )
        for o in good:
            for what, k in o.warned.items():
                trial.warned[what] = trial.warned.get(what, 0) + k
        if m in self.all_predictions:
            trial.predictions = self.all_predictions[m][0]
            whole = len(self.all_predictions[m]) == self.split.repeats
            trial.all_predictions = self.all_predictions[m][:repeats] if whole else None
        if 0 in done and not done[0].failure:
            trial.fitted_model = done[0].model
            trial.refit = partial(refit_first_fold, work, method)
        if m in self.losses and not trial.failure:
            trial.repeat_losses = self.losses[m][:repeats]
            trial.losses = trial.repeat_losses.mean(0)  # NaN for rows never held out
            trial.losses_metric = work.metrics[0].name
        return trial

    def failure(self, m) -> str:
        """The first failure of a method, with its fold; none after it was stopped."""
        if m in self.cancelled:
            done = len(self.done[m])
            return f"stopped on request after {done} of {len(self.work.folds)} fits"
        stop = self.race.stops.get(m)
        end = len(self.work.folds) if stop is None else stop.fits
        bad = [o for f, o in sorted(self.done[m].items()) if o.failure and f < end]
        if not bad:
            return ""
        o = bad[0]
        total = len(self.work.folds)
        if o.kind == FailureKind.SENT:
            return o.failure
        if o.kind == FailureKind.ERROR:
            return f"fold {o.fold + 1} failed: {o.failure}"
        if o.kind == FailureKind.DIED:
            return f"{o.failure} in fold {o.fold + 1} of {total}"
        return f"{o.failure} (fold {o.fold + 1} of {total})"


def refit_first_fold(work, method):
    """The pipeline of the first fold, fitted in this process."""
    alone = replace(work, methods=[method])
    return fit_fold(alone, 0, 0, PreparationCache(0)).model


# --- where fits run ----------------------------------------------------------------


def fit_in_process(work, job_queue, limits):
    """Outcomes one after the other; only the clock can end a fit, and not in C."""
    cache = PreparationCache(resource_limits.default_memory(1) / 8)
    while (job := job_queue.take()) is not None:
        m, f = job
        yield (ActiveFit(m, f, time.monotonic()),)
        try:
            with time_limited(limits.time_limit):
                outcome = fit_fold(work, m, f, cache)
        except FitTimeout:
            why = f"took more than {limits.time_limit:g} s"
            outcome = FitOutcome(m, f, failure=why, kind=FailureKind.TIME)
        yield outcome


def modules_to_preload(methods) -> list[str]:
    """Modules to import before workers are forked: none that starts threads."""
    listed = [m for m in methods if m.path.startswith(("pansophy.", "sklearn."))]
    return sorted({m.path.rpartition(".")[0] for m in listed if not m.needs})


def may_carry_state(estimator) -> bool:
    """Whether an estimator has parts of the user's, which may outlive a fit."""
    if estimator is None:
        return False
    parts = [estimator, *estimator.get_params(deep=True).values()]
    result = (
        p if isinstance(p, FunctionType) else type(p)
        for p in parts
        if callable(p) or hasattr(p, "get_params")
    )
    home = lambda p: str(p.__module__).split(".")[0]
    return any(home(p) not in ("sklearn", "pansophy", "numpy") for p in result)


def fit_in_workers(work, job_queue, limits, n):
    """Outcomes from n worker processes of this machine."""
    memory = limits.memory_limit or resource_limits.default_memory(n)
    if limits.memory_limit and not resource_limits.memory_is_watched():
        warnings.warn("Memory is not watched here: psutil is missing.", stacklevel=2)
    with shared_store.store_folder() as folder:
        own = [m for m, k in enumerate(work.methods) if may_carry_state(k.estimator)]
        pool = WorkerPool(n, limits, memory, modules_to_preload(work.methods), own)
        try:
            shared_store.write_workload(work, folder)  # they import meanwhile
            pool.open_store(folder)
            yield from fit_on_workers(pool, job_queue)
        except NoWorkers:
            for active in pool.active_fits():
                job_queue.put_back(*active[:2])
            raise
        finally:
            pool.close()


def fit_events(work, job_queue, limits):
    """Outcomes and what is being done, from wherever fits run."""
    if not job_queue:
        return
    if limits.cluster is not None:
        from .dask_cluster import fit_on_cluster

        yield from fit_on_cluster(work, job_queue, limits)
        return
    n = resource_limits.default_workers() if limits.workers is None else limits.workers
    n = min(n, job_queue.count())
    if n:
        try:
            yield from fit_in_workers(work, job_queue, limits, n)
            return
        except NoWorkers as error:
            warnings.warn(
                f"Fits run in this process, without a limit of memory, since worker "
                f"processes cannot be started: {error}",
                stacklevel=2,
            )
    yield from fit_in_process(work, job_queue, limits)


# --- the run -----------------------------------------------------------------------


@contextlib.contextmanager
def catch_interrupt(handled):
    """An event that the first Ctrl-C sets; the second one stops at once."""
    interrupted = threading.Event()
    ours = (
        handled
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not ours:
        yield interrupted
        return

    def ring(*_):
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()

    before = signal.signal(signal.SIGINT, ring)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def make_workload(methods, data, schema, metrics, split, limits) -> Workload:
    """Workload: data and settings common to the fits of all methods in all folds."""
    folds = split.folds
    setting = fit_context(schema, folds, limits, metrics[0].name, split.times(data))
    return Workload(
        data, schema, metrics, folds, list(methods), setting, limits.threads
    )


def run_trials(
    methods,
    data,
    schema,
    metrics,
    split,
    limits=None,
    folder=None,
    show=None,
    *,
    race=False,
    recorded_only=False,
) -> tuple[list[Trial], bool]:
    """Trials of all methods, and whether the comparison came to its end.

    `split` is a `splits.Split`, `folder` an open `folder.Folder` or None, `show` True,
    False or None for a live table on a terminal only. Every method has its trial; those
    that did not finish every fold say why in `failure`, or in `stopped` if they were
    behind in the race. With `recorded_only` nothing is fitted: there are trials of the
    methods that finished, or were stopped, by what is in the folder.
    """
    limits = limits or ExecutionLimits()
    folds = split.folds
    names = [m.name for m in methods]
    work = make_workload(methods, data, schema, metrics, split, limits)
    job_queue = JobQueue(len(methods), len(folds))
    racers = racing_methods(work, split) if race else ()
    aggregator = TrialAggregator(work, split, racers)
    if folder is not None:
        for outcome in folder.finished(names, limits, len(folds)):
            job_queue.close(outcome)
            aggregator.add(outcome)
    aggregator.race.update(aggregator, job_queue)
    if folder is not None:
        cancel_requested(folder.stop_requests(), names, aggregator, job_queue)
    if recorded_only:
        every = [aggregator.trial(m, k, "not done") for m, k in enumerate(methods)]
        return [t for t in every if not t.failure], True
    cut = {}
    if limits.max_fits is not None:
        for m in range(limits.max_fits // len(folds), len(methods)):
            job_queue.drop(m)
            cut[m] = f"not begun: the budget of {limits.max_fits} fits is used up"
    reason, active = process_events(work, job_queue, aggregator, limits, folder, show)
    trials = []
    for m, method in enumerate(methods):
        begun = aggregator.done[m] or any(d.method == m for d in active)
        if not reason:
            why = cut.get(m, "")
        elif begun:
            why = f"{reason} in fold {min(len(aggregator.done[m]) + 1, len(folds))} of "
            why += str(len(folds))
        else:
            why = f"{reason} before it began"
        trials.append(aggregator.trial(m, method, cut.get(m) or why))
    return trials, not reason


def cancel_requested(requests, names, aggregator, job_queue) -> None:
    """Stop the methods that are asked for, whose rivals may go on without them."""
    asked = {m for m, name in enumerate(names) if name in requests}
    for m in asked - aggregator.cancelled:
        aggregator.cancel(m, job_queue)
    if asked & aggregator.cancelled:
        aggregator.race.update(aggregator, job_queue)


def process_events(
    work, job_queue, aggregator, limits, folder, show
) -> tuple[str, tuple]:
    """Do what is on the job_queue: why it ended early, if so, and what was at work."""
    names = [m.name for m in work.methods]
    start_time = time.monotonic()
    active = ()
    reason = ""
    outside = limits.cluster is not None or limits.workers != 0
    stream = fit_events(work, job_queue, limits)
    with (
        ProgressDisplay(show, names, work, aggregator, limits) as board,
        catch_interrupt(outside) as interrupted,
    ):
        try:
            for event in stream:
                if isinstance(event, FitOutcome):
                    job_queue.close(event)
                    aggregator.add(event)
                    aggregator.race.update(aggregator, job_queue)
                    if folder is not None:
                        folder.write(names[event.method], event)
                else:
                    active = event
                board.update(active)
                if folder is not None:
                    requests = folder.stop_requests()
                    cancel_requested(requests, names, aggregator, job_queue)
                    folder.write_progress(board.status)
                    if STOP_ALL in requests:
                        reason = "stopped on request"
                        break
                spent = time.monotonic() - start_time
                if interrupted.is_set():
                    reason = "interrupted"
                    break
                if limits.stop_after is not None and spent > limits.stop_after:
                    reason = f"stopped after {limits.stop_after:g} s"
                    break
        except KeyboardInterrupt:
            reason = "interrupted"
        finally:
            stream.close()
            if folder is not None:
                folder.write_progress(board.status, final=True)
                with contextlib.suppress(OSError):  # a full disk; it has been said
                    folder.sync(reason)
    return reason, active

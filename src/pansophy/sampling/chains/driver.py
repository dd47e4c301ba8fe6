"""Driver of Markov chain samplers: warm-up, draws, progress, interruption, resuming.

A sampler (`typing.Sampler`) moves m chains at once:

    init(position (m, d)) -> state       with fields position (m, d), log_prob (m,)
    step(rng, state) -> state, info      info: fields of shape (m,)
    adapt(state, info, tuning, remaining) -> state, tuning    if it adapts in warm-up

or, faster, many steps in one call, with a trace: a dict of arrays (m, n, ...) of all
fields of n steps:

    steps(rng, state, n) -> state, trace                      the same as n steps
    warm(rng, state, n, tuning, remaining) -> state, trace, tuning    if it adapts

Everything that a step needs is in its state, tuned sizes included, and `adapt` and
`warm` are called in warm-up only, so the kept draws come from one fixed chain. The
draws do not depend on how many steps are made in one call: random numbers are drawn
step by step. An interrupt (Ctrl-C) keeps the draws made so far and marks them;
`sample(draws, n)` resumes a run, and n draws followed by k more are the same as n + k
at once.
"""

import copy
import time
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...base import Estimator, InterruptedFitWarning
from ...core.drivers.metropolis import ErgodicityWarning
from ...core.drivers.progress import SILENT, run_with_progress
from ...core.random import make_rng
from ...params import check_count, short_repr
from ...typing import Sampler
from .draws import ChainRun, Draws

N_REPORTS = 100  # progress reports of a run
MAX_STEPS_PER_PIECE = 256  # for densities that are Python functions


@dataclass(eq=False, repr=False)
class AnonymousSampler(Estimator):
    """Stands in for a sampler that cannot carry callbacks."""


def sample(
    sampler,
    n_draws=1000,
    *,
    init=None,
    chains=None,
    warmup=None,
    thin=None,
    random_state=None,
    names=None,
    progress=False,
) -> Draws:
    """Run Markov chains and return their draws.

    Parameters
    ----------
    sampler : Sampler or Draws
        The sampler, such as `Metropolis(log_prob)`; or the result of an earlier run,
        which is then continued with its chains and random stream.
    n_draws : int
        Draws to keep of each chain.
    init : array of shape (d,) or (chains, d), or function
        Initial positions: one for all chains, one for each, or `init(rng, chains)`
        giving (chains, d). R-hat needs dispersed initial positions.
    chains : int or None
        Number of chains; None is 4, or the number of rows of init.
    warmup : int or None
        Steps before the first draw, in which the sampler adapts; None is 1000.
    thin : int or None
        Steps for each draw kept; None is 1.
    random_state : int, Generator, RandomState or None
        Same seed, same draws.
    names : list of str or None
        Names of the d parameters.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    Draws
        Positions (chains, draws, d) with `summary()` and `plot()`.

    Examples
    --------
    >>> from pansophy.sampling import Metropolis, sample
    >>> draws = sample(
    ...     Metropolis(lambda x: -abs(x[0])), 500, init=[0.0], random_state=1
    ... )
    >>> more = sample(draws, 500)
    >>> more.positions.shape
    (4, 1000, 1)
    """
    n_draws = check_count("n_draws", n_draws)
    if isinstance(sampler, Draws):
        fixed_options = {
            "init": init,
            "chains": chains,
            "warmup": warmup,
            "thin": thin,
            "random_state": random_state,
        }
        for name, value in fixed_options.items():
            if value is not None:
                raise ValueError(f"{name} cannot change when a run is continued.")
        earlier = sampler
        run = earlier.run._replace(rng=copy.deepcopy(earlier.run.rng))
    else:
        earlier = None
        run = _start_chains(sampler, init, chains, warmup, thin, make_rng(random_state))
    d = run.state.position.shape[1]
    names = names if names is not None else earlier.names if earlier else None
    names = [f"x{j}" for j in range(d)] if names is None else list(names)
    if len(names) != d:
        raise ValueError(f"{len(names)} names were given for {d} parameters.")
    owner = run.sampler if isinstance(run.sampler, Estimator) else AnonymousSampler()
    run_task = lambda task: _run_chain_steps(run, n_draws, names, task)
    draws = run_with_progress(owner, run_task, total=N_REPORTS, verbose=progress)
    draws = draws if earlier is None else _concatenate_draws(earlier, draws)
    _warn_about_draws(draws)
    return draws


def check_sampler(sampler):
    """Raise if this is not a sampler."""
    if isinstance(sampler, type) or not isinstance(sampler, Sampler):
        raise TypeError(
            "sampler must be one such as Metropolis(log_prob), with init and step, "
            f"got {short_repr(sampler)}."
        )


def _start_chains(sampler, init, chains, warmup, thin, rng) -> ChainRun:
    """Check the arguments and put the chains at their initial positions."""
    check_sampler(sampler)
    counts = (("chains", chains, 1), ("warmup", warmup, 0), ("thin", thin, 1))
    for name, value, minimum in counts:
        if value is not None:
            check_count(name, value, minimum)
    if init is None:
        raise ValueError(
            "init is needed: a start of shape (d,) or (chains, d), or a function."
        )
    x = np.asarray(init(rng, chains or 4) if callable(init) else init)
    if x.ndim == 1:
        x = np.tile(x, (chains or 4, 1))
    if x.ndim != 2 or 0 in x.shape or (chains is not None and len(x) != chains):
        wanted = "chains" if chains is None else chains
        raise ValueError(f"init must have shape (d,) or ({wanted}, d), got {x.shape}.")
    state = sampler.init(x)
    infinite = np.flatnonzero(~np.isfinite(state.log_prob))
    if infinite.size:
        raise ValueError(
            f"log_prob is {state.log_prob[infinite[0]]} at the start of chain "
            f"{infinite[0]}; start where the density is positive."
        )
    warmup = 1000 if warmup is None else int(warmup)
    return ChainRun(sampler, state, None, rng, warmup, 0, int(thin or 1))


def _run_chain_steps(run, n_draws, names, task) -> Draws:
    """The remaining warm-up steps, then the draws."""
    started = time.perf_counter()
    progress = RunProgress(run, n_draws)
    reason = "done"
    try:
        if progress.in_pieces and task is SILENT:
            progress.run_all()
        for report in range(N_REPORTS if progress.done < progress.total else 0):
            child = task.child(f"part {report}")
            progress.run_steps(
                progress.total * (report + 1) // N_REPORTS - progress.done
            )
            if child.end(progress.run.state) and progress.done < progress.total:
                reason = "callback"
                break
    except KeyboardInterrupt:
        reason = "interrupted"
    run = progress.run._replace(rng=copy.deepcopy(progress.run.rng))
    arrays = progress.store.draws(run.state)
    seconds = time.perf_counter() - started
    position = arrays.pop("position")
    log_prob = arrays.pop("log_prob")
    return Draws(position, log_prob, arrays, names, reason, seconds, run)


def _concatenate_draws(a, b) -> Draws:
    """Draws a followed by draws b, as one run."""
    join_draws = lambda x, y: np.concatenate([x, y], axis=1)
    info = {
        name: join_draws(a.info[name], b.info[name])
        for name in a.info
        if name in b.info
    }
    return Draws(
        join_draws(a.positions, b.positions),
        join_draws(a.log_prob, b.log_prob),
        info if a.info else b.info,
        b.names,
        b.reason,
        a.seconds + b.seconds,
        b.run,
    )


def warn_not_finished(reason, limit, why):
    """Warn if a run stopped before its end."""
    messages = {
        "max_iter": f"{limit} was reached before the end: {why}; raise {limit}.",
        "diverged": f"the run met numbers that are not finite and stopped: {why}.",
        "interrupted": f"the run was interrupted before its end: {why}.",
    }
    if reason in messages:
        by_hand = reason == "interrupted"
        kind = InterruptedFitWarning if by_hand else ConvergenceWarning
        warnings.warn(messages[reason], kind, stacklevel=3)


def _stationary_chains(x, min_draws=100):
    """Chains of x (m, n, d) that never move in n >= min_draws draws."""
    if x.shape[1] < min_draws:
        return np.empty(0, int)
    rows = np.flatnonzero((x[:, 0] == x[:, -1]).all(axis=1))
    return rows[(x[rows] == x[rows, :1]).all(axis=(1, 2))]


def _warn_about_draws(draws):
    """Warn about interrupted runs, chains that do not move, and divergences."""
    n = draws.positions.shape[1]
    if draws.interrupted:
        warnings.warn(
            f"sampling was interrupted; {n} draws of each chain were kept.",
            InterruptedFitWarning,
            stacklevel=3,
        )
    if not np.isfinite(draws.log_prob).all():
        warnings.warn(
            "log_prob is infinite at some draws: the chain cannot leave such a place.",
            RuntimeWarning,
            stacklevel=3,
        )
    elif (stationary := _stationary_chains(draws.positions)).size:
        warnings.warn(
            f"chains {short_repr(stationary.tolist())} never moved in {n} draws: no "
            "step was accepted, or there is nowhere to go.",
            ErgodicityWarning,
            stacklevel=3,
        )
    n_divergent = int(np.sum(draws.info.get("divergent", 0)))
    if n_divergent:
        warnings.warn(
            f"{n_divergent} of {draws.log_prob.size} draws ended in a divergence: the "
            "chains may not explore all of the target. Raise target_accept or "
            "reparametrise.",
            RuntimeWarning,
            stacklevel=3,
        )


class DrawStore:
    """Arrays of the draws, allocated when the first draw shows their shapes."""

    def __init__(self, n):
        self.n = n
        self.n_kept = 0
        self.arrays: dict = {}

    def add(self, trace):
        """Add draws: name -> (m, k, ...)."""
        k = trace["log_prob"].shape[1]
        if not self.arrays:
            for name, v in trace.items():
                self.arrays[name] = np.empty((len(v), self.n, *v.shape[2:]), v.dtype)
        for name, v in trace.items():
            self.arrays[name][:, self.n_kept : self.n_kept + k] = v
        self.n_kept += k

    def add_one(self, state, info):
        """Add one draw; it lies in one piece of memory, which is quick to write."""
        if not self.arrays:
            for name, v in step_record(state, info).items():
                a = np.empty((self.n, *np.shape(v)), np.asarray(v).dtype)
                self.arrays[name] = a.swapaxes(0, 1)
        column = (slice(None), self.n_kept)
        for a, v in zip(
            self.arrays.values(), (state.position, state.log_prob, *info), strict=True
        ):
            a[column] = v
        self.n_kept += 1

    def draws(self, state):
        """The arrays of the draws kept; empty if the run stopped in warm-up."""
        if not self.arrays:
            x = state.position
            empty = np.empty((len(x), 0))
            return {"position": np.empty((len(x), 0, x.shape[1])), "log_prob": empty}
        if self.n_kept == self.n:
            return self.arrays
        return {name: a[:, : self.n_kept].copy() for name, a in self.arrays.items()}


def advance_chains(sampler, rng, state, n):
    """n steps, in one call if the sampler can: new state and trace."""
    if hasattr(sampler, "steps"):
        return sampler.steps(rng, state, n)
    records = []
    for _ in range(n):
        state, info = sampler.step(rng, state)
        records.append(step_record(state, info))
    return state, stack_records(records)


def warm_up_chains(sampler, rng, state, n, tuning, remaining):
    """n steps of warm-up with `remaining` more to come: new state, trace, tuning."""
    if hasattr(sampler, "warm"):
        return sampler.warm(rng, state, n, tuning, remaining)
    adapt = getattr(sampler, "adapt", None)
    if adapt is None:
        return *advance_chains(sampler, rng, state, n), tuning
    records = []
    for i in range(n):
        state, info = sampler.step(rng, state)
        records.append(step_record(state, info))
        state, tuning = adapt(state, info, tuning, remaining + n - 1 - i)
    return state, stack_records(records), tuning


def _single_warm_up_step(sampler):
    """A function (rng, state, tuning, remaining) that makes one step of warm-up."""
    adapt = getattr(sampler, "adapt", None)

    def step_and_adapt(rng, state, tuning, remaining):
        new, info = sampler.step(rng, state)
        return (new, tuning) if adapt is None else adapt(new, info, tuning, remaining)

    def warm_one(rng, state, tuning, remaining):
        state, _, tuning = sampler.warm(rng, state, 1, tuning, remaining)
        return state, tuning

    return warm_one if hasattr(sampler, "warm") else step_and_adapt


def step_record(state, info):
    """The fields of one step, by name."""
    return {"position": state.position, "log_prob": state.log_prob} | info._asdict()


def stack_records(records):
    """The trace of consecutive steps from their records."""
    if len(records) == 1:
        return {name: np.asarray(v)[:, None] for name, v in records[0].items()}
    join = lambda name: np.stack([t[name] for t in records], axis=1)
    return {name: join(name) for name in records[0]}


class RunProgress:
    """A run in progress: steps made, draws kept, and the current state."""

    def __init__(self, run, n_draws):
        self.run = run
        self.store = DrawStore(n_draws)
        self.total = run.warmup - run.warmed + n_draws * run.thin
        self.done = 0
        self.in_pieces = hasattr(run.sampler, "steps")

    def run_steps(self, n):
        """Make n steps; those made before an exception are kept."""
        while n > 0 and self.in_pieces:
            mark = self.run.rng.bit_generator.state
            try:
                n -= self.run_piece(n)
            except BaseException:
                self.run.rng.bit_generator.state = (
                    mark  # these steps are to be repeated
                )
                raise
        self.run_single_steps(n)

    def run_single_steps(self, n):
        """n steps of a sampler that makes one step in a call."""
        sampler, state, tuning, rng, warmup, warmed, thin = self.run
        warm_up_step = _single_warm_up_step(sampler)
        n_done = self.done
        try:
            for n_done in range(self.done + 1, self.done + n + 1):
                if warmed < warmup:
                    state, tuning = warm_up_step(
                        rng, state, tuning, warmup - warmed - 1
                    )
                    warmed += 1
                    continue
                state, info = sampler.step(rng, state)
                if (self.total - n_done) % thin == 0:
                    self.store.add_one(state, info)
        except BaseException:
            n_done -= 1  # the current step is to be repeated
            raise
        finally:
            self.run = self.run._replace(state=state, tuning=tuning, warmed=warmed)
            self.done = n_done

    def run_piece(self, k):
        """At most k steps, all of warm-up or all of draws; returns their number."""
        sampler, state, tuning, rng, warmup, warmed, thin = self.run
        if warmed < warmup:
            k = min(k, warmup - warmed)
            remaining = warmup - warmed - k
            state, _, tuning = warm_up_chains(sampler, rng, state, k, tuning, remaining)
            warmed += k
        else:
            state, trace = advance_chains(sampler, rng, state, k)
            first = (self.total - self.done - 1) % thin  # the step of the next draw
            if first < k:
                if thin > 1:
                    trace = {name: a[:, first::thin] for name, a in trace.items()}
                self.store.add(trace)
        self.run = self.run._replace(state=state, tuning=tuning, warmed=warmed)
        self.done += k
        return k

    def run_all(self):
        """Make all steps, in pieces that Ctrl-C can interrupt.

        With a compiled density a piece takes about a tenth of a second. A Python
        density is called with the same positions in every run, so its pieces do not
        depend on time: each is at most as long as all before it.
        """
        timed = getattr(getattr(self.run.state, "density", None), "compiled", True)
        k = 16
        while self.done < self.total:
            started = time.perf_counter()
            self.run_steps(min(k, self.total - self.done))
            seconds = time.perf_counter() - started
            if timed and seconds < 0.03:
                k = 4 * k
            elif timed and seconds > 0.2:
                k = max(1, k // 2)
            elif not timed:
                k = min(self.done, MAX_STEPS_PER_PIECE)

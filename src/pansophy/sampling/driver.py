"""The driver of every chain: warm-up, draws, progress, interruption, going on.

A sampler (`typing.Sampler`) moves m chains at once:

    init(position (m, d)) -> state       with fields position (m, d), log_prob (m,)
    step(rng, state) -> state, info      info: fields of shape (m,)
    adapt(state, info, tuning, left) -> state, tuning      if it learns in warm-up

or, quicker, many steps at a time, with arrays (m, n, ...) of all fields:

    steps(rng, state, n) -> state, trace                   the same as n steps
    warm(rng, state, n, tuning, left) -> state, trace, tuning       if it learns

Everything a step needs is in its state, the tuned sizes too, and `adapt` and `warm`
are called in warm-up only, so the kept draws come from one fixed chain. How many
steps are taken at a time must not matter: random numbers are drawn step by step.
Ctrl-C keeps the draws there are and marks them; `sample(draws, n)` goes on from where
a run stands, and n draws and then k more are the same as n + k at once.
"""

import copy
import time
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..base import Estimator, InterruptedFitWarning
from ..core.acceptance import ErgodicityWarning
from ..core.progress import SILENT, watched
from ..core.random import rng_from
from ..params import brief
from ..typing import Sampler
from .draws import ChainRun, Draws

N_REPORTS = 100  # how often a run reports
MAX_STEPS_PER_PIECE = 256  # steps of a piece that asks a function of Python's


@dataclass(eq=False, repr=False)
class AnonymousSampler(Estimator):
    """Stands for a sampler that cannot carry callbacks of its own."""


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
        What moves the chains, such as `Metropolis(log_prob)`; or the result of an
        earlier run, which is then continued (with its own chains and random stream).
    n_draws : int
        Draws to keep of each chain.
    init : array of shape (d,) or (chains, d), or function
        Where the chains start: all at one place, each at its own, or
        `init(rng, chains)` giving (chains, d). Spread out starts make R-hat telling.
    chains : int or None
        Number of chains; None is 4, or the number of rows of init.
    warmup : int or None
        Steps before the first draw, in which the sampler tunes itself; None is 1000.
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
    if not isinstance(n_draws, (int, np.integer)) or n_draws < 1:
        raise ValueError(
            f"n_draws must be a whole number of at least 1, got {n_draws}."
        )
    if isinstance(sampler, Draws):
        given = {
            "init": init,
            "chains": chains,
            "warmup": warmup,
            "thin": thin,
            "random_state": random_state,
        }
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{name} cannot change when a run is continued.")
        before, run = sampler, sampler.run
        run = run._replace(rng=copy.deepcopy(run.rng))
    else:
        before = None
        run = start_chains(sampler, init, chains, warmup, thin, rng_from(random_state))
    d = run.state.position.shape[1]
    names = names if names is not None else before.names if before else None
    names = [f"x{j}" for j in range(d)] if names is None else list(names)
    if len(names) != d:
        raise ValueError(f"{len(names)} names were given for {d} parameters.")
    owner = run.sampler if isinstance(run.sampler, Estimator) else AnonymousSampler()
    go = lambda task: run_chain_steps(run, int(n_draws), names, task)
    draws = watched(owner, go, total=N_REPORTS, verbose=progress)
    draws = draws if before is None else concatenate_draws(before, draws)
    warn_about_draws(draws)
    return draws


def check_sampler(sampler):
    """Raise where this cannot move chains."""
    if isinstance(sampler, type) or not isinstance(sampler, Sampler):
        raise TypeError(
            "sampler must be one such as Metropolis(log_prob), with init and step, "
            f"got {brief(sampler)}."
        )


def start_chains(sampler, init, chains, warmup, thin, rng) -> ChainRun:
    """Check the arguments and put the chains at their starts."""
    check_sampler(sampler)
    for name, value, least in (
        ("chains", chains, 1),
        ("warmup", warmup, 0),
        ("thin", thin, 1),
    ):
        whole = isinstance(value, (int, np.integer))
        if value is not None and not (whole and value >= least):
            raise ValueError(
                f"{name} must be a whole number >= {least}, got {brief(value)}."
            )
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
    bad = np.flatnonzero(~np.isfinite(state.log_prob))
    if bad.size:
        raise ValueError(
            f"log_prob is {state.log_prob[bad[0]]} at the start of chain {bad[0]}; "
            "start where the density is positive."
        )
    warmup = 1000 if warmup is None else int(warmup)
    return ChainRun(sampler, state, None, rng, warmup, 0, int(thin or 1))


def run_chain_steps(run, n_draws, names, task) -> Draws:
    """Warm-up as far as it is due, then the draws."""
    begun = time.perf_counter()
    walk, reason = RunProgress(run, n_draws), "done"
    try:
        if walk.many and task is SILENT:
            walk.hurry()
        for beat in range(N_REPORTS if walk.done < walk.total else 0):
            child = task.child(f"part {beat}")
            walk.go(walk.total * (beat + 1) // N_REPORTS - walk.done)
            if child.end(walk.run.state) and walk.done < walk.total:
                reason = "callback"
                break
    except KeyboardInterrupt:
        reason = "interrupted"
    run = walk.run._replace(rng=copy.deepcopy(walk.run.rng))
    found = walk.store.cut(run.state)
    seconds = time.perf_counter() - begun
    position, log_prob = found.pop("position"), found.pop("log_prob")
    return Draws(position, log_prob, found, names, reason, seconds, run)


def concatenate_draws(a, b) -> Draws:
    """Draws b after draws a, as one run."""
    along = lambda x, y: np.concatenate([x, y], axis=1)
    info = {
        name: along(a.info[name], b.info[name]) for name in a.info if name in b.info
    }
    return Draws(
        along(a.positions, b.positions),
        along(a.log_prob, b.log_prob),
        info if a.info else b.info,
        b.names,
        b.reason,
        a.seconds + b.seconds,
        b.run,
    )


def warn_not_finished(reason, limit, why):
    """Warn of a search that was stopped before its end."""
    told = {
        "max_iter": f"{limit} was reached before the end: {why}; raise {limit}.",
        "diverged": f"the run met numbers that are not finite and stopped: {why}.",
        "interrupted": f"the run was interrupted before its end: {why}.",
    }
    if reason in told:
        hand = reason == "interrupted"
        kind = InterruptedFitWarning if hand else ConvergenceWarning
        warnings.warn(told[reason], kind, stacklevel=3)


def stationary_chains(x, least=100):
    """Numbers of the chains of x (m, n, d) that stay at one place for n >= least."""
    if x.shape[1] < least:
        return np.empty(0, int)
    rows = np.flatnonzero((x[:, 0] == x[:, -1]).all(axis=1))
    return rows[(x[rows] == x[rows, :1]).all(axis=(1, 2))]


def warn_about_draws(draws):
    """Warn of what a user should know before using the draws."""
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
    elif (still := stationary_chains(draws.positions)).size:
        warnings.warn(
            f"chains {brief(still.tolist())} never moved in {n} draws: no step was "
            "accepted, or there is nowhere to go.",
            ErgodicityWarning,
            stacklevel=3,
        )
    bad = int(np.sum(draws.info.get("divergent", 0)))
    if bad:
        warnings.warn(
            f"{bad} of {draws.log_prob.size} draws ended in a divergence: the chains "
            "may not see all of the target. Raise target_accept or reparametrise.",
            RuntimeWarning,
            stacklevel=3,
        )


class DrawStore:
    """Arrays for the draws to come, made when the first one shows their shapes."""

    def __init__(self, n):
        self.n, self.kept, self.arrays = n, 0, {}

    def keep(self, trace):
        """Add draws: name -> (m, k, ...)."""
        k = trace["log_prob"].shape[1]
        if not self.arrays:
            for name, v in trace.items():
                self.arrays[name] = np.empty((len(v), self.n, *v.shape[2:]), v.dtype)
        for name, v in trace.items():
            self.arrays[name][:, self.kept : self.kept + k] = v
        self.kept += k

    def keep_one(self, state, info):
        """Add one draw; in memory it lies in one piece, which is quick to write."""
        if not self.arrays:
            for name, v in step_record(state, info).items():
                a = np.empty((self.n, *np.shape(v)), np.asarray(v).dtype)
                self.arrays[name] = a.swapaxes(0, 1)
        at = (slice(None), self.kept)
        for a, v in zip(
            self.arrays.values(), (state.position, state.log_prob, *info), strict=True
        ):
            a[at] = v
        self.kept += 1

    def cut(self, state):
        """What was kept; a run stopped in warm-up has kept nothing."""
        if not self.arrays:
            x = state.position
            empty = np.empty((len(x), 0))
            return {"position": np.empty((len(x), 0, x.shape[1])), "log_prob": empty}
        if self.kept == self.n:
            return self.arrays
        return {name: a[:, : self.kept].copy() for name, a in self.arrays.items()}


def advance_chains(sampler, rng, state, n):
    """n steps: new state and trace, whichever way the sampler makes steps."""
    if hasattr(sampler, "steps"):
        return sampler.steps(rng, state, n)
    told = []
    for _ in range(n):
        state, info = sampler.step(rng, state)
        told.append(step_record(state, info))
    return state, stack_records(told)


def warm_up_chains(sampler, rng, state, n, tuning, left):
    """n steps of warm-up with `left` more to come: new state, trace and tuning."""
    if hasattr(sampler, "warm"):
        return sampler.warm(rng, state, n, tuning, left)
    adapt = getattr(sampler, "adapt", None)
    if adapt is None:
        return *advance_chains(sampler, rng, state, n), tuning
    told = []
    for i in range(n):
        state, info = sampler.step(rng, state)
        told.append(step_record(state, info))
        state, tuning = adapt(state, info, tuning, left + n - 1 - i)
    return state, stack_records(told), tuning


def single_warm_up_step(sampler):
    """One step of warm-up of which nothing is kept, as (rng, state, tuning, left)."""
    adapt = getattr(sampler, "adapt", None)

    def learn(rng, state, tuning, left):
        new, info = sampler.step(rng, state)
        return (new, tuning) if adapt is None else adapt(new, info, tuning, left)

    def whole(rng, state, tuning, left):
        state, _, tuning = sampler.warm(rng, state, 1, tuning, left)
        return state, tuning

    return whole if hasattr(sampler, "warm") else learn


def step_record(state, info):
    """One step's part of a trace."""
    return {"position": state.position, "log_prob": state.log_prob} | info._asdict()


def stack_records(told):
    """A trace of steps one after the other."""
    if len(told) == 1:
        return {name: np.asarray(v)[:, None] for name, v in told[0].items()}
    join = lambda name: np.stack([t[name] for t in told], axis=1)
    return {name: join(name) for name in told[0]}


class RunProgress:
    """A run in progress."""

    def __init__(self, run, n_draws):
        self.run, self.store = run, DrawStore(n_draws)
        self.total = run.warmup - run.warmed + n_draws * run.thin
        self.done = 0
        self.many = hasattr(run.sampler, "steps")

    def go(self, n):
        """n steps, all at once where the sampler can; what is done stays done."""
        while n > 0 and self.many:
            mark = self.run.rng.bit_generator.state
            try:
                n -= self.piece(n)
            except BaseException:
                self.run.rng.bit_generator.state = mark  # these steps are still to come
                raise
        self.singly(n)

    def singly(self, n):
        """n steps of a sampler that makes one at a time."""
        sampler, state, tuning, rng, warmup, warmed, thin = self.run
        step, learn, done = sampler.step, single_warm_up_step(sampler), self.done
        try:
            for done in range(self.done + 1, self.done + n + 1):
                if warmed < warmup:
                    state, tuning = learn(rng, state, tuning, warmup - warmed - 1)
                    warmed += 1
                    continue
                state, info = step(rng, state)
                if (self.total - done) % thin == 0:
                    self.store.keep_one(state, info)
        except BaseException:
            done -= 1  # the step in hand is still to come
            raise
        finally:
            self.run = self.run._replace(state=state, tuning=tuning, warmed=warmed)
            self.done = done

    def piece(self, k):
        """At most k steps, all of warm-up or all of draws; how many."""
        sampler, state, tuning, rng, warmup, warmed, thin = self.run
        if warmed < warmup:
            k = min(k, warmup - warmed)
            left = warmup - warmed - k
            state, _, tuning = warm_up_chains(sampler, rng, state, k, tuning, left)
            warmed += k
        else:
            state, trace = advance_chains(sampler, rng, state, k)
            first = (self.total - self.done - 1) % thin  # the step of the next draw
            if first < k:
                if thin > 1:
                    trace = {name: a[:, first::thin] for name, a in trace.items()}
                self.store.keep(trace)
        self.run = self.run._replace(state=state, tuning=tuning, warmed=warmed)
        self.done += k
        return k

    def hurry(self):
        """All steps, in pieces after which Ctrl-C finds what is done.

        Of compiled densities a tenth of a second each. A function of Python's is called
        as often, with the same positions, in every run: pieces by number, each at most
        as long as all before it.
        """
        timed = getattr(getattr(self.run.state, "density", None), "compiled", True)
        k = 16
        while self.done < self.total:
            begun = time.perf_counter()
            self.go(min(k, self.total - self.done))
            taken = time.perf_counter() - begun
            if timed:
                k = 4 * k if taken < 0.03 else max(1, k // 2) if taken > 0.2 else k
            else:
                k = min(self.done, MAX_STEPS_PER_PIECE)

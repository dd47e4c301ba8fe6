"""Chains on their way: steps by the piece or one at a time, and what is kept of them.

A sampler makes many steps in one call (`steps`, `warm_up_chains`) or one (`step`, `adapt`), see
`driver`. Both ways give the same draws, and what is done when a run is interrupted
stays done. A trace is a dict of the fields of n steps, (m, n, ...) each.
"""

import time

import numpy as np

MAX_STEPS_PER_PIECE = 256  # steps of a piece that asks a function of Python's


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

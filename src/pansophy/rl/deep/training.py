"""The driver of learning agents: gather steps, let the agent learn, repeat.

A learner acts in N environments (`act_batch`, see `gather`) and learns from `Steps`:

    horizon                            steps in each environment between two updates
    update(steps, progress, rng)       learns; returns {name: number}, what it measured
    copy_state(), restore_state(s)     a dict of tensors, to go back if an update gives
                                       NaN

The driver owns budgets, history, progress, callbacks, Ctrl-C (the learner stays as it
is, between two gradient steps) and divergence (the last finite state is put back).
`observe(learner, steps so far)` is called every `observe_every` steps; it must not draw
from `rng`, so that watching a run does not change it. The run ends if it returns True.
"""

import math
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...core.drivers.progress import SILENT
from ..experience.environment_contract import check_gathered_observations
from ..experience.gather import Position, Steps, gather

STEPS_PER_REPORT = 4096
STATE_COPIES = 2048  # steps between two copies of the state to fall back on


class Learner(Protocol):
    """Contract of the learners that `train_agent` drives."""

    horizon: int

    def act_batch(self, observations, rng, mask=None) -> Any: ...
    def update(self, steps: Steps, progress: float, rng) -> dict[str, float]: ...
    def copy_state(self) -> Any: ...
    def restore_state(self, state) -> None: ...


@dataclass(eq=False, repr=False)
class TrainingRun:
    """Record of a run of `train_agent`.

    Attributes
    ----------
    history : dict of arrays
        "return", "length" and "end" (the step of the run) of every finished episode;
        "step" and what the learner measured, by update.
    n_steps : int
        Steps in all.
    reason : {"steps", "callback", "interrupted", "diverged"}
    seconds : float
    position : Position or None
        Where the environments stand, for a run that goes on; None if that is not known.
    """

    history: dict[str, np.ndarray]
    n_steps: int
    reason: str
    seconds: float
    position: Position | None = None

    @property
    def n_iter(self) -> int:
        return self.n_steps

    @property
    def interrupted(self) -> bool:
        return self.reason == "interrupted"

    @property
    def converged(self) -> None:
        """A run spends a budget; nothing in it tests convergence."""

    def __repr__(self):
        returns = self.history["return"]
        text = f"{self.n_steps} steps, {len(returns)} episodes"
        if len(returns):
            text += f", mean return of the last 100 {returns[-100:].mean():.4g}"
        return text + ("" if self.reason == "steps" else f", {self.reason}")


def train_agent(
    envs,
    learner: Learner,
    n_steps,
    *,
    rng,
    observe=None,
    observe_every=None,
    position=None,
    task=SILENT,
) -> TrainingRun:
    """Let a learner act and learn for a number of steps.

    Parameters
    ----------
    envs : Gymnasium VectorEnv
    learner : Learner
    n_steps : int
        Steps of all environments together; the last round may go N - 1 beyond it.
    rng : Generator
        Seeds the environments and the learner's choices.
    observe : function (learner, n) or None
        Called at n = 0 and whenever `observe_every` more steps have been made; True
        ends the run.
    position : Position or None
        Where the last run with the same environments stopped; None resets them.
    """
    start_time = time.perf_counter()
    N = envs.num_envs
    episodes = defaultdict(list)
    measured = defaultdict(list)
    n_done = 0
    seen_at = 0
    copied_at = 0
    reason = ""
    state = learner.copy_state()
    if observe is not None and observe(learner, 0):
        reason = "callback"
    try:
        while not reason:
            child = task.child(f"from step {n_done}")
            block_end = min(n_done + STEPS_PER_REPORT, n_steps)
            while n_done < block_end:
                horizon = min(learner.horizon, math.ceil((n_steps - n_done) / N))
                steps = gather(
                    envs, learner, horizon, position=position, random_state=rng
                )
                position = steps.position
                check_gathered_observations(steps.observation, n_done)
                ends = n_done + (steps.final_time + 1) * N
                episodes["return"].append(steps.returns)
                episodes["length"].append(steps.lengths)
                episodes["end"].append(ends)
                measures = learner.update(steps, n_done / n_steps, rng)
                n_done += horizon * N
                if measures:
                    measured["step"].append(n_done)
                    for name, value in measures.items():
                        measured[name].append(value)
                    if not all(map(math.isfinite, measures.values())):
                        learner.restore_state(state)
                        reason = "diverged"
                        break
                if n_done - copied_at >= STATE_COPIES or n_done >= n_steps:
                    state_copy = learner.copy_state()
                    if not _is_finite_state(state_copy):
                        learner.restore_state(state)
                        reason = "diverged"
                        break
                    state = state_copy
                    copied_at = n_done
                if observe is not None and n_done - seen_at >= observe_every:
                    seen_at = n_done
                    if observe(learner, n_done):
                        reason = "callback"
                        break
            reason = reason or ("steps" if n_done >= n_steps else "")
            if child.end() and not reason:
                reason = "callback"
    except KeyboardInterrupt:
        reason = "interrupted"
    history = {name: np.asarray(values) for name, values in measured.items()}
    for name, kind in (("return", float), ("length", int), ("end", int)):
        history[name] = np.concatenate([np.empty(0, kind), *episodes[name]])
    known = reason in ("steps", "callback")
    seconds = time.perf_counter() - start_time
    return TrainingRun(history, n_done, reason, seconds, position if known else None)


def _is_finite_state(state) -> bool:
    """Whether all numbers of a learner's state, a dict of tensors, are finite."""
    return all(bool(value.isfinite().all()) for value in state.values())

"""Temporal differences: SARSA, expected SARSA, double Q-learning, traces and planning.

After action a in state s pays r and leads to s', the table is moved towards a target,

    Q(s, a) <- Q(s, a) + alpha (r + gamma (what follows) - Q(s, a))                 (1)

where what follows is, at the end of the world, 0, and otherwise

    SARSA            Q(s', a')            a' the action that is taken next
    expected SARSA   sum_b pi(b | s') Q(s', b)      pi the exploring policy
    Q-learning       max_b Q(s', b)
    double Q         Q_2(s', argmax_b Q_1(s', b))   two tables in turn, drawn at random

SARSA and its expectation learn the value of the policy with its exploration, so they
keep away from a cliff that an exploring step may fall from; the others learn the best
values whatever is done. The maximum over noisy estimates is too high, which two tables
avoid. A time limit is no end: what follows is that of the state in which it fell.

Traces (`trace_decay`, lambda) carry the difference of (1) back to the pairs that led
here: each has a trace that is 1 when it is taken and then shrinks by gamma lambda a
step. With Q-learning traces are cut where an action is not greedy (Watkins). lambda 1
with SARSA is Monte Carlo.

Planning (`n_planning`, Dyna) repeats Q-learning after each step on outcomes remembered
of pairs drawn at random: what is dear to try once is learnt from often.

Shapes    Q (S, A)   visits (S, A)
Refs      [Rummery1994]; [vanSeijen2009]; [vanHasselt2010]; [Watkins1989]; [Sutton1990]
"""

import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ...core.random import make_rng
from ...params import Count, Flag, Fraction, Natural, Number, Positive, Verbosity
from ...typing import Seed
from ..experience.rollout import Experience
from ..planning.transition_table import TransitionTable
from . import _td_control as loops
from .exploration import Boltzmann, EpsilonGreedy
from .q_learning import (
    DEFAULT_EXPLORATION,
    STEPS_PER_REPORT,
    AbstractTabularLearner,
    as_exploration,
    join_episodes,
    split_learning_rate,
)
from .schedules import ScheduleReader, VisitDecay, schedule_values

METHODS = {"q-learning": 0, "sarsa": 1, "expected-sarsa": 2, "double-q": 3}


class TDLearner:
    """The agent: chooses by the table and moves it; made by `TDControl.learner`."""

    def __init__(self, model, tables):
        self.model = model
        self.tables = tables
        self.rule = model.make_rule()
        part = as_exploration(model.exploration)
        self.level = ScheduleReader(part.level)
        self.rate = ScheduleReader(split_learning_rate(model.learning_rate)[0])
        self.chooses_next = self.rule.method == 1 or self.rule.trace_decay > 0
        self.t = model.n_steps_
        self.planned = -1  # action that was chosen when the last one was learnt from
        self.stream: Any = None

    @property
    def Q(self) -> np.ndarray:
        """The table, or the mean of two."""
        return self.tables.Q.mean(axis=0)

    @property
    def visits(self) -> np.ndarray:
        """How often each pair was tried."""
        return self.tables.visits

    def begin(self, observation):
        self.planned = -1
        loops.forget_traces(self.tables)

    def act(self, observation, rng):
        self._start_stream(rng)
        a = self.planned
        if a < 0:
            a = self._choose(self.model.state_number(observation))
        self.planned = -1
        return self.model.first_action_ + int(a)

    def update(self, transition) -> None:
        observation, action, reward, next_observation, terminated = transition[:5]
        self._start_stream(None)
        s, successor = (
            self.model.state_number(observation),
            self.model.state_number(next_observation),
        )
        if self.chooses_next and not terminated:
            self.planned = self._choose(successor)
        step = (
            s,
            int(action) - self.model.first_action_,
            float(reward),
            successor,
            bool(terminated),
            int(self.planned),
        )
        level, rate = self.level.at(self.t), self.rate.at(self.t)
        loops.td_update(self.tables, self.rule, rate, level, step, self.stream)
        self.t += 1

    def _start_stream(self, rng):
        """Random numbers of the agent's own, drawn once from those of the run."""
        if self.stream is None:
            rng = make_rng(self.model.random_state) if rng is None else rng
            self.stream = rng.integers(2**64, size=1, dtype=np.uint64)

    def _choose(self, s):
        level = self.level.at(self.t)
        Q = self.tables.Q
        return loops.choose_td_action(Q, s, self.rule.kind, level, self.stream)


@dataclass(eq=False, repr=False)
class TDControl(AbstractTabularLearner):
    """Tabular control by temporal differences.

    Parameters
    ----------
    method : {"sarsa", "expected-sarsa", "q-learning", "double-q"}
        What follows in eq. (1).
    n_steps : int or None
        Steps to learn from.
    n_episodes : int or None
        Episodes to learn from; with both, whichever comes first.
    trace_decay : float
        lambda, from 0 to 1; not with "double-q".
    n_planning : int
        Updates from remembered outcomes after each step; not with "double-q".
    learning_rate : float, VisitDecay, Schedule or function
        alpha of eq. (1).
    gamma : float
        Discount, from 0 to 1.
    exploration : float, EpsilonGreedy or Boltzmann
        How actions are chosen; a number is epsilon.
    initial : float
        First value of every entry.
    engine : {"auto", "table", "env"}
        As in `QLearning`: compiled where the environment shows its table.
    warm_start : bool
        Whether `fit` goes on from the last table.
    random_state : int, Generator, RandomState or None
        Same seed, same table.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    Q_, policy_, visits_ : ndarray
        Values, best actions and how often each pair was tried.
    history_ : dict
        "return" and "length" of every finished episode.
    n_iter_, n_steps_, interrupted_
        As in `QLearning`.

    Examples
    --------
    >>> from pansophy.rl import TDControl
    >>> from pansophy.rl.envs import CliffWalking
    >>> cliff = CliffWalking()
    >>> model = TDControl("sarsa", learning_rate=0.5, gamma=1.0, exploration=0.1,
    ...                   random_state=0).fit(cliff)
    >>> int(model.policy_[36]), int(model.policy_[24])  # up, and on: away from the edge
    (0, 0)
    """

    method: Literal["sarsa", "expected-sarsa", "q-learning", "double-q"] = "sarsa"
    _: KW_ONLY
    n_steps: Count | None = 100_000
    n_episodes: Count | None = None
    trace_decay: Fraction = 0.0
    n_planning: Natural = 0
    learning_rate: Positive | VisitDecay | Callable = 0.1
    gamma: Fraction = 0.99
    exploration: Fraction | EpsilonGreedy | Boltzmann = DEFAULT_EXPLORATION
    initial: Number = 0.0
    engine: Literal["auto", "table", "env"] = "auto"
    warm_start: Flag = False
    random_state: Seed = None
    verbose: Verbosity = 0

    def fit(self, env, y=None):
        """Learn in a Gymnasium environment, a `TransitionTable` or a dict."""
        return self._fit(env)

    def learner(self, env) -> TDLearner:
        """The agent that `fit` drives, for loops of your own over `env`."""
        self._check()
        self._open(env)
        return TDLearner(self, self._tables())

    def _check(self):
        super()._check()
        if self.method == "double-q" and (self.trace_decay > 0 or self.n_planning):
            raise ValueError(
                "method='double-q' goes with neither trace_decay nor n_planning."
            )

    def make_rule(self) -> loops.TDRule:
        """Parameters for the compiled loops."""
        return loops.TDRule(
            METHODS[self.method],
            float(self.gamma),
            float(self.trace_decay),
            int(self.n_planning),
            float(split_learning_rate(self.learning_rate)[1]),
            as_exploration(self.exploration).kind,
        )

    def _tables(self) -> loops.TDTables:
        """Tables that start from those of the model."""
        S, A = self.Q_.shape
        tables = loops.new_td_tables(
            S,
            A,
            double=self.method == "double-q",
            traces=self.trace_decay > 0,
            planning=self.n_planning > 0,
            initial=self.initial,
        )
        tables.Q[:] = self.Q_
        tables.visits[:] = self.visits_
        return tables

    def _learn_in_table(self, world, rng, task, watch, state):
        run = TableRun.new(self._tables(), rng) if state is None else state
        experience = _td_in_table(world, self, run, task, watch)
        self._keep(run)
        return experience, run

    def _make_agent(self):
        return TDLearner(self, self._tables())


class TableRun(NamedTuple):
    """Tables, random numbers and place of a run in a `TransitionTable`."""

    tables: loops.TDTables
    stream: np.ndarray
    carry: tuple  # as `td_control_steps` describes it

    @classmethod
    def new(cls, tables, rng) -> "TableRun":
        """Before the first episode."""
        stream = rng.integers(2**64, size=1, dtype=np.uint64)
        return cls(tables, stream, (np.array([-1, -1, 0]), np.zeros(1)))

    @property
    def Q(self) -> np.ndarray:
        """The table, or the mean of two."""
        return self.tables.Q.mean(axis=0)

    @property
    def visits(self) -> np.ndarray:
        """How often each pair was tried."""
        return self.tables.visits


def _td_in_table(world: TransitionTable, model, run, task, watch) -> Experience:
    """Run the compiled loop in blocks; the parts of the run change in place."""
    start_time = time.perf_counter()
    rule = model.make_rule()
    rate = split_learning_rate(model.learning_rate)[0]
    level = as_exploration(model.exploration).level
    parts = []
    n_done, episodes = 0, 0
    reason = "callback" if watch.ends_run(run, 0) else ""
    limit = np.inf if model.n_steps is None else model.n_steps
    wanted = np.inf if model.n_episodes is None else model.n_episodes
    try:
        while not reason:
            child = task.child(f"from step {n_done}")
            n = int(
                min(STEPS_PER_REPORT, limit - n_done, watch.next_look(n_done) - n_done)
            )
            room = int(min(wanted - episodes, n + 1))
            got = (np.empty(room), np.empty(room, np.int64))
            first = model.n_steps_ + n_done
            steps, ended = loops.td_control_steps(
                world,
                run.tables,
                rule,
                schedule_values(rate, first, n),
                schedule_values(level, first, n),
                run.stream,
                run.carry,
                got,
            )
            n_done, episodes = n_done + steps, episodes + ended
            parts.append((got[0][:ended], got[1][:ended]))
            reason = "callback" if watch.ends_run(run, n_done) else ""
            reason = "steps" if n_done == limit else reason
            reason = "episodes" if episodes == wanted else reason
            if child.end() and not reason:
                reason = "callback"
    except KeyboardInterrupt:
        reason = "interrupted"
    return join_episodes(parts, n_done, reason, time.perf_counter() - start_time)

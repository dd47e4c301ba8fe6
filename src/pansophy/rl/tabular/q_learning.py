"""Tabular Q-learning: optimal action values from experience.

After action a in state s pays r and leads to s', move the table towards what the step
suggests (the value after an end is 0; a time limit is no end),

    Q(s, a) <- Q(s, a) + alpha (r + gamma max_b Q(s', b) - Q(s, a))             (1)

the sampled form of Bellman's equation (`rl/planning/mdp.py`, eq. 1). Whatever the
actions are chosen by, Q tends to the best Q* if every pair (s, a) is tried for ever and
the rates alpha of each pair sum to infinity, their squares not: alpha = 1/k at the k-th
visit does (`VisitDecay`), a constant alpha ends near Q* and follows a world that
changes.

In a world that shows its table (`tabular`) steps and updates run in one compiled loop,
some hundred times as fast as stepping a Python environment; the chances are the same.
Other environments with discrete observations and actions go through `rollout`.

Shapes    Q (S, A)   visits (S, A)   policy (S,)
Refs      [Watkins1992] (1) and its convergence
"""

import math
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator
from ...core.random import make_rng
from ...params import Count, Flag, Fraction, Number, Positive, Verbosity, check_params
from ...typing import Seed
from ..experience.discrete_spaces import (
    encode_observation,
    encode_observations,
    observation_encoder,
    part_index,
    space_sizes,
)
from ..experience.environment_contract import check_spaces_exist
from ..experience.environment_copies import environment_digest
from ..experience.evaluation import made_environment
from ..experience.rollout import UNWATCHED, Experience, StepWatch, rollout
from ..planning.transition_table import (
    TransitionTable,
    as_transition_table,
    environment_of_name,
    is_mdp,
    reason_not_tabular,
)
from . import _q_learning as loops
from .exploration import Boltzmann, EpsilonGreedy, choose_action
from .schedules import Schedule, ScheduleReader, VisitDecay, schedule_values

STEPS_PER_REPORT = 16384  # compiled steps between two reports
DEFAULT_EXPLORATION = EpsilonGreedy(Schedule(1.0, 0.05, 50_000))


class QLearner:
    """The agent: chooses by the table and moves it by eq. (1). Plain lists inside.

    Made by `QLearning.learner`; `rollout` drives it.
    """

    def __init__(self, model):
        self.Q, self.visits = model.Q_.tolist(), model.visits_.tolist()
        self.t = model.n_steps_
        self.kind = as_exploration(model.exploration).kind
        self.level = ScheduleReader(as_exploration(model.exploration).level)
        rate, self.power = split_learning_rate(model.learning_rate)
        self.rate = ScheduleReader(rate)
        self.gamma = model.gamma
        self.encode = observation_encoder(model.state_sizes_, model.state_starts_)
        self.first = model.first_action_

    def act(self, observation, rng):
        s = self.encode(observation)
        level = self.level.at(self.t)
        return self.first + choose_action(
            self.kind, level, self.Q[s], rng.random(), rng.random()
        )

    def update(self, transition) -> None:
        observation, action, reward, successor, terminated, _, _, _ = transition
        observation = self.encode(observation)
        successor = self.encode(successor)
        a = action - self.first
        target = reward if terminated else reward + self.gamma * max(self.Q[successor])
        visits = self.visits[observation]
        visits[a] += 1
        alpha = self.rate.at(self.t)
        if self.power:
            alpha *= visits[a] ** -self.power
        row = self.Q[observation]
        row[a] += alpha * (target - row[a])
        self.t += 1


def as_exploration(exploration):
    """A number is the epsilon of `EpsilonGreedy`."""
    known = isinstance(exploration, (EpsilonGreedy, Boltzmann))
    return exploration if known else EpsilonGreedy(exploration)


def split_learning_rate(learning_rate):
    """(schedule, power): alpha = schedule(t) * visits^-power."""
    if isinstance(learning_rate, VisitDecay):
        return 1.0, learning_rate.power
    return learning_rate, 0.0


class TableView(NamedTuple):
    """What has been learnt so far, for those who look on."""

    Q: np.ndarray  # (S, A)
    visits: np.ndarray  # (S, A)


class PausedTable(NamedTuple):
    """What a fit with `warm_start` leaves for the next one to go on with."""

    parameters: dict
    world: Any  # the table, or the environment as it was given
    digest: str | None  # of its state at the end of the fit
    rng: Any
    state: Any  # what `_learn_in_table` or `_roll` goes on with

    def is_of(self, model, world) -> bool:
        """Whether the parameters are those of a model, and the world is the same.

        An environment that has to be stepped is the same if nobody has used it.
        """
        if not _equal_dicts(run_parameters(model), self.parameters):
            return False
        if isinstance(world, TransitionTable):
            mine = isinstance(self.world, TransitionTable)
            return mine and all(map(np.array_equal, world, self.world))
        known = world is self.world and self.digest is not None
        return known and environment_digest(world) == self.digest


def run_parameters(model) -> dict:
    """The parameters that a run cannot go on without."""
    free = {"n_steps", "n_episodes", "verbose", "warm_start"}
    params = model.get_params(deep=False)
    return {name: value for name, value in params.items() if name not in free}


def _equal_dicts(one, two) -> bool:
    """Whether two dicts of parameters have the same values."""
    has_same_keys = one.keys() == two.keys()
    return has_same_keys and all(one[k] is two[k] or one[k] == two[k] for k in one)


def learn_in_table(
    world: TransitionTable, model, Q, visits, t, rng, task, watch=UNWATCHED, carry=None
) -> Experience:
    """Run the compiled loop in blocks; Q and visits change in place.

    `carry` is (position, total) of `q_learning_steps`, which changes in place too.
    """
    start_time = time.perf_counter()
    rate, power = split_learning_rate(model.learning_rate)
    part = as_exploration(model.exploration)
    position, total = _new_carry() if carry is None else carry
    parts = []
    n_done, episodes = 0, 0
    view = TableView(Q, visits)
    reason = "callback" if watch.ends_run(view, 0) else ""
    limit = np.inf if model.n_steps is None else model.n_steps
    wanted = np.inf if model.n_episodes is None else model.n_episodes
    try:
        while not reason:
            child = task.child(f"from step {n_done}")
            n = int(
                min(STEPS_PER_REPORT, limit - n_done, watch.next_look(n_done) - n_done)
            )
            got, sizes = np.empty(n), np.empty(n, np.int64)
            rule = loops.LearningRule(
                float(model.gamma),
                schedule_values(rate, t + n_done, n),
                float(power),
                part.kind,
                schedule_values(part.level, t + n_done, n),
            )
            steps, ended = loops.q_learning_steps(
                world,
                Q,
                visits,
                rule,
                rng.random((n, 4)),
                position,
                total,
                min(wanted - episodes, n + 1),
                got,
                sizes,
            )
            n_done, episodes = n_done + steps, episodes + ended
            parts.append((got[:ended], sizes[:ended]))
            reason = "callback" if watch.ends_run(view, n_done) else ""
            reason = "steps" if n_done == limit else reason
            reason = "episodes" if episodes == wanted else reason
            if child.end() and not reason:
                reason = "callback"
    except KeyboardInterrupt:
        reason = "interrupted"
    return join_episodes(parts, n_done, reason, time.perf_counter() - start_time)


def _new_carry():
    """Position and total of `q_learning_steps` before the first episode."""
    return np.array([-1, 0]), np.zeros(1)


def join_episodes(parts, n_steps, reason, seconds) -> Experience:
    """The experience of blocks of steps, each with its returns and lengths."""
    returns = np.concatenate(
        [np.empty(0), *(part_returns for part_returns, _ in parts)]
    )
    lengths = np.concatenate(
        [np.empty(0, int), *(part_lengths for _, part_lengths in parts)]
    )
    return Experience(returns, lengths, n_steps, reason, seconds, [])


class AbstractTabularLearner(Estimator):
    """Base class of tabular learners: worlds, states, predictions.

    A learner has fields n_steps, n_episodes, engine, initial, warm_start, random_state;
    it gives `_learn_in_table(world, rng, task, watch, state)` for worlds that show
    their table, where `state` is None or what the last call returned beside its
    experience, and `_make_agent()` for those that have to be stepped.
    """

    def _check(self):
        check_params(self)
        if self.n_steps is None and self.n_episodes is None:
            raise ValueError(f"{type(self).__name__} needs n_steps or n_episodes.")

    def _fit(self, env, observe=None, observe_every=None):
        """Learn in a table or an environment and store what was learnt.

        `observe(learner, n)` is called along the way, of which `_keep` makes a model.
        """
        self._check()
        paused = self.__dict__.pop("_paused_run", None)
        world = self._world(env)
        goes_on = self.warm_start and paused is not None and paused.is_of(self, world)
        self._open(world)
        rng = paused.rng if goes_on else make_rng(self.random_state)
        state = paused.state if goes_on else None
        watch = StepWatch(observe, observe_every)
        in_table = isinstance(world, TransitionTable)
        learn = self._learn_in_table if in_table else self._roll

        def run(task):
            nonlocal state
            result, state = learn(world, rng, task, watch, state)
            return result

        total = None if self.n_steps is None else -(-self.n_steps // STEPS_PER_REPORT)
        result = self._run_driver(run, total=total)
        del self.converged_  # a budget was spent; nothing tests convergence
        self.n_steps_ += self.n_iter_
        self.policy_ = np.argmax(self.Q_, axis=1)
        if self.warm_start and result.reason != "interrupted":
            digest = None if in_table else environment_digest(world)
            parameters = run_parameters(self)
            self._paused_run = PausedTable(parameters, world, digest, rng, state)
        return self

    def _keep(self, learner):
        """Make this the model of what a learner has learnt so far."""
        self.Q_ = np.array(learner.Q, float)
        self.visits_ = np.array(learner.visits, np.int64)
        self.policy_ = np.argmax(self.Q_, axis=1)

    def __getstate__(self):
        """All but the run to go on with: its environment is not the model's own."""
        state: Any = super().__getstate__()
        state = dict(state)
        state.pop("_paused_run", None)
        return state

    def check_action_space(self, env) -> None:
        """Raise the clear error if there is no table for an environment."""
        self._check()
        environment = made_environment(env)
        check_spaces_exist(environment)
        space_sizes(environment.observation_space)
        self._one_action_space(environment)

    def _one_action_space(self, env):
        """Number of actions, and what the environment calls the first."""
        (actions, *other_factors), (first, *_) = space_sizes(env.action_space)
        if other_factors:
            raise ValueError(
                f"{type(self).__name__} needs one action at a time, not several."
            )
        return actions, first

    def state_number(self, observation) -> int:
        """The row of the table of an observation."""
        sizes, starts = self.state_sizes_, self.state_starts_
        if len(sizes) == 1:
            return part_index(sizes[0], int(starts[0]), observation)
        return encode_observation(sizes, starts, observation)

    def predict(self, observations):
        """The best action after each of the observations."""
        check_is_fitted(self)
        s = encode_observations(self.state_sizes_, self.state_starts_, observations)
        return self.policy_[s] + self.first_action_

    def act(self, observation, rng=None) -> int:
        """The best action after one: the fitted model as an agent for `rollout`."""
        return int(self.predict([observation])[0])

    def _world(self, env):
        """The table of the environment, or the environment, as `engine` says."""
        if isinstance(env, (TransitionTable, dict)) or is_mdp(env):
            if self.engine == "env":
                raise ValueError("engine='env' needs a Gymnasium environment.")
            return as_transition_table(env)
        env = environment_of_name(env)
        if not hasattr(env, "unwrapped"):
            raise TypeError(
                f"{type(self).__name__} learns in a Gymnasium environment, its name, a "
                f"TransitionTable or a dict of outcomes, got {type(env).__name__}."
            )
        shown = getattr(env.unwrapped, "render_mode", None)  # someone wants to look on
        if self.engine == "env" or (
            self.engine == "auto" and (shown or reason_not_tabular(env))
        ):
            return env
        return as_transition_table(env)

    def _open(self, world):
        """A new table, or with warm_start the old one if it fits."""
        if isinstance(world, TransitionTable):
            sizes = [world.n_states]
            starts = [0]
            actions = world.n_actions
            first = 0
        else:
            sizes, starts = space_sizes(world.observation_space)
            actions, first = self._one_action_space(world)
        shape = math.prod(sizes), actions
        if self.warm_start and hasattr(self, "Q_"):
            if self.Q_.shape != shape:
                raise ValueError(
                    f"the table to go on from has shape {self.Q_.shape}, but the "
                    f"environment needs {shape}."
                )
            return
        self.state_sizes_, self.state_starts_ = np.array(sizes), np.array(starts)
        self.first_action_ = first
        self.Q_ = np.full(shape, float(self.initial))
        self.visits_ = np.zeros(shape, np.int64)
        self.n_steps_ = 0

    def _roll(self, env, rng, task, watch, state):
        """`fit` in an environment that has to be stepped; `state` as (agent, place)."""
        agent, place = (self._make_agent(), None) if state is None else state
        limits = {"n_steps": self.n_steps, "n_episodes": self.n_episodes}
        result = rollout(
            env, agent, **limits, random_state=rng, watch=watch, position=place,
            task=task,
        )  # fmt: skip
        self._keep(agent)
        return result, (agent, result.position)


@dataclass(eq=False, repr=False)
class QLearning(AbstractTabularLearner):
    """Tabular Q-learning.

    Parameters
    ----------
    n_steps : int or None
        Steps to learn from.
    n_episodes : int or None
        Episodes to learn from; with both, whichever comes first.
    learning_rate : float, VisitDecay, Schedule or function
        alpha of eq. (1): a number, `VisitDecay(power)` for visits^-power, or a function
        of the step.
    gamma : float
        Discount, from 0 to 1.
    exploration : float, EpsilonGreedy or Boltzmann
        How actions are chosen while learning; a number is epsilon. The default goes
        from 1 to 0.05 in 50 000 steps.
    initial : float
        First value of every entry of the table; above the best, it makes the agent
        try everything.
    engine : {"auto", "table", "env"}
        "table" learns in a compiled copy of the world, which must show its table;
        "env" steps the environment itself; "auto" takes the table where there is one.
    warm_start : bool
        Whether `fit` goes on from the table of the last fit.
    random_state : int, Generator, RandomState or None
        Same seed, same table.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    Q_ : ndarray of shape (n_states, n_actions)
        Learnt values.
    policy_ : ndarray of shape (n_states,)
        The best action of each state, counted from 0.
    state_sizes_, state_starts_ : ndarray of shape (n_parts,)
        Number of values and first value of each part of an observation; states are
        numbered as digits are, the last part running fastest.
    first_action_ : int
        What the environment calls action 0.
    visits_ : ndarray of shape (n_states, n_actions)
        How often each pair was tried.
    history_ : dict
        "return" and "length" of every finished episode.
    n_iter_ : int
        Steps of the last fit.
    n_steps_ : int
        Steps of all fits since the table was new.
    interrupted_ : bool
        Whether the last fit was stopped by hand.

    Examples
    --------
    >>> from pansophy.rl import QLearning, VisitDecay
    >>> corridor = {
    ...     0: {0: [(1.0, 0, 0.0, False)], 1: [(1.0, 1, 0.0, False)]},
    ...     1: {0: [(1.0, 0, 0.0, False)], 1: [(1.0, 1, 100.0, True)]},
    ... }
    >>> model = QLearning(5000, learning_rate=1.0, gamma=0.9, random_state=0)
    >>> model.fit(corridor).Q_.round(6)
    array([[ 81.,  90.],
           [ 81., 100.]])
    """

    n_steps: Count | None = 100_000
    _: KW_ONLY
    n_episodes: Count | None = None
    learning_rate: Positive | VisitDecay | Callable = 0.1
    gamma: Fraction = 0.99
    exploration: Fraction | EpsilonGreedy | Boltzmann = DEFAULT_EXPLORATION
    initial: Number = 0.0
    engine: Literal["auto", "table", "env"] = "auto"
    warm_start: Flag = False
    random_state: Seed = None
    verbose: Verbosity = 0

    def fit(self, env, y=None):
        """Learn in a Gymnasium environment, a table, an outcome dict or an `MDP`."""
        return self._fit(env)

    def learner(self, env) -> QLearner:
        """The agent that `fit` drives, for loops of your own over `env`."""
        check_params(self)
        self._open(env)
        return QLearner(self)

    def _learn_in_table(self, world, rng, task, watch, state):
        carry = _new_carry() if state is None else state
        tables = self.Q_, self.visits_, self.n_steps_
        return learn_in_table(world, self, *tables, rng, task, watch, carry), carry

    def _make_agent(self):
        return QLearner(self)

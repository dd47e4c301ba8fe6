"""Monte Carlo control: improve the policy by the mean returns of what was tried.

Episodes are played by an exploring policy; for every pair (s, a) of an episode, or the
first of each, the mean return is moved by what followed,

    Q(s, a) <- Q(s, a) + alpha (G - Q(s, a)),     alpha = 1 / n(s, a) or constant.  (1)

No value is used to estimate another, so nothing is biased by the first guess and
everything waits for the end of the episode. A time limit is no end: the return of an
episode that was cut off goes on with the mean of Q under the exploring policy in the
state where it was.

Shapes    Q (S, A)
Refs      [Sutton2018] chapter 5
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from ...core.random import make_rng
from ...params import Count, Flag, Fraction, Number, Positive, Verbosity
from ...typing import Seed
from ..planning.transition_table import TransitionTable, first_cumulative_above
from .exploration import Boltzmann, EpsilonGreedy, choose_action
from .q_learning import (
    DEFAULT_EXPLORATION,
    AbstractTabularLearner,
    as_exploration,
    split_learning_rate,
)
from .schedules import ScheduleReader, VisitDecay

MEAN = VisitDecay(1.0)


class MonteCarloLearner:
    """The agent: remembers an episode and learns from it when it ends."""

    def __init__(self, model):
        self.model = model
        self.Q, self.visits = model.Q_.copy(), model.visits_.copy()
        self.part = as_exploration(model.exploration)
        self.level = ScheduleReader(self.part.level)
        rate, self.power = split_learning_rate(model.learning_rate)
        self.rate = ScheduleReader(rate)
        self.t = model.n_steps_
        self.episode: list[tuple[int, int, float]] = []

    def begin(self, observation):
        self.episode = []

    def act(self, observation, rng):
        s = self.model.state_number(observation)
        u, v = rng.random(2)
        level = self.level.at(self.t)
        a = choose_action(self.part.kind, level, self.Q[s].tolist(), u, v)
        return self.model.first_action_ + a

    def update(self, transition) -> None:
        observation, action, reward, next_observation, terminated, truncated = (
            transition[:6]
        )
        s = self.model.state_number(observation)
        a = int(action) - self.model.first_action_
        self.episode.append((s, a, float(reward)))
        self.t += 1
        if terminated or truncated:
            follow = 0.0
            if not terminated:
                q = self.Q[self.model.state_number(next_observation)]
                part = type(self.part)(self.level.at(self.t))
                follow = float(part.probabilities(q) @ q)
            self._learn(follow)
            self.episode = []

    def _learn(self, follow):
        """Eq. (1) for the pairs of the episode; G after the last step is `follow`."""
        first = {}
        for t, (s, a, _) in enumerate(self.episode):
            first.setdefault((s, a), t)
        is_every_visit = self.model.visits_counted == "every"
        rate = self.rate.at(self.t)
        G = follow
        for t in range(len(self.episode) - 1, -1, -1):
            s, a, reward = self.episode[t]
            G = reward + self.model.gamma * G
            if is_every_visit or first[s, a] == t:
                self.visits[s, a] += 1
                alpha = rate * self.visits[s, a] ** -self.power
                self.Q[s, a] += alpha * (G - self.Q[s, a])


class TableWalk:
    """A `TransitionTable` that is stepped, for learners that need no compiled loop."""

    def __init__(self, table: TransitionTable):
        self.table = table

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.rng = make_rng(seed)
        u = self.rng.random()
        start = self.table.start
        self.state = first_cumulative_above(start, 0, len(start), u)
        self.steps = 0
        return self.state, {}

    def step(self, action):
        table = self.table
        i = self.state * table.n_actions + int(action)
        k = first_cumulative_above(
            table.cumulative, table.offset[i], table.offset[i + 1], self.rng.random()
        )
        self.state = int(table.next_state[k])
        self.steps += 1
        ended = bool(table.terminated[k])
        cut = not ended and self.steps == table.max_steps
        return self.state, float(table.reward[k]), ended, cut, {}


@dataclass(eq=False, repr=False)
class MonteCarloControl(AbstractTabularLearner):
    """Tabular control by mean returns.

    Parameters
    ----------
    n_episodes : int or None
        Episodes to learn from.
    n_steps : int or None
        Steps to learn from; with both, whichever comes first.
    visits_counted : {"first", "every"}
        Which visits of a pair within an episode count.
    learning_rate : float, VisitDecay, Schedule or function
        alpha of eq. (1); `VisitDecay(1)` is the mean.
    gamma : float
        Discount, from 0 to 1.
    exploration : float, EpsilonGreedy or Boltzmann
        How actions are chosen; a number is epsilon.
    initial : float
        First value of every entry.
    engine : {"auto", "table", "env"}
        As in `QLearning`; both step in Python here.
    warm_start : bool
        Whether `fit` goes on from the last table.
    random_state : int, Generator, RandomState or None
        Same seed, same table.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    Q_, policy_, visits_ : ndarray
        Values, best actions and how many returns each pair's value is made of.
    history_, n_iter_, n_steps_, interrupted_
        As in `QLearning`.

    Examples
    --------
    >>> from pansophy.rl import MonteCarloControl
    >>> from pansophy.rl.envs import Corridor
    >>> model = MonteCarloControl(300, gamma=0.9, exploration=0.3, random_state=0)
    >>> model.fit(Corridor(3)).policy_
    array([1, 1, 1])
    """

    n_episodes: Count | None = 1000
    _: KW_ONLY
    n_steps: Count | None = None
    visits_counted: Literal["first", "every"] = "first"
    learning_rate: Positive | VisitDecay | Callable = MEAN
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

    def learner(self, env) -> MonteCarloLearner:
        """The agent that `fit` drives, for loops of your own over `env`."""
        self._check()
        self._open(env)
        return MonteCarloLearner(self)

    def _learn_in_table(self, world, rng, task, watch, state):
        walk, agent_and_place = (TableWalk(world), None) if state is None else state
        experience, next_walk = self._roll(walk, rng, task, watch, agent_and_place)
        return experience, (walk, next_walk)

    def _make_agent(self):
        return MonteCarloLearner(self)

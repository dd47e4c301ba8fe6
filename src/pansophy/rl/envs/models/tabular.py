"""Tabular environments in Gymnasium's form: corridor, grid world, deep sea, any table.

They step in plain Python like any other; `QLearning` and `value_iteration` read
`table` and never step them. Needs Gymnasium, the extra `rl`.
"""

import math
from typing import Any

import gymnasium
import numpy as np

from ....core.random import make_rng
from ...planning.transition_table import (
    TransitionTable,
    as_transition_table,
    first_cumulative_above,
    table_from_dict,
)
from ..pictures import draw_grid
from ..vector import checked_render_mode
from . import _tabular as loops

MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))  # left, down, right, up
ARROWS = "<v>^"


class AbstractTabular(gymnasium.Env):
    """Steps in `self.table`; a world is a constructor that makes one.

    One on a map has `map`, its rows, and `cells`, the place (i, j) of every state.
    """

    map: Any
    cells: Any
    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}

    def __init__(self, table: TransitionTable, render_mode=None):
        self.render_mode = checked_render_mode(self, render_mode)
        self.table = table
        self.observation_space = gymnasium.spaces.Discrete(table.n_states)
        self.action_space = gymnasium.spaces.Discrete(table.n_actions)
        self.state, self.steps = 0, 0

    @property
    def P(self) -> dict:
        """Outcomes in Gymnasium's form."""
        return self.table.outcomes()

    @property
    def initial_state_distrib(self) -> np.ndarray:
        return np.diff(self.table.start, prepend=0.0)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        u = self.np_random.random()
        self.state = first_cumulative_above(self.table.start, 0, self.table.n_states, u)
        self.steps = 0
        return self.state, {}

    def step(self, action):
        world = self.table
        if not 0 <= action < world.n_actions:
            raise ValueError(f"actions are 0 to {world.n_actions - 1}, got {action!r}.")
        i = self.state * world.n_actions + int(action)
        u = self.np_random.random()
        k = first_cumulative_above(
            world.cumulative, world.offset[i], world.offset[i + 1], u
        )
        self.state = int(world.next_state[k])
        self.steps += 1
        terminated = bool(world.terminated[k])
        truncated = not terminated and self.steps == world.max_steps
        return self.state, float(world.reward[k]), terminated, truncated, {}

    def render(self):
        """Text in the mode "ansi", a picture (height, width, 3) in "rgb_array"."""
        if self.render_mode == "ansi":
            return self.text_picture()
        return self.picture() if self.render_mode == "rgb_array" else None

    def text_picture(self) -> str:
        return f"state {self.state}"

    def picture(self) -> np.ndarray:
        """The world as an array of pixels, in any mode: a map, or a cell per state."""
        if hasattr(self, "map"):
            return draw_grid(self.map, self.cells[self.state])
        n = self.table.n_states
        columns = min(n, 20) if n <= 60 else math.isqrt(n - 1) + 1
        rows = -(-n // columns)
        cells = ["." * columns] * (rows - 1)
        cells.append("." * (n - columns * (rows - 1)) + " " * (columns * rows - n))
        cell = max(4, min(24, 480 // max(rows, columns)))
        return draw_grid(cells, divmod(self.state, columns), cell)

    @property
    def max_steps(self) -> int:
        return self.table.max_steps

    def new_state(self, n):
        """States of n copies, for `VectorWorld`."""
        return np.zeros((1, n), np.int64)

    def start_batch(self, state, stream, which):
        loops.start_tables(state[0], self.table.start, stream, which)

    def observe_batch(self, state, which, observation):
        observation[which] = state[0, which]

    def step_batch(self, state, action, stream, outcome, columns):
        loops.step_tables(state[0], action, self.table, stream, outcome, *columns)


class TabularEnv(AbstractTabular):
    """Any table, or dict of outcomes, as an environment.

    Parameters
    ----------
    table : Table or dict
        `{s: {a: [(probability, s', reward, terminated), ...]}}` or a `Table`.
    max_steps : int or None
        Steps after which an episode is cut off; None leaves the table's own limit.
    """

    def __init__(self, table, *, max_steps=None, render_mode=None):
        transitions = as_transition_table(table)
        transitions = (
            transitions
            if max_steps is None
            else transitions._replace(max_steps=int(max_steps))
        )
        super().__init__(transitions, render_mode)


class Corridor(AbstractTabular):
    """n cells in a row and a goal after the last; action 0 is left, 1 is right.

    Parameters
    ----------
    n : int
        Cells; every episode starts in the first, whose left is a wall.
    reward : float
        Paid on entering the goal, which ends the episode.
    slip : float
        Probability that a step goes the other way.
    """

    def __init__(self, n=5, *, reward=1.0, slip=0.0, max_steps=0, render_mode=None):
        if n < 1 or not 0 <= slip <= 1:
            raise ValueError(
                f"a Corridor needs n >= 1 and slip from 0 to 1, got {n}, {slip}."
            )
        P: dict[int, Any] = {}
        for s in range(n):
            left = (max(s - 1, 0), 0.0, False)
            right = (s + 1, 0.0, False) if s < n - 1 else (s, float(reward), True)
            outcomes_of = lambda a, b: (
                [(1 - slip, *a), (slip, *b)] if slip else [(1.0, *a)]
            )
            P[s] = {0: outcomes_of(left, right), 1: outcomes_of(right, left)}
        start = np.eye(n)[0]
        super().__init__(table_from_dict(P, start, max_steps), render_mode)


class DeepSea(AbstractTabular):
    """A diver in a square grid of water, who finds the treasure only on purpose.

    Every step goes down one row, to the left or to the right; going right costs
    0.01 / n and the treasure in the lower right corner pays 1. A random policy finds it
    with probability 2^-n, so this is a probe for exploration. The best return is 0.99.

    Parameters
    ----------
    n : int
        Rows and columns.
    random_state : int or None
        Which of the actions 0 and 1 goes right is drawn for every cell with this seed;
        None: action 1 goes right everywhere.

    Examples
    --------
    >>> from pansophy.rl import value_iteration
    >>> from pansophy.rl.envs import DeepSea
    >>> round(float(value_iteration(DeepSea(10), gamma=1.0).V[0]), 6)
    0.99
    """

    def __init__(self, n=10, *, random_state=None, render_mode=None):
        if not n >= 1:
            raise ValueError(f"n must be at least 1, got {n!r}.")
        right = np.ones(n * n, int)
        if random_state is not None:
            right = make_rng(random_state).integers(2, size=n * n)
        P: dict[int, Any] = {}
        for s in range(n * n):
            i, j = divmod(s, n)
            P[s] = {}
            for a in range(2):
                goes_right = a == right[s]
                target = min(j + 1, n - 1) if goes_right else max(j - 1, 0)
                reward = -0.01 / n if goes_right else 0.0
                last = i == n - 1
                reward += 1.0 if last and goes_right and j == n - 1 else 0.0
                P[s][a] = [(1.0, s if last else (i + 1) * n + target, reward, last)]
        self.map = ["." * n] * n
        self.cells = [divmod(s, n) for s in range(n * n)]
        super().__init__(table_from_dict(P, np.eye(n * n)[0]), render_mode)


class GridWorld(AbstractTabular):
    """A robot on a map with walls, exits and unsure feet.

    Actions are left, down, right, up. With probability `slip` a step goes to one of
    the two sides instead; a step into a wall or off the map stays in place.

    Parameters
    ----------
    rows : list of str
        The map: S a start, . free, # a wall; a digit or letter of `exits` ends the
        episode when entered. Without S every free cell is a start.
    exits : dict
        Reward for entering each kind of exit.
    living : float
        Reward of every other step.
    slip : float
        Probability of going astray.
    max_steps : int
        Steps after which an episode is cut off; 0: never.

    Examples
    --------
    >>> from pansophy.rl import value_iteration
    >>> from pansophy.rl.envs import GridWorld
    >>> world = GridWorld(["S..G"], living=0.0)
    >>> value_iteration(world, gamma=0.5).V[:3].round(6)
    array([0.25, 0.5 , 1.  ])
    """

    def __init__(
        self,
        rows=("...G", ".#.X", "S..."),
        *,
        exits=None,
        living=-0.04,
        slip=0.0,
        max_steps=0,
        render_mode=None,
    ):
        exits = {"G": 1.0, "X": -1.0} if exits is None else dict(exits)
        self.map = [str(row) for row in rows]
        known = set(".S#") | set(exits)
        wrong = sorted({cell for row in self.map for cell in row} - known)
        if wrong or not self.map or len({len(row) for row in self.map}) != 1:
            raise ValueError(
                "rows of a GridWorld must be equally long and hold only "
                f"{''.join(sorted(known))}, got {wrong or self.map}."
            )
        if not 0 <= slip <= 1:
            raise ValueError(f"slip must be from 0 to 1, got {slip}.")
        cells = [(i, j) for i, row in enumerate(self.map) for j in range(len(row))]
        self.cells = [c for c in cells if self._at(c) != "#"]
        number = {cell: s for s, cell in enumerate(self.cells)}
        P = {}
        for s, cell in enumerate(self.cells):
            if self._at(cell) in exits:  # never acted in: the episode is over
                P[s] = {a: [(1.0, s, 0.0, True)] for a in range(4)}
                continue
            P[s] = {}
            for a in range(4):
                ways = [(1 - slip, a), (slip / 2, (a + 1) % 4), (slip / 2, (a + 3) % 4)]
                P[s][a] = []
                for p, way in ways if slip else ways[:1]:
                    target = self._move(cell, way, number)
                    kind = self._at(target)
                    ended = kind in exits
                    pay = float(exits[kind]) if ended else float(living)
                    P[s][a].append((p, number[target], pay, ended))
        starts = [self._at(c) == "S" for c in self.cells]
        if not any(starts):
            starts = [self._at(c) not in exits for c in self.cells]
        if not any(starts):
            raise ValueError("a GridWorld needs a free cell to start from.")
        start = np.array(starts, float) / sum(starts)
        super().__init__(table_from_dict(P, start, max_steps), render_mode)

    def _at(self, cell):
        return self.map[cell[0]][cell[1]]

    def _move(self, cell, way, number):
        target = cell[0] + MOVES[way][0], cell[1] + MOVES[way][1]
        return target if target in number else cell

    def draw(self, policy=None) -> str:
        """The map as text, with arrows of a policy on the free cells."""
        canvas = [list(row) for row in self.map]
        if policy is not None:
            for s, (i, j) in enumerate(self.cells):
                if canvas[i][j] in ".S":
                    canvas[i][j] = ARROWS[policy[s]]
        return "\n".join("".join(row) for row in canvas)

    def text_picture(self):
        i, j = self.cells[self.state]
        lines = [list(row) for row in self.map]
        lines[i][j] = "@"
        return "\n".join("".join(row) for row in lines)

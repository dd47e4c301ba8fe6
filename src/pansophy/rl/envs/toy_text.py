"""Gymnasium's tabular worlds: frozen lake, taxi and cliff, one or many at once.

Their outcomes are read from Gymnasium's own tables (`P`), so chances, rewards and ends
are the same, and so is every episode with the same seed: a step takes the first outcome
whose cumulative probability exceeds a uniform number. What is new is speed, in
`VectorWorld` and in the loops that learn from a table.

Refs      [Dietterich2000] the taxi; [Sutton2018] example 6.6, the cliff
"""

import numpy as np
from gymnasium.envs.toy_text import cliffwalking, frozen_lake, taxi

from ..planning.transition_table import table_from_dict
from .models.tabular import AbstractTabular


class FrozenLake(AbstractTabular):
    """Gymnasium's FrozenLake-v1: cross the ice to the goal without falling in a hole.

    Actions are left, down, right, up; the goal pays 1, a hole ends the episode.

    Parameters
    ----------
    map_name : {"4x4", "8x8"}
        Which of Gymnasium's maps; ignored if `rows` is given.
    rows : list of str or None
        A map of your own: S start, F ice, H hole, G goal.
    is_slippery : bool
        Whether a step goes to either side with the rest of the probability.
    success_rate : float
        Probability of going where one wants, on slippery ice.
    max_steps : int or None
        Steps after which an episode is cut off; 0: never; None: 100, or 200 on the
        map "8x8", as Gymnasium has it.

    Examples
    --------
    >>> from pansophy.rl import value_iteration
    >>> from pansophy.rl.envs import FrozenLake
    >>> round(float(value_iteration(FrozenLake(), gamma=0.99).V[0]), 4)
    0.542
    """

    def __init__(
        self,
        map_name="4x4",
        *,
        rows=None,
        is_slippery=True,
        success_rate=1 / 3,
        max_steps=None,
        render_mode=None,
    ):
        if rows is None and map_name not in frozen_lake.MAPS:
            raise ValueError(
                f"map_name must be one of {list(frozen_lake.MAPS)}, got {map_name!r}."
            )
        desc = frozen_lake.MAPS[map_name] if rows is None else [str(r) for r in rows]
        world = frozen_lake.FrozenLakeEnv(
            desc=desc, is_slippery=is_slippery, success_rate=success_rate
        )
        self.map = desc
        self.cells = [(i, j) for i, row in enumerate(desc) for j in range(len(row))]
        if max_steps is None:
            max_steps = 200 if rows is None and map_name == "8x8" else 100
        table = table_from_dict(world.P, world.initial_state_distrib, max_steps)
        super().__init__(table, render_mode)


class CliffWalking(AbstractTabular):
    """Gymnasium's CliffWalking-v1: walk along a cliff from corner to corner.

    Actions are up, right, down, left. Every step costs 1; one over the cliff costs 100
    and leads back to the start.

    Parameters
    ----------
    is_slippery : bool
        Whether a step goes to either side in a third of the cases each.
    max_steps : int
        Steps after which an episode is cut off; 0, Gymnasium's choice: never.

    Examples
    --------
    >>> from pansophy.rl import value_iteration
    >>> from pansophy.rl.envs import CliffWalking
    >>> float(value_iteration(CliffWalking(), gamma=1.0).V[36])
    -13.0
    """

    map = (" " * 12, " " * 12, " " * 12, "S" + "#" * 10 + "G")
    cells = tuple((i, j) for i in range(4) for j in range(12))

    def __init__(self, *, is_slippery=False, max_steps=0, render_mode=None):
        world = cliffwalking.CliffWalkingEnv(is_slippery=is_slippery)
        table = table_from_dict(world.P, world.initial_state_distrib, max_steps)
        super().__init__(table, render_mode)


class Taxi(AbstractTabular):
    """Gymnasium's Taxi-v4: fetch a passenger and bring him to his hotel.

    Actions are down, up, right, left, pick up, drop off. Every step costs 1, a wrong
    pick-up or drop-off 10; the right drop-off pays 20 and ends the episode.
    info["action_mask"] tells which actions change the state.

    Parameters
    ----------
    is_rainy : bool
        Whether moves go astray with probability 0.2.
    max_steps : int
        Steps after which an episode is cut off; 0: never.

    Examples
    --------
    >>> from pansophy.rl import value_iteration
    >>> from pansophy.rl.envs import Taxi
    >>> world = Taxi()
    >>> best = value_iteration(world, gamma=1.0)
    >>> round(float(best.V @ world.initial_state_distrib), 2)
    7.93
    """

    def __init__(self, *, is_rainy=False, max_steps=200, render_mode=None):
        world = taxi.TaxiEnv(is_rainy=is_rainy)
        table = table_from_dict(world.P, world.initial_state_distrib, max_steps)
        masks = [world.action_mask(s) for s in range(table.n_states)]
        self.action_masks = np.array(masks)
        super().__init__(table, render_mode)

    def reset(self, *, seed=None, options=None):
        state, info = super().reset(seed=seed, options=options)
        return state, info | {"action_mask": self.action_masks[state].copy()}

    def step(self, action):
        state, reward, terminated, truncated, info = super().step(action)
        info = info | {"action_mask": self.action_masks[state].copy()}
        return state, reward, terminated, truncated, info

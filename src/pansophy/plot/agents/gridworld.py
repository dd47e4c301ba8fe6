"""Grid worlds as pictures: values of the cells as colours, a policy as arrows."""

from typing import NamedTuple

import numpy as np

from ..axes import get_axes
from ..style import INK, draw_styled

# (down, right) of an action, by world; FrozenLake, GridWorld: left, down, right, up
MOVES = {
    "CliffWalking": ((-1, 0), (0, 1), (1, 0), (0, -1)),
    "DeepSea": ((1, -1), (1, 1)),
}
DEFAULT_MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))


@draw_styled
def gridworld(world, values=None, policy=None, *, decimals=2, ax=None):
    """Draw a grid world with the values of its cells and the arrows of a policy.

    Parameters
    ----------
    world : GridWorld, FrozenLake, CliffWalking or DeepSea
        An environment of `pansophy.rl.envs` or Gymnasium with a map.
    values : array of shape (S,), optional
        V, painted and written into the cells.
    policy : array of shape (S,), optional
        Actions, drawn as arrows.
    decimals : int
        Digits after the point of the values written.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> from pansophy.rl import value_iteration
    >>> from pansophy.rl.envs import GridWorld
    >>> world = GridWorld(slip=0.1)
    >>> best = value_iteration(world, gamma=0.95)
    >>> ax = plot.gridworld(world, best.V, best.policy)
    >>> len(ax.texts)  # a number in each free cell, a letter in start and exits
    14
    """
    world = _world_with_map(world)
    ax = get_axes(ax)
    height, width = len(world.map), len(world.map[0])
    picture = np.full((height, width), np.nan)
    rows, columns = np.array(world.cells).T
    if values is not None:
        values = np.asarray(values, dtype=float)
        if values.shape != (len(rows),):
            raise ValueError(f"values must have shape ({len(rows)},).")
        picture[rows, columns] = values
    ax.set_facecolor(INK)  # walls have no value
    if values is None:
        picture[rows, columns] = 0.0
        ax.imshow(picture, cmap="Greys", vmin=0, vmax=1)
    else:
        ax.imshow(picture, cmap="viridis")
    known = picture[np.isfinite(picture)]
    middle = (known.min() + known.max()) / 2 if known.size else 0.0
    for s, (i, j) in enumerate(world.cells):
        letter = world.map[i][j]
        dark = values is not None and values[s] < middle
        color = "white" if dark else "black"
        if values is not None:
            text = f"{values[s]:.{decimals}f}"
            ax.text(j, i + 0.3, text, ha="center", va="center", color=color, fontsize=7)
        if letter not in ".F #":
            ax.text(j - 0.35, i - 0.3, letter, ha="center", va="center", color=color)
    if policy is not None:
        _draw_arrows(ax, world, np.asarray(policy))
    ax.set(xticks=[], yticks=[])
    return ax


class WorldMap(NamedTuple):
    """Letters of a world by row, and the row and column of each state."""

    name: str
    map: list
    cells: list


def _world_with_map(world) -> WorldMap:
    """The map of an environment, of ours or of Gymnasium, in any wrapper."""
    from ...rl.experience.compiled_worlds import COMPILED_WORLDS, compiled_world

    core = getattr(world, "unwrapped", world)
    if not hasattr(core, "cells") and not hasattr(core, "desc"):
        name = getattr(getattr(world, "spec", None), "id", "")
        core = compiled_world(name) if name in COMPILED_WORLDS else None
    if core is not None and hasattr(core, "cells"):
        return WorldMap(type(core).__name__, core.map, core.cells)
    letters = np.asarray(getattr(core, "desc", None))
    if letters.ndim != 2 or not hasattr(core, "P") or len(core.P) != letters.size:
        raise TypeError(f"{type(world).__name__} has no map to draw.")
    rows = [[letter.decode() for letter in row] for row in letters]
    return WorldMap("FrozenLake", rows, list(np.ndindex(letters.shape)))


def _draw_arrows(ax, world, policy):
    """An arrow in each cell in which the agent acts."""
    moves = MOVES.get(world.name, DEFAULT_MOVES)
    if policy.shape != (len(world.cells),):
        raise ValueError(f"policy must have shape ({len(world.cells)},).")
    if policy.dtype.kind not in "iu" or policy.min() < 0 or policy.max() >= len(moves):
        raise ValueError(
            f"actions of policy must be whole numbers from 0 to {len(moves) - 1}."
        )
    acts = np.array([_cell_is_free(world.map[i][j]) for i, j in world.cells])
    rows, columns = np.array(world.cells)[acts].T
    steps = np.array([moves[a] for a in policy[acts]], dtype=float)
    ax.quiver(
        columns, rows, steps[:, 1], -steps[:, 0], pivot="middle", color="crimson",
        scale=3.0 * max(len(world.map), len(world.map[0])), width=0.006,
    )  # fmt: skip


def _cell_is_free(letter) -> bool:
    """Whether an agent acts in a cell: it is neither exit, hole nor goal."""
    return letter in ".SF "

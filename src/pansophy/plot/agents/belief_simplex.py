"""Values and actions of beliefs: lines over two states, a triangle over three."""

import numpy as np

from ..axes import get_axes
from ..style import draw_styled, series_color


@draw_styled
def belief_simplex(policy, beliefs=None, *, action_names=None, resolution=120, ax=None):
    """Draw the alpha vectors of a POMDP policy over its beliefs.

    Parameters
    ----------
    policy : AlphaVectors
        Of two states: each vector as a line over the probability of state 0, the
        greatest of them thick. Of three: a triangle, coloured by the best action.
    beliefs : array of shape (n, S), optional
        A path of beliefs, drawn as points.
    action_names : list of str, optional
    resolution : int
        Points along a side.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> from pansophy.rl import solve_pomdp, tiger_problem
    >>> policy = solve_pomdp(tiger_problem(), gamma=0.95, method="exact")
    >>> names = ["listen", "open left", "open right"]
    >>> ax = plot.belief_simplex(policy, action_names=names)
    >>> ax.get_xlabel()
    'probability of state 0'
    """
    S = policy.vectors.shape[1]
    if S not in (2, 3):
        raise ValueError(f"a belief over {S} states cannot be drawn; 2 or 3 can.")
    ax = get_axes(ax)
    label = lambda a: str(a) if action_names is None else action_names[a]
    if S == 2:
        _draw_lines(ax, policy, beliefs, label, resolution)
    else:
        _draw_triangle(ax, policy, beliefs, label, resolution)
    ax.legend()
    return ax


def _draw_lines(ax, policy, beliefs, label, resolution):
    """Two states: the vectors are lines, V their upper envelope."""
    p = np.linspace(0, 1, resolution)
    grid = np.column_stack([p, 1 - p])
    for a in np.unique(policy.actions):
        values = grid @ policy.vectors[policy.actions == a].T
        color = series_color(int(a))
        lines = ax.plot(p, values, color=color, linewidth=0.8, alpha=0.6)
        lines[0].set_label(label(int(a)))
    V = policy.value(grid)
    ax.plot(p, V, color="black", linewidth=2)
    if beliefs is not None:
        b = np.asarray(beliefs)
        ax.plot(b[:, 0], policy.value(b), "o-", color="crimson", markersize=4)
    margin = 0.05 * np.ptp(V)
    ax.set_ylim(V.min() - 4 * margin, V.max() + margin)
    ax.set(xlabel="probability of state 0", ylabel="value")


def _draw_triangle(ax, policy, beliefs, label, resolution):
    """Three states: points of the triangle, coloured by the best action."""
    n = resolution
    grid = [(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)]
    b = np.array(grid) / n
    best = policy.actions[np.argmax(b @ policy.vectors.T, axis=1)]
    x, y = _triangle_position(b)
    for a in np.unique(best):
        is_best = best == a
        ax.scatter(
            x[is_best], y[is_best], s=4, color=series_color(int(a)), label=label(int(a))
        )
    if beliefs is not None:
        px, py = _triangle_position(np.asarray(beliefs))
        ax.plot(px, py, "o-", color="black", markersize=4)
    corners = _triangle_position(np.eye(3))
    for k, (cx, cy) in enumerate(zip(*corners, strict=True)):
        ax.annotate(
            f"state {k}", (cx, cy), ha="center", va="top" if cy == 0 else "bottom"
        )
    ax.set(xticks=[], yticks=[], aspect="equal")


def _triangle_position(beliefs):
    """Places in the plane: state 0 left, 1 right, 2 on top."""
    b = np.asarray(beliefs)
    return b[:, 1] + 0.5 * b[:, 2], np.sqrt(0.75) * b[:, 2]

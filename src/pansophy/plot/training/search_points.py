"""The points that a search evaluated, coloured by value, with the best one marked."""

import numpy as np

from ..axes import axis_limits, draw_contours, get_axes
from ..style import ORANGE, draw_styled


@draw_styled
def search_points(
    run, f=None, *, values=None, coordinates=(0, 1), bounds=None, ax=None
):
    """Points evaluated by a derivative-free search, coloured by value.

    Parameters
    ----------
    run : result of a search that keeps its points (grid, random_search, exhaustive), or
        array (n, d)
    f : function of x (2,), optional
        Drawn as contours where the points have two coordinates.
    values : array (n,), optional
        Colours; those of the result by default.
    coordinates : pair of int
        Which coordinates to show.
    bounds : pairs (low, high) of both axes; None fits the points
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import optim, plot
    >>> run = optim.grid_search(lambda x: x @ x, [(-1, 1), (-1, 1)], steps=4)
    >>> ax = plot.search_points(run)
    >>> len(ax.collections[0].get_offsets())
    16
    """
    state = getattr(run, "state", None)
    points = run if state is None else getattr(state, "points", None)
    if points is None:
        raise ValueError("this result keeps no points; give the points themselves.")
    points = np.asarray(points, dtype=float)
    if points.ndim != 2 or points.shape[1] < 2:
        raise ValueError("search_points draws points of at least two numbers.")
    if values is None and state is not None:
        values = state.values
    shown = points[:, list(coordinates)]
    ax = get_axes(ax)
    dots = ax.scatter(*shown.T, c=values, s=18, zorder=2)
    if values is not None:
        ax.figure.colorbar(dots, ax=ax, label="objective")
        best = shown[int(np.nanargmin(values))]
        ax.plot(*best, "*", color=ORANGE, ms=13, zorder=3)
    limits = axis_limits(shown, bounds)
    if f is not None and points.shape[1] == 2:
        draw_contours(ax, f, limits)
    ax.set_xlim(*limits[0])
    ax.set_ylim(*limits[1])
    ax.set_xlabel(f"x{coordinates[0] + 1}")
    ax.set_ylabel(f"x{coordinates[1] + 1}")
    return ax

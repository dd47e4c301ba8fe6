"""The path of an optimiser on the contours of its objective."""

import numpy as np

from ..axes import axis_limits, draw_contours, get_axes
from ..style import draw_styled


def _positions_of(path) -> np.ndarray:
    """(t, 2) from a result with a trajectory, a `Trajectory` or an array."""
    history = getattr(path, "history", None)
    if history is not None:
        if "position" not in history:
            raise ValueError(
                "the result has no positions: run minimize with trajectory=True."
            )
        path = history["position"]
    points = np.asarray(getattr(path, "positions", path), dtype=float)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(
            f"descent_path draws points of two coordinates, not {points.shape[1:]}."
        )
    return points


@draw_styled
def descent_path(f, paths, *, bounds=None, levels=25, resolution=80, ax=None):
    """Trajectories of optimisers on the contours of the objective.

    Parameters
    ----------
    f : function of x (2,)
        Gives a number or (number, gradient).
    paths : result, `optim.Trajectory`, array (t, 2), or dict of them by label
    bounds : pairs (low, high) of both axes, or one pair for both; None fits the paths
    levels, resolution : int
        Contours, and points per axis they are computed from.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim, plot
    >>> f = lambda x: (x[0] ** 2 + 5 * x[1] ** 2, np.array([2 * x[0], 10 * x[1]]))
    >>> run = optim.minimize(f, [2.0, 1.0], "gradient", trajectory=True)
    >>> ax = plot.descent_path(f, run)
    >>> len(ax.lines[0].get_xdata()) == run.n_iter + 1
    True
    """
    named = paths if isinstance(paths, dict) else {"": paths}
    points = {label: _positions_of(path) for label, path in named.items()}
    ax = get_axes(ax)
    draw_contours(
        ax,
        f,
        axis_limits(np.concatenate(list(points.values())), bounds),
        levels=levels,
        resolution=resolution,
    )
    for label, path in points.items():
        (line,) = ax.plot(path[:, 0], path[:, 1], ".-", lw=1.2, label=label or None)
        ax.plot(*path[-1], "*", ms=12, color=line.get_color())
    if any(points):
        ax.legend()
    ax.set_xlabel("x1")
    ax.set_ylabel("x2")
    return ax

"""Density of a model in the plane of two columns."""

import numpy as np

from ..axes import axis_limits, get_axes
from ..classification.decision_regions import over_grid
from ..style import INK, draw_styled


@draw_styled
def density_2d(
    model, X=None, *, bounds=None, resolution=120, log=False, limit=1000, ax=None
):
    """Density of a fitted model of two columns, by colour, with rows on it.

    Parameters
    ----------
    model : fitted estimator with `score_samples`, or function
        A function takes rows (n, 2) and gives their log densities.
    X : array of shape (n, 2), optional
        Rows to show; they set the limits too.
    bounds : pairs (low, high) of both axes; None fits the rows
    resolution : int
        Grid points per axis.
    log : bool
        Whether colours show the log density.
    limit : int
        Largest number of rows shown.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> ax = plot.density_2d(lambda x: -0.5 * (x**2).sum(axis=1), bounds=(-3, 3))
    >>> [float(limit) for limit in ax.get_xlim()]
    [-3.0, 3.0]
    """
    if X is None and bounds is None:
        raise ValueError("density_2d needs rows X or bounds.")
    rows = None if X is None else np.asarray(X, dtype=float)
    if rows is not None and (rows.ndim != 2 or rows.shape[1] != 2):
        raise ValueError(f"X must have two columns, got shape {rows.shape}.")
    limits = axis_limits(rows, bounds)
    score = model.score_samples if hasattr(model, "score_samples") else model
    values, a, b = over_grid(score, limits, resolution=resolution)
    if not log:
        values = np.exp(values - values.max())
    ax = get_axes(ax)
    floor = np.quantile(values, 0.2) if log else 0.0
    ax.pcolormesh(a, b, values, cmap="Blues", vmin=floor, rasterized=True)
    if rows is not None:
        ax.scatter(*rows[:limit].T, s=3, color=INK, linewidths=0, alpha=0.5)
    ax.set(xlim=limits[0], ylim=limits[1])
    return ax

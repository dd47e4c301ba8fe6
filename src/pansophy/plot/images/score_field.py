"""Arrows of a score, the gradient of a log density, in the plane."""

import numpy as np

from ..axes import axis_limits, get_axes
from ..style import COLORS, INK, draw_styled


@draw_styled
def score_field(model, X=None, *, bounds=None, n_arrows=20, limit=500, ax=None):
    """Score of a model of two columns as arrows that point to where rows are.

    Parameters
    ----------
    model : fitted ScoreModel or EnergyModel, or function
        With `score_function`; a function takes rows (n, 2) and gives scores (n, 2).
    X : array of shape (n, 2), optional
        Rows to show; they set the limits too.
    bounds : pairs (low, high) of both axes; None fits the rows
    n_arrows : int
        Arrows along each axis. Lengths grow with the logarithm of the score.
    limit : int
        Largest number of rows shown.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> ax = plot.score_field(lambda x: -x, bounds=(-2, 2), n_arrows=5)
    >>> len(ax.collections[0].get_offsets())
    25
    """
    if X is None and bounds is None:
        raise ValueError("score_field needs rows X or bounds.")
    rows = None if X is None else np.asarray(X, dtype=float)
    if rows is not None and (rows.ndim != 2 or rows.shape[1] != 2):
        raise ValueError(f"X must have two columns, got shape {rows.shape}.")
    limits = axis_limits(rows, bounds)
    a, b = (np.linspace(low, high, n_arrows) for low, high in limits)
    places = np.stack(np.meshgrid(a, b), axis=-1).reshape(-1, 2)
    score = model.score_function if hasattr(model, "score_function") else model
    S = np.asarray(score(places), dtype=float)
    size = np.linalg.norm(S, axis=1, keepdims=True)
    shown = S / np.maximum(size, 1e-12) * np.log1p(size)
    ax = get_axes(ax)
    ax.quiver(*places.T, *shown.T, color=COLORS[0], angles="xy", width=0.003)
    if rows is not None:
        ax.scatter(*rows[:limit].T, s=4, color=INK, linewidths=0, alpha=0.5)
    ax.set(xlim=limits[0], ylim=limits[1])
    return ax

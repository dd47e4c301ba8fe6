"""Scatter plot of an embedding in one or two dimensions, coloured by label."""

import numpy as np

from ..axes import get_axes
from ..style import GREY, draw_styled, series_color, short_name

MANY = 20  # labels up to which each has an entry in the legend


@draw_styled
def embedding(points, labels=None, *, size=None, legend=True, ax=None):
    """Scatter plot of an embedding in one or two dimensions.

    Parameters
    ----------
    points : array of shape (n, m), m at least 1
        The first two columns are drawn; a single one against the row number.
    labels : array of length n, optional
        Few different values, or words, are groups with a legend; many different
        numbers are a scale of colour with a bar.
    size : float, optional
        Of a point; smaller for more points if not given.
    legend : bool, default=True
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> ax = plot.embedding([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    >>> [t.get_text() for t in ax.get_legend().get_texts()]
    ['a', 'b']
    """
    ax = get_axes(ax)
    Y = np.asarray(points, dtype=float)
    Y = Y.reshape(len(Y), -1)
    x, y = (np.arange(len(Y)), Y[:, 0]) if Y.shape[1] == 1 else (Y[:, 0], Y[:, 1])
    s = size if size is not None else float(np.clip(2e4 / max(len(Y), 1), 2, 30))
    if labels is None:
        ax.scatter(x, y, s=s, linewidths=0, alpha=0.8)
    else:
        labels = np.asarray(labels)
        if len(labels) != len(Y):
            raise ValueError(f"{len(Y)} points have {len(labels)} labels.")
        _scatter_by_label(ax, x, y, labels, legend, s)
    if Y.shape[1] == 1:
        ax.set(xlabel="row", ylabel="first coordinate")
    else:
        ax.set(xlabel="first coordinate", ylabel="second coordinate")
        ax.set_aspect("equal", adjustable="datalim")
    return ax


def _scatter_by_label(ax, x, y, labels, legend, s):
    """Colour points by group, or by a colour scale for many different numbers."""
    groups = np.unique(labels)
    if len(groups) > MANY and labels.dtype.kind == "f":
        drawn = ax.scatter(x, y, c=labels, cmap="viridis", s=s, linewidths=0, alpha=0.8)
        if legend:
            ax.figure.colorbar(drawn, ax=ax)
        return
    for k, group in enumerate(groups):
        of_group = labels == group
        noise = labels.dtype.kind in "iu" and group == -1
        ax.scatter(
            x[of_group],
            y[of_group],
            color=GREY if noise else series_color(k),
            label=short_name(group),
            s=s,
            linewidths=0,
            alpha=0.8,
        )
    if legend and len(groups) <= MANY:
        ax.legend(markerscale=max(1.0, (20 / s) ** 0.5), fontsize="small")

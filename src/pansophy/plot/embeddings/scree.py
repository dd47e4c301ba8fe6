"""Scree plot: explained variance by component and its running sum."""

import numpy as np

from ...core.arrays.arrays import to_numpy
from ..axes import get_axes
from ..style import BLUE, GREY, ORANGE, draw_styled, pale_grid


@draw_styled
def scree(model, *, target=None, ax=None):
    """Share of the variance along each component as bars, their running sum as a line.

    Parameters
    ----------
    model : fitted PCA, IncrementalPCA or TruncatedSVD, or array of shares
        Whatever has `explained_variance_ratio_`.
    target : float in (0, 1), optional
        A share to reach: a line at it, and the fewest components that do marked.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> ax = plot.scree([0.8, 0.15, 0.05], target=0.9)
    >>> ax.get_xlabel(), len(ax.patches)
    ('component', 3)
    """
    shares = getattr(model, "explained_variance_ratio_", model)
    shares = np.asarray(to_numpy(shares), dtype=float).ravel()
    if len(shares) == 0:
        raise ValueError("there is no component to draw.")
    if target is not None and not 0 < target < 1:
        raise ValueError(f"target must be between 0 and 1, got {target}.")
    ax, k = get_axes(ax), np.arange(1, len(shares) + 1)
    total = np.cumsum(shares)
    ax.bar(k, shares, color=BLUE, alpha=0.6, label="share of the variance")
    marker = "o" if len(k) <= 40 else ""
    ax.plot(k, total, color=ORANGE, marker=marker, ms=4, label="running sum")
    if target is not None:
        ax.axhline(target, color=GREY, lw=0.8, ls="--", zorder=0)
        reached = np.flatnonzero(total >= target)
        if len(reached):
            index = int(reached[0])
            text = f"{index + 1} reach {target:g}"
            ax.plot(k[index], total[index], "*", color=ORANGE, ms=12, label=text)
    if len(k) <= 20:
        ax.set_xticks(k)
    ax.set(xlabel="component", ylabel="share of the variance", ylim=(0, 1.05))
    ax.legend(loc="center right")
    pale_grid(ax, "y")
    return ax

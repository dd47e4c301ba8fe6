"""Distance concentration: least and largest distance as the dimension grows."""

import numpy as np

from ..axes import get_axes
from ..style import BLUE, GREY, draw_styled, line_style, log_axis, pale_grid


@draw_styled
def concentration(path, *, ax=None):
    """Least and largest distance between rows, as shares of the mean, by dimension.

    Parameters
    ----------
    path : list of Concentration
        From `diagnose.concentration_path`, or from `diagnose.distance_concentration`
        of several tables.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> from pansophy.diagnose.data.concentration import concentration_path
    >>> path = concentration_path((10, 100), n=100)
    >>> plot.concentration(path).get_xlabel()
    'columns'
    """
    path = [path] if hasattr(path, "dimension") else list(path)
    if not path:
        raise ValueError("path must hold at least one result.")
    rows = [(c.dimension, c.min / c.mean, c.max / c.mean) for c in path]
    d, low, high = np.array(sorted(rows), float).T
    ax = get_axes(ax)
    ax.plot(d, high, label="largest", **line_style(0, marks=True))
    ax.plot(d, low, label="least", **line_style(1, marks=True))
    ax.fill_between(d, low, high, color=BLUE, alpha=0.12, lw=0)
    ax.axhline(1, color=GREY, lw=1, ls=":", label="mean")
    log_axis(ax, ticks=d)
    ax.set(xlabel="columns", ylabel="distance / mean distance", ylim=(0, None))
    pale_grid(ax)
    ax.legend(loc="best")
    return ax

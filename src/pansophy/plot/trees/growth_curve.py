"""Training and held-out score of a tree against its number of leaves."""

from ..axes import get_axes
from ..style import ORANGE, draw_styled, log_axis, pale_grid


@draw_styled
def growth_curve(curve, *, by="leaves", ax=None):
    """Training and held-out score along best-first growth, the peak marked.

    Parameters
    ----------
    curve : GrowthCurve
        From `pansophy.teaching.growth_curve`.
    by : {"leaves", "nodes"}, default="leaves"
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> from pansophy.teaching import growth_curve
    >>> from pansophy.tree import DecisionTreeClassifier
    >>> X, y = [[1], [2], [3], [4]], [0, 0, 1, 0]
    >>> curve = growth_curve(DecisionTreeClassifier(), X, y, X, y)
    >>> plot.growth_curve(curve).get_xlabel()
    'leaves'
    """
    if by not in ("leaves", "nodes"):
        raise ValueError(f"by must be 'leaves' or 'nodes', got {by!r}.")
    size = getattr(curve, by)
    ax = get_axes(ax)
    ax.plot(size, curve.train, label="training")
    ax.plot(size, curve.validation, label="held out")
    k = curve.peak
    ax.plot(
        size[k],
        curve.validation[k],
        "*",
        color=ORANGE,
        ms=12,
        label=f"peak: {size[k]} {by}",
    )
    score = "accuracy" if curve.score == "accuracy" else "R²"
    ax.set(xlabel=by, ylabel=score)
    if len(size) > 50:
        log_axis(ax)
    ax.legend()
    pale_grid(ax)
    return ax

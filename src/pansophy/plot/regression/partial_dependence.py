"""Partial dependence: mean prediction along the values of a column."""

import numpy as np

from ..axes import get_axes
from ..style import GREY, INK, draw_styled, line_style, pale_grid, short_name

LINES = 60  # single rows shown


@draw_styled
def partial_dependence(dependence, *, rows=True, centre=False, ax=None):
    """Mean predictions along a column, with those of single rows behind.

    Parameters
    ----------
    dependence : Dependence or list of them
        From `diagnose.partial_dependence`; several are drawn beside each other.
    rows : bool
        Whether single rows are drawn, where there is one output.
    centre : bool
        Whether lines start at 0, so that rows can be compared by their shape.
    ax : matplotlib axes, or as many as there are columns, optional

    Returns
    -------
    matplotlib axes, or an array of them for a list

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import diagnose, plot
    >>> from pansophy.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = LinearRegression().fit(X, X[:, 0])
    >>> found = diagnose.partial_dependence(model, X, [0, 1], names=["a", "b"])
    >>> [ax.get_xlabel() for ax in plot.partial_dependence(found)]
    ['a', 'b']
    """
    if not isinstance(dependence, list):
        return _draw_dependence(dependence, rows, centre, get_axes(ax))
    axes = _axes_grid(len(dependence)) if ax is None else np.ravel(np.asarray(ax))
    if len(axes) != len(dependence):
        raise ValueError(f"{len(dependence)} columns but {len(axes)} axes.")
    for k, (d, panel) in enumerate(zip(dependence, axes, strict=True)):
        _draw_dependence(d, rows, centre, panel)
        if ax is None and k % 3:
            panel.set_ylabel("")  # the scale is common
    return axes


def _axes_grid(m):
    """Axes in rows of three with a common scale."""
    from matplotlib import pyplot as plt

    n_columns = min(m, 3)
    n_rows = -(-m // n_columns)
    size = (0.6 + 3.1 * n_columns, 2.9 * n_rows)
    axes = plt.subplots(
        n_rows,
        n_columns,
        figsize=size,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )[1].ravel()
    for extra in axes[m:]:
        extra.set_visible(False)
    return axes[:m]


def _draw_dependence(d, rows, centre, ax):
    """Draw one column: bars for categories, lines for numbers."""
    mean = np.asarray(d.mean, float)
    mean = mean[:, None] if mean.ndim == 1 else mean
    single = getattr(d, "rows", None)
    single = (
        None if single is None or mean.shape[1] > 1 or not rows else single[:, :, 0]
    )
    if centre:
        single = None if single is None else single - single[:, :1]
        mean = mean - mean[:1]
    numbers = all(isinstance(v, (int, float, np.number)) for v in d.values)
    (_draw_lines if numbers else _draw_bars)(ax, d, mean, single)
    outputs = [short_name(o) for o in d.outputs]
    ax.set(xlabel=short_name(d.column, 40), ylabel="prediction")
    if len(outputs) == 1 and outputs[0] != "prediction":
        ax.set_ylabel(f"prediction of {outputs[0]}")
    if len(outputs) > 1 or (single is not None and not numbers):
        ax.legend(loc="best")
    pale_grid(ax, "both" if numbers else "y")
    return ax


def _draw_lines(ax, d, mean, single):
    """Draw mean predictions as lines, with thin lines for single rows."""
    x = np.asarray(d.values, float)
    if single is not None:
        ax.plot(x, single[:LINES].T, color=GREY, lw=0.5, alpha=0.35, zorder=1)
    for k, v in enumerate(mean.T):
        style = line_style(k, marks=mean.shape[1] > 1)
        ax.plot(x, v, label=short_name(d.outputs[k]), lw=2.2, zorder=3, **style)


def _draw_bars(ax, d, mean, single):
    """Draw mean predictions as bars, with the central 80 % of single rows."""
    place = np.arange(len(d.values))
    K = mean.shape[1]
    width = 0.8 / K
    hatches = ("", "///", "...", "xxx", "\\\\\\", "---")
    for k, v in enumerate(mean.T):
        x = place + (k - (K - 1) / 2) * width
        ax.bar(
            x,
            v,
            0.95 * width,
            lw=0,
            label="mean" if K == 1 else short_name(d.outputs[k]),
            color=line_style(k)["color"],
            hatch=hatches[k % 6],
            ec="white",
        )
    if single is not None:
        low, high = np.quantile(single, [0.1, 0.9], axis=0)
        ax.vlines(place, low, high, color=INK, lw=1.2, label="eight of ten rows")
    names = [short_name(v, 14) for v in d.values]
    ax.set_xticks(place, names)
    if max(map(len, names)) * len(names) > 30:
        ax.tick_params(axis="x", rotation=90 if len(names) > 8 else 30)

"""Returns of agents along their runs, with bands over runs."""

import numpy as np
from scipy import stats

from .axes import get_axes
from .style import GREY, draw_styled, line_style, named_series, pale_grid, short_name


@draw_styled
def returns(curves, *, reference=None, ax=None):
    """Mean return of evaluations by steps: interquartile mean and range over runs.

    Parameters
    ----------
    curves : ReturnCurve, list of them (runs), dict of name to such a list, or
        AgentComparison
        Runs of one agent must be evaluated at the same steps.
    reference : float or None
        A return to compare with, such as that of a random agent.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import plot
    >>> from pansophy.rl import ReturnCurve
    >>> runs = [ReturnCurve(np.arange(3), np.ones((3, 4)) * k) for k in (1, 2)]
    >>> ax = plot.returns({"agent": runs})
    >>> len(ax.lines), ax.get_ylabel()
    (1, 'return')
    """
    if not isinstance(curves, (dict, list)):
        curves = getattr(curves, "curves", [curves])  # of a comparison: all of them
    if not curves:
        raise ValueError("curves is empty.")
    ax = get_axes(ax)
    for k, (name, runs) in enumerate(named_series(curves, one="agent").items()):
        runs = [runs] if hasattr(runs, "returns") else list(runs)
        steps = runs[0].steps
        if any(not np.array_equal(run.steps, steps) for run in runs):
            raise ValueError(f"runs of {name} were evaluated at different steps.")
        means = np.array([run.mean for run in runs])
        style = line_style(k)
        middle = stats.trim_mean(means, 0.25, axis=0)
        ax.plot(steps, middle, label=short_name(name), **style)
        if len(runs) > 1:
            low = means.min(axis=0)
            high = means.max(axis=0)
            ax.fill_between(steps, low, high, color=style["color"], alpha=0.15, lw=0)
    if reference is not None:
        ax.axhline(reference, color=GREY, lw=1, ls="--")
    ax.set(xlabel="steps", ylabel="return")
    pale_grid(ax)
    ax.legend(loc="best")
    return ax

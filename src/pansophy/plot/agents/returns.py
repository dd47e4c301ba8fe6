"""Returns of agents along their runs, with bands over runs."""

import numpy as np
from scipy import stats

from ..axes import get_axes
from ..style import GREY, draw_styled, line_style, named_series, pale_grid, short_name

MOVING_EPISODES = 20  # of the mean of a fitted agent's returns


@draw_styled
def returns(curves, *, reference=None, cumulative=False, ax=None):
    """Returns by steps: interquartile mean and range over runs.

    Parameters
    ----------
    curves : ReturnCurve, fitted agent, list of them (runs), dict of name to such a
        list, or AgentComparison
        Runs of one agent must be evaluated at the same steps. Of a fitted agent the
        returns of its episodes while it learnt are drawn, each run as a line, by the
        mean of the last 20 episodes.
    reference : float or None
        A return to compare with, such as that of a random agent.
    cumulative : bool
        Whether to draw the sum of all rewards so far: of the episodes of a fitted
        agent, of the mean returns of a curve's evaluations.
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
        is_list = isinstance(runs, (list, tuple)) and not _is_curve(runs)
        runs = list(runs) if is_list else [runs]
        style = line_style(k)
        if all(map(_is_curve, runs)):
            _draw_curves(ax, name, runs, cumulative, style)
            continue
        for i, agent in enumerate(runs):
            steps, values = _episode_returns(agent, cumulative)
            label = short_name(name) if i == 0 else None
            ax.plot(steps, values, label=label, **style)
    if reference is not None:
        ax.axhline(reference, color=GREY, lw=1, ls="--")
    label = "sum of rewards" if cumulative else "return"
    ax.set(xlabel="steps", ylabel=label)
    pale_grid(ax)
    ax.legend(loc="best")
    return ax


def _is_curve(run) -> bool:
    """Whether a run is a `ReturnCurve`."""
    return hasattr(run, "returns") and hasattr(run, "steps")


def _draw_curves(ax, name, runs, cumulative, style):
    """Interquartile mean and range of the curves of one agent."""
    steps = runs[0].steps
    if any(not np.array_equal(run.steps, steps) for run in runs):
        raise ValueError(f"runs of {name} were evaluated at different steps.")
    means = np.array([run.mean for run in runs])
    means = np.cumsum(means, axis=1) if cumulative else means
    middle = stats.trim_mean(means, 0.25, axis=0)
    ax.plot(steps, middle, label=short_name(name), **style)
    if len(runs) > 1:
        low = means.min(axis=0)
        high = means.max(axis=0)
        ax.fill_between(steps, low, high, color=style["color"], alpha=0.15, lw=0)


def _episode_returns(agent, cumulative):
    """Steps and returns of the episodes in which a fitted agent has learnt."""
    history = getattr(agent, "history_", None)
    if not isinstance(history, dict) or "return" not in history:
        raise TypeError(
            "returns draws ReturnCurves, fitted agents or an AgentComparison, got "
            f"{type(agent).__name__}."
        )
    values = np.asarray(history["return"], float)
    if not len(values):
        raise ValueError(f"no episode of {type(agent).__name__} has ended.")
    steps = history.get("end", np.cumsum(history["length"]))
    sums = np.cumsum(values)
    if cumulative:
        return steps, sums
    sums_before = np.append(np.zeros(MOVING_EPISODES), sums)[: len(sums)]
    counted = np.minimum(np.arange(1, len(sums) + 1), MOVING_EPISODES)
    return steps, (sums - sums_before) / counted

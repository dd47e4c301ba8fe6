"""Elbow curve: k-means objective against the number of clusters."""

import numpy as np

from ..axes import get_axes
from ..style import GREY, ORANGE, draw_styled, pale_grid


@draw_styled
def elbow(choice, *, ax=None):
    """Elbow curve of costs J_k, the criterion that chose k, and the k chosen.

    Parameters
    ----------
    choice : KChoice
        From `pansophy.cluster.choose_k`.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> from pansophy.cluster import choose_k
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.0], [9.1]]
    >>> choice = choose_k(X, range(1, 6), random_state=0)
    >>> plot.elbow(choice).get_xlabel()
    'clusters k'
    """
    ax = get_axes(ax)
    row = int(np.flatnonzero(choice.ks == choice.k)[0])
    line = ax.plot(choice.ks, choice.costs, "o-", ms=4, label="cost")
    if choice.method == "elbow":
        ends = [0, -1]
        ax.plot(choice.ks[ends], choice.costs[ends], ":", color=GREY, label="chord")
    label = f"k = {choice.k} ({choice.method})"
    ax.plot(choice.k, choice.costs[row], "*", color=ORANGE, ms=14, label=label)
    ax.set(xlabel="clusters k", ylabel="cost", ylim=(0, None))
    ax.yaxis.label.set_color(line[0].get_color())
    handles, names = ax.get_legend_handles_labels()
    if choice.method not in ("elbow",):
        twin = ax.twinx()
        twin.errorbar(
            choice.ks,
            choice.scores,
            yerr=choice.errors,
            capsize=2,
            fmt="s--",
            color=ORANGE,
            ms=4,
            label=choice.method,
        )
        twin.set_ylabel(f"{choice.method} (more is better)", color=ORANGE)
        twin_handles, twin_names = twin.get_legend_handles_labels()
        handles = handles + twin_handles
        names = names + twin_names
    ax.legend(handles, names, loc="center right")
    pale_grid(ax)
    return ax

"""Gini, entropy and misclassification error of two classes as curves."""

import numpy as np

from ...tree.growing.criteria import entropy, gini
from ..axes import get_axes
from ..style import draw_styled, pale_grid


@draw_styled
def impurity(*, scaled=False, resolution=201, ax=None):
    """Gini, entropy and error of the majority against the share p of one class.

    All are 0 for a pure node and largest at p = 1/2; only the first two are strictly
    concave, so that every split that changes the shares gains by them.

    Parameters
    ----------
    scaled : bool, default=False
        Whether curves are scaled to a common height of 1.
    resolution : int
        Points of p.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> [line.get_label() for line in plot.impurity().lines]
    ['Gini', 'entropy (bits)', '0-1 error']
    """
    p = np.linspace(0.0, 1.0, resolution)
    shares = np.stack([p, 1.0 - p], axis=1)
    curves = {
        "Gini": gini(shares),
        "entropy (bits)": entropy(shares),
        "0-1 error": 1.0 - shares.max(axis=1),
    }
    ax = get_axes(ax)
    for name, values in curves.items():
        ax.plot(p, values / values.max() if scaled else values, label=name)
    ax.set(xlabel="share of one class", ylabel="impurity")
    ax.legend()
    pale_grid(ax)
    return ax

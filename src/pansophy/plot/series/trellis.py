"""Trellis of a hidden Markov model: state beliefs at each step and a decoded path."""

import numpy as np

from ..axes import get_axes
from ..style import BLUE, GREY, INK, ORANGE, draw_styled


@draw_styled
def trellis(prob, path=None, *, trans=None, observed=None, names=None, ax=None):
    """Trellis: state probabilities as discs, transitions as lines, a path in colour.

    Parameters
    ----------
    prob : array of shape (n, k)
        What to show of each state at each step, as areas: posteriors as from
        `model.smooth(X)`, or messages.
    path : array of int of shape (n,), optional
        States of a path, as from `model.predict(X)`.
    trans : array of shape (k, k), optional
        Transition probabilities: moves of probability 0 are left out, likelier ones
        are darker. None draws every move alike.
    observed : sequence of n words, optional
        Written below the steps.
    names : sequence of k words, optional
        Names of the states.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import plot
    >>> ax = plot.trellis(np.array([[0.9, 0.1], [0.3, 0.7]]), [0, 1], names="AB")
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['A', 'B']
    """
    P = np.asarray(prob, dtype=float)
    if P.ndim != 2:
        raise ValueError(f"prob must be (steps, states), got {P.ndim} dimensions.")
    n, k = P.shape
    A = np.ones((k, k)) if trans is None else np.asarray(trans, dtype=float)
    if A.shape != (k, k):
        raise ValueError(f"trans must have shape {(k, k)}, got {A.shape}.")
    ax = get_axes(ax)
    shade = 0.6 * A / A.max()
    for i, j in zip(*np.nonzero(A), strict=True):
        for t in range(n - 1):
            ax.plot(
                [t, t + 1],
                [i, j],
                color=INK,
                lw=0.9,
                alpha=0.1 + shade[i, j],
                zorder=1,
            )
    if path is not None:
        z = np.asarray(path)
        if z.shape != (n,):
            raise ValueError(f"path must have {n} states, got shape {z.shape}.")
        ax.plot(range(n), z, color=ORANGE, lw=3, zorder=2, label="path")
    t, j = np.meshgrid(range(n), range(k), indexing="ij")
    size = P / P.max(axis=1, keepdims=True).clip(1e-300)
    ax.scatter(t, j, s=340, facecolor="white", edgecolor=GREY, zorder=3)
    ax.scatter(t, j, s=340 * size, color=BLUE, zorder=4)
    ax.set_yticks(range(k), [str(s) for s in (range(k) if names is None else names)])
    steps = range(n) if observed is None else observed
    ax.set_xticks(range(n), [str(x) for x in steps])
    ax.set(xlabel="step" if observed is None else "observed", ylabel="state")
    ax.set(xlim=(-0.5, n - 0.5), ylim=(k - 0.5, -0.5))
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax

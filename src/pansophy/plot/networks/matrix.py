"""A matrix as a picture of its entries."""

import numpy as np

from ..axes import get_axes
from ..style import draw_styled


@draw_styled
def matrix(values, *, labels=None, ax=None):
    """Entries by colour; small matrices show their numbers.

    Parameters
    ----------
    values : array of shape (m, n)
    labels : sequence of str, optional
        Names of the columns, and of the rows if there are as many.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> ax = plot.matrix([[1.0, -2.0], [0.0, 3.0]])
    >>> [t.get_text() for t in ax.texts]
    ['1', '-2', '0', '3']
    """
    M = np.asarray(values, dtype=float)
    if M.ndim != 2:
        raise ValueError(f"values must be a matrix, got shape {M.shape}.")
    ax = get_axes(ax)
    reach = np.nanmax(np.abs(M), initial=0.0) or 1.0
    ax.imshow(M, cmap="RdBu_r", vmin=-reach, vmax=reach)
    ax.grid(False)
    if max(M.shape) <= 12:
        for (i, j), value in np.ndenumerate(M):
            ink = "white" if abs(value) > 0.6 * reach else "black"
            ax.text(j, i, f"{value:.3g}", ha="center", va="center", color=ink)
    if labels is not None:
        ax.set_xticks(range(M.shape[1]), labels)
        if M.shape[0] == len(labels):
            ax.set_yticks(range(M.shape[0]), labels)
    return ax

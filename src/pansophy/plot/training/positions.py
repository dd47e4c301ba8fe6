"""Positional encodings as a picture."""

import numpy as np

from ...core.arrays import arrays
from ..axes import get_axes
from ..style import draw_styled


@draw_styled
def positions(P, *, ax=None):
    """Encoding of each position (rows) by columns: waves of falling frequency.

    Parameters
    ----------
    P : array or tensor of shape (L, d)
        As `nn.sinusoidal_positions` or `nn.LearnedPositions.P` give them.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import plot
    >>> plot.positions(np.zeros((5, 4))).get_ylabel()
    'position'
    """
    P = np.asarray(arrays.to_numpy(P), dtype=float)
    if P.ndim != 2:
        raise ValueError(f"P must be (positions, columns), got {P.ndim} dimensions.")
    ax = get_axes(ax)
    high = max(np.abs(P).max(initial=0.0), 1e-12)
    ax.imshow(P, cmap="RdBu_r", vmin=-high, vmax=high, aspect="auto")
    ax.set_xlabel("column")
    ax.set_ylabel("position")
    return ax

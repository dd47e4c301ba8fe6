"""Gradients of recurrent layers that vanish or explode with the lag."""

import numpy as np

from ..axes import get_axes
from ..style import DASHES, GREY, draw_styled, series_color


@draw_styled
def gradient_lag(norms, *, ax=None):
    """Norm of the gradient of the last state in the state so many steps earlier.

    A straight fall in this logarithmic picture is a gradient that vanishes, a straight
    rise one that explodes; the line at 1 is constant error flow.

    Parameters
    ----------
    norms : array of shape (T,), or dict of such arrays by name
        As `teaching.gradient_by_lag` gives them.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import plot
    >>> ax = plot.gradient_lag({"rnn": 0.5 ** np.arange(9), "carousel": np.ones(9)})
    >>> ax.get_yscale(), [t.get_text() for t in ax.get_legend().get_texts()]
    ('log', ['rnn', 'carousel'])
    """
    curves = norms if isinstance(norms, dict) else {"": norms}
    ax = get_axes(ax)
    ax.axhline(1.0, color=GREY, lw=0.8)
    for i, (name, values) in enumerate(curves.items()):
        values = np.asarray(values, dtype=float)
        if values.ndim != 1:
            raise ValueError(f"norms must be vectors, got {values.ndim} dimensions.")
        shown = np.where(values > 0, values, np.nan)  # 0 has no logarithm
        style = {"color": series_color(i), "linestyle": DASHES[i % len(DASHES)]}
        ax.plot(np.arange(len(values)), shown, label=name, **style)
    ax.set_yscale("log")
    ax.set_xlabel("lag")
    ax.set_ylabel("norm of the gradient")
    if isinstance(norms, dict):
        ax.legend()
    return ax

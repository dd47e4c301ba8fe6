"""Partial sums of a Fourier series."""

import numpy as np

from ..axes import get_axes
from ..style import GREY, draw_styled, pale_grid


@draw_styled
def partial_sums(series, f=None, *, orders=(1, 3, 10), start=None, ax=None):
    """The function, and its series cut at some orders, over two periods.

    Parameters
    ----------
    series : FourierSeries
    f : function, optional
        What the series is of, drawn behind it over its own period.
    orders : list of int, default=(1, 3, 10)
    start : float, optional
        Where the period of f begins; None is -period / 2.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import plot, signal
    >>> s = signal.fourier_series(np.sign, 10, breaks=[0])
    >>> len(plot.partial_sums(s, np.sign).lines)
    4
    """
    ax, T = get_axes(ax), series.period
    start = -T / 2 if start is None else start
    if f is not None:
        x = np.linspace(start, start + T, 801)[1:-1]
        y = np.array([f(v) for v in x], dtype=float)
        ax.plot(x, y, color=GREY, lw=3, label="f")
    x = np.linspace(start - T / 2, start + 1.5 * T, 1600)
    for order in sorted({min(n, series.order) for n in orders}):
        ax.plot(x, np.real(series(x, order)), lw=1, label=f"up to {order}")
    ax.set(xlabel="x")
    ax.legend()
    pale_grid(ax)
    return ax

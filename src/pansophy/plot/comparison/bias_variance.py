"""Bias, variance and noise along a parameter."""

import numpy as np

from ..axes import get_axes
from ..style import EDGE, INK, draw_styled, line_style, log_axis, pale_grid, short_name


@draw_styled
def bias_variance(values, terms, *, label="value", log=None, ax=None):
    """Error, bias, variance and noise against a parameter; marks the least error.

    Parameters
    ----------
    values : sequence of m numbers or names
    terms : sequence of m BiasVariance
        From `diagnose.bias_variance` or `bias_variance_path`.
    label : str
        Name of the parameter.
    log : bool, optional
        Whether its axis is logarithmic; None: if the values span two decades.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> from pansophy.diagnose import BiasVariance
    >>> terms = [BiasVariance("squared", 3.0, 2, 1, 0, 0, 0, 9),
    ...          BiasVariance("squared", 4.0, 1, 3, 0, 0, 0, 9)]
    >>> ax = plot.bias_variance([1, 2], terms, label="degree")
    >>> ax.get_xlabel(), ax.lines[0].get_ydata().tolist()
    ('degree', [3.0, 4.0])
    """
    if len(values) != len(terms):
        raise ValueError(f"{len(values)} values but {len(terms)} results.")
    numbers = all(isinstance(v, (int, float, np.number)) for v in values)
    x = np.asarray(values, float) if numbers else np.arange(len(values))
    ax = get_axes(ax)
    squared = terms[0].loss == "squared"
    parts = {
        "error": "error",
        "bias": "bias²" if squared else "bias",
        "variance": "variance",
        "noise": "noise",
    }
    for k, (field, name) in enumerate(parts.items()):
        v = np.array([getattr(t, field) for t in terms], float)
        if field != "noise" or np.any(v != 0):
            ax.plot(x, v, label=name, **line_style(k, marks=True))
    errors = [t.error for t in terms]
    best = int(np.argmin(errors))
    ax.plot(x[best], errors[best], "o", ms=11, mfc="none", mec=INK, label="least error")
    wide_range = numbers and np.all(x > 0) and x.max() >= 100 * x.min()
    if wide_range if log is None else log:
        log_axis(ax)
    if not numbers:
        ax.set_xticks(x, [short_name(v, 14) for v in values])
    ax.axhline(0, color=EDGE, lw=0.8, zorder=0)
    ax.set(xlabel=short_name(label, 40), ylabel=f"{terms[0].loss} error")
    pale_grid(ax)
    ax.legend(loc="best")
    return ax

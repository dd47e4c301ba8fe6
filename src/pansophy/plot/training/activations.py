"""Activation functions and their slopes."""

import numpy as np

from ..axes import get_axes
from ..style import EDGE, draw_styled, line_style, pale_grid


@draw_styled
def activations(
    names=("relu", "leaky", "elu", "tanh", "logistic"), *, slopes=False,
    interval=(-3.0, 3.0), ax=None,
):  # fmt: skip
    """Activations against their input, or their slopes.

    Parameters
    ----------
    names : sequence of str
        Names of `nn.ACTIVATIONS`, or "step" and "sign".
    slopes : bool
        Whether to draw g' instead of g.
    interval : pair of floats
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> ax = plot.activations(["relu", "tanh"])
    >>> [line.get_label() for line in ax.lines[:2]]
    ['relu', 'tanh']
    """
    from ...teaching.backward_pass import activation_slope, apply_activation
    from ...teaching.neuron import UNITS

    unknown = [name for name in names if name not in UNITS]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not one of {', '.join(UNITS)}.")
    ax = get_axes(ax)
    z = np.linspace(*interval, 601)
    for k, name in enumerate(names):
        values = activation_slope(name, z) if slopes else apply_activation(name, z)
        ax.plot(z, values, label=name, **line_style(k))
    ax.axhline(0, color=EDGE, lw=0.8, zorder=0)
    ax.axvline(0, color=EDGE, lw=0.8, zorder=0)
    ax.set(xlabel="z", ylabel="g'(z)" if slopes else "g(z)")
    pale_grid(ax)
    ax.legend(loc="best")
    return ax

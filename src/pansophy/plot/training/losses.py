"""Loss functions as curves of the margin (classes) or the residual (numbers)."""

import numpy as np

from ... import losses as nouns
from ..axes import get_axes
from ..style import INK, draw_styled, pale_grid

MARGIN = ("hinge", "squared_hinge", "logistic", "perceptron", "exponential")


@draw_styled
def losses(which=MARGIN, *, span=(-2.5, 2.5), ax=None):
    """Draw losses against z = y f for classes, or r = f - y for numbers.

    Parameters
    ----------
    which : names of `pansophy.losses` or losses
    span : (low, high) of the axis
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> ax = plot.losses(["hinge", "logistic"])
    >>> [line.get_label() for line in ax.lines]
    ['zero-one', 'hinge', 'logistic']
    """
    chosen = [nouns.get_loss(w) if isinstance(w, str) else w for w in which]
    margins = [loss.domain in ("sign", "fraction") for loss in chosen]
    if any(margins) != all(margins):
        raise ValueError("losses of margins and of residuals go on different axes.")
    ax = get_axes(ax)
    z = np.linspace(*span, 501)
    if all(margins):
        ax.plot(
            z, nouns.zero_one(np.ones_like(z), z), "--", color=INK, label="zero-one"
        )
    for loss in chosen:
        # a margin is the score of a row whose class is +1; a residual that of y = 0
        y = np.ones_like(z) if loss.domain in ("sign", "fraction") else np.zeros_like(z)
        ax.plot(z, loss.value(y, z), label=loss.name)
    ax.set(xlabel="y f" if all(margins) else "f - y", ylabel="loss")
    ax.legend()
    pale_grid(ax)
    return ax

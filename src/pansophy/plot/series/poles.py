"""Poles of a linear system in the complex plane."""

import numpy as np

from ..axes import get_axes
from ..style import GREEN, GREY, PINK, draw_styled


@draw_styled
def poles(system, *, ax=None):
    """Poles as crosses; the region of stable ones is shaded.

    Parameters
    ----------
    system : StateSpace
        In continuous time the left half plane is stable, in steps the unit disc.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> from pansophy.state_space import mass_spring_damper
    >>> plot.poles(mass_spring_damper(c=3, k=2)).get_title()
    'stable'
    """
    from matplotlib.patches import Circle, Rectangle

    verdict, result = system.stability()
    ax = get_axes(ax)
    reach = 1.3 * max(1.0, np.abs(result).max())
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", title=verdict)
    if system.dt is None:
        region = Rectangle((-reach, -reach), reach, 2 * reach, alpha=0.15, color=GREEN)
    else:
        region = Circle((0, 0), 1.0, alpha=0.15, color=GREEN)
    ax.add_patch(region)
    ax.axhline(0, color=GREY, lw=0.8)
    ax.axvline(0, color=GREY, lw=0.8)
    ax.plot(result.real, result.imag, "x", color=PINK, ms=10, mew=2)
    ax.set(xlabel="real part", ylabel="imaginary part")
    return ax

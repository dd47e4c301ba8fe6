"""State diagram of a Markov chain: states as circles, transitions as arrows."""

import numpy as np

from ..axes import get_axes
from ..style import BLUE, INK, draw_styled


@draw_styled
def state_diagram(chain, *, states=None, least=0.005, ax=None):
    """States on a circle, arrows as thick as they are likely, loops outside.

    Parameters
    ----------
    chain : MarkovChain of order 1, or transition matrix of shape (k, k)
    states : list of k labels, optional
    least : float, default=0.005
        Transitions below this are left out.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> ax = plot.state_diagram([[0.7, 0.3], [0.2, 0.8]], states=["rain", "sun"])
    >>> sorted(t.get_text() for t in ax.texts if t.get_text())
    ['0.2', '0.3', '0.7', '0.8', 'rain', 'sun']
    """
    P = np.asarray(getattr(chain, "transmat_", chain), dtype=float)
    if P.ndim != 2 or P.shape[0] != P.shape[1]:
        raise ValueError(f"state_diagram draws chains of order 1, got {P.shape}.")
    if states is None:
        states = getattr(chain, "states_", range(len(P)))
    ax = get_axes(ax)
    k = len(P)
    size = 0.16  # radius of a state
    angle = np.pi / 2 - 2 * np.pi * np.arange(k) / k
    circles = np.stack([np.cos(angle), np.sin(angle)], axis=1) * (k > 1)
    for i, j in zip(*np.nonzero(least <= P)):
        if i == j:
            outward = circles[i] if k > 1 else np.array([0.0, 1.0])
            _draw_self_transition(ax, circles[i], outward, size, P[i, i])
        else:
            _draw_transition(
                ax,
                circles[i],
                circles[j],
                size,
                P[i, j],
                bend=0.18 if P[j, i] >= least else 0,
            )
    from matplotlib.patches import Circle

    for (x, y), name in zip(circles, states):
        ax.add_patch(Circle((x, y), size, fc="white", ec=INK, zorder=3))
        ax.text(x, y, str(name), ha="center", va="center", zorder=4)
    ax.set(xlim=(-1.6, 1.6), ylim=(-1.6, 1.6), aspect="equal")
    ax.axis("off")
    return ax


def _draw_transition(ax, a, b, size, p, bend):
    """Arrow from circle a to circle b, with its probability beside the middle."""
    direction = (b - a) / np.linalg.norm(b - a)
    side = np.array(
        [direction[1], -direction[0]]
    )  # to the right, where a positive bend goes
    start, end = a + size * direction, b - size * direction
    style = {"arrowstyle": "-|>", "lw": 0.5 + 3 * p, "shrinkA": 0, "shrinkB": 0}
    style["connectionstyle"] = f"arc3,rad={bend}"
    ax.annotate("", end, start, arrowprops={"color": BLUE, **style})
    length = np.linalg.norm(end - start)
    _draw_probability(ax, (start + end) / 2 + side * (bend * length / 2 + 0.09), p)


def _draw_probability(ax, at, p):
    """Write a probability at a point, on a white background."""
    background = {"fc": "white", "ec": "none", "pad": 0.5}
    ax.text(
        *at,
        f"{p:.2g}",
        bbox=background,
        zorder=2,
        ha="center",
        va="center",
        fontsize=8,
        color=BLUE,
    )


def _draw_self_transition(ax, at, out, size, p):
    """Arrow from a circle to itself, on the side that points outwards."""
    from matplotlib.patches import Arc

    center = at + out * size * 1.55
    angle = np.degrees(np.arctan2(*out[::-1]))
    ring = Arc(center, 1.4 * size, 1.4 * size, angle=angle, theta1=-150, theta2=150)
    ring.set(color=BLUE, lw=0.5 + 3 * p)
    ax.add_patch(ring)
    _draw_probability(ax, at + out * size * 2.8, p)

"""Topics of a topic model: bars of their leading words."""

import math

import numpy as np

from ...text import top_words
from ..chains.trace import panel_axes
from ..style import draw_styled, pale_grid, series_color, short_names

ACROSS = 4  # panels in a row


@draw_styled
def topics(model, terms, *, n_words=8, shares=None, ax=None):
    """The leading words of every topic as bars, one panel for each topic.

    Parameters
    ----------
    model : fitted topic model or array of shape (K, V)
        Something with `components_` (PLSA, GibbsLDA, LatentDirichletAllocation, NMF),
        or the weights of words themselves.
    terms : sequence of V names
        Such as `get_feature_names_out()` of the vectorizer.
    n_words : int
        Words of a topic.
    shares : array of shape (K,), optional
        Share of each topic in all documents, for the titles; the largest comes first.
    ax : array of matplotlib axes, optional

    Returns
    -------
    array of matplotlib axes, one for each topic

    Examples
    --------
    >>> from pansophy import plot
    >>> axes = plot.topics([[5, 1, 0], [0, 1, 3]], ["cat", "the", "tea"], n_words=2)
    >>> [t.get_text() for t in axes[1].get_yticklabels()]
    ['tea', 'the']
    """
    weights = np.asarray(getattr(model, "components_", model), dtype=float)
    if weights.ndim != 2 or weights.shape[1] != len(terms):
        raise ValueError(
            f"weights of topics must have a column for each of {len(terms)} terms, got "
            f"shape {weights.shape}."
        )
    total = weights.sum(axis=1, keepdims=True)
    weights = weights / np.where(total > 0, total, 1)
    K = len(weights)
    order = np.arange(K)
    if shares is not None:
        shares = np.asarray(shares, dtype=float)
        if shares.shape != (K,):
            raise ValueError(f"shares must be {K} numbers, got shape {shares.shape}.")
        order = np.argsort(-shares, kind="stable")
    columns = min(ACROSS, K)
    rows = math.ceil(K / columns)
    if ax is None:
        height = 0.22 * n_words + 0.5
        ax = panel_axes(None, rows, columns, height=height, width=2.2 * columns)
    axes = np.asarray(ax, dtype=object).ravel()
    if len(axes) < K:
        raise ValueError(f"{K} panels are needed, but {len(axes)} axes were given.")
    words = top_words(weights, terms, n_words)
    for panel, k in zip(axes, order):
        values = np.sort(weights[k])[::-1][: len(words[k])]
        place = np.arange(len(values))
        panel.barh(place, values, color=series_color(int(k)), height=0.7)
        panel.set_yticks(place, short_names(words[k], 16))
        panel.set_ylim(len(values) - 0.4, -0.6)
        panel.tick_params(axis="y", length=0)
        share = "" if shares is None else f", {shares[k]:.0%}"
        panel.set_title(f"topic {k}{share}", fontsize=9)
        pale_grid(panel, "x")
    for panel in axes[K:]:
        panel.set_axis_off()
    return axes[:K]

"""Precision-recall curve of one or several models, with confidence bands."""

import numpy as np
from sklearn.metrics import average_precision_score, precision_recall_curve

from ..axes import get_axes
from ..style import GREY, draw_styled, line_style, pale_grid, short_name
from .threshold_curves import curve_band, curve_weights, curves_to_draw, thin_curve


def recall_and_precision(tp, fp):
    """Recall, precision and the number of predicted positives, for `curve_band`.

    Of points with equal recalls the one of the best precision is kept.
    """
    is_corner = (tp > 0) & np.append(True, tp[1:] > tp[:-1])
    tp = tp[is_corner]
    called = tp + fp[is_corner]
    return tp / tp[-1], tp / called, called


@draw_styled
def precision_recall(
    y, scores, *, positive=None, weights=None, bands=None, level=0.95, ax=None
):
    """Precision-recall curves of one or several models, with confidence bands.

    Parameters
    ----------
    y, scores, positive, weights, bands, level, ax : as in `roc`

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> ax = plot.precision_recall([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> ax.get_legend().get_texts()[0].get_text()
    'model: average precision 0.833'
    """
    ax = get_axes(ax)
    grid = np.linspace(0, 1, 101)
    curves = curves_to_draw(y, scores, positive)
    for k, (name, yes, s) in enumerate(curves):
        w = curve_weights(weights, y, yes)
        area = average_precision_score(yes, s, sample_weight=w)
        text = f"{short_name(name)}: average precision {area:.3f}"
        precision, recall, _ = precision_recall_curve(
            yes, s, sample_weight=w, drop_intermediate=True
        )
        ax.step(
            *thin_curve(recall, precision), where="post", label=text, **line_style(k)
        )
        if bands if bands is not None else len(curves) <= 3:
            low, high = curve_band(
                recall_and_precision, yes, s, grid, level=level, weights=w
            )
            ax.fill_between(
                grid, low, high, color=line_style(k)["color"], alpha=0.15, lw=0
            )
    rates = (
        np.average(yes, weights=curve_weights(weights, y, yes)) for _, yes, _ in curves
    )
    for share in sorted({round(float(rate), 6) for rate in rates}):
        ax.axhline(share, color=GREY, lw=1, ls=":")
    ax.set(xlabel="recall", ylabel="precision")
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.03))
    pale_grid(ax)
    if curves:
        ax.legend(loc="best")
    return ax

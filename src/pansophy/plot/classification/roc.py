"""ROC curve of one or several models, with areas and confidence bands."""

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

from ..axes import get_axes
from ..style import GREY, draw_styled, line_style, pale_grid, short_name
from .threshold_curves import curve_band, curve_weights, curves_to_draw, thin_curve


def false_and_true_positive_rates(tp, fp):
    """False and true positive rates, and the number of positives, for `curve_band`.

    Of points with equal false positive rates the last is kept.
    """
    tpr = np.insert(tp / tp[-1], 0, 0.0)
    fpr = np.insert(fp / fp[-1], 0, 0.0)
    is_corner = np.append(fpr[1:] > fpr[:-1], True)
    return fpr[is_corner], tpr[is_corner], np.full(is_corner.sum(), tp[-1])


@draw_styled
def roc(y, scores, *, positive=None, weights=None, bands=None, level=0.95, ax=None):
    """ROC curves of one or several models, with areas and confidence bands.

    Parameters
    ----------
    y : array of shape (n,)
        Classes of held-out rows.
    scores : array of shape (n,) or (n, K), or dict of name -> such arrays
        Greater means more likely; columns follow the sorted classes.
    positive : class, optional
        The positive class; None takes the second of two. With more than two classes
        one model gets a curve for each class against the rest, several models one
        micro-averaged curve each.
    weights : array of shape (n,), optional
        Row weights.
    bands : bool, optional
        Whether to draw bands; None draws them for up to three curves.
    level : float
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> ax = plot.roc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> ax.get_legend().get_texts()[0].get_text()
    'model: area 0.750'
    """
    ax = get_axes(ax)
    grid = np.linspace(0, 1, 101)
    curves = curves_to_draw(y, scores, positive)
    ax.plot([0, 1], [0, 1], color=GREY, lw=1, ls=":")
    for k, (name, yes, s) in enumerate(curves):
        w = curve_weights(weights, y, yes)
        area = roc_auc_score(yes, s, sample_weight=w)
        text = f"{short_name(name)}: area {area:.3f}"
        fpr, tpr, _ = roc_curve(yes, s, sample_weight=w)
        ax.plot(*thin_curve(fpr, tpr), label=text, **line_style(k))
        if bands if bands is not None else len(curves) <= 3:
            low, high = curve_band(
                false_and_true_positive_rates, yes, s, grid, level=level, weights=w
            )
            low[-1] = 1.0  # at the lowest threshold every positive is found
            ax.fill_between(
                grid, low, high, color=line_style(k)["color"], alpha=0.15, lw=0
            )
    ax.set(xlabel="false positive rate", ylabel="true positive rate")
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    pale_grid(ax)
    if curves:
        ax.legend(loc="lower right")
    return ax

"""Learning curve or validation curve: training and held-out scores with bands."""

import numpy as np

from ..axes import get_axes
from ..style import GREY, draw_styled, line_style, log_axis, pale_grid, short_name


@draw_styled
def learning_curve(curve, *, score="score", ax=None):
    """Training and held-out scores of `diagnose.learning_curve` or `complexity_curve`.

    Parameters
    ----------
    curve : LearningCurve or ComplexityCurve
    score : str
        Name of the score.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import diagnose, plot
    >>> from pansophy.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> curve = diagnose.learning_curve(LinearRegression(), X, X[:, 0])
    >>> plot.learning_curve(curve).get_xlabel()
    'training rows'
    """
    ax = get_axes(ax)
    grows = hasattr(curve, "sizes")
    x, ticks = (np.asarray(curve.sizes), None) if grows else _axis_values(curve.values)
    low, high = ([getattr(i, k) for i in curve.intervals] for k in ("low", "high"))
    test, train = curve.test.mean(1), curve.train.mean(1)
    ax.plot(x, train, label="training rows", **line_style(1, marks=True))
    ax.plot(x, test, label="held-out rows", **line_style(0, marks=True))
    ax.fill_between(x, low, high, color=line_style(0)["color"], alpha=0.15, lw=0)
    if grows:
        log_axis(ax, ticks=x, labels=[f"{v:,}" for v in x.tolist()])
        ax.set(xlabel="training rows", title=_curve_verdict(curve))
    else:
        _mark_best_value(ax, curve, x)
        if ticks is None and _positive_span(x):
            log_axis(ax)
        elif ticks is not None:
            ax.set_xticks(x, ticks)
        ax.set(xlabel=short_name(curve.parameter, 40))
    ax.set(ylabel=short_name(score))
    pale_grid(ax)
    ax.legend(loc="best")
    return ax


def _curve_verdict(curve):
    return {
        "rising": "still rising: more rows are likely to help",
        "flat": "flat: more rows would hardly help",
        "unclear": "unclear: too noisy to tell whether more rows help",
    }[curve.verdict]


def _mark_best_value(ax, curve, x):
    """The best value and the simplest as good."""
    marked = dict.fromkeys([curve.best, curve.simplest])
    for k, style in zip(marked, ("--", ":"), strict=False):
        label = "best" if k == curve.best else "simplest within one standard error"
        ax.axvline(x[k], color=GREY, lw=1, ls=style, label=label)


def _axis_values(given):
    """Places on the axis, and names where the values are no numbers."""
    try:
        return np.asarray(given, float), None
    except (TypeError, ValueError):
        return np.arange(len(given), dtype=float), [short_name(v, 14) for v in given]


def _positive_span(x):
    return bool(np.all(x > 0) and x.max() > 50 * x.min())

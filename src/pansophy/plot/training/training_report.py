"""Figures of what is wrong in a training run: gradients, range of learning rates."""

import numpy as np

from ..axes import get_axes
from ..style import EDGE, INK, draw_styled, line_style, log_axis, pale_grid, short_name


@draw_styled
def training_report(report, *, ax=None):
    """Gradient sizes of all parameters along the steps of a `nn.training_report`.

    Parameters with a finding are drawn in ink and named; the rest is pale.

    Parameters
    ----------
    report : TrainingReport
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    ax = get_axes(ax)
    suspects = {finding.where for finding in report.findings}
    k = 0
    for name, norms in report.gradient_norms.items():
        steps = np.arange(1, len(norms) + 1)
        shown = np.where(norms > 0, norms, np.nan)
        if name in suspects:
            ax.plot(steps, shown, label=short_name(name, 30), **line_style(k))
            k += 1
        else:
            ax.plot(steps, shown, color=EDGE, lw=0.8, zorder=1)
    log_axis(ax, "y")
    ax.set(xlabel="step", ylabel="gradient, root mean square")
    pale_grid(ax)
    if k:
        ax.legend(loc="best")
    return ax


@draw_styled
def learning_rates(rate_range, *, ax=None):
    """Loss against the rate in a `nn.learning_rate_range_test`, with its suggestion.

    Parameters
    ----------
    rate_range : RateRange
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes
    """
    ax = get_axes(ax)
    ax.plot(
        rate_range.rates, rate_range.losses, color=EDGE, lw=0.8, label="loss of a step"
    )
    ax.plot(rate_range.rates, rate_range.smoothed, label="smoothed", **line_style(0))
    ax.axvline(rate_range.suggestion, color=INK, lw=1, ls=":", label="suggested rate")
    low = np.nanmin(rate_range.smoothed)
    start = rate_range.smoothed[0]
    ax.set_ylim(low - 0.1 * (start - low + 1e-12), start + 0.5 * (start - low + 1e-12))
    log_axis(ax)
    ax.set(xlabel="learning rate", ylabel="loss")
    pale_grid(ax)
    ax.legend(loc="best")
    return ax

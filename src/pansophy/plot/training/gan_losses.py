"""Losses of an adversarial game by epoch, with its balance and alarms."""

import numpy as np

from ..chains.trace import panel_axes
from ..style import GREY, PINK, draw_styled, line_style, pale_grid

LOSSES = ("discriminator", "generator")
MEASURED = ("real_accuracy", "fake_accuracy", "wasserstein", "information")


@draw_styled
def gan_losses(model, *, objective=None, ax=None):
    """Both losses of a GAN by epoch, and below them what else the game measured.

    The dotted line is the discriminator's loss (the accuracy) at balance; a vertical
    line marks where an alarm of `generative.gan_monitor` begins.

    Parameters
    ----------
    model : fitted GAN, or a dict of its history
    objective : str, optional
        As for `generative.gan_monitor`.
    ax : array of two matplotlib axes, optional
        One if nothing but the losses was measured.

    Returns
    -------
    array of matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> history = {"discriminator": [1.5, 1.4, 1.39], "generator": [0.6, 0.68, 0.69]}
    >>> axes = plot.gan_losses(history)
    >>> len(axes), axes[0].get_ylabel()
    (1, 'loss')
    """
    from ...generative.gan.gan_monitor import gan_monitor

    report = gan_monitor(model, objective=objective)
    history = model if isinstance(model, dict) else model.history_
    measured_names = [name for name in MEASURED if name in history]
    n_panels = 2 if measured_names else 1
    if ax is None:
        axes = panel_axes(None, n_panels, 1, height=2.4, width=5.5).ravel()
    else:
        axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
        if len(axes) < n_panels:
            raise ValueError(f"{n_panels} axes are needed, but {len(axes)} were given.")
        axes = axes[:n_panels]
    _draw_measured(axes[0], history, LOSSES)
    axes[0].axhline(report.balance, color=GREY, lw=1, ls=":")
    axes[0].set_ylabel("loss")
    if measured_names:
        _draw_measured(axes[1], history, measured_names)
        if "real_accuracy" in measured_names:
            axes[1].axhline(0.5, color=GREY, lw=1, ls=":")
    for alarm in report.alarms:
        axes[0].axvline(
            alarm.epoch, color=PINK, lw=1, label=alarm.kind.replace("_", " ")
        )
    for panel in axes:
        pale_grid(panel)
        panel.legend(loc="best")
    axes[-1].set_xlabel("epoch")
    return axes


def _draw_measured(ax, history, names):
    """One line for each name, over epochs from 1."""
    for k, name in enumerate(names):
        values = np.asarray(history[name], float)
        epochs = np.arange(1, len(values) + 1)
        ax.plot(epochs, values, label=name.replace("_", " "), **line_style(k))

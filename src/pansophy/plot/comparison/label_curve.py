"""Score of an active learner against the number of labels asked for."""

from ..axes import get_axes
from ..style import draw_styled, pale_grid


@draw_styled
def label_curve(reports, *, ax=None):
    """Score after each round against the labels known, one line per report.

    Parameters
    ----------
    reports : Report, or dict of name to Report
        From `pansophy.active.run_active_learning`, with test rows.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import active, plot
    >>> from pansophy.linear_model import LogisticRegression
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> y = (X[:, 0] > 0.7).astype(int)
    >>> model = LogisticRegression()
    >>> report = active.run_active_learning(model, X, y, budget=5, test=(X, y))
    >>> plot.label_curve({"unsure first": report}).get_xlabel()
    'labels'
    """
    ax = get_axes(ax)
    named = reports if isinstance(reports, dict) else {"": reports}
    for name, report in named.items():
        ax.plot(report.n_labels, report.scores, marker=".", label=name or None)
    ax.set(xlabel="labels", ylabel="score on the test rows")
    if any(named):
        ax.legend()
    pale_grid(ax)
    return ax

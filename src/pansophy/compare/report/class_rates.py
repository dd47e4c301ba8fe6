"""Two classes at a threshold: what a yes and a no are worth, with intervals.

From held-out rows (each answered by a model that had not seen it):

    sensitivity  = P(says yes | is yes)     specificity = P(says no | is no)       (1)
    predictive values  P(is yes | says yes)   and   P(is no | says no)             (2)

Intervals are Wilson's for shares of rows; they do not count that another training table
would give another model. Predictive values depend on how common a yes is, (1) does not.
"""

import numpy as np

from ...plot.threshold_curves import wilson_interval
from ..model.kept_model import held_out_predictions, least_cost_threshold
from .elements import HtmlTable, Section


def class_rate_sections(c) -> list[Section]:
    """The table of rates of a task of two classes; else nothing."""
    if c.schema.task != "classification" or len(c.schema.classes) != 2:
        return []
    try:
        held_out = held_out_predictions(c)
    except ValueError:
        return []
    threshold = 0.5
    if c.settings.get("costs"):
        threshold = least_cost_threshold(c, held_out).threshold
    w = np.ones(len(held_out.y)) if held_out.weight is None else held_out.weight
    rates = class_rates(held_out.y, held_out.p[:, 1] >= threshold, w)
    negative, positive = map(str, c.schema.classes)
    words = {
        "sensitivity": f"of those that are {positive!r}, it finds",
        "specificity": f"of those that are {negative!r}, it leaves alone",
        "positive predictive value": f"where it says {positive!r}, it is",
        "negative predictive value": f"where it says {negative!r}, it is",
    }
    body = [
        [
            name,
            words[name],
            "–" if n_asked == 0 else f"{100 * share:.0f} %",
            "–" if n_asked == 0 else f"{100 * low:.0f} to {100 * high:.0f} %",
            f"{right:,.0f} of {n_asked:,.0f}",
        ]
        for name, (share, low, high, right, n_asked) in rates.items()
    ]
    n_yes = float(w @ held_out.y)
    text = (
        f"At the threshold {threshold:.3g}: {n_yes:,.0f} of {w.sum():,.0f} rows are "
        f"{positive!r} ({100 * n_yes / w.sum():.0f} %). Where {positive!r} is rarer or "
        "commoner than here, the two predictive values change and the first two do not."
    )
    head = ["rate", "in words", "share", "95 % interval", "rows"]
    numeric = [False, False, True, True, True]
    table = HtmlTable("Rates of the two classes", head, body, numeric)
    return [Section("What a yes and a no are worth", text, table)]


def class_rates(y, says_yes, w) -> dict[str, tuple]:
    """Share, low, high, rows that are right and rows asked of each rate.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare.report.class_rates import class_rates
    >>> y = np.array([1, 1, 1, 0, 0]); said = np.array([True, True, False, False, True])
    >>> rates = class_rates(y, said, np.ones(5))
    >>> [round(r[0], 3) for r in rates.values()]
    [0.667, 0.5, 0.667, 0.5]
    """
    is_yes = np.asarray(y) == 1
    parts = {
        "sensitivity": (says_yes, is_yes),
        "specificity": (~says_yes, ~is_yes),
        "positive predictive value": (is_yes, says_yes),
        "negative predictive value": (~is_yes, ~says_yes),
    }
    rates_by_name = {}
    for name, (right, population) in parts.items():
        n_asked = float(w[population].sum())
        hits = float(w[population & right].sum())
        share = hits / n_asked if n_asked else np.nan
        low, high = wilson_interval(np.nan_to_num(share), n_asked)
        rates_by_name[name] = (share, float(low), float(high), hits, n_asked)
    return rates_by_name

"""Temporal leakage: date columns whose values lie after the moment of prediction.

A date that lies after the time column of its row cannot be known when the row is
predicted. Without a declared time column, the later of two dates of which one is never
before the other is suspicious, the more so the better the time between them predicts
the target.
"""

from itertools import combinations

import numpy as np

from ..data.columns import DAY
from ..findings import make_finding

SCORE = {"class": 0.9, "number": 0.9}


def later_dates(inputs, target, time, fold, level):
    """Findings about date columns that may not be known at prediction time."""
    dates = [c for c in inputs.columns if c.kind == "date" and c.missing.mean() < 0.95]
    if time is not None and time in inputs.names and inputs[time].kind == "date":
        predicted_at = inputs[time]
        for c in dates:
            if c.name != time:
                yield from _dates_after(c, predicted_at)
        return
    for a, b in combinations(dates[:8], 2):
        yield from _ordered_dates(a, b, target, fold, level)


def _in_days(days) -> str:
    return f"{days:,.0f} days" if days >= 10 else f"{days:.2g} days"


def _dates_after(c, now):
    """Finding for a date column that lies after the time of prediction."""
    is_known = ~(c.missing | now.missing)
    ahead = c.numbers[is_known] - now.numbers[is_known]
    k = int(np.sum(ahead > 0))
    n = int(is_known.sum())
    if n and k:
        share = k / n
        days = float(np.median(ahead[ahead > 0])) / DAY
        text = (
            f"{c.name!r} lies after the time {now.name!r} in {k} of {n} rows "
            f"({share:.1%}), by {_in_days(days)} in the middle: it was not known then."
        )
        severity = "alarm" if share > 0.01 else "warning"
        yield make_finding(
            "future dates", severity, text, column=c.name, share=share, days=days
        )


def _ordered_dates(a, b, target, fold, level):
    """Finding for two date columns of which one is never before the other."""
    from .target_leakage import out_of_fold_score  # which asks this module for dates

    is_known = ~(a.missing | b.missing)
    if is_known.sum() < 20:
        return
    ahead = b.numbers - a.numbers
    if np.median(ahead[is_known]) < 0:
        a, b, ahead = b, a, -ahead
    if np.mean(ahead[is_known] >= 0) < 0.999 or np.median(ahead[is_known]) == 0:
        return
    edges = np.unique(np.quantile(ahead[is_known], np.linspace(0, 1, 33)[1:-1]))
    z = np.searchsorted(edges, ahead)
    z[~is_known] = len(edges) + 1
    score, low = out_of_fold_score(z, target, fold, level)
    days = float(np.median(ahead[is_known])) / DAY
    later = f"{_in_days(days)} later in the middle"
    text = f"{b.name!r} is never before {a.name!r} and {later}"
    if low >= SCORE[target.kind]:
        measure = "balanced accuracy" if target.kind == "class" else "r2"
        text += (
            f"; the time between them predicts {target.name!r} almost perfectly "
            f"(out-of-fold {measure} {score:.4f}): is {b.name!r} known before the "
            "answer is?"
        )
        yield make_finding(
            "future dates", "alarm", text, column=b.name, score=score, after=a.name
        )
    else:
        text += f": make sure that {b.name!r} is known when predictions are made."
        yield make_finding(
            "later date", "note", text, column=b.name, days=days, after=a.name
        )

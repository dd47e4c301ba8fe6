"""Detects rows that are not independent: ordered in time, or several of one group.

Shuffled folds then test on rows whose neighbours or siblings are in the training part,
and scores are better than they will be for later rows or new people. With y the target
(its rank, or whether it is the most frequent class) and n rows, the signs are:

    time    r, the correlation of y with that of the next row in order of a date  (1)
    group   the share of the variance of y between the levels of a column that is
            named as people and things are (patient, customer, device)            (2)

Independent rows have r = 0 with standard error 1 / sqrt(n); (1) is reported if r
exceeds `ALIKE` and `SURE` standard errors. (2) depends on the name of the column, since
an informative category need not be a group; its size only decides the severity.

Cost      n log n for each date or group
"""

import numpy as np
import scipy.stats

from ..tables.roles import CLOCKED
from .findings import Finding, make_finding
from .related_columns import ENTITY, adjusted_correlation_ratio

ALIKE = 0.3
SURE = 6.0
FEWEST = 50
SHARED = 0.1  # of the variance, from which a group is a warning


def dependent_rows(view, targets, group=None, time=None) -> list[Finding]:
    """Findings about columns that should probably be declared as time or group."""
    out = []
    for target in targets:
        y = target_scores(target)
        if len(y) - np.isnan(y).sum() < FEWEST:
            continue
        if time is None:
            out += time_order(view, target.name, y)
        if group is None:
            out += repeated_groups(view, target.name, y)
    return out


def target_scores(target) -> np.ndarray:
    """Ranks of the target, or 1 for the most frequent class; NaN where missing."""
    out = np.full(len(target.y), np.nan)
    known = target.known
    if not target.varies:
        return out
    if target.kind == "number":
        out[known] = scipy.stats.rankdata(target.y[known])
    else:
        out[known] = target.y[known] == np.bincount(target.y[known]).argmax()
    return out


def time_order(view, target, y):
    """Finding for serial correlation of the target, eq. (1), along the best date."""
    best = (0.0, None, 0)
    for c in view.columns:
        dated = c.kind == "date" or (c.kind == "number" and CLOCKED.search(c.name))
        if c.name == target or not dated:
            continue
        known = ~np.isnan(y) & ~c.missing
        when = c.numbers[known]
        n = int(known.sum())
        if n < FEWEST or len(np.unique(when)) < n / 10:
            continue
        z = y[known][np.argsort(when, kind="stable")]
        if np.ptp(z[:-1]) > 0 and np.ptp(z[1:]) > 0:
            r = float(np.corrcoef(z[:-1], z[1:])[0, 1])
            best = max(best, (r, c.name, n), key=lambda b: b[0])
    r, name, n = best
    if name is None or r < ALIKE or r * np.sqrt(n) < SURE:
        return
    text = (
        f"Rows next to each other in {name!r} have like {target!r} (correlation "
        f"{r:.2f}): folds of shuffled rows test between known moments and flatter "
        f"what comes later. Give time={name!r} if later rows are to be predicted."
    )
    yield make_finding(
        "time order", "warning", text, column=name, correlation=r, rows=n
    )


def repeated_groups(view, target, y):
    """Findings for columns that name people or things with several rows, eq. (2)."""
    for c in view.columns:
        if c.name == target or not ENTITY.search(c.name) or c.kind == "date":
            continue
        z = c.labelled()
        known = ~np.isnan(y) & (z >= 0)
        n = int(known.sum())
        k = len(np.unique(z[known]))
        if n < FEWEST or not 5 <= k <= n / 1.5:
            continue
        share = adjusted_correlation_ratio(np.where(known, z, -1), y) ** 2
        size = f"{n / k:.1f} rows for each of {k}"
        sentence = f"{c.name!r} comes in several rows ({size})"
        severity = "note"
        if share > SHARED:
            severity = "warning"
            sentence += f", which have like {target!r} (they share {share:.0%} of it)"
        text = f"{sentence}. Give group={c.name!r} if new rows will be of new ones."
        yield make_finding(
            "repeated group", severity, text, column=c.name, share=share, levels=k
        )

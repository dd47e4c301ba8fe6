"""Frequency tables: one row for each combination of values, with a number of rows.

A table of counts (a cross tabulation as a data frame has it) lists every combination of
its other columns once, and says in one column how many rows it stands for. Read as rows
of their own the cells say nothing of how often an answer is given. The signs, whatever
the names: one column of whole numbers of at least 0, all others of few values, each
combination once, and at least `COMPLETE` of all possible combinations there.
"""

import numpy as np

from ..findings import make_finding

FEWEST = 8  # cells
LEVELS = 30  # values of a factor, at most
COMPLETE = 0.8  # of the possible combinations
REPEATS = 3.0  # rows that a cell stands for, on average


def count_column(view) -> str | None:
    """The column that counts the rows of a frequency table, if it is one.

    Examples
    --------
    >>> from pansophy.diagnose.data.columns import table_view
    >>> from pansophy.diagnose.data.frequency_table import count_column
    >>> cells = {"a": list("ppqqrrss"), "y": [0, 1] * 4, "n": [9, 1, 4, 6, 8, 2, 3, 7]}
    >>> count_column(table_view(cells))
    'n'
    """
    factors, counts = [], []
    for c in view.columns:
        values = np.unique(c.labelled())
        if _may_count(c):
            counts.append(c)
        elif 2 <= len(values) <= LEVELS:
            factors.append(c)
        else:
            return None
    if len(counts) > 1:  # a factor may be whole numbers too: the one that repeats
        counts.sort(key=lambda c: len(np.unique(c.numbers)))
        *factors_counted, last = counts
        if any(len(np.unique(c.numbers)) > LEVELS for c in factors_counted):
            return None
        factors, counts = factors + factors_counted, [last]
    if not counts or len(factors) < 2 or view.n < FEWEST:
        return None
    codes = np.column_stack([c.labelled() for c in factors])
    possible = np.prod([float(len(np.unique(z))) for z in codes.T])
    occurs_once = len(np.unique(codes, axis=0)) == view.n
    has_repeats = float(counts[0].numbers.sum()) >= REPEATS * view.n
    return (
        counts[0].name
        if occurs_once and has_repeats and view.n >= COMPLETE * possible
        else None
    )


def _may_count(c) -> bool:
    """Whether a column may be numbers of rows."""
    if c.kind != "number" or c.missing.any():
        return False
    x = c.numbers
    return bool(np.all(x == np.floor(x)) and x.min() >= 0 and x.max() > 1)


def frequency_table_findings(view, targets, weight=None):
    """Finding for a column that counts rows and was not named as their weight."""
    if weight is not None:
        return
    name = count_column(view)
    if name is None or name in targets:
        return
    rows = int(view[name].numbers.sum())
    text = (
        f"{name!r} looks like a number of rows: every combination of the other columns "
        f"stands here once, {view.n} in all, for {rows:,} rows. Name it as the weight; "
        "without it nothing here says how often an answer is given."
    )
    yield make_finding("frequency table", "alarm", text, column=name, rows=rows)

"""Groups rows by a column: its levels, or quantile bins of its numbers."""

from itertools import pairwise

import numpy as np

from ...core.arrays.codes import as_column, encode_values, missing_mask
from ...core.arrays.weighted import repeated_quantile

MOST = 12  # levels kept apart; the rest becomes "other"


def parts_of_column(
    values, parts=4, most=MOST, counts=None
) -> tuple[list[str], np.ndarray]:
    """Groups of a column's values: their names, and the group of each row.

    Numbers with more than `most` distinct values are cut into `parts` quantile bins;
    of other columns the `most` frequent values are kept and the rest is "other";
    missing values are a group of their own. `counts` (n,) says how many rows each row
    stands for.

    Examples
    --------
    >>> from pansophy.diagnose.data.column_parts import parts_of_column
    >>> parts_of_column(["a", "b", "a", None])
    (['a', 'b', 'missing'], array([0, 1, 0, 2]))
    >>> parts_of_column(range(100), parts=2)[0]
    ['below 49.5', '49.5 and above']
    """
    values = as_column(values)
    gone = missing_mask(values)
    known = values[~gone]
    if known.dtype.kind == "M":  # dates are levels, not numbers
        known = known.astype("M8[us]").astype(object)
    c = None if counts is None else counts[~gone]
    try:
        number = known.astype(float) if not holds_text(known) else None
    except (TypeError, ValueError):
        number = None
    if number is not None and len(np.unique(number)) > most:
        labels, inner = _quantile_parts(number, parts, c)
    else:
        labels, inner = _most_common_values(
            known if number is None else number, most, c
        )
    codes = np.full(len(values), len(labels))
    codes[~gone] = inner
    return ([*labels, "missing"] if gone.any() else labels), codes


def holds_text(known) -> bool:
    """Whether a column holds text, also text that looks like numbers."""
    return known.dtype.kind in "US" or any(isinstance(v, str) for v in known[:50])


def _quantile_parts(number, parts, counts=None):
    """Names of quantile bins, and the bin of each number."""
    q = np.arange(1, parts) / parts
    edges = (
        np.quantile(number, q)
        if counts is None
        else repeated_quantile(number, counts, q)
    )
    edges = np.unique(edges)
    edges = edges[edges > number.min()]
    inner = np.searchsorted(edges, number, side="right")
    names = [f"{e:.4g}" for e in edges]
    inner_names = [f"{a} to {b}" for a, b in pairwise(names)]
    if not names:
        return ["all"], inner
    return [f"below {names[0]}", *inner_names, f"{names[-1]} and above"], inner


def _most_common_values(known, most, counts=None):
    """Names of the most frequent values and "other", and the code of each value."""
    inner, levels = encode_values(known)
    label = lambda v: f"{v:.6g}" if isinstance(v, float) else str(v)
    names = [label(v) for v in levels.tolist()]
    if len(names) <= most:
        return names, inner
    size = np.bincount(inner, counts)
    kept = np.sort(np.argsort(-size, kind="stable")[:most])
    new = np.full(len(names), most)
    new[kept] = np.arange(most)
    return [*(names[k] for k in kept), "other"], new[inner]

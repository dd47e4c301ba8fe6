"""Numbers, intervals, times and short lists as the report writes them."""

import numpy as np

from ..evaluation.ranking import Standing
from ..evaluation.wording import format_percent

TIME_UNITS = ((0.9995e-3, 1e-6, "µs"), (0.9995, 1e-3, "ms"), (99.5, 1, "s"))


def format_mean(interval) -> str:
    """`0.812 ± 0.030` in significant digits; the longer side of a clipped interval."""
    shorter, longer = sorted(
        [interval.mean - interval.low, interval.high - interval.mean]
    )
    reach = longer if shorter < 0.8 * longer else (shorter + longer) / 2
    if not np.isfinite(reach):
        return format_number(interval.mean)
    digits = 3
    if reach > 0:
        digits = int(np.clip(1 - np.floor(np.log10(reach)), 0, 4))
    return f"{interval.mean:z.{digits}f} ± {reach:.{digits}f}"


def format_interval(interval) -> str:
    """`0.782 to 0.842`, with the digits of `format_mean`."""
    reach = (interval.high - interval.low) / 2
    digits = 3
    if np.isfinite(reach) and reach > 0:
        digits = int(np.clip(1 - np.floor(np.log10(reach)), 0, 4))
    return f"{interval.low:z.{digits}f} to {interval.high:z.{digits}f}"


def format_like_interval(x, interval) -> str:
    """A number with the digits that `format_interval` gives to an interval."""
    digits = len(format_interval(interval).split()[0].partition(".")[2])
    return f"{x:z.{digits}f}"


def format_number(x) -> str:
    """Four digits, thousands without a power of ten."""
    if x is None or not np.isfinite(x):
        return "–"
    return f"{x:,.0f}" if abs(x) >= 1e4 else f"{x:.4g}"


def format_difference(x) -> str:
    """Three digits, thousands without a power of ten.

    Examples
    --------
    >>> from pansophy.compare.report.formatting import format_difference
    >>> format_difference(1534.2), format_difference(0.004567)
    ('1,534', '0.00457')
    """
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.3g}"


def format_differences(*values) -> list[str]:
    """Numbers of one sentence with the same decimals: three digits of the largest.

    More where one of them would round to 0 and lose its sign.

    Examples
    --------
    >>> from pansophy.compare.report.formatting import format_differences
    >>> format_differences(0.0124, 0.000904, 0.0239)
    ['0.0124', '0.0009', '0.0239']
    >>> format_differences(1534.2, -0.3)
    ['1,534.2', '-0.3']
    """
    known = [abs(v) for v in values if np.isfinite(v) and v != 0]
    if not known:
        return [format_difference(v) for v in values]
    digits = max(int(2 - np.floor(np.log10(max(known)))), 0)
    if min(known) > max(known) / 1e5:
        while round(min(known), digits) == 0:
            digits += 1
    return [f"{v:z,.{digits}f}" for v in values]


def format_seconds(t) -> str:
    """`3 ms`, `1.2 s`, `4 min`, `2.5 h`."""
    for limit, size, unit in TIME_UNITS:
        if t < limit:
            x = t / size
            return f"{x:.0f} {unit}" if x >= 9.95 else f"{x:.2g} {unit}"
    return f"{t / 60:.0f} min" if t < 5970 else f"{t / 3600:.2g} h"


def standing_and_p(row) -> str:
    """Standing of a method against the best, with its p value and, if it was stopped in
    the race, its fits.
    """
    if row.standing is Standing.BEST:
        return "best"
    p = "p < 0.001" if row.p < 0.001 else f"p = {row.p:.3f}"
    stop = row.stopped
    fits = "" if stop is None else f" ({stop.fits} of {stop.planned} fits)"
    return f"{row.standing}, {p}{fits}"


def format_probabilities(row) -> str:
    """`better 3 %, practically equal 60 %, worse 37 %` than the best."""
    p = row.probabilities
    if p is None:
        return ""
    return (
        f"better {format_percent(p.better)}, practically equal "
        f"{format_percent(p.equivalent)}, worse {format_percent(p.worse)}"
    )


def with_article(metric) -> str:
    """A metric with its article: a log loss, an accuracy, an rmse.

    Examples
    --------
    >>> from pansophy.compare.report.formatting import with_article
    >>> with_article("roc auc"), with_article("rmse")
    ('a roc auc', 'an rmse')
    """
    spelled = metric in ("rmse", "mae", "r2", "f1")
    return f"{'an' if spelled or metric[:1] in 'aeiou' else 'a'} {metric}"


def names_by_common_reason(pairs) -> list[tuple[str, list[str]]]:
    """(reason, names) of (name, reason): the most common reason first."""
    groups: dict[str, list[str]] = {}
    for name, reason in pairs:
        groups.setdefault(reason, []).append(name)
    return sorted(groups.items(), key=lambda g: -len(g[1]))


def describe_warnings(row) -> str:
    """Counts of the fits of a ranked method that gave each warning."""
    return "; ".join(
        f"{w} in {k} of {row.n_fits} fits" for w, k in row.warnings.items()
    )


def describe_blend(weights) -> str:
    """The members of a blend with their weights, the heaviest first.

    Examples
    --------
    >>> from pansophy.compare.report.formatting import describe_blend
    >>> describe_blend({"ridge": 0.25, "random forest": 0.75})
    '75 % random forest, 25 % ridge'
    """
    heaviest_first = sorted(weights.items(), key=lambda item: -item[1])
    return ", ".join(f"{100 * a:.0f} % {name}" for name, a in heaviest_first)

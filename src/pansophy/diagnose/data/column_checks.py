"""Data-quality checks of single columns, each reported as a finding.

A check takes a column and gives findings. Thresholds are at the top; they are chosen so
that a column drawn from a normal, uniform or Poisson distribution raises no finding,
and one from an exponential or lognormal at most that it is skewed.
"""

import re
import time

import numpy as np

from ..findings import Finding, make_finding
from .columns import DAY, TableView, is_very_skewed, robust_scale, skewness_of

NEARLY = 0.995  # share of one value in a nearly constant column
MOSTLY = 0.5  # share of missing values
MANY_LEVELS = 50
CODES_FOR_MISSING = (
    -1, -9, -99, -999, -9999, -99999, -999999, 99, 999, 9999, 99999, 999999, 9999999,
)  # fmt: skip
WORDS_FOR_MISSING = {
    "missing", "unknown", "unk", "not available", "n.a.", "n/a", "na", "nan", "none",
    "null", "-", "--", "?", "tbd", "not applicable", "(missing)", "(null)", "#n/a",
    "undefined", ".", "<na>",
}  # fmt: skip
NUMBER = re.compile(r"\s*[-+]?(\d[\d ']*([.,]\d+)*|[.,]\d+)([eE][-+]?\d+)?\s*%?\s*")
QUOTED = 3  # examples in a text


def check_columns(view: TableView) -> list[Finding]:
    """Findings of all checks on all columns of a table."""
    findings = []
    for c in view.columns:
        counts = np.bincount(c.codes + 1, minlength=2)[1:] if c.levels else None
        missing = float(c.missing.mean()) if view.n else 0.0
        findings += list(_check_presence(c, missing, counts))
        if missing == 1.0:
            continue
        if c.levels:
            findings += list(_check_texts(c, counts))
        if not c.categorical:
            findings += list(_check_numbers(c))
    return findings + list(_odd_scales(view))


def _check_presence(c, missing, counts):
    """Checks for empty, constant, nearly constant and mostly missing columns."""
    name = c.name
    n = len(c)
    if missing == 1.0:
        text = f"{name!r} is empty: all {n} values are missing."
        yield make_finding("empty", "warning", text, column=name)
        return
    top, share = _most_common(c, counts)
    if share == 1.0 and missing == 0.0:
        rows = "the only row" if n == 1 else f"all {n} rows"
        text = f"{name!r} is constant: {top} in {rows}."
        yield make_finding("constant", "note", text, column=name)
    elif share * (1 - missing) >= NEARLY and n >= 50:
        part = share * (1 - missing)
        text = f"{name!r} is nearly constant: {top} in {part:.2%} of the rows."
        yield make_finding("nearly constant", "note", text, column=name, share=share)
    if missing > MOSTLY:
        text = f"{name!r} is mostly missing: {missing:.1%} of {n} values."
        yield make_finding(
            "mostly missing", "warning", text, column=name, share=missing
        )
    if c.infinite:
        text = (
            f"{name!r} has {c.infinite} values that are infinite or beyond 1e150, "
            "which count as missing."
        )
        yield make_finding("infinite", "warning", text, column=name, count=c.infinite)


def _most_common(c, counts):
    """The most frequent value as text, and its share of the known values."""
    if counts is not None:
        top = int(counts.argmax())
        return _quoted_levels([c.levels[top]]), counts[top] / counts.sum()
    x = c.numbers[~c.missing]
    if c.kind == "number" and len(x) > 1000 and len(np.unique(x[:1000])) > 100:
        return "", 0.0  # spares a sort of a long column
    values, k = np.unique(x, return_counts=True)
    return c.show(values[k.argmax()]), k.max() / len(x)


def _check_texts(c, counts):
    """Checks of text columns: spelling, mixed types, hidden missing, many levels."""
    if c.kind == "other":
        kind = c.type if len(c.type) <= 60 else c.type[:59] + "…"
        text = f"{c.name!r} holds values of type {kind}, which no method takes."
        yield make_finding("other type", "note", text, column=c.name)
        return
    if c.kind == "date":
        return
    yield from _spelling_variants(c, counts)
    yield from _mixed_types(c, counts)
    hidden = [i for i, v in enumerate(c.levels) if _reads_as_missing(v)]
    if hidden and len(hidden) < len(c.levels):
        k = int(counts[hidden].sum())
        shown = _quoted_levels(c.levels[i] for i in hidden)
        text = f"{c.name!r} has {k} values that read as missing: {shown}."
        yield make_finding("hidden missing", "warning", text, column=c.name, count=k)
    known = int(counts.sum())
    k = len(c.levels)
    has_many_levels = c.categorical and c.role != "id" and k > MANY_LEVELS
    if has_many_levels and known / k < 20 and k < 0.9 * known:
        text = f"{c.name!r} has {k} levels, {known / k:.1f} rows for each."
        yield make_finding("many levels", "note", text, column=c.name, levels=k)


def _reads_as_missing(text) -> bool:
    word = text.strip().lower()
    return not word or word in WORDS_FOR_MISSING


def _spelling_variants(c, counts):
    """Finding for levels that differ only by case or spaces."""
    if len(c.levels) > 20_000 or len(c.levels) > 0.9 * counts.sum() > 20:
        return  # free text
    place: dict[str, list[int]] = {}
    for i, v in enumerate(c.levels):
        place.setdefault(" ".join(v.split()).casefold(), []).append(i)
    variants = [g for g in place.values() if len(g) > 1]
    if variants:
        worst = max(variants, key=lambda g: counts[g].sum())
        rows = int(sum(counts[g].sum() - counts[g].max() for g in variants))
        text = (
            f"{c.name!r} spells one level in several ways, for example "
            f"{_quoted_levels(c.levels[i] for i in worst)}; {rows} rows differ from "
            "the usual spelling by case or spaces."
        )
        yield make_finding(
            "spelling variants",
            "warning",
            text,
            column=c.name,
            levels=len(variants),
            rows=rows,
        )


def _mixed_types(c, counts):
    """Finding for numbers stored as text or mixed with words."""
    checked = np.arange(min(len(c.levels), 20_000))
    number = np.array(
        [NUMBER.fullmatch(c.levels[i]) is not None for i in checked], bool
    )
    words = [i for i in checked[~number] if not _reads_as_missing(c.levels[i])]
    share = counts[checked[number]].sum() / max(counts[checked].sum(), 1)
    digits = any(len(c.levels[i].strip()) > 1 for i in checked[number])
    if share == 1.0 and digits and not _leading_zeros(c.levels):
        examples = _quoted_levels(c.levels)
        text = f"{c.name!r} holds numbers written as text, such as {examples}."
        yield make_finding("numbers as text", "note", text, column=c.name)
    elif 0.5 <= share < 1.0 and words and number.sum() >= 3:
        text = (
            f"{c.name!r} mixes numbers ({share:.1%} of the values) with words such as "
            f"{_quoted_levels(c.levels[i] for i in words)}."
        )
        yield make_finding("mixed types", "warning", text, column=c.name, share=share)


def _leading_zeros(levels) -> bool:
    """Whether levels are codes such as 00123 rather than numbers."""
    return any(len(v) > 1 and v[0] == "0" and v[1].isdigit() for v in levels[:1000])


def _quoted_levels(levels) -> str:
    shown = [
        repr(v if len(v) <= 30 else v[:29] + "…") for _, v in zip(range(QUOTED), levels)
    ]
    return ", ".join(shown)


def _check_numbers(c):
    """Checks of number and date columns for codes for missing and odd dates."""
    x = c.numbers[~c.missing]
    if c.kind == "date":
        yield from _check_dates(c, x)
    if c.kind == "number":
        yield from _sentinel_values(c, x)
        if c.role != "id":
            yield from _long_tails(c, x)


def _long_tails(c, x):
    """Finding for a very skewed column, unless a code for missing is the reason."""
    x = x[~np.isin(x, CODES_FOR_MISSING)]
    if not is_very_skewed(x):
        return
    g = skewness_of(x)
    side = "above" if g > 0 else "below"
    advice = "its logarithm" if g > 0 and x.min() > 0 else "its ranks"
    text = (
        f"{c.name!r} is very skewed (skewness {g:.1f}): a few values lie far {side} "
        f"the rest. Means, linear models and distances follow them; {advice} may "
        "serve better."
    )
    yield make_finding("skewed", "note", text, column=c.name, skewness=g)


def _sentinel_values(c, x):
    """Finding for a repeated extreme value, such as -999, that codes for missing."""
    for edge in {float(x.min()), float(x.max())}:
        rest = x[x != edge]
        k = len(x) - len(rest)
        if edge not in CODES_FOR_MISSING or k < 2 or len(np.unique(rest[:1000])) < 3:
            continue
        low, high = np.quantile(rest, [0.01, 0.99])
        distance_beyond = rest.min() - edge if edge < rest.min() else edge - rest.max()
        odd_sign = edge < 0 <= rest.min() and edge <= -9
        if distance_beyond > max(high - low, 3 * robust_scale(rest)) or odd_sign:
            text = (
                f"{c.name!r} has the value {edge:g} in {k} rows, far from the others "
                f"({rest.min():g} to {rest.max():g}); it may stand for missing."
            )
            yield make_finding(
                "code for missing", "warning", text, column=c.name, value=edge, count=k
            )


def _check_dates(c, x):
    """Findings for dates in the future and for repeated, isolated dates."""
    today = time.time() + DAY
    later = int(np.sum(x > today))
    edges = {float(x.min()), float(x.max())}
    for edge in sorted(edges):
        rest = x[x != edge]
        k = len(x) - len(rest)
        if k < 3 or k > len(rest) or len(np.unique(rest[:1000])) < 3:
            continue
        distance_beyond = rest.min() - edge if edge < rest.min() else edge - rest.max()
        if distance_beyond > max(2 * np.ptp(rest), 365 * DAY):
            text = (
                f"{c.name!r} is {c.show(edge)} in {k} rows, far from the others; it "
                "may stand for missing."
            )
            yield make_finding(
                "code for missing", "warning", text, column=c.name, count=k
            )
            later -= k if edge > today else 0
    if later > 0:
        text = (
            f"{c.name!r} lies in the future in {later} rows, the latest "
            f"{c.show(x.max())}: dates after today were not known when rows were made."
        )
        severity = "warning" if later < len(x) else "note"
        yield make_finding("future dates", severity, text, column=c.name, count=later)


def _odd_scales(view):
    """Finding for columns whose typical size is far from that of the others."""
    plain = [c for c in view.columns if c.kind == "number" and not c.missing.all()]
    sizes = {c.name: _typical_value(c.numbers[~c.missing]) for c in plain}
    sizes = {n: s for n, s in sizes.items() if s > 0}
    if len(sizes) < 4:
        return
    logs = np.log10(list(sizes.values()))
    middle = float(np.median(logs))
    reach = max(4.0, 6 * float(np.median(np.abs(logs - middle))))
    for (name, size), log_size in zip(sizes.items(), logs, strict=True):
        if abs(log_size - middle) >= reach:
            text = (
                f"{name!r} has an odd scale: values of about {size:.2g} where other "
                f"columns are about {10**middle:.2g}."
            )
            yield make_finding("odd scale", "note", text, column=name, size=size)


def _typical_value(x) -> float:
    return float(np.median(np.abs(x))) or robust_scale(x)

"""Checks new data against training data: schema mismatches before drift.

A `Reference` holds the type, the share of missing values and the distribution of each
column (quantiles of numbers, shares of levels). Checked are columns that are gone or
new, changed types, unseen levels, and changed units. A changed unit shows as numbers
that agree with the old ones only after one factor, or a linear map for temperatures.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..data.columns import ColumnValues, TableView, table_view
from ..findings import Finding, make_finding

POINTS = 256
MOST_LEVELS = 1000
UNITS = {
    1000.0: "thousands", 100.0: "percent or cents", 10.0: "tenths", 60.0: "minutes",
    3600.0: "seconds and hours", 24.0: "hours and days", 2.2046: "kilograms and pounds",
    2.54: "inches and centimetres", 1.6093: "miles and kilometres",
    3.2808: "metres and feet", 12.0: "months and years", 1e6: "millions", 7.0: "weeks",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class ReferenceColumn:
    """Summary of the distribution of one column."""

    kind: str
    type: str
    rows: int
    missing: float
    values: np.ndarray = field(default_factory=lambda: np.zeros(0))  # sorted
    shares: dict[str, float] = field(default_factory=dict)

    @property
    def categorical(self) -> bool:
        return self.kind in ("text", "other")


@dataclass(frozen=True, eq=False)
class Reference:
    """Summary of a table against which new rows can be checked."""

    rows: int
    columns: dict[str, ReferenceColumn]

    def to_dict(self) -> dict[str, Any]:
        """The summary as plain numbers, lists and dicts, for JSON."""
        columns = {
            name: {**vars(past), "values": past.values.tolist()}
            for name, past in self.columns.items()
        }
        return {"rows": self.rows, "columns": columns}

    @classmethod
    def from_dict(cls, d) -> "Reference":
        columns = {
            name: ReferenceColumn(
                **{**past, "values": np.asarray(past["values"], float)}
            )
            for name, past in d["columns"].items()
        }
        return cls(int(d["rows"]), columns)


def reference_of(table, *, values=POINTS) -> Reference:
    """Summary of a table for `drift`: `values` quantiles of a column, None for all.

    Examples
    --------
    >>> from pansophy.diagnose import drift, reference_of
    >>> kept = reference_of({"a": [1.0, 2.0, 3.0] * 50}).to_dict()
    >>> len(kept["columns"]["a"]["values"])
    150
    """
    view = table_view(table)
    return Reference(
        view.n, {c.name: _reference_column(c, values) for c in view.columns}
    )


def _reference_column(c: ColumnValues, points) -> ReferenceColumn:
    """Summary of the distribution of one column."""
    gone = float(c.missing.mean())
    if c.categorical:
        counts = np.bincount(c.codes[c.codes >= 0], minlength=len(c.levels))
        top = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
        known = max(int(counts.sum()), 1)
        shares = {c.levels[i]: counts[i] / known for i in top if counts[i]}
        return ReferenceColumn(c.kind, c.type, len(c), gone, shares=shares)
    x = np.sort(c.numbers[~c.missing])
    if points is not None and len(x) > points:  # values that occur, so ties stay ties
        x = x[((np.arange(points) + 0.5) / points * len(x)).astype(int)]
    return ReferenceColumn(c.kind, c.type, len(c), gone, values=x)


def schema_mismatches(old: Reference, new: TableView) -> list[Finding]:
    """Findings for columns that are gone, new, or of another type or unit."""
    findings = []
    new_names = set(new.names)
    for name, past in old.columns.items():
        if name not in new_names:
            text = f"{name!r} is gone from the new table."
            findings.append(make_finding("column gone", "alarm", text, column=name))
            continue
        findings += list(_column_mismatch(name, past, new[name]))
    for name in new.names:
        if name not in old.columns:
            text = f"{name!r} is new: the old table did not have it."
            findings.append(make_finding("new column", "note", text, column=name))
    return findings


def _unparsed_number(c) -> str | None:
    """The first text of a column of numbers that is not a plain number, or None."""
    for text in c.levels[:1000]:
        try:
            float(text)
        except ValueError:
            return text[:30]
    return None


def _column_mismatch(name, past, c):
    """Findings for one column whose type, levels or unit have changed."""
    if "empty" in (c.kind, past.kind):
        if c.kind != past.kind and len(c):
            which_table = "new" if c.kind == "empty" else "old"
            text = f"{name!r} is empty in the {which_table} table."
            yield make_finding("empty", "warning", text, column=name)
        return
    if c.kind != past.kind and not {c.kind, past.kind} <= {"number", "yes/no"}:
        text = (
            f"{name!r} held {_kind_description(past.kind)} ({past.type}) and now holds "
            f"{_kind_description(c.kind)} ({c.type})."
        )
        yield make_finding(
            "type changed", "alarm", text, column=name, old=past.type, new=c.type
        )
    elif (
        c.kind == "number"
        and "string" not in past.type
        and (odd := _unparsed_number(c))
    ):
        text = f"{name!r} held numbers ({past.type}) and now texts such as {odd!r}."
        yield make_finding(
            "type changed", "alarm", text, column=name, old=past.type, new=c.type
        )
    elif c.categorical:
        yield from _new_levels(name, past, c)
    elif c.kind == "number":
        yield from _unit_changed(name, past, c)


def _kind_description(kind) -> str:
    return {"number": "numbers", "date": "dates", "other": "other values"}.get(
        kind, kind
    )


def _new_levels(name, past, c):
    """Finding for unseen levels; free text is not checked."""
    if len(past.shares) >= MOST_LEVELS or len(past.shares) > 0.5 * past.rows > 10:
        return
    counts = np.bincount(c.codes[c.codes >= 0], minlength=len(c.levels))
    unseen = [i for i, v in enumerate(c.levels) if v not in past.shares and counts[i]]
    if not unseen:
        return
    share = counts[unseen].sum() / max(counts.sum(), 1)
    unseen.sort(key=lambda i: -counts[i])
    shown = ", ".join(repr(c.levels[i]) for i in unseen[:3])
    text = (
        f"{name!r} has {len(unseen)} {'level' if len(unseen) == 1 else 'levels'} never "
        f"seen before, such as {shown}, in {share:.1%} of the rows."
    )
    severity = "warning" if share >= 0.01 else "note"
    yield make_finding(
        "new levels", severity, text, column=name, share=share, levels=len(unseen)
    )


def _unit_changed(name, past, c):
    """Finding for numbers that agree with the old ones after a change of unit."""
    x = np.sort(c.numbers[~c.missing])
    old = past.values
    if len(x) < 20 or len(old) < 20 or _kolmogorov_smirnov(old, x) < 0.5:
        return
    if (
        _kolmogorov_smirnov(1.8 * old + 32, x) < 0.15
        or _kolmogorov_smirnov((old - 32) / 1.8, x) < 0.15
    ):
        text = f"{name!r} seems to have changed between degrees Celsius and Fahrenheit."
        yield make_finding("unit changed", "alarm", text, column=name, factor=1.8)
        return
    a, b = np.median(old), np.median(x)
    if a == 0 or b == 0 or a * b < 0:
        return
    factor = float(b / a)
    if _kolmogorov_smirnov(factor * old, x) < 0.15 and not 0.6 < factor < 1.6:
        known = [
            w
            for f, w in UNITS.items()
            if _is_close_factor(factor, f) or _is_close_factor(1 / factor, f)
        ]
        hint = f" ({known[0]})" if known else ""
        text = (
            f"{name!r} seems to be in another unit{hint}: values are {factor:.4g} "
            "times those of old."
        )
        yield make_finding("unit changed", "alarm", text, column=name, factor=factor)


def _is_close_factor(a, b) -> bool:
    return abs(a / b - 1) < 0.05


def _kolmogorov_smirnov(a, b) -> float:
    """Kolmogorov-Smirnov statistic: largest difference of two distributions."""
    grid = np.concatenate([a, b])
    F = np.searchsorted(np.sort(a), grid, side="right") / len(a)
    G = np.searchsorted(np.sort(b), grid, side="right") / len(b)
    return float(np.abs(F - G).max())


def stack_common_columns(old: TableView, new: TableView) -> TableView:
    """The common columns of two tables, old rows before new ones."""
    stacked = []
    names = set(new.names)
    for a in old.columns:
        if a.name not in names:
            continue
        b = new[a.name]
        if a.categorical != b.categorical:
            continue
        if not a.categorical:
            numbers = np.concatenate([a.numbers, b.numbers])
            kind = a.kind if a.kind != "empty" else b.kind
            stacked.append(ColumnValues(a.name, kind, a.type, numbers))
            continue
        place = {v: i for i, v in enumerate(a.levels)}
        code = np.array([*(place.setdefault(v, len(place)) for v in b.levels), -1])
        codes = np.concatenate([a.codes, code[b.codes]])
        stacked.append(ColumnValues(a.name, a.kind, a.type, None, codes, tuple(place)))
    return TableView(old.n + new.n, tuple(stacked))

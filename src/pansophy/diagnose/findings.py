"""Findings: the sentence, severity and numbers that a diagnostic reports.

Every diagnostic whose answer belongs in a report gives findings. They are plain data:
`_asdict()` of one can be written as JSON, its text names the column and the number.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

MERGED_NAMES = 8  # columns that a merged note names
SEVERITIES = ("alarm", "warning", "note")  # most severe first


class Finding(NamedTuple):
    """One thing that somebody should know about the data or a model.

    Examples
    --------
    >>> from pansophy.diagnose import Finding
    >>> print(Finding("copy", "alarm", "paid", "'paid' is the target.", {"score": 1}))
    alarm: 'paid' is the target.
    """

    kind: str  # a word that programs can look for: "duplicates", "drift", ...
    severity: str  # one of SEVERITIES
    column: str | None  # the column it is about, if it is about one
    text: str  # one or two plain sentences
    facts: dict = {}  # the numbers behind the text, JSON-able

    def __str__(self):
        return f"{self.severity}: {self.text}"


def make_finding(kind, severity, text, *, column=None, **facts) -> Finding:
    """A Finding with a checked severity and JSON-ready facts.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import make_finding
    >>> make_finding("offset", "note", "Too high.", mean=np.float64(0.5)).facts
    {'mean': 0.5}
    """
    if severity not in SEVERITIES:
        raise ValueError(f"severity must be one of {SEVERITIES}, got {severity!r}.")
    name = None if column is None else str(column)
    return Finding(str(kind), severity, name, str(text), json_ready(facts))


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """Findings sorted by severity, the most severe first (stable)."""
    return sorted(findings, key=lambda f: SEVERITIES.index(f.severity))


def worst_severity(findings: Iterable[Finding]) -> str | None:
    """The highest severity among findings; None if there are none."""
    result = by_severity(findings)
    return result[0].severity if result else None


def merge_notes(findings: Iterable[Finding]) -> list[Finding]:
    """Findings for readers: notes of one kind about several columns are one.

    Alarms and warnings stay alone.

    Examples
    --------
    >>> from pansophy.diagnose import make_finding
    >>> from pansophy.diagnose.findings import merge_notes
    >>> skewed = [make_finding("skewed", "note", f"{c!r} is skewed.", column=c)
    ...           for c in "abc"]
    >>> [f.text for f in merge_notes(skewed)]
    ["'a' is skewed. Likewise: 'b', 'c'."]
    """
    result: list[Finding] = []
    later_columns: dict[
        str, list[str]
    ] = {}  # kind of a note -> columns after the first
    for f in findings:
        if f.severity == "note" and f.column is not None:
            if f.kind in later_columns:
                later_columns[f.kind].append(f.column)
                continue
            later_columns[f.kind] = []
        result.append(f)
    for i, f in enumerate(result):
        names = later_columns.get(f.kind) if f.severity == "note" else None
        if names and f.column is not None:
            listed = ", ".join(map(repr, names[:MERGED_NAMES]))
            n_unnamed = len(names) - MERGED_NAMES
            listed += f" and {n_unnamed} more" if n_unnamed > 0 else ""
            result[i] = f._replace(text=f"{f.text} Likewise: {listed}.")
    return result


def findings_text(findings: Iterable[Finding], nothing="Nothing was found.") -> str:
    """One line for each finding, or for notes of one kind; the most severe first."""
    lines = [str(f) for f in merge_notes(by_severity(findings))]
    return "\n".join(lines) or nothing


def as_dicts(findings: Iterable[Finding]) -> list[dict]:
    """Findings as plain dicts for JSON, the most severe first."""
    return [f._asdict() for f in by_severity(findings)]


def json_ready(value):
    """NumPy numbers, arrays, tuples and results as values that JSON can represent."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {str(k): json_ready(v) for k, v in value.items()}
    if isinstance(value, np.ndarray):
        return json_ready(value.tolist())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [json_ready(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None  # JSON has no word for it
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)

"""One report of constant, repeated, missing, leaking and odd columns."""

from dataclasses import dataclass
from typing import Any

from ..findings import Finding, by_severity, findings_text, json_ready
from ..leakage.target_leakage import find_leaks
from .column_checks import check_columns
from .columns import table_view
from .duplicates import duplicates
from .outliers import check_outliers
from .related_columns import Association, check_related

LEAKS = (
    "target copy", "target encoding", "missingness leak", "near-perfect column",
    "ordering id", "future dates", "target sum", "deciding group",
)  # fmt: skip
SAMPLE = 20_000  # rows behind associations and leaks


@dataclass(frozen=True)
class DataReport:
    """Columns listed by problem, and all findings."""

    rows: int
    columns: int
    constant: list[str]
    duplicate: list[tuple[str, str]]  # (column, the one it copies)
    missing: dict[str, float]  # shares, most first
    leaking: list[str]
    odd_scale: list[str]
    repeated_rows: int
    findings: list[Finding]

    def to_dict(self) -> dict[str, Any]:
        plain = {**vars(self), "findings": [f._asdict() for f in self.findings]}
        return json_ready(plain)

    def __str__(self):
        lists = [
            ("constant", self.constant),
            ("copies of another column", [a for a, _ in self.duplicate]),
            ("missing values", [f"{n} {s:.1%}" for n, s in self.missing.items()]),
            ("leaking the target", self.leaking),
            ("odd scale", self.odd_scale),
        ]
        lines = [f"{self.rows} rows, {self.columns} columns."]
        lines += [f"{label}: {', '.join(names)}" for label, names in lists if names]
        return "\n".join([*lines, findings_text(self.findings)])


def data_report(table, target=None, *, random_state=0) -> DataReport:
    """Report the data-quality problems of a table.

    Parameters
    ----------
    table : path, dataframe, Arrow table, dict of columns or array
    target : str or list of str, optional
        If it is given, columns are checked for target leakage.
    random_state : seed

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import data_report
    >>> rng = np.random.default_rng(0)
    >>> y, x = rng.normal(size=100), rng.normal(size=100)
    >>> table = {"one": [1] * 100, "x": x, "again": x, "cents": 100 * y, "y": y}
    >>> print(data_report(table, "y"))
    100 rows, 5 columns.
    constant: one
    copies of another column: again
    leaking the target: cents
    alarm: 'cents' is a copy of the target 'y' on another scale (r = 1.000000).
    warning: 'again' is a copy of 'x': one of them adds nothing.
    note: 'one' is constant: 1 in all 100 rows.
    """
    view = table_view(table)
    targets = [target] if isinstance(target, str) else list(target or ())
    inputs = view.without(targets)
    findings = check_columns(view) + check_outliers(inputs)
    findings += check_related(inputs, Association(inputs.sample(SAMPLE, random_state)))
    copies = duplicates(view, target, random_state=random_state)
    findings += copies.findings
    if targets:
        findings += find_leaks(view, targets, rows=SAMPLE, random_state=random_state)
    findings = by_severity(findings)
    named = lambda *kinds: [f.column for f in findings if f.kind in kinds and f.column]
    shares = {c.name: float(c.missing.mean()) for c in view.columns}
    shares = {n: s for n, s in sorted(shares.items(), key=lambda kv: -kv[1]) if s > 0}
    leaking = [
        str(f.column) for f in findings if f.kind in LEAKS and f.severity == "alarm"
    ]
    return DataReport(
        view.n,
        len(view.columns),
        named("constant", "nearly constant", "empty"),
        [
            (str(f.column), f.facts["of"])
            for f in findings
            if f.kind == "duplicated column"
        ],
        shares,
        list(dict.fromkeys(leaking)),
        named("odd scale"),
        copies.exact + copies.near,
        findings,
    )

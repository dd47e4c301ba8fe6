"""`explore`: all data diagnostics of a table, before any model is fitted.

Rows: exact, near and conflicting duplicates, also across folds. Columns: constant,
missing, mixed types, spelling variants, copies, association, odd scales, outliers. The
target: imbalance, leakage. Against a second table: schema mismatches, drift. Within
levels of a column: reversed comparisons (Simpson). Findings are sorted by severity;
the overview has the numbers for the plots of a report.

Tables of more than `max_rows` rows are sampled at random, and diagnostics that cost
more than one pass use fewer rows; the numbers of rows are reported.
"""

import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...base import interruptions_raised
from ...core.loops.threads import single_blas
from ...core.plain_text import counted_noun
from ...tables import count_table_rows, read_table, sample_table_rows
from ...tables.targets import TASKS
from ..findings import Finding, by_severity, findings_text, json_ready, make_finding
from ..leakage.target_columns import TargetColumn, target_columns_of
from ..leakage.target_leakage import find_leaks
from ..leakage.target_views import TargetView, target_views
from ..model.imbalance import imbalance
from ..shift.drift import DriftReport, drift
from ..shift.simpson import binary_codes, compare_within_levels, strata_of
from .column_checks import check_columns
from .columns import TableView, as_arrow_table, sample_rows, table_view
from .concentration import CURSED, distance_concentration
from .dependent_rows import dependent_rows
from .duplicates import Duplicates, duplicates
from .frequency_table import frequency_table_findings
from .outliers import check_outliers
from .overview import Overview, overview
from .related_columns import Association, check_related
from .schema_summary import as_read, role_counts_text

MAX_ROWS = 200_000
LARGE_FILE = 1 << 30  # bytes; a larger file is sampled while it is read
SAMPLE = 10_000
MOST_TOLD = 12  # findings of one kind and severity


@dataclass(frozen=True)
class Exploration:
    """Findings of `explore`; prints as sentences, the most severe first.

    Attributes
    ----------
    findings : list of Finding
    overview : Overview or None
    rows, columns : int
        Of the table; `sampled` rows of it were examined.
    target, task : str or None
    duplicates : Duplicates
    drift : Drift or None
        Against the other table.
    roles : dict
        What each column but the target is for, unless a schema was given.
    part, targets
        The rows and targets that `target_views` are made of.
    """

    findings: list[Finding]
    overview: Overview | None
    rows: int
    columns: int
    sampled: int
    target: Any
    task: str | None
    duplicates: Duplicates
    drift: DriftReport | None = None
    roles: dict[str, str] = field(default_factory=dict)
    part: TableView | None = field(default=None, repr=False)
    targets: list[TargetColumn] = field(default_factory=list, repr=False)

    def target_views(self) -> list[TargetView]:
        """Every column against the target, the most telling ones first."""
        if self.part is None or not self.targets:
            return []
        return target_views(self.part, self.targets)

    @property
    def alarms(self) -> list[Finding]:
        return [f for f in self.findings if f.severity == "alarm"]

    @property
    def warnings(self) -> list[Finding]:
        return [f for f in self.findings if f.severity == "warning"]

    def about(self, column) -> list[Finding]:
        """The findings about one column."""
        return [f for f in self.findings if f.column == column]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and dicts, for JSON."""
        return {
            "rows": self.rows,
            "columns": self.columns,
            "sampled": self.sampled,
            "target": json_ready(self.target),
            "task": self.task,
            "roles": self.roles,
            "findings": [json_ready(f._asdict()) for f in self.findings],
            "overview": None if self.overview is None else self.overview.to_dict(),
            "drift": None if self.drift is None else self.drift.to_dict(),
        }

    def _repr_html_(self):
        from .notebook_view import render_exploration_cell

        return render_exploration_cell(self)

    def __str__(self):
        head = (
            f"{counted_noun(self.rows, 'row')}, {counted_noun(self.columns, 'column')}"
        )
        if self.target is not None:
            head += f"; target {self.target!r} ({self.task})"
        lines = [head + "."]
        if self.roles:
            lines.append(f"Read as {role_counts_text(self.roles)}.")
        if self.sampled < self.rows:
            lines.append(f"A random sample of {self.sampled} rows was looked at.")
        if self.overview is not None:
            lines += str(self.overview).splitlines()[1:]
        return "\n".join([*lines, findings_text(self.findings)])


def explore(
    table,
    target=None,
    *,
    task=None,
    schema=None,
    other=None,
    by=None,
    splits=None,
    group=None,
    time=None,
    ignore=(),
    max_rows=MAX_ROWS,
    whole=True,
    random_state=0,
) -> Exploration:
    """Run all data diagnostics on a table.

    Parameters
    ----------
    table : path, dataframe, Arrow table, dict of columns or array
    target : str or list of str, optional
        What is to be predicted.
    task : str, optional
        "classification", "regression", "count" or "multilabel"; found out otherwise.
    schema : Schema, optional
        Provides the target, group, time and unused columns.
    other : a second table, optional
        Newer rows, to be compared with these.
    by : str, optional
        A column within whose levels comparisons are repeated.
    splits : list of (training rows, test rows), optional
        Copies across folds are counted. Rows are those of the table given.
    group, time : str, optional
        Columns whose rows stay together, and that orders the rows.
    ignore : names of columns that will not be used as inputs
    max_rows : int or None
        Rows examined at most; larger tables are sampled.
    whole : bool
        Whether to make the overview.
    random_state : seed

    Examples
    --------
    >>> from pansophy.datasets import load
    >>> from pansophy.diagnose import explore
    >>> data = load("customers")
    >>> found = explore(data.table, data.target)
    >>> len(found.alarms), found.about("currency")[0].text
    (0, "'currency' is constant: 'EUR' in all 1000 rows.")
    """
    weight = getattr(schema, "weight", None)
    if schema is not None:
        target = target or (list(schema.targets) if schema.labels else schema.target)
        group = group or schema.group
        time = time or schema.time
        ignore = {*ignore, *(c.name for c in schema.columns if c.role == "ignore")}
    if task not in (None, *TASKS):
        raise ValueError(f"task must be one of {', '.join(TASKS)}, got {task!r}.")
    n, view, splits, read = _rows_to_examine(table, max_rows, splits, random_state)
    target_names = [target] if isinstance(target, str) else list(target or ())
    for name in (*target_names, group, time, by, *(() if schema else ignore)):
        if name is not None:
            view[name]  # raises with the nearest name
    task = task or getattr(schema, "task", None)
    roles = {}
    notes = []
    if schema is None and read is not None:
        roles, found_task, notes = as_read(read, target_names, {*ignore, group, time})
        task = task or found_task
    targets = target_columns_of(view, target_names, task)
    with single_blas(), interruptions_raised():
        copies = duplicates(
            view, target_names, splits=splits, ignore=ignore, random_state=random_state
        )
        if any(g.kind == "number" for g in targets):
            copies = replace(copies, ceiling=None)  # numbers are not right or wrong
        changed = None
        left = {*ignore, *target_names}
        listed = task == "multilabel" and len(targets) == 1
        findings = notes + _examine_table(
            view, targets, copies, group, time, ignore, random_state, listed, weight
        )
        if by is not None:
            findings += _simpson_reversals(view, targets, by)
        if other is not None:
            _, new, _, _ = _rows_to_examine(other, max_rows, None, random_state)
            changed = drift(
                view.without(left), new, ignore=left, random_state=random_state
            )
            findings += changed.findings
        table_overview = (
            overview(view, ignore=left, random_state=random_state) if whole else None
        )
    if table_overview is not None:
        findings += _odd_row_findings(table_overview)
    if n > view.n:
        text = f"A random sample of {view.n} of {n} rows was looked at."
        findings.append(make_finding("sample", "note", text, rows=n, sampled=view.n))
    if schema is not None:
        findings = [_soften_leak(f, schema) for f in findings]
    task_found = (task or _target_description(targets)) if targets else None
    part, part_targets = _rows_to_show(view.without(set(ignore)), targets, random_state)
    return Exploration(
        by_severity(_limit_findings(findings)),
        table_overview,
        rows=n,
        columns=len(view.columns),
        sampled=view.n,
        target=target,
        task=task_found,
        duplicates=copies,
        drift=changed,
        roles=roles,
        part=part,
        targets=part_targets,
    )


def _rows_to_show(view, targets, seed) -> tuple[TableView | None, list[TargetColumn]]:
    """A sample of the rows and of their targets, for views against the target."""
    if not targets:
        return None, []
    pick = sample_rows(view.n, SAMPLE, seed)
    if pick is None:
        return view, targets
    return view.take(pick), [g.take(pick) for g in targets]


def _target_description(targets) -> str:
    if len(targets) > 1:
        return "multilabel"
    return "classification" if targets[0].kind == "class" else "regression"


def _rows_to_examine(table, most, splits, seed):
    """The number of rows, a view of the (sampled) rows, their splits, and as Arrow."""
    if most is not None and _is_large(table):
        n = count_table_rows(table)
        sample = sample_table_rows(table, most, seed)
        return n, table_view(sample), None, sample
    if not isinstance(table, TableView):
        table = (
            as_arrow_table(table)
            if isinstance(table, (list, np.ndarray))
            else read_table(table)
        )
    arrows = not isinstance(table, TableView)
    n = table.num_rows if arrows else table.n
    pick = sample_rows(n, most, seed)
    if pick is not None:
        table = table.take(pick)
        splits = _splits_of_subset(splits, pick, n)
    return n, table_view(table), splits, table if arrows else None


def _is_large(table) -> bool:
    named = isinstance(table, (str, os.PathLike)) and os.path.exists(table)
    return bool(named) and os.path.getsize(table) > LARGE_FILE


def _splits_of_subset(splits, pick, n):
    """Splits restricted to the rows in `pick`, by their new positions."""
    if splits is None:
        return None
    place = np.full(n, -1)
    place[pick] = np.arange(len(pick))
    new = lambda rows: (p := place[np.asarray(rows)])[p >= 0]
    return [(new(a), new(b)) for a, b in splits]


def _examine_table(
    view, targets, copies, group, time, ignore, seed, listed=False, weight=None
) -> list[Finding]:
    """Findings about the columns, rows and targets of one table."""
    target_names = [g.name for g in targets]
    used = view.without({*target_names, *ignore})
    findings = check_columns(view)
    if listed:  # an empty text lists no labels
        findings = [
            f
            for f in findings
            if f.kind != "hidden missing" or f.column not in target_names
        ]
    part = used.sample(SAMPLE, seed)
    groups = [name for name in (group, time) if name is not None]
    findings += check_related(used, Association(part), groups=groups)
    findings += check_outliers(used)
    findings += copies.findings
    for target in targets:
        findings += _target_findings(target, listed)
    if targets:
        inputs = view.without({*ignore})
        findings += frequency_table_findings(inputs, target_names, weight)
        findings += dependent_rows(used, targets, group, time)
        findings += find_leaks(
            view,
            target_names,
            task=targets[0].kind if len(targets) == 1 else None,
            group=group,
            time=time,
            ignore=ignore,
            rows=SAMPLE,
            random_state=seed,
        )
    if len(used.columns) >= 20 and part.n > 2:
        dense = distance_concentration(part, random_state=seed)
        if dense.contrast < CURSED and dense.dimension:
            text = (
                f"{dense.dimension} columns make all rows about equally far apart (the "
                f"nearest is at {dense.nearest:.0%} of the mean distance): methods "
                "that go by distance will suffer."
            )
            findings.append(
                make_finding("many dimensions", "note", text, contrast=dense.contrast)
            )
    return findings


def _soften_leak(f, schema) -> Finding:
    """Lowers an alarm to a warning if its column is not among the inputs."""
    unused = {c.name for c in schema.columns} - {c.name for c in schema.used}
    if f.severity != "alarm" or f.column not in unused - {schema.group, schema.time}:
        return f
    return f._replace(
        severity="warning", text=f.text + " It is left out of the inputs."
    )


def _target_findings(target, listed=False) -> list[Finding]:
    """Findings about a target: constant, missing values, imbalance of classes.

    Texts that list several labels (`listed`) are not checked for imbalance.
    """
    known = target.known
    target_findings = []
    if not target.varies:
        text = f"The target {target.name!r} has one value: there is nothing to learn."
        return [make_finding("constant target", "alarm", text, column=target.name)]
    if not known.all():
        gone = int((~known).sum())
        text = f"The target {target.name!r} is missing in {gone} of {len(known)} rows."
        target_findings.append(
            make_finding("missing target", "note", text, column=target.name, count=gone)
        )
    if target.kind == "class" and target.k < 0.5 * known.sum() and not listed:
        words = np.array([c.strip("'") for c in target.classes], object)
        findings = imbalance(words[target.y[known]].astype(str)).findings
        target_findings += [f._replace(column=target.name) for f in findings]
    return target_findings


def _simpson_reversals(view, targets, by) -> list[Finding]:
    """Findings for comparisons of binary columns that reverse within levels of `by`."""
    z, words = strata_of(view[by], 5)
    reversals = []
    if not 2 <= len(words) <= 50:
        return reversals
    for target in targets:
        if target.kind == "class" and target.k != 2:
            continue
        y = np.where(target.known, target.y, np.nan).astype(float)
        for c in view.columns:
            if c.name in (target.name, by) or c.kind in ("date", "empty", "other"):
                continue
            if c.categorical and len(c.levels) != 2:
                continue
            a, levels = binary_codes(c)
            names = (target.name, c.name, by)
            reversals += compare_within_levels(
                y, a, z, np.ones(view.n), words, names, levels
            ).findings
    return reversals


def _odd_row_findings(about) -> list[Finding]:
    """Finding for outlying rows, by their isolation scores."""
    k = about.outliers.get("count", 0)
    if not k:
        return []
    rows = ", ".join(str(r + 1) for r in about.outliers["rows"][:5])
    text = (
        f"{k} of {about.sampled} rows are unlike all others as a whole, such as {rows}."
    )
    return [
        make_finding("odd rows", "note", text, count=k, rows=about.outliers["rows"])
    ]


def _limit_findings(findings) -> list[Finding]:
    """At most MOST_TOLD findings of one kind and severity; the rest in one line."""
    kept = []
    seen = {}
    extra = {}
    for f in findings:
        key = f.kind, f.severity
        seen[key] = seen.get(key, 0) + 1
        if seen[key] <= MOST_TOLD or f.severity == "alarm":
            kept.append(f)
        else:
            extra.setdefault(key, []).append(f.column)
    for (kind, severity), columns in extra.items():
        names = [c for c in columns if c]
        shown = ", ".join(repr(c) for c in names[:5]) or "see above"
        shown += ", ..." if len(names) > 5 else ""
        text = f"{len(columns)} more findings of the kind '{kind}': {shown}."
        kept.append(make_finding(kind, severity, text, columns=names))
    return kept

"""Summary of how a table was read: roles of columns, task, notes.

The rules are those of a comparison (`tables.roles`, `tables.targets`), so that this
summary describes what a comparison would do.
"""

from typing import NamedTuple

from ...tables import TableError, reading_notes
from ...tables.roles import USED, find_role
from ...tables.targets import TaskGuess, guess_task
from ..findings import Finding, make_finding

PLURAL = {"category": "categories", "other": "of another kind", "ignore": "ignored"}


class AsRead(NamedTuple):
    """Roles of the input columns, the task, and findings about them."""

    roles: dict[str, str]
    task: str | None
    findings: list[Finding]


def as_read(table, targets, given=()) -> AsRead:
    """Roles, task and findings of an Arrow table.

    Columns in `given` have a use that the user declared.
    """
    findings = [make_finding("reading", "note", text) for text in reading_notes(table)]
    guess = task_of(table, targets)
    if guess.alternative:
        text = f"The task is {guess.task}: {guess.why}."
        findings.append(make_finding("task", "note", text, column=targets[0]))
    roles = {}
    for name in table.column_names:
        if name in targets:
            continue
        c = find_role(table.column(name), name)
        roles[name] = c.role
        if c.role == "id" and name not in given:
            text = f"{name!r} is taken for a name of the rows ({c.why}), not an input."
            findings.append(make_finding("id", "note", text, column=name))
    used = [n for n, role in roles.items() if role in USED and n not in given]
    if targets and not used:
        text = "No column besides the target can be used as an input."
        findings.append(make_finding("no inputs", "alarm", text))
    return AsRead(roles, guess.task, findings)


def task_of(table, targets) -> TaskGuess:
    """The task that a comparison would infer, and the reason."""
    if len(targets) != 1:
        return TaskGuess("multilabel" if targets else None, "")
    try:
        return guess_task(table.column(targets[0]), targets[0])
    except TableError:
        return TaskGuess(None, "")


def role_counts_text(roles) -> str:
    """Text with the number of columns of each role: `3 numbers, 1 category`."""
    results = list(roles.values())
    parts = []
    for role in dict.fromkeys(results):
        k = results.count(role)
        parts.append(f"{k} {role if k == 1 else PLURAL.get(role, f'{role}s')}")
    return ", ".join(parts)

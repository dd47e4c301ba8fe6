"""Parts of a report that are there only if asked for: a test table, groups."""

import numpy as np

from ..judging.bayes import verb
from . import views
from .deciding import costly
from .parts import Part, Table
from .text import a_, between, number


def test_words(c) -> str:
    """How the ranking fared on rows that no method had seen."""
    t = c.on_test
    if t is None:
        return ""
    own = next((r for r in t.rows if r.method == t.reference), t.rows[0])
    better = [r.method for r in t.rows if r.verdict == "better"]
    text = (
        f"On the {t.n:,} rows of the test table {own.method} "
        f"{verb(own.method, 'has', 'have')} {a_(t.metric)} of "
        f"{number(own.score.mean)} (95 % interval {between(own.score)})"
    )
    if not better:
        return f"{text}; nothing is better there beyond chance."
    return f"{text}; {', '.join(better)} did better there beyond chance."


def test_part(c) -> Part | None:
    """The ranked methods on the test table."""
    t = c.on_test
    if t is None:
        return None
    head = ["method", t.metric, "95 % interval", "difference", "p"]
    classes = any(r.mcnemar is not None for r in t.rows)
    head += ["right alone", "wrong alone", "McNemar p"] if classes else []
    head += ["verdict"]
    body = []
    for r in t.rows:
        gap = ["", ""] if r.difference is None else [
            f"{r.difference.mean:+.3g}", f"{r.difference.p:.2g}"]  # fmt: skip
        hits = ["", "", ""] if r.mcnemar is None else [
            f"{r.mcnemar.first:,}", f"{r.mcnemar.second:,}",
            f"{r.mcnemar.p:.2g}"]  # fmt: skip
        cells = [r.method, number(r.score.mean), between(r.score), *gap]
        body.append([*cells, *(hits if classes else []), r.verdict])
    told = (
        f"{t.n:,} rows that took no part in choosing. Intervals and differences from "
        f"{t.reference}, the method chosen before, come from drawing the rows again "
        "(paired bootstrap, Holm's adjustment)"
    )
    told += "; McNemar's test counts rows that only one of the two has right"
    told = told if classes else told.partition("; McNemar")[0]
    numeric = [False] + [True] * (len(head) - 2) + [False]
    return Part(
        "On the test table", f"{told}.", Table("Test table", head, body, numeric)
    )


def groups(c):
    """`diagnose.Fairness` of the kept model over the column asked about, or None."""
    by = c.settings.get("by")
    if by is None or c.taken is None:
        return None
    return views.remembered(c, ("groups", by), lambda: audit(c, by))


def audit(c, by):
    from ...diagnose.fairness import fairness

    held = views.held_out(c)
    if c.schema.task == "multilabel":
        raise ValueError("Groups are compared for one target, not for several labels.")
    column = np.asarray(c.taken.table.column(by).to_pylist(), dtype=object)
    how = {"task": c.schema.task, "column": by, "weights": held.weight}
    if c.settings.get("costs"):
        how["threshold"] = costly(c, held).threshold  # decides in the saved model
    return fairness(held.y, held.p, column[held.rows], **how)


def limits(i) -> str:
    """A mean and its interval with the same digits."""
    low, _, high = between(i).partition(" to ")
    digits = len(low.partition(".")[2])
    return f"{i.mean:z.{digits}f} ({low} to {high})"


def group_part(c) -> Part | None:
    """Measures of each group, with intervals."""
    by = c.settings.get("by")
    if by is None:
        return None
    try:
        found = groups(c)
    except ValueError as error:
        return Part(f"Groups of {by}", str(error), Table("none", [], [], []))
    if found is None:
        return None
    head = [by, "rows", *found.measures]
    body = [
        [g, f"{n:,}", *(limits(m[i])
                        for m in found.measures.values())]
        for i, (g, n) in enumerate(zip(found.groups, found.counts, strict=True))
    ]  # fmt: skip
    return Part(
        f"Groups of {by}",
        " ".join(line[:1].upper() + line[1:] for line in str(found).splitlines()),
        Table("Groups", head, body, [False] + [True] * (len(head) - 1)),
    )

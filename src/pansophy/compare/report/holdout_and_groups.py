"""Parts of a report that are there only if asked for: a test table, groups."""

import numpy as np

from ..evaluation.bayesian_tests import verb_for
from . import plot_data
from .decisions import least_cost_threshold
from .elements import HtmlTable, Section
from .terminal import format_interval, format_number, with_article


def holdout_sentence(c) -> str:
    """How the ranking fared on rows that no method had seen."""
    t = c.on_test
    if t is None:
        return ""
    own = next((r for r in t.rows if r.method == t.reference), t.rows[0])
    better = [r.method for r in t.rows if r.verdict == "better"]
    text = (
        f"On the {t.n:,} rows of the test table {own.method} "
        f"{verb_for(own.method, 'has', 'have')} {with_article(t.metric)} of "
        f"{format_number(own.score.mean)} (95 % interval {format_interval(own.score)})"
    )
    if not better:
        return f"{text}; nothing is better there beyond chance."
    return f"{text}; {', '.join(better)} did better there beyond chance."


def holdout_section(c) -> Section | None:
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
        gap = (
            ["", ""]
            if r.difference is None
            else [f"{r.difference.mean:+.3g}", f"{r.difference.p:.2g}"]
        )
        hits = (
            ["", "", ""]
            if r.mcnemar is None
            else [f"{r.mcnemar.first:,}", f"{r.mcnemar.second:,}", f"{r.mcnemar.p:.2g}"]
        )
        cells = [r.method, format_number(r.score.mean), format_interval(r.score), *gap]
        body.append([*cells, *(hits if classes else []), r.verdict])
    told = (
        f"{t.n:,} rows that took no part in choosing. Intervals and differences from "
        f"{t.reference}, the method chosen before, come from drawing the rows again "
        "(paired bootstrap, Holm's adjustment)"
    )
    told += "; McNemar's test counts rows that only one of the two has right"
    told = told if classes else told.partition("; McNemar")[0]
    numeric = [False] + [True] * (len(head) - 2) + [False]
    return Section(
        "On the test table", f"{told}.", HtmlTable("Test table", head, body, numeric)
    )


def group_fairness(c):
    """`diagnose.Fairness` of the kept model over the column asked about, or None."""
    by = c.settings.get("by")
    if by is None or c.taken is None:
        return None
    return plot_data.cached_view(c, ("groups", by), lambda: audit_groups(c, by))


def audit_groups(c, by):
    from ...diagnose.fairness import fairness

    held = plot_data.held_out_predictions(c)
    if c.schema.task == "multilabel":
        raise ValueError("Groups are compared for one target, not for several labels.")
    column = np.asarray(c.taken.table.column(by).to_pylist(), dtype=object)
    how = {"task": c.schema.task, "column": by, "weights": held.weight}
    if c.settings.get("costs"):
        how["threshold"] = least_cost_threshold(
            c, held
        ).threshold  # decides in the saved model
    return fairness(held.y, held.p, column[held.rows], **how)


def mean_and_interval(i) -> str:
    """A mean and its interval with the same digits."""
    low, _, high = format_interval(i).partition(" to ")
    digits = len(low.partition(".")[2])
    return f"{i.mean:z.{digits}f} ({low} to {high})"


def group_section(c) -> Section | None:
    """Measures of each group, with intervals."""
    by = c.settings.get("by")
    if by is None:
        return None
    try:
        found = group_fairness(c)
    except ValueError as error:
        return Section(f"Groups of {by}", str(error), HtmlTable("none", [], [], []))
    if found is None:
        return None
    head = [by, "rows", *found.measures]
    body = [
        [g, f"{n:,}", *(mean_and_interval(m[i]) for m in found.measures.values())]
        for i, (g, n) in enumerate(zip(found.groups, found.counts, strict=True))
    ]
    return Section(
        f"Groups of {by}",
        " ".join(line[:1].upper() + line[1:] for line in str(found).splitlines()),
        HtmlTable("Groups", head, body, [False] + [True] * (len(head) - 1)),
    )

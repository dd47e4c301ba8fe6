"""Sections of a report that are there on request: the test set, and groups."""

from functools import partial

import numpy as np

from ..model.kept_model import held_out_predictions, least_cost_threshold
from . import plot_data
from .elements import HtmlTable, Section
from .formatting import format_interval, format_number
from .sentences import capitalised


def holdout_section(c) -> Section | None:
    """The ranked methods on the test set."""
    t = c.holdout
    if t is None:
        return None
    classes = any(r.mcnemar is not None for r in t.rows)
    head = ["method", t.metric, "95 % interval", "difference", "p"]
    head += ["right alone", "wrong alone", "McNemar p"] if classes else []
    head += ["verdict"]
    body = []
    for r in t.rows:
        cells = [r.method, format_number(r.score.mean), format_interval(r.score)]
        if r.difference is None:
            cells += ["", ""]
        else:
            cells += [f"{r.difference.mean:+.3g}", f"{r.difference.p:.2g}"]
        if classes and r.mcnemar is None:
            cells += ["", "", ""]
        elif classes:
            m = r.mcnemar
            cells += [f"{m.first:,}", f"{m.second:,}", f"{m.p:.2g}"]
        body.append([*cells, r.verdict])
    text = (
        f"{t.n:,} rows that took no part in choosing. Intervals and differences from "
        f"{t.reference}, the method chosen before, come from drawing the rows again "
        "(paired bootstrap, Holm's adjustment)"
    )
    if classes:
        text += "; McNemar's test counts rows that only one of the two has right"
    numeric = [False] + [True] * (len(head) - 2) + [False]
    table = HtmlTable("Test table", head, body, numeric)
    return Section("On the test table", f"{text}.", table)


def group_fairness(c):
    """`diagnose.Fairness` of the kept model over the column asked about, or None."""
    column = c.settings.get("by")
    if column is None or c.dataset is None:
        return None
    return plot_data.cached_view(
        c, ("groups", column), lambda: _audit_groups(c, column)
    )


def _audit_groups(c, by):
    from ...diagnose.model.fairness import fairness

    held = held_out_predictions(c)
    if c.schema.task == "multilabel":
        raise ValueError("Groups are compared for one target, not for several labels.")
    column = np.asarray(c.dataset.table.column(by).to_pylist(), dtype=object)
    audit = partial(
        fairness,
        held.y,
        held.p,
        column[held.rows],
        task=c.schema.task,
        column=by,
        weights=held.weight,
    )
    if c.settings.get("costs"):  # the threshold that decides in the saved model
        return audit(threshold=least_cost_threshold(c, held).threshold)
    return audit()


def _mean_and_interval(i) -> str:
    """A mean and its interval with the same digits."""
    low, _, high = format_interval(i).partition(" to ")
    digits = len(low.partition(".")[2])
    return f"{i.mean:z.{digits}f} ({low} to {high})"


def group_section(c) -> Section | None:
    """Measures of each group, with intervals."""
    column = c.settings.get("by")
    if column is None:
        return None
    try:
        result = group_fairness(c)
    except ValueError as error:
        return Section(f"Groups of {column}", str(error), HtmlTable("none", [], [], []))
    if result is None:
        return None
    head = [column, "rows", *result.measures]
    body = [
        [g, f"{n:,}", *(_mean_and_interval(m[i]) for m in result.measures.values())]
        for i, (g, n) in enumerate(zip(result.groups, result.counts, strict=True))
    ]
    return Section(
        f"Groups of {column}",
        " ".join(capitalised(line) for line in str(result).splitlines()),
        HtmlTable("Groups", head, body, [False] + [True] * (len(head) - 1)),
    )

"""Sections about decisions: thresholds, costs, prediction sets and intervals.

All of it is about the rows that the kept model had not seen; the ranking does not
depend on it.
"""

import numpy as np

from ...core.random import make_rng
from ...diagnose.row_counts import are_whole, effective_counts
from ..evaluation.conformal import fit_prediction_sets, interval_quantile
from ..evaluation.decision_threshold import advise_threshold
from ..model.kept_model import (
    costs_of_missing,
    held_out_predictions,
    least_cost_threshold,
)
from .elements import HtmlTable, Section
from .formatting import format_number

COST_RATIOS = (0.1, 0.5, 1, 2, 5, 10)  # of a missed yes to a false alarm
STAY = (
    "Another threshold is advised only where it did better, beyond chance, on other "
    "rows than it was chosen on."
)
COVERAGE_LEVELS = (0.8, 0.9, 0.95, 0.99)


def decision_sections(c) -> list[Section]:
    """Threshold, costs and sets or intervals, from held-out rows."""
    out = []
    try:
        held_out = held_out_predictions(c)
        if c.schema.task == "classification" and len(c.schema.classes) == 2:
            out += [given_costs_section(c, held_out)] if c.settings.get("costs") else []
            out += [threshold_section(c, held_out), cost_ratio_section(c, held_out)]
        adaptive = c.adaptive_scores
        if adaptive is not None:
            out.append(adaptive_section(c, held_out, adaptive))
        elif c.schema.task == "classification":
            out.append(prediction_set_section(c, held_out))
        elif c.schema.task != "multilabel":
            out.append(interval_section(c, held_out))
        else:
            out.append(label_threshold_section(c, held_out))
    except ValueError as error:
        out.append(Section("Decisions", str(error), HtmlTable("none", [], [], [])))
    return out


def given_costs_section(c, held_out) -> Section:
    """The threshold that the costs given lead to; the saved model uses it."""
    (no, yes) = map(str, c.schema.classes)
    pair = costs_of_missing(c)
    t = least_cost_threshold(c, held_out)
    body = [
        [
            f"{t.threshold:.3g}",
            format_number(t.expected),
            format_number(t.plain),
            f"{100 * t.share:.0f} %",
        ]
    ]
    head = ["say yes from", "mean cost expected", "at one half", "rows that get a yes"]
    return Section(
        "With the costs given",
        f"Missing a {no!r} costs {pair[0]:g}, missing a {yes!r} {pair[1]:g}. The saved "
        "model decides by this threshold.",
        HtmlTable("Given costs", head, body, [False, True, True, True]),
    )


def threshold_section(c, held_out) -> Section:
    """Thresholds by objective: one half, unless another is better beyond chance."""
    yes = str(c.schema.classes[1])
    body, chosen = [], []
    for name, words in (
        ("f1", "balance precision and recall (F1)"),
        ("balanced", "treat both classes alike (balanced accuracy)"),
        ("accuracy", "be right most often (accuracy)"),
    ):
        t = advise_threshold(held_out.y, held_out.p, name, weights=held_out.weight)
        chosen.append(t.threshold)
        body.append(
            [
                words,
                advised_threshold_words(t),
                *(format_number(v) for v in (t.expected, t.plain)),
                f"{100 * t.share:.0f} %",
            ]
        )
    advice = "Stay at one half. " if all(t == 0.5 for t in chosen) else ""
    head = ["to", "say yes from", "expected", "at one half", "rows that get a yes"]
    return Section(
        "A threshold",
        f"Say {yes!r} when its probability is at least the threshold. {advice}{STAY}",
        HtmlTable("Thresholds", head, body, [False, True, True, True, True]),
    )


def advised_threshold_words(t) -> str:
    """`0.312`, or that one half is as good."""
    return "0.5 (stay)" if t.threshold == 0.5 else f"{t.threshold:.3g}"


def cost_ratio_section(c, held_out) -> Section:
    """Thresholds by the cost of a miss, with what is found and what it costs."""
    yes = str(c.schema.classes[1])
    w = np.ones(len(held_out.y)) if held_out.weight is None else held_out.weight
    body = []
    for ratio in COST_RATIOS:
        t = advise_threshold(
            held_out.y, held_out.p, "cost", costs=(1.0, ratio), weights=w
        )
        said = t.apply(held_out.p)
        right = w @ (said * held_out.y)
        body.append(
            [
                f"{ratio:g}",
                f"{t.threshold:.3g}",
                f"{100 * right / max(w @ held_out.y, 1e-300):.0f} %",
                f"{100 * right / (w @ said):.0f} %" if w @ said > 0 else "–",
                format_number(t.expected),
            ]
        )
    head = [
        "a miss costs, in false alarms",
        "say yes from",
        "found",
        "yes is right",
        "mean cost",
    ]
    return Section(
        "If mistakes cost differently",
        f"When missing a {yes!r} costs c times a false alarm, the threshold is 1 / "
        f"(1 + c) if the probabilities are right. {STAY}",
        HtmlTable("Costs", head, body, [False, True, True, True, True]),
    )


def calibration_halves(c, held_out):
    """Two halves of the held-out rows: to calibrate on, and to check on.

    Rows of a group stay together; rows with times that are not folded along time are
    checked in the later half.
    """
    n = len(held_out.rows)
    rng = make_rng(c.settings["seed"])
    cut = n // 2
    if c.data.time is not None:
        order = np.argsort(c.data.time[held_out.rows], kind="stable")
    elif c.data.group is not None:
        _, whose = np.unique(c.data.group[held_out.rows], return_inverse=True)
        rank = rng.permutation(whose.max() + 1)[whose]
        order = np.argsort(rank, kind="stable")
        # cut where a group begins
        cut = int(np.searchsorted(rank[order], rank[order[cut]]))
    else:
        order = rng.permutation(n)
    return order[:cut], order[cut:]


def coverage_check_sentence(a, b, w=None) -> str:
    """Sentence on how coverage is checked, and how far off chance alone may put it."""
    whole = w is None or are_whole(w)
    w = np.ones(len(a) + len(b)) if w is None else w
    n = [max(effective_counts(w[half], whole).sum(), 1) for half in (a, b)]
    miss = 196 * np.sqrt(0.09 * (1 / n[0] + 1 / n[1]))
    rows = int(w[b].sum()) if whole else len(b)
    return (
        f"Calibrated on half of the held-out rows, checked on the other half: with "
        f"{rows:,} rows, what is held may miss a promise of 90 % by {miss:.0f} "
        "points by chance."
    )


def weights_of_halves(held_out, *halves):
    """The weights of the rows of each half, if there are any."""
    return [
        None if held_out.weight is None else held_out.weight[half] for half in halves
    ]


def prediction_set_section(c, held_out) -> Section:
    a, b = calibration_halves(c, held_out)
    wa, wb = weights_of_halves(held_out, a, b)
    share = lambda values: np.average(values, weights=wb)
    body = []
    for level in COVERAGE_LEVELS:
        rule = fit_prediction_sets(held_out.p[a], held_out.y[a], level, weights=wa)
        result = rule.apply(held_out.p[b])
        true = share(result[np.arange(len(b)), held_out.y[b]])
        single = share(result.sum(1) == 1)
        body.append(
            [
                f"{100 * level:.0f} %",
                f"{100 * true:.1f} %",
                f"{share(result.sum(1)):.2f}",
                f"{100 * single:.0f} %",
            ]
        )
    head = ["promised", "held", "classes in a set", "sets of one class"]
    return Section(
        "Sets that hold the truth",
        "Instead of one class, the set of classes that cannot be ruled out (conformal "
        f"prediction). {coverage_check_sentence(a, b, held_out.weight)}",
        HtmlTable("Prediction sets", head, body, [False, True, True, True]),
    )


def interval_section(c, held_out) -> Section:
    a, b = calibration_halves(c, held_out)
    wa, wb = weights_of_halves(held_out, a, b)
    r = held_out.y - held_out.p
    body = []
    for level in COVERAGE_LEVELS:
        q = interval_quantile(r[a], level, wa)
        inside = np.average(np.abs(r[b]) <= q, weights=wb)
        reach = f"± {format_number(q)}" if np.isfinite(q) else "too few rows"
        body.append([f"{100 * level:.0f} %", f"{100 * inside:.1f} %", reach])
    return Section(
        "Intervals that hold the truth",
        "A prediction and this much on both sides (conformal prediction). "
        f"{coverage_check_sentence(a, b, held_out.weight)}",
        HtmlTable(
            "Intervals", ["promised", "held", "reach"], body, [False, True, True]
        ),
    )


def adaptive_section(c, held_out, scores) -> Section:
    """Along time: what intervals or sets made from earlier rows held of later ones."""
    sets = c.schema.task == "classification"
    frame = c.data.frame[held_out.rows]
    body = []
    for level in COVERAGE_LEVELS:
        result = scores.reach(level)
        if sets:
            size = scores.sets(held_out.p, level, frame).sum(1).mean()
            reach = f"{size:.2f} classes"
        else:
            known = np.isfinite(result.quantile)
            reach = f"± {format_number(result.quantile)}" if known else "too few rows"
        covered = "–" if np.isnan(result.coverage) else f"{100 * result.coverage:.1f} %"
        body.append([f"{100 * level:.0f} %", covered, reach])
    return Section(
        "Sets that hold the truth" if sets else "Intervals that hold the truth",
        "Widened by what earlier ones missed (adaptive conformal prediction). Held: "
        "the share of the rows of later folds, each by what was known before it. The "
        "level is kept in the long run if answers are fed back with "
        "`model.update_intervals(table)`; for the next rows alone it is no promise.",
        HtmlTable("Coverage", ["level", "held", "next"], body, [False, True, True]),
    )


def label_threshold_section(c, held_out) -> Section:
    body = []
    for j, name in enumerate(c.schema.labels):
        y = held_out.y[:, j].astype(int)
        if 0 < y.sum() < len(y):
            t = advise_threshold(y, held_out.p[:, j], "f1", weights=held_out.weight)
            values = (format_number(v) for v in (t.expected, t.plain))
            body.append([name, advised_threshold_words(t), *values])
    head = ["label", "say yes from", "F1 expected", "F1 at one half"]
    return Section(
        "A threshold for each label",
        f"The probability from which on to say yes, by F1. {STAY}",
        HtmlTable("Thresholds", head, body, [False, True, True, True]),
    )

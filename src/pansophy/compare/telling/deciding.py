"""From predictions to decisions: thresholds, costs, sets and intervals of a report.

All of it is about the rows that the kept model had not seen; the ranking does not
depend on it.
"""

import numpy as np

from ...core.random import make_rng
from ...diagnose.counts import are_whole, telling
from ..judging.conformal import fit_sets, interval_quantile
from ..judging.decision import choose_threshold, cost_curve
from . import views
from .parts import Part, Table
from .text import number

LEVELS = (0.8, 0.9, 0.95, 0.99)


def decisions(c) -> list[Part]:
    """Threshold, costs and sets or intervals, from held-out rows."""
    out = []
    try:
        held = views.held_out(c)
        if c.schema.task == "classification" and len(c.schema.classes) == 2:
            out += [asked_costs(c, held)] if c.settings.get("costs") else []
            out += [threshold(c, held), costs(c, held)]
        if c.schema.task == "classification":
            out.append(sets(c, held))
        elif c.schema.task != "multilabel":
            out.append(intervals(c, held))
        else:
            out.append(label_thresholds(c, held))
    except ValueError as error:
        out.append(Part("Decisions", str(error), Table("none", [], [], [])))
    return out


def priced(c) -> tuple[float, float]:
    """Costs of missing the first and the second class."""
    given = {str(k): float(v) for k, v in c.settings["costs"].items()}
    no, yes = (given[str(k)] for k in c.schema.classes)
    return no, yes


def costly(c, held):
    """The threshold of least cost."""
    how = {"costs": priced(c), "weights": held.weight}
    return choose_threshold(held.y, held.p, "cost", **how)


def asked_costs(c, held) -> Part:
    """The threshold that the costs given lead to; the saved model uses it."""
    (no, yes), pair, t = map(str, c.schema.classes), priced(c), costly(c, held)
    body = [[f"{number(t.threshold)}", number(t.expected), number(t.plain),
             f"{100 * t.share:.0f} %"]]  # fmt: skip
    head = ["say yes from", "mean cost expected", "at one half", "rows that get a yes"]
    return Part(
        "With the costs given",
        f"Missing a {no!r} costs {pair[0]:g}, missing a {yes!r} {pair[1]:g}. The saved "
        "model decides by this threshold.",
        Table("Given costs", head, body, [False, True, True, True]),
    )


def threshold(c, held) -> Part:
    yes = str(c.schema.classes[1])
    body = []
    for name, words in (
        ("f1", "balance precision and recall (F1)"),
        ("balanced", "treat both classes alike (balanced accuracy)"),
        ("accuracy", "be right most often (accuracy)"),
    ):
        t = choose_threshold(held.y, held.p, name, weights=held.weight)
        body.append([words, *(number(v) for v in (t.threshold, t.expected, t.plain)),
                     f"{100 * t.share:.0f} %"])  # fmt: skip
    head = ["to", "say yes from", "expected", "at one half", "rows that get a yes"]
    return Part(
        "A threshold",
        f"Say {yes!r} when its probability is at least the threshold. Expected: the "
        "value when the threshold is chosen on other rows than it is judged on.",
        Table("Thresholds", head, body, [False, True, True, True, True]),
    )


def costs(c, held) -> Part:
    yes = str(c.schema.classes[1])
    points = cost_curve(held.y, held.p, [0.1, 0.5, 1, 2, 5, 10], weights=held.weight)
    body = [
        [
            f"{p.ratio:g}",
            number(p.threshold),
            f"{100 * p.recall:.0f} %",
            f"{100 * p.precision:.0f} %",
            number(p.cost),
        ]
        for p in points
    ]
    head = ["a miss costs, in false alarms", "say yes from", "found", "yes is right",
            "mean cost"]  # fmt: skip
    return Part(
        "If mistakes cost differently",
        f"The threshold of least cost when missing a {yes!r} costs this many times a "
        "false alarm.",
        Table("Costs", head, body, [False, True, True, True, True]),
    )


def halves(c, held):
    """Two halves of the held-out rows: to calibrate on, and to check on.

    Rows of a group stay together; along time the later half is checked.
    """
    n, rng = len(held.rows), make_rng(c.settings["seed"])
    cut = n // 2
    if c.data.time is not None:
        order = np.argsort(c.data.time[held.rows], kind="stable")
    elif c.data.group is not None:
        _, whose = np.unique(c.data.group[held.rows], return_inverse=True)
        turn = rng.permutation(whose.max() + 1)[whose]
        order = np.argsort(turn, kind="stable")
        cut = int(np.searchsorted(turn[order], turn[order[cut]]))  # where one begins
    else:
        order = rng.permutation(n)
    return order[:cut], order[cut:]


def checked_on(a, b, w=None) -> str:
    """How the promises are tested, and how far off chance alone may put them."""
    whole = w is None or are_whole(w)
    w = np.ones(len(a) + len(b)) if w is None else w
    n = [max(telling(w[half], whole).sum(), 1) for half in (a, b)]
    miss = 196 * np.sqrt(0.09 * (1 / n[0] + 1 / n[1]))
    rows = int(w[b].sum()) if whole else len(b)
    return (
        f"Calibrated on half of the held-out rows, checked on the other half: with "
        f"{rows:,} rows, what is held may miss a promise of 90 % by {miss:.0f} "
        "points by chance."
    )


def weights_in(held, *halves):
    """The weights of the rows of each half, if there are any."""
    return [None if held.weight is None else held.weight[half] for half in halves]


def sets(c, held) -> Part:
    a, b = halves(c, held)
    wa, wb = weights_in(held, a, b)
    share = lambda values: np.average(values, weights=wb)
    body = []
    for level in LEVELS:
        rule = fit_sets(held.p[a], held.y[a], level, weights=wa)
        found = rule.apply(held.p[b])
        true = share(found[np.arange(len(b)), held.y[b]])
        single = share(found.sum(1) == 1)
        body.append(
            [
                f"{100 * level:.0f} %",
                f"{100 * true:.1f} %",
                f"{share(found.sum(1)):.2f}",
                f"{100 * single:.0f} %",
            ]
        )
    head = ["promised", "held", "classes in a set", "sets of one class"]
    return Part(
        "Sets that hold the truth",
        "Instead of one class, the set of classes that cannot be ruled out (conformal "
        f"prediction). {checked_on(a, b, held.weight)}",
        Table("Prediction sets", head, body, [False, True, True, True]),
    )


def intervals(c, held) -> Part:
    a, b = halves(c, held)
    wa, wb = weights_in(held, a, b)
    r = held.y - held.p
    body = []
    for level in LEVELS:
        q = interval_quantile(r[a], level, wa)
        inside = np.average(np.abs(r[b]) <= q, weights=wb)
        reach = f"± {number(q)}" if np.isfinite(q) else "too few rows"
        body.append([f"{100 * level:.0f} %", f"{100 * inside:.1f} %", reach])
    return Part(
        "Intervals that hold the truth",
        "A prediction and this much on both sides (conformal prediction). "
        f"{checked_on(a, b, held.weight)}",
        Table("Intervals", ["promised", "held", "reach"], body, [False, True, True]),
    )


def label_thresholds(c, held) -> Part:
    body = []
    for j, name in enumerate(c.schema.labels):
        y = held.y[:, j].astype(int)
        if 0 < y.sum() < len(y):
            t = choose_threshold(y, held.p[:, j], "f1", weights=held.weight)
            cells = (t.threshold, t.expected, t.plain)
            body.append([name, *(number(v) for v in cells)])
    head = ["label", "say yes from", "F1 expected", "F1 at one half"]
    return Part(
        "A threshold for each label",
        "The probability from which on to say yes, by F1; judged on other rows than "
        "it is chosen on.",
        Table("Thresholds", head, body, [False, True, True, True]),
    )

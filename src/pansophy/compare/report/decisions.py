"""Sections about decisions: thresholds, costs, prediction sets and intervals.

All of it is about the rows that the kept model had not seen; the ranking does not
depend on it.
"""

import numpy as np

from ...core.random import make_rng
from ...diagnose.data.row_counts import are_whole, effective_counts
from ...diagnose.intervals import rate_interval
from ...plot.style import short_name
from ..evaluation.conformal_scores import fit_conformal_scores
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
SHOWN_LEVEL = 0.9  # of coverage by size of the prediction
LEAST_ROWS_OF_PART = 20
MAX_PARTS = 10
SETS_OF_TWO = (
    "They depend on the probabilities alone: the closer to one half, the sooner both "
    "classes are in."
)
SETS_OF_MORE = (
    "They are randomised: whether the last class of a set is in depends on a number "
    "that is fixed for each row but as good as random, so that of two rows with nearly "
    "equal probabilities one may get a larger set."
)
SCALE_SENTENCES = {
    "identity": "Equally wide for all rows.",
    "steps": "Wider where the prediction or other columns tell that errors are larger.",
    "log": "Wider in proportion to the prediction.",
    "count": "Those of larger counts are wider, and each range of predictions is "
    "calibrated by itself.",
}


def decision_sections(c) -> list[Section]:
    """Threshold, costs and sets or intervals, from held-out rows."""
    sections = []
    try:
        held_out = held_out_predictions(c)
        if c.schema.task == "classification" and len(c.schema.classes) == 2:
            sections += (
                [_given_costs_section(c, held_out)] if c.settings.get("costs") else []
            )
            sections.append(positive_section(c, held_out))
            sections += [
                threshold_section(c, held_out),
                cost_ratio_section(c, held_out),
            ]
        adaptive = c.adaptive_scores
        if adaptive is not None:
            sections.append(_adaptive_section(c, held_out, adaptive))
        elif c.schema.task == "classification":
            sections.append(prediction_set_section(c, held_out))
        elif c.schema.task != "multilabel":
            sections.append(interval_section(c, held_out))
            sections += interval_part_sections(c, held_out)
        else:
            sections.append(_label_threshold_section(c, held_out))
    except ValueError as error:
        sections.append(Section("Decisions", str(error), HtmlTable("none", [], [], [])))
    return sections


def _given_costs_section(c, held_out) -> Section:
    """The threshold that the costs given lead to; the saved model uses it."""
    (no_label, yes) = map(str, c.schema.classes)
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
        f"Missing a {no_label!r} costs {pair[0]:g}, missing a {yes!r} {pair[1]:g}. The "
        "saved "
        "model decides by this threshold.",
        HtmlTable("Given costs", head, body, [False, True, True, True]),
    )


def positive_section(c, held_out) -> Section:
    """Sensitivity, specificity and predictive values, with their intervals."""
    no_label, yes = (short_name(str(label), 40) for label in c.schema.classes)
    threshold = 0.5
    if c.settings.get("costs"):
        threshold = least_cost_threshold(c, held_out).threshold
    y = np.asarray(held_out.y) > 0
    p = held_out.p if held_out.p.ndim == 1 else held_out.p[:, 1]
    said = p >= threshold
    w = held_out.weight
    count = np.ones(len(y)) if w is None else effective_counts(w, are_whole(w))
    body = []
    for name, right, is_counted, words in (
        ("sensitivity", said, y, f"of the rows with {yes!r}, found"),
        (
            "specificity",
            ~said,
            ~y,
            f"of the rows with {no_label!r}, not called {yes!r}",
        ),
        ("positive predictive value", y, said, f"of the rows called {yes!r}, right"),
        (
            "negative predictive value",
            ~y,
            ~said,
            f"of the rows called {no_label!r}, right",
        ),
    ):
        k, n = float(count @ (right & is_counted)), float(count @ is_counted)
        rate = rate_interval(k, n)
        body.append(
            [
                name,
                words,
                f"{k:.0f} of {n:.0f}",
                f"{100 * k / n:.0f} %" if n > 0 else "–",
                f"{100 * rate.low:.0f} to {100 * rate.high:.0f} %" if n > 0 else "–",
            ]
        )
    head = ["", "share of rows", "rows", "rate", "95 % interval"]
    share = 100 * float(count @ y) / count.sum()
    return Section(
        "Right and wrong answers",
        f"Saying {yes!r} from a probability of {threshold:.3g} on, for the held-out "
        f"rows of the first cross-validation, of which {share:.0f} % are {yes!r}. "
        f"Where {yes!r} is rarer or commoner than here, the two predictive values "
        "change and the first two rates do not.",
        HtmlTable("Rates", head, body, [False, False, True, True, True]),
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
                _advised_threshold_words(t),
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


def _advised_threshold_words(t) -> str:
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
        _, unit = np.unique(c.data.group[held_out.rows], return_inverse=True)
        rank = rng.permutation(unit.max() + 1)[unit]
        order = np.argsort(rank, kind="stable")
        # cut where a group begins
        cut = int(np.searchsorted(rank[order], rank[order[cut]]))
    else:
        order = rng.permutation(n)
    return order[:cut], order[cut:]


def _coverage_check_sentence(a, b, w=None) -> str:
    """Sentence on how coverage is checked, and how far off chance alone may put it."""
    has_whole_weights = w is None or are_whole(w)
    w = np.ones(len(a) + len(b)) if w is None else w
    n = [max(effective_counts(w[half], has_whole_weights).sum(), 1) for half in (a, b)]
    miss = 196 * np.sqrt(0.09 * (1 / n[0] + 1 / n[1]))
    rows = int(w[b].sum()) if has_whole_weights else len(b)
    return (
        f"Calibrated on half of the held-out rows, checked on the other half: with "
        f"{rows:,} rows, what is held may miss a promise of 90 % by {miss:.0f} "
        "points by chance."
    )


def _weights_of_halves(held_out, *halves):
    """The weights of the rows of each half, if there are any."""
    return [
        None if held_out.weight is None else held_out.weight[half] for half in halves
    ]


def _scores_of_part(c, held_out, rows):
    """Conformal scores of some held-out rows, as a saved model holds those of all."""
    (w,) = _weights_of_halves(held_out, rows)
    table_rows = held_out.rows[rows]
    group = None if c.data.group is None else c.data.group[table_rows]
    scores = fit_conformal_scores(
        c.schema.task,
        held_out.y[rows],
        held_out.p[rows],
        c.data.frame[table_rows],
        w,
        group,
    )
    if scores is None:
        raise ValueError("There are too few held-out rows to calibrate on one half.")
    return scores


def prediction_set_section(c, held_out) -> Section:
    a, b = calibration_halves(c, held_out)
    (wb,) = _weights_of_halves(held_out, b)
    share = lambda values: np.average(values, weights=wb)
    scores = _scores_of_part(c, held_out, a)
    frame = c.data.frame[held_out.rows[b]]
    body = []
    for level in COVERAGE_LEVELS:
        result = scores.sets(held_out.p[b], level, frame)
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
        f"prediction). {_set_sentence(c)} "
        f"{_coverage_check_sentence(a, b, held_out.weight)}",
        HtmlTable("Prediction sets", head, body, [False, True, True, True]),
    )


def _set_sentence(c) -> str:
    """Sentence on what sets depend on."""
    return SETS_OF_TWO if len(c.schema.classes) == 2 else SETS_OF_MORE


def interval_section(c, held_out) -> Section:
    a, b = calibration_halves(c, held_out)
    (wb,) = _weights_of_halves(held_out, b)
    scores = _scores_of_part(c, held_out, a)
    frame = c.data.frame[held_out.rows[b]]
    body = []
    for level in COVERAGE_LEVELS:
        ends = scores.interval(held_out.p[b], level, frame)
        inside = np.average(_are_inside(held_out.y[b], ends), weights=wb)
        body.append(
            [f"{100 * level:.0f} %", f"{100 * inside:.1f} %", _width_cell(ends)]
        )
    return Section(
        "Intervals that hold the truth",
        "From where to where answers lie (conformal prediction). "
        f"{scale_sentence(scores.scale)} "
        f"{_coverage_check_sentence(a, b, held_out.weight)}",
        HtmlTable(
            "Intervals", ["promised", "held", "median width"], body, [False, True, True]
        ),
    )


def interval_part_sections(c, held_out) -> list[Section]:
    """What intervals hold of small, middling and large predictions, if rows suffice.

    Each half of the rows is checked with scores of the other; rows with times only in
    the later half.
    """
    halves = calibration_halves(c, held_out)
    checked = [halves] if c.data.time is not None else [halves, halves[::-1]]
    rows = np.concatenate([b for _, b in checked])
    ends = np.concatenate(
        [
            _scores_of_part(c, held_out, a).interval(
                held_out.p[b], SHOWN_LEVEL, c.data.frame[held_out.rows[b]]
            )
            for a, b in checked
        ]
    )
    p = held_out.p[rows]
    inside = _are_inside(held_out.y[rows], ends)
    n_parts = min(MAX_PARTS, len(rows) // LEAST_ROWS_OF_PART)
    if n_parts < 2:
        return []
    shares = np.arange(1, n_parts) / n_parts
    cuts = np.unique(np.quantile(p, shares, method="inverted_cdf"))
    code = np.searchsorted(cuts, p)
    body = []
    for k in np.unique(code):
        part = code == k
        (w,) = _weights_of_halves(held_out, rows[part])
        held = np.average(inside[part], weights=w)
        body.append(
            [
                f"{format_number(p[part].min())} to {format_number(p[part].max())}",
                f"{part.sum():,}",
                f"{100 * held:.0f} %",
                _width_cell(ends[part]),
            ]
        )
    if len(body) < 2:
        return []
    miss = 196 * np.sqrt(SHOWN_LEVEL * (1 - SHOWN_LEVEL) * len(body) / len(rows))
    head = ["prediction", "rows", "held", "median width"]
    return [
        Section(
            "Intervals by size of the prediction",
            f"What intervals of {100 * SHOWN_LEVEL:.0f} % hold of small and of large "
            "predictions; the level is promised for all rows together. Calibrated on "
            "half of the held-out rows, checked on the others; by chance what a line "
            f"says may be off by {miss:.0f} points.",
            HtmlTable("Coverage by prediction", head, body, [False, True, True, True]),
        )
    ]


def _are_inside(y, ends) -> np.ndarray:
    """Whether answers lie in their intervals; ends belong to them, up to rounding."""
    slack = 1e-9 * np.abs(y)
    return (y >= ends[:, 0] - slack) & (y <= ends[:, 1] + slack)


def _width_cell(ends) -> str:
    """The median width of intervals in words."""
    width = np.median(ends[:, 1] - ends[:, 0])
    return format_number(width) if np.isfinite(width) else "too few rows"


def scale_sentence(scale) -> str:
    """Sentence on where intervals are wide."""
    if scale is None:
        return SCALE_SENTENCES["identity"]
    sentences = [SCALE_SENTENCES[scale.transform]]
    if len(scale.columns):
        sentences = [s for s in sentences if scale.transform != "identity"]
        sentences.append(SCALE_SENTENCES["steps"])
    return " ".join(sentences)


def _adaptive_section(c, held_out, scores) -> Section:
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
        "Widened by what earlier ones missed (adaptive conformal prediction). "
        f"{_set_sentence(c) + ' ' if sets else ''}Held: the share of the rows of later "
        "folds, each by what was known before it. The level is kept in the long run if "
        "answers are fed back with `model.update_intervals(table)`; for the next rows "
        "alone it is no promise.",
        HtmlTable("Coverage", ["level", "held", "next"], body, [False, True, True]),
    )


def _label_threshold_section(c, held_out) -> Section:
    body = []
    for j, name in enumerate(c.schema.labels):
        y = held_out.y[:, j].astype(int)
        if 0 < y.sum() < len(y):
            t = advise_threshold(y, held_out.p[:, j], "f1", weights=held_out.weight)
            values = (format_number(v) for v in (t.expected, t.plain))
            body.append([name, _advised_threshold_words(t), *values])
    head = ["label", "say yes from", "F1 expected", "F1 at one half"]
    return Section(
        "A threshold for each label",
        f"The probability from which on to say yes, by F1. {STAY}",
        HtmlTable("Thresholds", head, body, [False, True, True, True]),
    )

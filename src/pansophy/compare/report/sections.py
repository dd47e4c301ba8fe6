"""The sections of a report: figures, a block for each method, skipped methods."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...plot.style import short_name
from ..evaluation.paired_tests import DUMMY
from ..evaluation.wording import join_names
from ..methods.excluded import SkipKind
from ..model.kept_model import held_out_predictions
from . import column_views, plot_data, plots
from .elements import (
    MAX_COLUMNS_LISTED,
    Figure,
    HtmlTable,
    MethodBlock,
    SkippedGroup,
    make_figure,
)
from .formatting import (
    describe_blend,
    describe_warnings,
    format_differences,
    format_interval,
    format_mean,
    format_probabilities,
    format_seconds,
    names_by_common_reason,
    standing_and_p,
)

MIN_PROBABILITIES = 10  # different ones, for a slope of their log odds
SLOPE_MARGIN = 0.1  # by which the slope may miss 1 without a word
MAX_CURVE_SECONDS = 15  # seconds that a learning curve may take
MAX_FOLD_SCORES = 100  # fold scores shown of one method
FIRST_ONLY = (
    " The number is that of the first cross-validation; the table has the mean of all."
)
NARROW = 3.7  # inches, of pictures three abreast
MAX_METHODS_DRAWN = 20  # methods with pictures of their own
MAX_POINTS_DRAWN = 300  # rows in the picture of residuals of one method


def _overview_figures(c) -> list[Figure]:
    """Scores, and score against time."""
    m = len(c.leaderboard)
    best = c.leaderboard[0]
    seen = f"{c.metric} of {m} methods; {best.method} is best with "
    return [
        make_figure(
            "Scores",
            "Points are scores of held-out rows, filled for the kept method; lines are "
            "95 % intervals for new rows. Grey methods are worse than the best beyond "
            "chance, or no better than the dummy; far worse ones lie outside."
            + _omitted_methods_sentence(m - len(plots.plotted_methods(c))),
            lambda ax: plots.plot_scores(c, ax),
            "a",
            seen + format_mean(best.scores[c.metric]),
            height=1.0 + 0.3 * len(plots.plotted_methods(c)),
        ),
        make_figure(
            "Quality against time",
            "Better is up, faster is left. The pale line joins the methods that no "
            "other beats in both. A number is the rank of a method in the table above. "
            "Seconds are medians on the machine that ran this; far worse methods lie "
            "outside.",
            lambda ax: plots.plot_quality_time(c, ax),
            "b",
            f"{c.metric} against seconds of a fit for {m} methods",
            height=3.6,
        ),
    ]


def _omitted_methods_sentence(k) -> str:
    return f" {k} of the worst are left out." if k > 0 else ""


def _kept_model_figures(c) -> list[Figure]:
    """Figures of the kept model on rows it had not seen; not its learning curve."""
    makers = {
        "classification": _classification_figures,
        "multilabel": _classification_figures,
        "regression": _regression_figures,
        "count": _regression_figures,
    }
    figures = makers[c.schema.task](c)
    if c.winner != DUMMY:
        figures += _importance_figures(c)
    return figures


def _classification_figures(c) -> list[Figure]:
    is_binary = c.schema.task == "classification" and len(c.schema.classes) == 2
    name = f" {short_name(str(c.schema.classes[1]), 40)!r}" if is_binary else ""
    positive = f" Positive is{name}." if is_binary else ""
    figures = [
        make_figure(
            "Calibration",
            f"The share of rows in which{name if is_binary else ' the class'} came "
            "true, for each probability that was predicted. On the dotted line "
            "probabilities mean what they say; the band is a 95 % interval."
            + calibration_error_sentence(c),
            lambda ax: plots.plot_calibration(c, ax=ax),
            "c",
        ),
        make_figure(
            "ROC",
            "The share of the rows of a class that are found (sensitivity) against the "
            "share of the other rows that are wrongly called so, as the threshold "
            f"falls. The diagonal is guessing.{positive}"
            f"{FIRST_ONLY}" + _pooled_classes_sentence(c),
            lambda ax: plots.plot_roc(c, ax=ax),
            "d",
        ),
        make_figure(
            "Precision and recall",
            "Precision, the share of the rows called positive that are positive, "
            "against recall, the share of the positive rows that are found. Tells more "
            "than the ROC where the class is rare."
            f"{positive}{FIRST_ONLY}",
            lambda ax: plots.plot_precision_recall(c, ax=ax),
            "e",
        ),
    ]
    if c.schema.task == "classification":
        n_classes = len(c.schema.classes)
        figures.append(
            make_figure(
                "Confusion",
                "How many rows of each class were predicted to be of which class: the "
                "most probable one.",
                lambda ax: plots.plot_confusion(c, ax=ax),
                "f",
                height=float(np.clip(1.6 + 0.35 * n_classes, 3.2, 6)),
            )
        )
    if is_binary:
        figures.append(
            make_figure(
                "Gain",
                "What share of the positive rows is found by looking at the most "
                "probable rows first." + positive,
                lambda ax: plots.plot_gain(c, ax=ax),
                "g",
            )
        )
    return figures


def _pooled_classes_sentence(c) -> str:
    """Sentence that one curve stands for many classes, where it does."""
    has_many_classes = (
        c.schema.task == "multilabel" or len(c.schema.classes) > plots.MAX_LINES
    )
    return (
        " Rows of all classes are pooled, so the area is not the mean over classes "
        "that the table shows."
        if has_many_classes
        else ""
    )


def calibration_error_sentence(c) -> str:
    """The mean gap between probabilities and what came true."""
    from ..evaluation.calibration import calibration_error, calibration_line

    h = held_out_predictions(c)
    flat = c.schema.task == "multilabel"
    y, p, w = h.y, h.p, h.weight
    if flat:
        y, p, w = y.ravel(), p.ravel(), plots.repeated_weights(h, p.shape[1])
    error_text = (
        f" On average they are off by {calibration_error(y, p, weights=w):.2g}."
    )
    if flat or len(c.schema.classes) != 2 or len(np.unique(p)) < MIN_PROBABILITIES:
        return error_text
    slope, intercept = calibration_line(y, p, w)
    sure = "a little too sure" if slope < 1 else "not sure enough"
    sure = "as sure as they should be" if abs(slope - 1) < SLOPE_MARGIN else sure
    return (
        f"{error_text} True log odds against predicted ones have the slope {slope:.2f} "
        f"and the intercept {intercept:.2f} (1 and 0 are right): the probabilities are "
        f"{sure}."
    )


def _regression_figures(c) -> list[Figure]:
    return [
        make_figure(
            "Residuals",
            "Actual minus predicted, against the prediction. A pattern here is "
            "something the model has not learned.",
            lambda ax: plots.plot_residuals(c, ax=ax),
            "c",
        ),
        make_figure(
            "How far off",
            "How the residuals are spread. Two humps or a long tail mean that one "
            "interval width does not fit all rows.",
            lambda ax: plots.plot_residuals(c, ax=ax, kind="histogram"),
            "d",
        ),
    ]


def _importance_figures(c) -> list[Figure]:
    """Figures of the importance of columns."""
    figures = [
        make_figure(
            "What it relies on",
            f"How much worse the {c.metric} of held-out rows gets when one column is "
            "shuffled. Columns that tell the same story share the credit.",
            lambda ax: plots.plot_importance(c, ax=ax),
            "h",
            height=1.0 + 0.24 * min(len(c.schema.used), plots.MAX_BARS),
        )
    ]
    try:
        top = plots.top_columns(c, 3)
    except Exception:  # said by the picture above
        top = []
    for i, name in enumerate(top):
        figures.append(
            make_figure(
                f"If only {short_name(name, 40)} changed",
                "The mean prediction for held-out rows when this column is set to each "
                "value and all others stay. It shows the model, not causes.",
                lambda ax, name=name: plots.plot_partial_dependence(
                    c, None, name, ax=ax
                ),
                f"p{i}",
            )
        )
    return figures


def has_learning_curve(c) -> bool:
    """Whether a learning curve of the kept model is drawn; it may take too long."""
    seconds = plot_data.learning_curve_seconds(c)
    return c.winner != DUMMY and seconds <= MAX_CURVE_SECONDS


def learning_curve_figure(c) -> Figure:
    figure = make_figure(
        "Would more rows help?", "", lambda ax: plots.plot_learning_curve(c, ax=ax), "l"
    )
    if not figure.svg:
        return figure
    captions = {
        "rising": "The held-out score still rises: more rows are likely to help.",
        "flat": "The held-out score is flat: more rows of the same kind would hardly "
        "help.",
        "unclear": "Whether more rows would help cannot be told from these folds.",
    }[plot_data.learning_curve_data(c).verdict]
    return figure._replace(caption=f"{captions} Score by the number of training rows.")


def weak_subgroups(c) -> list[str]:
    try:
        slices = plot_data.weak_slices(c)
    except Exception:  # an extra; nothing else depends on it
        return []
    if c.schema.task != "classification":
        return [str(s) for s in slices]
    return [
        f"{s.name}: on {s.rows} rows the loss is {s.loss:.3g} above what the "
        f"probabilities given lead one to expect ({s.rest:+.3g} on the others)."
        for s in slices
    ]


def method_blocks(c, figures) -> list[MethodBlock]:
    """One for each method that was tried, ranked ones first; `figures` by task."""
    blocks = [
        _method_block(c, row)._replace(figures=figures["methods", i])
        for i, row in enumerate(c.leaderboard)
    ]
    for name, reason in c.disqualified:
        blocks.append(
            MethodBlock(name, "not ranked", f"Not ranked: {reason}.", None, None, "")
        )
    return blocks


def _method_figures(c, place) -> list[Figure]:
    """Pictures of one method on held-out rows; those of the kept one are above."""
    row = c.leaderboard[place]
    if row.rank > MAX_METHODS_DRAWN or row.method in (c.winner, DUMMY):
        return []
    if c.trial(row.method).predictions is None:
        return []
    drawn = [(plots.plot_roc, "ROC"), (plots.plot_calibration, "Calibration")]
    if c.schema.task == "classification":
        drawn.append((plots.plot_confusion, "Confusion"))
    if c.schema.task in ("regression", "count"):
        drawn = [(_few_residuals, "Residuals")]
    return [
        make_figure(
            title,
            "",
            lambda ax, draw=draw: draw(c, row.method, ax=ax),
            f"m{place}{i}",
            f"{title} of {row.method}",
            width=NARROW,
            height=2.6,
        )
        for i, (draw, title) in enumerate(drawn)
    ]


def _few_residuals(c, method, ax):
    """Residuals of a sample of rows: a page holds the pictures of many methods."""
    return plots.plot_residuals(c, method, ax, most=MAX_POINTS_DRAWN)


def _strongest_columns(c) -> list[column_views.ColumnView]:
    """The target by the values of the columns that tell most about it."""
    try:
        return column_views.strongest_views(c)
    except Exception:  # an extra; nothing else depends on it
        return []


def _column_target_figures(c, place) -> list[Figure]:
    """The figure of one of the strongest columns."""
    v = _strongest_columns(c)[place]
    return [
        make_figure(
            short_name(v.column, 40),
            f"Alone it explains {100 * v.strength:.0f} % of the variation.",
            lambda ax: column_views.draw_column_view(v, ax),
            f"t{place}",
            f"{v.target} by {v.column}",
            width=NARROW,
            height=0.9 + 0.21 * len(v.names) + (0.25 if len(v.outputs) > 1 else 0),
        )
    ]


def _method_block(c, row) -> MethodBlock:
    trial = c.trial(row.method)
    brief = f"{c.metric} {format_mean(row.scores[c.metric])}, {standing_and_p(row)}"
    paragraphs = []
    if row.probabilities is not None:
        d = row.difference
        mean, low, high = format_differences(d.mean, d.low, d.high)
        paragraphs.append(
            f"Against {c.leaderboard[0].method}: {format_probabilities(row)}. "
            f"Difference {mean}, 95 % interval {low} to {high}, p {row.p:.2g} "
            "(adjusted)."
        )
    paragraphs.append(
        f"A fit took {format_seconds(row.fit_seconds)} in the median, "
        f"{format_seconds(max(trial.fit_seconds))} at most, "
        f"{format_seconds(float(np.sum(trial.fit_seconds)))} in all."
    )
    if row.stopped is not None:
        stop = row.stopped
        chance = "below 0.001" if stop.p < 0.001 else f"{stop.p:.3f}"
        paragraphs.append(
            f"Stopped after {stop.fits} of {stop.planned} fits: the probability of "
            f"overtaking {stop.leader} in the rest was {chance}."
        )
    paragraphs += [f"Warning: {describe_warnings(row)}."] if row.warnings else []
    if row.method == c.winner:
        paragraphs.append("Its pictures are in the section of the kept model.")
    body = [
        [name, format_mean(s), format_interval(s)] for name, s in row.scores.items()
    ]
    facts = HtmlTable(
        "Scores", ["metric", "mean", "95 % interval"], body, [False, True, True]
    )
    return MethodBlock(
        row.method,
        brief,
        " ".join(paragraphs),
        facts,
        _fold_table(c, trial),
        _estimator_code(trial),
    )


def _fold_table(c, trial) -> HtmlTable:
    """The ranking metric, a line for each repeat."""
    scores, k = trial.scores[c.metric][:MAX_FOLD_SCORES], c.settings["folds"]
    lines = [scores[i : i + k] for i in range(0, len(scores), k)]
    body = [
        [f"repeat {i + 1}", *(f"{x:#.4g}" for x in line)]
        for i, line in enumerate(lines)
    ]
    head = [c.metric, *(f"fold {j + 1}" for j in range(len(lines[0])))]
    return HtmlTable("Scores by fold", head, body, [False] + [True] * len(lines[0]))


LEARNED_SETTINGS = (
    "best_params_",
    "alpha_",
    "l1_ratio_",
    "C_",
    "lambda_",
    "n_iter_",
    "weights_",
)


def _estimator_code(trial) -> str:
    """The estimator as code, and what it chose by itself."""
    if trial.method.members:
        # without fitting the members again
        return f"the average of {describe_blend(trial.method.blend_weights)}"
    model: Any = trial.model
    if model is None:
        return getattr(trial.method, "path", "")
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    lines = [re.sub(r" at 0x[0-9a-f]+", "", " ".join(str(last).split()))[:600]]
    for name in LEARNED_SETTINGS:
        value = getattr(last, name, None)
        if value is not None and np.size(value) <= 8:
            lines.append(f"chosen: {name.rstrip('_')} = {_format_value(value)}"[:300])
    return "\n".join(lines)


def _format_value(value) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {_format_value(v)}" for k, v in value.items())
    if isinstance(value, (int, float, np.number)):
        return f"{value:.4g}"
    return str(value)


SKIP_TITLES = {
    SkipKind.OVER_LIMITS: "Too slow or too large for the limits",
    SkipKind.NOT_INSTALLED: "Not installed",
    SkipKind.NOT_REQUESTED: "Not asked for",
    SkipKind.UNSUITED: "Not suited to this table, or spoken for by a method that ran",
    SkipKind.OTHER_TASK: "Parts of the library for other tasks",
}


def skipped_groups(c) -> list[SkippedGroup]:
    """Methods that were not run, by what could be done about it."""
    groups = []
    for kind, title in SKIP_TITLES.items():
        pairs = [(s.name, s.reason) for s in c.skipped if s.kind is kind]
        if pairs:
            reasons = names_by_common_reason(pairs)
            groups.append(SkippedGroup(title, len(pairs), reasons))
    return groups


def column_table(c) -> HtmlTable:
    used = {k.name for k in c.schema.used}
    columns = c.schema.columns
    body = [
        [k.name, k.role if k.name in used else f"{k.role}, left out", k.why]
        for k in columns[:MAX_COLUMNS_LISTED]
    ]
    caption = ""
    if len(columns) > MAX_COLUMNS_LISTED:
        caption = (
            f"The first {MAX_COLUMNS_LISTED} of {len(columns):,}; results.json has all."
        )
    head = ["column", "used as", "why"]
    return HtmlTable("Columns", head, body, [False] * 3, caption)


def _data_figures(c) -> list[Figure]:
    """The unsupervised view of the table, if it was taken."""
    from .exploration import exploration_figures

    return [] if c.overview is None else exploration_figures(c.overview)


def column_contents(c) -> list:
    """Contents of every column, if the table was explored."""
    from .exploration import column_summaries

    return [] if c.overview is None else column_summaries(c.overview)


def provenance_table(c) -> HtmlTable:
    s = c.settings
    body = [["seed", str(s["seed"])]]
    names = ("data_hash", "finished", "seconds", "machine", "time_limit")
    label = {"data_hash": "data (SHA-256)", "seconds": "took, in seconds"}
    label["time_limit"] = "limit, in seconds"
    body += [[label.get(n, n), str(s[n])] for n in names if s.get(n) is not None]
    if c.folder is not None:
        body.append(["run folder", Path(c.folder).name])
    result = (f"{n} {v}" for n, v in s.get("versions", {}).items())
    body.append(["versions", ", ".join(result)])
    return HtmlTable("Circumstances", ["what", "value"], body, [False, False])


def licence_table(c) -> HtmlTable:
    """Licences of the packages that took part."""
    from importlib import metadata

    names = {n for n in c.settings.get("versions", {}) if n != "python"}
    names |= {getattr(t.method, "path", "").split(".")[0] for t in c.trials}
    names = {{"sklearn": "scikit-learn"}.get(n, n) for n in names if n}
    body = []
    for name in sorted(names):
        try:
            body.append([name, _licence_text(metadata.metadata(name))])
        except metadata.PackageNotFoundError:
            continue
    return HtmlTable("Licences", ["package", "licence"], body, [False, False])


def _licence_text(about) -> str:
    """As the package declares it, in a few words."""
    stated = about.get("License-Expression")
    if stated:
        return stated
    kinds = [k for k in about.get_all("Classifier") or [] if k.startswith("License ::")]
    if kinds:
        return join_names([k.rsplit(" :: ", 1)[-1] for k in kinds])
    text = (about.get("License") or "not stated").strip()
    return text.splitlines()[0][:80]


# section of the page -> (comparison, place within the section) -> its figures
FIGURE_MAKERS: dict[str, Callable[[Any, int], list[Figure]]] = {
    "kept model": lambda c, _: _kept_model_figures(c),
    "overview": lambda c, _: _overview_figures(c),
    "data": lambda c, _: _data_figures(c),
    "columns": _column_target_figures,
    "methods": _method_figures,
}


def figure_tasks(c) -> list[tuple[str, int]]:
    """All figures of a page but the learning curve, as (section, place)."""
    places = {"columns": len(_strongest_columns(c)), "methods": len(c.leaderboard)}
    return [(k, i) for k in FIGURE_MAKERS for i in range(places.get(k, 1))]

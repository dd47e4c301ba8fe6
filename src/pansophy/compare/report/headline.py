"""The headline of a comparison: what to keep, what to expect, against what, what next.

Four answers for somebody who reads nothing else. Everything in them is a number of the
comparison; the sentences below them say how sure the ranking is.
"""

import numpy as np

from ...diagnose.data.dependent_rows import ROW_ORDER, what_is_alike
from ...plot.style import short_name
from ..evaluation.paired_tests import DUMMY
from ..evaluation.ranking import KeepReason, Standing
from ..evaluation.statistics import student_quantile, tail_of_losses
from ..evaluation.wording import join_names, verb_for
from ..splits import fold_horizon
from .formatting import (
    format_differences,
    format_interval,
    format_like_interval,
    format_number,
    with_article,
)

# metrics that need no explanation, by task
FAMILIAR_METRICS = {
    "classification": "accuracy",
    "multilabel": "label accuracy",
    "regression": "mae",
    "count": "mae",
}
EVENTS_PER_COLUMN = 10  # rows of the rarer class, below which a sentence says so
HINT_PER_COLUMN = 3  # below which nothing but a hint can be expected
BASELINE_NAMES = {DUMMY: "the dummy", "last value": "the last value"}


def headline_sentences(c) -> list[str]:
    """Sentences on the method kept, its expected score, its gain, and the next step."""
    texts = [
        _kept_sentence(c),
        _tail_sentence(c),
        _design_sentence(c),
        _units_sentence(c),
        _gain_sentence(c),
        few_events_sentence(c),
        next_step_sentence(c),
    ]
    return [t for t in texts if t]


def _kept_sentence(c) -> str:
    """Sentence on the method kept, and its score on new rows with the interval."""
    row = c.row(c.winner)
    score = c.expected_score
    expected = (
        f"on {new_rows_phrase(c)} expect {with_article(c.metric)} of "
        f"{format_like_interval(score.mean, score)} "
        f"(95 % interval {format_interval(score)})"
    )
    familiar = _familiar_clause(c, row) + _alarm_clause(c)
    if c.winner == DUMMY and len(c.leaderboard) == 1:
        return (
            "Only the dummy, which ignores all columns, has finished: "
            f"{expected}{familiar}."
        )
    if c.winner == DUMMY:
        start = {
            KeepReason.DUMMY_EQUAL: "Nothing is practically better than the dummy",
        }.get(c.keep_reason, "Nothing beats the dummy")
        return f"{start}, which ignores all columns: {expected}{familiar}."
    if not beats_dummy(c):
        return (
            "Nothing beats the dummy, which ignores all columns, beyond doubt. Best so "
            f"far {verb_for(c.winner)} {c.winner}: {expected}{familiar}."
        )
    return f"Keep {c.winner}: {expected}{familiar}."


def beats_dummy(c) -> bool:
    """Whether the kept method is better than the dummy by more than chance."""
    return all(b.significant for b in c.baselines if b.method == DUMMY)


def _alarm_clause(c) -> str:
    """Clause that the score depends on the columns that the alarms are about."""
    alarms = sum(f.severity == "alarm" for f in c.findings)
    if not alarms:
        return ""
    subject = "the alarm" if alarms == 1 else f"the {alarms} alarms"
    return f", but only if {subject} about the table can be explained away"


def _tail_sentence(c) -> str:
    """Sentence that a few rows decide the score, where they do."""
    losses = c.trial(c.winner).losses
    if c.schema.task not in ("regression", "count") or losses is None:
        return ""
    tail = tail_of_losses(losses[np.isfinite(losses)])
    if not tail.heavy:
        return ""
    rows = "One row makes" if tail.rows == 1 else f"{tail.rows} rows make"
    errors = "squared errors" if c.metric == "rmse" else f"{c.metric}"
    return (
        f"{rows} {100 * tail.share:.0f} % of the {errors} behind that number: the "
        "interval is too narrow for such a tail. Judge by the mae (--metric mae), or "
        f"predict the logarithm of {c.schema.target!r} where it is positive."
    )


def few_events_sentence(c) -> str:
    """Sentence that the rarer of two classes has few rows for the number of columns."""
    classes = c.schema.classes
    columns = len(c.schema.used)
    if len(classes) != 2 or columns == 0:
        return ""
    rows = np.bincount(c.data.y.astype(int), minlength=2)
    events = int(rows.min())
    if events >= EVENTS_PER_COLUMN * columns:
        return ""
    rarer = short_name(str(classes[int(rows.argmin())]), 40)
    ratio_text = f"{events / columns:.2g} for each of {columns} columns"
    if columns == 1:
        ratio_text = "for one column"
    verdict_text = (
        "too few for more than a hint"
        if events < HINT_PER_COLUMN * columns or events < EVENTS_PER_COLUMN
        else f"fewer than the {EVENTS_PER_COLUMN} at which a model of all columns is "
        "known to be stable"
    )
    verb = "is" if events == 1 else "are"
    share = f"{events:,} of {rows.sum():,} rows {verb} {rarer!r}"
    return f"{share}, {ratio_text}: {verdict_text}."


def _design_sentence(c) -> str:
    """Sentences on what the rows were found to be, and on the score without that."""
    design = c.dataset.design
    if design is None:
        return ""
    clauses = []
    if design.event is not None:
        duration = design.event.duration
        clauses.append(
            f"{c.schema.target!r} and {duration!r} look like time to an event: the "
            "latter, which nobody knows in advance, was left out, and rows without the "
            "event may only not have been followed for long enough; no survival model "
            f"is among the methods here (--role {duration}=number takes it in)"
        )
    if design.time is not None:
        order_text = f"along {design.time.column!r}"
        if design.time.column == ROW_ORDER:
            order_text = "in the file"
        clauses.append(
            f"rows follow each other {order_text} (neighbours are "
            f"alike, correlation {design.time.correlation:.2f}), so later ones were "
            "predicted from earlier "
            f"ones{_shuffled_clause(c, 'between known moments')} "
            "(--independent shuffles rows)"
        )
    if design.entity is not None:
        e = design.entity
        clauses.append(
            f"{e.comes} in {e.rows / e.count:.1f} rows each, in which "
            f"{what_is_alike(e, 2)}, so rows of one were never parted"
            f"{_shuffled_clause(c, 'for rows of known ones')} (--independent shuffles "
            "rows)"
        )
    return " ".join(f"{t[:1].upper()}{t[1:]}." for t in clauses)


def _units_sentence(c) -> str:
    """Sentence on the units of a panel, and on the score for the other ones."""
    name = repr(c.schema.group)
    if not c.split.units:
        return ""
    same_units_text = f"of the same {name}, from all rows before them"
    new = f"of new {name}, from earlier rows of others"
    tested_text = same_units_text
    other_text = new
    flag = "new"
    if c.split.units == "new":
        tested_text = new
        other_text = same_units_text
        flag = "same"
    if c.other_units_score is None:
        return f"Later rows were predicted {tested_text}."
    method, value = c.other_units_score
    method_text = f" of {method}" if method != c.winner else ""
    return (
        f"Later rows were predicted {tested_text}; {other_text}, the "
        f"{c.metric}{method_text} would be {format_number(value)} (--units {flag})."
    )


def _shuffled_clause(c, known) -> str:
    """Clause on the score of shuffled folds, which test on what is `known`."""
    if c.shuffled_score is None:
        return ""
    method, value = c.shuffled_score
    method_text = f" of {method}" if method != c.winner else ""
    return f"; {known} the {c.metric}{method_text} would be {format_number(value)}"


def new_rows_phrase(c) -> str:
    """Phrase for the new rows of the score.

    Along time, how far ahead they are; with groups, of which they are.
    """
    if c.schema.group is not None and c.split.times(c.data) is None:
        return f"rows of a new {c.schema.group!r}"
    ahead = fold_horizon(c.split.folds, c.split.times(c.data))
    if not ahead:
        return "new rows"
    steps = "one step" if ahead == 1 else f"{ahead:,} steps"
    if c.split.units:
        unit_kind = "the same" if c.split.units == "same" else "new"
        return f"rows of {unit_kind} {c.schema.group!r}, up to {steps} ahead"
    if c.schema.time == ROW_ORDER:
        return f"new rows up to {steps} ahead"
    return f"new rows up to {steps} of {c.schema.time!r} ahead"


def _familiar_clause(c, row) -> str:
    """The score in a metric that needs no explanation, if another one ranks."""
    name = FAMILIAR_METRICS.get(c.schema.task)
    if name == c.metric or name not in row.scores:
        return ""
    score = row.scores[name].mean
    if name == "mae":
        return f", off by {format_number(score)} on average"
    dummy = next((r for r in c.leaderboard if r.method == DUMMY), None)
    right = f", right in {100 * score:.0f} % of rows"
    if name == "label accuracy":
        right = f", right in {100 * score:.0f} % of answers"
    if dummy is None or row is dummy:
        return right
    of_dummy = dummy.scores[name].mean
    fewer = ", which is no better" if score <= of_dummy else ""
    return f"{right} (the dummy in {100 * of_dummy:.0f} %{fewer})"


def _gain_sentence(c) -> str:
    """Sentence on the gain over the dummy and over the plain model, with intervals."""
    if c.winner == DUMMY or not c.baselines:
        return ""
    clauses = [gain_clause(c, b) for b in c.baselines]
    hint = "" if c.metrics[0].greater else " Less is better."
    subject = verb_for(c.winner, "It is", "They are")
    return f"{subject} {join_names(clauses)}.{hint}"


def gain_clause(c, baseline) -> str:
    """Against one baseline."""
    d = baseline.difference
    name = BASELINE_NAMES.get(baseline.method, f"plain {baseline.method}")
    gain = d.mean if c.metrics[0].greater else -d.mean
    low, high = sorted((d.low, d.high) if c.metrics[0].greater else (-d.high, -d.low))
    level = 95
    doubt = ""
    if baseline.significant and low <= 0:  # the test is one-sided
        level = 90
        reach = student_quantile(0.9, c.estimates.df) * d.error
        low, high = gain - reach, gain + reach
    elif low > 0 and not baseline.significant:
        doubt = f", not counting that {len(c.leaderboard)} methods were tried"
    low, high, gap = format_differences(low, high, abs(gain))
    span = f"{level} % interval {low} to {high}{doubt}"
    if baseline.significant:
        return f"better than {name} by {gap} ({span})"
    if gain > 0:
        return f"not surely better than {name} (by {gap}, {span})"
    return f"no better than {name} (worse by {gap}, {span})"


def next_step_sentence(c) -> str:
    """Sentence on the next step."""
    alarms = sum(f.severity == "alarm" for f in c.findings)
    if not c.complete:
        return "Next: finish the run (--resume), which was interrupted."
    if alarms:
        subject = "this alarm" if alarms == 1 else f"these {alarms} alarms"
        return f"Next: look into {subject} about the table before trusting any number."
    if c.winner == DUMMY and c.split.times(c.data) is not None:
        n_folds = 4 * c.settings["folds"]
        return (
            f"Next: judge forecasts that look less far ahead (--folds {n_folds}), or "
            f"get columns that tell about {c.schema.target!r} in advance."
        )
    if c.winner == DUMMY:
        return (
            "Next: do not use a model of these columns; get columns that tell about "
            f"{c.schema.target!r}, or more rows."
        )
    if not beats_dummy(c):
        return (
            "Next: do not rely on it yet; it takes more rows, or columns that tell "
            f"more about {c.schema.target!r}, to be sure that it beats the dummy."
        )
    open_ = [r.method for r in c.leaderboard if r.standing is Standing.UNDECIDED]
    use = (
        f"`pansophy predict {c.folder}/model.pansophy new.csv` answers for new rows"
        if c.folder is not None
        else "`result.predict(new_table)` answers for new rows"
    )
    if c.keep_reason is KeepReason.UNDECIDED_BEST and open_:
        return (
            f"Next: {use}; more rows would tell whether {join_names(open_[:2])} "
            f"{verb_for(open_[0]) if len(open_) == 1 else 'are'} as good."
        )
    return f"Next: {use}."

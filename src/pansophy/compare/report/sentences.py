"""Sentences about a comparison that terminal, page and notebook share."""

import numpy as np

from ...plot.style import short_name
from ..evaluation.bayesian_tests import ALMOST_CERTAIN, PROBABLE
from ..evaluation.paired_tests import DUMMY
from ..evaluation.ranking import Standing, without_selection_bias
from ..evaluation.wording import (
    describe_probabilities,
    format_percent,
    join_names,
    verb_for,
)
from .formatting import (
    format_differences,
    format_interval,
    format_number,
    with_article,
)
from .headline import headline_sentences


def setting_sentence(c) -> str:
    """Sentence on the methods compared and on their folds."""
    s = c.settings
    target = short_name(c.schema.target, 60)
    reason = c.schema.why.replace(c.schema.target, target)
    inputs = "input" if s["inputs"] == 1 else "inputs"
    return (
        f"{task_name(c.schema)} of {target!r} ({reason}{positive_clause(c.schema)}): "
        f"{s['rows']} rows, "
        f"{s['inputs']} {inputs}, {s['repeats']} x {s['folds']} {c.split.kind} folds, "
        f"seed {s['seed']}"
    )


def positive_clause(schema) -> str:
    """Clause on which of two classes the scores of one class are about."""
    if len(schema.classes) != 2:
        return ""
    return f"; positive is {short_name(str(schema.classes[1]), 40)!r}"


def task_name(schema) -> str:
    """The task in words; classes that have an order are called so."""
    ordered = getattr(schema, "ordered", False)
    return "classification into ordered classes" if ordered else schema.task


def tradeoff_sentence(c) -> str:
    """Sentence on the gain of the top scorer, where a simpler method is kept."""
    result = c.tradeoff
    if result is None:
        return ""
    g, name = result.gain, result.method
    luck = ""
    if (
        result.selection_bias is not None
        and 0.02 * g.mean < result.selection_bias < g.mean
    ):
        luck = f", of which {result.selection_bias:.2g} is the luck of being picked"
    mean, low, high = format_differences(g.mean, abs(g.low), g.high)
    low, high = (f"{low} lost", f"{high} gained") if g.low < 0 else (low, high)
    return (
        f"Keeping {name} instead of {c.winner} would be expected to gain {mean} "
        f"of {c.metric} (95 % interval {low} to {high}){luck}; keep='best' (--keep "
        "best) does so."
    )


def clipping_sentence(c) -> str:
    """Sentence that an interval ends where the metric does, if one does."""
    bounds = {m.name: m.bounds for m in c.metrics}
    names = [
        name
        for name in c.leaderboard[0].scores
        if any(_is_clipped(r.scores[name], bounds.get(name)) for r in c.leaderboard)
    ]
    if not names:
        return ""
    return (
        f"Where an interval would leave what the metric can be ({join_names(names, 3)})"
        " it is cut there; ± is the other side."
    )


def shared_p_sentence(c) -> str:
    """Sentence on why methods have the very same p value, if some do."""
    p = [r.p for r in c.leaderboard[1:] if 0.001 <= r.p < 1]
    if len(set(p)) == len(p):
        return ""
    return (
        "P values are adjusted together, none below that of a method further from the "
        "best; so several are the same."
    )


def _is_clipped(i, bounds) -> bool:
    if bounds is None or not np.isfinite([i.mean, i.low, i.high]).all():
        return False
    lower, upper = i.mean - i.low, i.high - i.mean
    return (i.low == bounds[0] and lower < upper) or (
        i.high == bounds[1] and upper < lower
    )


def selection_bias_sentence(c) -> str:
    """Sentence on the selection bias of the best of several scores."""
    if len(c.leaderboard) < 2 or c.leaderboard[0].method == DUMMY:
        return ""
    best = c.leaderboard[0].scores[c.metric]
    corrected = without_selection_bias(best, c.selection_bias, c.metrics[0])
    seen, expected = format_number(best.mean), format_number(corrected.mean)
    if seen == expected:
        tied = [
            r
            for r in c.leaderboard[1:]
            if r.standing in (Standing.TIED, Standing.UNDECIDED)
        ]
        if not tied:
            return (
                "The best was clear enough that little of its score is the luck of "
                "being picked."
            )
        undecided = any(r.standing is Standing.UNDECIDED for r in tied)
        rivals = "those it is not told from" if undecided else "the ties"
        return (
            f"Having chosen the best from {len(c.leaderboard)} by these rows adds too "
            f"little luck to show. That says nothing about {rivals}."
        )
    return (
        f"The best scored {seen} here; being picked as best of {len(c.leaderboard)} "
        f"takes some luck, so expect about {expected} on new rows."
    )


def _runner_up_sentence(c) -> str:
    """The best against the runner-up, in probabilities."""
    ranked = [r for r in c.leaderboard[1:] if r.method != DUMMY]
    rows = [r for r in ranked if r.probabilities is not None]
    if not rows:
        return ""
    best = c.leaderboard[0].method
    runner_up = rows[0].method
    p = type(rows[0].probabilities)(*rows[0].probabilities[::-1])
    if max(p) < PROBABLE and p.worse < 1 - ALMOST_CERTAIN:
        return (
            f"Against the runner-up alone, {best} {verb_for(best)} better than "
            f"{runner_up} with a probability of {format_percent(p.better)}, "
            f"practically equal (within {c.rope:.2g} of {c.metric}) with "
            f"{format_percent(p.equivalent)} and worse with {format_percent(p.worse)}."
        )
    text = describe_probabilities(
        p, best, runner_up, c.rope, c.metric, whether="whether"
    )
    return f"Against the runner-up alone, {text}"


def _race_sentence(c) -> str:
    """Sentence on the methods that were stopped in the race, if any were."""
    stops = {r.method: r.stopped for r in c.leaderboard if r.stopped is not None}
    if not stops:
        return ""
    fits = sorted({s.fits for s in stops.values()})
    planned = next(iter(stops.values())).planned
    fits_text = f"{fits[0]}" if len(fits) == 1 else f"{fits[0]} to {fits[-1]}"
    subject = "method was" if len(stops) == 1 else "methods were"
    pronoun = "it" if len(stops) == 1 else "them"
    return (
        f"{len(stops)} {subject} stopped after {fits_text} of {planned} fits, when "
        f"chance could no longer bring {pronoun} to the top: "
        f"{join_names(list(stops), 3)} (race=False, --no-race, fits all to the end)."
    )


def supporting_sentences(c) -> list[str]:
    """Sentences that support the verdict."""
    texts = [
        tradeoff_sentence(c),
        _runner_up_sentence(c),
        selection_bias_sentence(c),
        _race_sentence(c),
        _holdout_sentence(c),
        _level_sentence(c),
    ]
    return [capitalised(t) for t in texts if t]


def summary_sentences(c) -> list[str]:
    """The headline, the verdict and what stands behind it."""
    return [
        *headline_sentences(c),
        capitalised(c.verdict),
        *supporting_sentences(c),
    ]


def _level_sentence(c) -> str:
    """Sentence that, along time, intervals promise nothing for later rows."""
    if c.level_promised:
        return ""
    text = (
        "Intervals and sets of predictions do not promise their level for later rows: "
        "along time what comes may differ from what was seen"
    )
    held = c.level_reached(0.9)
    if held is None:
        return f"{text}."
    far = "" if abs(held - 0.9) <= 0.05 else ", which is not near it"
    return (
        f"{text}; made from earlier rows, those of 90 % held {100 * held:.0f} % of the "
        f"later rows here{far}."
    )


def capitalised(text) -> str:
    return text[:1].upper() + text[1:]


def _holdout_sentence(c) -> str:
    """Sentence on the ranking on the test set."""
    t = c.holdout
    if t is None:
        return ""
    reference = next((r for r in t.rows if r.method == t.reference), t.rows[0])
    better = [r.method for r in t.rows if r.verdict == "better"]
    text = (
        f"On the {t.n:,} rows of the test table {reference.method} "
        f"{verb_for(reference.method, 'has', 'have')} {with_article(t.metric)} of "
        f"{format_number(reference.score.mean)} (95 % interval "
        f"{format_interval(reference.score)})"
    )
    if not better:
        return f"{text}; nothing is better there beyond chance."
    return f"{text}; {', '.join(better)} did better there beyond chance."

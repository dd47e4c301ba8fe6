"""The first screen of a report: the answer, how sure it is, what to do next.

For somebody who has not studied statistics: how many of 100 new rows are answered
rightly, or how far off an answer is, beside what a guess without any column reaches.
The sentences in the terms of the metric follow below (`headline`).
"""

from typing import NamedTuple

from ..evaluation.paired_tests import DUMMY
from ..evaluation.ranking import KeepReason, Standing
from ..evaluation.wording import join_names, verb_for
from .formatting import format_number
from .headline import (
    FAMILIAR_METRICS,
    beats_dummy,
    new_rows_phrase,
    next_step_sentence,
)
from .sentences import capitalised

DOTS = 100


class FirstScreen(NamedTuple):
    """What stands on the first screen."""

    answer: str
    figure: str  # the large number: "74 of 100"
    explanation: str  # what the number is of, and what a guess reaches
    low: str
    high: str
    dots: tuple[int, int] | None  # of 100 rows: right by guessing, right by the model
    sure: list[str]
    next: list[str]


def first_screen(c) -> FirstScreen:
    """The first screen of a comparison."""
    name = FAMILIAR_METRICS.get(c.schema.task)
    row = c.row(c.winner)
    if name not in row.scores:
        name = c.metric
    score = row.scores[name]
    guess = next((r.scores[name] for r in c.leaderboard if r.method == DUMMY), None)
    is_share = name in ("accuracy", "label accuracy")
    if is_share:
        figure, explanation = _share_words(c, score, guess)
        low, high = (f"{100 * v:.0f}" for v in (score.low, score.high))
    else:
        figure, explanation = _distance_words(c, name, score, guess)
        low, high = format_number(score.low), format_number(score.high)
    dots = None
    if is_share and guess is not None:
        dots = (round(100 * guess.mean), round(100 * score.mean))
    return FirstScreen(
        _answer_sentence(c),
        figure,
        explanation,
        low,
        high,
        dots,
        _sureness_sentences(c),
        _next_sentences(c),
    )


def _answer_sentence(c) -> str:
    """Which method to use, or that none is of use."""
    if c.winner == DUMMY:
        return "Do not use a model: no method here is better than a guess."
    if not beats_dummy(c):
        return f"Do not rely on it yet: {c.winner} may be no better than a guess."
    return f"Use {c.winner}."


def _share_words(c, score, guess) -> tuple[str, str]:
    """Answers that are right, of 100."""
    subject = "answers" if c.schema.task == "multilabel" else new_rows_phrase(c)
    explanation = f"{subject} are answered rightly"
    if guess is not None and c.winner != DUMMY:
        explanation += (
            f"; always giving the commonest answer gets {100 * guess.mean:.0f}"
        )
    return f"{100 * score.mean:.0f} of 100", f"{explanation}."


def _distance_words(c, name, score, guess) -> tuple[str, str]:
    """How far off an answer is on average."""
    if name != "mae":
        return format_number(score.mean), f"is the {name} on {new_rows_phrase(c)}."
    explanation = f"off on average, for {new_rows_phrase(c)}"
    if guess is not None and c.winner != DUMMY:
        explanation += (
            f"; always giving the same number is off by {format_number(guess.mean)}"
        )
    return format_number(score.mean), f"{explanation}."


def _sureness_sentences(c) -> list[str]:
    """How sure the answer is: against a guess, a plain model, and the others."""
    sentences = []
    if c.winner != DUMMY:
        sure = beats_dummy(c)
        sentences.append(
            "That it is better than a guess is more than chance."
            if sure
            else "That it is better than a guess may be chance."
        )
    for b in c.baselines:
        if b.method in (DUMMY, c.winner):
            continue
        sentences.append(
            f"It is better than the simple {b.method} by more than chance."
            if b.significant
            else f"Whether it is better than the simple {b.method} cannot be told from "
            "these rows."
        )
    undecided = [r.method for r in c.leaderboard if r.standing is Standing.UNDECIDED]
    undecided = [n for n in undecided if n not in (DUMMY, c.winner)]
    undecided = [n for n in undecided if n not in {b.method for b in c.baselines}]
    if undecided and c.winner != DUMMY:
        sentences.append(
            capitalised(f"{join_names(undecided, 2)} may be as good: there are too ")
            + "few rows to tell."
        )
    alarms = sum(f.severity == "alarm" for f in c.findings)
    if alarms:
        alarm_phrase = "an alarm" if alarms == 1 else f"{alarms} alarms"
        sentences.append(
            f"All of it holds only if {alarm_phrase} about the table can be explained."
        )
    return sentences


def _next_sentences(c) -> list[str]:
    """What to do next, and the plain model as a way out where it may be as good."""
    sentences = [next_step_sentence(c).removeprefix("Next: ")]
    sentences[0] = (
        sentences[0][:1].upper() + sentences[0][1:]
        if sentences[0][:1] != "`"
        else sentences[0]
    )
    plain = [
        b.method
        for b in c.baselines
        if b.method not in (DUMMY, c.winner) and not b.significant
    ]
    is_top = c.keep_reason in (KeepReason.UNDECIDED_BEST, KeepReason.TOP_SCORER)
    if plain and is_top and c.winner != DUMMY and beats_dummy(c):
        verb = verb_for(plain[0])
        name = plain[0].replace(" ", "-")
        sentences.append(
            f"If you have to explain it to others: {plain[0]} {verb} simpler and "
            f"perhaps as good (`--methods {name}` fits it alone)."
        )
    return sentences


def dot_rows(dots) -> list[list[str]]:
    """100 dots in ten rows: "guess", "gain", "lost" or "none"."""
    guess, right = dots
    kinds = ["guess"] * min(guess, right) + ["gain"] * max(right - guess, 0)
    kinds += ["lost"] * max(guess - right, 0)
    kinds += ["none"] * (DOTS - len(kinds))
    return [kinds[i : i + 10] for i in range(0, DOTS, 10)]

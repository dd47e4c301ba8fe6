"""Methodology section: the rule, the procedure, terms, commands to repeat the run."""

import shlex
from pathlib import Path

from ..evaluation.paired_tests import DUMMY, TestKind
from ..evaluation.ranking import LINEAR_BASELINES, KeepReason
from ..evaluation.wording import verb_for
from ..methods.excluded import SkipKind
from ..options import command_line_words, is_file_path
from .formatting import (
    describe_blend,
    format_differences,
    format_mean,
    format_number,
    format_seconds,
)

METRIC_TERMS = {
    "log loss": "How surprised the model is by what happened: minus the logarithm of "
    "the probability it gave to the right answer, averaged. 0 is perfect; it punishes "
    "being sure and wrong.",
    "accuracy": "The share of rows whose most probable class is the right one.",
    "balanced accuracy": "Accuracy within each class, averaged over classes: a rare "
    "class counts as much as a common one.",
    "brier score": "The squared distance between the probabilities given and what "
    "happened, averaged. 0 is perfect.",
    "roc auc": "How often a row of the class gets a higher probability than a row of "
    "another. 0.5 is guessing, 1 is perfect.",
    "average precision": "Precision averaged over all rows of the class, from the most "
    "to the least probable. Guessing gives the share of the class.",
    "f1": "The harmonic mean of precision and recall.",
    "rmse": "Root mean squared error, in the units of the target: large misses count "
    "more than small ones.",
    "mae": "Mean absolute error, in the units of the target: how far off a prediction "
    "is on average.",
    "r2": "The share of the variation of the target that is explained. 0 is no better "
    "than the mean, 1 is perfect; it can be negative.",
    "poisson deviance": "How far predicted rates are from counts, in the way that "
    "suits counts. 0 is perfect.",
    "ranked probability score": "For ordered classes: the squared distance between the "
    "cumulated probabilities given and what happened, averaged. 0 is perfect; a class "
    "next to the right one costs less than one far away.",
    "quadratic kappa": "For ordered classes: agreement beyond chance, where a miss "
    "counts by its squared number of steps. 1 is perfect, 0 is chance.",
    "class distance": "For ordered classes: how many steps the predicted class is from "
    "the right one on average.",
    "label accuracy": "The share of yes-no answers that are right, over all labels.",
    "exact match": "The share of rows with every label right.",
}
COMMON_TERMS = [
    (
        "Held out",
        "Not used for fitting. Every score on this page is about rows that the model "
        "had not seen.",
    ),
    (
        "Fold",
        "One of the parts the rows are cut into; each is held out once while the model "
        "learns from the others.",
    ),
    (
        "95 % interval",
        "If the whole study were repeated on fresh data, about 95 of 100 such "
        "intervals would hold the true value.",
    ),
    (
        "Tied",
        "Almost certainly practically equal to the best.",
    ),
    (
        "Undecided",
        "The difference from the best may be chance, and may be real: there are not "
        "enough rows to tell.",
    ),
    (
        "Practically equal",
        "A difference too small to matter, however sure one is of it.",
    ),
    ("Dummy", "Ignores all columns and always gives the same answer."),
]


TEST_WORDS = {
    TestKind.ROWS: "paired test of held-out rows",
    TestKind.GROUPS: "paired test of held-out groups",
    TestKind.TIME: "Diebold-Mariano test along time",
    TestKind.FOLDS: "corrected paired t-test of folds",
}
KEEP_RULES = {
    KeepReason.TOP_SCORER: "nothing simpler is as good as the best, which is kept.",
    KeepReason.REQUESTED: "the best is kept, as asked for.",
    KeepReason.SIMPLER_EQUAL: "the simplest method that is practically equal to the "
    "best is kept.",
    KeepReason.UNDECIDED_BEST: "the best is kept; rows are too few to tell whether a "
    "simpler method is as good.",
    KeepReason.DUMMY_BEST: "the dummy scores best.",
    KeepReason.DUMMY_EQUAL: "nothing is practically better than the dummy.",
}


def keep_rule_sentence(c) -> str:
    """Sentence on the rule that decided which method is kept."""
    rule = KEEP_RULES.get(c.keep_reason, f"{c.keep_reason}.")
    text = f"What decided: {rule} The kept method is fitted again on all rows."
    kept = c.row(c.winner)
    best = c.leaderboard[0]
    if kept is best or kept.difference is None:
        return text
    d = kept.difference
    gap, low, high = format_differences(abs(d.mean), d.low, d.high)
    return (
        f"{text} {kept.method} {verb_for(kept.method)} {gap} of {c.metric} from "
        f"{best.method} (95 % interval of the difference {low} to {high})."
    )


def kept_model_paragraph(c) -> str:
    """The kept model in one paragraph."""
    row = c.row(c.winner)
    method = c.trial(c.winner).method
    origin = getattr(method, "path", "") or "An estimator of your own"
    if method.members:
        origin = f"An average of {describe_blend(method.blend_weights)}"
    text = (
        f"{origin}. Its {c.metric} is {format_mean(row.scores[c.metric])}, for new rows"
    )
    return (
        f"{text}; a fit takes {format_seconds(row.fit_seconds)}, a prediction "
        f"{format_seconds(row.predict_micros / 1e6)}. The pictures show rows held out "
        "in the first cross-validation."
    )


def method_paragraphs(c) -> list[str]:
    """Paragraphs on the procedure, for somebody who has not done it before."""
    s = c.settings
    reason = getattr(c.split, "why", "")
    fits = s["folds"] * s["repeats"]
    cut = getattr(c.split, "kind", None) or s.get("split", "")
    paragraphs = [
        f"The rows were cut into {s['folds']} {cut} folds"
        + (f" ({reason})" if reason else "")
        + (f", {s['repeats']} times over" if s["repeats"] > 1 else "")
        + f": {fits} fits for each method, on the same rows for all of them. Filling "
        "in, encoding and scaling were learned inside each fold." + _race_text(c),
        "Every row was predicted by models that had not seen it. The interval of a "
        "score holds for new rows: it allows for the luck of the rows that were tested "
        "and for the luck of those that were learned from, which folds share. No "
        "interval reaches beyond what a metric can be (an accuracy of 1, a loss of 0): "
        "it is cut there.",
        f"Each method is compared with the best on the same rows "
        f"({TEST_WORDS[c.leaderboard[0].test]}), and the p values are adjusted for the "
        "best having been picked from so many. Not being told apart is not being "
        "equal: a method is tied with the best only if it is almost certainly within "
        f"{c.rope:.2g} of its {c.metric}, and undecided otherwise.",
    ]
    linear = next(
        (r.method for r in c.leaderboard if r.method in LINEAR_BASELINES), None
    )
    held = f"the {DUMMY}" + (f" and {linear}, the plain linear model" if linear else "")
    paragraphs.append(
        f"Anything worth keeping should beat {held}. A method that failed, ran out of "
        "time or memory in any fold is not ranked."
    )
    pretrained = [t.method.name for t in c.trials if t.method.pretrained]
    if pretrained:
        paragraphs.append(
            f"The weights of the {pretrained[0]} come with the library. They were "
            "trained on made-up tables only: it had seen none of these rows, and no "
            "real table, before."
        )
    if c.selection_bias > 0:
        paragraphs.append(
            "The best of several scores is partly luck. Scores drawn around those seen "
            "tell how much better the best looks than it is: "
            f"{format_number(c.selection_bias)} of its {c.metric}. Score and interval "
            "to expect of it are moved by that."
        )
    return paragraphs


def _race_text(c) -> str:
    """Sentences on the rule by which methods stopped in the race, if any did."""
    if not any(r.stopped for r in c.leaderboard):
        return ""
    return (
        " Between two cross-validations a method was stopped if what it was behind a "
        "simpler one was more than the folds to come could make up by chance; in at "
        "most 5 of 100 comparisons that stops a method that would have come first. It "
        "is ranked by the fits it had, compared with the others on the same folds, and "
        "counts among the methods for which p values are adjusted."
    )


def glossary(c) -> list[tuple[str, str]]:
    """Terms that this page uses."""
    names = list(c.leaderboard[0].scores)
    terms = {n: METRIC_TERMS[n] for n in names if n in METRIC_TERMS}
    if len(c.schema.classes) == 2:
        for name in ("f1", "average precision"):
            if name in terms:
                terms[name] += f" Here of the class {str(c.schema.classes[1])!r}."
    return [*terms.items(), *COMMON_TERMS]


def _effective_options(c) -> dict:
    """The options that lead to the same comparison, as far as they are recorded."""
    s = c.settings
    named = any(skip.kind is SkipKind.NOT_REQUESTED for skip in c.skipped)
    tried = [t.method.name for t in c.trials if t.method.name != DUMMY]
    options = {
        "task": c.schema.task,
        "metric": c.metric,
        "group": c.schema.group,
        "time": c.schema.time,
        "weight": c.schema.weight,
        "methods": tried if named else None,
        "folds": s["folds"],
        "repeats": s["repeats"],
        "tune": s.get("tune") or None,
        "by": s.get("by"),
        "costs": s.get("costs"),
        **s.get("options", {}),
    }
    return {name: value for name, value in options.items() if value is not None}


def commands_to_repeat(c) -> list[str]:
    """Commands that repeat the comparison: at a shell where possible, and in Python."""
    s = c.settings
    options = _effective_options(c)
    targets = list(c.schema.targets)
    target = targets[0] if len(targets) == 1 else targets
    arguments = ", ".join(f"{k}={v!r}" for k, v in options.items())
    python = (
        f"pansophy.compare(table, {target!r}, {arguments}, random_state={s['seed']})"
    )
    has_user_methods = any(t.method.estimator is not None for t in c.trials)
    roles = options.get("roles", {}).values()
    has_levels = any(not isinstance(role, str) for role in roles)
    if has_user_methods or has_levels or not is_file_path(c.dataset.source):
        return [python]  # a command line has no words for these
    words = ["pansophy", "compare", Path(str(s.get("source", "TABLE"))).name]
    for name in targets:
        words += ["--target", name]
    for name, value in options.items():
        words += command_line_words(name, value)
    lines = [shlex.join([*words, "--seed", str(s["seed"])]), python]
    if c.folder is not None:
        rerun = shlex.join(["pansophy", "rerun", Path(c.folder).name])
        lines.insert(0, f"{rerun}    # every number, bit for bit")
    return lines

"""How the comparison was made: the rule, the procedure, terms, commands to repeat."""

import shlex

from ..evaluation.paired_tests import DUMMY
from ..evaluation.ranking import LINEAR_BASELINES
from ..evaluation.wording import verb_for
from ..methods.excluded import SkipKind
from ..options import command_line_words, is_file_path
from .formatting import (
    describe_blend,
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
        "The difference from the best is no larger than chance explains. It does not "
        "say that the two are equal; more rows might tell them apart.",
    ),
    (
        "Practically equal",
        "A difference too small to matter, however sure one is of it.",
    ),
    ("Dummy", "Ignores all columns and always gives the same answer."),
]


def keep_rule_sentence(c) -> str:
    """Which method is kept, and why that one."""
    best = c.leaderboard[0]
    kept = c.row(c.winner)
    if c.settings.get("keep") == "best":
        return (
            "Kept and fitted again on all rows: the method that scores best, as asked "
            "for, and not the simplest of those tied with it."
        )
    text = (
        "Kept and fitted again on all rows: the simplest method that is tied with the "
        "best and within one standard error of it, or almost certainly practically "
        "equal to it"
    )
    if kept is best:
        return text + "; here that is the best itself."
    d = kept.difference
    return (
        f"{text}. {kept.method} {verb_for(kept.method)} "
        f"{format_number(abs(d.mean))} from {best.method}; the standard error of that "
        f"difference is {format_number(d.error)}."
    )


def kept_model_paragraph(c) -> str:
    """The kept model in one paragraph."""
    row = c.row(c.winner)
    method = c.trial(c.winner).method
    made = getattr(method, "path", "") or "An estimator of your own"
    if method.members:
        made = f"An average of {describe_blend(method.blend_weights)}"
    text = (
        f"{made}. Its {c.metric} is {format_mean(row.scores[c.metric])}, for new rows"
    )
    return (
        f"{text}; a fit takes {format_seconds(row.fit_seconds)}, a prediction "
        f"{format_seconds(row.predict_micros / 1e6)}. The pictures show rows held out "
        "in the first cross-validation."
    )


def method_paragraphs(c) -> list[str]:
    """What was done, for somebody who has not done it before."""
    s = c.settings
    why = getattr(c.split, "why", "")
    fits = s["folds"] * s["repeats"]
    cut = getattr(c.split, "kind", None) or s.get("split", "")
    out = [
        f"The rows were cut into {s['folds']} {cut} folds"
        + (f" ({why})" if why else "")
        + (f", {s['repeats']} times over" if s["repeats"] > 1 else "")
        + f": {fits} fits for each method, on the same rows for all of them. Filling "
        "in, encoding and scaling were learned inside each fold.",
        "Every row was held out, so that its loss is known under models that did not "
        "see it. Intervals are for new rows: the variance of these losses over rows, "
        "times 1 + test rows / training rows for what other training rows would have "
        "changed (Nadeau and Bengio). No interval reaches beyond what a metric can be "
        "(an accuracy of 1, a loss of 0): it is cut there.",
        "Each method is tested against the best on the same rows (paired losses; along "
        "time by Diebold and Mariano with Harvey's correction), and the p values are "
        "adjusted for the best having been picked from so many. The probabilities of "
        "being better, practically equal or worse come from the posterior of the "
        "difference; differences within "
        f"{c.rope:.2g} of {c.metric} count as practically equal.",
    ]
    linear = next(
        (r.method for r in c.leaderboard if r.method in LINEAR_BASELINES), None
    )
    held = f"the {DUMMY}" + (f" and {linear}, the plain linear model" if linear else "")
    out.append(
        f"Anything worth keeping should beat {held}. A method that failed, ran out of "
        "time or memory in any fold is not ranked."
    )
    if c.expected is not None:
        out.append(
            "The best of several scores is partly luck. By choosing the best on rows "
            "drawn with replacement and scoring it on the rest, its expected score on "
            f"new rows is {format_number(c.expected)}."
        )
    return out


def glossary(c) -> list[tuple[str, str]]:
    """Terms that this page uses."""
    names = list(c.leaderboard[0].scores)
    return [(n, METRIC_TERMS[n]) for n in names if n in METRIC_TERMS] + COMMON_TERMS


def effective_options(c) -> dict:
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
    options = effective_options(c)
    targets = list(c.schema.targets)
    target = targets[0] if len(targets) == 1 else targets
    given = ", ".join(f"{k}={v!r}" for k, v in options.items())
    python = f"pansophy.compare(table, {target!r}, {given}, random_state={s['seed']})"
    has_user_methods = any(t.method.estimator is not None for t in c.trials)
    roles = options.get("roles", {}).values()
    has_levels = any(not isinstance(role, str) for role in roles)
    if has_user_methods or has_levels or not is_file_path(c.dataset.source):
        return [python]  # a command line has no words for these
    words = ["pansophy", "compare", str(s.get("source", "TABLE"))]
    for name in targets:
        words += ["--target", name]
    for name, value in options.items():
        words += command_line_words(name, value)
    lines = [shlex.join([*words, "--seed", str(s["seed"])]), python]
    if c.folder is not None:
        rerun = shlex.join(["pansophy", "rerun", str(c.folder)])
        lines.insert(0, f"{rerun}    # every number, bit for bit")
    return lines

"""The parts of a report: pictures, a block for each method, what was not run."""

import re
from typing import Any

import numpy as np

from ...plot.style import short_name
from ..judging.ranking import DUMMY, listed
from . import drawings, views
from .parts import Block, Group, Picture, Table, picture
from .text import against, between, chances, folded, seconds, spread

MOST = 15  # seconds that a learning curve may take
CELLS = 100  # fold scores shown of one method


def overall(c) -> list[Picture]:
    """Scores, and score against time."""
    m = len(c.leaderboard)
    best = c.leaderboard[0]
    seen = f"{c.metric} of {m} methods; {best.method} is best with "
    return [
        picture(
            "Scores",
            "Points are means over all folds, filled for the kept method; thick lines "
            "are 95 % intervals over folds, thin ones over rows. Grey methods are "
            "worse than the best beyond chance, or no better than the dummy; far "
            "worse ones lie outside." + left_out(m - len(drawings.shown(c))),
            lambda ax: drawings.scores(c, ax),
            "a",
            seen + spread(best.scores[c.metric]),
            height=1.0 + 0.3 * len(drawings.shown(c)),
        ),
        picture(
            "Quality against time",
            "Better is up, faster is left. The pale line joins the methods that no "
            "other beats in both. Seconds are medians on the machine that ran this.",
            lambda ax: drawings.quality_time(c, ax),
            "b",
            f"{c.metric} against seconds of a fit for {m} methods",
            height=3.6,
        ),
    ]


def left_out(k) -> str:
    return f" {k} of the worst are left out." if k > 0 else ""


def winner_pictures(c) -> list[Picture]:
    """What the kept model does, on rows it had not seen."""
    makers = {
        "classification": class_pictures,
        "multilabel": class_pictures,
        "regression": number_pictures,
        "count": number_pictures,
    }
    out = makers[c.schema.task](c)
    if c.winner != DUMMY:
        out += inside_pictures(c)
    return out


def class_pictures(c) -> list[Picture]:
    two = c.schema.task == "classification" and len(c.schema.classes) == 2
    out = [
        picture(
            "Calibration",
            "How often what was given a probability came true. On the dotted line "
            "probabilities mean what they say; the band is a 95 % interval."
            + off_by(c),
            lambda ax: drawings.calibration(c, ax=ax),
            "c",
        ),
        picture(
            "ROC",
            "The share of the class that is found against the share of the others "
            "taken for it, as the threshold falls. The diagonal is guessing."
            + pooled(c),
            lambda ax: drawings.roc(c, ax=ax),
            "d",
        ),
        picture(
            "Precision and recall",
            "How many of those called positive are, against how many of the positive "
            "are called so. Tells more than the ROC where the class is rare.",
            lambda ax: drawings.precision_recall(c, ax=ax),
            "e",
        ),
    ]
    if c.schema.task == "classification":
        most = len(c.schema.classes)
        out.append(
            picture(
                "Confusion",
                "What was taken for what, deciding for the most probable class.",
                lambda ax: drawings.confusion(c, ax=ax),
                "f",
                height=float(np.clip(1.6 + 0.35 * most, 3.2, 6)),
            )
        )
    if two:
        out.append(
            picture(
                "Gain",
                "What share of the positive rows is found by looking at the most "
                "probable rows first.",
                lambda ax: drawings.gain(c, ax=ax),
                "g",
            )
        )
    return out


def pooled(c) -> str:
    """That one curve stands for many classes, where it does."""
    many = c.schema.task == "multilabel" or len(c.schema.classes) > drawings.LINES
    return (
        " Rows of all classes are pooled, so the area is not the mean over classes "
        "that the table shows."
        if many
        else ""
    )


def off_by(c) -> str:
    """The mean gap between probabilities and what came true."""
    from ..judging.calibration import calibration_error

    h = views.held_out(c)
    flat = c.schema.task == "multilabel"
    y, p, w = h.y, h.p, h.weight
    if flat:
        y, p, w = y.ravel(), p.ravel(), drawings.repeated(h, p.shape[1])
    return f" On average they are off by {calibration_error(y, p, weights=w):.2g}."


def number_pictures(c) -> list[Picture]:
    return [
        picture(
            "Residuals",
            "Actual minus predicted, against the prediction. A pattern here is "
            "something the model has not learned.",
            lambda ax: drawings.residuals(c, ax=ax),
            "c",
        ),
        picture(
            "How far off",
            "How the residuals are spread. Two humps or a long tail mean that one "
            "interval width does not fit all rows.",
            lambda ax: drawings.residuals(c, ax=ax, kind="histogram"),
            "d",
        ),
    ]


def inside_pictures(c) -> list[Picture]:
    """What the model relies on, and whether more rows would help."""
    out = [
        picture(
            "What it relies on",
            f"How much worse the {c.metric} of held-out rows gets when one column is "
            "shuffled. Columns that tell the same story share the credit.",
            lambda ax: drawings.importance(c, ax=ax),
            "h",
            height=1.0 + 0.24 * min(len(c.schema.used), drawings.BARS),
        )
    ]
    try:
        top = drawings.top_columns(c, 3)
    except Exception:  # said by the picture above
        top = []
    for i, name in enumerate(top):
        out.append(
            picture(
                f"If only {short_name(name, 40)} changed",
                "The mean prediction for held-out rows when this column is set to each "
                "value and all others stay. It shows the model, not causes.",
                lambda ax, name=name: drawings.partial_dependence(c, None, name, ax=ax),
                f"p{i}",
            )
        )
    if views.learning_seconds(c) <= MOST:
        out.append(learning_picture(c))
    return out


def learning_picture(c) -> Picture:
    made = picture("Would more rows help?", "", lambda ax: drawings.learning_curve(
        c, ax=ax), "l")  # fmt: skip
    if not made.svg:
        return made
    told = {
        "rising": "The held-out score still rises: more rows are likely to help.",
        "flat": "The held-out score is flat: more rows of the same kind would hardly "
        "help.",
        "unclear": "Whether more rows would help cannot be told from these folds.",
    }[views.learning(c).verdict]
    return made._replace(caption=f"{told} Score by the number of training rows.")


def weak(c) -> list[str]:
    try:
        return [str(s) for s in views.weak_slices(c)]
    except Exception:  # an extra; nothing else depends on it
        return []


def blocks(c) -> list[Block]:
    """One for each method that was tried, ranked ones first."""
    out = [block(c, row) for row in c.leaderboard]
    for name, why in c.disqualified:
        out.append(Block(name, "not ranked", f"Not ranked: {why}.", None, None, ""))
    return out


def block(c, row) -> Block:
    trial = c.trial(row.method)
    brief = f"{c.metric} {spread(row.scores[c.metric])}, {against(row)}"
    told = []
    if row.odds is not None:
        d = row.difference
        told.append(
            f"Against {c.leaderboard[0].method}: {chances(row)}. Difference "
            f"{d.mean:.3g}, 95 % interval {d.low:.3g} to {d.high:.3g}, p "
            f"{row.p:.2g} (adjusted)."
        )
    told.append(
        f"A fit took {seconds(row.fit_seconds)} in the median, "
        f"{seconds(max(trial.fit_seconds))} at most, "
        f"{seconds(float(np.sum(trial.fit_seconds)))} in all."
    )
    told += [f"Warning: {row.remarks}."] if row.remarks else []
    body = [[name, spread(s), between(s)] for name, s in row.scores.items()]
    facts = Table("Scores", ["metric", "mean", "95 % interval"], body,
                  [False, True, True])  # fmt: skip
    return Block(
        row.method, brief, " ".join(told), facts, fold_table(c, trial), made_of(trial)
    )


def fold_table(c, trial) -> Table:
    """The ranking metric, a line for each repeat."""
    scores, k = trial.scores[c.metric][:CELLS], c.settings["folds"]
    lines = [scores[i : i + k] for i in range(0, len(scores), k)]
    body = [
        [f"repeat {i + 1}", *(f"{x:#.4g}" for x in line)]
        for i, line in enumerate(lines)
    ]
    head = [c.metric, *(f"fold {j + 1}" for j in range(len(lines[0])))]
    return Table("Scores by fold", head, body, [False] + [True] * len(lines[0]))


CHOSEN = ("best_params_", "alpha_", "l1_ratio_", "C_", "lambda_", "n_iter_", "weights_")


def made_of(trial) -> str:
    """The estimator as code, and what it chose by itself."""
    if getattr(trial.method, "members", ()):
        return f"the average of {trial.parts}"  # without fitting them again
    model: Any = trial.model
    if model is None:
        return getattr(trial.method, "path", "")
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    lines = [re.sub(r" at 0x[0-9a-f]+", "", " ".join(str(last).split()))[:600]]
    for name in CHOSEN:
        value = getattr(last, name, None)
        if value is not None and np.size(value) <= 8:
            lines.append(f"chosen: {name.rstrip('_')} = {told(value)}"[:300])
    return "\n".join(lines)


def told(value) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {told(v)}" for k, v in value.items())
    if isinstance(value, (int, float, np.number)):
        return f"{value:.4g}"
    return str(value)


def not_run(c) -> list[Group]:
    """By what could be done about it: little, install something, or nothing."""
    kinds: dict[str, list[tuple[str, str]]] = {}
    for name, why in c.not_run:
        kinds.setdefault(kind_of(name, why), []).append((name, why))
    order = [k for k in KINDS if k in kinds]
    return [Group(k, len(kinds[k]), folded(kinds[k])) for k in order]


KINDS = (
    "Too slow or too large for the limits",
    "Not installed",
    "Not asked for",
    "Not suited to this table, or spoken for by a method that ran",
    "Parts of the library for other tasks",
)


def kind_of(name, why) -> str:
    if "pip install" in why or "not installed" in why or "imported" in why:
        return KINDS[1]
    if why == "not asked for":
        return KINDS[2]
    if any(w in why for w in (" limit", "seconds", "memory", " MB", " GB")):
        return KINDS[0]
    if name.startswith("pansophy.") or "does not predict a target" in why:
        return KINDS[4]
    return KINDS[3]


def columns(c) -> Table:
    used = {k.name for k in c.schema.used}
    body = [
        [k.name, k.role if k.name in used else f"{k.role}, left out", k.why]
        for k in c.schema.columns
    ]
    return Table("Columns", ["column", "used as", "why"], body, [False] * 3)


def data_views(c) -> list[Picture]:
    """The unsupervised view of the table, if it was taken."""
    from .explored import pictures

    return [] if c.overview is None else pictures(c.overview)


def holds(c) -> list:
    """What every column holds, if the table was looked at."""
    from .explored import column_rows

    return [] if c.overview is None else column_rows(c.overview)


def circumstances(c) -> Table:
    s = c.settings
    body = [["seed", str(s["seed"])]]
    names = ("data_hash", "finished", "seconds", "machine", "time_limit")
    label = {"data_hash": "data (SHA-256)", "seconds": "took, in seconds"}
    label["time_limit"] = "limit, in seconds"
    body += [[label.get(n, n), str(s[n])] for n in names if s.get(n) is not None]
    if c.folder is not None:
        body.append(["run folder", str(c.folder)])
    found = (f"{n} {v}" for n, v in s.get("versions", {}).items())
    body.append(["versions", ", ".join(found)])
    return Table("Circumstances", ["what", "value"], body, [False, False])


def licences(c) -> Table:
    """Of the packages that took part."""
    from importlib import metadata

    names = {n for n in c.settings.get("versions", {}) if n != "python"}
    names |= {getattr(t.method, "path", "").split(".")[0] for t in c.trials}
    names = {{"sklearn": "scikit-learn"}.get(n, n) for n in names if n}
    body = []
    for name in sorted(names):
        try:
            body.append([name, licence(metadata.metadata(name))])
        except metadata.PackageNotFoundError:
            continue
    return Table("Licences", ["package", "licence"], body, [False, False])


def licence(about) -> str:
    """As the package declares it, in a few words."""
    stated = about.get("License-Expression")
    if stated:
        return stated
    kinds = [k for k in about.get_all("Classifier") or [] if k.startswith("License ::")]
    if kinds:
        return listed([k.rsplit(" :: ", 1)[-1] for k in kinds])
    text = (about.get("License") or "not stated").strip()
    return text.splitlines()[0][:80]

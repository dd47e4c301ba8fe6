"""A model card: what a kept model is for, how good it is, and for whom it may fail.

Plain text and numbers, the same in the report and in the model file (`facts["card"]`),
without paths of the machine and without times, so that equal runs write equal cards.
"""

from pathlib import PurePath

from ... import __version__
from ...plot.style import short_name

MAX_LETTERS = 48  # of a name
MAX_LISTED = 5  # columns, parts of the table, findings


def model_card(c, weak_parts=None) -> dict[str, str]:
    """Heading -> text of the card of what a comparison kept.

    `weak_parts` names the parts of the table with more loss; None if not looked for.
    """
    s = c.settings
    score = c.expected_score
    source = s.get("source")
    data = f"{s['rows']:,} rows, {len(c.schema.used)} columns used"
    if source:
        data = f"{PurePath(str(source)).name}: {data}"
    if s.get("data_hash"):
        data += f"; SHA-256 {s['data_hash'][:16]}"
    card = {
        "predicts": f"{short_name(c.schema.target, MAX_LETTERS)!r} ({c.schema.task})",
        "classes": ", ".join(map(str, c.schema.classes[:20])),
        "method": c.winner,
        "data": data,
        "columns": _column_list([k.name for k in c.schema.used]),
        "expected score": (
            f"{c.metric} {score.mean:.4g} (95 % interval {score.low:.4g} to "
            f"{score.high:.4g}) on rows like these"
        ),
        "judged by": f"{s['repeats']} x {s['folds']} {c.split.kind} folds",
        "may fail for": _failing_parts(weak_parts),
        "limits": _grave_findings(c),
        "not for": (
            "rows of another kind, place or time than those it was fitted on, and "
            "decisions about people without a person who answers for them"
        ),
        "made by": f"pansophy {__version__}, seed {s['seed']}",
    }
    return {name: text for name, text in card.items() if text}


def _column_list(names) -> str:
    """The first names, and how many more there are."""
    n_more = len(names) - 20
    return ", ".join(names[:20]) + (f" and {n_more} more" if n_more > 0 else "")


def _failing_parts(weak_parts) -> str:
    """Parts of the table with more loss than others, beyond chance."""
    if weak_parts is None:
        return ""
    if not weak_parts:
        return "no part of the table has more loss than the others, beyond chance"
    return "; ".join(weak_parts[:MAX_LISTED])


def _grave_findings(c) -> str:
    """Alarms and warnings about the table."""
    grave = [f for f in c.findings if f.severity in ("alarm", "warning")]
    return " ".join(f.text for f in grave[:MAX_LISTED])

"""A comparison as plain text."""

from .result import spread


def render(c) -> str:
    """Everything a reader needs, in the order in which it is needed."""
    s = c.settings
    lines = [
        f"{c.schema.task} of {c.schema.target!r} ({c.schema.why}): {s['rows']} rows, "
        f"{s['inputs']} inputs, {s['repeats']} x {s['folds']} {s['split']} folds, "
        f"seed {s['seed']}"
    ]
    if not c.complete:
        lines.append("INCOMPLETE: interrupted before all methods were done.")
    lines += ["", *leaderboard(c), "", *summary(c)]
    return "\n".join(lines)


def leaderboard(c) -> list[str]:
    """The table: ranking metric first, 95 % intervals after ±."""
    names = list(c.leaderboard[0].scores)[:3]
    head = ["", "method", *names, "against best", "fit s", ""]
    body = [
        [
            f"{'*' if row.method == c.winner else ' '}{row.rank}",
            row.method,
            *[spread(row.scores[n]) for n in names],
            against(row),
            f"{row.fit_seconds:.2g}",
            row.remarks,
        ]
        for row in c.leaderboard
    ]
    widths = [max(len(r[i]) for r in [head, *body]) for i in range(len(head))]
    table = [[cell.ljust(w) for cell, w in zip(r, widths)] for r in [head, *body]]
    return ["  ".join(r).rstrip() for r in table]


def against(row) -> str:
    if row.verdict == "best":
        return "best"
    p = "p < 0.001" if row.p < 0.001 else f"p = {row.p:.3f}"
    return f"{row.verdict}, {p}"


def summary(c) -> list[str]:
    lines = [c.verdict]
    if c.expected is not None and len(c.leaderboard) > 1:
        lines.append(
            f"On new rows expect a {c.metric} of about {c.expected:.4g} from the best: "
            "being picked as best of several takes some luck."
        )
    lines.append(f"Kept: {c.winner} (marked *).")
    for title, pairs in (("Disqualified", c.disqualified), ("Not run", c.not_run)):
        lines += [f"{title}: {name} ({why})." for name, why in pairs]
    lines += [f"Note: {note}" for note in c.notes]
    return lines

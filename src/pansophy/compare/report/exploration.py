"""The results of `diagnose.explore` as figures and tables for the pages."""

from typing import NamedTuple

import numpy as np

from ...diagnose.data.columns import date_text
from ...diagnose.data.notebook_view import sparkline
from ...diagnose.findings import by_severity
from ...diagnose.leakage.target_views import drawable_columns
from ...plot.style import BLUE, GREY, INK, LINE, line_style, short_name, short_names
from .elements import MAX_COLUMNS_LISTED, Figure, HtmlTable, make_figure
from .formatting import format_number
from .plots import add_hover
from .target_figures import target_figures

MAX_POINTS = 500  # of the map: more hide each other and make the page heavy
MAX_MISSING_COLUMNS = 20  # columns with missing values shown
MAX_ASSOCIATED_COLUMNS = 24  # columns of the picture of associations
MAX_CLUSTERS = 6  # clusters told apart
MAX_NUMBERED_COLUMNS = 12  # columns whose associations are written into the picture
MAX_DRIFT_COLUMNS = 60  # columns of the table of drift


class ColumnTableRow(NamedTuple):
    """One line of the table of columns."""

    name: str
    kind: str
    missing: str
    distinct: str
    summary: str  # mean and limits, or the usual levels
    shape: str  # a tiny histogram, SVG
    label: str


def exploration_figures(overview) -> list[Figure]:
    """The map of rows, the associations and what is missing, as far as there is any."""
    o = getattr(overview, "overview", overview)
    figures = [_row_map_figure(o), _association_figure(o), _missing_values_figure(o)]
    return [p for p in figures if p is not None]


def _row_map_figure(o) -> Figure | None:
    """Rows as points in the plane of two components."""
    if not o.components or len(o.components["shares"]) < 2:
        return None
    shares, k = o.components["shares"], o.clusters["k"]
    groups = (
        "No clear clusters were found."
        if k == 1
        else f"{k} clusters were found (silhouette {o.clusters['silhouette']:.2f})"
        f"{_cluster_description(o)}."
    )
    odd = o.outliers.get("count", 0)
    far = f" Rings mark odd rows ({odd:,} in all)." if odd else ""
    sample_text = f" A sample of {o.sampled:,} rows." if o.sampled < o.rows else ""
    held = f"Two components that hold {sum(shares[:2]):.0%} of the variance of the "
    held += "prepared columns"
    if sum(shares[:2]) > 0.9995:  # there are no more than two to begin with
        held = (
            "The prepared columns, turned so that rows differ most from left to right"
        )
    return make_figure(
        "The rows as points",
        f"{held}; rows near each other are alike. {groups}{far}{sample_text}",
        lambda ax: _draw_row_map(o, ax),
        "u",
        f"Rows in the plane of two principal components, {k} clusters",
        height=3.6,
    )


def _cluster_description(o) -> str:
    """Sentence on the columns that set the largest cluster apart."""
    descriptions = o.clusters.get("about") or []
    if not descriptions or not descriptions[0]:
        return ""
    name, shift = next(iter(descriptions[0].items()))
    ordered = any(k.name == name and k.kind in ("number", "date") for k in o.columns)
    way = ("higher " if shift > 0 else "lower ") if ordered else ""
    return f"; the largest is set apart most by {way}{short_name(name, 30)!r}"


def _draw_row_map(o, ax):
    Z = np.asarray(o.components["points"], dtype=float)[:MAX_POINTS]
    labels = np.asarray(o.clusters["labels"])[: len(Z)]
    for k in range(min(o.clusters["k"], MAX_CLUSTERS)):
        in_cluster = labels == k
        mark = {"color": line_style(k)["color"], "marker": "osD^vP"[k]}
        name = f"cluster {k + 1}"
        ax.scatter(*Z[in_cluster].T, s=10, lw=0, alpha=0.6, label=name, **mark)
    rest = labels >= MAX_CLUSTERS
    if rest.any():
        ax.scatter(*Z[rest].T, s=8, lw=0, alpha=0.5, color=GREY, label="others")
    scores = np.asarray(o.outliers.get("scores", []), dtype=float)[: len(Z)]
    limit = o.outliers.get("limit")
    if limit is not None and len(scores) == len(Z):
        far = scores > limit
        ax.scatter(*Z[far].T, s=36, facecolors="none", edgecolors=INK, lw=0.8)
    if o.clusters["k"] > 1:
        location = {
            "loc": "lower center",
            "bbox_to_anchor": (0.5, 1.0),
        }  # above all points
        ax.legend(
            **location, ncols=4, frameon=False, handletextpad=0.2, columnspacing=1.2
        )
    a = o.components["shares"]
    ax.set(xlabel=f"first component, {a[0]:.0%}", ylabel=f"second, {a[1]:.0%}")
    ax.grid(color=LINE)
    ax.set_axisbelow(True)


def _association_figure(o) -> Figure | None:
    """Associations of the columns that have the strongest ones."""
    names = o.association.get("names", [])
    if len(names) < 3:
        return None
    A = np.abs(np.asarray(o.association["matrix"], dtype=float))
    A = np.nan_to_num(A)
    np.fill_diagonal(A, 0)
    top = np.sort(np.argsort(-A.max(1), kind="stable")[:MAX_ASSOCIATED_COLUMNS])
    i, j = np.unravel_index(np.argmax(A), A.shape)
    np.fill_diagonal(A, 1)
    is_crowded = len(names) > MAX_ASSOCIATED_COLUMNS
    cut = (
        f" The {MAX_ASSOCIATED_COLUMNS} columns with the strongest ones."
        if is_crowded
        else ""
    )
    return make_figure(
        "Columns that go together",
        f"From 0, nothing in common, to 1, one tells the other. Strongest: "
        f"{short_name(names[i], 40)!r} and {short_name(names[j], 40)!r}, "
        f"{A[i, j]:.2f}.{cut}",
        lambda ax: _draw_associations(A[np.ix_(top, top)], [names[k] for k in top], ax),
        "v",
        f"Associations of {len(top)} columns",
        height=float(np.clip(1.4 + 0.2 * len(top), 3.2, 5.4)),
    )


def _draw_associations(A, names, ax):
    n = len(names)
    size = 8.5 if len(names) <= 12 else 7
    ax.pcolormesh(A, cmap="Blues", vmin=0, vmax=1, edgecolors="white", lw=0.5)
    ax.invert_yaxis()
    ax.set_aspect("equal")
    centers = np.arange(n) + 0.5
    for i, j in np.ndindex(n, n):
        if n <= MAX_NUMBERED_COLUMNS and i != j:
            color = "white" if A[i, j] > 0.55 else INK
            text = f"{A[i, j]:.2f}".removeprefix("0")
            place = {"ha": "center", "va": "center", "fontsize": 7 if n > 8 else 8}
            ax.text(centers[j], centers[i], text, color=color, **place)
    pairs = [(i, j) for i, j in np.ndindex(n, n) if i < j]
    labels = [f"{names[i]} and {names[j]}: {A[i, j]:.2f}" for i, j in pairs]
    add_hover(
        ax,
        [centers[j] for _, j in pairs],
        [centers[i] for i, _ in pairs],
        labels,
        size=120,
    )
    ax.set_yticks(centers, short_names(names, 18), fontsize=size)
    ax.set_xticks(centers, short_names(names, 12), fontsize=size, rotation=90)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _missing_values_figure(o) -> Figure | None:
    """Shares of missing values by column."""
    shares = sorted(o.missing.shares.items(), key=lambda kv: -kv[1])
    if not shares:
        return None
    caption = f"{o.missing.complete:,} of {o.missing.rows:,} rows are complete."
    if len(shares) > MAX_MISSING_COLUMNS:
        caption += (
            f" The {MAX_MISSING_COLUMNS} of {len(shares)} columns that miss most."
        )
    return make_figure(
        "Missing values",
        f"Share of the rows without a value. {caption}",
        lambda ax: _draw_missing_values(shares[:MAX_MISSING_COLUMNS], ax),
        "w",
        f"Missing values of {len(shares)} columns",
        height=1.0 + 0.24 * min(len(shares), MAX_MISSING_COLUMNS),
    )


def _draw_missing_values(shares, ax):
    place = np.arange(len(shares))
    ax.barh(place, [100 * s for _, s in shares], color=BLUE, height=0.7)
    ax.set_yticks(place, [short_name(n) for n, _ in shares])
    ax.set_ylim(len(shares) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("% missing")
    ax.grid(axis="x", color=LINE)
    ax.set_axisbelow(True)


def column_summaries(overview) -> list[ColumnTableRow]:
    """The columns in a line each, at most MAX_COLUMNS_LISTED of them."""
    o = getattr(overview, "overview", overview)
    rows = []
    for s in o.columns[:MAX_COLUMNS_LISTED]:
        share = s.missing / o.rows if o.rows else 0.0
        gone = f"{100 * share:.1f} %" if s.missing else ""
        counts = s.counts or [k for _, k in s.top]
        label = f"distribution of {short_name(s.name, 40)}"
        line = (s.name, s.kind, gone, f"{s.distinct:,}", _usual_values(s))
        rows.append(ColumnTableRow(*line, sparkline(counts, label), label))
    return rows


def _usual_values(s) -> str:
    if s.quantiles:
        low, middle, high = (s.quantiles[k] for k in (0, len(s.quantiles) // 2, -1))
        show = date_text if s.kind == "date" else format_number
        return f"{show(low)} to {show(high)}, middle {show(middle)}"
    return ", ".join(f"{short_name(v, 24)} ({k:,})" for v, k in s.top[:3])


def exploration_context(e, name=None) -> dict:
    """Everything that explore.html shows of an Exploration."""
    findings = by_severity(e.findings)
    o = e.overview
    task = f" ({e.task})" if getattr(e, "task", None) else ""
    target = getattr(e, "target", None)
    target = ", ".join(target) if isinstance(target, (list, tuple)) else target
    return {
        "name": name or "What is in the table",
        "rows": e.rows,
        "width": e.columns,
        "target": None if target is None else f"{target}{task}",
        "summary": _exploration_summary(e, findings),
        "alarms": [f for f in findings if f.severity == "alarm"],
        "findings": findings,
        "pictures": [] if o is None else exploration_figures(o),
        "views": target_figures(e.target_views()),
        "drawable": len(drawable_columns(e.part, e.targets)) if e.targets else 0,
        "columns": [] if o is None else column_summaries(o),
        "unlisted": 0 if o is None else max(len(o.columns) - MAX_COLUMNS_LISTED, 0),
        "patterns": None if o is None else _missing_pattern_table(o),
        "drift": _drift_table(getattr(e, "drift", None)),
    }


def _exploration_summary(e, findings) -> list[str]:
    """The verdict on the table, then what it looks like."""
    kinds = ("alarm", "warning", "note")
    counts = [sum(f.severity == kind for f in findings) for kind in kinds]
    counted = [
        f"{k} {kind}{'s' if k > 1 else ''}"
        for k, kind in zip(counts, kinds, strict=True)
        if k
    ]
    first = f"{', '.join(counted)}." if counted else "Nothing suspicious was found."
    overview_lines = [] if e.overview is None else str(e.overview).splitlines()
    return [first, *overview_lines]


def _drift_table(drift) -> HtmlTable | None:
    """Columns against those of the other table, changed ones first."""
    if drift is None:
        return None
    body = [
        [d.column, "yes" if d.drifted else "", f"{d.size:.2f}", f"{d.p:.2g}", d.about]
        for d in drift.columns[:MAX_DRIFT_COLUMNS]
    ]
    head = ["column", "drifted", "share moved", "p after Holm", "what changed"]
    numeric = [False, False, True, True, False]
    return HtmlTable("Drift", head, body, numeric)


def _missing_pattern_table(o) -> HtmlTable | None:
    """Table of columns that are missing together."""
    if not o.missing.patterns:
        return None
    body = [
        [", ".join(names) or "nothing", f"{count:,}"]
        for names, count in o.missing.patterns
    ]
    head = ["missing", "rows"]
    return HtmlTable("Patterns of missing values", head, body, [False, True])

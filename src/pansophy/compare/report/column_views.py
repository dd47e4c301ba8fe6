"""One column against the target: the mean target, or the shares of its classes.

A column of numbers is cut at quantiles into parts with about as many rows each, a
column of levels has a part for each of its common levels. Of every part the mean of
the target is shown (of classes and labels: the share), with a 95 % interval: Wilson's
for shares, Student's for means. These are the rows as they are, not a model.
"""

from typing import NamedTuple

import numpy as np

from ...diagnose.intervals import rate_interval
from ...diagnose.leakage.target_views import PARTS, explained_share, quantile_edges
from ...plot.style import (
    BLUE,
    GREY,
    draw_styled,
    line_style,
    pale_grid,
    row_axes,
    short_name,
    short_names,
)
from ...tables import Column
from ..evaluation.statistics import student_quantile
from .formatting import format_number

LEVELS = 8  # of a column of levels, the commonest
MAX_OUTPUTS = 4  # classes or labels drawn
MAX_COLUMNS = 12  # columns of a page


class ColumnView(NamedTuple):
    """The target in parts of the rows, cut by one column."""

    column: str
    target: str
    names: list[str]  # of the parts
    rows: np.ndarray  # (parts,) rows of each
    outputs: list[str]  # what is drawn: the target, classes or labels
    mean: np.ndarray  # (outputs, parts)
    low: np.ndarray
    high: np.ndarray
    strength: float  # share of the variance between the parts, beyond chance
    ordered: bool  # whether the parts have an order


def _shown_outputs(c) -> tuple[list[str], np.ndarray, bool]:
    """Names and values (n, outputs) of what is averaged, and whether it is shares."""
    s = c.schema
    y = c.data.y
    if s.task == "multilabel":
        return [str(k) for k in s.labels[:MAX_OUTPUTS]], y[:, :MAX_OUTPUTS] * 1.0, True
    if s.task != "classification":
        return [s.target], np.asarray(y, dtype=float)[:, None], False
    codes = [1] if len(s.classes) == 2 else list(range(len(s.classes)))[:MAX_OUTPUTS]
    return [str(s.classes[k]) for k in codes], (y[:, None] == codes) * 1.0, True


def column_view(c, name) -> ColumnView:
    """The target by the parts of one column."""
    from .plot_data import cached_view

    return cached_view(c, ("column", name), lambda: _compute_column_view(c, name))


def _columns_of_values(c) -> dict[str, tuple[int, Column]]:
    """Columns of values by name, with their places in the frame."""
    from .plot_data import columns_in_frame_order

    columns = [k for k in columns_in_frame_order(c) if k.role != "text"]
    return {k.name: (j, k) for j, k in enumerate(columns)}


def _column_parts(c, place, column) -> tuple[np.ndarray, list[str]]:
    """Codes (n,) and names of the parts of one column."""
    x = np.asarray(c.data.frame.values[:, place], dtype=float)
    return level_parts(x, column) if column.levels else parts_by_quantile(x)


def row_weights(c) -> np.ndarray:
    w = c.data.weight
    return np.ones(len(c.data)) if w is None else np.asarray(w, dtype=float)


def _compute_column_view(c, name) -> ColumnView:
    known = _columns_of_values(c)
    if name not in known:
        raise ValueError(f"{name!r} is no column of values; try {', '.join(known)}.")
    place, column = known[name]
    codes, names = _column_parts(c, place, column)
    outputs, Y, is_share = _shown_outputs(c)
    w = row_weights(c)
    parts = len(names)
    weight = np.bincount(codes, w, parts)
    mean = np.array([np.bincount(codes, w * v, parts) / weight for v in Y.T])
    squares = np.array([np.bincount(codes, w * v * v, parts) / weight for v in Y.T])
    rows = np.bincount(codes, minlength=parts)
    spread = np.sqrt(np.maximum(squares - mean**2, 0) / np.maximum(rows - 1, 1))
    if is_share:
        ends = [[rate_interval(p * n, n)[1:3] for p, n in zip(m, rows)] for m in mean]
        low, high = np.moveaxis(np.array(ends, dtype=float), 2, 0)
    else:
        reach = spread * [student_quantile(0.95, max(n - 1, 1)) for n in rows]
        low, high = mean - reach, mean + reach
    return ColumnView(
        column.name,
        c.schema.target,
        names,
        rows,
        outputs,
        mean,
        low,
        high,
        explained_share(codes, Y, w),
        not column.levels,
    )


def parts_by_quantile(x) -> tuple[np.ndarray, list[str]]:
    """Parts of numbers, cut at quantiles; missing ones are a part of their own."""
    seen = np.isfinite(x)
    values = np.unique(x[seen])
    if len(values) <= PARTS:
        codes = np.searchsorted(values, x)
        names = [format_number(v) for v in values]
    else:
        edges = quantile_edges(x[seen])
        codes = np.searchsorted(edges, x, side="left")
        inner = [f"to {format_number(v)}" for v in edges]
        names = [*inner, f"over {format_number(edges[-1])}"]
    codes = np.where(seen, codes, len(names))
    return _drop_empty_parts(codes, [*names, "missing"])


def level_parts(x, column) -> tuple[np.ndarray, list[str]]:
    """Parts of levels: the commonest, the others together, missing ones."""
    levels = [str(k) for k in column.levels]
    known = np.isfinite(x) & (x >= 0) & (x < len(levels))
    counts = np.bincount(x[known].astype(int), minlength=len(levels))
    kept = np.sort(np.argsort(-counts, kind="stable")[:LEVELS])
    place = np.full(len(levels) + 1, len(kept))
    place[kept] = np.arange(len(kept))
    codes = place[np.where(known, x, len(levels)).astype(int)]
    codes = np.where(np.isfinite(x), codes, len(kept) + 1)
    return _drop_empty_parts(codes, [*(levels[k] for k in kept), "other", "missing"])


def _drop_empty_parts(codes, names) -> tuple[np.ndarray, list[str]]:
    used, codes = np.unique(codes, return_inverse=True)
    return codes.ravel(), [names[k] for k in used]


def strongest_views(c) -> list[ColumnView]:
    """Views of the columns that tell most about the target, by themselves."""
    _, Y, _ = _shown_outputs(c)
    w = row_weights(c)
    strength = {}
    for name, (place, column) in _columns_of_values(c).items():
        codes, names = _column_parts(c, place, column)
        if len(names) > 1:
            strength[name] = explained_share(codes, Y, w)
    best = sorted(strength, key=lambda name: -strength[name])[:MAX_COLUMNS]
    return [column_view(c, name) for name in best]


@draw_styled
def draw_column_view(view, ax=None):
    """Points with their intervals, one line of text for each part."""
    from .plots import add_hover

    n = len(view.names)
    ax = row_axes(ax, n)
    place = np.arange(n)
    single = len(view.outputs) == 1
    share = 0.16 if len(view.outputs) > 1 else 0.0
    for k, output in enumerate(view.outputs):
        y = place + share * (k - (len(view.outputs) - 1) / 2)
        style = {"color": BLUE} if single else {"color": line_style(k)["color"]}
        mark = "osD^"[k]
        ax.hlines(y, view.low[k], view.high[k], lw=2, **style)
        label = short_name(output, 18)
        ax.plot(view.mean[k], y, mark, ms=5, ls="none", label=label, **style)
        labels = [
            f"{view.column} {name}: {output} {format_number(m)} "
            f"({format_number(a)} to {format_number(b)}), {rows:,} rows"
            for name, m, a, b, rows in zip(
                view.names, view.mean[k], view.low[k], view.high[k], view.rows
            )
        ]
        add_hover(ax, view.mean[k], y, labels)
    if view.ordered and single:
        known = [i for i in range(n) if view.names[i] != "missing"]
        ax.plot(view.mean[0][known], place[known], color=GREY, lw=1, zorder=1)
    ax.set_yticks(place, short_names(view.names, 20))
    ax.set_ylim(n - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    quantity = "mean" if view.outputs == [view.target] else "share of"
    ax.set_xlabel(
        f"{quantity} {short_name(view.outputs[0], 30)}" if single else "share"
    )
    if not single:
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False)
    pale_grid(ax, "x")
    return ax

"""Sentences, tables, pictures and files of a forecast.

The page is made of the elements and templates of the report of `compare`.
"""

import json
import warnings
from pathlib import Path

import numpy as np

from ... import __version__
from ...compare.evaluation.ranking import Standing
from ...compare.report.elements import HtmlTable, make_figure
from ...compare.report.formatting import format_number, format_seconds
from ...compare.report.html import load_template
from ...core.files.atomic_files import write_text_file
from ...core.files.previous_files import move_to_previous
from ...core.plain_text import counted_noun, plain_text
from ...plot.style import draw_styled, line_style, short_name
from ..panel import stamps_as_dates
from .method_table import REFERENCE

FILES = (
    "forecast.html",
    "forecasts.csv",
    "series.csv",
    "forecast.json",
    "model.pansophy",
)
MOST_FANS = 6
PAST_HORIZONS = 6  # of the past that a fan chart shows
MOST_ROWS = 200  # of a table of the page
NO_DIFFERENCE = 0.0005  # of a skill, that no percent shows


def share_text(x, digits=0) -> str:
    return "–" if not np.isfinite(x) else f"{100 * x:.{digits}f} %"


def stamp_texts(stamps) -> list[str]:
    """Dates without a clock where there is none."""
    texts = [str(s) for s in np.ravel(stamps)]
    if all(t.endswith("T00:00:00") for t in texts):
        texts = [t.removesuffix("T00:00:00") for t in texts]
    return [t.replace("T", " ") for t in texts]


# --- sentences -----------------------------------------------------------------------


def _panel_sentence(c) -> str:
    n = len(c.panel)
    low, high = int(c.panel.lengths.min()), int(c.panel.lengths.max())
    values = counted_noun(high, "value")
    span = values if low == high else f"{low:,} to {values}"
    sizes = c.model.level_sizes
    levels = f" on {len(sizes)} levels ({', '.join(map(str, sizes))})" if sizes else ""
    return (
        f"{n:,} series{levels}, {c.panel.frequency.name}, of {span}; "
        f"{counted_noun(c.horizon, 'step')} ahead."
    )


def _season_sentence(c) -> str:
    s = c.season
    source = "as given" if s.given else "usual at this frequency"
    if not s.lengths or round(s.lengths[0]) < 2:
        return "No season is assumed; give one with `season` if there is one."
    listed = ", ".join(f"{v:g}" for v in s.lengths)
    return (
        f"Seasons of {listed} steps, {source}; that of {round(s.lengths[0])} is "
        f"significant in {s.significant:,} of {s.series:,} series."
    )


def _error_sentence(skill) -> str:
    """An error against that of the seasonal naive forecast, from its skill."""
    if not np.isfinite(skill):
        return "its error cannot be compared, as the seasonal naive forecast has none"
    if abs(skill) < NO_DIFFERENCE:
        return "its error equals that of the seasonal naive forecast"
    if skill < -1:
        return f"its error is {1 - skill:.3g} times that of the seasonal naive forecast"
    return (
        f"its error is {share_text(abs(skill))} {'below' if skill > 0 else 'above'} "
        "that of the seasonal naive forecast"
    )


def _unchosen_sentence(c) -> str:
    """Why nothing was chosen, and what is kept."""
    if len(c.origins) > 1:
        reason = "No series changes before the last origin"
    else:
        reason = "There are too few values for earlier origins"
    return (
        f"{reason}, so that no method could be compared: the {c.kept} of exponential "
        "smoothing and both Theta methods is kept."
    )


def _reconciled_sentence(c) -> str:
    """What adding up did to the error in the test block."""
    sizes = c.model.level_sizes
    if not sizes:
        return ""
    effect = ""
    if np.isfinite(c.unreconciled_skill):
        effect = (
            f"; in the test block the skill was {share_text(c.unreconciled_skill, 1)} "
            f"before and is {share_text(c.test_skill, 1)} after"
        )
    return f"Forecasts of all levels are reconciled so that they add up{effect}."


def _kept_sentences(c) -> list[str]:
    """What was kept and why, and how it fared where nothing was chosen."""
    if not c.chosen:
        return [_unchosen_sentence(c), _reconciled_sentence(c)]
    first = c.ranking[0]
    is_reference = c.kept == REFERENCE
    tied = [r.method for r in c.ranking[1:] if r.standing is Standing.TIED]
    undecided = [r.method for r in c.ranking[1:] if r.standing is Standing.UNDECIDED]
    sentences = [
        f"The {c.kept} did best on {counted_noun(len(c.origins) - 1, 'earlier origin')}"
        f"{'' if is_reference else ': ' + _error_sentence(first.skill.mean)}."
    ]
    if tied:
        sentences.append(f"Practically equal: {', '.join(tied)}.")
    if undecided:
        sentences.append(f"Not told apart from it: {', '.join(undecided)}.")
    held = [
        f"its {k:g} % intervals held {share_text(np.nanmean(v))} of the values"
        for k, v in c.coverage.items()
    ]
    told = [] if is_reference and held else [_error_sentence(c.test_skill)]
    sentences.append(
        "In the test block, on which nothing was chosen, "
        + "; ".join([*told, *held])
        + "."
    )
    if is_reference or first.skill.mean <= 0:
        seasonal = c.season.lengths and round(c.season.lengths[0]) > 1
        sentences.append(
            "No method is better than repeating the last "
            f"{'season' if seasonal else 'value'}."
        )
    sentences.append(_reconciled_sentence(c))
    return sentences


def fallback_sentence(c) -> str:
    reasons = c.forecast.reasons
    unknown = np.isnan(c.forecast.mean).all(axis=1)
    sentences = []
    answered = np.flatnonzero((reasons != "") & ~unknown)
    if len(answered):
        first = answered[0]
        sentences.append(
            "The last season or value, repeated, is the forecast of "
            f"{len(answered)} of {len(reasons)} series, such as "
            f"{c.panel.names[first]}: {reasons[first]}."
        )
    unanswered = np.flatnonzero(unknown)
    if len(unanswered):
        sentences.append(
            f"{len(unanswered)} of {len(reasons)} series have no forecast, such as "
            f"{c.panel.names[unanswered[0]]}: {reasons[unanswered[0]]}."
        )
    return " ".join(sentences)


def _how_sentences(c) -> list[str]:
    cut = "at the same stamps" if c.together else "each at its own end"
    sentences = [_season_sentence(c)]
    if len(c.origins) > 1:
        n = len(c.origins) - 1
        lie = "lies 1 origin" if n == 1 else f"lie {n} origins, {c.horizon} steps apart"
        sentences.append(
            f"The last {c.horizon} values are the test block; before it {lie}, at "
            f"which every method forecast every series, cut {cut}."
        )
    if c.members:
        sentences.append(f"Blends are made of {', '.join(c.members)}.")
    sentences.append(
        "Skill is 1 less the geometric mean, over series, of the error over that of "
        "the seasonal naive forecast. Methods are compared series by series; with "
        "fewer than ten series, step by step along time."
    )
    sentences.append(
        "Intervals are conformal: scores of the origins, in units of what the method "
        "holds for the spread, pooled over series."
    )
    sentences.extend(f"{name} failed: {reason}" for name, reason in c.failures.items())
    return sentences


def _verdict_lines(c) -> list[str]:
    parts = [*_kept_sentences(c), fallback_sentence(c)]
    return [p for p in parts if p]


def _ranking_rows(c) -> list[list[str]]:
    rows = []
    for r in c.ranking:
        low, high = r.skill.low, r.skill.high
        span = f" ({share_text(low)} to {share_text(high)})" if np.isfinite(low) else ""
        rows.append(
            [
                r.method,
                f"{share_text(r.skill.mean, 1)}{span}",
                str(r.standing),
                share_text(r.test_skill, 1),
                f"{r.mase:.3f}",
                f"{r.bias:+.3f}",
                share_text(r.coverage),
                str(r.fallbacks),
                format_seconds(r.seconds),
            ]
        )
    return rows


RANKING_HEAD = [
    "method",
    "skill",
    "against the best",
    "skill in the test block",
    "MASE",
    "bias",
    "80 % held",
    "by fallback",
    "fit",
]


def forecast_text(c) -> str:
    """The result for a terminal."""
    lines = [_panel_sentence(c), _season_sentence(c), *c.notes, ""]
    if c.ranking:
        rows = [RANKING_HEAD, *_ranking_rows(c)]
        widths = [max(len(r[k]) for r in rows) for k in range(len(RANKING_HEAD))]
        shown = (0, 1, 2, 3, 6)
        for row in rows:
            lines.append("  ".join(row[k].ljust(widths[k]) for k in shown).rstrip())
        lines.append("")
    lines += _verdict_lines(c)
    lines += [f"{name} failed: {reason}" for name, reason in c.failures.items()]
    return plain_text("\n".join(lines))


# --- tables and pictures -------------------------------------------------------------


def shown_series(c) -> list[int]:
    """Series for the fan charts: the hardest, the easiest, and some between."""
    n = len(c.panel)
    if n <= MOST_FANS or not c.per_series:
        return list(range(min(n, MOST_FANS)))
    order = np.argsort(-np.nan_to_num(c.per_series["MASE"], nan=-1.0), kind="stable")
    return [int(order[k]) for k in np.linspace(0, n - 1, MOST_FANS).round().astype(int)]


def _fan_figure(c, i):
    """The end of a series, its forecast, and the intervals."""
    panel, forecast = c.panel, c.forecast
    n = min(int(panel.lengths[i]), PAST_HORIZONS * c.horizon)
    past = np.arange(panel.ends[i] - n, panel.ends[i])
    ahead = panel.ends[i] + np.arange(c.horizon)
    convert = lambda k: stamps_as_dates(panel.frequency, k)

    @draw_styled
    def draw(ax):
        ax.plot(convert(past), panel.series[i][-n:], **line_style(0), label="values")
        for level, ends in sorted(forecast.intervals.items(), reverse=True):
            ax.fill_between(
                convert(ahead),
                ends[i, :, 0],
                ends[i, :, 1],
                alpha=0.2,
                color="C1",
                linewidth=0,
                label=f"{level:g} %",
            )
        ax.plot(convert(ahead), forecast.mean[i], color="C1", label="forecast")
        ax.legend(loc="upper left", fontsize="small")
        ax.tick_params(axis="x", labelrotation=30)

    name = short_name(panel.names[i]) if len(panel) > 1 else c.target
    return make_figure(name, forecast.reasons[i], draw, f"fan-{i}")


def _skill_figure(c):
    rows = c.ranking[::-1]

    @draw_styled
    def draw(ax):
        place = np.arange(len(rows))
        middle = np.array([100 * r.skill.mean for r in rows])
        low = np.array([100 * r.skill.low for r in rows])
        high = np.array([100 * r.skill.high for r in rows])
        reach = np.nan_to_num([middle - low, high - middle])
        ax.errorbar(middle, place, xerr=reach, fmt="o", markersize=4)
        ax.plot([100 * r.test_skill for r in rows], place, "x", label="test block")
        ax.axvline(0, color="0.6", linewidth=0.8)
        ax.set_yticks(place, [r.method for r in rows])
        ax.set_xlabel("skill against seasonal naive, %")
        floor = min(-100.0, 1.0) if middle.min() < -100 else None
        ax.set_xlim(left=floor)
        ax.legend(fontsize="small")

    caption = "Dots: earlier origins, with 95 % intervals; crosses: the test block."
    return make_figure("Skill", caption, draw, "skill")


def _coverage_figure(c):
    @draw_styled
    def draw(ax):
        steps = np.arange(1, c.horizon + 1)
        for k, (level, held) in enumerate(c.coverage.items()):
            style = line_style(k)
            ax.plot(steps, 100 * held, **style, label=f"{level:g} % intervals")
            ax.axhline(level, color=style["color"], linewidth=0.7, linestyle=":")
        ax.set_ylim(0, 105)
        ax.set_xlabel("step ahead")
        ax.set_ylabel("values held, %")
        ax.legend(fontsize="small", loc="lower left")

    caption = (
        "Share of the test block within the intervals, which were calibrated on the "
        "origins before it."
    )
    return make_figure("Coverage by step", caption, draw, "coverage")


def _component_figure(c):
    """What the fit of the first series is made of."""
    parts = c.model.forecaster.components()
    panel = c.panel
    ordinals = np.arange(panel.start[0], panel.ends[0])

    @draw_styled
    def draw(ax):
        ax.plot(
            stamps_as_dates(panel.frequency, ordinals),
            panel.series[0],
            "k.",
            markersize=2,
            label="values",
        )
        for k, (name, values) in enumerate(parts.items()):
            ax.plot(
                stamps_as_dates(panel.frequency, ordinals),
                values[0],
                **line_style(k),
                label=name,
            )
        ax.legend(fontsize="small")
        ax.tick_params(axis="x", labelrotation=30)

    title = f"What the fit of {short_name(panel.names[0])} is made of"
    return make_figure(title, "", draw, "components")


def forecast_table(c) -> HtmlTable:
    forecast = c.forecast
    stamps = stamp_texts(forecast.stamps)
    levels = sorted(forecast.intervals)
    head = ["series", "time", "forecast"]
    head += [f"{level:g} %" for level in levels]
    body = []
    for i, name in enumerate(c.panel.names):
        for h in range(c.horizon):
            row = [name, stamps[i * c.horizon + h], format_number(forecast.mean[i, h])]
            for level in levels:
                low, high = forecast.intervals[level][i, h]
                row.append(f"{format_number(low)} to {format_number(high)}")
            body.append(row)
    caption = ""
    if len(body) > MOST_ROWS:
        caption = (
            f"The first {MOST_ROWS} of {len(body):,} rows; all are in forecasts.csv."
        )
    numeric = [False, False, *[True] * (len(head) - 2)]
    return HtmlTable("Forecasts", head, body[:MOST_ROWS], numeric, caption)


def _per_series_table(c) -> HtmlTable:
    columns = c.per_series
    errors = ("MASE", "MASE of seasonal naive", "MASE in the test block")
    order = np.argsort(-np.nan_to_num(columns["MASE"], nan=-1.0), kind="stable")
    body = [
        [
            c.panel.names[i],
            str(columns["values"][i]),
            *[format_number(columns[k][i]) for k in errors],
        ]
        for i in order[:MOST_ROWS]
    ]
    head = ["series", "values", *errors]
    caption = "Hardest first; all series are in series.csv."
    return HtmlTable("Series", head, body, [False, *[True] * 4], caption)


# --- page and files ------------------------------------------------------------------


def render_forecast(c) -> str:
    """The page as text."""
    ranking = None
    if c.ranking:
        numeric = [False, True, False, *[True] * 6]
        ranking = HtmlTable("Methods", RANKING_HEAD, _ranking_rows(c), numeric)
    not_tried = None
    if c.skipped:
        body = [[name, reason] for name, reason in c.skipped.items()]
        not_tried = HtmlTable("Not tried", ["method", "reason"], body, [False, False])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_template("forecast.html").render(
            version=__version__,
            target=c.target,
            subtitle=_panel_sentence(c),
            headline=_verdict_lines(c),
            fans=[_fan_figure(c, i) for i in shown_series(c)],
            forecasts=forecast_table(c),
            ranking=ranking,
            comparison=[_skill_figure(c)] if c.ranking else [],
            test=[_coverage_figure(c)] if c.ranking else [],
            per_series=_per_series_table(c) if c.ranking else None,
            notes=c.notes or ["Every grid point has one row with a value."],
            parts_of=[_component_figure(c)],
            how=_how_sentences(c),
            not_tried=not_tried,
        )


def write_forecast(c, folder) -> dict[str, Path]:
    """Write page, forecasts, series, results and model; their places by name."""
    import pyarrow as pa
    import pyarrow.csv

    from ...persist import save

    folder.mkdir(parents=True, exist_ok=True)
    move_to_previous(folder, list(FILES))
    places = {name: folder / name for name in FILES}
    write_text_file(places["forecast.html"], render_forecast(c))
    text = json.dumps(c.to_dict(), indent=2, ensure_ascii=False, default=float)
    write_text_file(places["forecast.json"], text + "\n")
    pyarrow.csv.write_csv(c.table(), places["forecasts.csv"])
    if c.per_series:
        columns = {k: pa.array(np.asarray(v)) for k, v in c.per_series.items()}
        pyarrow.csv.write_csv(pa.table(columns), places["series.csv"])
    save(c.model, places["model.pansophy"])
    return {
        "Report": places["forecast.html"],
        "Forecasts": places["forecasts.csv"],
        "Model": places["model.pansophy"],
        "Results": places["forecast.json"],
    }

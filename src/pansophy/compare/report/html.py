"""A comparison as one HTML page: no other file, all text escaped.

Its only script sorts the leaderboard. The policy of the page allows that one script by
its hash and nothing else; without scripts the page is complete.
"""

import base64
import hashlib
import json
import os
import warnings
from importlib import resources
from pathlib import Path

from ... import __version__
from ...core.files.atomic_files import write_text_file
from ...core.files.previous_files import move_to_previous
from ...core.plain_text import plain_text
from ...diagnose.findings import by_severity, merge_notes
from ...plot.style import short_name
from ..execution.progress import StepDisplay
from ..model.model_card import model_card
from . import decisions, holdout_and_groups, methodology, plot_data, sections
from .first_screen import dot_rows, first_screen
from .formatting import (
    describe_blend,
    describe_warnings,
    format_interval,
    format_mean,
    format_probabilities,
    format_seconds,
    standing_and_p,
)
from .headline import headline_sentences
from .sentences import (
    capitalised,
    positive_clause,
    shared_p_sentence,
    supporting_sentences,
    task_name,
)
from .shared_figures import SharedFigures

MAX_TARGET_LETTERS = 48  # letters of the target that a heading shows
STEP_NAMES = {
    "Results": "writing the results",
    "Model": "fitting {} on all rows",
    "Report": "drawing the figures of the report",
}
FIGURES = "figures"  # key of figures that are being drawn
MAX_OPEN_ROWS = 20  # methods of the leaderboard that are not folded


def write_results(comparison, folder, progress=False) -> dict[str, Path]:
    """Write results, report and model to a folder; their names and places.

    Each is written even if another cannot be; then OSError names those that failed.
    `progress` is True, False or None for a terminal only.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not _is_own_folder(comparison, folder):
        move_to_previous(folder, ["results.json", "model.pansophy", "report.html"])
        comparison.written_to.append(folder.resolve())
    _begin_figures(comparison)  # while the model is fitted
    writers = {
        "Results": (folder / "results.json", _write_json),
        "Model": (folder / "model.pansophy", type(comparison).save),
        "Report": (folder / "report.html", write_report),
    }
    written: dict[str, Path] = {}
    problems = []
    with StepDisplay(progress) as steps:
        for name, (path, write) in writers.items():
            steps.tell(STEP_NAMES[name].format(comparison.winner))
            options = {"tell": steps.tell} if name == "Report" else {}
            try:
                write(comparison, path, **options)
            except OSError as error:
                problems.append(str(error))
            else:
                written[name] = path.resolve()
    if problems:
        written_names = [path.name for path in written.values()]
        rest = (
            f"What could be written is there: {', '.join(written_names)}."
            if written_names
            else ""
        )
        raise OSError(" ".join([*problems, rest]).strip())
    return {name: written[name] for name in ("Report", "Model", "Results")}


def _is_own_folder(comparison, folder) -> bool:
    """Whether results in a folder are those of this comparison."""
    own_folders = (
        [] if comparison.folder is None else [Path(comparison.folder).resolve()]
    )
    return folder.resolve() in [*own_folders, *comparison.written_to]


def _write_json(comparison, path) -> Path:
    """Write the results as JSON."""
    text = json.dumps(comparison.to_dict(), indent=2, ensure_ascii=False)
    return write_text_file(path, text + "\n")


def write_report(comparison, path, tell=None) -> Path:
    """Render and write the page; the folder is made if need be.

    `tell` is called with each step of drawing, as `StepDisplay.tell` is.
    """
    path = Path(os.fspath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_text_file(path, render_report(comparison, tell))


def load_template(name):
    """A page that escapes whatever it is given."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    env = Environment(
        loader=PackageLoader("pansophy.compare.report", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_plain_page_text,
    )
    filters = (
        describe_blend,
        describe_warnings,
        format_interval,
        format_mean,
        format_probabilities,
        format_seconds,
        probability_bar,
        standing_and_p,
        with_code,
    )
    env.filters |= {f.__name__: f for f in filters}
    script = _package_script()
    known = {"script": script, "script_hash": script_hash(script)}
    return env.get_template(name, globals=known)


def _plain_page_text(value):
    """Texts without control characters; what is markup already stays as it is."""
    return plain_text(value) if type(value) is str else value


def with_code(text):
    """Escaped text whose parts in backticks are set as code."""
    from markupsafe import Markup, escape

    parts = plain_text(text).split("`")
    if len(parts) % 2 == 0:  # a backtick of a name
        return escape(text)
    pairs = zip(parts[::2], [*parts[1::2], None])
    return Markup("").join(
        escape(sentence)
        if code is None
        else Markup("{}<code>{}</code>").format(sentence, code)
        for sentence, code in pairs
    )


def _package_script() -> str:
    """The script that sorts tables; the page works without it."""
    templates = resources.files("pansophy.compare.report").joinpath("templates")
    return templates.joinpath("sort.js").read_text("utf-8").strip()


def script_hash(text) -> str:
    """By which the page's policy knows its one script."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def probability_bar(row) -> list[tuple[str, str]]:
    """Parts of the bar of a method, in percent."""
    o = row.probabilities
    parts = (("b", o.better), ("e", o.equivalent), ("w", o.worse))
    return [(k, f"{100 * v:.1f}") for k, v in parts]


def render_report(c, tell=None) -> str:
    """The page as text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_template("report.html").render(**_report_context(c, tell))


def _without_folders(c, text) -> str:
    """The sentence with the name of the run's folder in place of its path."""
    if c.folder is None:
        return text
    return text.replace(f"{c.folder}/", f"{Path(c.folder).name}/")


def _weak_part_names(c) -> list[str] | None:
    """Names of the parts of the table with more loss; None if they cannot be told."""
    try:
        return [part.name for part in plot_data.weak_slices(c)]
    except Exception:  # an extra: nothing else depends on it
        return None


def _begin_figures(c) -> None:
    """Begin the learning curve and the figures, in the background, if need be."""
    if FIGURES in c._views:
        return
    c._views[FIGURES] = SharedFigures(c)
    if sections.has_learning_curve(c):
        plot_data.begin_learning_curve(c)


def _report_context(c, tell=None) -> dict:
    """Everything the page shows, in its order."""
    _begin_figures(c)
    figures = c._views.pop(FIGURES).drawn(tell)
    in_section = lambda name: [
        f for (s, _), k in figures.items() if s == name for f in k
    ]
    kept = in_section("kept model")
    if sections.has_learning_curve(c):
        kept.append(sections.learning_curve_figure(c))
    findings = merge_notes(by_severity(c.findings))
    first = first_screen(c)
    first = first._replace(next=[_without_folders(c, text) for text in first.next])
    return {
        "c": c,
        "version": __version__,
        "settings": c.settings,
        "schema": c.schema,
        "task": task_name(c.schema),
        "split": c.split.kind,
        "target": short_name(c.schema.target, MAX_TARGET_LETTERS),
        "why": c.schema.why.replace(
            c.schema.target, short_name(c.schema.target, MAX_TARGET_LETTERS)
        )
        + positive_clause(c.schema),
        "headline": [
            _without_folders(c, text)
            for text in headline_sentences(c)
            if not text.startswith("Next: ")  # stands on the first screen
        ],
        "sentences": [capitalised(c.verdict), *supporting_sentences(c)],
        "alarms": [f for f in findings if f.severity == "alarm"],
        "findings": findings,
        "notes": c.notes,
        "metrics": list(c.leaderboard[0].scores)[:4],
        "greater": c.metrics[0].greater,
        "top": c.leaderboard[:MAX_OPEN_ROWS],
        "rest": c.leaderboard[MAX_OPEN_ROWS:],
        "remarks": any(r.warnings for r in c.leaderboard),
        "rope": f"{c.rope:.2g} of {c.metric}",
        "rule": f"{methodology.keep_rule_sentence(c)} {shared_p_sentence(c)}".strip(),
        "test": methodology.TEST_WORDS[c.leaderboard[0].test],
        "overall": in_section("overview"),
        "views": in_section("data"),
        "by_column": in_section("columns"),
        "columns": sections.column_table(c),
        "about": methodology.kept_model_paragraph(c),
        "pictures": kept,
        "weak": sections.weak_subgroups(c),
        "extra": [
            p
            for p in (
                holdout_and_groups.holdout_section(c),
                holdout_and_groups.group_section(c),
            )
            if p
        ],
        "holds": sections.column_contents(c),
        "decisions": decisions.decision_sections(c),
        "first": first,
        "dots": [] if first.dots is None else dot_rows(first.dots),
        "card": model_card(c, _weak_part_names(c)),
        "blocks": sections.method_blocks(c, figures),
        "not_run": sections.skipped_groups(c),
        "how": methodology.method_paragraphs(c),
        "glossary": methodology.glossary(c),
        "commands": methodology.commands_to_repeat(c),
        "circumstances": sections.provenance_table(c),
        "licences": sections.licence_table(c),
    }


def write_exploration(exploration, path, name=None) -> Path:
    """Write findings of `diagnose.explore` as an HTML page; `name` is the table's."""
    path = Path(os.fspath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_text_file(path, render_exploration(exploration, name))


def render_exploration(exploration, name=None) -> str:
    from .exploration import exploration_context as of

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page = load_template("explore.html")
        return page.render(version=__version__, **of(exploration, name))

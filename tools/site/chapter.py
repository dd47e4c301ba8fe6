"""Check and run chapters of the course: `tools/site/chapter.py docs/course/ridge.md`.

A chapter is a Markdown file with front matter (see `docs/course/ridge.md`). Its Python
fences are run in order in one namespace, with warnings as errors; what each prints, the
repr of a last line that is an expression, and the figures that it draws are what the
site shows below the fence. The checks say what a chapter refers to that does not exist.
"""

import argparse
import ast
import contextlib
import csv
import importlib
import io
import itertools
import re
import sys
import time
import tomllib
import traceback
import types
import warnings
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
COURSE = ROOT / "docs" / "course"
SOURCE = ROOT / "src" / "pansophy"
BUDGET = 1.5  # seconds of processor time for all fences of a chapter, without imports
LONGEST_OUTPUT = 20  # lines below one fence

FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
CODE_BLOCK = re.compile(
    r"^( *)(`{3,})[^`\n]*\n.*?^ *\2`*[ ]*$", re.DOTALL | re.MULTILINE
)
KEYS = ("title", "part", "topics", "classes", "notes", "needs", "next")
FENCE = re.compile(r"^(?P<indent> *)(?P<marks>`{3,})(?P<info>[^`\n]*)$")
ROLE = re.compile(r"\{(chapter|api|src|example|guide|eq)\}`([^`]+)`")
CITATION = re.compile(r"\[(@[\w:.-]+(?:\s*[;,]\s*@[\w:.-]+)*)\](?!\()")
ALT_TEXT = re.compile(r"^ *<!-- *alt: *(.+?) *--> *$", re.DOTALL)
EQUATION_LABEL = re.compile(r"\$\$\s*\(([\w:.-]+)\)\s*$", re.MULTILINE)
DISPLAY_FORMULA = re.compile(r"(?<!\\)\$\$(.+?)(?<!\\)\$\$", re.DOTALL)
INLINE_FORMULA = re.compile(
    r"(?<![\\$])\$(?![$])((?:\\.|[^$\\])+?)\$(?![$\d])", re.DOTALL
)


class Fence(NamedTuple):
    """A block of code in a chapter."""

    language: str
    code: str
    line: int  # of the first line of code, from 1
    first: int  # line number of the opening marks, from 1
    last: int  # and of the closing marks
    indent: str
    alt: str  # what the picture shows, or ""


class Chapter(NamedTuple):
    """A chapter as it stands in its file."""

    path: Path
    name: str
    front: dict[str, Any]
    text: str  # the whole file
    fences: list[Fence]

    @property
    def python_fences(self) -> list[Fence]:
        return [f for f in self.fences if f.language == "python"]


class FenceResult(NamedTuple):
    """What one fence printed and drew."""

    output: str
    figures: list  # of matplotlib, or of SVG texts if `keep` made them


class ChapterRun(NamedTuple):
    """What all fences of a chapter printed and drew."""

    results: list[FenceResult]
    seconds: float  # processor time of the fences, without the imports at their top


class ChapterError(Exception):
    """A chapter that does not run."""


def front_matter(text: str, name: str) -> dict[str, Any]:
    """The fields between the first two lines of dashes."""
    import yaml

    match = FRONT.match(text)
    if not match:
        raise ChapterError(f"{name}: no front matter between two lines of ---")
    fields = yaml.safe_load(match[1])
    if not isinstance(fields, dict):
        raise ChapterError(f"{name}: the front matter has no fields")
    return fields


def read_fences(text: str, name: str) -> list[Fence]:
    """Blocks of code, with those inside of colon fences; directives are not code."""
    fences, opened, alt = [], None, ""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        match = FENCE.match(line)
        if opened is None and match and not match["info"].strip().startswith("{"):
            opened = (number, match["indent"], match["marks"], match["info"].strip())
        elif opened is None:
            found = ALT_TEXT.match(line)
            alt = found[1] if found else (alt if not line.strip() else "")
        elif match and match["marks"].startswith(opened[2]) and not match["info"]:
            first, indent, _, language = opened
            body = [li.removeprefix(indent) for li in lines[first : number - 1]]
            code = "\n".join(body) + "\n"
            fences.append(Fence(language, code, first + 1, first, number, indent, alt))
            opened, alt = None, ""
    if opened is not None:
        raise ChapterError(f"{name}: the fence of line {opened[0]} is not closed")
    return fences


def read_chapter(path) -> Chapter:
    """A chapter, read and not yet run."""
    path = Path(path)
    text = path.read_text("utf-8")
    return Chapter(
        path,
        path.stem,
        front_matter(text, path.name),
        text,
        read_fences(text, path.name),
    )


def read_guide(path) -> Chapter:
    """A page without front matter whose fences are run as those of a chapter are."""
    path = Path(path)
    text = path.read_text("utf-8")
    return Chapter(path, path.stem, {}, text, read_fences(text, path.name))


# ---- running


@contextlib.contextmanager
def strict_warnings():
    """Warnings are errors, but for deprecations inside of other packages."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in (DeprecationWarning, FutureWarning, PendingDeprecationWarning):
            warnings.filterwarnings(
                "ignore", category=category, module="(?!pansophy|chapter_)"
            )
        warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
        yield


def parsed(fence: Fence, chapter: Chapter) -> ast.Module:
    """The code of a fence, with the line numbers of its file."""
    try:
        tree = ast.parse(fence.code)
    except SyntaxError as error:
        line = fence.line + (error.lineno or 1) - 1
        raise ChapterError(f"{chapter.path}:{line}: {error.msg}") from None
    return ast.increment_lineno(tree, fence.line - 1)


def failure_text(chapter: Chapter, error: BaseException) -> str:
    """Where a chapter failed, and how."""
    filename = str(chapter.path)
    lines = [
        f for f in traceback.extract_tb(error.__traceback__) if f.filename == filename
    ]
    place = f"{filename}:{lines[-1].lineno}" if lines else filename
    return f"{place}: {type(error).__name__}: {error}"


def run_code(tree: ast.Module, namespace: dict, chapter: Chapter) -> str:
    """Run one fence; its output, with the repr of a last expression."""
    last = tree.body[-1] if tree.body else None
    body = tree.body[:-1] if isinstance(last, ast.Expr) else tree.body
    filename = str(chapter.path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), filename, "exec"), namespace)
        if isinstance(last, ast.Expr):
            value = eval(
                compile(ast.Expression(last.value), filename, "eval"), namespace
            )
            if (
                value is not None
                and not is_artist(value)
                and not is_drawing(last.value)
            ):
                print(repr(value))
    return printed.getvalue()


def is_drawing(node: ast.expr) -> bool:
    """Whether an expression calls axes, as `ax.axis("off")`, which gives limits."""
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return isinstance(node, ast.Name) and node.id in ("ax", "axes", "fig", "plt")


def is_artist(value) -> bool:
    """Whether a value is what a plotting call gives back: not worth showing."""
    if isinstance(value, (list, tuple)) and value:
        return all(is_artist(v) for v in value)
    if getattr(getattr(value, "dtype", None), "kind", "") == "O":
        return all(is_artist(v) for v in value.flat)
    return type(value).__module__.startswith("matplotlib.")


def figure_style() -> dict:
    """Settings of matplotlib for the pictures: those of `pansophy.plot`."""
    from pansophy.plot.style import STYLE

    ours = {"text.parse_math": True, "figure.max_open_warning": 0}
    see_through = dict.fromkeys(("figure.facecolor", "axes.facecolor"), "none")
    return STYLE | ours | see_through


def run_imports(chapter: Chapter) -> None:
    """Import what the fences import at their top level, where that works alone."""
    for fence in chapter.python_fences:
        for statement in parsed(fence, chapter).body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                code = compile(ast.Module([statement], []), str(chapter.path), "exec")
                with contextlib.suppress(Exception):
                    exec(code, {})


def run_chapter(chapter: Chapter, keep=None) -> ChapterRun:
    """Run all fences in one namespace.

    `keep(figure)` makes of each figure what is to be kept; without it figures are
    counted and closed.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    module = types.ModuleType(f"chapter_{chapter.name.replace('-', '_')}")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    results = []
    printing = np.get_printoptions()
    with strict_warnings(), mpl.rc_context():
        mpl.rcParams.update(figure_style())
        run_imports(chapter)
        start = time.process_time()
        try:
            for fence in chapter.python_fences:
                output = run_code(parsed(fence, chapter), vars(module), chapter)
                figures = [plt.figure(number) for number in plt.get_fignums()]
                kept = [keep(figure) if keep else figure for figure in figures]
                plt.close("all")
                results.append(FenceResult(output.rstrip(), kept))
        except ChapterError:
            raise
        except Exception as error:
            raise ChapterError(failure_text(chapter, error)) from error
        finally:
            plt.close("all")
            np.set_printoptions(**printing)
            del sys.modules[module.__name__]
        seconds = time.process_time() - start
    return ChapterRun(results, seconds)


# ---- checks


@cache
def order_of_parts() -> dict[str, list[str]]:
    """Part -> names of its chapters, in order; empty if the list is not here."""
    file = COURSE / "order.toml"
    if not file.exists():
        return {}
    parts = tomllib.loads(file.read_text("utf-8"))["part"]
    return {part["title"]: part["chapters"] for part in parts}


@cache
def catalogue_ids() -> frozenset[str]:
    with open(SOURCE / "catalogue.csv", encoding="utf-8", newline="") as file:
        return frozenset(row["id"] for row in csv.DictReader(file))


@cache
def reference_keys() -> frozenset[str]:
    text = (ROOT / "docs" / "references.bib").read_text("utf-8")
    return frozenset(re.findall(r"^@\w+\{([^,\s]+),", text, re.MULTILINE))


@cache
def note_sections() -> dict[str, dict[str, str]]:
    """Course -> name or other name of a section of its notes -> name, in order."""
    found: dict[str, dict[str, str]] = {}
    for file in sorted((COURSE / "notes").glob("*.toml")):
        sections = tomllib.loads(file.read_text("utf-8"))["sections"]
        found[file.stem] = {s["section"]: s["section"] for s in sections}
        for section in sections:
            for alias in section.get("aliases", ()):
                found[file.stem].setdefault(alias, section["section"])
    return found


def sections_meant(course: str, label: str) -> list[str]:
    """Sections that a label such as "2.4", "2.4 fig 2.1" or "4.7-4.9" stands for."""
    known = note_sections()[course]
    whole = label.strip()
    label = re.sub(r" (fig|lemma|picture|table|intro|note|step)\b.*", "", whole)
    for name in (whole, label):
        if name in known:
            return [known[name]]
    match = re.fullmatch(r"([\d.]+)-([\d.]+)", label)
    if not match:
        return []
    first, last = match.groups()
    if "." in first and "." not in last:  # 36.2.2-4
        last = f"{first.rpartition('.')[0]}.{last}"
    names = list(known)
    if first not in known or last not in known:
        return []
    between = names[names.index(first) : names.index(last) + 1]
    return [name for name in between if name.count(".") == first.count(".")]


@cache
def public_object(name: str):
    """What a dotted name below `pansophy` stands for; None if there is nothing."""
    parts = name.split(".")
    value: Any = importlib.import_module("pansophy")
    for part in parts:
        try:
            value = getattr(value, part)
        except AttributeError:
            fields = getattr(value, "__dataclass_fields__", {})
            return fields.get(part)
    return value


@cache
def source_file(name: str) -> Path | None:
    """A file below src/pansophy: by its path, or by package and name if one is so."""
    if (SOURCE / name).exists():
        return SOURCE / name
    folder, _, file = name.rpartition("/")
    found = list((SOURCE / folder).glob(f"**/{file}")) if file else []
    return found[0] if len(found) == 1 else None


def example_file(name: str) -> Path | None:
    file = ROOT / "examples" / f"{name.removesuffix('.py')}.py"
    return file if file.exists() else None


def without_code(text: str) -> str:
    """The body of a chapter without its blocks of code."""
    return CODE_BLOCK.sub("", FRONT.sub("", text))


def prose_of(text: str) -> str:
    """The body of a chapter without blocks of code, code spans and comments."""
    text = without_code(text)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    return re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", text)


def formulas_of(text: str) -> list[tuple[str, bool]]:
    """(TeX, whether displayed) of every formula in the prose."""
    prose = prose_of(text)
    displayed = [(m[1].strip(), True) for m in DISPLAY_FORMULA.finditer(prose)]
    inline = INLINE_FORMULA.findall(DISPLAY_FORMULA.sub("", prose))
    return displayed + [(tex.strip(), False) for tex in inline]


def front_faults(chapter: Chapter) -> list[str]:
    """What is wrong in the front matter."""
    front, faults = chapter.front, []
    faults += [f"front matter: no field {key!r}" for key in KEYS if key not in front]
    faults += [
        f"front matter: unknown field {key!r}" for key in front if key not in KEYS
    ]
    parts = order_of_parts()
    planned = {name for names in parts.values() for name in names}
    if parts:
        home = next((p for p, names in parts.items() if chapter.name in names), None)
        if home is None:
            faults.append(f"docs/course/order.toml does not list {chapter.name!r}")
        elif front.get("part") != home:
            faults.append(f"part is {front.get('part')!r}; order.toml says {home!r}")
        for key in ("needs", "next"):
            for name in front.get(key) or []:
                if name not in planned:
                    faults.append(f"{key}: order.toml has no chapter {name!r}")
    for topic in front.get("topics") or []:
        if topic not in catalogue_ids():
            faults.append(f"topics: the catalogue has no {topic!r}")
    for name in front.get("classes") or []:
        if public_object(name) is None:
            faults.append(f"classes: there is no pansophy.{name}")
    notes = front.get("notes") or {}
    if not isinstance(notes, dict):
        return [*faults, "notes: not of the form {course: [sections]}"]
    for course, sections in notes.items():
        known = note_sections()
        if not isinstance(course, str) or not re.fullmatch(r"00[0-4]", course):
            faults.append(f'notes: {course!r} is no course; write "000" to "004"')
        elif known:
            missing = [s for s in map(str, sections) if not sections_meant(course, s)]
            faults += [f"notes: {course} has no section {s!r}" for s in missing]
    return faults


def target_faults(chapter: Chapter) -> list[str]:
    """Links, citations and equations that lead nowhere."""
    faults = []
    prose = without_code(chapter.text)
    parts = order_of_parts()
    planned = {name for names in parts.values() for name in names}
    labels = EQUATION_LABEL.findall(prose)
    for label in sorted({n for n in labels if labels.count(n) > 1}):
        faults.append(f"equation label {label!r} stands twice")
    for role, text in ROLE.findall(prose):
        match = re.fullmatch(r".*<(.+)>", text, re.DOTALL)
        target = match[1] if match else text
        exists = {
            "chapter": lambda t: not parts or t in planned,
            "api": lambda t: public_object(t) is not None,
            "src": lambda t: source_file(t) is not None,
            "example": lambda t: example_file(t) is not None,
            "guide": lambda t: (
                (ROOT / "docs" / "guides" / f"{t}.md").exists()
                or (ROOT / "docs" / f"{t}.md").exists()
            ),
            "eq": lambda t: t in labels,
        }[role](target)
        if not exists:
            faults.append(f"{{{role}}}`{text}` leads nowhere")
    for match in CITATION.finditer(prose_of(chapter.text)):
        for key in re.findall(r"@([\w:.-]+)", match[1]):
            if key not in reference_keys():
                faults.append(f"docs/references.bib has no {key!r}")
    return faults


def form_faults(chapter: Chapter) -> list[str]:
    """What the form asks for and the chapter has not."""
    body = without_code(chapter.text)
    headings = re.findall(r"^(#+) +(.+?) *$", body, re.MULTILINE)
    faults = []
    if not headings or headings[0] != ("#", str(chapter.front.get("title"))):
        faults.append("the first heading is not `# ` and the title")
    if [h for h in headings[1:] if h[0] == "#"]:
        faults.append("more than one heading of the first level")
    levels = [len(marks) for marks, _ in headings]
    if any(b > a + 1 for a, b in itertools.pairwise(levels)):
        faults.append("a heading skips a level")
    if not headings or headings[-1][1] != "References":
        faults.append("the last section is not `## References`")
    if "{dropdown}" not in body:
        faults.append("no exercise with a solution in :::{dropdown}")
    if not re.search(r"^ *\|.*\|.*\| *$", body, re.MULTILINE):
        faults.append("no table of neighbours (This or that)")
    if len(re.findall(r"^ *:{3,}\{", body, re.MULTILINE)) > len(
        re.findall(r"^ *:{3,} *$", body, re.MULTILINE)
    ):
        faults.append("a ::: directive is not closed")
    if not EQUATION_LABEL.search(body):
        faults.append("no numbered equation: $$ ... $$ (label)")
    if re.search(r"^ *>>> ", chapter.text, re.MULTILINE):
        faults.append("an output typed by hand (>>>)")
    for fence in chapter.fences:
        if not fence.language:
            faults.append(f"line {fence.first}: the fence has no language")
    return faults


def formula_faults(chapter: Chapter) -> list[str] | None:
    """Formulas that KaTeX refuses; None if KaTeX or quickjs is not here."""
    try:
        import mathematics
    except ModuleNotFoundError:
        try:
            from tools.site import mathematics
        except ModuleNotFoundError:
            return None
    if not mathematics.is_installed():
        return None
    faults = []
    for tex, display in formulas_of(chapter.text):
        try:
            mathematics.render(tex, display=display)
        except mathematics.FormulaError as error:
            faults.append(str(error))
    return faults


def run_faults(chapter: Chapter, run: ChapterRun) -> list[str]:
    """What is wrong in what a chapter printed and drew."""
    faults = []
    drawn = 0
    for fence, result in zip(chapter.python_fences, run.results):
        drawn += len(result.figures)
        if result.figures and not fence.alt:
            faults.append(
                f"line {fence.first}: a picture without <!-- alt: ... --> before it"
            )
        lines = result.output.count("\n") + 1
        if lines > LONGEST_OUTPUT:
            faults.append(f"line {fence.first}: {lines} lines of output")
        if re.search(r" at 0x[0-9a-f]{6,}", result.output):
            faults.append(f"line {fence.first}: prints an address in memory")
    if not drawn:
        faults.append("no picture")
    if drawn > 6:
        faults.append(f"{drawn} pictures; at most 6")
    return faults


def faults_of(chapter: Chapter) -> list[str]:
    """All that is wrong with a chapter before it is run."""
    return front_faults(chapter) + target_faults(chapter) + form_faults(chapter)


# ---- command line


def shown(chapter: Chapter, run: ChapterRun) -> str:
    """The outputs of a chapter, by fence."""
    blocks = []
    for fence, result in zip(chapter.python_fences, run.results):
        pictures = f" [{len(result.figures)} figure(s)]" if result.figures else ""
        blocks.append(
            f"--- fence of line {fence.first}{pictures}\n{result.output}".rstrip()
        )
    return "\n".join(blocks)


def check_file(path: str, *, quiet: bool) -> bool:
    """Check and run one chapter, and print what was found; whether it is good."""
    try:
        chapter = read_chapter(path)
        run = run_chapter(chapter)
    except ChapterError as error:
        print(f"{path}: FAILED\n  {error}")
        return False
    if not quiet:
        print(shown(chapter, run))
    seconds = run.seconds
    if seconds > BUDGET:  # the first run may have compiled loops
        seconds = run_chapter(chapter).seconds
    faults = faults_of(chapter) + run_faults(chapter, run)
    formulas = formula_faults(chapter)
    faults += formulas or []
    if seconds > BUDGET:
        faults.append(f"{seconds:.1f} s of processor time; at most {BUDGET}")
    print(
        f"{path}: {len(chapter.python_fences)} fences, "
        f"{sum(len(r.figures) for r in run.results)} pictures, "
        f"{seconds:.2f} s ({run.seconds:.2f} s at first)"
    )
    if formulas is None:
        print(
            "  formulas not checked: needs quickjs, tools/site/mathematics.py and KaTeX"
        )
    if not order_of_parts():
        print("  names of chapters not checked: docs/course/order.toml is not here")
    for fault in faults:
        print(f"  ! {fault}")
    return not faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", help="all of docs/course by default")
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="do not show the outputs"
    )
    options = parser.parse_args()
    paths = options.chapters or sorted(map(str, COURSE.glob("*.md")))
    good = [check_file(path, quiet=options.quiet) for path in paths]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))
    sys.exit(main())

"""The pages of public names: HTML bodies made from docstrings, sources and records."""

import functools
import json
import re
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import NamedTuple

import facts
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonConsoleLexer, PythonLexer

CODE = HtmlFormatter(cssclass="highlight", wrapcode=True)
CAN = {
    "tensors": "arrays and tensors, on the device where they are",
    "blocks": "files and Arrow tables larger than memory",
    "sparse": "sparse matrices",
    "missing": "missing values in X",
    "weights": "weights of rows",
    "stream": "rows that come in pieces (`partial_fit`)",
}


class ApiPage(NamedTuple):
    """A page outside of the toctree."""

    name: str  # of the page, `api/linear_model.Ridge`
    title: str
    summary: str  # what the search shows
    body: str
    siblings: list[tuple[str, str]]  # (label, page) of the names beside it


@functools.cache
def sources():
    """The package as griffe reads it, without importing it."""
    import logging

    import griffe

    logging.getLogger("griffe").setLevel(logging.CRITICAL)
    return griffe.load(
        "pansophy",
        search_paths=[str(facts.ROOT / "src")],
        docstring_parser="numpy",
        docstring_options={"warn_unknown_params": False, "warnings": False},
    )


@functools.cache
def asked_of_library(cache: Path) -> dict[str, dict]:
    """What estimators accept and where names are defined, asked in another process."""
    if not cache.exists():
        program = Path(__file__).with_name("capabilities.py")
        result = subprocess.run(
            [sys.executable, str(program)], check=True, capture_output=True, text=True
        )
        cache.parent.mkdir(parents=True, exist_ok=True)
        cache.write_text(result.stdout.splitlines()[-1], "utf-8")
    return json.loads(cache.read_text("utf-8"))


class Library(NamedTuple):
    """What every estimator accepts, and where names are defined."""

    accepts: dict[str, dict]
    origins: dict[str, str]

    @classmethod
    def asked(cls, cache: Path) -> "Library":
        return cls(**asked_of_library(cache))

    def find(self, name: str):
        """griffe's object of a public name, where it is defined; None if not ours."""
        return source_object(self.origins.get(name, f"pansophy.{name}"), name)

    def is_ours(self, name: str) -> bool:
        return self.find(name) is not None


@functools.cache
def source_object(place: str, name: str):
    """griffe's object of a dotted place, or of a public name; None if there is none."""
    for path in (place.removeprefix("pansophy."), name):
        try:
            found = sources()[path]
            return found.final_target if found.is_alias else found
        except Exception:  # griffe's own errors for what is somebody else's
            continue
    return None


# ---- docstrings


@functools.cache
def unique_names() -> dict[str, str]:
    """Last part -> public name, where only one has it."""
    found: dict[str, str] = {}
    twice = set()
    for name in facts.public_names():
        last = name.rpartition(".")[2]
        twice |= {last} & set(found)
        found[last] = name
    return {last: name for last, name in found.items() if last not in twice}


def linked_code(text: str, here: str) -> str:
    """Code, with a link if it is a public name other than that of the page."""
    plain = text.strip("()").removeprefix("pansophy.").removeprefix("ps.")
    page = plain if plain in facts.public_names() else unique_names().get(plain)
    if page is None and "." in plain:
        page = facts.page_name(plain)
    is_word = plain[:1].isupper() or "_" in plain or "." in plain
    code = f"<code>{escape(text)}</code>"
    if page is None or page == here or not is_word:
        return code
    return f'<a href="{page}.html">{code}</a>'


def inline(text: str, here: str = "") -> str:
    """Prose of a docstring: code spans and citations."""
    out = []
    pieces = re.split(r"(``[^`]+``|`[^`]+`|\[[A-Z][A-Za-z]+\d{4}[a-z]?\])", text)
    for piece in pieces:
        if piece.startswith("`"):
            out.append(linked_code(piece.strip("`"), here))
        elif piece.startswith("[") and piece[1:-1] in facts.references():
            key = piece[1:-1]
            label = escape(facts.short_reference(key))
            out.append(f'<a href="../references.html#{key}">{label}</a>')
        else:
            out.append(escape(piece))
    return "".join(out)


def prose(text: str, here: str = "") -> str:
    """Paragraphs, lists and indented blocks of a docstring."""
    out = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        lines = block.split("\n")
        if not block.strip():
            continue
        if lines[0].lstrip().startswith(">>>"):
            out.append(highlight(block, PythonConsoleLexer(), CODE))
        elif all(line.startswith("    ") for line in lines):
            out.append(f"<pre>{escape(block)}</pre>")
        elif re.match(r"\s*[-*] ", lines[0]):
            items = re.split(r"\n?^\s*[-*] ", block, flags=re.MULTILINE)[1:]
            rows = "".join(
                f"<li>{inline(' '.join(i.split()), here)}</li>" for i in items
            )
            out.append(f"<ul>{rows}</ul>")
        else:
            out.append(
                f"<p>{inline(' '.join(block.split()).replace('::', ':'), here)}</p>"
            )
    return "\n".join(out)


def definitions(items, here: str) -> str:
    """Parameters or attributes as a list of definitions."""
    rows = []
    for item in items:
        name = getattr(item, "name", "") or ""
        kind = re.sub(r"^\((.*)\)$", r"\1", str(item.annotation or ""))
        default = getattr(item, "default", None) or getattr(item, "value", None)
        told = [inline(kind, here)] if kind else []
        if default is not None and "default" not in kind:
            told.append(f"default <code>{escape(str(default))}</code>")
        head = f"<code>{escape(name)}</code> " if name else ""
        rows.append(
            f'<dt>{head}<span class="kind">{", ".join(told)}</span></dt>'
            f"<dd>{prose(item.description or '', here)}</dd>"
        )
    return f'<dl class="parameters">{"".join(rows)}</dl>'


TITLES = {
    "parameters": "Parameters",
    "other parameters": "Other parameters",
    "attributes": "Attributes",
    "returns": "Returns",
    "yields": "Yields",
    "raises": "Raises",
    "warns": "Warns",
    "examples": "Example",
}


def docstring_html(obj, here: str) -> str:
    """A docstring without its first line, section by section."""
    if obj is None or obj.docstring is None:
        return ""
    out = []
    for index, section in enumerate(obj.docstring.parsed):
        kind = section.kind.value
        if kind == "text":
            text = section.value
            if index == 0:
                text = text.partition("\n")[2] if "\n" in text else ""
            out.append(prose(text, here))
        elif kind == "examples":
            out.append("<h2>Example</h2>")
            for part, text in section.value:
                is_code = part.value == "examples"
                out.append(
                    highlight(text, PythonConsoleLexer(), CODE)
                    if is_code
                    else prose(text, here)
                )
        elif kind == "admonition":
            out.append(f"<h2>{escape(section.title or '')}</h2>")
            out.append(prose(section.value.description, here))
        elif kind in TITLES:
            out.append(f"<h2>{TITLES[kind]}</h2>{definitions(section.value, here)}")
    return "\n".join(out)


def first_line(obj) -> str:
    if obj is None or obj.docstring is None:
        return ""
    return " ".join(obj.docstring.value.strip().split("\n\n")[0].split())


# ---- pages


def signature_html(name: str, signature: str) -> str:
    package, _, last = name.rpartition(".")
    text = f"{last}{signature}"
    if len(text) > 78:  # a parameter on each line
        parts = split_parameters(signature)
        inside = "".join(f"\n    {p}," for p in parts)
        text = f"{last}({inside}\n)" if parts else text
    code = highlight(text, PythonLexer(), CODE)
    module = f'<p class="module">pansophy.{escape(package)}</p>'
    return f'{module}<div class="signature">{code}</div>'


def split_parameters(signature: str) -> list[str]:
    """The parameters of `(a, b=f(1, 2), *, c=None)`."""
    parts, depth, part = [], 0, ""
    for letter in signature.strip()[1:-1]:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    return [p for p in [*parts, part.strip()] if p]


def link(page: str, label: str) -> str:
    return f'<a href="{page}">{escape(label)}</a>'


def reading_html(name: str) -> str:
    """The box that leads from a name to all that is about it."""
    chapters, guides = facts.readings()[name]
    written = facts.written_chapters()
    rows = []
    if chapters:
        links = [
            link(f"../course/{c}.html", written[c].front["title"]) for c in chapters
        ]
        rows.append(("Chapter" if len(links) == 1 else "Chapters", ", ".join(links)))
    files = facts.guide_files()
    shown = [g for g in guides if g in files]
    if shown:
        links = [link(f"../guides/{g}.html", facts.title_of(files[g])) for g in shown]
        rows.append(("Guide" if len(links) == 1 else "Guides", ", ".join(links)))
    topics = [facts.topics()[t] for t in facts.topics_of_names().get(name, ())]
    if topics:
        rows.append(("Topics", "; ".join(escape(t.title) for t in topics[:4])))
    keys = list(dict.fromkeys(k for t in topics for k in t.references))[:6]
    if keys:
        links = [
            link(f"../references.html#{k}", facts.short_reference(k)) for k in keys
        ]
        rows.append(("Papers", ", ".join(links)))
    examples = facts.examples_of_names().get(name, ())[:5]
    if examples:
        links = [link(f"../gallery/{e}.html", e.replace("_", " ")) for e in examples]
        rows.append(("Examples", ", ".join(links)))
    return box(rows)


def capability_rows(name: str, can: dict[str, dict]) -> list[tuple[str, str]]:
    """What fit accepts, and what not."""
    asked = can.get(name.rpartition(".")[2])
    if asked is None or "error" in asked:
        return []
    yes = [inline(CAN[k]) for k in CAN if asked.get(k)]
    no = [inline(CAN[k]) for k in CAN if not asked.get(k)]
    rows = [("Takes", "; ".join(["arrays, dataframes", *yes]))]
    return rows + ([("Does not take", "; ".join(no))] if no else [])


def speed_html(name: str) -> str:
    cases = facts.cases_of_names().get(name, ())
    rows = [r for r in facts.speed_rows() if r.case in cases]
    if not rows:
        return ""
    items = []
    for row in rows[:4]:
        size = (
            ", ".join(map(str, row.size))
            if isinstance(row.size, list)
            else str(row.size)
        )
        low, middle, high = row.ratio
        busy = ", on a busy machine" if row.busy else ""
        items.append(
            f"<li>{escape(row.what or row.case)} ({escape(size)}): {middle:.2f} "
            f"[{low:.2f}, {high:.2f}] times the speed of {escape(row.peer)}{busy}</li>"
        )
    return (
        f"<h2>Speed</h2><ul>{''.join(items)}</ul>"
        '<p><a href="../benchmarks.html">How this is measured</a></p>'
    )


def box(rows) -> str:
    if not rows:
        return ""
    cells = "".join(f"<dt>{key}</dt><dd>{value}</dd>" for key, value in rows)
    return f'<dl class="facts">{cells}</dl>'


def methods_html(public, obj) -> str:
    """The methods of a class, each with its first line and its docstring folded."""
    out = []
    for method, signature in public.methods.items():
        found = None
        if obj is not None:
            try:
                found = obj.all_members.get(method)
                found = (
                    found.final_target
                    if found is not None and found.is_alias
                    else found
                )
            except Exception:
                found = obj.members.get(method)
        shown = re.sub(r"^\(self(, )?", "(", signature)
        out.append(
            f'<dt id="{method}"><code>{method}</code><code class="arguments">'
            f"{escape(shown)}</code></dt>"
            f"<dd>{inline(first_line(found), public.name)}</dd>"
        )
    return f'<h2>Methods</h2><dl class="methods">{"".join(out)}</dl>' if out else ""


def module_of(obj):
    while obj is not None and not obj.is_module:
        obj = obj.parent
    return obj


def source_name(obj) -> str:
    """Path below src/pansophy of the file that defines an object."""
    return Path(str(obj.filepath)).relative_to(facts.SOURCE).as_posix()


def source_page(path: str) -> str:
    return "source/" + path.removesuffix(".py").replace("/", ".")


def theory_html(obj) -> str:
    """The text of the module that defines a class, with its equations as they stand."""
    module = module_of(obj)
    if (
        module is None
        or module.docstring is None
        or source_name(obj).endswith("__init__.py")
    ):
        return ""
    path = source_name(obj)
    line = f"#line-{obj.lineno}" if obj.lineno else ""
    source = link(f"../{source_page(path)}.html{line}", path)
    text = module.docstring.value
    has_equations = re.search(r"\(\d+[a-z]?\)\s*$|^ {4}", text, re.MULTILINE)
    shown = (
        f'<pre class="theory">{inline(text)}</pre>' if has_equations else prose(text)
    )
    return f"<h2>Method</h2>{shown}<p>Source: {source}</p>"


def name_page(public, library: Library) -> ApiPage:
    """The page of one public name."""
    obj = library.find(public.name)
    is_class = obj is not None and obj.is_class
    name = public.name
    summary = first_line(obj)
    parts = [f"<h1>{escape(public.last)}</h1>"]
    if obj is None:
        theirs = f"sklearn.{name}"
        summary = f"scikit-learn's own, found here at the same path as `{theirs}`."
        parts.append(f'<p class="summary">{inline(summary)}</p>')
        parts.append(signature_html(name, public.signature))
    else:
        parts.append(f'<p class="summary">{inline(summary, name)}</p>')
        parts.append(signature_html(name, public.signature))
    parts.append(reading_html(name))
    parts.append(docstring_html(obj, name))
    if is_class:
        rows = capability_rows(name, library.accepts)
        parts.append(f"<h2>What it takes</h2>{box(rows)}" if rows else "")
        parts.append(methods_html(public, obj))
    parts.append(speed_html(name))
    if obj is not None and obj.docstring is not None:
        parts.append(theory_html(obj))
    return ApiPage(f"api/{name}", f"{public.last}", summary, "\n".join(parts), [])


def package_page(package: str, names: list[str], library: Library) -> ApiPage:
    """The index of one package: its text, and every name with its first line."""
    found = source_object(package, package)
    text = found.docstring.value if found is not None and found.docstring else ""
    rows = []
    for name in names:
        last = name.rpartition(".")[2]
        told = first_line(library.find(name)) or "scikit-learn's own."
        rows.append(
            f'<dt><a href="{name}.html"><code>{last}</code></a></dt>'
            f"<dd>{inline(told, name)}</dd>"
        )
    body = (
        f"<h1>pansophy.{package}</h1>{prose(text)}"
        f'<dl class="names">{"".join(rows)}</dl>'
    )
    first = " ".join(text.split("\n\n")[0].split())
    return ApiPage(f"api/{package}", f"pansophy.{package}", first, body, [])


def name_pages(cache: Path) -> list[ApiPage]:
    """Pages of all public names and packages."""
    library = Library.asked(cache)
    by_package: dict[str, list[str]] = {}
    for name, public in facts.public_names().items():
        by_package.setdefault(public.package, []).append(name)
    pages = []
    for package, names in by_package.items():
        names = sorted(names, key=lambda n: (not n.rpartition(".")[2][:1].isupper(), n))
        beside = [(n.rpartition(".")[2], f"api/{n}") for n in names]
        siblings = [(f"pansophy.{package}", f"api/{package}"), *beside]
        pages.append(package_page(package, names, library)._replace(siblings=siblings))
        for name in names:
            page = name_page(facts.public_names()[name], library)
            pages.append(page._replace(siblings=siblings))
    return pages


def linked_sources(cache: Path) -> set[str]:
    """Files below src/pansophy that define a public name."""
    objects = map(Library.asked(cache).find, facts.public_names())
    return {source_name(o) for o in objects if o is not None and o.filepath}


def source_file_page(path: str) -> ApiPage:
    """The source of one module, with anchors for its lines."""
    text = (facts.SOURCE / path).read_text("utf-8")
    formatter = HtmlFormatter(lineanchors="line", anchorlinenos=False, wrapcode=True)
    body = f"<h1>{escape(path)}</h1>{highlight(text, PythonLexer(), formatter)}"
    return ApiPage(source_page(path), path, "", body, [])

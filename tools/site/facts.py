"""What the project knows about its public names: one record of each, from its sources.

Names and signatures come from `docs/signatures.txt`, docstrings and module texts from
the sources (read by griffe, not imported), topics and papers from `catalogue.csv`,
chapters from their front matter, speed from `benchmarks/results.json`, examples from
their imports. What a fit accepts is asked of the classes themselves.
"""

import ast
import csv
import functools
import json
import re
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import chapter as course

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "pansophy"
DOCS = ROOT / "docs"


class PublicName(NamedTuple):
    """A public class, function or value, by its name below `pansophy`."""

    name: str
    signature: str
    methods: dict[str, str]  # name -> signature

    @property
    def package(self) -> str:
        return self.name.rpartition(".")[0]

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]


@functools.cache
def public_names() -> dict[str, PublicName]:
    """All public names with their methods, from `docs/signatures.txt`."""
    found: dict[str, PublicName] = {}
    packages = set(packages_with_names())
    for line in (DOCS / "signatures.txt").read_text("utf-8").splitlines():
        match = re.match(r"([\w.]+)(\(.*)?$", line)
        if line.startswith("#") or not match:
            continue
        place, signature = match[1], match[2] or ""
        package, _, last = place.rpartition(".")
        if package == "base" and last not in names_of_base():
            continue
        if package in packages:
            found[place] = PublicName(place, signature, {})
        elif package in found:
            found[package].methods[last] = signature
    return found


@functools.cache
def names_of_base() -> frozenset[str]:
    """What `base` defines itself; the rest is scikit-learn's and NumPy's."""
    tree = ast.parse((SOURCE / "base.py").read_text("utf-8"))
    kinds = (ast.ClassDef, ast.FunctionDef)
    return frozenset(n.name for n in tree.body if isinstance(n, kinds))


@functools.cache
def packages_with_names() -> tuple[str, ...]:
    """Public packages, by their folders; `rl.envs` is one inside another."""
    top = [p.name for p in SOURCE.iterdir() if (p / "__init__.py").exists()]
    modules = [p.stem for p in SOURCE.glob("*.py") if not p.stem.startswith("_")]
    return tuple(sorted([*top, *modules, "rl.envs"]))


# ---- catalogue


class Topic(NamedTuple):
    """A row of the catalogue."""

    id: str
    title: str
    family: str
    names: tuple[str, ...]  # below pansophy
    references: tuple[str, ...]


@functools.cache
def topics() -> dict[str, Topic]:
    with open(SOURCE / "catalogue.csv", encoding="utf-8", newline="") as file:
        return {
            row["id"]: Topic(
                row["id"],
                row["topic"],
                row["family"],
                tuple(n.removeprefix("pansophy.") for n in row["names"].split()),
                tuple(row["references"].split()),
            )
            for row in csv.DictReader(file)
        }


@functools.cache
def topics_of_names() -> dict[str, list[str]]:
    """Public name -> ids of its topics."""
    found = defaultdict(list)
    for topic in topics().values():
        for name in topic.names:
            page = page_name(name)
            if page and topic.id not in found[page]:
                found[page].append(topic.id)
    return dict(found)


def page_name(name: str) -> str | None:
    """The public name on whose page a dotted name is found, such as a method."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        if ".".join(parts[:end]) in public_names():
            return ".".join(parts[:end])
    return None


# ---- chapters and guides


@functools.cache
def written_chapters() -> dict[str, course.Chapter]:
    """Chapters that are written, in the order of the course."""
    files = {p.stem: p for p in course.COURSE.glob("*.md")}
    ordered = [n for names in course.order_of_parts().values() for n in names]
    return {n: course.read_chapter(files[n]) for n in ordered if n in files}


@functools.cache
def guide_files() -> dict[str, Path]:
    """Name -> file of every guide, in the order of `docs/guides/order.toml`."""
    order = tomllib.loads((DOCS / "guides" / "order.toml").read_text("utf-8"))
    names = [name for part in order["part"] for name in part["guides"]]
    places = {n: (DOCS / "guides" / f"{n}.md", DOCS / f"{n}.md") for n in names}
    return {n: next(p for p in both if p.exists()) for n, both in places.items()}


def title_of(path: Path) -> str:
    """The first heading of a Markdown file."""
    return re.search(r"^# +(.+?) *$", path.read_text("utf-8"), re.MULTILINE)[1]


@functools.cache
def chapters_of_topics() -> dict[str, list[str]]:
    """Id of a topic -> chapters that teach it."""
    found = defaultdict(list)
    for name, chapter in written_chapters().items():
        for topic in chapter.front.get("topics") or ():
            found[topic].append(name)
    return dict(found)


@functools.cache
def package_readings() -> dict[str, dict[str, list[str]]]:
    """Package -> chapters and guides for names that no chapter lists by itself."""
    return tomllib.loads((DOCS / "course" / "packages.toml").read_text("utf-8"))


@functools.cache
def readings() -> dict[str, tuple[list[str], list[str]]]:
    """Public name -> (chapters, guides) that are about it, the nearest first."""
    chapters = written_chapters()
    direct = defaultdict(list)
    for name, chapter in chapters.items():
        for public in chapter.front.get("classes") or ():
            direct[page_name(public)].append(name)
    linked = defaultdict(list)
    for name, chapter in chapters.items():
        for role, text in course.ROLE.findall(chapter.text):
            if role == "api":
                linked[page_name(target_of(text))].append(name)
    found = {}
    for public in public_names():
        by_topic = [
            c
            for t in topics_of_names().get(public, ())
            for c in chapters_of_topics().get(t, ())
        ]
        default = package_readings().get(public.rpartition(".")[0], {})
        own = [*direct[public], *by_topic, *linked[public]]
        fallback = [c for c in default.get("chapters", ()) if c in chapters]
        found[public] = (
            list(dict.fromkeys(own or fallback))[:3],
            list(default.get("guides", ())),
        )
    return found


def target_of(text: str) -> str:
    """The target of a role's text, `title <target>` or the target alone."""
    match = re.fullmatch(r".*<(.+)>", text, re.DOTALL)
    return match[1] if match else text


# ---- examples and benchmarks


@functools.cache
def names_in_file(path: Path) -> frozenset[str]:
    """Public names that a script imports or reaches through `import pansophy as ps`."""
    found, aliases, dotted = set(), {"pansophy": "pansophy"}, []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "pansophy"
        ):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}".removeprefix("pansophy.")
                found.add(whole)
                aliases[alias.asname or alias.name] = f"pansophy.{whole}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("pansophy"):
                    aliases[alias.asname or "pansophy"] = (
                        alias.name if alias.asname else "pansophy"
                    )
        elif isinstance(node, ast.Attribute):
            dotted.append(ast.unparse(node))
    for text in dotted:
        first, _, rest = text.partition(".")
        if first in aliases and rest:
            found.add(f"{aliases[first]}.{rest}".removeprefix("pansophy").lstrip("."))
    return frozenset(p for p in map(page_name, found) if p)


@functools.cache
def examples_of_names() -> dict[str, list[str]]:
    found = defaultdict(list)
    for path in sorted((ROOT / "examples").glob("*.py")):
        for name in sorted(names_in_file(path)):
            found[name].append(path.stem)
    return dict(found)


class SpeedRow(NamedTuple):
    """A record of a benchmark: the fastest peer's time over ours."""

    case: str
    what: str
    size: list
    peer: str
    ratio: list[float]  # lower quartile, median, upper quartile
    busy: bool
    file: str


@functools.cache
def speed_rows() -> list[SpeedRow]:
    """Records at their largest size against the fastest peer, in order of the file."""
    told = {}  # case -> (what, file)
    for path in sorted((ROOT / "benchmarks").glob("bench_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Case":
                texts = {
                    k.arg: k.value.value
                    for k in node.keywords
                    if isinstance(k.value, ast.Constant)
                    and isinstance(k.value.value, str)
                }
                first = [a.value for a in node.args if isinstance(a, ast.Constant)]
                name = texts.get("name") or (first[0] if first else "")
                what = texts.get("what") or (first[1] if len(first) > 1 else "")
                told[name] = (what, path.name)
    rows: dict[str, SpeedRow] = {}
    records = json.loads((ROOT / "benchmarks" / "results.json").read_text("utf-8"))[
        "rows"
    ]
    for row in records:
        busy = max(row["stamp"]["load"]) > 2.5
        clock = "processor" if busy else "wall"
        if not row["peers"]:
            continue
        peer, times = min(row["peers"].items(), key=lambda p: p[1][clock][1])
        what, file = told.get(row["case"], ("", ""))
        rows[row["case"]] = SpeedRow(
            row["case"], what, row["size"], peer, times[clock], busy, file
        )
    return list(rows.values())


def words_of_code(node: ast.AST) -> set[str]:
    """Names and attributes that a piece of code mentions."""
    return {
        n.id if isinstance(n, ast.Name) else n.attr
        for n in ast.walk(node)
        if isinstance(n, ast.Name | ast.Attribute)
    }


@functools.cache
def cases_of_names() -> dict[str, list[str]]:
    """Public name -> benchmark cases whose own side uses it."""
    found = defaultdict(list)
    for path in sorted((ROOT / "benchmarks").glob("bench_*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        used = names_in_file(path)
        functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "Case":
                continue
            ours = next((k.value for k in node.keywords if k.arg == "ours"), None)
            case = next(
                (a.value for a in node.args if isinstance(a, ast.Constant)), None
            )
            given = {k.arg: k.value for k in node.keywords}
            case = case or getattr(given.get("name"), "value", None)
            if ours is None or case is None:
                continue
            words = words_of_code(ours)
            words |= {
                w for f in words & set(functions) for w in words_of_code(functions[f])
            }
            for name in used:
                if name.rpartition(".")[2] in words:
                    found[name].append(case)
    return dict(found)


# ---- references


@functools.cache
def references() -> dict[str, dict[str, str]]:
    """Key -> fields of every entry of `docs/references.bib`."""
    text = (DOCS / "references.bib").read_text("utf-8")
    found = {}
    for match in re.finditer(
        r"^@(\w+)\{([^,\s]+),\n(.*?)^\}", text, re.MULTILINE | re.DOTALL
    ):
        fields = dict(re.findall(r"^\s*(\w+) *= *\{(.*?)\},?$", match[3], re.MULTILINE))
        found[match[2]] = {k: re.sub(r"[{}]", "", v) for k, v in fields.items()}
    return found


def short_reference(key: str) -> str:
    """`Hoerl and Kennard 1970`."""
    fields = references()[key]
    names = [a.split(",")[0].strip() for a in fields.get("author", key).split(" and ")]
    who = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
    return f"{who} {fields.get('year', '')}".strip()


def long_reference(key: str) -> str:
    """Authors, year, title and place."""
    fields = references()[key]
    place = (
        fields.get("journal")
        or fields.get("booktitle")
        or fields.get("publisher")
        or ""
    )
    who = fields.get("author", key).replace(" and ", ", ")
    parts = [f"{who} ({fields.get('year', '')})", fields.get("title", ""), place]
    return ". ".join(p for p in parts if p).rstrip(".") + "."

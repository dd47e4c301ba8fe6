"""The Markdown that Sphinx reads: chapters with outputs, guides, gallery, indices."""

import re
import tomllib
from html import escape
from pathlib import Path

import chapter as course
import facts
from execution import Page
from figures import figure_html

PICTURE_FOLDERS = ("docs", "benchmarks")


def text_block(text: str, css: str = "") -> list[str]:
    """A block of plain text, such as an output."""
    marks = "`" * max(3, 1 + max((len(m) for m in re.findall(r"`+", text)), default=0))
    return [
        f"{marks}{{code-block}} text",
        *([f":class: {css}"] if css else []),
        "",
        *text.split("\n"),
        marks,
        "",
    ]


def raw_html(html: str) -> list[str]:
    return ["```{raw} html", *html.split("\n"), "```", ""]


def result_blocks(output: str, figures: list[str], alt: str, key: str) -> list[str]:
    """What a fence printed and drew."""
    lines = []
    if output:
        lines += text_block(output, "output")
    for number, figure in enumerate(figures):
        lines += raw_html(figure_html(figure, alt, f"{key}-{number}-"))
    return lines


def cited(text: str) -> str:
    """`[@key]` as a link to the list of references."""

    def links(match):
        keys = re.findall(r"@([\w:.-]+)", match[1])
        return ", ".join(f"{{reference}}`{key}`" for key in keys)

    return course.CITATION.sub(links, text)


def full_citation(line: str) -> str:
    """A list item of the section of references, with its entry written out."""
    match = course.CITATION.search(line)
    if not match or not re.match(r"\s*[-*] *\[@", line):
        return cited(line)
    keys = re.findall(r"@([\w:.-]+)", match[1])
    told = "; ".join(facts.long_reference(key) for key in keys)
    rest = line[match.end() :].strip()
    return f"- {told} {rest}".rstrip() + " ({reference}`" + keys[0] + "`)"


def linked_names(names: list[str], role: str) -> str:
    return ", ".join(f"{{{role}}}`{name}`" for name in names)


def chapter_head(chapter: course.Chapter) -> list[str]:
    """Below the title: the part, and what to read before."""
    part = chapter.front["part"]
    written = facts.written_chapters()
    needs = [n for n in chapter.front.get("needs") or () if n in written]
    after = f" · after {linked_names(needs, 'chapter')}" if needs else ""
    return [":::{div} chapter-head", f"{part}{after}", ":::", ""]


def chapter_foot(chapter: course.Chapter) -> list[str]:
    """At the end: what the chapter covers, and where to go on."""
    front = chapter.front
    written = facts.written_chapters()
    following = [n for n in front.get("next") or () if n in written]
    rows = []
    if following:
        rows.append(("Next", linked_names(following, "chapter")))
    classes = [n for n in front.get("classes") or () if facts.page_name(n)]
    if classes:
        rows.append(("In the library", linked_names(classes, "api")))
    titles = [facts.topics()[t].title for t in front.get("topics") or ()]
    if titles:
        rows.append(("Topics", "; ".join(titles)))
    notes = [
        f"[{c}: {', '.join(map(str, s))}](../notes/{c}.md)"
        for c, s in (front.get("notes") or {}).items()
    ]
    if notes:
        rows.append(("In the notes", "; ".join(notes)))
    lines = [":::{div} chapter-foot", ""]
    for key, value in rows:
        lines += [f"{key}", f": {value}", ""]
    return [*lines, ":::", ""]


def with_results(
    chapter: course.Chapter, page: Page, *, picture_first: bool
) -> list[str]:
    """The lines of a page with what its fences printed and drew."""
    lines = chapter.text.splitlines()
    shown = zip(page.outputs, page.figures)
    results = dict(zip((f.first for f in chapter.python_fences), shown))
    fences = {f.first: f for f in chapter.fences}
    front = course.FRONT.match(chapter.text)
    number = chapter.text[: front.end()].count("\n") if front else 0
    out: list[str] = []
    sections, in_references = 0, False
    while number < len(lines):
        line = lines[number]
        fence = fences.get(number + 1)
        number += 1
        if fence is not None:
            block = lines[fence.first - 1 : fence.last]
            if fence.language == "python":
                output, figures = results[fence.first]
                key = f"{chapter.name}-{fence.first}"
                block += ["", *result_blocks(output, figures, fence.alt, key)]
                if figures and sections == 1 and picture_first:
                    block = picture_before_code(block, fence)
            out += block
            number = fence.last
            continue
        if course.ALT_TEXT.match(line):
            continue
        if line.startswith("#"):
            sections += line.startswith("## ")
            in_references = line.strip() == "## References"
        out.append(full_citation(line) if in_references else cited(line))
        if line.startswith("# ") and chapter.front:
            out += ["", *chapter_head(chapter)]
    return out


def picture_before_code(block: list[str], fence: course.Fence) -> list[str]:
    """The picture first, then the code that draws it, folded."""
    length = fence.last - fence.first + 1
    code, shown = block[:length], block[length + 1 :]
    return [*shown, ":::{dropdown} How it is drawn", *code, ":::", ""]


def chapter_markdown(chapter: course.Chapter, page: Page) -> str:
    """A chapter with the results of its fences."""
    lines = with_results(chapter, page, picture_first=True)
    return "\n".join([*lines, "", *chapter_foot(chapter)]) + "\n"


# ---- guides


def guide_markdown(path: Path, page: Page | None) -> str:
    """A page of docs/, with results if it was run, and links that lead on the site."""
    text = path.read_text("utf-8")
    if page is not None:
        lines = with_results(course.read_guide(path), page, picture_first=False)
        text = "\n".join(lines) + "\n"
    folder = path.parent
    guides = {p.resolve(): n for n, p in facts.guide_files().items()}

    def moved(match):
        label, target = match[1], match[2]
        if re.match(r"[a-z]+:|#|<", target):
            return match[0]
        file, _, anchor = target.partition("#")
        place = (folder / file).resolve()
        if place in guides:
            return f"[{label}]({guides[place]}.md{'#' + anchor if anchor else ''})"
        relative = (
            place.relative_to(facts.ROOT).as_posix()
            if place.is_relative_to(facts.ROOT)
            else file
        )
        if place.suffix in (".png", ".svg") and place.exists():
            return f"[{label}](/pictures/{place.name})"
        if relative.startswith("examples/") and relative.endswith(".py"):
            return f"[{label}](/gallery/{place.stem}.md)"
        if relative == "examples":
            return f"[{label}](/gallery/index.md)"
        if relative.startswith("benchmarks"):
            return f"[{label}](/benchmarks.md)"
        if relative.startswith("src/pansophy/") and relative.endswith(".py"):
            return f"{{src}}`{label} <{relative.removeprefix('src/pansophy/')}>`"
        return f"{label} (`{relative}`)"

    blocks = re.split(r"(^ *```.*?^ *``` *$)", text, flags=re.MULTILINE | re.DOTALL)
    for i in range(0, len(blocks), 2):
        blocks[i] = cited(
            re.sub(r"\[([^\]\n]*(?:\n[^\]\n]*)?)\]\(([^)\s]+)\)", moved, blocks[i])
        )
    return "".join(blocks)


def guides_index() -> str:
    order = tomllib.loads((facts.DOCS / "guides" / "order.toml").read_text("utf-8"))
    files = facts.guide_files()
    lines = [
        "# Guides",
        "",
        "How to do something with the library, one task a page.",
        "",
    ]
    for part in order["part"]:
        lines += [f"## {part['title']}", ""]
        lines += [
            f"- {{guide}}`{name}`: {lead_of(files[name])}" for name in part["guides"]
        ]
        lines += ["", "```{toctree}", ":hidden:", f":caption: {part['title']}", ""]
        lines += [*part["guides"], "```", ""]
    return "\n".join(lines)


def lead_of(path: Path) -> str:
    """The first sentence below the title of a page, as plain text."""
    body = path.read_text("utf-8").split("\n# ", 1)[-1]
    body = re.sub(
        r"\A.*?\n\n",
        "",
        body if body.startswith("# ") else "# " + body,
        count=1,
        flags=re.DOTALL,
    )
    first = next(
        (
            b
            for b in body.split("\n\n")
            if b.strip() and not re.match(r"[#`|:<!-]", b.strip())
        ),
        "",
    )
    first = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", " ".join(first.split()))
    match = re.match(r"(.+?[.:?])(\s|$)", first)
    return (match[1].rstrip(":") if match else first).rstrip(".") + "."


# ---- the course


def course_index() -> str:
    written = facts.written_chapters()
    lines = [
        "# The course",
        "",
        "Every chapter has the same parts: the problem, a picture, the idea with its",
        "formulas, the algorithm in plain NumPy, the same with the library, where it",
        "fails, what else there is, an example to follow by hand, and exercises with",
        "solutions. Whatever is shown was run when this page was made. Follow the",
        "order, or begin where you are: each chapter says what to read before.",
        "",
        "Do you have lecture notes beside you? The [reading guides](../notes/index.md)",
        "lead from every section of five courses to the chapter.",
        "",
    ]
    for part, names in written_parts().items():
        lines += [f"## [{part}]({part_page(part)}.md)", ""]
        lines += [f"- {{chapter}}`{n}`: {problem_of(written[n])}" for n in names]
        lines.append("")
    tree = ["```{toctree}", ":hidden:", "", *map(part_page, written_parts()), "```", ""]
    return "\n".join([*lines, *tree])


def written_parts() -> dict[str, list[str]]:
    """Part of the course -> its chapters that are written."""
    written = facts.written_chapters()
    parts = course.order_of_parts().items()
    kept = {part: [n for n in names if n in written] for part, names in parts}
    return {part: names for part, names in kept.items() if names}


def part_page(part: str) -> str:
    return "part-" + part.lower().replace(" ", "-")


def part_pages() -> dict[str, str]:
    """The page of each part: its chapters, each with its problem."""
    written = facts.written_chapters()
    pages = {}
    for part, names in written_parts().items():
        lines = [f"# {part}", ""]
        lines += [f"- {{chapter}}`{n}`: {problem_of(written[n])}" for n in names]
        lines += ["", "```{toctree}", ":hidden:", "", *names, "```", ""]
        pages[part_page(part)] = "\n".join(lines)
    return pages


def problem_of(chapter: course.Chapter) -> str:
    """The first sentence of a chapter, in plain text."""
    prose = course.without_code(chapter.text).partition("\n# ")[2]
    first = re.sub(r"<!--.*?-->", "", prose.partition("\n")[2], flags=re.DOTALL)
    first = next((b for b in first.split("\n\n") if b.strip()), "")
    first = " ".join(cited(first).split())
    match = re.match(r"(.+?[.?!])(\s|$)", first)
    return match[1] if match else first


# ---- reading guides


def note_pages() -> dict[str, str]:
    """Course -> page that leads from every section of its notes to what covers it."""
    covering: dict[tuple[str, str], list[str]] = {}
    for name, chapter in facts.written_chapters().items():
        for key, labels in (chapter.front.get("notes") or {}).items():
            for label in labels:
                for section in course.sections_meant(key, str(label)):
                    names = covering.setdefault((key, section), [])
                    names += [name] if name not in names else []
    pages, rows = {}, []
    for file in sorted((course.COURSE / "notes").glob("*.toml")):
        data = tomllib.loads(file.read_text("utf-8"))
        sections = data["sections"]
        found = sum(bool(covering.get((file.stem, s["section"]))) for s in sections)
        errata = sum(len(s.get("errata", ())) for s in sections)
        rows.append(
            f"| [{data['title']}]({file.stem}.md) | {len(sections)} | {found} "
            f"| {errata} |"
        )
        pages[file.stem] = notes_page(file.stem, data, covering)
    pages["index"] = "\n".join(
        [
            "# Reading guides",
            "",
            "Five university courses, section by section: the chapter that tells the",
            "same, the classes and examples that run it, and what is printed wrong.",
            "Keep your notes open on one side and the chapter on the other.",
            "",
            "| course | sections | with a chapter | errata |",
            "|---|---|---|---|",
            *rows,
            "",
            "```{toctree}",
            ":hidden:",
            "",
            *sorted(pages),
            "```",
            "",
        ]
    )
    return pages


def notes_page(key: str, data: dict, covering: dict) -> str:
    """The table of contents of one course."""
    lines = [
        f"# {data['title']}",
        "",
        "Each section of the notes, with what covers it here. An *erratum* is wrong or",
        "unclear in the notes as they are printed.",
        "",
    ]
    for section in data["sections"]:
        number, title = section["section"], section["title"]
        depth = number.count(".") if number[:1].isdigit() else 1
        head = title if number == title else f"{number} {title}"
        if depth == 0 or (number[:1] == "L" and number[1:].isdigit()):
            lines += [f"## {markdown_safe(head)}", ""]
        else:
            lines += [f"**{markdown_safe(head)}**", ""]
        chapters = covering.get((key, number), [])
        classes = [n for n in section.get("classes", ()) if facts.page_name(n)]
        examples = [e for n in classes for e in facts.examples_of_names().get(n, ())]
        told = []
        if chapters:
            told.append(f"Chapter: {linked_names(chapters, 'chapter')}.")
        if classes:
            told.append(f"In the library: {linked_names(classes[:6], 'api')}.")
        if examples:
            shown = list(dict.fromkeys(examples))[:3]
            told.append(f"Examples: {linked_names(shown, 'example')}.")
        lines += [" ".join(told), ""] if told else []
        for erratum in section.get("errata", ()):
            lines += [f"- *Erratum:* {markdown_safe(erratum)}.", ""]
    return "\n".join(lines)


def markdown_safe(text: str) -> str:
    """Plain text that Markdown shows as it is."""
    return re.sub(r"([\\`*_{}\[\]<>|$#~^])", r"\\\1", text)


# ---- gallery


def gallery_pages(results: dict[str, Page]) -> dict[str, str]:
    """Examples with what they print and draw, and the index with their pictures."""
    pages, cards = {}, []
    for name, page in results.items():
        text = (facts.ROOT / "examples" / f"{name}.py").read_text("utf-8")
        match = re.match(r'"""(.*?)"""\n', text, re.DOTALL)
        told = match[1].strip() if match else name
        title = short_title(told)
        code = text[match.end() :].strip() if match else text
        lines = [
            f"# {title}",
            "",
            *(" ".join(b.split()) for b in told.split("\n\n")[:1]),
            "",
        ]
        for block in told.split("\n\n")[1:]:
            plain = block.startswith("    ")
            lines += text_block(block) if plain else [" ".join(block.split()), ""]
        figures = [f for group in page.figures for f in group]
        for number, figure in enumerate(figures):
            lines += raw_html(figure_html(figure, title, f"{name}-{number}-"))
        lines += ["````python", code, "````", ""]
        if page.outputs and page.outputs[0]:
            lines += ["## What it prints", "", *text_block(page.outputs[0], "output")]
        used = sorted(facts.names_in_file(facts.ROOT / "examples" / f"{name}.py"))
        chapters = list(
            dict.fromkeys(c for n in used for c in facts.readings()[n][0][:1])
        )[:4]
        lines += ["## Read on", ""]
        if chapters:
            lines += [f"Chapters: {linked_names(chapters, 'chapter')}.", ""]
        if used:
            lines += [f"Names: {linked_names(used[:12], 'api')}.", ""]
        pages[name] = "\n".join(lines)
        picture = figure_html(figures[0], title, f"card-{name}-") if figures else ""
        cards.append(
            f'<a class="card" href="{name}.html">{picture}'
            f"<span>{escape(title)}</span></a>"
        )
    pages["index"] = "\n".join(
        [
            "# Gallery",
            "",
            "Scripts of `examples/`, each run when this page was made.",
            "",
            *raw_html(f'<div class="cards">{"".join(cards)}</div>'),
            "```{toctree}",
            ":hidden:",
            "",
            *sorted(pages),
            "```",
            "",
        ]
    )
    return pages


def short_title(told: str) -> str:
    """The first words of a docstring, up to a mark."""
    first = " ".join(told.split("\n\n")[0].split())
    title = re.split(r"[:;?.](?=\s|$)", first)[0]
    return title if len(title) < 56 else title.split(", ")[0]


# ---- benchmarks, references, names


def benchmarks_page() -> str:
    """The records as a picture and as the table that `make bench` writes."""
    text = (facts.ROOT / "benchmarks" / "results.md").read_text("utf-8")
    body = text.partition("\n\n")[2]
    body = re.sub(r"\[README\.md\]\(README\.md\)", "`benchmarks/README.md`", body)
    lines = ["# Benchmarks", ""]
    for number, (title, html) in enumerate(speed_figures()):
        lines += [*raw_html(figure_html(html, title, f"speed-{number}-"))]
    return "\n".join([*lines, body])


def speed_figures() -> list[tuple[str, str]]:
    """A picture of all records: the fastest peer's time over ours, with quartiles."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from figures import figure_text

    from pansophy.plot.style import BLUE, ORANGE, few_ticks, log_axis

    rows = sorted(facts.speed_rows(), key=lambda r: r.ratio[1])
    if not rows:
        return []
    with mpl.rc_context(course.figure_style()):
        fig, ax = plt.subplots(figsize=(6.2, 0.9 + 0.26 * len(rows)))
        for place, row in enumerate(rows):
            color = BLUE if row.ratio[1] >= 1 else ORANGE
            ax.plot([row.ratio[0], row.ratio[2]], [place, place], color=color)
            ax.plot(
                row.ratio[1], place, "o", color=color, mfc="none" if row.busy else color
            )
        ax.axvline(1, color="#8a8f98", lw=0.8)
        ax.set_yticks(range(len(rows)), [f"{r.case} ({r.peer})" for r in rows])
        ends = [r for row in rows for r in row.ratio]
        log_axis(ax, ticks=few_ticks(min(ends) / 1.2, max(ends) * 1.2))
        ax.set_xlabel(
            "time of the fastest peer / ours, largest size; hollow: busy machine"
        )
        text = figure_text(fig)
        plt.close(fig)
    told = "; ".join(
        f"{r.case}: {r.ratio[1]:.2f} against {r.peer}" for r in reversed(rows)
    )
    return [(told, text)]


def references_page() -> str:
    """Every entry of the bibliography, with what cites it."""
    cited_by: dict[str, list[str]] = {}
    for name, chapter in facts.written_chapters().items():
        for match in course.CITATION.finditer(chapter.text):
            for key in re.findall(r"@([\w:.-]+)", match[1]):
                cited_by.setdefault(key, [])
                if name not in cited_by[key]:
                    cited_by[key].append(name)
    written = facts.written_chapters()
    items = []
    for key in sorted(facts.references(), key=str.lower):
        links = ", ".join(
            f'<a href="course/{n}.html">{escape(written[n].front["title"])}</a>'
            for n in cited_by.get(key, ())
        )
        told = escape(facts.long_reference(key))
        items.append(f'<li id="{key}"><b>{key}</b> {told} {links}</li>')
    html = f'<ul class="references">{"".join(items)}</ul>'
    return "\n".join(["# References", "", *raw_html(html)])


def names_index() -> str:
    """The packages, each with its first sentence."""
    import api_pages

    packages: dict[str, int] = {}
    for public in facts.public_names().values():
        packages[public.package] = packages.get(public.package, 0) + 1
    lines = [
        "# Every public name",
        "",
        f"{len(facts.public_names()):,} names in {len(packages)} packages. Each page",
        "says what a name does, its parameters and attributes, what it takes,",
        "the method with its equations, and the chapter, guide and examples about it.",
        "",
    ]
    rows = []
    for package, count in sorted(packages.items()):
        found = api_pages.source_object(package, package)
        text = found.docstring.value if found is not None and found.docstring else ""
        lead = " ".join(text.split("\n\n")[0].split())
        rows.append(
            f'<dt><a href="{package}.html"><code>pansophy.{package}</code></a> '
            f'<span class="kind">{count}</span></dt><dd>{api_pages.inline(lead)}</dd>'
        )
    return "\n".join([*lines, *raw_html(f'<dl class="names">{"".join(rows)}</dl>')])

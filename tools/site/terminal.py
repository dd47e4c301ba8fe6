"""Write what `pansophy learn` and the help of classes show of the chapters.

`course.json` and `course_names.json` are written by `make docs`. What the terminal
shows of a chapter is taken from the chapter: the first paragraph, the beginning of the
section on the idea, the first formula (in Unicode where that is possible) and the code
of the section on the algorithm.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "src")]

import chapter as course  # noqa: E402
import facts  # noqa: E402
from plain_formula import plain_formula  # noqa: E402

DATA = ROOT / "src" / "pansophy"
LONGEST_CODE = 34  # lines


def plain_prose(text: str) -> str:
    """Prose without marks: roles as their labels, formulas in Unicode."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = course.DISPLAY_FORMULA.sub("", text)
    text = course.INLINE_FORMULA.sub(lambda m: plain_formula(m[1]), text)
    text = re.sub(r"\{eq\}`[^`]+`", "the formula", text)

    def label(match):
        words = match[2].partition("<")[0].strip() or match[2]
        return words.replace("-", " ") if match[1] == "chapter" else words

    text = course.ROLE.sub(label, text)
    text = re.sub(r"\s*" + course.CITATION.pattern, "", text)
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text)
    text = re.sub(r"(?<!\w)(\*\*|\*|_)(\S.*?\S|\S)\1(?!\w)", r"\2", text)
    text = re.sub(r"`+([^`]+)`+", r"\1", text)
    return " ".join(text.split())


def sections(chapter: course.Chapter) -> list[tuple[str, int, int]]:
    """(heading, first line, line after the last) of the sections of second level."""
    lines = chapter.text.splitlines()
    inside = {
        n for f in chapter.fences for n in range(f.first, f.last + 1)
    }  # of code, where # is a comment
    starts = [
        n
        for n, line in enumerate(lines, 1)
        if line.startswith("## ") and n not in inside
    ]
    ends = [*starts[1:], len(lines) + 1]
    return [(lines[s - 1][3:].strip(), s, e) for s, e in zip(starts, ends)]


def paragraphs(text: str) -> list[str]:
    """Paragraphs of prose before the first formula, list, table or directive."""
    found = []
    for block in re.split(r"\n\s*\n", course.CODE_BLOCK.sub("", text).strip()):
        if re.match(r"\s*(\$\$|:::|[-*|#>]|\d+\.|<!--)", block):
            if found:
                break
            continue
        found.append(block)
        if "$$" in block:
            break
    return found


def code_of(chapter: course.Chapter, first: int, last: int) -> str:
    """The code of a section that defines something, or its first code."""
    fences = [f for f in chapter.python_fences if first <= f.first < last]
    defining = [
        f for f in fences if re.search(r"^(def|for|while) ", f.code, re.MULTILINE)
    ]
    chosen = (defining or fences)[:1]
    code = chosen[0].code.strip() if chosen else ""
    return code if code.count("\n") < LONGEST_CODE else ""


def shown_row(chapter: course.Chapter) -> list:
    """A chapter as `pansophy.course.CourseChapter` holds it."""
    front = chapter.front
    body = course.FRONT.sub("", chapter.text)
    lead = (
        body.partition("\n# ")[2]
        if "\n# " in body
        else body.lstrip().removeprefix("# ")
    )
    lead = lead.partition("\n")[2].partition("\n## ")[0]
    parts = sections(chapter)
    lines = chapter.text.splitlines()
    text_of = lambda s: "\n".join(lines[s[1] : s[2] - 1])
    idea = text_of(parts[1]) if len(parts) > 1 else ""
    algorithm = parts[2] if len(parts) > 2 else None
    prose = course.prose_of(chapter.text)
    display = course.DISPLAY_FORMULA.search(idea) or course.DISPLAY_FORMULA.search(
        prose
    )
    code = code_of(chapter, algorithm[1], algorithm[2]) if algorithm else ""
    if not re.search(r"^(def|for|while) ", code, re.MULTILINE):  # drawn with it already
        own = [
            f.code.strip() for f in chapter.python_fences if "\ndef " in f"\n{f.code}"
        ]
        functions = [c for c in map(first_function, own) if c]
        code = functions[0] if functions else code
    return [
        chapter.name,
        front["title"],
        front["part"],
        "\n\n".join(map(plain_prose, paragraphs(lead)[:1])),
        "\n\n".join(filter(None, map(plain_prose, paragraphs(idea)[:2]))),
        plain_formula(display[1]) if display else "",
        code,
        list(front.get("topics") or ()),
        [f"pansophy.{n}" for n in front.get("classes") or ()],
        [n for n in front.get("next") or () if n in facts.written_chapters()],
    ]


def first_function(code: str) -> str:
    """The first function that a fence defines."""
    match = re.search(r"^def .*?(?=^\S|\Z)", code, re.MULTILINE | re.DOTALL)
    text = match[0].strip() if match else ""
    return text if text.count("\n") < LONGEST_CODE else ""


def reading_lines() -> dict[str, str]:
    """`package.Class` -> the line of its help that names chapter and guide."""
    from pansophy.testing import all_estimators

    written = facts.written_chapters()
    files = facts.guide_files()
    ours = {cls: name for name, cls in all_estimators()}
    lines = {}
    for public in facts.public_names().values():
        if public.last not in ours.values():
            continue
        chapters, guides = facts.readings()[public.name]
        told = []
        if chapters:
            name = chapters[0]
            title = written[name].front["title"]
            told.append(f"the chapter {title!r} (`pansophy learn {name}`)")
        shown = [g for g in guides if g in files][:1]
        told += [f"the guide {facts.title_of(files[g])!r}" for g in shown]
        if told:
            key = f"{public.name.split('.')[0]}.{public.last}"
            lines[key] = f"Read on: {' and '.join(told)}."
    return lines


def course_text() -> str:
    rows = [shown_row(chapter) for chapter in facts.written_chapters().values()]
    lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def names_text() -> str:
    return (
        json.dumps(reading_lines(), ensure_ascii=False, indent=0, sort_keys=True) + "\n"
    )


if __name__ == "__main__":
    for file, text in (
        ("course.json", course_text()),
        ("course_names.json", names_text()),
    ):
        (DATA / file).write_text(text, "utf-8")
        print(f"wrote {file}")

"""Every chapter and guide runs, says what its form asks for, and leads somewhere."""

import csv
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SITE = ROOT / "tools" / "site"
sys.path.insert(0, str(SITE))

import chapter as course  # noqa: E402
import facts  # noqa: E402
import links  # noqa: E402
import mathematics  # noqa: E402
import terminal  # noqa: E402
from plain_formula import plain_formula  # noqa: E402

CHAPTERS = sorted(course.COURSE.glob("*.md"))
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)
def test_chapter_runs_and_has_its_form(path):
    chapter = course.read_chapter(path)
    faults = course.faults_of(chapter) + (course.formula_faults(chapter) or [])
    assert not faults, "\n".join(faults)
    run = course.run_chapter(chapter)
    faults = course.run_faults(chapter, run)
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("path", GUIDES, ids=lambda p: p.stem)
def test_guide_runs(path):
    guide = course.read_guide(path)
    assert not course.target_faults(guide)
    course.run_chapter(guide)


def test_chapters_stand_in_the_order_after_what_they_need():
    order = [name for names in course.order_of_parts().values() for name in names]
    assert len(order) == len(set(order))
    for chapter in facts.written_chapters().values():
        place = order.index(chapter.name)
        late = [n for n in chapter.front["needs"] or () if order.index(n) > place]
        assert not late, f"{chapter.name} needs {late}, which come after it"


def test_labels_of_equations_are_of_one_chapter():
    met = {}
    for chapter in facts.written_chapters().values():
        for label in course.EQUATION_LABEL.findall(course.without_code(chapter.text)):
            other = met.setdefault(label, chapter.name)
            assert other == chapter.name, f"{label}: {other} and {chapter.name}"


def test_every_public_name_has_a_chapter_or_a_guide():
    files = facts.guide_files()
    planned = {n for names in course.order_of_parts().values() for n in names}
    for package, reading in facts.package_readings().items():
        assert package in facts.packages_with_names()
        assert set(reading.get("chapters", ())) <= planned, package
        assert set(reading.get("guides", ())) <= set(files), package
    lost = [
        n for n, (chapters, guides) in facts.readings().items() if not chapters + guides
    ]
    # chapters that are planned and not yet written count for their package
    lost = [n for n in lost if not facts.package_readings().get(n.rpartition(".")[0])]
    assert not lost, lost[:20]


def test_topics_without_a_chapter_get_fewer():
    """`docs/course/open_topics.csv` has those that no chapter teaches yet."""
    with open(course.COURSE / "open_topics.csv", encoding="utf-8", newline="") as file:
        known = {row["id"] for row in csv.DictReader(file)}
    assert known <= set(facts.topics())
    lost = set(facts.topics()) - set(facts.chapters_of_topics()) - known
    assert not lost, f"no chapter lists {sorted(lost)} in its topics"


def test_terminal_shows_the_chapters_as_they_are():
    written = (terminal.DATA / "course.json").read_text("utf-8")
    assert written == terminal.course_text(), "run `make docs`"
    written = (terminal.DATA / "course_names.json").read_text("utf-8")
    assert written == terminal.names_text(), "run `make docs`"


def test_relative_links_of_docs_lead_somewhere():
    dead = []
    pages = [
        *(ROOT / "docs").glob("*.md"),
        *GUIDES,
        ROOT / "README.md",
        ROOT / "llms.txt",
    ]
    for page in pages:
        text = course.CODE_BLOCK.sub("", page.read_text("utf-8"))
        for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text):
            file = target.partition("#")[0]
            is_file = file and not re.match(r"[a-z]+:", target)
            if is_file and not (page.parent / file).exists():
                dead.append(f"{page.name}: {target}")
    assert not dead, dead


def test_assets_ask_no_other_host():
    for file in [
        *SITE.rglob("*.css"),
        *SITE.rglob("*.html"),
        ROOT / "docs/site_front.md",
    ]:
        text = file.read_text("utf-8")
        assert not links.FOREIGN_IN_CSS.search(text), file
        hosted = [u for tag, u in links.LINK.findall(text) if links.HOSTED.match(u)]
        assert not hosted, file


# ---- the checks themselves


PLANTED = """---
title: Planted
part: Foundations
topics: [K999]
classes: [linear_model.Ridge, nn.No]
notes: {"000": ["2.5.1"], "001": ["99"]}
needs: []
next: [nowhere]
---

# Planted

A formula $\\nosuch x$, a link to {chapter}`lassoo`, a paper [@Nobody1900].

```python
import matplotlib.pyplot as plt

fig, ax = plt.subplots()
```

```python
BROKEN
```
"""


def planted(tmp_path, code="print(1)"):
    """A chapter with the faults that the checks are for."""
    path = tmp_path / "planted.md"
    path.write_text(PLANTED.replace("BROKEN", code), "utf-8")
    return course.read_chapter(path)


def test_faults_of_a_chapter_are_found(tmp_path):
    chapter = planted(tmp_path)
    faults = "\n".join(course.faults_of(chapter))
    told = ("K999", "nn.No", "'99'", "nowhere", "lassoo", "Nobody1900", "References")
    assert not [word for word in told if word not in faults]
    assert any("nosuch" in f for f in course.formula_faults(chapter))
    run = course.run_chapter(chapter)
    assert any("alt" in f for f in course.run_faults(chapter, run))
    assert [r.output.strip() for r in run.results] == ["", "1"]


@pytest.mark.parametrize("code", ["1 / 0", "import warnings; warnings.warn('odd')"])
def test_a_fence_that_fails_or_warns_is_named_with_its_line(tmp_path, code):
    chapter = planted(tmp_path, code)
    line = 1 + chapter.text[: chapter.text.index(code)].count("\n")
    with pytest.raises(course.ChapterError, match=rf"planted\.md:{line}: "):
        course.run_chapter(chapter)


def test_dead_links_and_foreign_requests_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<h1 id="top">a</h1> <a href="b.html#end">b</a>')
    (tmp_path / "b.html").write_text(
        '<a href="a.html#top">a</a> <a href="c.html">c</a> <img src="//host/x.png">'
    )
    faults = links.faults_of_site(tmp_path)
    assert len(faults) == 3, faults
    assert {"no such anchor", "leads nowhere", "asks for"} == {
        told for told in ("no such anchor", "leads nowhere", "asks for")
        if any(told in f for f in faults)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("tex", "plain"),
    [
        (r"\sum_{i=1}^{n} (y_i - w^\top x_i)^2", "Σᵢ₌₁ⁿ (yᵢ - wᵀ xᵢ)²"),
        (r"\frac{a+b}{2}", "(a+b)/2"),
        (r"\lVert w \rVert", "‖w‖"),
        (r"\begin{aligned} a &= b \\ c &= \sqrt{d}\end{aligned}", "a = b\nc = √d"),
        (r"\begin{pmatrix} 1 \end{pmatrix}", r"\begin{pmatrix} 1 \end{pmatrix}"),
    ],
)
def test_formula_in_unicode(tex, plain):
    assert plain_formula(tex) == plain


def test_formula_that_katex_refuses_is_an_error():
    assert "katex" in mathematics.render("x^2", display=False)
    with pytest.raises(mathematics.FormulaError, match="nosuch"):
        mathematics.render(r"\nosuch{x}", display=True)


def test_sections_of_notes_are_found_by_number_label_and_range():
    assert course.sections_meant("000", "2.5.1") == ["2.5.1"]
    assert course.sections_meant("002", "4.7-4.9") == ["4.7", "4.8", "4.9"]
    assert course.sections_meant("002", "36.2.2-4") == ["36.2.2", "36.2.3", "36.2.4"]
    assert course.sections_meant("003", "POMDP")[0].startswith("Partially Observable")
    assert course.sections_meant("000", "99.9") == []

"""Build the site: `make site`, or `python tools/site/build.py [--fast] [--jobs N]`.

Runs chapters and examples (what has not changed is taken from the cache), writes the
Markdown that Sphinx reads below build/site/source, lets Sphinx write build/site/html
with warnings as errors, and then checks every link of the pages. Nothing is downloaded.
"""

import argparse
import json
import os
import pickle
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "src")]

import api_pages  # noqa: E402
import chapter as course  # noqa: E402
import execution  # noqa: E402
import facts  # noqa: E402
import links  # noqa: E402
import pages  # noqa: E402

BUILD = ROOT / "build" / "site"
SOURCE, HTML, CACHE = BUILD / "source", BUILD / "html", BUILD / "cache"


def written_sources(results, examples) -> dict[str, str]:
    """Path below the source folder -> text of every page that Sphinx reads."""
    texts = {"index.md": front_page()}
    for name, chapter in facts.written_chapters().items():
        texts[f"course/{name}.md"] = pages.chapter_markdown(chapter, results[name])
    texts["course/index.md"] = pages.course_index()
    texts |= {f"course/{name}.md": text for name, text in pages.part_pages().items()}
    texts |= {f"notes/{name}.md": text for name, text in pages.note_pages().items()}
    for name, path in facts.guide_files().items():
        texts[f"guides/{name}.md"] = pages.guide_markdown(
            path, results.get(f"guide {name}")
        )
    texts["guides/index.md"] = pages.guides_index()
    gallery = pages.gallery_pages(examples)
    texts |= {f"gallery/{name}.md": text for name, text in gallery.items()}
    texts["benchmarks.md"] = pages.benchmarks_page()
    texts["references.md"] = pages.references_page()
    texts["api/index.md"] = pages.names_index()
    return texts


def front_page() -> str:
    """docs/site_front.md with the counts that it asks for."""
    text = (ROOT / "docs" / "site_front.md").read_text("utf-8")
    counts = {
        "chapters": len(facts.written_chapters()),
        "names": len(facts.public_names()),
        "examples": len(list((ROOT / "examples").glob("*.py"))),
        "guides": len(facts.guide_files()),
    }
    for key, count in counts.items():
        text = text.replace(f"%{key}%", f"{count:,}")
    return text


def link_targets(texts, library) -> dict[str, dict[str, list[str]]]:
    """Kind of link -> target -> (page, anchor, label)."""
    written = facts.written_chapters()
    planned = [n for names in course.order_of_parts().values() for n in names]
    chapters = {
        n: [f"course/{n}", "", written[n].front["title"]]
        if n in written
        else ["", "", n.replace("-", " ")]
        for n in planned
    }
    guides = {
        n: [f"guides/{n}", "", facts.title_of(path)]
        for n, path in facts.guide_files().items()
    }
    names = {n: [f"api/{n}", "", n] for n in facts.public_names()}
    for public in facts.public_names().values():
        for method in public.methods:
            whole = f"{public.name}.{method}"
            names[whole] = [f"api/{public.name}", f"#{method}", whole]
    names |= {
        p: [f"api/{p}", "", p]
        for p in {n.package for n in facts.public_names().values()}
    }
    examples = [p.stem for p in (ROOT / "examples").glob("*.py")]
    shown = {}
    for name in examples:
        for target in (name, f"{name}.py"):
            shown[target] = [f"gallery/{name}", "", name.replace("_", " ")]
    sources = {}
    for role, target in mentioned_targets(texts):
        if role == "api" and target not in names:
            names[target] = target_of_detail(target, library)
        if role == "src":
            path = course.source_file(target).relative_to(facts.SOURCE).as_posix()
            sources[target] = [api_pages.source_page(path), "", path]
    references = {
        key: ["references", f"#{key}", facts.short_reference(key)]
        for key in facts.references()
    }
    return {
        "chapter": chapters,
        "guide": guides,
        "api": names,
        "example": shown,
        "src": sources,
        "reference": references,
    }


def mentioned_targets(texts: dict[str, str]) -> set[tuple[str, str]]:
    """(role, target) of every short link of the pages."""
    return {
        (role, facts.target_of(text))
        for page in texts.values()
        for role, text in course.ROLE.findall(page)
    }


def target_of_detail(name: str, library) -> list[str]:
    """Where a name leads that has no page: to its class, or to its source."""
    page = facts.page_name(name)
    if page is not None:
        return [f"api/{page}", "", name]
    obj = library.find(name)
    if obj is None:
        return ["", "", name]
    line = f"#line-{obj.lineno}" if obj.lineno else ""
    return [api_pages.source_page(api_pages.source_name(obj)), line, name]


def write_changed(folder: Path, texts: dict[str, str]) -> None:
    """Write the pages that have changed, and remove those that are no more."""
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    for path in folder.rglob("*.md"):
        if path.relative_to(folder).as_posix() not in texts:
            path.unlink()


def llms_text() -> str:
    """A map of the site for programs that read it, after llms.txt of the project."""
    text = (ROOT / "llms.txt").read_text("utf-8").partition("\n## ")[0]
    lines = [text.rstrip(), "", "## Course", ""]
    for name, chapter in facts.written_chapters().items():
        lines.append(f"- [{chapter.front['title']}](course/{name}.md)")
    lines += ["", "## Guides", ""]
    for name, path in facts.guide_files().items():
        lines.append(f"- [{facts.title_of(path)}](guides/{name}.md)")
    lines += ["", "## Reference", "", "- [Every public name](api/index.html)"]
    lines += ["- [Examples](gallery/index.html)", "- [Benchmarks](benchmarks.html)"]
    return "\n".join(lines) + "\n"


def plain_copies() -> None:
    """Chapters and guides as Markdown beside their pages."""
    for name, chapter in facts.written_chapters().items():
        (HTML / "course" / f"{name}.md").write_text(chapter.text, "utf-8")
    for name, path in facts.guide_files().items():
        (HTML / "guides" / f"{name}.md").write_text(path.read_text("utf-8"), "utf-8")
    (HTML / "llms.txt").write_text(llms_text(), "utf-8")


def run_everything(jobs: int, *, with_gallery: bool):
    """Results of chapters and examples; the program ends if one fails."""
    chapters = {n: [str(c.path)] for n, c in facts.written_chapters().items()}
    for name, path in facts.guide_files().items():
        if path.parent.name == "guides":
            chapters[f"guide {name}"] = [str(path)]
    results = execution.run_all("chapter", chapters, CACHE, jobs)
    examples = {}
    if with_gallery:
        files = sorted((ROOT / "examples").glob("*.py"))
        drawn = {p.stem: ROOT / "docs" / "gallery" / p.name for p in files}
        work = {
            p.stem: [str(p), str(drawn[p.stem]) if drawn[p.stem].exists() else ""]
            for p in files
        }
        examples = execution.run_all("example", work, CACHE, jobs)
    failed = {n: p.error for n, p in (results | examples).items() if p.error}
    for name, error in failed.items():
        print(f"{name}: {error}")
    if failed:
        sys.exit(
            f"{len(failed)} of {len(results | examples)} did not run as they should"
        )
    return results, examples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fast", action="store_true", help="without the gallery")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(HERE)])
    clock = time.monotonic()

    def say(text):
        print(f"{time.monotonic() - clock:5.0f} s  {text}", flush=True)

    results, examples = run_everything(options.jobs, with_gallery=not options.fast)
    say("chapters and examples have run")
    asked = CACHE / f"library-{execution.library_hash()[:16]}.json"
    library = api_pages.Library.asked(asked)
    SOURCE.mkdir(parents=True, exist_ok=True)
    texts = written_sources(results, examples)
    write_changed(SOURCE, texts)
    targets = link_targets(texts, library)
    (BUILD / "targets.json").write_text(json.dumps(targets), "utf-8")
    found = api_pages.name_pages(asked)
    files = api_pages.linked_sources(asked)
    files |= {
        p.relative_to(facts.SOURCE).as_posix()
        for p in map(course.source_file, targets["src"])
    }
    files |= {
        path.relative_to(facts.SOURCE).as_posix()
        for page, _, _ in targets["api"].values()
        if page.startswith("source/")
        and (
            path := facts.SOURCE
            / (page.removeprefix("source/").replace(".", "/") + ".py")
        ).exists()
    }
    found += [api_pages.source_file_page(path) for path in sorted(files)]
    (BUILD / "pages.pickle").write_bytes(pickle.dumps(found))
    shutil.copytree(ROOT / "docs" / "images", SOURCE / "pictures", dirs_exist_ok=True)
    for picture in (ROOT / "docs").glob("*.png"):
        shutil.copy(picture, SOURCE / "pictures")
    say(f"{len(found)} pages of names and sources are made")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "-n",
        "--keep-going",
        "-b",
        "html",
    ]
    command += ["-j", str(options.jobs), "-c", str(HERE), "-d", str(BUILD / "doctrees")]
    done = subprocess.run([*command, str(SOURCE), str(HTML)], check=False)
    if done.returncode:
        sys.exit("Sphinx found faults")
    plain_copies()
    say("Sphinx has written the pages")
    faults = links.faults_of_site(HTML)
    if options.fast:
        faults = [f for f in faults if "gallery/" not in f]
    for fault in faults[:60]:
        print(f"  {fault}")
    if faults:
        sys.exit(f"{len(faults)} broken links or foreign requests")
    say(f"all links are good: {HTML / 'index.html'}")


if __name__ == "__main__":
    main()

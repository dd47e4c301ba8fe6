"""Runs chapters and examples, each once: what was printed and drawn is kept on disk.

A result is found again by the text that was run, by the sources of the library and by
the versions of the packages below it; any other change runs it again.
"""

import contextlib
import functools
import hashlib
import io
import json
import os
import platform
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parent))

PACKAGES = ("numpy", "scipy", "matplotlib", "scikit-learn", "numba")


class Page(NamedTuple):
    """What the fences of a chapter, or an example as one fence, printed and drew."""

    outputs: list[str]
    figures: list[list[str]]  # SVG of each fence
    seconds: float
    error: str


@functools.cache
def library_hash() -> str:
    """A hash of all that a result may depend on beside its own text."""
    digest = hashlib.sha256(platform.python_version().encode())
    for name in PACKAGES:
        digest.update(version(name).encode())
    own = [
        Path(__file__),
        *(Path(__file__).with_name(f"{n}.py") for n in ("chapter", "figures")),
    ]
    for path in [*sorted((ROOT / "src" / "pansophy").rglob("*.py")), *own]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def cache_file(folder: Path, kind: str, texts: list[str]) -> Path:
    key = hashlib.sha256("\0".join([kind, library_hash(), *texts]).encode()).hexdigest()
    return folder / f"{key[:32]}.json"


def run_chapter_file(path: str) -> Page:
    """Run one chapter or guide in this process."""
    import chapter as course
    from figures import figure_text

    is_guide = not Path(path).read_text("utf-8").startswith("---\n")
    chapter = course.read_guide(path) if is_guide else course.read_chapter(path)
    try:
        run = course.run_chapter(chapter, keep=figure_text)
    except course.ChapterError as error:
        return Page([], [], 0.0, str(error))
    faults = [] if is_guide else course.run_faults(chapter, run)
    return Page(
        [r.output for r in run.results],
        [r.figures for r in run.results],
        run.seconds,
        "; ".join(faults),
    )


def run_example_file(path: str, picture: str) -> Page:
    """Run one example, then the lines that draw its picture, in a folder of its own."""
    import runpy
    import tempfile

    import chapter as course
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from figures import figure_text

    printed = io.StringIO()
    before = os.getcwd()
    start = time.process_time()
    arguments, sys.argv = sys.argv, [path]
    try:
        with tempfile.TemporaryDirectory() as folder, mpl.rc_context():
            os.chdir(folder)
            mpl.rcParams.update(course.figure_style())
            with contextlib.redirect_stdout(printed):
                names = runpy.run_path(path, run_name="__main__")
                if picture:
                    plt.close("all")
                    exec(
                        compile(Path(picture).read_text("utf-8"), picture, "exec"),
                        names,
                    )
            figures = [figure_text(plt.figure(n)) for n in plt.get_fignums()]
    except Exception as error:
        return Page([], [], 0.0, f"{path}: {type(error).__name__}: {error}")
    finally:
        os.chdir(before)
        sys.argv = arguments
        plt.close("all")
    return Page(
        [printed.getvalue().rstrip()], [figures], time.process_time() - start, ""
    )


def run_and_keep(kind: str, paths: list[str], kept: str) -> Page:
    """Run a chapter or an example, and keep the result if it is good."""
    page = run_chapter_file(paths[0]) if kind == "chapter" else run_example_file(*paths)
    if not page.error:
        Path(kept).write_text(json.dumps(page), "utf-8")
    return page


def run_all(
    kind: str, jobs: dict[str, list[str]], folder: Path, workers: int
) -> dict[str, Page]:
    """Name -> result of each chapter or example; `jobs` has the files of each."""
    folder.mkdir(parents=True, exist_ok=True)
    pages, waiting = {}, {}
    for name, paths in jobs.items():
        texts = [Path(p).read_text("utf-8") if p else "" for p in paths]
        file = cache_file(folder, kind, texts)
        if file.exists():
            pages[name] = Page(*json.loads(file.read_text("utf-8")))
        else:
            waiting[name] = file
    if waiting:
        print(f"running {len(waiting)} of {len(jobs)} {kind}s", flush=True)
        # a process each for examples, which change settings and folders
        each = 1 if kind == "example" else None
        with ProcessPoolExecutor(
            workers, mp_context=get_context("spawn"), max_tasks_per_child=each
        ) as pool:
            futures = {
                name: pool.submit(run_and_keep, kind, jobs[name], str(file))
                for name, file in waiting.items()
            }
            for name, future in futures.items():
                pages[name] = future.result()
    return {name: pages[name] for name in jobs}

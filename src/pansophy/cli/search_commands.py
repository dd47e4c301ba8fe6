"""`pansophy index` and `pansophy ask`: search in the documents of a folder.

`ask` imports neither scikit-learn nor a compiler, so that most of its time is the start
of Python.
"""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from ..core.plain_text import plain_text
from .app import (
    AsJson,
    HelpfulCommand,
    app,
    errors_as_one_sentence,
    print_error,
    print_json,
    print_text,
    split_names,
)

INDEX_NAME = ".pansophy-index"

INDEX_EXAMPLES = """Examples:

pansophy index notes

pansophy index src --also .py,.toml --out src-index

Run it again after files have changed: only those are read."""

ASK_EXAMPLES = """Examples:

pansophy ask "how do I reset the clock" --index notes

pansophy ask '"exact phrase" word' --by words -k 3"""

IndexFolder = Annotated[
    Path, typer.Option("--index", help=f"Index, or a folder with {INDEX_NAME} in it.")
]


def index_location(path) -> Path:
    """The folder of an index: the one given, or the index inside it."""
    path = Path(path)
    for place in (path, path / INDEX_NAME):
        if (place / "settings.json").is_file() and (place / "words").is_dir():
            return place
    raise FileNotFoundError(
        f"There is no index in {path}; make one with `pansophy index {path}`."
    )


@app.command(cls=HelpfulCommand, epilog=INDEX_EXAMPLES)
def index(
    folder: Annotated[
        Path, typer.Argument(help="Folder of text, Markdown, HTML and PDF files.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help=f"Where the index goes; FOLDER/{INDEX_NAME} if absent."),
    ] = None,
    by: Annotated[
        str, typer.Option(help="What a passage is: headings, sentences or tokens.")
    ] = "headings",
    size: Annotated[int, typer.Option(min=1, help="Most words of a passage.")] = 200,
    overlap: Annotated[
        int, typer.Option(min=0, help="Words that come again in the next passage.")
    ] = 0,
    also: Annotated[
        list[str] | None,
        typer.Option(
            help="Further suffixes or names of text files, e.g. `.py,.toml,README`."
        ),
    ] = None,
    vectors: Annotated[
        bool, typer.Option(help="Whether to search by meaning, too.")
    ] = True,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Make the index anew, in another way, say."),
    ] = False,
    as_json: AsJson = False,
):
    """Make or update an index of the documents in a folder."""
    with errors_as_one_sentence():
        from ..text.search.folder_index import (
            FolderIndex,
            remove_index,
            source_of_index,
        )

        place = folder / INDEX_NAME if out is None else out
        settings = {
            "by": by,
            "size": size,
            "overlap": overlap,
            "also": tuple(
                s if s.startswith(".") else f".{s}" for s in split_names(also) or ()
            ),
            "n_components": 128 if vectors else 0,
        }
        if rebuild and (place / "settings.json").is_file():
            check_same_source(place, source_of_index(place), folder)
            remove_index(place)
        if (place / "settings.json").is_file():
            made = FolderIndex(place)
            check_same_settings(made, folder, settings)
        else:
            made = FolderIndex.create(place, folder, **settings)
        began = time.perf_counter()
        with made:
            report = update_with_progress(made)
        seconds = time.perf_counter() - began
        if as_json:
            result = {**report._asdict(), "seconds": seconds, "index": str(place)}
            print_json(result)
            return
        print_text(f"{report}\nindex in {place}, {seconds:.1f} s")


def check_same_settings(index, folder, settings):
    """Refuse to update an index that was made of another folder or in another way."""
    check_same_source(index.folder, index.source, folder)
    other = [
        name
        for name, value in settings.items()
        if getattr(index.settings, name) != value
    ]
    if other:
        raise ValueError(
            f"{index.folder} was made with another {' and '.join(other)}; give the "
            "same, or --rebuild to make it anew."
        )


def check_same_source(place, source, folder):
    if source != folder.resolve():
        raise ValueError(f"{place} is an index of {source}, not {folder}.")


def update_with_progress(index):
    """Update an index with a bar on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        return index.update()
    with typer.progressbar(length=100, label="Indexing", file=sys.stderr) as bar:
        shown = 0

        def report(done, total, name):
            nonlocal shown
            percent = 100 * done // max(1, total)
            bar.update(percent - shown)
            shown = percent

        return index.update(report)


@app.command(cls=HelpfulCommand, epilog=ASK_EXAMPLES)
def ask(
    question: Annotated[
        list[str],
        typer.Argument(metavar="QUESTION", help='Words, and "phrases in quotes".'),
    ],
    index: IndexFolder = Path("."),
    k: Annotated[int, typer.Option("-k", min=1, help="Number of passages.")] = 5,
    by: Annotated[
        str, typer.Option(help="Rank by words, by meaning, or hybrid: by both.")
    ] = "hybrid",
    width: Annotated[
        int, typer.Option(min=20, help="Characters shown of a passage.")
    ] = 240,
    as_json: AsJson = False,
):
    """Answer a question from the documents of an index, with sources."""
    with errors_as_one_sentence():
        from ..text.search.folder_index import FolderIndex
        from ..text.search.rag import RAG

        text = " ".join(question)
        began = time.perf_counter()
        with FolderIndex(index_location(index)) as opened:
            rag = RAG(opened, k=k, by=by)  # type: ignore[bad-argument-type]
            answer = rag.answer(text)
        seconds = time.perf_counter() - began
        snippets = [p.snippet(text, width) for p in answer.passages]
        if as_json:
            print_json(answer_as_data(answer, snippets))
            return
        marks = ("\x1b[1m", "\x1b[0m") if sys.stdout.isatty() else ("**", "**")
        print_text(f"{answer.text}\n")
        for i, (passage, snippet) in enumerate(zip(answer.passages, snippets)):
            heading = f"  {passage.heading}" if passage.heading else ""
            stale = "  (changed since it was indexed)" if passage.is_stale else ""
            print_text(f"[{i + 1}] {passage.citation}{heading}{stale}")
            clean = snippet._replace(text=printable(snippet.text))
            typer.echo(f"    {clean.highlighted(*marks)}\n")
        n = len(answer.passages)
        result = f"{n} passage{'' if n == 1 else 's'}"
        print_error(f"{result} in {1000 * seconds:.0f} ms")


def printable(text) -> str:
    """A text of the same length without anything that a terminal obeys."""
    return "".join(c if plain_text(c) == c else " " for c in text)


def answer_as_data(answer, snippets) -> dict:
    """An answer as JSON has it."""
    return {
        "answer": answer.text,
        "citations": answer.citations,
        "passages": [
            {
                "path": p.path,
                "line": p.line,
                "heading": p.heading,
                "score": p.score,
                "is_stale": p.is_stale,
                "snippet": s.text,
                "marks": s.marks,
                "text": p.text,
            }
            for p, s in zip(answer.passages, snippets)
        ],
    }

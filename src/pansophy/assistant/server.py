"""The server of `pansophy mcp`: five tools over standard input and output."""

import functools
from pathlib import PurePath
from typing import Any

from .. import __version__
from .commands import run_command
from .working_folder import WorkingFolder

SHOWN = 10  # methods of a leaderboard, findings, topics
INSTRUCTIONS = (
    "Tools for tables in one folder. `explore` a table before anything is learned from "
    "it and tell the user its alarms; `compare` finds the method to keep and writes a "
    "report and a model; `predict` answers for new rows; `methods` says what the "
    "library has; `ask` answers from an index of documents. Paths are relative to the "
    "folder. Quote scores with their intervals, and say what is undecided."
)


def _import_server():
    """The classes of the package `mcp`; one sentence where it is not installed."""
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver import Context
    except ImportError:
        raise ImportError(
            "A server for assistants needs mcp: pip install 'pansophy[mcp]'."
        ) from None
    return MCPServer, Context


def _with_sentences(tool):
    """The tool, with errors that a user can put right told to the assistant."""
    from mcp.server.mcpserver.exceptions import ToolError

    @functools.wraps(tool)
    async def told(*args, **given):
        try:
            return await tool(*args, **given)
        except ValueError as error:
            raise ToolError(str(error)) from error

    return told


def _progress_reporter(context):
    """A function that tells the client how far a command has come."""

    async def report(done, total, line):
        await context.report_progress(done, total, line)

    return report


def _option_words(**values) -> list[str]:
    """Options of a command line, for the values that are given."""
    return [
        f"--{name.replace('_', '-')}={value:g}"
        if isinstance(value, float)
        else f"--{name.replace('_', '-')}={value}"
        for name, value in values.items()
        if value
    ]


def make_server(root="."):
    """A server whose tools see one folder."""
    MCPServer, Context = _import_server()
    folder = WorkingFolder(root)
    server = MCPServer("pansophy", instructions=INSTRUCTIONS, version=__version__)

    @server.tool()
    @_with_sentences
    async def explore(table: str, target: str | None = None) -> dict[str, Any]:
        """Look for leaks, duplicates, odd columns and other faults of a table.

        Run this before a comparison; alarms must be explained before numbers count.
        """
        words = ["explore", str(folder.file(table)), "--json"]
        words += _option_words(target=target)
        return _explore_summary(await run_command(words, folder.root))

    @server.tool()
    @_with_sentences
    async def compare(
        table: str,
        target: str,
        context: Context,  # type: ignore[not-a-type]
        out: str = "result",
        methods: list[str] | None = None,
        metric: str | None = None,
        repeats: int | None = None,
        stop_after: float | None = None,
    ) -> dict[str, Any]:
        """Try every suitable method on a table and keep one; minutes, with progress.

        Writes report.html and model.pansophy into the folder `out`. `stop_after` is a
        number of seconds.
        """
        place = folder.new_folder(out)
        words = ["compare", str(folder.file(table)), "--json"]
        words += [f"--target={target}", f"--out={place}"]
        words += [f"--methods={name}" for name in methods or ()]
        words += _option_words(metric=metric, repeats=repeats, stop_after=stop_after)
        data = await run_command(words, folder.root, _progress_reporter(context))
        return _compare_summary(data, place.relative_to(folder.root))

    @server.tool()
    @_with_sentences
    async def predict(
        model: str, table: str, out: str = "predictions.csv", level: float | None = None
    ) -> dict[str, Any]:
        """Predict for the rows of a table with a kept model, into a new file.

        `model` is model.pansophy or the folder of a comparison; `level` adds intervals
        or sets of classes that hold so often.
        """
        kept = folder.place(model)
        kept = folder.file(model) if not kept.is_dir() else kept
        words = ["predict", str(kept), str(folder.file(table)), "--json"]
        words += [f"--out={folder.place(out)}", *_option_words(level=level)]
        data: Any = await run_command(words, folder.root)
        return {**data, "written": str(folder.place(out).relative_to(folder.root))}

    @server.tool()
    @_with_sentences
    async def methods(query: str) -> dict[str, Any]:
        """What the library has: by name, by topic or by a question."""
        data = await run_command(["methods", "--json", "--", query], folder.root)
        return {"topics": data[:SHOWN], "more": max(len(data) - SHOWN, 0)}

    @server.tool()
    @_with_sentences
    async def ask(question: str, index: str) -> dict[str, Any]:
        """An answer with passages, file and line from an index (`pansophy index`)."""
        place = folder.place(index)
        words = ["ask", "--json", f"--index={place}", "--", question]
        data: Any = await run_command(words, folder.root)
        return data

    return server


def _explore_summary(data) -> dict:
    """What was found, the gravest first."""
    order = {"alarm": 0, "warning": 1, "note": 2}
    findings = sorted(
        data.get("findings", []), key=lambda f: order.get(f["severity"], 3)
    )
    return {
        "format": data["format"],
        "findings": [
            {"severity": f["severity"], "text": f["text"]}
            for f in findings[: 3 * SHOWN]
        ],
        "more": max(len(findings) - 3 * SHOWN, 0),
    }


def _compare_summary(data, place) -> dict:
    """The answer of a comparison, and where its files are."""
    place = PurePath(place)
    return {
        "format": data["format"],
        "kept": data["winner"],
        "verdict": data["verdict"],
        "task": data["task"],
        "leaderboard": data["leaderboard"][:SHOWN],
        "report": str(place / "report.html"),
        "model": str(place / "model.pansophy"),
    }

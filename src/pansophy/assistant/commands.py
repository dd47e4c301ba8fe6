"""A command of `pansophy` in a process of its own, with progress and an end."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Awaitable, Callable

DONE = re.compile(r"\((\d+) of (\d+) fits")
SECONDS_TO_END = 5.0  # after which a process that was asked to end is killed
MAX_LINE = 10_000  # bytes of a line of progress
Report = Callable[[float, float, str], Awaitable[None]]


class CommandError(ValueError):
    """What a command said as it failed, in its sentence."""


async def run_command(words, folder, report: Report | None = None) -> dict | list:
    """What `pansophy WORDS --json` prints; its process ends if the call is cancelled.

    Lines about how many fits are done go to `report` (done, total, line).
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "pansophy",
        *words,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "NO_COLOR": "1"},
        start_new_session=True,
        limit=2**20,
    )
    try:
        printed, told = await asyncio.gather(
            process.stdout.read(),  # type: ignore[missing-attribute]
            _follow_lines(process.stderr, report),
        )
        code = await process.wait()
    except BaseException:  # cancelled as well
        await _end_process(process)
        raise
    if code not in (0, 1):  # 1: an answer that is no
        raise CommandError(last_sentence(told) or f"The command ended with {code}.")
    return json.loads(printed)


async def _follow_lines(stream, report) -> list[str]:
    """The lines of a stream; those that tell progress are reported."""
    lines = []
    while True:
        try:
            line = await stream.readline()
        except ValueError:  # longer than the buffer
            continue
        if not line:
            return lines
        text = line[:MAX_LINE].decode("utf-8", "replace").strip()
        lines = [*lines[-20:], text]
        progress = DONE.search(text)
        if progress and report is not None:
            await report(float(progress[1]), float(progress[2]), text)


def last_sentence(lines) -> str:
    """The sentence of an error, without the name of the program."""
    said = [line for line in lines if line.startswith("pansophy: ")] or lines[-1:]
    return said[-1].removeprefix("pansophy: ") if said else ""


async def _end_process(process) -> None:
    """End a process and those that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            return
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            await asyncio.wait_for(asyncio.shield(process.wait()), SECONDS_TO_END)
        except TimeoutError:
            continue

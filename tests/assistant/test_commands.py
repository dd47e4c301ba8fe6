"""Commands in processes of their own: cancelling ends them, errors are sentences."""

import asyncio
import os
import signal
import sys
import time

import pytest

from pansophy.assistant import commands


def is_alive(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{number}/stat") as file:
        return file.read().split()[2] != "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_cancelled_call_ends_its_process_and_those_below(tmp_path, monkeypatch):
    """Also a child of the process, and also where the process ignores the request."""
    code = (
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "wait = 'import time; time.sleep(99)'\n"
        "child = subprocess.Popen([sys.executable, '-c', wait])\n"
        "open('pids', 'w').write(f'{os.getpid()} {child.pid}')\n"
        "print('a (1 of 2 fits', file=sys.stderr, flush=True)\ntime.sleep(99)\n"
    )
    (tmp_path / "pansophy.py").write_text(code)  # stands for the command
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(commands, "SECONDS_TO_END", 0.2)

    async def run():
        begun = asyncio.Event()

        async def report(done, total, line):
            begun.set()

        task = asyncio.create_task(commands.run_command([], tmp_path, report))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    numbers = [int(n) for n in (tmp_path / "pids").read_text().split()]
    assert len(numbers) == 2
    for _ in range(1000):  # the system ends them when it gets to it
        if not any(map(is_alive, numbers)):
            return
        time.sleep(0.01)
    pytest.fail("a process is still there after ten seconds")


def test_the_sentence_of_an_error():
    lines = ["reading ...", "pansophy: There is no file t.csv."]
    assert commands.last_sentence(lines) == "There is no file t.csv."
    assert commands.last_sentence([]) == ""
    assert signal.SIGTERM

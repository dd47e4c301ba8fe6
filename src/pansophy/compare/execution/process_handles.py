"""The parent's handles of worker processes: start, ask, kill and wait for them.

`SpawnedProcess` is a Python of its own; `ForkedProcess` is forked from a `ForkServer`,
one process that has done the importing for all (see `worker_process`). Both have two
pipes, a pid, `gone` and `end`, which kills the process and everything it started in its
session.

A fork server takes a second or two to import. `fork_server_ahead` starts one before
there is anything to fit, so that it imports while this process does, and keeps it until
the end of a `with` block: worker pools and `call_in_background` use it.
"""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
from typing import Any

from .. import resource_limits

CAN_FORK = resource_limits.LINUX and hasattr(socket, "send_fds")
PIPE = subprocess.PIPE


class NoWorkers(RuntimeError):  # noqa: N818 - the run goes on without them
    """Worker processes cannot be started here."""


class SpawnedProcess:
    """A worker that is a Python of its own."""

    def __init__(self, threads):
        self.process, self.errors = start_process(
            "run_worker", threads, stdin=PIPE, stdout=PIPE
        )
        self.stdin: Any = self.process.stdin
        self.stdout: Any = self.process.stdout

    @property
    def pid(self):
        return self.process.pid

    def gone(self) -> bool:
        return self.process.poll() is not None

    def end(self, grace=0.0) -> int | None:
        """Kill it, if need be, and everything it started; its exit code."""
        with contextlib.suppress(subprocess.TimeoutExpired):  # on its way out already
            if grace:
                self.process.wait(grace)
        resource_limits.kill_process_group(self.process.pid)
        code = self.process.wait()
        self.errors.close()
        return code


class ForkedProcess:
    """A worker that is forked from a fork server."""

    def __init__(self, server, number):
        self.server, self.number = server, number
        self.pid: int | None = None
        self.code: int | None = None
        self.left = threading.Event()
        theirs, ours = os.pipe()
        ours_too, theirs_too = os.pipe()
        self.stdin, self.stdout = os.fdopen(ours, "wb"), os.fdopen(ours_too, "rb")
        self.theirs = [theirs, theirs_too]

    def ask(self):
        """Have it forked; the server knows it by its number from now on."""
        self.server.ask(f"new {self.number}", self.theirs)
        for fd in self.theirs:
            os.close(fd)

    def gone(self) -> bool:
        return self.left.is_set()

    def end(self, grace=0.0) -> int | None:
        if grace:
            self.left.wait(grace)
        if not self.left.is_set():
            self.server.ask(f"end {self.number}")
            self.left.wait(10)
        return self.code


class ForkServer:
    """The parent's end of the process that workers are forked from."""

    def __init__(self, threads):
        self.threads = threads
        self.sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        fd = theirs.fileno()
        try:
            self.process, self.errors = start_process(
                "run_fork_server", threads, str(fd), pass_fds=[fd]
            )
        except NoWorkers:
            self.sock.close()
            raise
        finally:
            theirs.close()
        self.children: dict[int, ForkedProcess] = {}
        self.closed = False
        threading.Thread(target=self.listen, daemon=True).start()

    def preload(self, modules):
        """Have modules imported that the workers to come will need."""
        for name in modules:
            self.ask(f"import {name}")

    def fork(self) -> ForkedProcess:
        number = len(self.children)
        self.children[number] = child = ForkedProcess(self, number)
        child.ask()
        if self.closed:
            child.left.set()  # it will never be forked
        return child

    def ask(self, text, fds=()):
        with contextlib.suppress(OSError):
            socket.send_fds(self.sock, [text.encode()], fds)

    def listen(self):
        with contextlib.suppress(OSError):
            while words := self.sock.recv(64).decode().split():
                child = self.children[int(words[1])]
                if words[0] == "pid":
                    child.pid = int(words[2])
                else:
                    child.code = int(words[2])
                    child.left.set()
        self.closed = True
        for child in list(self.children.values()):
            child.left.set()  # they do not outlive it

    def close(self):
        """End it; its children end with it, and nobody waits for them."""
        for child in self.children.values():
            if child.pid is not None and not child.gone():
                resource_limits.kill_process_group(child.pid)
        if self.process.returncode is None:
            resource_limits.kill_process_group(self.process.pid)
        self.process.wait()
        self.errors.close()
        self.sock.close()


_servers_ahead: list[ForkServer] = []  # at most one


@contextlib.contextmanager
def fork_server_ahead(wanted=True, threads=1):
    """Start a fork server now, for the pools and background calls of a `with` block."""
    if not wanted or not CAN_FORK or _servers_ahead:
        yield
        return
    with contextlib.suppress(NoWorkers):  # the pool says so when it cannot either
        _servers_ahead.append(ForkServer(threads))
    try:
        yield
    finally:
        while _servers_ahead:
            _servers_ahead.pop().close()


def server_ahead(threads=1) -> ForkServer | None:
    """The fork server of the `with` block around, if it serves as many threads."""
    able = [s for s in _servers_ahead if s.threads == threads and not s.closed]
    return able[0] if able else None


def start_process(entry, threads, *arguments, **pipes: Any):
    """A Python that runs a function of `worker_process`, in a session of its own.

    Also the file to which it says what it could not start for.
    """
    code = f"from pansophy.compare.execution.worker_process import {entry}; {entry}()"
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - its last words, closed with it
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, **pipes}
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", code, str(os.getpid()), *arguments],
            stderr=errors,
            env=worker_environment(threads),
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            **pipes,
        )
    except (OSError, ValueError, TypeError) as error:
        errors.close()
        raise NoWorkers(f"{type(error).__name__}: {error}") from error
    return process, errors


def last_error_line(errors) -> str:
    with contextlib.suppress(OSError, ValueError):
        errors.seek(0)
        lines = errors.read()[-4000:].decode("utf-8", "replace").splitlines()
        return next((k.strip() for k in reversed(lines) if k.strip()), "")
    return ""


def worker_environment(threads) -> dict[str, str]:
    """Environment of a worker: this one's, its modules, threads and hash seed."""
    results = [os.path.abspath(p) if p else os.getcwd() for p in sys.path]
    paths = os.pathsep.join(dict.fromkeys(results))
    fixed = {"PYTHONPATH": paths, "PYTHONHASHSEED": "0"}
    return os.environ | resource_limits.thread_environment(threads) | fixed

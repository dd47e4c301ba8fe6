"""The worker process: started by `worker_pool`, it fits jobs it receives over a pipe.

It contains nothing of the user's script and is in a session of its own, so that Ctrl-C
does not reach it. It ends when its parent does: the kernel ensures that on Linux, and
everywhere a thread waits for the pipe to close. Its standard streams lead nowhere; the
pipes are out of the way of whatever methods print or read.

    parent -> worker    folder of the shared store, then (method, fold, memory) ...
    worker -> parent    "ready" or ("no", why), then one FitOutcome for each job

    parent -> worker    a FunctionCall
    worker -> parent    ("done", what it returns) or ("no", why)

Importing takes a second or two. On Linux one process does it once and workers are
forked from it (`run_fork_server`); it never runs a fit nor starts a thread. Elsewhere
each worker is a Python of its own (`run_worker`).
"""

import contextlib
import importlib
import os
import pickle
import queue
import select
import signal
import socket
import struct
import sys
import threading
from typing import Any, NamedTuple

from .. import resource_limits

LENGTH_HEADER = struct.Struct("<Q")
MAX_MODEL_BYTES = 64e6  # bytes of a fitted model worth sending
# what every fit imports; one in a fresh process would spend 0.3 s of its limit on it
PRELOADED = (
    "pansophy.compare.execution.shared_store",
    "pansophy.compare.methods.wrappers",
)


class FunctionCall(NamedTuple):
    """A module-level function and its arguments, pickled by `pickle_anything`."""

    function: Any
    arguments: bytes


def send_message(stream, value) -> None:
    body = pickle.dumps(value, protocol=5)
    stream.write(LENGTH_HEADER.pack(len(body)) + body)
    stream.flush()


def receive_message(stream):
    """The next value; EOFError when the other end has gone."""
    head = stream.read(LENGTH_HEADER.size)
    if len(head) < LENGTH_HEADER.size:
        raise EOFError
    (size,) = LENGTH_HEADER.unpack(head)
    body = stream.read(size)
    if len(body) < size:
        raise EOFError
    return pickle.loads(body)


def redirect_to_null(*fds) -> None:
    """Point standard descriptors at the null device."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in fds:
        os.dup2(null, fd)
    os.close(null)


def queue_messages(stream, jobs):
    """Queue what the parent says; go when it has gone."""
    try:
        while True:
            jobs.put(receive_message(stream))
    except (EOFError, OSError, ValueError):
        resource_limits.kill_process_group(os.getpid())
        os._exit(0)


def sendable_outcome(outcome):
    """An outcome that can be sent: only models of moderate size, already packed."""
    from .shared_store import pickle_anything

    model = None
    if outcome.fold == 0 and outcome.model is not None:
        try:
            model = pickle_anything(outcome.model)
        except Exception:  # any class may refuse; it is fitted again if wanted
            model = None
        if model is not None and len(model) > MAX_MODEL_BYTES:
            model = None
    return outcome._replace(model=model)


def serve_parent(incoming, outgoing) -> None:
    """Do what the first message asks for: one function call, or fits."""
    resource_limits.no_core_dumps()
    jobs: queue.SimpleQueue = queue.SimpleQueue()
    threading.Thread(target=queue_messages, args=(incoming, jobs), daemon=True).start()
    first = jobs.get()
    if isinstance(first, FunctionCall):
        redirect_to_null(2)
        run_function(first, outgoing)
    else:
        serve_fits(first, jobs, outgoing)


def run_function(call, outgoing) -> None:
    """Send what one function call returns."""
    try:
        answer = ("done", call.function(*pickle.loads(call.arguments)))
    except Exception as error:
        answer = ("no", f"{type(error).__name__}: {error}")
    send_message(outgoing, answer)


def serve_fits(folder, jobs, outgoing) -> None:
    """Read the work, then do what is asked until the parent goes."""
    try:
        from . import shared_store
        from .fit_fold import PreparationCache, error_line, fit_fold
        from .plan import FailureKind, FitOutcome

        work = shared_store.read_workload(folder)
        cache = PreparationCache()
    except Exception as error:
        send_message(outgoing, ("no", f"{type(error).__name__}: {error}"))
        raise
    redirect_to_null(2)
    send_message(outgoing, "ready")
    while True:
        m, fold, memory = jobs.get()
        resource_limits.cap_memory(memory)
        cache.room = min(cache.room, memory / 8)
        try:
            outcome = sendable_outcome(fit_fold(work, m, fold, cache))
        except BaseException as error:  # a KeyboardInterrupt of its own making
            outcome = FitOutcome(
                m, fold, failure=error_line(error), kind=FailureKind.ERROR
            )
        send_message(outgoing, outcome)


def run_worker() -> None:
    """A worker that talks over its standard streams."""
    resource_limits.die_with(int(sys.argv[1]))
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    redirect_to_null(0, 1)
    serve_parent(incoming, outgoing)


# --- forking -----------------------------------------------------------------------


def run_fork_server() -> None:
    """Serve requests: "import module", "new i" with two pipes (fork a worker), "end i";
    answers "pid i p" and "gone i code". Ends, with all of them, when the parent does.
    """
    resource_limits.die_with(int(sys.argv[1]))
    for name in PRELOADED:
        preload(name)
    parent = socket.socket(fileno=int(sys.argv[2]))
    woken, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    children: dict[int, int] = {}  # pid -> number
    while True:
        ready, _, _ = select.select([parent, woken], [], [])
        if parent in ready:
            words, fds, _, _ = socket.recv_fds(parent, 256, 2)
            if not words:
                break
            handle_request(words.decode().split(), fds, parent, children)
        if woken in ready:
            woken.recv(64)
        reap_children(parent, children)
    for pid in children:
        resource_limits.kill_process_group(pid)
    os._exit(0)


def preload(name) -> None:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)


def handle_request(words, fds, parent, children) -> None:
    what = words[0]
    if what == "import":
        preload(words[1])
        return
    number = int(words[1])
    if what == "end":
        for pid in [p for p, i in children.items() if i == number]:
            resource_limits.kill_process_group(pid)
        return
    me = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            run_forked_worker(me, parent, fds)
        finally:
            os._exit(1)
    for fd in fds:
        os.close(fd)
    children[pid] = number
    notify_parent(parent, f"pid {number} {pid}")


def run_forked_worker(server_pid, parent, fds) -> None:
    os.setsid()
    resource_limits.die_with(server_pid)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    parent.close()
    redirect_to_null(0, 1)
    serve_parent(os.fdopen(fds[0], "rb"), os.fdopen(fds[1], "wb"))


def reap_children(parent, children) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        number = children.pop(pid, None)
        if number is not None:
            resource_limits.kill_process_group(pid)  # what it left behind in its group
            notify_parent(parent, f"gone {number} {os.waitstatus_to_exitcode(status)}")


def notify_parent(parent, text) -> None:
    try:
        parent.send(text.encode())
    except OSError:
        os._exit(0)

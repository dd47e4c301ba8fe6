"""The worker pool: fits in worker processes, handed out, watched, killed, replaced.

Each worker has its own session, thread budget, time limit and memory limit. The parent
reads their messages in threads and checks the clock and their memory a few times a
second; a worker beyond its limits is killed with everything it started, and another
takes its place. A fit whose worker was killed by somebody else is tried again. Which
worker does which fit never changes an outcome: an estimator of
the user's, whose class or module may keep state between fits, gets a process in which
no such estimator has been fitted before.
"""

import contextlib
import queue
import signal
import threading
import time
from typing import Any

from .. import resource_limits
from . import process_handles
from .plan import ActiveFit, FailureKind, FitOutcome
from .process_handles import (
    ForkServer,
    NoWorkers,
    SpawnedProcess,
    last_error_line,
    server_ahead,
)
from .worker_process import receive_message, send_message

POLL_SECONDS = 0.05  # seconds between looks at the clock
GRACE_SECONDS = 0.5  # seconds for a process that has closed its pipe to be gone
MAX_RETRIES = 2  # of one fit whose process was killed from outside
OUTSIDE_SIGNALS = (
    signal.SIGTERM,
    signal.SIGINT,
    getattr(signal, "SIGKILL", signal.SIGTERM),
    getattr(signal, "SIGHUP", signal.SIGTERM),
)


class WorkerHandle:
    """The parent's end of one worker."""

    def __init__(self, process, events):
        self.process, self.events = process, events
        self.job: tuple[int, int] | None = None
        self.started = 0.0
        self.prepared_folds: set[int] = set()  # folds it has prepared
        self.has_user_fit = False  # whether it has fitted an estimator of the user's
        self.ready = False
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        try:
            while True:
                self.events.put((self, receive_message(self.process.stdout)))
        except Exception:  # whatever broke the pipe, it is broken
            self.process.stdout.close()
            self.events.put((self, None))

    def send(self, value):
        with contextlib.suppress(OSError, ValueError):  # its end is seen by `listen`
            send_message(self.process.stdin, value)

    def assign(self, job, memory):
        self.job = job
        self.started = time.monotonic()
        self.prepared_folds.add(job[1])
        self.send((*job, memory))

    def overdue(self, now, time_limit, memory) -> tuple[str, FailureKind] | None:
        """Why its fit has to end, as a message and as a kind."""
        if time_limit is not None and now - self.started > time_limit:
            return f"took more than {time_limit:g} s", FailureKind.TIME
        if (
            memory < float("inf")
            and resource_limits.private_memory(self.process.pid) > memory
        ):
            return (
                f"used more than {resource_limits.format_bytes(memory)} of memory",
                FailureKind.MEMORY,
            )
        return None

    def end(self, grace=0.0) -> int | None:
        code = self.process.end(grace)
        with contextlib.suppress(OSError, ValueError):
            self.process.stdin.close()
        return code


class WorkerPool:
    """n workers on one shared store."""

    def __init__(self, n, limits, memory, modules=(), user_methods=()):
        self.limits, self.memory = limits, memory
        self.user_methods = frozenset(
            user_methods
        )  # methods that are estimators of the user's
        self.modules = modules  # that most fits will need
        self.events: queue.SimpleQueue = queue.SimpleQueue()
        self.folder: str | None = None
        self.failed_starts = 0  # workers in a row that never got ready
        self.retries: dict[tuple[int, int], int] = {}  # by job
        self.fork_server: ForkServer | None = None
        self.closed = False
        self.members: list[WorkerHandle] = []
        try:
            for _ in range(n):
                self.members.append(self.start_worker())
        except BaseException:  # those that were hired do not outlive it
            self.close()
            raise

    def start_worker(self) -> WorkerHandle:
        threads = self.limits.threads
        if process_handles.CAN_FORK:
            if self.fork_server is not None and self.fork_server.closed:
                self.fork_server.close()
                self.fork_server = None
            if self.fork_server is None:
                self.fork_server = server_ahead(threads) or ForkServer(threads)
                self.fork_server.preload(self.modules)
            process: Any = self.fork_server.fork()
        else:
            process = SpawnedProcess(threads)
        worker = WorkerHandle(process, self.events)
        if self.folder is not None:
            worker.send(self.folder)
        return worker

    def open_store(self, folder):
        """Tell all where the work is; they have been importing meanwhile."""
        self.folder = str(folder)
        for worker in self.members:
            worker.send(self.folder)

    def close(self):
        self.closed = True
        fork_server, self.fork_server = self.fork_server, None
        members, self.members = self.members, []
        if fork_server is not None and fork_server is not server_ahead(
            fork_server.threads
        ):
            fork_server.close()
        for worker in members:
            worker.end()

    def active_fits(self) -> tuple[ActiveFit, ...]:
        busy = [(w.job, w.started) for w in self.members if w.job is not None]
        return tuple(ActiveFit(job[0], job[1], since) for job, since in busy)

    def next_message(self, timeout=POLL_SECONDS):
        """The next (worker, message), or None; the messages of the dead are dropped."""
        with contextlib.suppress(queue.Empty):
            worker, message = self.events.get(timeout=timeout)
            if worker in self.members:
                return worker, message
        return None

    def replace(self, worker, needed=True, grace=0.0) -> int | None:
        """End a worker and put another in its place."""
        at = self.members.index(worker)
        code = worker.end(grace)
        if needed:
            self.members[at] = self.start_worker()
        else:
            del self.members[at]
        return code

    def handle_message(self, worker, message, job_queue) -> FitOutcome | None:
        """Handle a message; None stands for the end of a worker."""
        if isinstance(message, FitOutcome):
            worker.job = None
            return message
        if message == "ready":
            worker.ready, self.failed_starts = True, 0
            return None
        if worker.job is None and not worker.ready:  # it never got to work
            self.failed_starts += 1
            source = self.fork_server or worker.process
            why = message[1] if message else last_error_line(source.errors)
            if self.failed_starts > len(self.members) + 1:
                raise NoWorkers(why or "they end early")
            self.replace(worker)
            return None
        job = worker.job
        code = worker.end(GRACE_SECONDS)
        if job is not None and self.may_retry(job, code):
            job_queue.put_back(*job)
            self.replace(worker, bool(job_queue))
            return None
        self.replace(worker, bool(job_queue))
        if job is None:
            return None
        return FitOutcome(
            *job,
            failure=resource_limits.describe_exit_code(code),
            kind=FailureKind.DIED,
        )

    def may_retry(self, job, code) -> bool:
        """Whether a fit is tried again: its process was ended from outside.

        By a signal that no fit sends itself, or with the process it was forked from.
        """
        if code is not None and -code not in OUTSIDE_SIGNALS:
            return False
        self.retries[job] = self.retries.get(job, 0) + 1
        return self.retries[job] <= MAX_RETRIES

    def overdue_outcomes(self, job_queue):
        """Outcomes of the fits that went beyond a limit; their workers are killed."""
        now = time.monotonic()
        for worker in [w for w in self.members if w.job is not None]:
            reason = worker.overdue(now, self.limits.time_limit, self.memory)
            if reason is not None:
                m, f = worker.job or (0, 0)
                self.replace(worker, bool(job_queue))
                yield FitOutcome(m, f, failure=reason[0], kind=reason[1])

    def end_dropped_fits(self, job_queue) -> None:
        """End the workers whose method was dropped while they were at it."""
        for worker in list(self.members):
            if worker.job is not None and worker.job[0] in job_queue.dropped:
                self.replace(worker, bool(job_queue))


def fit_on_workers(pool, job_queue):
    """Yields outcomes of fits as they come, and at times the list of active fits."""
    looked = time.monotonic()
    wanted = lambda: (
        job_queue or any(job_queue.is_needed(*d[:2]) for d in pool.active_fits())
    )
    while not pool.closed and wanted():
        if not pool.members:  # the last one was not replaced; then a gate opened
            pool.members.append(pool.start_worker())
        # fits that no longer matter are not waited for
        for worker in list(pool.members):
            if worker.ready and worker.job is None:
                job = job_queue.take(worker.prepared_folds)
                if (
                    job is not None
                    and worker.has_user_fit
                    and job[0] in pool.user_methods
                ):
                    job_queue.put_back(*job)
                    pool.replace(worker)  # the next one takes it
                elif job is not None:
                    worker.has_user_fit = (
                        worker.has_user_fit or job[0] in pool.user_methods
                    )
                    worker.assign(job, pool.memory)
        message = pool.next_message()
        outcome = None if message is None else pool.handle_message(*message, job_queue)
        if outcome is not None and job_queue.accepts(outcome):
            yield outcome
        if time.monotonic() - looked >= POLL_SECONDS:
            looked = time.monotonic()
            pool.end_dropped_fits(job_queue)
            yield from filter(job_queue.accepts, pool.overdue_outcomes(job_queue))
            yield pool.active_fits()

"""A function call in a process of its own, while this process does something else.

The process is forked from the fork server of the `with fork_server_ahead()` around, so
that it starts at once. Without one, or if anything goes wrong over there, the function
is called here, when its result is asked for: the answer is the same, only later.
"""

import contextlib

from .process_handles import server_ahead
from .worker_process import FunctionCall, receive_message, send_message

MAX_ARGUMENT_BYTES = 100e6  # beyond, a copy of the arguments is not worth its memory


class BackgroundCall:
    """A call whose `result` is computed elsewhere in the meantime, if possible."""

    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments
        self.process = None
        server = server_ahead()
        if server is None:
            return
        packed = pack_arguments(arguments)
        if packed is not None:
            self.process = server.fork()
            with contextlib.suppress(OSError):  # then `result` meets a closed pipe
                send_message(self.process.stdin, FunctionCall(function, packed))

    def result(self):
        """The function's return value; its exception, if it raises one."""
        answer = None
        if self.process is not None:
            with contextlib.suppress(Exception):
                answer = receive_message(self.process.stdout)
            self.process.end()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None
        if answer is not None and answer[0] == "done":
            return answer[1]
        return self.function(*self.arguments)


def pack_arguments(arguments) -> bytes | None:
    """Arguments as bytes; None if they cannot be packed or are too large."""
    from .shared_store import pickle_anything

    try:
        packed = pickle_anything(arguments)
    except Exception:  # any class may refuse
        return None
    return packed if len(packed) <= MAX_ARGUMENT_BYTES else None


def call_in_background(function, *arguments) -> BackgroundCall:
    """Begin a call of a module-level function; see `BackgroundCall`."""
    return BackgroundCall(function, arguments)

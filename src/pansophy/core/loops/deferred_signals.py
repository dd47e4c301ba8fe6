"""Signals that wait: for code that no exception may leave in the middle.

Python handles a signal between any two instructions of the main thread, and the handler
may raise: KeyboardInterrupt for Ctrl-C. In a Python function that C code has called,
that exception is dropped, and the C code goes on without what it was promised. LLVM
makes such calls while it makes or loads machine code: what follows is an error that
names its internals, or a crash.
"""

import contextlib
import signal
import threading

# those whose handlers raise: Ctrl-C, the end of the command line, time limits of fits
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM")


@contextlib.contextmanager
def deferred_signals():
    """Handle signals that come during the block when it has ended.

    Signals that Python does not handle, or that are ignored, are let alone. Python
    handles signals in its main thread only, so that other threads need no such block.

    Examples
    --------
    >>> import signal
    >>> from pansophy.core.loops.deferred_signals import deferred_signals
    >>> before = signal.signal(signal.SIGINT, signal.default_int_handler)
    >>> try:
    ...     with deferred_signals():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("not yet")
    ... except KeyboardInterrupt:
    ...     print("now")
    not yet
    now
    >>> handler = signal.signal(signal.SIGINT, before)
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    handlers = {}
    for name in SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and callable(signal.getsignal(number)):
            handlers[number] = signal.signal(number, lambda n, _: arrived.append(n))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(arrived):
            signal.raise_signal(number)

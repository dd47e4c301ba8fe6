"""Items made by a thread ahead of their use.

The thread runs an iterator and puts its items into a queue of limited length; the
caller takes them in the same order. An exception of the iterator is raised where the
item would have been taken, and closing the generator ends the thread.
"""

import queue
import threading
from collections.abc import Generator, Iterable
from typing import Any


class _End:
    """The iterator's end, or what it raised."""

    def __init__(self, error: BaseException | None = None):
        self.error = error


def prefetched(items: Iterable, depth: int = 2) -> Generator[Any, None, None]:
    """The items of an iterable, made by a thread up to `depth` ahead.

    Examples
    --------
    >>> from pansophy.nn.training.prefetch import prefetched
    >>> list(prefetched(range(5)))
    [0, 1, 2, 3, 4]
    """
    ready: queue.Queue = queue.Queue(maxsize=depth)
    stopped = threading.Event()

    def put(item) -> bool:
        while not stopped.is_set():
            try:
                ready.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def work():
        try:
            for item in items:
                if not put(item):
                    return
            put(_End())
        except BaseException as error:  # raised where the item would be taken
            put(_End(error))

    thread = threading.Thread(target=work, name="prefetch", daemon=True)
    thread.start()
    try:
        while True:
            item = ready.get()
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item
    finally:
        stopped.set()
        thread.join()

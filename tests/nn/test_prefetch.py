"""A thread that makes items ahead."""

import threading
import time

import pytest

pytest.importorskip("torch")
from pansophy.nn.prefetch import prefetched


def test_order_and_depth():
    made = []

    def items():
        for i in range(10):
            made.append(i)
            yield i

    stream = prefetched(items(), 3)
    assert next(stream) == 0
    time.sleep(0.2)
    assert len(made) <= 1 + 3 + 1  # taken, waiting, in the thread's hand
    assert list(stream) == list(range(1, 10))


def test_errors_arrive_and_threads_end():
    def items():
        yield 1
        raise OSError("disk gone")

    stream = prefetched(items())
    assert next(stream) == 1
    with pytest.raises(OSError, match="disk gone"):
        next(stream)
    endless = prefetched(iter(int, 1))
    next(endless)
    endless.close()
    assert not [t for t in threading.enumerate() if t.name == "prefetch"]

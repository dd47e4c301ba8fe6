"""A thread that makes items ahead."""

import threading

import pytest

pytest.importorskip("torch")
from pansophy.nn.training.prefetch import prefetched


def test_order_and_depth():
    made = []
    ahead = threading.Event()

    def items():
        for i in range(10):
            made.append(i)
            if i == 1 + 3:  # one is taken, three wait: this one finds no place
                ahead.set()
            yield i

    stream = prefetched(items(), 3)
    assert next(stream) == 0
    assert ahead.wait(60)  # the thread works while nothing is taken
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

"""Work shared inside compiled loops."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numba import njit

from pansophy.core.loops import _shared_queue as loops
from pansophy.core.loops import threads, worker_pool


@njit(cache=True, nogil=True)
def work(x, out, item):
    size = x.size // out.size
    out[item] = np.sum(x[item * size : (item + 1) * size] ** 2)


@njit(cache=True, nogil=True)
def lead(board, x, out, rounds):
    """The sum of squares, again and again; each round adds one to x."""
    total = 0.0
    for _ in range(rounds):
        loops.publish_items(board, out.size)
        while True:
            item = loops.take_item(board)
            if item < 0:
                break
            work(x, out, item)
            loops.finish_item(board)
        loops.wait_until_finished(board)
        total += np.sum(out)
        x += 1.0
    return total


@njit(cache=True, nogil=True)
def hand(board, x, out):
    taken = 0
    while True:
        item = loops.wait_for_item(board)
        if item < 0:
            return taken
        work(x, out, item)
        loops.finish_item(board)
        taken += 1


def total(hands, rounds=300, n=4096, items=16):
    x, out = np.arange(n, dtype=float), np.zeros(items)
    return worker_pool.run_with_workers(
        lambda board: lead(board, x, out, rounds), lambda board, _: hand(board, x, out),
        hands,
    )  # fmt: skip


def test_hands_change_nothing():
    alone = total(0)
    x = np.arange(4096.0)
    assert alone == pytest.approx(sum(np.sum((x + r) ** 2) for r in range(300)))
    assert [total(hands) for hands in (1, 2, 5, None)] == [alone] * 4


def test_hands_take_their_share():
    board, x, out = np.zeros(loops.QUEUE_SIZE, np.int64), np.ones(64), np.zeros(8)
    loops.publish_items(board, 8)
    took = []
    thread = threading.Thread(target=lambda: took.append(hand(board, x, out)))
    thread.start()
    loops.wait_until_finished(board)  # the lead takes nothing
    loops.stop_workers(board)
    thread.join()
    assert took == [8] and np.all(out == 8.0)


def test_many_leads_at_once_do_not_wait_for_each_other():
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: total(3, rounds=50), range(12)))
    assert len(set(found)) == 1


def test_an_error_in_the_lead_sends_the_hands_home():
    x, out = np.ones(64), np.zeros(8)

    def fail(board):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        worker_pool.run_with_workers(fail, lambda board, _: hand(board, x, out), 2)
    assert total(1, rounds=5) == total(0, rounds=5)  # the pool is free again


def test_an_error_in_a_hand_is_heard():
    begun = threading.Event()

    def fail(board, number):
        begun.set()
        raise ValueError(f"hand {number}")

    def lead_late(board):
        assert begun.wait(120)  # a hand that has not begun is left out

    if threads.available_threads() > 1:
        with pytest.raises(ValueError, match="hand 1"):
            worker_pool.run_with_workers(lead_late, fail, 1)

"""Batches: requests that wait are one call, too many are refused, errors reach all."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from pansophy.serve import batching
from pansophy.serve.batching import RequestBatcher, ServerBusy


class Model:
    def __init__(self):
        self.sizes = []

    def raw_scores(self, frame):
        self.sizes.append(len(frame))
        if (frame.values < 0).any():
            raise RuntimeError("no answer")
        return 10 * frame.values[:, 0]


def rows(*numbers):
    return SimpleNamespace(values=[[float(n)] for n in numbers], texts=())


def answers(model, requests, most=100):
    async def ask():
        with ThreadPoolExecutor(1) as pool:
            batcher = RequestBatcher(model, pool, most)
            calls = [batcher.scores(r) for r in requests]
            found = await asyncio.gather(*calls, return_exceptions=True)
            assert batcher.waiting == 0 and not batcher.working
            return found, batcher

    return asyncio.run(ask())


def test_requests_that_wait_are_one_call_and_get_their_own_rows():
    model = Model()
    found, batcher = answers(model, [rows(1), rows(2, 3), rows(4)])
    assert model.sizes == [4] and batcher.calls == 1 and batcher.rows == 4
    assert [list(f) for f in found] == [[10], [20, 30], [40]]


def test_large_batches_are_cut_between_requests(monkeypatch):
    monkeypatch.setattr(batching, "MAX_BATCH_ROWS", 3)
    model = Model()
    found, _ = answers(model, [rows(1, 2), rows(3), rows(4, 5, 6, 7)])
    assert model.sizes == [3, 4] and list(found[2]) == [40, 50, 60, 70]


@pytest.mark.parametrize("inline", [0.0, 1.0])
def test_an_error_is_told_to_every_request_of_the_batch(monkeypatch, inline):
    monkeypatch.setattr(batching, "MAX_INLINE_SECONDS", inline)
    found, _ = answers(Model(), [rows(1), rows(-1)])
    assert all(isinstance(f, RuntimeError) for f in found)
    found, _ = answers(Model(), [rows(1)])
    np.testing.assert_array_equal(found[0], [10])


def test_more_rows_than_may_wait_are_refused():
    found, _ = answers(Model(), [rows(1, 2), rows(3), rows(4)], most=3)
    assert list(found[1]) == [30] and isinstance(found[2], ServerBusy)

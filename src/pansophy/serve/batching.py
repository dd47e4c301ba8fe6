"""Requests that arrive together are predicted together.

A request queues its rows and waits. At the next iteration of the event loop all waiting
rows go to the model as one frame: under load the cost of a call is shared, and a lone
request is not delayed. Short work is done in the loop itself; work that is expected to
block it for longer than `MAX_INLINE_SECONDS` goes to the one worker thread, and what
arrives meanwhile makes the next batch.

The order of sums inside a model may depend on the number of rows, so that the answer to
a row can differ in its last digits with the rows that are predicted along with it.
"""

import asyncio
import time

import numpy as np
import pyarrow as pa

from ..tables import MixedFrame

MAX_INLINE_SECONDS = 0.02  # seconds that the loop may be held up
MAX_BATCH_ROWS = 4096  # rows of one call


class ServerBusy(RuntimeError):  # noqa: N818 - an answer, not a failure
    """More rows are waiting than the limits allow."""


class RequestBatcher:
    """`await scores(rows)` from many requests, few calls of the model."""

    def __init__(self, model, pool, most_waiting):
        self.model, self.pool, self.most = model, pool, most_waiting
        self.queue: list = []
        self.waiting = 0  # rows
        self.working = False
        self.cost = (1e-3, 1e-5)  # seconds of a call, and of each row, learned
        self.calls = self.rows = 0

    async def scores(self, rows) -> np.ndarray:
        """Numbers or probabilities for rows that a `RowReader` has read."""
        n = len(rows.values)
        if self.waiting + n > self.most:
            raise ServerBusy
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self.waiting += n
        self.queue.append((rows, n, future))
        if not self.working:
            self.working = True
            loop.call_soon(self._begin, loop)
        return await future

    def _begin(self, loop):
        batch = []
        n = 0
        while self.queue and (not batch or n + self.queue[0][1] <= MAX_BATCH_ROWS):
            batch.append(self.queue.pop(0))
            n += batch[-1][1]
        if self.cost[0] + n * self.cost[1] > MAX_INLINE_SECONDS:
            on_done = lambda f: self._end(loop, batch, n, result_or_exception(f))
            loop.run_in_executor(self.pool, self._work, batch).add_done_callback(
                on_done
            )
            return
        try:
            result = self._work(batch)
        except Exception as error:  # told to every request of the batch
            result = error
        self._end(loop, batch, n, result)

    def _work(self, batch) -> np.ndarray:
        values = [row for rows, _, _ in batch for row in rows.values]
        texts = tuple(
            pa.array([v for rows, _, _ in batch for v in rows.texts[t]], pa.string())
            for t in range(len(batch[0][0].texts))
        )
        start_time = time.perf_counter()
        frame = MixedFrame(np.array(values, dtype=np.float64), texts)
        p = self.model.raw_scores(frame)
        self._learn(time.perf_counter() - start_time, len(values))
        return p

    def _learn(self, seconds, n):
        """Move the estimates towards what a call has taken."""
        call, row = self.cost
        if n < 16:
            call += 0.2 * (seconds - n * row - call)
        else:
            row += 0.2 * ((seconds - call) / n - row)
        self.cost = (max(call, 0.0), max(row, 0.0))

    def _end(self, loop, batch, n, result):
        self.waiting -= n
        self.calls += 1
        self.rows += n
        at = 0
        for _, k, future in batch:
            if future.done():  # its client has gone
                pass
            elif isinstance(result, BaseException):
                future.set_exception(result)
            else:
                future.set_result(result[at : at + k])
            at += k
        if self.queue:
            loop.call_soon(self._begin, loop)
        else:
            self.working = False


def result_or_exception(future):
    """The result of a call, or the exception it ended with."""
    return future.exception() or future.result()

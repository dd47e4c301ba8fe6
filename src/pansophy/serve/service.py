"""The prediction service: one model, its batcher, and a handler for each route."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

from ..compare.model.shapley import explain_rows
from .batching import RequestBatcher
from .request import (
    RequestRefused,
    read_body,
    refuse_parameters,
    requested_level,
    rows_in_body,
)
from .request_middleware import LOG
from .responses import (
    explanation_objects,
    json_bytes,
    prediction_objects,
    schema_summary,
    utc_now,
)
from .row_reader import RowReader, RowsRejected

INLINE_BYTES = 50_000  # bodies up to this are read in the event loop itself
INLINE_NUMBERS = 2_000  # and so many predicted numbers are written in it


class PredictionService:
    """The model, the rows that wait for it, and a handler for each route."""

    def __init__(self, model, limits):
        self.model, self.limits = model, limits
        self.reader = RowReader(model)
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="model")
        self.readers = ThreadPoolExecutor(2, thread_name_prefix="reader")
        self.batcher = RequestBatcher(model, self.pool, limits.waiting)
        self.begun = time.time()
        self.requests = 0
        self.summary = schema_summary(model, self.reader, limits)

    async def predict(self, request) -> bytes:
        """Predict for one row or several."""
        level = requested_level(request)
        rows = await self._rows(request, self.limits.rows)
        p = await self.batcher.scores(rows)

        def written():
            frame = None if level is None else rows.frame()
            out = prediction_objects(self.model, p, level, frame)
            return json_bytes({"predictions": out, "notes": rows.notes})

        try:
            body = await self._run(written, len(p) * p[0].size > INLINE_NUMBERS)
        except AttributeError as error:  # no intervals or sets for this model
            raise RequestRefused(422, str(error)) from None
        self.requests += 1
        return body

    async def _run(self, work, heavy):
        """The result of `work()`, on a thread if it would hold up the event loop."""
        if not heavy:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self.readers, work)

    async def explain(self, request) -> bytes:
        """What each column adds to each prediction."""
        refuse_parameters(request)
        rows = await self._rows(request, self.limits.explained)
        frame = rows.frame()
        loop = asyncio.get_running_loop()

        def work():
            explanation = explain_rows(self.model, frame)
            out = explanation_objects(
                self.model, explanation, self.model.raw_scores(frame)
            )
            about = {
                "scale": explanation.scale,
                "method": explanation.method,
                "notes": rows.notes,
            }
            return json_bytes({"predictions": out, **about})

        try:
            body = await loop.run_in_executor(self.pool, work)
        except AttributeError as error:
            raise RequestRefused(422, str(error)) from None
        self.requests += 1
        return body

    async def health(self, request) -> bytes:
        """Whether the model answers."""
        b = self.batcher
        told = {
            "status": "ok",
            "model": self.model.method,
            "target": self.model.schema.target,
            "seconds": round(time.time() - self.begun, 1),
            "time": utc_now(),
            "requests": self.requests,
            "rows": b.rows,
            "waiting": b.waiting,
        }
        return json_bytes(told)

    async def schema(self, request) -> bytes:
        """The columns, the target and the limits."""
        return json_bytes(self.summary)

    async def _rows(self, request, most):
        body = await read_body(request, self.limits)

        def read():
            items = rows_in_body(body)
            if len(items) > most:
                n = len(items)
                text = f"{n} rows are too many; one request holds at most {most}."
                raise RequestRefused(413, text)
            return self.reader.read(items)

        try:
            return await self._run(read, len(body) > INLINE_BYTES)
        except RowsRejected as bad:
            told = [p._asdict() for p in bad.problems]
            raise RequestRefused(422, str(bad), problems=told) from None


def warm_up_model(model):
    """Answer for a few rows once, so that the first request waits for nothing."""
    background = model.background
    if background is None:
        return
    try:
        for n in (1, len(background)):
            model.raw_scores(background[slice(0, n)])
    except Exception:  # a request would meet it too, and be told
        LOG.exception("the model fails on a row like those of training")

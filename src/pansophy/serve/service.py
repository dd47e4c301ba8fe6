"""One model and what answers for it."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

from ..compare.keeping.explain import explain
from .answers import dumps, explanations, now, predictions, summary
from .batching import Batcher
from .gate import LOG
from .reader import Reader, Rejected
from .request import Refused, body_of, items_of, level_of, no_parameters


class Service:
    """The model, the rows that wait for it, and a handler for each page."""

    def __init__(self, model, limits):
        self.model, self.limits = model, limits
        self.reader = Reader(model)
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="model")
        self.batcher = Batcher(model, self.pool, limits.waiting)
        self.begun = time.time()
        self.requests = 0
        self.summary = summary(model, self.reader, limits)

    async def predict(self, request) -> bytes:
        """Predict for one row or several."""
        level = level_of(request)
        rows = await self._rows(request, self.limits.rows)
        p = await self.batcher.scores(rows)
        try:
            frame = None if level is None else rows.frame()
            out = predictions(self.model, p, level, frame)
        except AttributeError as error:  # no intervals or sets for this model
            raise Refused(422, str(error)) from None
        self.requests += 1
        return dumps({"predictions": out, "notes": rows.notes})

    async def explain(self, request) -> bytes:
        """What each column adds to each prediction."""
        no_parameters(request)
        rows = await self._rows(request, self.limits.explained)
        frame = rows.frame()
        loop = asyncio.get_running_loop()

        def work():
            return explain(self.model, frame), self.model.raw_scores(frame)

        try:
            found, p = await loop.run_in_executor(self.pool, work)
        except AttributeError as error:
            raise Refused(422, str(error)) from None
        self.requests += 1
        out = explanations(self.model, found, p)
        told = {"scale": found.scale, "how": found.how, "notes": rows.notes}
        return dumps({"predictions": out, **told})

    async def health(self, request) -> bytes:
        """Whether the model answers."""
        b = self.batcher
        told = {
            "status": "ok",
            "model": self.model.method,
            "target": self.model.schema.target,
            "seconds": round(time.time() - self.begun, 1),
            "time": now(),
            "requests": self.requests,
            "rows": b.rows,
            "waiting": b.waiting,
        }
        return dumps(told)

    async def schema(self, request) -> bytes:
        """The columns, the target and the limits."""
        return dumps(self.summary)

    async def _rows(self, request, most):
        items = items_of(await body_of(request, self.limits))
        if len(items) > most:
            text = f"{len(items)} rows are too many; one request holds at most {most}."
            raise Refused(413, text)
        try:
            return self.reader.read(items)
        except Rejected as bad:
            told = [p._asdict() for p in bad.problems]
            raise Refused(422, str(bad), problems=told) from None


def warm(model):
    """Answer for a training row once, so that the first request waits for nothing."""
    background = model.background
    if background is None:
        return
    try:
        for n in (1, len(background)):
            model.raw_scores(background[slice(0, n)])
    except Exception:  # a request would meet it too, and be told
        LOG.exception("the model fails on a row of training")

"""The application of a forecast model: /forecast, /schema and /health.

POST /forecast takes {"rows": [...], "horizon": 14, "level": [80, 95]}, each of which
may be left out, and answers {"forecasts": [...], "notes": [...]}: a row for each series
and step, and what was noticed in the rows. Rows with a value of the target move the end
of their series; rows without give the known columns of the future. The model that is
served stays as it is: the next request begins from it again.
"""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import pyarrow as pa

from .batching import ServerBusy
from .request import RequestRefused, read_body, refuse_parameters
from .responses import finite_or_none, json_bytes, utc_now

MOST_STEPS = 100_000  # over all series, of a horizon longer than the model's
KEYS = {"rows", "horizon", "level"}
HOW = 'Send {"rows": [...], "horizon": 14, "level": [80, 95]}, or a part of it.'


def is_forecast_model(model) -> bool:
    """Whether a saved object is a model of `pansophy.forecast`."""
    kind = type(model)
    return kind.__name__ == "ForecastModel" and kind.__module__.startswith(
        "pansophy.forecasting."
    )


class ForecastService:
    """A forecast model and a handler for each route."""

    def __init__(self, model, limits):
        self.model, self.limits = model, limits
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="model")
        self.waiting = 0  # requests
        self.begun = time.time()
        self.requests = 0

    async def forecast(self, request) -> bytes:
        """The next steps of every series, after the rows that were sent."""
        refuse_parameters(request)
        body = await read_body(request, self.limits)
        if self.waiting >= self.limits.connections:
            raise ServerBusy
        self.waiting += 1
        try:
            loop = asyncio.get_running_loop()
            answer = await loop.run_in_executor(self.pool, self._forecast_body, body)
        except (ValueError, TypeError, pa.ArrowException) as error:
            text = " ".join(str(error).split())[:300]
            raise RequestRefused(422, text) from None
        finally:
            self.waiting -= 1
        self.requests += 1
        return answer

    def _forecast_body(self, body) -> bytes:
        rows, horizon, level = parsed_request(body, self.limits.rows)
        steps = self.model.horizon if horizon is None else horizon
        is_longer = steps > self.model.horizon
        if is_longer and steps * len(self.model.panel) > MOST_STEPS:
            raise RequestRefused(
                413,
                f"{steps} steps of {len(self.model.panel)} series are too many; one "
                f"request forecasts {MOST_STEPS}.",
            )
        model = self.model.extended(table_of_objects(rows)) if rows else self.model
        found = model.predict_table(horizon=horizon, level=level)
        notes = model.notes if rows else []
        return json_bytes({"forecasts": objects_of_table(found), "notes": notes})

    async def health(self, request) -> bytes:
        """Whether the model answers."""
        told = {
            "status": "ok",
            "model": self.model.method,
            "target": self.model.columns["target"],
            "seconds": round(time.time() - self.begun, 1),
            "time": utc_now(),
            "requests": self.requests,
            "waiting": self.waiting,
        }
        return json_bytes(told)

    async def schema(self, request) -> bytes:
        """The columns, the series, the horizon and the limits."""
        model = self.model
        told = {
            "model": model.method,
            "columns": model.columns,
            "frequency": model.panel.frequency.name,
            "series": len(model.panel),
            "horizon": model.horizon,
            "level": [float(level) for level in model.level],
            "request": HOW,
            "limits": {"rows": self.limits.rows, "steps": MOST_STEPS},
        }
        return json_bytes(told)


def table_of_objects(rows) -> pa.Table:
    """A table with every column that some object names."""
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def objects_of_table(table) -> list[dict]:
    """One object a row; null where a number is not finite."""
    return [
        {k: finite_or_none(v) if isinstance(v, float) else v for k, v in row.items()}
        for row in table.to_pylist()
    ]


def parsed_request(body, most_rows):
    """(rows, horizon, level) of a body; None for what it does not name."""
    from pydantic_core import from_json

    try:
        sent = from_json(body) if body.strip() else {}
    except ValueError as error:
        raise RequestRefused(
            400, f"The body is not JSON: {str(error)[:200]}."
        ) from None
    if not isinstance(sent, dict) or not sent.keys() <= KEYS:
        raise RequestRefused(422, HOW)
    rows = sent.get("rows")
    is_list = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
    if rows is not None and not is_list:
        raise RequestRefused(422, "rows must be a list of objects, one a row.")
    if rows and len(rows) > most_rows:
        text = f"{len(rows)} rows are too many; one request holds at most {most_rows}."
        raise RequestRefused(413, text)
    horizon = sent.get("horizon")
    whole = isinstance(horizon, int) and not isinstance(horizon, bool)
    if horizon is not None and not (whole and horizon > 0):
        text = "horizon must be a whole number of at least 1."
        raise RequestRefused(422, text)
    return rows, horizon, sent.get("level")


def forecast_application(model, limits, *, token=None, hosts=None):
    """An ASGI application for a model of `forecast`."""
    from .application import application_of_pages

    service = ForecastService(model, limits)

    @asynccontextmanager
    async def life(_):
        yield
        service.pool.shutdown(wait=True)

    pages = [
        ("/forecast", "POST", service.forecast),
        ("/health", "GET", service.health),
        ("/schema", "GET", service.schema),
    ]
    title = f"{model.columns['target']} by {model.method}"
    return application_of_pages(service, title, pages, life, token=token, hosts=hosts)

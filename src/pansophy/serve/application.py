"""The application: /predict, /explain, /schema, /health and /docs for one model."""

import warnings
from contextlib import asynccontextmanager

from ..compare import TableModel
from .answers import dumps
from .batching import Busy
from .gate import Gate
from .limits import Limits
from .page import page
from .request import Refused
from .service import Service, warm
from .types import ERRORS, document, row_model, with_row

LEVEL = {
    "name": "level",
    "in": "query",
    "required": False,
    "schema": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
}
ELSEWHERE = {
    404: "There is no such page; see /docs.",
    405: "This page takes another method; see /docs.",
}


def app(model, limits=None):
    """An ASGI application for a TableModel, or for the file that holds one.

    Parameters
    ----------
    model : TableModel or path
    limits : Limits or None
    """
    import fastapi
    from starlette.exceptions import HTTPException

    service = Service(loaded(model), limits or Limits())

    @asynccontextmanager
    async def life(_):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # once for the process, not by request
            warm(service.model)
            yield
        service.pool.shutdown(wait=True)

    made = fastapi.FastAPI(
        title=f"{service.model.schema.target} by {service.model.method}",
        docs_url=None,
        redoc_url=None,
        lifespan=life,
    )
    add_pages(made, service)
    made.add_exception_handler(HTTPException, elsewhere)
    made.add_middleware(Gate)
    made.state.service = service
    return made


def add_pages(made, service):
    """The routes, and what the OpenAPI document says of them."""
    with_row(made, row_model(service.model, service.reader))
    errors = {code: {"description": text} for code, text in ERRORS.items()}
    takes = {"responses": errors, "openapi_extra": document()}
    leveled = {**takes, "openapi_extra": {**document(), "parameters": [LEVEL]}}
    pages = [
        ("/predict", "POST", service.predict, leveled),
        ("/explain", "POST", service.explain, takes),
        ("/health", "GET", service.health, {}),
        ("/health", "HEAD", service.health, {"include_in_schema": False}),
        ("/schema", "GET", service.schema, {}),
        ("/docs", "GET", docs_of(service), {"include_in_schema": False}),
    ]
    for path, method, work, more in pages:
        made.add_api_route(
            path,
            work if path == "/docs" else endpoint(work),
            methods=[method],
            name=path.strip("/"),
            description=work.__doc__,
            response_model=None,
            **more,
        )


def endpoint(work):
    """`work(request) -> JSON in bytes` as a page, refusals and all."""
    from fastapi import Request, Response

    async def answer(request: Request) -> Response:
        try:
            body, status, head = await work(request), 200, None
        except Refused as bad:
            body = dumps({**bad.body, "request_id": request.state.id})
            head = {"connection": "close"} if bad.close else None
            status = bad.status
        except Busy:
            text = "Too many rows are waiting; try again in a second."
            body = dumps({"error": text, "request_id": request.state.id})
            status, head = 503, {"retry-after": "1"}
        return Response(body, status, head, "application/json")

    return answer


def docs_of(service):
    from fastapi import Response

    async def docs() -> Response:
        body, policy = page(service)
        head = {"content-security-policy": policy}
        return Response(body, headers=head, media_type="text/html; charset=utf-8")

    return docs


async def elsewhere(request, error):
    """Pages and methods that are not there."""
    from fastapi import Response

    text = ELSEWHERE.get(error.status_code, str(error.detail))
    body = dumps({"error": text, "request_id": request.state.id})
    head = dict(error.headers or {})
    return Response(body, error.status_code, head, "application/json")


def loaded(model) -> TableModel:
    if not isinstance(model, TableModel):
        from ..persist import load

        path, model = model, load(model)
        if not isinstance(model, TableModel):
            raise ValueError(
                f"{path} holds a {type(model).__name__}, not a model of `compare`."
            )
    return model

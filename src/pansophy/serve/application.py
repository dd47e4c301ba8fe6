"""The application: /predict, /explain, /schema, /health and /docs for one model."""

import warnings
from contextlib import asynccontextmanager
from importlib.util import find_spec

from ..compare import TableModel
from .agent_application import agent_application, is_agent
from .batching import ServerBusy
from .docs_page import docs_page
from .forecast_application import forecast_application, is_forecast_model
from .limits import ServerLimits
from .openapi import ERRORS, add_row_schema, request_body_document, row_model
from .request import RequestRefused, discard_body
from .request_middleware import AccessRule, RequestMiddleware
from .responses import json_bytes
from .service import PredictionService, warm_up_model

LEVEL_PARAMETER = {
    "name": "level",
    "in": "query",
    "required": False,
    "schema": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
}
REQUEST_TIMEOUT = 408
ROUTING_ERRORS = {
    404: "There is no such page; see /docs.",
    405: "This page takes another method; see /docs.",
}


def app(model, limits=None, *, token=None, hosts=None):
    """An ASGI application for a model of `compare` or `forecast`, or an agent.

    Parameters
    ----------
    model : TableModel, ForecastModel, agent of `pansophy.rl`, or path of one
    limits : ServerLimits or None
    token : str or None
        What clients must send as `Authorization: Bearer <token>`; None lets all in.
        /health answers without it.
    hosts : list of str or None
        Names by which clients may call the server, without ports; None or "*" is any.
    """
    require_server_packages()
    import fastapi
    from starlette.exceptions import HTTPException

    limits = limits or ServerLimits()
    served = load_served_model(model)
    if is_agent(served):
        return agent_application(served, limits, token=token, hosts=hosts)
    if is_forecast_model(served):
        return forecast_application(served, limits, token=token, hosts=hosts)
    service = PredictionService(served, limits)

    @asynccontextmanager
    async def life(_):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # once for the process, not by request
            warm_up_model(service.model)
            yield
        service.pool.shutdown(wait=True)
        service.readers.shutdown(wait=True)

    made = fastapi.FastAPI(
        title=f"{service.model.schema.target} by {service.model.method}",
        docs_url=None,
        redoc_url=None,
        lifespan=life,
        redirect_slashes=False,  # a redirect would name the host that the client named
    )
    add_routes(made, service)
    made.add_exception_handler(HTTPException, routing_error)
    made.add_middleware(RequestMiddleware, access=AccessRule.of(token, hosts))
    made.state.service = service
    return made


def application_of_pages(service, title, pages, life, *, token=None, hosts=None):
    """An application of pages (path, method, handler) that has no page of its own.

    / leads to /schema.
    """
    import fastapi
    from starlette.exceptions import HTTPException

    made = fastapi.FastAPI(
        title=title,
        docs_url=None,
        redoc_url=None,
        lifespan=life,
        redirect_slashes=False,
    )
    add_start_page(made, "/schema")
    for path, method, work in pages:
        made.add_api_route(
            path,
            endpoint(work, service.limits),
            methods=[method],
            name=path.strip("/"),
            description=work.__doc__,
            response_model=None,
        )
    made.add_exception_handler(HTTPException, routing_error)
    made.add_middleware(RequestMiddleware, access=AccessRule.of(token, hosts))
    made.state.service = service
    return made


def add_routes(application, service):
    """The routes, and what the OpenAPI document says of them."""
    add_row_schema(application, row_model(service.model, service.reader))
    errors = {code: {"description": text} for code, text in ERRORS.items()}
    takes = {"responses": errors, "openapi_extra": request_body_document()}
    leveled = {
        **takes,
        "openapi_extra": {**request_body_document(), "parameters": [LEVEL_PARAMETER]},
    }
    pages = [
        ("/predict", "POST", service.predict, leveled),
        ("/explain", "POST", service.explain, takes),
        ("/health", "GET", service.health, {}),
        ("/health", "HEAD", service.health, {"include_in_schema": False}),
        ("/schema", "GET", service.schema, {}),
        ("/docs", "GET", docs_endpoint(service), {"include_in_schema": False}),
    ]
    add_start_page(application, "/docs")
    for path, method, work, more in pages:
        application.add_api_route(
            path,
            work if path == "/docs" else endpoint(work, service.limits),
            methods=[method],
            name=path.strip("/"),
            description=work.__doc__,
            response_model=None,
            **more,
        )


def add_start_page(application, path):
    """Let / lead to a page of the same server."""
    from fastapi import Response

    async def start() -> Response:
        return Response(status_code=307, headers={"location": path})

    application.add_api_route("/", start, methods=["GET"], include_in_schema=False)


def endpoint(work, limits):
    """`work(request) -> JSON in bytes` as a page, refusals and all."""
    from fastapi import Request, Response

    async def answer(request: Request) -> Response:
        try:
            body = await work(request)
            status = 200
            head = None
        except RequestRefused as bad:
            if bad.close and bad.status != REQUEST_TIMEOUT:  # that has waited enough
                await discard_body(request, limits)
            body = json_bytes({**bad.body, "request_id": request.state.id})
            head = {"connection": "close"} if bad.close else None
            status = bad.status
        except ServerBusy:
            text = "Too many rows are waiting; try again in a second."
            body = json_bytes({"error": text, "request_id": request.state.id})
            status = 503
            head = {"retry-after": "1"}
        return Response(body, status, head, "application/json")

    return answer


def docs_endpoint(service):
    from fastapi import Response

    async def docs() -> Response:
        body, policy = docs_page(service)
        head = {"content-security-policy": policy}
        return Response(body, headers=head, media_type="text/html; charset=utf-8")

    return docs


async def routing_error(request, error):
    """Pages and methods that are not there."""
    from fastapi import Response

    text = ROUTING_ERRORS.get(error.status_code, str(error.detail))
    if not any(route.path == "/docs" for route in request.app.routes):
        text = text.replace("/docs", "/schema")  # an agent has no such page
    body = json_bytes({"error": text, "request_id": request.state.id})
    head = dict(error.headers or {})
    return Response(body, error.status_code, head, "application/json")


def require_server_packages():
    """Say what to install where the packages of the server are missing."""
    missing = [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"Serving a model needs {' and '.join(missing)}, which "
            f"{'is' if len(missing) == 1 else 'are'} not installed: "
            "pip install 'pansophy[serve]'"
        )


def load_served_model(model):
    """A model of a table, a forecast or an agent: as it is, or from its file."""
    if can_be_served(model):
        return model
    from ..persist import load

    path, model = model, load(model)
    if not can_be_served(model):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, not a model of `compare` or "
            "`forecast`, or an agent of `play`."
        )
    return model


def can_be_served(model) -> bool:
    return isinstance(model, TableModel) or is_agent(model) or is_forecast_model(model)

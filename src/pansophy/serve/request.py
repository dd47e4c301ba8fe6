"""Parsing of requests; an invalid one is refused with a status and a sentence."""

import asyncio
import contextlib
import json

MAX_DISCARDED = 10  # times the longest body: what of a refused one is still read


class RequestRefused(Exception):  # noqa: N818 - an answer, not a failure
    """A request that cannot be served, with the status that says so."""

    def __init__(self, status, text, close=False, **more):
        super().__init__(text)
        self.status, self.close = status, close
        self.body = {"error": text, **more}


def requested_level(request) -> float | None:
    if not request.url.query:
        return None
    parameters = request.query_params.multi_items()
    other = [name for name, _ in parameters if name != "level"]
    if other:
        text = f"There is no parameter {other[0][:60]!r}, only 'level'."
        raise RequestRefused(422, text)
    text = parameters[0][1] if len(parameters) == 1 else ""
    try:
        level = float(text)
    except ValueError:
        level = 0.0
    if not 0 < level < 1:
        raise RequestRefused(
            422, "level must be a number between 0 and 1, such as 0.9."
        )
    return level


def refuse_parameters(request):
    """For pages that take none: nothing is accepted and ignored."""
    if request.url.query:
        raise RequestRefused(422, f"{request.url.path} takes no parameters.")


async def discard_body(request, limits):
    """Read what is left of the body of a refused request, so that the client hears.

    A connection that is closed with bytes unread is reset, and the answer is lost. A
    body that goes on for ten times the limit, or for too long, is not waited for.
    """
    from starlette.requests import ClientDisconnect

    told = request.headers.get("content-length", "0")
    most = MAX_DISCARDED * limits.body_bytes
    if request.headers.get("expect") or (told.isdigit() and int(told) > most):
        return
    size = 0
    with contextlib.suppress(TimeoutError, ClientDisconnect, RuntimeError):
        async with asyncio.timeout(limits.body_seconds):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    return


async def read_body(request, limits) -> bytes:
    """The body, if it is JSON, short enough and in time."""
    head = request.headers
    kind = head.get("content-type", "application/json").split(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestRefused(415, "Send the rows as application/json.", close=True)
    if head.get("content-encoding", "identity") != "identity":
        raise RequestRefused(415, "Send the body uncompressed.", close=True)
    long = RequestRefused(
        413, f"The body is longer than {limits.body_bytes} bytes.", True
    )
    told = head.get("content-length", "0")
    if told.isdigit() and int(told) > limits.body_bytes:
        raise long
    parts = []
    size = 0
    most = MAX_DISCARDED * limits.body_bytes
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for part in request.stream():
                size += len(part)
                if size <= limits.body_bytes:
                    parts.append(part)
                elif size > most:
                    break
                else:
                    parts.clear()  # read to its end, so that the client hears
    except TimeoutError:
        raise RequestRefused(
            408, "The body did not arrive in time.", close=True
        ) from None
    if size > limits.body_bytes:
        raise long
    return b"".join(parts)


def rows_in_body(body) -> list:
    """The rows in a body: one object, a list of objects, or {"rows": [...]}."""
    from pydantic_core import from_json

    if not body:
        raise RequestRefused(400, "The body is empty; send a row as a JSON object.")
    try:
        sent = from_json(body, allow_inf_nan=True)
    except ValueError as error:
        raise RequestRefused(
            400, f"The body is not JSON: {str(error)[:200]}."
        ) from None
    if isinstance(sent, dict) and isinstance(sent.get("rows"), list):
        extra = [k for k in sent if k != "rows"]
        if extra:
            raise RequestRefused(422, f"Beside 'rows' there is {extra[0][:60]!r}.")
        sent = sent["rows"]
        pairs = 1
    else:
        pairs = 0
    items = sent if isinstance(sent, list) else [sent]
    if not items:
        raise RequestRefused(422, "There are no rows in the request.")
    pairs += sum(len(item) for item in items if type(item) is dict)
    if body.count(b":") != pairs:  # colons in texts, or more pairs than were kept
        json.loads(
            body.decode(), object_pairs_hook=refuse_repeated_names, parse_int=str
        )
    return items


def refuse_repeated_names(pairs) -> dict:
    """An object of JSON, in which a name that comes twice has no one meaning."""
    result = {}
    for name, value in pairs:
        if name in result:
            raise RequestRefused(
                422, f"{name[:60]!r} is given more than once in one object."
            )
        result[name] = value
    return result

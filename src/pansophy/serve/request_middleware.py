"""Middleware: a request id, a line in the log, and no stack trace to the client."""

import logging
import re
import secrets
import time

from .responses import json_bytes

LOG = logging.getLogger("pansophy.serve")
REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
SECURITY_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
]


class RequestMiddleware:
    """ASGI around an app; `error` bodies are JSON objects with the request id."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        number = request_id(scope)
        scope["state"] = {**scope.get("state", {}), "id": number}
        begun = time.perf_counter()
        status = 0

        async def send_on(message):
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = [(b"x-request-id", number.encode()), *SECURITY_HEADERS]
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        try:
            await self.app(scope, receive, send_on)
        except Exception:
            LOG.exception("%s failed", number)
            if status == 0:
                await send_server_error(send_on, number)
        finally:
            if LOG.isEnabledFor(logging.INFO):
                spent = 1000 * (time.perf_counter() - begun)
                LOG.info(
                    "%s %s %s %s %.1f ms",
                    number,
                    scope["method"],
                    scope["path"][:200].encode("unicode_escape").decode(),
                    status or "gone",
                    spent,
                )


def request_id(scope) -> str:
    """That of the client if it is a plain word, else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and REQUEST_ID.fullmatch(value):
            return value.decode()
    return secrets.token_hex(8)


async def send_server_error(send, number):
    text = "The server could not answer; its log has the reason."
    body = json_bytes({"error": text, "request_id": number})
    head = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 500, "headers": head})
    await send({"type": "http.response.body", "body": body})

"""Middleware: who may ask, a request id, a line in the log, no trace to the client.

What is not HTTP is closed, whatever the application would do with it: a websocket that
is accepted further inside would have been asked for no token and by no name.
"""

import hmac
import logging
import re
import secrets
import time
from typing import NamedTuple

from .responses import json_bytes

LOG = logging.getLogger("pansophy.serve")
REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
CLIENT_GONE = 499  # in the log only: the client left before it had an answer
SECURITY_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
]


class AccessRule(NamedTuple):
    """Rule of access: the token clients must know, the host names they may call."""

    token: bytes | None
    hosts: frozenset[str] | None

    @classmethod
    def of(cls, token, hosts) -> "AccessRule":
        if token is not None and (not token or not token.isascii() or " " in token):
            raise ValueError("token must be one word of ASCII letters, at least one.")
        any_host = hosts is None or "*" in hosts
        names = None if any_host else frozenset(map(host_name, hosts))
        return cls(None if token is None else token.encode(), names)

    def refusal(self, scope):
        """(status, sentence, headers) for a request that is not served, else None."""
        refused = host_refusal(scope, self.hosts)
        if refused is not None:
            return refused
        if self.token is None or scope["path"] == "/health":
            return None
        credentials = header_values(scope, b"authorization")
        kind, _, given = (credentials[0] if len(credentials) == 1 else b"").partition(
            b" "
        )
        right = hmac.compare_digest(given.strip(), self.token)  # the same time for any
        if right and kind.lower() == b"bearer":
            return None
        text = "Send the token of this server as 'Authorization: Bearer <token>'."
        return 401, text, [(b"www-authenticate", b'Bearer realm="pansophy"')]


def host_refusal(scope, hosts):
    """Refusal of a request that calls the server by another name; None if it may.

    A page of a foreign site whose name was made to lead here (DNS rebinding) is known
    by nothing else. `hosts` of None are any.
    """
    if hosts is None:
        return None
    sent = header_values(scope, b"host")
    if len(sent) != 1:
        return 400, "A request names the host it calls, once.", []
    if host_name(sent[0].decode("latin-1")) not in hosts:
        text = "This server does not answer by that name; see --allow-host."
        return 421, text, []
    return None


def header_values(scope, name) -> list[bytes]:
    """All values of a header of a request."""
    return [value for key, value in scope["headers"] if key == name]


def host_name(text) -> str:
    """The name in a Host header: without the port, in lower case."""
    text = text.strip().lower()
    if text.startswith("["):  # an address of IPv6
        return text[1:].partition("]")[0]
    return text if text.count(":") > 1 else text.partition(":")[0].rstrip(".")


class RequestMiddleware:
    """ASGI around an app: HTTP that the rule admits, the life of the server, no more.

    Parameters
    ----------
    app : ASGI application
    access : object with `refusal(scope)`, such as an `AccessRule`
    headers : list of (bytes, bytes)
        Of every answer that does not have them itself.
    write_error : coroutine function (send, number, status, text, headers)
        Answers a request that is refused or failed; by default with a JSON object that
        holds the request id.
    """

    def __init__(
        self,
        app,
        access=AccessRule(None, None),
        headers=SECURITY_HEADERS,
        write_error=None,
    ):
        self.app, self.access = app, access
        self.headers = headers
        self.write_error = write_error or send_error

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await close_connection(scope, receive, send)
            return
        number = request_id(scope)
        scope["state"] = {**scope.get("state", {}), "id": number}
        from starlette.requests import ClientDisconnect

        begun = time.perf_counter()
        status = 0

        async def send_on(message):
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name.lower() for name, _ in message["headers"]}
                own = [(b"x-request-id", number.encode()), *self.headers]
                own = [pair for pair in own if pair[0] not in given]
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        try:
            refused = self.access.refusal(scope)
            if refused is None:
                await self.app(scope, receive, send_on)
            else:
                await self.write_error(send_on, number, *refused)
        except ClientDisconnect:  # nobody is there to be told
            status = status or CLIENT_GONE
        except Exception:
            LOG.exception("%s failed", number)
            if status == 0:
                text = "The server could not answer; its log has the reason."
                await self.write_error(send_on, number, 500, text, [])
        finally:
            if LOG.isEnabledFor(logging.INFO):
                spent = 1000 * (time.perf_counter() - begun)
                LOG.info(
                    "%s %s %s %s %.1f ms",
                    number,
                    scope["method"],
                    scope["path"][:200].encode("unicode_escape").decode(),
                    status or CLIENT_GONE,
                    spent,
                )


async def close_connection(scope, receive, send) -> None:
    """Refuse a websocket before it is accepted; other kinds get nothing at all."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 4403})


def request_id(scope) -> str:
    """Id of a request: the client's if it is a plain word, else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and REQUEST_ID.fullmatch(value):
            return value.decode()
    return secrets.token_hex(8)


async def send_error(send, number, status, text, headers=()):
    body = json_bytes({"error": text, "request_id": number})
    head = [(b"content-type", b"application/json"), *headers]
    head.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})

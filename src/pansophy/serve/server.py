"""Run the application: uvicorn, with limits on how long a client may dawdle."""

import errno
import json
import logging
import os
import socket
import sys
from dataclasses import asdict, replace
from functools import cache
from typing import Any

from .application import app, load_served_model, require_server_packages
from .limits import ServerLimits
from .request_middleware import AccessRule

__all__ = ["app", "run", "worker_application"]
VARIABLES = ("PANSOPHY_SERVE_MODEL", "PANSOPHY_SERVE_LIMITS", "PANSOPHY_SERVE_ACCESS")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
EVERYWHERE = ("", "0.0.0.0", "::")  # addresses that stand for all of a machine
LINGER_SECONDS = 2.0  # how long a refused client may go on sending


def run(
    path,
    host="127.0.0.1",
    port=8000,
    *,
    workers=1,
    limits=None,
    max_rows=None,
    max_bytes=None,
    token=None,
    hosts=None,
    log="info",
):
    """Serve a saved model until SIGTERM or Ctrl-C, finishing what is under way.

    Parameters
    ----------
    path : path or TableModel
        A file, if there are several workers.
    host, port : str, int
        By default only this machine can connect.
    workers : int
        Processes, each with the model in memory.
    limits : ServerLimits or None
    max_rows, max_bytes : int or None
        Of one request; short for `ServerLimits(rows=..., body_bytes=...)`.
    token : str or None
        What clients must send as `Authorization: Bearer <token>`; None lets all in.
    hosts : list of str or None
        Further names by which clients may call this server, besides this machine's own
        (localhost) and `host`; "*" for any.
    log : {"info", "warning", "error"}
        "info" writes a line a request to standard error.
    """
    require_server_packages()
    import uvicorn

    hosts = allowed_hosts(host, hosts)
    AccessRule.of(token, hosts)  # what is wrong with them is said once, here
    requested = {"rows": max_rows, "body_bytes": max_bytes}
    requested = {name: value for name, value in requested.items() if value is not None}
    limits = replace(limits or ServerLimits(), **requested)
    set_up_log(log)
    check_port_is_free(host, port)
    common: dict[str, Any] = {
        "host": host,
        "port": port,
        "http": timeout_protocol(limits.head_seconds, limits.head_bytes),
        "ws": "none",
        "access_log": False,
        "log_config": None,
        "server_header": False,
        "timeout_keep_alive": limits.idle_seconds,
        "timeout_graceful_shutdown": limits.stop_seconds,
        "limit_concurrency": limits.connections,
    }
    if workers == 1:
        made = app(path, limits, token=token, hosts=hosts)
        uvicorn.Server(uvicorn.Config(made, **common)).run()
        return
    load_served_model(path)  # what is wrong with the file is said once, here
    common["http"] = "pansophy.serve.server:TimeoutProtocol"
    access = json.dumps({"token": token, "hosts": hosts})
    values = (os.path.abspath(os.fspath(path)), json.dumps(asdict(limits)), access)
    os.environ.update(zip(VARIABLES, values))
    uvicorn.run(
        "pansophy.serve.server:worker_application",
        factory=True,
        workers=workers,
        **common,
    )


def check_port_is_free(host, port) -> None:
    """One sentence, before the model is loaded, if another program listens there."""
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(kind, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise ValueError(
                    f"another program listens on {host}:{port}; choose another port "
                    f"(--port {port + 1})."
                ) from None
            raise ValueError(
                f"nothing can listen on {host}:{port}: {error.strerror}."
            ) from None


def allowed_hosts(host, more) -> list[str]:
    """Names by which a server on `host` may be called."""
    return [*LOOPBACK, *(() if host in EVERYWHERE else (host,)), *(more or ())]


def worker_application():
    """The application of one worker process, told by the environment."""
    set_up_log("info")
    path, limits, access = (os.environ[name] for name in VARIABLES)
    return app(path, ServerLimits(**json.loads(limits)), **json.loads(access))


def set_up_log(level):
    """Lines of the server and of requests to standard error."""
    form = logging.Formatter("%(asctime)s %(levelname)s %(message)s")
    for name in ("pansophy.serve", "uvicorn"):
        log = logging.getLogger(name)
        log.setLevel(level.upper())
        log.propagate = False
        if not log.handlers:
            handler = logging.StreamHandler(sys.stderr)
            handler.setFormatter(form)
            log.addHandler(handler)


@cache
def timeout_protocol(seconds, head_bytes):
    """uvicorn's protocol, refusing a head that is too long or does not come in time.

    uvicorn itself waits for ever for the end of a request head, so that a few slow
    clients could use up all connections, and takes heads of any length.
    """
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Base
    except ImportError:
        from uvicorn.protocols.http.h11_impl import H11Protocol as Base

    base: Any = Base

    class Protocol(base):
        late = None
        head = 0  # bytes of the head so far
        tail = b""  # its last bytes, in which its end may have begun
        refused = False

        def connection_made(self, transport):
            super().connection_made(transport)
            self._expect()

        def data_received(self, data):
            if self.refused:
                return  # read on, so that the client hears the answer
            if self.late is None and not self._busy():
                self._expect()
            if self.late is not None and not self._busy():
                end = (self.tail + data).find(b"\r\n\r\n")
                self.head += len(data) if end < 0 else max(0, end - len(self.tail))
                self.tail = (self.tail + data)[-3:]
                if self.head > head_bytes:
                    self._refuse(b"431 Request Header Fields Too Large")
                    return
            super().data_received(data)
            if self._busy():
                self._calm()

        def connection_lost(self, exc):
            self._calm()
            super().connection_lost(exc)

        def _busy(self):
            return self.cycle is not None and not self.cycle.response_complete

        def _expect(self):
            self.head = 0
            self.tail = b""
            self.late = self.loop.call_later(seconds, self._refuse)

        def _calm(self):
            if self.late is not None:
                self.late.cancel()
                self.late = None

        def _refuse(self, status=b"408 Request Timeout"):
            self._calm()
            self.refused = True
            if not self.transport.is_closing():
                end = b"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
                self.transport.write(b"HTTP/1.1 " + status + end)
                if self.transport.can_write_eof():
                    self.transport.write_eof()
                self.loop.call_later(LINGER_SECONDS, self.transport.close)

    return Protocol


def __getattr__(name):
    """`TimeoutProtocol`, which worker processes import by its name."""
    if name == "TimeoutProtocol":
        limits = ServerLimits(**json.loads(os.environ.get(VARIABLES[1], "{}")))
        return timeout_protocol(limits.head_seconds, limits.head_bytes)
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}",
        name=name,
        obj=sys.modules[__name__],
    )

"""Runs the studio: one process of uvicorn on this machine, and the browser."""

import contextlib
import errno
import os
import socket
import sys
import webbrowser
from pathlib import Path

from ..serve.application import require_server_packages
from ..serve.server import check_port_is_free, set_up_log, timeout_protocol

PORT = 8765  # the first that is tried
PORTS_TRIED = 20
HEAD_SECONDS = 10.0  # for the head of a request to arrive
HEAD_BYTES = 32_768
CONNECTIONS = 200
ADDRESS = "127.0.0.1"


def run_studio(
    folder=".",
    *,
    port=None,
    hosts=(),
    max_upload=None,
    browser=True,
    say=print,
):
    """Show the studio of a folder until Ctrl-C.

    Parameters
    ----------
    folder : path
        Its tables and runs are shown; nothing outside it is read or written.
    port : int or None
        Where to listen on this machine; None for the first free one from 8765 on.
    hosts : list of str
        Further names by which the studio may be called, as through a tunnel.
    max_upload : int or None
        Largest table that may be dropped, in bytes; None for 1 GB.
    browser : bool
        Whether a browser is opened.
    say : function of str
        Tells the address.
    """
    require_server_packages()
    import uvicorn

    from .access import StudioAccess
    from .application import MAX_UPLOAD, studio_application

    root = Path(folder)
    if not root.is_dir():
        raise ValueError(f"There is no folder {folder}.")
    if not os.access(root, os.W_OK | os.X_OK):
        raise ValueError(f"{folder} cannot be written to.")
    port = first_free_port() if port is None else port
    check_port_is_free(ADDRESS, port)
    address = f"http://localhost:{port}/"

    def announce(token):
        say(f"{address}?token={token}")

    access = StudioAccess(port, hosts, announce)
    application = studio_application(root, access, max_upload or MAX_UPLOAD, port)
    set_up_log("warning")
    config = uvicorn.Config(
        application,
        host=ADDRESS,
        port=port,
        http=timeout_protocol(HEAD_SECONDS, HEAD_BYTES),
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=3,
    )
    say(f"The studio of {root.resolve()}; Ctrl-C ends it. Open this address:")
    announce(access.token)
    if browser and can_open_browser():
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(f"{address}?token={access.token}")
    _import_ahead()
    _StudioServer(config, application.state.studio).run()


def _StudioServer(config, studio):
    """A server that ends the streams of its pages as soon as it is told to stop."""
    import uvicorn

    class Server(uvicorn.Server):
        def handle_exit(self, sig, frame):
            studio.closing.set()
            super().handle_exit(sig, frame)

    return Server(config)


def first_free_port() -> int:
    """The first port from 8765 on where nobody listens."""
    for port in range(PORT, PORT + PORTS_TRIED):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((ADDRESS, port))
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    continue
                raise
            return port
    raise ValueError(
        f"other programs listen on ports {PORT} to {PORT + PORTS_TRIED - 1}; choose "
        "one (--port)."
    )


def can_open_browser() -> bool:
    """Whether there is a screen: a browser of a bare terminal would take it over."""
    if sys.platform in ("darwin", "win32"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _import_ahead() -> None:
    """Import what the first pages need while the browser opens."""
    import threading

    def load():
        from ..compare import loading, metrics  # noqa: F401
        from ..compare.evaluation import statistics  # noqa: F401

    threading.Thread(target=load, daemon=True).start()

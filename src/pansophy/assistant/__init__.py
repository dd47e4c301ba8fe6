"""Tools for language-model assistants: `pansophy mcp`, over the Model Context Protocol.

An assistant can explore a table, compare methods on it, predict, search the catalogue
and ask an index, in one folder and nowhere else. Every tool runs a command of
`pansophy` with `--json` in a process of its own, which is ended when the assistant
cancels the call.
"""

import importlib

__all__ = ["make_server"]


def __getattr__(name):
    if name == "make_server":
        return importlib.import_module(".server", __name__).make_server
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

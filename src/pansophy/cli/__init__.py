"""`pansophy` on the command line: compare, predict, methods, demo."""

from .commands import app

__all__ = ["app"]

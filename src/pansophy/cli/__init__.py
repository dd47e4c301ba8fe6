"""`pansophy` on the command line.

`comparing` has compare, explore, rerun and demo; `models` has predict, serve and plot;
`library` has methods; `app` what they share. Heavy things are imported by the command
that needs them.
"""

from . import comparing, library, models
from .app import app

__all__ = ["app", "comparing", "library", "models"]

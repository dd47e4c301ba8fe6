"""`pansophy` on the command line.

`compare_commands` has compare, explore, rerun and demo; `library_command` has methods;
`model_commands` has predict, serve and plot; `play_command` has play;
`search_commands` has index and ask; `warm_command` has warm; `app` has what they
share. Each command imports the heavy modules that it needs. The help lists commands in
this order.
"""

from . import (
    compare_commands,
    library_command,
    model_commands,
    play_command,
    search_commands,
    warm_command,
)
from .app import app

__all__ = [
    "app",
    "compare_commands",
    "library_command",
    "model_commands",
    "play_command",
    "search_commands",
    "warm_command",
]

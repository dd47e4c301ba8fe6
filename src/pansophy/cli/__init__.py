"""`pansophy` on the command line.

`compare_commands` has compare, explore, rerun and demo; `library_command` has methods;
`model_commands` has predict, serve and plot; `play_command` has play;
`search_commands` has index and ask; `warm_command` has warm, `doctor_command` doctor;
`app` has what they share and loads the module of a command when the command is asked
for. Each command imports the heavy modules that it needs.
"""

from .app import app

__all__ = ["app"]

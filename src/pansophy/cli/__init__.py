"""`pansophy` on the command line.

`compare_commands` has compare, explore, rerun and demo; `model_commands` has predict,
serve and plot; `catalogue_command` has methods; `app` has what they share. Each command
imports the heavy modules that it needs.
"""

from . import catalogue_command, compare_commands, model_commands
from .app import app

__all__ = ["app", "catalogue_command", "compare_commands", "model_commands"]

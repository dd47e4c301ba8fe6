"""`python -m pansophy.accelerate script.py arguments`."""

import sys

from .run_script import run_command

if __name__ == "__main__":
    run_command(sys.argv[1:])

"""`python -m pansophy.cli`."""

from . import app

if __name__ == "__main__":
    app()

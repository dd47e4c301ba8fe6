"""`python -m pansophy.cli`."""

from .commands import app

if __name__ == "__main__":
    app()

"""`python -m pansophy`, and the entry point of the command `pansophy`."""

import sys

INTERRUPTED = 130  # exit status after Ctrl-C: 128 and the number of the signal


def main() -> None:
    """Run the command line; Ctrl-C while it is being imported is one line too."""
    try:
        from .cli import app

        app()
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()

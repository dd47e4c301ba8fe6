"""`python -m pansophy.cli`."""

from ..__main__ import main

if __name__ == "__main__":
    main()

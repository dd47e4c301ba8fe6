"""States of searches that end when nothing moves, for the driver `core.iterate`."""

from typing import Any, NamedTuple


class Settling(NamedTuple):
    """A position and how far the last step moved it."""

    position: Any
    objective: float


def moved(old, new) -> float:
    """How far the last step went: the test of stopping."""
    return float(new.objective)

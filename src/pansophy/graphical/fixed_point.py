"""What chains and searches share: counts, states that settle, a word if they do not.

A search hands `FixedPointState` states to the driver `core.iterate` until nothing moves.
"""

import warnings
from numbers import Integral
from typing import Any, NamedTuple

from sklearn.exceptions import ConvergenceWarning


class FixedPointState(NamedTuple):
    """A position and how far the last step moved it."""

    position: Any
    objective: float


def last_change(old, new) -> float:
    """How far the last step went: the test of stopping."""
    return float(new.objective)


def check_chain_lengths(**counts: int) -> None:
    """One sentence about a number of draws or sweeps that makes no sense."""
    for word, value in counts.items():
        least = 0 if word == "burn_in" else 1
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or value < least:
            raise ValueError(
                f"{word} must be a whole number of at least {least}, got {value!r}."
            )


def warn_not_converged(run, what: str, advice: str) -> None:
    """Warn where a search ended before it settled; its answer is then a guess."""
    if not run.converged:
        warnings.warn(
            f"{what} did not settle in {run.n_iter} rounds ({run.reason}), so the "
            f"answer is not to be trusted; {advice}.",
            ConvergenceWarning,
            stacklevel=3,
        )

"""Fixed-point iterations that stop when the last change is small.

Message passing and iterated conditional modes hand `FixedPointState` objects to the
driver `core.drivers.iterate`, with `last_change` as the stopping criterion.
"""

import warnings
from typing import Any, NamedTuple

from sklearn.exceptions import ConvergenceWarning

from ...params import check_count


class FixedPointState(NamedTuple):
    """A position and the size of the last change."""

    position: Any
    objective: float


def last_change(old, new) -> float:
    """The size of the last change, as the driver's stopping criterion."""
    return float(new.objective)


def check_chain_lengths(**counts: int) -> None:
    """Raise unless numbers of draws and sweeps are at least 1 (burn_in: 0)."""
    for name, value in counts.items():
        check_count(name, value, 0 if name == "burn_in" else 1)


def warn_not_converged(run, what: str, advice: str) -> None:
    """Warn if an iteration stopped before it converged."""
    if not run.converged:
        warnings.warn(
            f"{what} did not converge in {run.n_iter} iterations ({run.reason}), so "
            f"its result is not reliable; {advice}.",
            ConvergenceWarning,
            stacklevel=3,
        )

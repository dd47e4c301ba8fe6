"""Early stopping, or cutting the learning rate, after epochs without improvement.

A run that is stopped because held-out losses rise while training losses fall has a net
that is too free: `overfitting_advice` says so, and `nn.train` warns with it.

Refs      [Prechelt1998]
"""

import math
from typing import Literal, NamedTuple


class StoppingState(NamedTuple):
    """State of a stopping rule between epochs."""

    best: float = math.inf  # lowest value so far
    epochs_without_improvement: int = 0
    rate: float = 1.0  # factor on the learning rate

    def to_json(self) -> dict:
        """The state as a dict that JSON can hold."""
        best = self.best if math.isfinite(self.best) else None
        return {**self._asdict(), "best": best}

    @classmethod
    def from_json(cls, values: dict) -> "StoppingState":
        """The state from what `to_json` gave."""
        best = math.inf if values["best"] is None else values["best"]
        return cls(best, values["epochs_without_improvement"], values["rate"])


class EarlyStopping(NamedTuple):
    """Stop when more than `patience` epochs in a row fail to improve by `tol`.

    An epoch improves if `monitor` (a name in the history) is at least `tol` better
    than the best so far; a value that is not a number never does. `restore` brings
    back the weights of the best epoch. With `cut` the rate is multiplied by it instead
    of stopping, as long as it is above `floor` times its start. The first `after`
    epochs do not count, for runs that begin with another objective.
    """

    monitor: str = "valid_loss"
    patience: float = 10
    tol: float = 0.0
    mode: Literal["min", "max"] = "min"
    restore: bool = True
    cut: float | None = None
    floor: float = 1e-6
    best: float | None = None  # of an earlier run that this one continues
    after: int = 0

    def signed(self, value: float) -> float:
        """The value with the sign that makes lower better."""
        return -value if self.mode == "max" else value

    def start(self) -> StoppingState:
        return StoppingState(math.inf if self.best is None else self.signed(self.best))

    def update(self, state: StoppingState, value: float) -> tuple[StoppingState, bool]:
        """The state after an epoch of this (signed) value, and whether to stop."""
        improved = value <= state.best - self.tol
        waited = 0 if improved else state.epochs_without_improvement + 1
        best = min(state.best, value) if value == value else state.best
        state = StoppingState(best, waited, state.rate)
        if waited <= self.patience:
            return state, False
        if self.cut is None or state.rate <= self.floor:
            return state, True
        rate = state.rate * self.cut
        return state._replace(epochs_without_improvement=0, rate=rate), False


class OverfittingWarning(UserWarning):
    """Held-out losses rose a lot while training losses fell."""


def overfitting_advice(training, held_out) -> str | None:
    """A sentence if the held-out loss rose by half while the training loss halved.

    Parameters
    ----------
    training, held_out : sequences of float
        Losses of each epoch.

    Examples
    --------
    >>> from pansophy.nn.training.stopping import overfitting_advice
    >>> overfitting_advice([4, 2, 1, 0.5], [4, 3, 4, 6])
    'the held-out loss was lowest at epoch 2 of 4 and rose by 100% after it, while the training loss fell by 75%: regularisation may be too weak.'
    >>> overfitting_advice([4, 2, 1, 0.9], [4, 3, 3.1, 3.2])
    """  # noqa: E501
    values = [v if v == v else math.inf for v in held_out]
    best = values.index(min(values))
    lowest, last = values[best], values[-1]
    early, late = training[best], training[-1]
    if not (lowest > 0 and early > 0 and last >= 1.5 * lowest and late <= early / 2):
        return None
    rise, fall = last / lowest - 1, 1 - late / early
    return (
        f"the held-out loss was lowest at epoch {best + 1} of {len(values)} and rose "
        f"by {rise:.0%} after it, while the training loss fell by {fall:.0%}: "
        "regularisation may be too weak."
    )

"""When to stop: patience with a measured value, or with a rate that is cut.

Refs      [Prechelt1998]
"""

import math
from typing import Literal, NamedTuple


class StoppingState(NamedTuple):
    """What a stopping rule remembers from epoch to epoch."""

    best: float = math.inf  # lowest value so far
    bad: int = 0  # epochs in a row without improvement
    rate: float = 1.0  # factor on the learning rate

    def export(self) -> dict:
        best = self.best if math.isfinite(self.best) else None
        return {**self._asdict(), "best": best}

    @classmethod
    def restored(cls, facts: dict) -> "StoppingState":
        best = math.inf if facts["best"] is None else facts["best"]
        return cls(best, facts["bad"], facts["rate"])


class EarlyStopping(NamedTuple):
    """Stop when more than `patience` epochs in a row fail to improve by `tol`.

    An epoch improves if `monitor` (a name in the history) is at least `tol` better
    than the best so far; a value that is not a number never does. `restore` brings
    back the weights of the best epoch. With `cut` the rate is multiplied by it instead
    of stopping, as long as it is above `floor` times its start.
    """

    monitor: str = "valid_loss"
    patience: float = 10
    tol: float = 0.0
    mode: Literal["min", "max"] = "min"
    restore: bool = True
    cut: float | None = None
    floor: float = 1e-6
    best: float | None = None  # of an earlier run that this one continues

    def signed(self, value: float) -> float:
        """The value, turned so that lower is better."""
        return -value if self.mode == "max" else value

    def start(self) -> StoppingState:
        return StoppingState(math.inf if self.best is None else self.signed(self.best))

    def judge(self, p: StoppingState, value: float) -> tuple[StoppingState, bool]:
        """The memory after an epoch of this (signed) value, and whether to stop."""
        bad = 0 if value <= p.best - self.tol else p.bad + 1
        p = StoppingState(min(p.best, value) if value == value else p.best, bad, p.rate)
        if bad <= self.patience:
            return p, False
        if self.cut is None or p.rate <= self.floor:
            return p, True
        return p._replace(bad=0, rate=p.rate * self.cut), False

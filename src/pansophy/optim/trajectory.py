"""Records the positions that a solver visits.

A driver reports the state after each step to its task (`core.drivers.progress`). A
`Trajectory` is such a task: it stores a copy of each position and calls an optional
callback.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.arrays.arrays import to_numpy


class Trajectory:
    """Positions and objectives of a run, one row per step.

    Parameters
    ----------
    start : array, optional
        The first row.
    callback : function of the state, optional
        Called after each step; the run stops when it returns True.
    keep : bool
        Whether to store positions.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> f = lambda x: (float(x @ x), 2 * x)
    >>> path = optim.Trajectory(np.ones(2))
    >>> step = optim.constant_step(0.25)
    >>> run = optim.gradient_descent(f, np.ones(2), step, task=path, max_iter=2)
    >>> path.positions
    array([[1.  , 1.  ], [0.5 , 0.5 ], [0.25, 0.25]])
    """

    def __init__(
        self, start: Any = None, callback: Callable | None = None, keep: bool = True
    ):
        self.callback = callback
        self.keep = keep
        self.rows = [] if start is None else [np.array(to_numpy(start))]
        self.objectives = []

    def child(self, name: str, total: int | None = 0) -> "Trajectory":
        return self

    def end(self, state=None) -> bool:
        if state is not None and self.keep and hasattr(state, "position"):
            self.rows.append(np.array(to_numpy(state.position)))
            self.objectives.append(float(state.objective))
        return bool(self.callback(state)) if self.callback is not None else False

    @property
    def positions(self) -> np.ndarray:
        """Positions (t, ...), the start first if it was given."""
        return np.array(self.rows)

    def __len__(self):
        return len(self.rows)

    def __repr__(self):
        return f"<Trajectory of {len(self)} positions>"

"""Simulator of a noisy dynamic system: x_t+1 = f(x_t, w_t), seen as z_t = h(x_t, v_t).

Many paths run at once: f and h take states (m, k) and noises drawn for all of them, so
that a Monte Carlo study is one call. With f and h linear and normal noises this is the
model of the Kalman filter; without noise it is a difference equation.

Shapes    x (m, k)   w (m, any)   z (m, q)   trajectories (m, n, k) and (m, n, q)
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np

from ..base import Estimator
from ..core.random import make_rng
from ..params import check_params


class Trajectories(NamedTuple):
    """States and what is seen of them, a row a path."""

    states: np.ndarray  # (m, n + 1, k), the first as given
    observations: np.ndarray  # (m, n + 1, q)


@dataclass(eq=False, repr=False)
class DynamicSystem(Estimator):
    """Simulator of a system given by functions.

    Parameters
    ----------
    transition : function f(x, w) or f(x)
        Next states (m, k) from states (m, k) and noise.
    observe : function h(x, v) or h(x), optional
        What is seen (m, q) of states (m, k). None shows the states.
    noise : function (rng, m) -> w, optional
        Draws the noise of a step for m paths; None means that f takes none.
    observation_noise : function (rng, m) -> v, optional

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.state_space import DynamicSystem
    >>> logistic = DynamicSystem(lambda x: 4 * x * (1 - x))
    >>> logistic.simulate(3, [0.3]).states[0, :, 0].round(4)
    array([0.3   , 0.84  , 0.5376, 0.9943])
    """

    transition: Callable
    _: KW_ONLY
    observe: Callable | None = None
    noise: Callable | None = None
    observation_noise: Callable | None = None

    def simulate(self, n, x0, *, paths=1, random_state=None) -> Trajectories:
        """n steps of some paths from a state (k,), or from states (m, k)."""
        check_params(self)
        rng = make_rng(random_state)
        x = np.asarray(x0, dtype=float)
        x = np.repeat(x[None], paths, axis=0) if x.ndim == 1 else x
        if x.ndim != 2 or n < 0:
            raise ValueError("x0 must be a state (k,) or states (m, k), n 0 or more.")
        states, seen = [x], [self._seen(rng, x)]
        for t in range(n):
            new = np.asarray(self._apply(self.transition, self.noise, rng, x), float)
            if new.shape != x.shape:
                raise ValueError(
                    f"transition must give states of shape {x.shape}, got {new.shape} "
                    f"at step {t + 1}."
                )
            x = new
            states.append(x)
            seen.append(self._seen(rng, x))
        return Trajectories(np.stack(states, axis=1), np.stack(seen, axis=1))

    @staticmethod
    def _apply(function, noise, rng, x):
        return function(x) if noise is None else function(x, noise(rng, len(x)))

    def _seen(self, rng, x):
        if self.observe is None:
            return x
        z = np.asarray(self._apply(self.observe, self.observation_noise, rng, x), float)
        return z[:, None] if z.ndim == 1 else z

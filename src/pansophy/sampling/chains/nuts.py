"""No-U-turn sampler (NUTS): Hamiltonian trajectories of adaptive length.

From a point and a momentum the trajectory of `hmc.py` is extended by doubling: 1, 2, 4,
... leapfrog steps forwards or backwards in time, each with probability 1/2, so that the
2^j points reached are the leaves of a binary tree of depth j. A point has weight

    w(x, p) = exp(H0 - H(x, p))                                                 (3)

and the next state is drawn from the leaves by weight: within a new half, uniformly
(the right of two subtrees with probability w_right / (w_left + w_right)); between the
old tree and a new half, in favour of the new one,

    P(new half) = min(1, w_new / w_old),                                        (4)

which leaves the target invariant and moves further than (w_new / (w_new + w_old)).
With rho the sum of momenta over a subtree and v = inv p the velocities of its ends,
a subtree has turned back when

    v_begin . rho <= 0  or  v_end . rho <= 0.                                   (5)

Doubling stops when the whole tree turns back, at the maximum depth, or, without using
the new half, when one of its subtrees turns back or diverges. As (5) may miss a turn
between two subtrees a and b, it is also tested for each with the nearest point of the
other:

    (5) with rho_a + p_b,begin on a and that point, and with rho_b + p_a,end.   (6)

The tree is built without recursion, see `_hmc.py`.

Shapes    as in `hmc.py`
Refs      [Hoffman2014] the method; [Betancourt2017] (3) to (5); [Carpenter2017] (6)
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from ...params import Count, Flag, OpenFraction, Positive
from ..densities.target_density import GradientFunction, LogProb
from .hmc import AbstractHamiltonian, TrajectorySettings


@dataclass(eq=False, repr=False)
class NUTS(AbstractHamiltonian):
    """No-U-turn sampler with adaptive warm-up, to be run by `sample`.

    Parameters
    ----------
    log_prob : function, Distribution, compiled density or Target
        Logarithm of the target density up to a constant; see `as_target_density`.
    grad : function, True or None
        Its gradient; True if log_prob returns both; None for torch and compiled ones.
    target_accept : float
        Target mean acceptance along trajectories; values nearer to 1 give smaller steps
        and fewer divergences.
    max_depth : int
        Maximum depth of the tree: at most 2^max_depth - 1 leapfrog steps.
    metric : {"diag", "dense", "unit"} or array of shape (d,) or (d, d)
        What warm-up adapts: variances, covariances or nothing; or a given metric.
    step_size : float or None
        eps; None is adapted in warm-up. If it is given, nothing is adapted.
    batched : bool or None
        Whether functions take all chains at once; None detects it.

    Examples
    --------
    >>> from pansophy.sampling import NUTS, eight_schools_density, sample
    >>> sampler = NUTS(eight_schools_density(), target_accept=0.95)
    >>> draws = sample(sampler, 1000, init=[0.0] * 10, random_state=0)
    >>> bool(abs(draws.summary().mean[0] - 4.4) < 0.5)  # mu
    True
    """

    log_prob: LogProb
    _: KW_ONLY
    grad: GradientFunction = None
    target_accept: OpenFraction = 0.8
    max_depth: Count = 10
    metric: Literal["diag", "dense", "unit"] | np.ndarray = "diag"
    step_size: Positive | None = None
    batched: Flag | None = None

    def _trajectory(self):
        return TrajectorySettings(0, self.max_depth, target=self.target_accept)

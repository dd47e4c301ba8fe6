"""The no-U-turn sampler: Hamiltonian paths that find their own length.

From a point and a momentum the path of `hmc.py` is grown by doubling: 1, 2, 4, ...
leapfrog steps forwards or backwards in time, each with probability 1/2, so that the
2^j points reached are the leaves of a binary tree of depth j. A point has weight

    w(x, p) = exp(H0 - H(x, p))                                                 (3)

and the next state is drawn from the leaves by weight: within a new half, uniformly
(the right of two subtrees with probability w_right / (w_left + w_right)); between the
old tree and a new half, in favour of the new one,

    P(new half) = min(1, w_new / w_old),                                        (4)

which leaves the target as it is and moves further than (w_new / (w_new + w_old)).
With rho the sum of momenta over a subtree and v = inv p the velocities of its ends,
a subtree has turned back when

    v_begin . rho <= 0  or  v_end . rho <= 0.                                   (5)

Growth stops when the whole tree turns back, at the greatest depth, or, without using
the new half, when one of its subtrees turns back or diverges. As (5) may miss a turn
between two subtrees a and b, it is also asked of each with the nearest point of the
other:

    (5) with rho_a + p_b,begin on a and that point, and with rho_b + p_a,end.   (6)

The tree is made without recursion, see `_hmc.py`; the twin in the tests is recursive.

Shapes    as in `hmc.py`
Refs      [Hoffman2014] the method; [Betancourt2017] (3) to (5); [Carpenter2017] (6)
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from ..params import Count, Flag, OpenFraction, Positive
from .hmc import AbstractHamiltonian, TrajectorySettings
from .target_density import GradientFunction, LogProb


@dataclass(eq=False, repr=False)
class NUTS(AbstractHamiltonian):
    """No-U-turn sampler with adaptive warm-up, to be run by `sample`.

    Parameters
    ----------
    log_prob : function, Distribution, compiled density or Target
        Logarithm of the target density up to a constant; see `target`.
    grad : function, True or None
        Its gradient, True if log_prob gives both, None for torch and compiled ones.
    target_accept : float
        Mean acceptance along paths that the step size aims at; nearer to 1 takes
        smaller steps, which divergences may ask for.
    max_depth : int
        Greatest depth of the tree: paths have at most 2^max_depth - 1 steps.
    metric : {"diag", "dense", "unit"} or array of shape (d,) or (d, d)
        What warm-up learns: variances, covariances or nothing; or these given.
    step_size : float or None
        eps; None is learnt in warm-up. A given one goes with the metric as it is,
        and warm-up learns nothing.
    batched : bool or None
        Whether functions take all chains at once. None finds out by trying.

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

    def _path(self):
        return TrajectorySettings(0, self.max_depth, target=self.target_accept)

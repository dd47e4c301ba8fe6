"""Mean-field variational inference by coordinate ascent over the factors.

Among distributions q(z) = q_1(z_1) ... q_J(z_J), the closest to the posterior in KL(q
|| p(z | x)) maximises the evidence lower bound (see `elbo`). With all other factors
fixed, the best is

    log q_j(z_j) = E_{q, all but j} log p(x, z) + const                          (1)

so the bound does not fall with any update, and sweeps over the factors converge. In
conjugate models (1) stays within known families. For a Gaussian with precision Lambda
the factors are

    q_j = N(mu_j, 1 / Lambda_jj)                                                 (2)

whose means are exact and whose variances are those of z_j given the rest, smaller than
the marginal variances unless the coordinates are independent.

A model is a NamedTuple or object with

    start() -> dict of factors        by name: distributions or other objects
    updates: dict of functions        name -> function(q) giving the new factor, (1)
    bound(q) -> float                 the evidence lower bound

See `pansophy.sampling.densities.conjugate_models`; `MeanFieldModel` makes one of
functions.

Cost      one update of each factor a sweep
Refs      [Jordan1999]; [Attias1999]; [Blei2017]; [Bishop2006] ch. 10
"""

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np

from ...base import Estimator
from ...core.drivers.iterate import iterate, relative_change
from ...core.drivers.progress import run_with_progress
from ...params import Count, NonNegative, check_params
from ..chains.driver import warn_not_finished

BOUND_TOL = 1e-9  # relative decrease of the bound that is rounding


class MeanFieldModel(NamedTuple):
    """A model made of functions: initial factors, updates by name, bound."""

    factors: dict[str, Any]
    updates: dict[str, Callable]
    bound: Callable

    def start(self):
        return dict(self.factors)


class CoordinateAscentState(NamedTuple):
    """State of the coordinate ascent."""

    objective: float  # minus the bound
    factors: dict
    bounds: tuple  # after each update of the sweep


@dataclass(eq=False, repr=False)
class MeanFieldResult:
    """Result of `MeanField.run`.

    Attributes
    ----------
    factors : dict
        The factors q_j by name.
    bound : float
        Evidence lower bound at the end.
    history : ndarray of shape (sweeps, factors)
        The bound after every update.
    n_iter : int
    reason : str
    """

    factors: dict[str, Any]
    bound: float
    history: np.ndarray
    n_iter: int
    reason: str

    def __getitem__(self, name):
        return self.factors[name]

    @property
    def converged(self) -> bool:
        return self.reason == "tolerance"

    def __repr__(self):
        names = ", ".join(self.factors)
        return f"factors {names}; bound {self.bound:.6g} after {self.n_iter} sweeps"


@dataclass(eq=False, repr=False)
class MeanField(Estimator):
    """Variational inference by coordinate ascent over the factors of a model.

    Parameters
    ----------
    model : object with start(), updates and bound(q)
        Such as `conjugate.NormalSample(x)`, or `MeanFieldModel(factors, updates,
        bound)`.
    max_iter : int
        Maximum number of sweeps.
    tol : float
        Relative change of the bound in a sweep at which to stop.

    Examples
    --------
    A correlated Gaussian: exact means, variances 1 / Lambda_jj, too small.

    >>> import numpy as np
    >>> from pansophy.sampling import MeanField
    >>> from pansophy.sampling.densities.conjugate_models import GaussianTarget
    >>> S = np.array([[1.0, 0.8], [0.8, 1.0]])
    >>> run = MeanField(GaussianTarget([1.0, 2.0], np.linalg.inv(S))).run()
    >>> means = np.concatenate([run[name].mean for name in ("z0", "z1")])
    >>> means.round(4), float(run["z0"].cov[0, 0].round(4))
    (array([1., 2.]), 0.36)
    """

    model: Any
    _: KW_ONLY
    max_iter: Count = 1000
    tol: NonNegative = 1e-10

    def run(self, factors=None, *, progress=False) -> MeanFieldResult:
        """Sweep over the factors until the bound converges.

        Parameters
        ----------
        factors : dict or None
            Initial values of all or some factors; None uses the start of the model.
        progress : bool
        """
        check_params(self)
        model = self.model
        q = dict(model.start()) | dict(factors or {})
        updates = dict(model.updates)
        names = list(updates)
        if set(names) - set(q):
            raise ValueError(f"no start for factors {sorted(set(names) - set(q))}.")
        history_rows: list = []
        decreases: list = []

        def step(s):
            q = dict(s.factors)
            bound = -s.objective
            bounds = []
            for name in names:
                q[name] = updates[name](q)
                bounds.append(float(model.bound(q)))
                if bounds[-1] < bound - BOUND_TOL * (1 + abs(bound)):
                    decreases.append((name, bound, bounds[-1]))
                bound = bounds[-1]
            history_rows.append(bounds)
            return CoordinateAscentState(-bound, q, tuple(bounds))

        start = CoordinateAscentState(-float(model.bound(q)), q, ())
        run_task = lambda task: iterate(
            step,
            start,
            max_iter=self.max_iter,
            tol=self.tol,
            change=relative_change,
            task=task,
        )
        result = run_with_progress(
            self, run_task, total=self.max_iter, verbose=progress
        )
        if decreases:
            name, bound_before, bound_after = decreases[0]
            warnings.warn(
                f"the bound fell from {bound_before:.10g} to {bound_after:.10g} with "
                "the update of "
                f"{name!r}: that update and the bound are not of one model.",
                RuntimeWarning,
                stacklevel=2,
            )
        else:
            warn_not_finished(result.reason, "max_iter", "the bound has not converged")
        s = result.state
        history = np.array(history_rows[: result.n_iter]).reshape(-1, len(names))
        return MeanFieldResult(
            s.factors, -s.objective, history, result.n_iter, result.reason
        )

"""Expectation-maximisation: one driver for mixtures, HMMs, factor models, topics.

With hidden z and parameters theta, no iteration lowers log p(x | theta):

    E   stats = E[ s(x, z) | x, theta ],   loglik = log p(x | theta)             (1)
    M   theta = argmax  E[ log p(x, z | theta) ]  which needs only the stats     (2)

A model is two functions: `expect(params) -> (stats, loglik)`, usually a sum over row
blocks (`core.arrays.rows`), and `maximise(stats) -> params`. The state carries the
stats of its own parameters, so one E-step is done per iteration, and the likelihood
belongs to the parameters. The objective is minus the mean log-likelihood per row, so
`tol` means the same for ten rows and ten million; a log-prior makes it MAP.

Refs      [Dempster1977]
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from .iterate import Result, absolute_change, iterate
from .progress import SILENT, FitTask


class EMState(NamedTuple):
    """Parameters, and the result of the E-step at them."""

    params: Any  # theta
    stats: Any  # expected statistics under theta, eq. (1)
    objective: float  # -(log-likelihood + log-prior) / n


def em(
    expect: Callable,
    maximise: Callable,
    params,
    *,
    n: float = 1.0,
    log_prior: Callable | None = None,
    max_iter: int = 100,
    tol: float = 1e-3,
    task: FitTask = SILENT,
) -> Result:
    """Run EM from `params`; `n` is the total weight of the rows."""

    def e_step(params):
        stats, loglik = expect(params)
        prior = log_prior(params) if log_prior is not None else 0.0
        return EMState(params, stats, -(float(loglik) + float(prior)) / n)

    em_step = lambda state: e_step(maximise(state.stats))
    start = params if isinstance(params, EMState) else e_step(params)
    return iterate(
        em_step, start, max_iter=max_iter, tol=tol, change=absolute_change, task=task
    )

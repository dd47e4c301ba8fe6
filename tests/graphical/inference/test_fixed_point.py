"""Fixed points: the last change ends them, and a run that did not converge warns."""

import pytest
from sklearn.exceptions import ConvergenceWarning

from pansophy.core.drivers.iterate import iterate
from pansophy.graphical.inference.fixed_point import (
    FixedPointState,
    check_chain_lengths,
    last_change,
    warn_not_converged,
)


def halving(max_iter):
    step = lambda s: FixedPointState(s.position / 2, s.position / 2)
    start = FixedPointState(1.0, float("inf"))
    return iterate(step, start, max_iter=max_iter, tol=0.1, change=last_change)


def test_the_last_change_ends_the_run():
    run = halving(50)
    assert run.converged and run.n_iter == 4  # 1/2, 1/4, 1/8, 1/16
    warn_not_converged(run, "It", "nothing")
    short = halving(2)
    with pytest.warns(ConvergenceWarning, match="It did not converge in 2 iterations"):
        warn_not_converged(short, "It", "wait")


def test_lengths_of_chains():
    check_chain_lengths(draws=1, burn_in=0)
    with pytest.raises(ValueError, match="draws"):
        check_chain_lengths(draws=0)
    with pytest.raises(ValueError, match="burn_in"):
        check_chain_lengths(burn_in=-1)

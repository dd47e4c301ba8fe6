"""The driver of loops: its reasons hold, histories fit, and runs can be resumed."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.core.drivers.iterate import (
    StopReason,
    absolute_change,
    best_of,
    is_lower,
    iterate,
    relative_change,
    repeat,
)


class State(NamedTuple):
    x: float
    objective: float
    size: float = 0.0


def halve(s):
    """Gradient descent on x^2."""
    return State(s.x / 2, (s.x / 2) ** 2, abs(s.x / 2))


START = State(8.0, 64.0, 8.0)


@given(st.floats(1e-12, 1e-1))
def test_tolerance_really_holds_at_the_returned_point(tol):
    r = iterate(halve, START, max_iter=1000, tol=tol)
    assert r.reason == "tolerance"
    assert r.converged
    before = State(2 * r.state.x, (2 * r.state.x) ** 2)
    assert relative_change(before, r.state) <= tol
    assert len(r.history["objective"]) == r.n_iter
    assert r.history["objective"][-1] == r.state.objective == r.objective
    earlier = r.history["objective"][:-1]
    gaps = np.abs(np.diff(np.append(64.0, earlier))) / np.maximum(earlier, 1)
    assert np.all(gaps > tol)  # it did not go on after it had settled


@pytest.mark.parametrize("most", [0, 1, 7])
def test_max_iter(most):
    r = iterate(halve, START, max_iter=most, tol=0)
    assert (r.reason, r.n_iter, r.converged) == ("max_iter", most, False)
    assert r.state.x == 8.0 / 2**most
    assert len(r.history["objective"]) == most
    assert r.seconds >= 0


def test_repeat_makes_all_steps_and_a_plan_kept_is_no_failure():
    still = lambda s: s._replace(size=s.size + 1)  # nothing changes
    r = repeat(still, START, 5, watch=("size",))
    assert (r.reason, r.n_iter, r.converged) == (StopReason.FINISHED, 5, False)
    assert r.history["size"].tolist() == [9, 10, 11, 12, 13]
    limited = iterate(still, START, max_iter=5, tol=None)
    assert (limited.reason, limited.n_iter) == (StopReason.MAX_ITER, 5)
    assert limited.as_planned().reason == StopReason.FINISHED
    converged = iterate(still, START, max_iter=5, tol=0.0)
    assert converged.as_planned() is converged
    assert converged.reason == "tolerance" == StopReason.TOLERANCE


def test_watched_fields_have_a_history_each():
    r = iterate(halve, START, max_iter=3, tol=0, watch=("size",))
    assert r.history["size"].tolist() == [4, 2, 1]
    assert r.history["objective"].tolist() == [16, 4, 1]


def test_own_test_of_change():
    moved = lambda old, new: abs(old.x - new.x)
    r = iterate(halve, START, max_iter=100, tol=0.5, change=moved)
    assert r.state.x == 0.5
    assert r.n_iter == 4
    assert absolute_change(State(0, 3.0), State(0, 1.0)) == 2


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_divergence_keeps_the_last_good_state(bad):
    step = lambda s: halve(s) if s.x > 2 else State(s.x, bad)
    r = iterate(step, START, max_iter=50, tol=0)
    assert r.reason == "diverged"
    assert not r.converged
    assert r.state == State(2.0, 4.0, 2.0)
    assert r.n_iter == len(r.history["objective"]) == 2


def interrupted_at(x):
    def step(s):
        if s.x <= x:
            raise KeyboardInterrupt
        return halve(s)

    return step


def test_interruption_keeps_the_state_and_can_be_resumed():
    r = iterate(interrupted_at(1), START, max_iter=50, tol=1e-8)
    assert r.reason == "interrupted"
    assert r.interrupted
    assert r.state.x == 1
    assert r.n_iter == 3
    rest = iterate(halve, r.state, max_iter=50, tol=1e-8)
    whole = iterate(halve, START, max_iter=50, tol=1e-8)
    assert rest.state == whole.state
    assert r.n_iter + rest.n_iter == whole.n_iter


def test_other_errors_are_not_swallowed():
    def step(s):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        iterate(step, START, max_iter=5, tol=0)


def runs(values):
    """A run that ends at once at each of the given objectives."""
    return lambda i, task: iterate(
        lambda s: State(float(i), values[i]), START, max_iter=1, tol=-1
    )


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8))
def test_best_is_no_worse_than_any(values):
    best = best_of(len(values), runs(values))
    slack = 1e-12 * len(values) * max(abs(v) for v in values)
    assert all(best.objective <= v + slack for v in values)
    fewer = best_of(1, runs(values))
    assert best.objective <= fewer.objective


def test_the_earliest_wins_ties_even_up_to_rounding():
    assert best_of(4, runs([2.0, 1.0, 1.0, 1.0 - 1e-15])).state.x == 1


def test_a_run_that_is_not_a_number_never_wins():
    make = lambda J: iterate(halve, State(0.0, J), max_iter=0, tol=0)
    values = [math.nan, 3.0, math.nan, 2.0]
    best = best_of(4, lambda i, task: make(values[i]))
    assert best.objective == 2
    assert is_lower(1.0, math.nan)
    assert not is_lower(math.nan, 1.0)
    assert not is_lower(math.nan, math.nan)


def test_interruption_ends_the_series_and_marks_the_best():
    seen = []

    def run(i, task):
        seen.append(i)
        step = interrupted_at(2) if i == 1 else halve
        return iterate(step, START, max_iter=5, tol=0)

    best = best_of(5, run)
    assert seen == [0, 1]
    assert best.interrupted
    assert best.state.x == 0.25  # of the first run, which is better


def test_interruption_outside_a_step():
    def run(i, task):
        if i == 1:
            raise KeyboardInterrupt
        return iterate(halve, START, max_iter=1, tol=0)

    assert best_of(3, run).interrupted
    with pytest.raises(KeyboardInterrupt):
        best_of(3, lambda i, task: run(1, task))


def test_no_run_at_all():
    with pytest.raises(ValueError, match="at least one run, got n=0"):
        best_of(0, runs([]))

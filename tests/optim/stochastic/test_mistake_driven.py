"""Mistake-driven learning: a clean pass ends it, so do passes without progress."""

import numpy as np
import pytest

from pansophy.optim import mistake_driven
from pansophy.optim.stochastic.mistake_driven import until_clean


def test_rows_are_listed_in_the_order_of_their_mistakes():
    learn = lambda known, i: None if i in known else [*known, i]
    run = mistake_driven(learn, [], 3)
    assert run.converged and run.state.rows == (0, 1, 2) and run.state.mistakes == 3
    np.testing.assert_array_equal(run.history["objective"], [3, 0])


def test_shuffled_rows_follow_the_seed():
    def order(seed):
        rows = []
        mistake_driven(lambda m, i: rows.append(i), None, 20, shuffle=True,
                       random_state=seed)  # fmt: skip
        return rows

    assert order(1) == order(1) != order(2)
    assert sorted(order(1)) == list(range(20))


@pytest.mark.parametrize(("tol", "passes"), [(None, 50), (0.0, 50), (0.5, 4), (2.0, 3)])
def test_passes_without_improvement_end_the_loop(tol, passes):
    counts = iter([5, 4] + [4] * 50)
    step = lambda model: (model, next(counts))
    run = until_clean(step, 0, max_iter=50, tol=tol, patience=2)
    assert run.n_iter == passes and run.state.best == 4
    assert run.state.mistakes == 5 + 4 * (passes - 1)

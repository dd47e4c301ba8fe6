"""Numbers of the pictures: importance finds the column that matters."""

from dataclasses import replace

import numpy as np
import pytest

from tests.compare.comparisons import made, ready


def test_importance_finds_the_column_that_matters():
    c = ready("regression")
    from pansophy.compare.report.plot_data import (
        partial_dependence_data,
        permutation_importances,
    )

    found = permutation_importances(c)
    assert found[0].column == "x0" and found[0].mean > 0.5
    assert all(abs(f.mean) < 1e-9 for f in found[1:])
    d = partial_dependence_data(c)
    slope = np.polyfit(d.values, d.mean[:, 0], 1)[0]
    assert slope == pytest.approx(3, abs=0.1)


def test_rows_near_one_half_are_no_weak_spot():
    """Right probabilities have a weak slice in 5 % of tables; wrong ones have one."""
    from pansophy.compare.report.plot_data import find_weak_slices, unexpected_losses

    c = made("classification", n=2000)
    rng = np.random.default_rng(0)
    x = c.data.frame.values[:, 0]
    p = np.where(np.abs(x) < 0.5, 0.5, 0.95)  # by which the plain loss differs a lot
    false_alarms = 0
    for _ in range(10):
        y = (rng.random(2000) < p).astype(int)
        data = replace(c.data, y=y)
        one = replace(c, dataset=c.dataset._replace(data=data))
        trial = replace(one.trial(one.winner), predictions=np.c_[1 - p, p])
        one = replace(one, trials=[trial])
        false_alarms += bool(find_weak_slices(one, trial.method.name))
    assert false_alarms <= 4  # exceeded by chance in 1 of 10,000 tests
    excess = unexpected_losses(one, trial)
    plain = -np.log(np.where(y == 1, p, 1 - p))
    entropy = -p * np.log(p) - (1 - p) * np.log(1 - p)
    assert np.allclose(excess, plain - entropy)
    wrong = replace(trial, predictions=np.c_[p, 1 - p])
    found = find_weak_slices(replace(one, trials=[wrong]), trial.method.name)
    assert found and found[0].loss > found[0].rest

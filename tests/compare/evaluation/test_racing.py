"""Racing: which methods can no longer come first, on scores with known truth."""

import numpy as np
import pytest

from pansophy.compare.evaluation.racing import (
    fold_variance,
    loss_reach,
    score_reach,
    stopping_p_value,
)
from tools.simulate_comparisons import (
    RACE_SETTINGS,
    RaceSetting,
    race_filled,
    race_losses,
    race_rates,
    repeats_run,
)


@pytest.mark.parametrize("name", ["a little apart", "far apart", "heavy tails"])
def test_a_method_that_would_have_come_first_is_hardly_ever_stopped(name):
    """Promised: 5 of 100 comparisons; here at most 7 of 80 (chance of more: 3 %)."""
    rates = race_rates(RACE_SETTINGS[name], 80, seed=1)
    assert rates["stopped first"] <= 7 / 80
    assert rates["regret"] <= rates["regret full"] + 0.005
    assert rates["held"] > rates["held full"] - 0.05


def test_methods_that_are_far_behind_are_stopped():
    assert race_rates(RACE_SETTINGS["far apart"], 30)["fits saved"] > 0.2


def test_equal_methods_do_not_become_winners_by_racing():
    """5 % promised for one of 11 methods; more than 12 of 120 has a chance of 1 %."""
    rates = race_rates(RACE_SETTINGS["all equal to the dummy"], 120)
    assert rates["false"] <= 12 / 120
    assert rates["false"] <= rates["false full"] + 3 / 120


def test_a_stopped_method_is_behind_one_that_finished():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        losses, design, _ = race_losses(rng, RACE_SETTINGS["far apart"])
        runs = repeats_run(losses, design, range(2, losses.shape[2]))
        assert runs[race_filled(losses, runs).mean((0, 1)).argmin()] == len(losses)


def test_the_variance_of_folds_is_that_of_repeats():
    """Eq. (4) against the variance over 2,000 repeats of the same rows."""
    rng = np.random.default_rng(0)
    rows, folds = 100, 5
    hard = rng.normal(size=rows)
    fold_of = np.stack([rng.permutation(rows) % folds for _ in range(2000)])
    noise = 0.2 * rng.normal(size=(2000, folds))
    d = hard + np.take_along_axis(noise, fold_of, axis=1)
    true = d.mean(1).var()
    found = [
        fold_variance(d[i : i + 2], fold_of[i : i + 2], folds, np.ones(rows))[0]
        for i in range(0, 2000, 2)
    ]
    assert 0.9 * true < np.mean(found) < 1.1 * true


def test_chance_of_making_up_a_difference():
    assert stopping_p_value(-0.1, 1.0, 20, 5) == 1.0
    assert stopping_p_value(0.1, 0.0, 20, 5) == 0.0
    assert stopping_p_value(0.1, np.nan, 20, 5) == 1.0
    assert stopping_p_value(2.0, 1.0, 1e6, 2) == pytest.approx(0.0228, abs=1e-4)
    values = [stopping_p_value(3.0, 1.0, 30, m) for m in (2, 3, 10)]
    assert values == sorted(values)


def test_scores_of_folds_have_the_corrected_variance():
    d = np.array([0.1, 0.2, 0.3, 0.2, 0.2])
    mean, error, df = score_reach(d, 0.25, 5, 1)
    assert mean == pytest.approx(0.2) and df == 4
    assert error == pytest.approx(np.sqrt((1 / 5 + 0.25) * 0.005 * 4 / 5))
    assert np.isnan(score_reach([0.1, np.nan], 0.25, 5, 1)[1])


def test_weights_count_as_repeated_rows():
    rng = np.random.default_rng(0)
    losses, design, _ = race_losses(rng, RaceSetting(methods=2, rows=60))
    d = losses[:2, :, 1] - losses[:2, :, 0]
    weight = rng.integers(1, 4, 60)
    rows = np.repeat(np.arange(60), weight)
    by_weight = loss_reach(d, 5, design._replace(weight=weight.astype(float)))
    repeated = loss_reach(d[:, rows], 5, design.rows(rows))
    assert by_weight == pytest.approx(repeated)

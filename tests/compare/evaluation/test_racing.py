"""Racing: which methods can no longer come first, on scores with known truth."""

import numpy as np
import pytest

from pansophy.compare.evaluation.paired_tests import (
    CrossValidationDesign,
    estimate_scores,
    p_better_than,
)
from pansophy.compare.evaluation.racing import (
    ALPHA,
    filled,
    fold_variance,
    loss_reach,
    score_reach,
    stopping_p_value,
)

REPEATS, FOLDS, ROWS = 5, 5, 200


def simulated_losses(rng, gains, *, rows=ROWS, fold_noise=0.1):
    """Losses (R, n, M) of methods that are better than the first by `gains`.

    What a row costs is the same in every repeat; a fold adds an error of its own to all
    its rows, and so does every single fit.
    """
    M = len(gains)
    design = CrossValidationDesign(
        1 / (FOLDS - 1),
        FOLDS,
        np.stack([rng.permutation(rows) % FOLDS for _ in range(REPEATS)]),
    )
    hard = rng.normal(size=(rows, 1)) + 0.5 * rng.normal(size=(rows, M))
    fold = fold_noise * rng.normal(size=(REPEATS, FOLDS, M))
    single = 0.3 * rng.normal(size=(REPEATS, rows, M))
    by_row = np.take_along_axis(fold, design.fold_of[:, :, None], axis=1)
    return 3.0 + hard - np.asarray(gains) + by_row + single, design


def race(losses, design, racers):
    """Repeats that each method runs, by the rule of the module."""
    R, _, M = losses.shape
    runs = np.full(M, R)
    for m in racers:
        for r in range(1, R):
            rivals = [j for j in range(m) if runs[j] >= r]
            leader = min(rivals, key=lambda j: losses[:r, :, j].mean())
            d = losses[:r, :, m] - losses[:r, :, leader]
            if stopping_p_value(*loss_reach(d, R, design), M) <= ALPHA / (R - 1):
                runs[m] = r
                break
    return runs


def filled_losses(losses, runs):
    """Losses as the ranking sees them: those not run filled from the best finisher."""
    R = len(losses)
    full = [m for m, r in enumerate(runs) if r == R]
    best = min(full, key=lambda m: losses[:, :, m].mean())
    columns = [
        filled(losses[:r, :, m], losses[:, :, best]) if r < R else losses[:, :, m]
        for m, r in enumerate(runs)
    ]
    return np.stack(columns, axis=-1)


def test_a_method_that_would_have_come_first_is_hardly_ever_stopped():
    """Promised: at most 5 of 100 comparisons; asked for here: at most 8 of 200."""
    stopped_first = cut = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        losses, design = simulated_losses(rng, np.r_[0, rng.normal(0, 0.08, 7)])
        runs = race(losses, design, range(2, 8))
        first = int(losses.mean((0, 1)).argmin())
        stopped_first += runs[first] < REPEATS
        cut += np.count_nonzero(runs < REPEATS)
    assert stopped_first <= 8
    assert cut > 200  # and it does stop: one method a table and more


def test_equal_methods_do_not_become_winners_by_racing():
    """Method 0 is the dummy; the others are equal to it, or fewer would be found."""
    found = 0
    for seed in range(200):
        rng = np.random.default_rng(1000 + seed)
        losses, design = simulated_losses(rng, np.zeros(8))
        runs = race(losses, design, range(2, 8))
        table = filled_losses(losses, runs)
        names = [str(m) for m in range(8)]
        estimates = estimate_scores(table, design, names, None, runs < REPEATS)
        found += p_better_than(estimates, 0, False).min() < 0.05
    assert found <= 20  # 5 % of 200, and chance (beyond 20: 0.4 %)


def test_a_stopped_method_is_behind_the_one_that_finished():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        losses, design = simulated_losses(rng, rng.normal(0, 0.5, 6))
        runs = race(losses, design, range(2, 6))
        means = filled_losses(losses, runs).mean((0, 1))
        assert runs[means.argmin()] == REPEATS


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
    losses, design = simulated_losses(rng, [0.0, -0.2], rows=60)
    d = losses[:2, :, 1] - losses[:2, :, 0]
    weight = rng.integers(1, 4, 60)
    rows = np.repeat(np.arange(60), weight)
    by_weight = loss_reach(d, 5, design._replace(weight=weight.astype(float)))
    repeated = loss_reach(d[:, rows], 5, design.rows(rows))
    assert by_weight == pytest.approx(repeated)

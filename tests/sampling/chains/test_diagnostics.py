"""R-hat, effective sizes and standard errors against closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from pansophy.sampling import (
    diagnose,
    ess_bulk,
    ess_mean,
    ess_tail,
    mcse_mean,
    mcse_sd,
    r_hat,
)
from pansophy.sampling.chains import diagnostics
from tests.oracles import chains


def test_r_hat_by_hand():
    # chains 1 2 3 4 and 3 4 5 6: W = 5/3, means 2.5 and 4.5, so B/n = 2,
    # V = 3/4 * 5/3 + 2 = 3.25 and R-hat = sqrt(3.25 / (5/3)) = sqrt(1.95)
    x = np.array([[1.0, 2, 3, 4], [3, 4, 5, 6]])
    within, total = diagnostics.within_and_total_variance(x)
    assert within == pytest.approx(5 / 3) and total == pytest.approx(3.25)
    assert diagnostics.scale_reduction(x) == pytest.approx(np.sqrt(1.95))


def test_split_leaves_out_an_odd_middle_draw():
    x = np.arange(7.0)[None]
    np.testing.assert_array_equal(diagnostics.split_chains(x), [[0, 1, 2], [4, 5, 6]])


def test_normal_scores_of_five_draws():
    got = diagnostics.rank_normal_scores(np.array([[3.0, 1.0, 2.0, 9.0, 4.0]]))
    want = norm.ppf((np.array([[3, 1, 2, 5, 4]]) - 0.375) / 5.25)
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_autocovariance_and_ess_equal_their_definitions(rng):
    for x in (chains.ar1(0.6, 3, 41, rng), chains.ar1(-0.7, 2, 60, rng)):
        slow = np.array([chains.autocovariance(chain) for chain in x])
        np.testing.assert_allclose(diagnostics.autocovariance(x), slow, atol=1e-12)
        got, want = diagnostics.chain_effective_size(x), chains.effective_size(x)
        assert got == pytest.approx(want, rel=1e-10)


@pytest.mark.parametrize("rho", [-0.6, -0.3, 0.0, 0.5, 0.9])
def test_ess_of_ar1_chains(rho, rng):
    # relative error of the estimate is about sqrt(8 tau / N) = 0.06 at rho = 0.9, and
    # less elsewhere: 0.25 is four of them, false-alarm rate under 1e-4
    m, n = 4, 10_000
    x = chains.ar1(rho, m, n, rng)
    want = m * n * (1 - rho) / (1 + rho)
    assert ess_mean(x) == pytest.approx(want, rel=0.25)
    if rho >= 0:
        assert ess_bulk(x) == pytest.approx(want, rel=0.25)


def test_mcse_is_the_spread_of_repeated_means(rng):
    # 400 runs: the sd of their means is known to 1/sqrt(800) = 3.5 %; 15 % is 4 sd
    runs = chains.ar1(0.7, 1600, 500, rng).reshape(400, 4, 500)
    means = runs.mean(axis=(1, 2)).std()
    spreads = runs.std(axis=(1, 2), ddof=1).std()
    assert np.mean([mcse_mean(x) for x in runs]) == pytest.approx(means, rel=0.15)
    assert np.mean([mcse_sd(x) for x in runs]) == pytest.approx(spreads, rel=0.2)


def test_r_hat_sees_location_scale_and_drift(rng):
    x = rng.normal(size=(4, 1000))
    assert r_hat(x) < 1.01
    assert r_hat(x + np.array([[0], [0], [0], [1.5]])) > 1.1
    assert r_hat(x * np.array([[1], [1], [1], [3.0]])) > 1.1  # folded only
    assert r_hat(x + np.linspace(0, 3, 1000)) > 1.1  # split only


def test_no_variance_is_no_trouble(rng):
    x = rng.standard_cauchy(size=(4, 2000))
    assert r_hat(x) < 1.01
    assert ess_bulk(x) == pytest.approx(8000, rel=0.15)
    assert ess_tail(x) == pytest.approx(8000, rel=0.15)


@given(st.floats(0.01, 100), st.floats(-50, 50), st.booleans())
def test_ranks_ignore_increasing_maps(scale, shift, flip):
    x = chains.ar1(0.5, 3, 80, np.random.default_rng(5))
    y = scale * (-x if flip else x) + shift
    assert r_hat(y) == pytest.approx(r_hat(x), rel=1e-6)
    assert ess_bulk(y) == pytest.approx(ess_bulk(x), rel=1e-6)
    assert ess_bulk(np.exp(x)) == pytest.approx(ess_bulk(x), rel=1e-9)


def test_shapes_and_undefined_cases(rng):
    x = rng.normal(size=(2, 50, 3))
    assert ess_bulk(x).shape == (3,)
    assert ess_bulk(x)[1] == ess_bulk(x[:, :, 1])
    x[:, :, 0] = 4.0
    x[0, 3, 1] = np.nan
    for function in (r_hat, ess_bulk, ess_tail, ess_mean, mcse_mean, mcse_sd):
        got = function(x)
        assert np.isnan(got[:2]).all() and np.isfinite(got[2])
        assert np.isnan(function(x[:, :3, 2]))
    with pytest.raises(ValueError, match=r"shape \(chains, draws"):
        r_hat(np.zeros(5))


def test_table(rng):
    x = rng.normal([1.0, -2.0], size=(4, 500, 2))
    table = diagnose(x, names=["alpha", "beta"])
    np.testing.assert_allclose(table.mean, x.mean(axis=(0, 1)))
    np.testing.assert_allclose(table.q95[0], np.quantile(x[:, :, 0], 0.95))
    text = str(table)
    assert "alpha" in text and "ess_tail" in text and len(text.splitlines()) == 3
    assert "and 3 more" in diagnose(rng.normal(size=(2, 20, 8))).table(5)

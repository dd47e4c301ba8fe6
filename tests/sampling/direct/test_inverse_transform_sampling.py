"""Inverse transform sampling from quantiles, CDFs and tables."""

import numpy as np
import pytest
from scipy import stats

from pansophy.sampling import (
    inverse_transform,
)

F = stats.gamma(2.5)


def kolmogorov(x, cdf):
    return stats.kstest(x, cdf).statistic


def ways(n):
    g = np.linspace(0, 40, 20_001)
    table = (g, np.append(F.cdf(g)[:-1], 1.0))
    how = {"random_state": 0}
    yield inverse_transform(n, quantile=F.ppf, **how)
    yield inverse_transform(n, cdf=F.cdf, support=(0, np.inf), **how)
    yield inverse_transform(n, cdf=F.cdf, support=(0, 60), **how)
    yield inverse_transform(n, table=table, **how)


def test_distance_to_the_law_falls_and_ways_agree():
    """Dvoretzky-Kiefer-Wolfowitz: above this bound for one seed in 10,000."""
    for n in (100, 10_000):
        draws = list(ways(n))
        for x in draws:
            assert kolmogorov(x, F.cdf) < np.sqrt(np.log(2e4) / (2 * n))
            np.testing.assert_allclose(x, draws[0], atol=2e-3)
        np.testing.assert_allclose(draws[1], draws[0], rtol=1e-8)


def test_inverse_is_monotone_and_handles_jumps_and_tails():
    u = np.linspace(0.001, 0.999, 50)
    x = inverse_transform(50, cdf=stats.cauchy.cdf, u=u)
    np.testing.assert_allclose(x, stats.cauchy.ppf(u), rtol=1e-7, atol=1e-9)
    steps = lambda x: 0.3 * (x >= 1) + 0.7 * (x >= 2)
    got = inverse_transform(4, cdf=steps, u=[0.1, 0.29, 0.5, 0.9])
    np.testing.assert_allclose(got, [1, 1, 2, 2], rtol=1e-9)
    flat = ([0.0, 1.0, 2.0, 3.0], [0.0, 0.5, 0.5, 1.0])
    got = inverse_transform(5, table=flat, u=[0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(got, [0, 0.5, 1.0, 2.5, 3.0])
    x = inverse_transform(20_000, pmf=([5, 7, 9], [0.2, 0.0, 0.8]), random_state=0)
    assert set(x) == {5, 9} and abs((x == 9).mean() - 0.8) < 0.012


def test_inverse_refuses():
    with pytest.raises(ValueError, match="exactly one"):
        inverse_transform(3)
    with pytest.raises(ValueError, match="rise from 0 to 1"):
        inverse_transform(3, cdf=lambda x: 0.5 + 0 * x, u=[0.1, 0.2, 0.9])
    with pytest.raises(ValueError, match="sum to 1"):
        inverse_transform(3, pmf=([1, 2], [0.5, 0.6]))
    with pytest.raises(ValueError, match="F must go from 0 to 1"):
        inverse_transform(3, table=([0, 1], [0.1, 1]))
    with pytest.raises(ValueError, match="between 0 and 1"):
        inverse_transform(1, quantile=F.ppf, u=[1.5])

"""Direct draws: inverse transform, ancestral, rejection, adaptive rejection."""

import numpy as np
import pytest
from scipy import stats

from pansophy.distributions import Normal
from pansophy.sampling import (
    EnvelopeError,
    adaptive_rejection,
    ancestral_sample,
    inverse_transform,
    rejection_sample,
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


def test_ancestral_matches_exact_marginals():
    """The sprinkler network: exact marginals by enumeration."""
    network = {
        "wet": lambda rng, sprinkler, rain: (
            rng.random(len(rain))
            < np.array([[0.0, 0.9], [0.9, 0.99]])[1 * sprinkler, 1 * rain]
        ),
        "sprinkler": lambda rng, cloudy: (
            rng.random(len(cloudy)) < np.where(cloudy, 0.1, 0.5)
        ),
        "rain": lambda rng, cloudy: (
            rng.random(len(cloudy)) < np.where(cloudy, 0.8, 0.2)
        ),
        "cloudy": lambda rng: rng.random(40_000) < 0.5,
    }
    x = ancestral_sample(network, 40_000, random_state=0)
    assert list(x) == list(network)
    exact = {"cloudy": 0.5, "sprinkler": 0.3, "rain": 0.5, "wet": 0.6471}
    for name, p in exact.items():
        assert abs(x[name].mean() - p) < 4.5 * np.sqrt(p * (1 - p) / 40_000), name


def test_ancestral_takes_laws_and_single_draws():
    chain = {
        "b": lambda a: Normal(2 * a[:, None], np.ones((len(a), 1)), "diag"),
        "a": Normal(1.0, 4.0),
        "c": stats.expon(),
    }
    x = ancestral_sample(chain, 20_000, random_state=1)
    assert abs(x["b"].mean() - 2) < 0.15 and abs(x["b"].var() - 17) < 0.8
    assert abs(x["c"].mean() - 1) < 0.04
    one = {"a": stats.norm(), "b": lambda rng, a: rng.normal(a, 1e-9)}
    x = ancestral_sample(one, 50, batched=False, random_state=0)
    np.testing.assert_allclose(x["a"], x["b"], atol=1e-7)


def test_ancestral_shows_cycles_and_strangers():
    with pytest.raises(ValueError, match="cycle"):
        ancestral_sample({"a": lambda b: b, "b": lambda a: a}, 3)
    with pytest.raises(ValueError, match="'z', which is not a variable"):
        ancestral_sample({"a": lambda z: z}, 3)


def test_rejection_rate_is_z_over_k():
    """p' = x (1 - x): Z = 1/6; the best k is 1/4, and twice that halves the rate."""
    target = lambda x: np.log(x * (1 - x))
    for k in (0.25, 0.5):
        how = {"log_k": np.log(k), "random_state": 0}
        run = rejection_sample(target, stats.uniform(), 20_000, **how)
        rate = 1 / 6 / k
        error = np.sqrt(rate * (1 - rate) / run.proposals)
        assert abs(run.acceptance - rate) < 4.5 * error
        assert abs(run.log_z - np.log(1 / 6)) < 4.5 * run.log_z_error
        assert kolmogorov(run.draws, stats.beta(2, 2).cdf) < 0.0165


def test_envelope_violation_raises_with_place_and_ratio():
    target = lambda x: -0.5 * x[:, 0] ** 2
    with pytest.raises(EnvelopeError, match="times its envelope at") as info:
        rejection_sample(target, [(-3, 3)], 1000, log_k=0.0, random_state=0)
    place, ratio = info.value.place, info.value.ratio
    assert ratio == pytest.approx(6 * np.exp(-0.5 * place[0] ** 2)) and ratio > 5
    with pytest.raises(ValueError, match="too far above"):
        rejection_sample(target, [(-3, 3)], 10, log_k=30.0, random_state=0)


def test_adaptive_rejection():
    run = adaptive_rejection(lambda x: -0.5 * x**2, 30_000, random_state=0)
    assert run.acceptance > 0.99
    assert kolmogorov(run.draws, stats.norm.cdf) < 0.0135
    assert abs(run.log_z - 0.5 * np.log(2 * np.pi)) < 0.01
    shape = lambda x: 2 * np.log(x) - 3 * x
    slope = lambda x: 2 / x - 3
    run = adaptive_rejection(
        shape, 20_000, init=[0.5], grad=slope, support=(0, np.inf), random_state=0
    )
    assert kolmogorov(run.draws, stats.gamma(3, scale=1 / 3).cdf) < 0.0165
    cut = adaptive_rejection(
        lambda x: 3 * x, 20_000, init=[0.5], support=(0, 1), random_state=0
    )
    exact = lambda x: np.expm1(3 * x) / np.expm1(3)
    assert kolmogorov(cut.draws, exact) < 0.0165


def test_adaptive_rejection_sees_what_is_not_concave():
    hills = lambda x: np.logaddexp(-0.5 * (x - 3) ** 2, -0.5 * (x + 3) ** 2)
    with pytest.raises(ValueError, match="not concave"):
        adaptive_rejection(hills, 100, init=[-3.5, -1, 1, 3.5], random_state=0)
    with pytest.raises(ValueError, match="above its tangent"):  # though slopes fall
        adaptive_rejection(hills, 100, init=[-3.5, 0, 3.5], random_state=0)
    tails = lambda x: -np.log1p(x**2)  # concave in the middle only
    with pytest.raises(EnvelopeError, match="not log-concave"):
        adaptive_rejection(tails, 2000, init=[-0.5, 0.5], random_state=0)
    with pytest.raises(ValueError, match="does not fall"):
        adaptive_rejection(lambda x: x, 10)

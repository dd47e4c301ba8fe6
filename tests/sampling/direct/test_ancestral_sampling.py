"""Ancestral sampling against exact marginals."""

import numpy as np
import pytest
from scipy import stats

from pansophy.distributions import Normal
from pansophy.sampling import (
    ancestral_sample,
)


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

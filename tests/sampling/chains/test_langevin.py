"""Langevin samplers: acceptance, bias and noisy gradients."""

import numpy as np
import pytest

from pansophy.sampling import (
    MALA,
    Langevin,
    StochasticLangevin,
    mcse_mean,
    normal_density,
    sample,
)


def test_one_leapfrog_step_is_the_langevin_proposal():
    """MALA's acceptance is that of Metropolis and Hastings for its proposal."""
    x, h = np.full((1, 1), 0.7), 0.8**2 / 2
    f = lambda x: (-(x[:, 0] ** 4), -4 * x**3)
    sampler = MALA(f, grad=True, step_size=0.8, metric="unit")
    state = sampler.init(x)
    for seed in range(5):
        new, info = sampler.step(np.random.default_rng(seed), state)
        if not info.accepted[0]:
            continue
        y = new.position
        log_q = lambda a, b: -((b - a - h * f(a)[1]) ** 2).sum() / (4 * h)
        ratio = f(y)[0] - f(x)[0] + log_q(y, x) - log_q(x, y)
        np.testing.assert_allclose(info.acceptance, np.exp(min(ratio[0], 0)), rtol=1e-9)
        break
    else:
        raise AssertionError("no step was accepted")


@pytest.mark.parametrize("s", [1.0, 1.5])
def test_unadjusted_langevin_has_its_known_bias(s):
    """x + eps/2 score + sqrt(eps) z on N(0, s^2): variance s^2 / (1 - eps / (4 s^2)).

    `step_size` is sqrt(eps).
    """
    eps = 1.2
    sampler = Langevin(normal_density([0.0], [s**2]), step_size=eps**0.5)
    draws = sample(sampler, 20_000, init=[0.0], warmup=50, random_state=0)
    square = draws.positions**2
    wanted = s**2 / (1 - eps / (4 * s**2))
    z = (square.mean() - wanted) / mcse_mean(square[..., 0])
    assert wanted > 1.1 * s**2  # the bias is there to be seen
    assert abs(z) < 4 and draws.info["accepted"].all()


def test_stochastic_gradients(rng):
    data = rng.normal(2.0, 1.0, size=400)

    def part(rng, x):  # posterior of a mean, by rows drawn anew for each chain
        rows = data[rng.integers(400, size=(len(x), 100))]
        return 4 * (rows - x).sum(axis=1, keepdims=True)

    sampler = StochasticLangevin(part, step_size=2e-4)
    draws = sample(sampler, 3000, init=[0.0], warmup=300, random_state=0)
    assert abs(draws.flat.mean() - data.mean()) < 0.02
    assert 0.8 < draws.flat.std() * 20 < 1.6  # the noise of the gradients adds
    falling = StochasticLangevin(part, step_size=1e-3, decay=0.6)
    size = sample(falling, 5, init=[0.0], warmup=0, random_state=0).info["step"]
    np.testing.assert_allclose(size[0], 1e-3 * np.arange(1, 6) ** -0.6)
    with pytest.raises(ValueError, match="grad must give shape"):
        sample(StochasticLangevin(lambda r, x: x[:, 0]), 5, init=[0.0, 0.0])

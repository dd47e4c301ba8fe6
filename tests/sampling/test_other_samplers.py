"""Langevin methods, slice sampling and tempering: what is special to them."""

import numpy as np
import pytest

from pansophy.sampling import (
    HMC,
    MALA,
    NUTS,
    Langevin,
    Metropolis,
    ParallelTempering,
    SliceSampler,
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


def test_unadjusted_langevin_has_its_known_bias():
    """x' = (1 - h) x + sqrt(2 h) z has variance 1 / (1 - h / 2), h = eps^2 / 2."""
    eps = 1.0
    sampler = Langevin(normal_density([0.0], [1.0]), step_size=eps)
    draws = sample(sampler, 20_000, init=[0.0], warmup=50, random_state=0)
    square = draws.positions**2
    z = (square.mean() - 1 / (1 - eps**2 / 4)) / mcse_mean(square[..., 0])
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


def test_slice_learns_widths_and_stays_in_bounds():
    box = lambda x: np.where(
        (x > 0).all(axis=-1) & (x < [1, 50]).all(axis=-1), 0, -np.inf
    )
    draws = sample(SliceSampler(box), 800, init=[0.5, 1.0], warmup=200, random_state=0)
    x = draws.positions
    assert (x > 0).all() and (x < [1, 50]).all()
    z = (x.mean(axis=(0, 1)) - [0.5, 25]) / mcse_mean(x)
    assert np.abs(z).max() < 4
    assert draws.state.width[1] > 10 * draws.state.width[0]
    with pytest.raises(ValueError, match="width must be positive"):
        sample(SliceSampler(box, width=np.ones(3)), 5, init=[0.5, 0.5])


def test_tempering_crosses_where_a_chain_cannot():
    hills = lambda x: np.logaddexp(
        -((x[:, 0] - 9) ** 2), np.log(3) - (x[:, 0] + 9) ** 2
    )
    alone = sample(Metropolis(hills), 500, init=[9.0], random_state=0)
    assert (alone.positions > 0).all()
    sampler = ParallelTempering(Metropolis(hills), n_replicas=6, hottest=0.01)
    draws = sample(sampler, 2500, init=[9.0], chains=8, random_state=0)
    left = (draws.positions < 0).astype(float)[..., 0]
    assert abs(left.mean() - 0.75) < 4 * mcse_mean(left) and mcse_mean(left) < 0.05
    betas = draws.state.betas
    assert betas[0] == 1 and np.isclose(betas[-1], 0.01) and (np.diff(betas) < 0).all()
    rate = draws.info["exchange"].mean()
    assert 0.2 < rate < 1


def test_tempering_of_compiled_and_plain_densities_is_one_chain():
    P = np.array([[2.0, 0.5], [0.5, 1.0]])
    plain = lambda x: (-0.5 * ((x @ P) * x).sum(axis=1), -(x @ P))
    run = lambda s: sample(
        ParallelTempering(s, n_replicas=2, hottest=0.5),
        10,
        init=np.ones((2, 2)),
        warmup=20,
        random_state=0,
    )
    a = run(HMC(normal_density([0.0, 0.0], precision=P)))
    b = run(HMC(plain, grad=True))
    np.testing.assert_allclose(a.positions, b.positions, rtol=1e-7, atol=1e-9)
    hot = a.state.replicas[1]
    np.testing.assert_allclose(
        hot.log_prob, a.state.betas[1] * plain(hot.position)[0], rtol=1e-9
    )
    np.testing.assert_allclose(hot.grad, a.state.betas[1] * plain(hot.position)[1])


def test_tempering_with_one_temperature_is_the_sampler():
    f = lambda x: -0.5 * (x**2).sum(axis=-1)
    how = {"init": [0.0], "warmup": 20, "random_state": 0}
    one = sample(ParallelTempering(Metropolis(f), n_replicas=1), 20, **how)
    np.testing.assert_array_equal(
        one.positions, sample(Metropolis(f), 20, **how).positions
    )


def test_tempering_needs_a_density_to_heat():
    class Own:
        def init(self, position):
            return position

        def step(self, rng, state):
            raise AssertionError

    with pytest.raises(TypeError, match="hold its density"):
        sample(ParallelTempering(Own()), 5, init=[0.0])
    assert "NUTS" in repr(ParallelTempering(NUTS(normal_density([0.0], [1.0]))))

"""Parallel tempering of several samplers."""

import numpy as np
import pytest

from pansophy.sampling import (
    HMC,
    NUTS,
    Metropolis,
    ParallelTempering,
    mcse_mean,
    normal_density,
    sample,
)


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

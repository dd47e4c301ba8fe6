"""Sequential Monte Carlo: evidence, moments and modes."""

import numpy as np
import pytest
from scipy import stats

from pansophy.distributions import Normal
from pansophy.sampling import SMC
from pansophy.sampling.particles.smc import next_inverse_temperature
from tests.sampling.two_hills import two_hills

D = 4
S = 0.2 * np.eye(D) + 0.1
P = np.linalg.inv(S)
MU = 0.3 * np.arange(D)
PRIOR = Normal(np.zeros(D), 4 * np.eye(D))
LOG_Z = stats.multivariate_normal(np.zeros(D), S + 4 * np.eye(D)).logpdf(MU)
COV = np.linalg.inv(P + np.eye(D) / 4)
MEAN = COV @ P @ MU
HALF = 0.5 * np.linalg.slogdet(2 * np.pi * S)[1]


def log_like(x):
    return -0.5 * np.sum(((x - MU) @ P) * (x - MU), axis=-1) - HALF


def moments_agree(x, n, width=5):
    error = width * np.sqrt(np.diag(COV) / n)
    assert (np.abs(x.mean(axis=0) - MEAN) < error).all()
    np.testing.assert_allclose(np.cov(x.T), COV, atol=width * 0.4 / np.sqrt(n))


MOVES = {
    "metropolis": {},
    "hmc": {
        "moves": "hmc",
        "grad": lambda x: -(x - MU) @ P,
        "prior_grad": lambda x: -x / 4,
    },
    "residual": {"resampling": "residual", "ess": 0.7},
}


@pytest.mark.parametrize("how", MOVES)
def test_smc_gaussian(how):
    """Evidence over six runs within 4.5 errors of their mean; moments of one."""
    smc = SMC(log_like, PRIOR, n_particles=1000, **MOVES[how])
    runs = [smc.run(seed) for seed in range(6)]
    z = np.array([run.log_evidence for run in runs]) - LOG_Z
    assert abs(z.mean()) < 4.5 * z.std(ddof=1) / np.sqrt(6) + 0.01 and z.std() < 0.15
    x = np.concatenate([run.positions for run in runs])
    moments_agree(x, len(x) / 4)  # siblings are worth less than free draws
    run = runs[0]
    assert run.temperatures[-1] == 1 and (np.diff(run.temperatures) > 0).all()
    share = MOVES[how].get("ess", 0.5)
    np.testing.assert_allclose(run.history["size"][:-1], share * 1000, rtol=1e-3)
    again = smc.run(0)
    np.testing.assert_array_equal(run.positions, again.positions)
    np.testing.assert_allclose(
        run.log_prob, PRIOR.log_prob(run.positions) + log_like(run.positions)
    )


def test_smc_finds_both_hills_and_keeps_to_the_prior():
    run = SMC(two_hills, [(-10, 10)] * 2, n_particles=2000).run(0)
    assert abs(run.log_evidence + 2 * np.log(20)) < 0.2
    assert abs((run.positions[:, 0] > 0).mean() - 1 / 3) < 0.06
    cut = SMC(lambda x: 0 * x[:, 0], [(0, 1)], n_particles=2000).run(0)
    assert cut.log_evidence == pytest.approx(0) and len(cut.temperatures) == 1
    assert cut.positions.min() > 0 and cut.positions.max() < 1
    assert stats.kstest(cut.positions[:, 0], "uniform").pvalue > 1e-4


def test_next_beta():
    L = -0.5 * np.random.default_rng(0).normal(size=500) ** 2
    assert next_inverse_temperature(L, 0.0, 0.5) == 1.0
    b = next_inverse_temperature(1000 * L, 0.0, 0.5)
    w = np.exp(b * 1000 * L)
    assert w.sum() ** 2 / (w @ w) == pytest.approx(250, rel=1e-3)


def test_smc_refuses():
    with pytest.raises(TypeError, match="prior_grad"):
        SMC(log_like, PRIOR, moves="hmc", grad=lambda x: x).run(0)
    with pytest.raises(ValueError, match="every weight is zero"):
        SMC(lambda x: np.full(len(x), -np.inf), PRIOR).run(0)
    with pytest.raises(ValueError, match="n_particles"):
        SMC(log_like, PRIOR, n_particles=0).run(0)

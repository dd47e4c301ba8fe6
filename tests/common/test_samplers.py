"""The battery of every sampler: protocol, seeds, stationarity, detailed balance.

Joining `SAMPLERS` is how a sampler gets tested: a function from a log density to it.
"""

import numpy as np
import pytest
from scipy import stats

from pansophy.sampling import Independent, Metropolis, RandomWalk, mcse_mean, sample
from pansophy.typing import Sampler


class Wide:
    """A multivariate Student t, as proposal for every target below."""

    def __init__(self, d):
        self.law = stats.multivariate_t(np.zeros(d), 4 * np.eye(d), df=4)

    def sample(self, n, rng):
        return self.law.rvs(n, random_state=rng)

    def log_prob(self, X):
        return self.law.logpdf(X)


SAMPLERS = {
    "metropolis": lambda f, d: Metropolis(f),
    "metropolis, fixed": lambda f, d: Metropolis(
        f, proposal=RandomWalk(1.0, learn=False)
    ),
    "metropolis, a chain at a time": lambda f, d: Metropolis(f, batched=False),
    "metropolis, independent": lambda f, d: Metropolis(
        f, proposal=Independent(Wide(d))
    ),
}

SIGMA = np.array([[1.0, 0.8], [0.8, 1.5]])
PRECISION = np.linalg.inv(SIGMA)
MEAN = np.array([1.0, -1.0])

# name -> log density, mean, covariance of the target
TARGETS = {
    "gaussian": (
        lambda x: -0.5 * np.sum(((x - MEAN) @ PRECISION) * (x - MEAN), axis=-1),
        MEAN,
        SIGMA,
    ),
    "skew": (  # Gumbel and, given that, a normal around its square
        lambda x: -x[..., 0] - np.exp(-x[..., 0]) - 0.5 * x[..., 1] ** 2,
        np.array([np.euler_gamma, 0.0]),
        np.diag([np.pi**2 / 6, 1.0]),
    ),
    "two hills": (  # equal normals at -1.5 and 1.5 on the first axis
        lambda x: (
            np.logaddexp(-0.5 * (x[..., 0] - 1.5) ** 2, -0.5 * (x[..., 0] + 1.5) ** 2)
            - 0.5 * x[..., 1] ** 2
        ),
        np.zeros(2),
        np.diag([1 + 1.5**2, 1.0]),
    ),
}


@pytest.fixture(params=SAMPLERS)
def make(request):
    return SAMPLERS[request.param]


def test_protocol(make, rng):
    sampler = make(TARGETS["gaussian"][0], 2)
    assert isinstance(sampler, Sampler)
    state = sampler.init(np.zeros((3, 2)))
    before = state.position.copy()
    new, info = sampler.step(rng, state)
    assert new.position.shape == (3, 2) and new.log_prob.shape == (3,)
    assert all(np.shape(value) == (3,) for value in info)
    np.testing.assert_array_equal(state.position, before)  # state in, state out
    np.testing.assert_allclose(
        new.log_prob, TARGETS["gaussian"][0](new.position), rtol=1e-12
    )
    assert type(new) is type(state)


def test_same_seed_same_draws(make):
    run = lambda: sample(
        make(TARGETS["skew"][0], 2), 20, init=[0.0, 0.0], random_state=5
    )
    np.testing.assert_array_equal(run().positions, run().positions)


@pytest.mark.parametrize("target", TARGETS)
def test_moments(make, target):
    """Means, variances and the covariance within 4.5 standard errors.

    Five comparisons for each of 12 pairs: were the errors normal, one of them would
    fail for one seed in about 2500.
    """
    log_prob, mean, covariance = TARGETS[target]
    n = 1500 if make is SAMPLERS["metropolis, a chain at a time"] else 6000
    spread = lambda rng, m: mean + 2 * rng.normal(size=(m, 2))
    draws = sample(make(log_prob, 2), n, init=spread, chains=8, random_state=1)
    assert (draws.summary().r_hat < 1.05).all()
    e = draws.positions - mean
    products = np.stack([e[..., 0] ** 2, e[..., 1] ** 2, e[..., 0] * e[..., 1]], axis=2)
    values = np.concatenate([e, products], axis=2)
    want = np.array([0, 0, covariance[0, 0], covariance[1, 1], covariance[0, 1]])
    z = (values.mean(axis=(0, 1)) - want) / mcse_mean(values)
    assert np.abs(z).max() < 4.5, z


def test_detailed_balance_is_exact():
    """Transition matrix of a chain on five points, from the sampler's own step.

    A proposal that sends chain (i, j) from i to j shows alpha(i, j) as the acceptance
    of that step, so P = q alpha is known without error.
    """
    rng = np.random.default_rng(0)
    k = 5
    pi = rng.dirichlet(np.ones(k))
    q = rng.dirichlet(np.ones(k), size=k)  # not symmetric
    i, j = (index.ravel() for index in np.indices((k, k)))

    class Scripted:
        batched = True

        def __call__(self, rng, x):
            return j[:, None], np.log(q[j, i]) - np.log(q[i, j])

    log_pi = lambda x: np.log(pi)[x[:, 0]] + 7.0  # constants do not matter
    sampler = Metropolis(log_pi, proposal=Scripted(), batched=True)
    _, info = sampler.step(rng, sampler.init(i[:, None]))
    P = q * info.acceptance.reshape(k, k)
    P[np.diag_indices(k)] += 1 - P.sum(axis=1)
    flow = pi[:, None] * P
    np.testing.assert_allclose(flow, flow.T, atol=1e-15)
    np.testing.assert_allclose(pi @ P, pi, atol=1e-15)
    assert (P >= 0).all()


def test_discrete_chain_visits_by_weight():
    """Counts on a ring of six points: chi-square of nearly free draws at level 1e-4."""
    weights = np.array([1.0, 2, 3, 4, 3, 2])

    def hop(rng, x):
        return (x + rng.choice([-1, 1])) % 6

    sampler = Metropolis(lambda x: np.log(weights[int(x[0])]), proposal=hop)
    draws = sample(sampler, 400, init=[0], thin=12, warmup=50, random_state=0)
    counts = np.bincount(draws.flat[:, 0].astype(int), minlength=6)
    expected = weights / weights.sum() * counts.sum()
    assert stats.chisquare(counts, expected).pvalue > 1e-4

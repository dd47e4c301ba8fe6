"""The battery of every sampler: protocol, seeds, stationarity, detailed balance.

Joining `SAMPLERS` is how a sampler gets tested: a function from a log density to it.
"""

import numpy as np
import pytest
from scipy import stats

from pansophy.sampling import (
    HMC,
    MALA,
    NUTS,
    Gibbs,
    IndependenceProposal,
    Metropolis,
    ParallelTempering,
    RandomWalk,
    SliceSampler,
    mcse_mean,
    sample,
)
from pansophy.typing import Sampler


class Wide:
    """A multivariate Student t, as proposal for every target below."""

    def __init__(self, d):
        self.law = stats.multivariate_t(np.zeros(d), 4 * np.eye(d), df=4)

    def sample(self, n, rng):
        return self.law.rvs(n, random_state=rng)

    def log_prob(self, X):
        return self.law.logpdf(X)


def on_grid(f, j, grid=np.arange(-9.0, 11.0, 0.1)):
    """Full conditional of coordinate j, constant on cells of width 0.1."""

    def conditional(rng, x):
        cells = np.repeat(x[:, None], len(grid), axis=1)
        cells[..., j] = grid
        L = f(cells)
        C = np.cumsum(np.exp(L - L.max(axis=1, keepdims=True)), axis=1)
        u = rng.random((len(x), 1)) * C[:, -1:]
        return grid[(u > C).sum(axis=1)] + 0.1 * (rng.random(len(x)) - 0.5)

    return conditional


# name -> (sampler from log density, gradient and dimension; draws that tell enough)
SAMPLERS = {
    "metropolis": (lambda f, g, d: Metropolis(f), 6000),
    "metropolis, fixed": (
        lambda f, g, d: Metropolis(f, proposal=RandomWalk(1.0, adapt=False)),
        6000,
    ),
    "metropolis, a chain at a time": (
        lambda f, g, d: Metropolis(f, batched=False),
        1500,
    ),
    "metropolis, independent": (
        lambda f, g, d: Metropolis(f, proposal=IndependenceProposal(Wide(d))),
        1500,
    ),
    "nuts": (lambda f, g, d: NUTS(f, grad=g), 500),
    "nuts, dense": (lambda f, g, d: NUTS(f, grad=g, metric="dense"), 500),
    "hmc": (lambda f, g, d: HMC(f, grad=g), 500),
    "hmc, fixed": (
        lambda f, g, d: HMC(f, grad=g, n_steps=4, jitter=0.0, step_size=0.4),
        1000,
    ),
    "mala": (lambda f, g, d: MALA(f, grad=g), 2000),
    "slice": (lambda f, g, d: SliceSampler(f), 500),
    "gibbs": (
        lambda f, g, d: Gibbs([on_grid(f, j) for j in range(d)], log_prob=f),
        1000,
    ),
    "tempering": (
        lambda f, g, d: ParallelTempering(Metropolis(f), n_replicas=3, hottest=0.2),
        1200,
    ),
    "tempering, hmc": (
        lambda f, g, d: ParallelTempering(
            HMC(f, grad=g, n_steps=2), n_replicas=2, hottest=0.5
        ),
        400,
    ),
}

SIGMA = np.array([[1.0, 0.8], [0.8, 1.5]])
PRECISION = np.linalg.inv(SIGMA)
MEAN = np.array([1.0, -1.0])


def hills(x):
    a, b = -0.5 * (x[..., 0] - 1.5) ** 2, -0.5 * (x[..., 0] + 1.5) ** 2
    return np.logaddexp(a, b) - 0.5 * x[..., 1] ** 2


# name -> log density, gradient, mean, covariance of the target
TARGETS = {
    "gaussian": (
        lambda x: -0.5 * np.sum(((x - MEAN) @ PRECISION) * (x - MEAN), axis=-1),
        lambda x: -(x - MEAN) @ PRECISION,
        MEAN,
        SIGMA,
    ),
    "skew": (  # Gumbel and, beside it, a normal
        lambda x: -x[..., 0] - np.exp(-x[..., 0]) - 0.5 * x[..., 1] ** 2,
        lambda x: np.stack([np.exp(-x[..., 0]) - 1, -x[..., 1]], axis=-1),
        np.array([np.euler_gamma, 0.0]),
        np.diag([np.pi**2 / 6, 1.0]),
    ),
    "two hills": (  # equal normals at -1.5 and 1.5 on the first axis
        hills,
        lambda x: np.stack(
            [1.5 * np.tanh(1.5 * x[..., 0]) - x[..., 0], -x[..., 1]], axis=-1
        ),
        np.zeros(2),
        np.diag([1 + 1.5**2, 1.0]),
    ),
}


@pytest.fixture(params=SAMPLERS)
def make(request):
    return SAMPLERS[request.param]


def steps(sampler, rng, state, n):
    for _ in range(n):
        state, _ = sampler.step(rng, state)
    return state


def test_protocol(make, rng):
    sampler = make[0](*TARGETS["gaussian"][:2], 2)
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
        make[0](*TARGETS["skew"][:2], 2),
        20,
        init=[0.0, 0.0],
        warmup=100,
        random_state=5,
    )
    np.testing.assert_array_equal(run().positions, run().positions)


def test_going_on_equals_going_through(make):
    start = {"init": [0.0, 0.0], "warmup": 40, "thin": 2, "random_state": 3}
    whole = sample(make[0](*TARGETS["skew"][:2], 2), 17, **start)
    parts = sample(make[0](*TARGETS["skew"][:2], 2), 6, **start)
    np.testing.assert_array_equal(sample(parts, 11).positions, whole.positions)


def test_many_steps_are_single_steps(make, rng):
    sampler = make[0](*TARGETS["skew"][:2], 2)
    state = sampler.init(np.zeros((3, 2)))
    if hasattr(sampler, "steps"):
        together, trace = sampler.steps(np.random.default_rng(1), state, 7)
        assert trace["position"].shape == (3, 7, 2)
        apart = steps(sampler, np.random.default_rng(1), state, 7)
        np.testing.assert_array_equal(together.position, apart.position)
        np.testing.assert_array_equal(trace["position"][:, -1], apart.position)
    assert np.isfinite(steps(sampler, rng, state, 3).position).all()


# a path of leapfrog steps may diverge where the skew one falls like exp(-exp(-x))
STEEP = pytest.mark.filterwarnings("ignore:.*divergence")


@pytest.mark.parametrize(
    "target", ["gaussian", pytest.param("skew", marks=STEEP), "two hills"]
)
def test_moments(make, target):
    """Means, variances and the covariance within 4.5 standard errors.

    Five comparisons for each of 36 pairs: were the errors normal, one of them would
    fail for one seed in about 800.
    """
    log_prob, grad, mean, covariance = TARGETS[target]
    build, n = make
    spread = lambda rng, m: mean + 2 * rng.normal(size=(m, 2))
    draws = sample(
        build(log_prob, grad, 2), n, init=spread, chains=8, warmup=300, random_state=1
    )
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

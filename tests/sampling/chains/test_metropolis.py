"""Metropolis-Hastings: what is special to it; the battery is in tests/common."""

import numpy as np
import pytest

from pansophy.params import ParameterError
from pansophy.sampling import IndependenceProposal, Metropolis, RandomWalk, sample
from pansophy.sampling.densities.target_density import takes_batch


def normal(x):
    return -0.5 * (x**2).sum(axis=-1)


class StandardT:
    """A heavy-tailed proposal with the Distribution contract."""

    def sample(self, n, rng):
        return rng.standard_t(3, size=(n, 1))

    def log_prob(self, X):
        return -2 * np.log1p(X[:, 0] ** 2 / 3)


def test_first_log_prob_belongs_to_the_first_draw():
    # ex. E20 of the notes: their listing overwrote entry 0
    draws = sample(Metropolis(normal), 50, init=[0.5, 1.0], warmup=0, random_state=0)
    np.testing.assert_allclose(draws.log_prob, normal(draws.positions), rtol=1e-12)


def test_constants_of_the_target_cancel():
    run = lambda c: sample(
        Metropolis(lambda x: normal(x) + c), 300, init=[0.0, 0.0], random_state=3
    )
    np.testing.assert_allclose(run(0.0).positions, run(64.0).positions, rtol=1e-9)


def test_uphill_is_always_accepted_and_nan_or_zero_never():
    up = lambda rng, x: x + 1.0
    for log_prob, rate in (
        (lambda x: x[..., 0], 1.0),
        (lambda x: np.where(x[..., 0] > 0.5, np.nan, 0.0), 0.0),
        (lambda x: np.where(x[..., 0] > 0.5, -np.inf, 0.0), 0.0),
    ):
        sampler = Metropolis(log_prob, proposal=up)
        draws = sample(sampler, 20, init=[0.0], warmup=0, random_state=0)
        assert (draws.info["acceptance"] == rate).all()
        assert (draws.info["accepted"] == bool(rate)).all()


def test_batch_is_found_out_and_changes_nothing():
    assert takes_batch(normal, np.zeros((4, 2)))
    assert takes_batch(normal, np.zeros((2, 2)))
    assert not takes_batch(lambda x: -0.5 * x @ x, np.zeros((4, 2)))
    assert not takes_batch(lambda x: -(x[0] ** 2) - x[1] ** 2, np.zeros((2, 2)))
    assert not takes_batch(lambda x: -0.5 * (x**2).sum(), np.zeros((4, 2)))
    a = sample(Metropolis(normal), 100, init=[1.0, 0.0], random_state=1)
    b = sample(
        Metropolis(lambda x: -0.5 * float(x @ x)), 100, init=[1.0, 0.0], random_state=1
    )
    np.testing.assert_allclose(a.positions, b.positions, rtol=1e-9)


def test_acceptance_falls_as_steps_grow():
    rate = [
        sample(
            Metropolis(normal, proposal=RandomWalk(scale=s)),
            2000,
            init=[0.0, 0.0],
            warmup=0,
            random_state=0,
        ).acceptance.mean()
        for s in (0.1, 1.0, 10.0)
    ]
    assert rate[0] > 0.9 > rate[1] > 0.2 > rate[2]


def test_acceptance_of_a_one_dimensional_walk():
    # for a normal target and step sd s the rate is (2/pi) atan(2/s); at s = 2: 0.5.
    # 40 000 correlated draws know it to about 0.005; 0.02 is four of that
    sampler = Metropolis(normal, proposal=RandomWalk(scale=2.0, adapt=False))
    draws = sample(sampler, 10_000, init=[0.0], warmup=100, random_state=0)
    assert draws.acceptance.mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(("d", "target"), [(1, 0.44), (5, 0.234)])
def test_warmup_reaches_the_target_rate(d, target):
    scales = 10.0 ** np.arange(d)
    sampler = Metropolis(lambda x: normal(x / scales))
    draws = sample(sampler, 2000, init=np.zeros(d), warmup=3000, random_state=0)
    assert draws.acceptance.mean() == pytest.approx(target, abs=0.06)
    # the covariance is learnt: scales that differ by 10^4 mix alike
    learnt = np.sqrt(np.diag(draws.state.proposal.covariance))
    # the widest scale is reached last: the first positions, which are near 0, count too
    limits = np.where(scales == 1e4, 0.4, 0.15)
    assert (np.abs(learnt / scales - 1) < limits).all()
    assert (draws.summary().r_hat < 1.05).all()


def test_target_accept_is_honoured_and_learning_can_be_left_out():
    sampler = Metropolis(normal, target_accept=0.6)
    draws = sample(sampler, 2000, init=[0.0, 0.0], warmup=2000, random_state=0)
    assert draws.acceptance.mean() == pytest.approx(0.6, abs=0.06)
    fixed = Metropolis(normal, proposal=RandomWalk(0.7, [1.0, 4.0], adapt=False))
    draws = sample(fixed, 10, init=[0.0, 0.0], warmup=500, random_state=0)
    assert draws.state.proposal.scale == 0.7
    assert draws.state.proposal.covariance == [1.0, 4.0]


def test_tuned_proposal_can_be_used_again():
    first = sample(Metropolis(normal), 10, init=[0.0, 0.0], random_state=0)
    again = Metropolis(normal, proposal=first.state.proposal)
    draws = sample(again, 500, init=[0.0, 0.0], warmup=0, random_state=0)
    assert 0.1 < draws.acceptance.mean() < 0.5


def test_independence_proposal_corrects_for_its_shape():
    # target N(0, 1), proposals Student t: about 20 000 nearly free draws, so the sd
    # of the mean is 0.01 and that of the variance 0.013; limits are four of those
    sampler = Metropolis(normal, proposal=IndependenceProposal(StandardT()))
    draws = sample(sampler, 5000, init=[0.0], warmup=10, random_state=0)
    assert abs(draws.flat.mean()) < 0.04
    assert draws.flat.var() == pytest.approx(1.0, abs=0.055)
    assert draws.acceptance.mean() > 0.75


def test_hastings_term_of_a_function():
    # multiplicative walk on x > 0: q(x|y)/q(y|x) = y/x; the target is Gamma(3, 1)
    def walk(rng, x):
        y = x * np.exp(0.8 * rng.normal(size=1))
        return y, np.log(y / x).item()

    log_prob = lambda x: np.where(x > 0, 2 * np.log(np.abs(x)) - x, -np.inf)[..., 0]
    draws = sample(
        Metropolis(log_prob, proposal=walk), 4000, init=[1.0], random_state=0
    )
    table = draws.summary()
    assert abs(table.mean[0] - 3) < 4 * table.mcse[0]
    assert table.sd[0] == pytest.approx(np.sqrt(3), rel=0.1)


def test_errors_say_what_is_wrong():
    good = {"init": [0.0, 0.0], "random_state": 0}
    with pytest.raises(ParameterError, match="target_accept of Metropolis"):
        sample(Metropolis(normal, target_accept=1.5), 10, **good)
    with pytest.raises(ParameterError, match="log_prob of Metropolis"):
        sample(Metropolis(3), 10, **good)
    with pytest.raises(ValueError, match="scale of RandomWalk"):
        RandomWalk(scale=0.0)
    for bad in ([[1.0, 2.0], [2.0, 1.0]], [1.0, -1.0], np.ones((2, 3))):
        with pytest.raises(ValueError, match="positive definite"):
            sample(Metropolis(normal, proposal=RandomWalk(covariance=bad)), 10, **good)
    with pytest.raises(ValueError, match="is for 3 dimensions"):
        sample(
            Metropolis(normal, proposal=RandomWalk(covariance=np.eye(3))), 10, **good
        )
    with pytest.raises(ValueError, match="one number a chain"):
        sample(Metropolis(lambda x: x, batched=True), 10, **good)
    assert "Metropolis(log_prob=" in repr(Metropolis(normal, target_accept=0.3))

"""Gibbs sampling from full conditionals."""

import itertools
import warnings

import numpy as np
import pytest

from pansophy.sampling import ErgodicityWarning, Gibbs, mcse_mean, sample

RHO = 0.8
SD = np.sqrt(1 - RHO**2)


def given(j):
    """The other coordinate of a bivariate normal given coordinate j."""
    return lambda rng, x: rng.normal(RHO * x[..., j], SD)


@pytest.mark.parametrize("scan", ["systematic", "random", "palindromic"])
def test_bivariate_gaussian(scan):
    draws = sample(
        Gibbs([given(1), given(0)], scan=scan),
        3000,
        init=lambda rng, m: 3 * rng.normal(size=(m, 2)),
        random_state=0,
    )
    a, b = draws.positions[..., 0], draws.positions[..., 1]
    values = np.stack([a, b, a**2, b**2, a * b], axis=2)
    z = (values.mean(axis=(0, 1)) - [0, 0, 1, 1, RHO]) / mcse_mean(values)
    assert np.abs(z).max() < 4.5
    assert (draws.summary().r_hat < 1.02).all()


def test_lag_one_correlation_is_rho_squared():
    """x_t+1 given x_t goes through y: the chain of x is AR(1) of coefficient rho^2."""
    draws = sample(Gibbs([given(1), given(0)]), 8000, init=[0, 0], random_state=1)
    x = draws.positions[:, :, 0]
    lag = np.mean(x[:, 1:] * x[:, :-1]) / np.mean(x**2)
    assert abs(lag - RHO**2) < 0.03


def test_blocks_and_one_chain_at_a_time():
    """One block of all coordinates gives free draws; the two ways give the same."""
    C = np.linalg.cholesky(np.array([[1, RHO], [RHO, 1]]))
    joint = lambda rng, x: rng.normal(size=(len(x), 2)) @ C.T
    free = sample(
        Gibbs({(0, 1): joint}, batched=True), 2000, init=[5, 5], random_state=0
    )
    assert (free.summary().ess_bulk > 6000).all()
    numbers = lambda j: lambda rng, x: rng.normal(RHO * float(x[j]), SD)
    one = [numbers(1), numbers(0)]  # float() of a column fails: found to take a row
    draws = sample(Gibbs(one), 1000, init=[0.0, 0.0], warmup=50, random_state=0)
    assert abs(np.corrcoef(draws.flat.T)[0, 1] - RHO) < 0.05
    assert not Gibbs(one).init(np.zeros((3, 2))).batched


def test_density_is_reported_and_discrete_positions_work():
    log_prob = lambda x: -0.5 * (x**2).sum(axis=-1)
    free = lambda rng, x: rng.normal(size=x.shape[:-1])
    draws = sample(Gibbs([free, free], log_prob=log_prob), 50, init=[0.0, 0.0])
    np.testing.assert_allclose(draws.log_prob, log_prob(draws.positions))
    p = np.array([[0.4, 0.1], [0.2, 0.3]])  # p(a, b)
    coin = lambda table: (
        lambda rng, x, j: rng.random(len(x)) < table[x[:, j].astype(int)]
    )
    b = lambda rng, x: coin(p[:, 1] / p.sum(axis=1))(rng, x, 0)
    a = lambda rng, x: coin(p[1] / p.sum(axis=0))(rng, x, 1)
    draws = sample(Gibbs([a, b]), 5000, init=[0, 0], random_state=0)
    cells = draws.flat @ [2, 1]
    share = np.bincount(cells.astype(int), minlength=4) / len(cells)
    np.testing.assert_allclose(share, p.ravel(), atol=0.02)


def test_deterministic_conditionals_warn():
    """a = b always: the chain cannot leave, though half of the mass is elsewhere."""
    same = lambda j: lambda rng, x: x[:, j].copy()
    with pytest.warns(ErgodicityWarning, match=r"coordinates \[0, 1\] never moved"):
        sample(Gibbs([same(1), same(0)]), 20, init=[1.0, 1.0], warmup=20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sample(Gibbs([given(1), given(0)]), 20, init=[1.0, 1.0], warmup=20)


def test_gibbs_refuses():
    with pytest.raises(ValueError, match=r"coordinates \[1\] have no conditional"):
        sample(Gibbs([given(1)]), 5, init=[0.0, 0.0])
    with pytest.raises(ValueError, match="does not fit into 2"):
        sample(Gibbs({5: given(0)}), 5, init=[0.0, 0.0])
    wrong = lambda rng, x: np.zeros(7)
    with pytest.raises(ValueError, match="must give shape"):
        sample(Gibbs([wrong, wrong], batched=True), 5, init=[0.0, 0.0])


@pytest.mark.parametrize("scan", ["systematic", "random", "palindromic"])
def test_the_order_of_a_scan(scan):
    """A random scan visits every block once a sweep, in an order of its own.

    60 sweeps of three blocks lack one of the six orders with probability 6 (5/6)^60,
    1e-4, over seeds; the seed is fixed.
    """
    visited = []

    def conditional(j):
        def draw(rng, x):
            visited.append(j)
            return rng.normal(size=x.shape[:-1])

        return draw

    sampler = Gibbs([conditional(j) for j in range(3)], scan=scan, batched=True)
    state = sampler.init(np.zeros((1, 3)))
    rng = np.random.default_rng(0)
    visited.clear()
    sampler.steps(rng, state, 60)
    length = 5 if scan == "palindromic" else 3
    orders = [tuple(visited[i : i + length]) for i in range(0, len(visited), length)]
    assert len(orders) == 60
    expected = {
        "systematic": {(0, 1, 2)},
        "palindromic": {(0, 1, 2, 1, 0)},
        "random": set(itertools.permutations(range(3))),
    }
    assert set(orders) == expected[scan]

"""HMC and NUTS: paths, the recursion, known moments, warm-up, divergences, inputs."""

from types import SimpleNamespace

import numpy as np
import pytest
from numba import njit
from scipy import stats

from pansophy.base import InterruptedFitWarning
from pansophy.core.loops import threads
from pansophy.sampling import (
    HMC,
    NUTS,
    as_target_density,
    banana_density,
    bfmi,
    eight_schools_density,
    funnel_density,
    linear_density,
    logistic_density,
    mcse_mean,
    normal_density,
    r_hat,
    sample,
)
from pansophy.sampling.chains import driver
from tests.oracles import nuts as oracle

SIGMA = np.array([[1.0, 0.8, 0.0], [0.8, 1.5, 0.3], [0.0, 0.3, 0.5]])


def within(x, want, sigmas=4.5):
    """Whether the mean of draws (m, n, k) is `want` within its standard error."""
    z = (x.mean(axis=(0, 1)) - want) / mcse_mean(x)
    assert np.abs(z).max() < sigmas, z


@pytest.mark.parametrize("name", ["schools", "funnel", "normal"])
def test_steps_are_those_of_the_recursion(name):
    density, eps, depth = {
        "schools": (eight_schools_density(), 0.35, 10),
        "funnel": (funnel_density(4), 1.0, 5),
        "normal": (normal_density(np.zeros(3), SIGMA), 0.1, 10),
    }[name]
    d = density.dim
    metric = np.linspace(0.5, 1.5, d)
    sampler = NUTS(density, step_size=eps, metric=metric, max_depth=depth)
    x = np.random.default_rng(0).normal(size=(2, d))
    x[:, 0] -= 6 * (name == "funnel")
    state = sampler.init(x)
    n = 25
    seeds = np.random.default_rng(1).integers(2**64, size=(n, 2), dtype=np.uint64)
    _, trace = sampler.steps(np.random.default_rng(1), state, n)
    f = density.as_target().value_and_grad
    for i in range(n):
        for c in range(2):
            y, told = oracle.transition(f, x[c], seeds[i, c], eps, metric, depth)
            np.testing.assert_allclose(trace["position"][c, i], y, rtol=1e-7, atol=1e-9)
            assert trace["n_steps"][c, i] == told["steps"]
            assert trace["divergent"][c, i] == told["divergent"]
            rate = told["accept"] / told["steps"]
            np.testing.assert_allclose(trace["acceptance"][c, i], rate, atol=1e-6)
        x = trace["position"][:, i]
    assert trace["divergent"].any() == (name == "funnel")


@pytest.mark.parametrize("metric", ["unit", "diag", "dense"])
def test_normal(metric):
    density = normal_density([1.0, 2.0, 3.0], SIGMA)
    draws = sample(NUTS(density, metric=metric), 2000, init=np.zeros(3), random_state=2)
    assert (r_hat(draws.positions) < 1.01).all()
    e = draws.positions - [1.0, 2.0, 3.0]
    products = (e[..., :, None] * e[..., None, :]).reshape(4, 2000, 9)
    within(np.concatenate([e, products], axis=2), [0, 0, 0, *SIGMA.ravel()])
    assert not draws.info["divergent"].any()
    assert abs(draws.acceptance.mean() - 0.85) < 0.1
    np.testing.assert_allclose(
        draws.log_prob.ravel(), density(draws.flat), rtol=1e-9, atol=1e-12
    )
    if metric == "dense":
        np.testing.assert_allclose(draws.state.inverse, SIGMA, atol=0.25)
    assert (np.abs(bfmi(draws.info["energy"]) - 1) < 0.4).all()


def test_banana_and_funnel():
    draws = sample(
        NUTS(banana_density(3.0, 0.1), target_accept=0.95),
        4000,
        init=[0.0, 0.0],
        random_state=0,
    )
    x = draws.positions
    assert (r_hat(x) < 1.01).all()
    within(np.concatenate([x, x**2], axis=2), [0, 0, 9, 1 + 0.1**2 * 2 * 81])
    # the funnel whose neck can be reached
    draws = sample(
        NUTS(funnel_density(5, 1.0), target_accept=0.95),
        4000,
        init=np.zeros(5),
        random_state=0,
    )
    x = draws.positions
    assert (r_hat(x) < 1.01).all()
    within(np.concatenate([x[..., :1], x[..., :1] ** 2, x[..., 1:]], axis=2),
           [0, 1, 0, 0, 0, 0])  # fmt: skip


def test_eight_schools():
    """Reference means: mu 4.4, tau 3.6 (with standard errors below 0.05)."""
    draws = sample(
        NUTS(eight_schools_density(), target_accept=0.9),
        4000,
        init=lambda rng, m: rng.normal(size=(m, 10)),
        random_state=0,
    )
    x = draws.positions
    assert (r_hat(x) < 1.01).all()
    mu, tau = x[..., 0], np.exp(x[..., 1])
    error = np.sqrt([mcse_mean(mu) ** 2 + 0.05**2, mcse_mean(tau) ** 2 + 0.05**2])
    z = (np.array([mu.mean(), tau.mean()]) - [4.4, 3.6]) / error
    assert np.abs(z).max() < 4


def test_regressions_agree_with_their_modes(rng):
    X = rng.normal(size=(500, 3))
    b = np.array([1.0, -1.0, 0.5])
    y = rng.random(500) < 1 / (1 + np.exp(-X @ b))
    density = logistic_density(X, y, scale=10.0)
    z = np.where(y, 1, -1)[:, None] * X
    want = -np.logaddexp(0, -z @ b).sum() - b @ b / 200
    np.testing.assert_allclose(density(b), want, rtol=1e-12)
    mean = sample(NUTS(density), 500, init=np.zeros(3), random_state=0).summary().mean
    assert np.abs(mean - b).max() < 0.4
    y = X @ b + 0.5 * rng.normal(size=500)
    draws = sample(
        HMC(linear_density(X, y)), 1000, init=np.zeros(4), warmup=500, random_state=0
    )
    ols = np.linalg.lstsq(X, y, rcond=None)[0]
    assert np.abs(draws.summary().mean[:3] - ols).max() < 0.01
    assert abs(np.exp(draws.summary().mean[3]) - 0.5) < 0.05


def test_divergences_are_told():
    with pytest.warns(RuntimeWarning, match="divergence"):
        draws = sample(
            NUTS(funnel_density(10)), 1000, init=np.zeros(10), random_state=0
        )
    assert draws.info["divergent"].any() and draws.info["divergent"].shape == (4, 1000)
    v = draws.positions[..., 0]
    assert v[draws.info["divergent"]].mean() < v.mean()  # they are in the neck


MEAN = np.array([0.5, -0.5])


@njit
def compiled(x, mean):
    a, b = x[0] - mean[0], x[1] - mean[1]
    return -0.25 * (a**4 + b**4) - 0.5 * a * b


@njit
def compiled_grad(x, mean):
    a, b = x[0] - mean[0], x[1] - mean[1]
    g = np.empty(2)
    g[0], g[1] = -(a**3) - 0.5 * b, -(b**3) - 0.5 * a
    return g


few = pytest.mark.filterwarnings("ignore:.*divergence")  # a warm-up of few steps


@few
def test_numpy_torch_and_numba_densities_give_one_chain():
    torch = pytest.importorskip("torch")

    def plain(x):
        e = x - MEAN
        return -0.25 * np.sum(e**4, axis=-1) - 0.5 * e[..., 0] * e[..., 1]

    def slope(x):
        e = x - MEAN
        return -(e**3) - 0.5 * e[..., ::-1]

    def tensor(x):
        e = x - torch.as_tensor(MEAN)
        return -0.25 * (e**4).sum(-1) - 0.5 * e[..., 0] * e[..., 1]

    forms = {
        "numpy": NUTS(plain, grad=slope),
        "numpy, both": NUTS(lambda x: (plain(x), slope(x)), grad=True),
        "numpy, one at a time": NUTS(plain, grad=slope, batched=False),
        "torch": NUTS(tensor),
        "torch, one at a time": NUTS(lambda x: tensor(x).reshape(())),
        "numba": NUTS(as_target_density(compiled, compiled_grad, data=(MEAN,))),
    }
    runs = {
        name: sample(s, 15, init=np.zeros((3, 2)), warmup=30, random_state=0)
        for name, s in forms.items()
    }
    first = runs.pop("numpy")
    for name, draws in runs.items():
        np.testing.assert_allclose(
            draws.positions, first.positions, rtol=1e-6, atol=1e-6, err_msg=name
        )


@few
def test_same_draws_for_any_number_of_threads():
    run = lambda: sample(
        NUTS(eight_schools_density()), 50, init=np.zeros(10), warmup=60, random_state=0
    )
    with threads.limit_threads(1):
        one = run()
    np.testing.assert_array_equal(one.positions, run().positions)


@few
def test_pieces_of_a_run_do_not_matter():
    start = {"init": np.zeros(10), "warmup": 120, "random_state": 0}
    quiet = sample(NUTS(eight_schools_density()), 40, **start)
    shown = sample(
        NUTS(eight_schools_density()), 40, progress=True, **start
    )  # 100 pieces
    np.testing.assert_array_equal(quiet.positions, shown.positions)


def test_interruption_loses_nothing_and_goes_on_as_if_it_had_not_been():
    class Stopped:
        left = 700

        def __call__(self, x):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
            return -0.5 * (x**2).sum(axis=1), -x

    start = {"init": np.zeros((2, 2)), "warmup": 30, "random_state": 0}
    with pytest.warns(InterruptedFitWarning):
        draws = sample(NUTS(Stopped(), grad=True), 200, **start)
    left = 200 - draws.positions.shape[1]
    assert 0 < left < 200
    endless = Stopped()
    endless.left = -1
    whole = sample(NUTS(endless, grad=True), 200, **start)
    np.testing.assert_array_equal(sample(draws, left).positions, whole.positions)


def test_calls_and_draws_do_not_depend_on_the_clock(monkeypatch):
    """A product of matrices rounds a row by how many there are; time may not matter."""
    d = 20
    A = np.random.default_rng(0).normal(size=(d, d))
    P = A @ A.T / d + np.eye(d)

    def run(warmup=60, **how):
        calls = []

        def f(x):
            calls.append(len(x))
            g = -(x @ P)
            return 0.5 * (x * g).sum(axis=-1), g

        draws = sample(
            NUTS(f, grad=True), 60, init=np.zeros(d), warmup=warmup, random_state=3,
            **how,
        )  # fmt: skip
        return draws.positions, calls

    x, calls = run()
    clock = np.random.default_rng(1)
    odd = SimpleNamespace(perf_counter=lambda: clock.exponential())
    monkeypatch.setattr(driver, "time", odd)
    again, as_often = run()
    np.testing.assert_array_equal(again, x)
    assert as_often == calls
    np.testing.assert_array_equal(run(progress=True)[0], x)  # in 100 pieces


def test_errors_say_what_is_wrong():
    normal = lambda x: -0.5 * (x**2).sum(axis=-1)
    for sampler, init, words in (
        (NUTS(lambda x: np.nan * x[:, 0], grad=lambda x: x), [0.0], "nan at the start"),
        (NUTS(normal, grad=lambda x: x * np.nan), [0.0], "gradient is not finite"),
        (NUTS(normal, grad=lambda x: x[..., :1]), [0.0, 1.0], "grad must give shape"),
        (NUTS(eight_schools_density()), [0.0], "1 coordinates, the density 10"),
        (NUTS(3), [0.0], "log_prob of NUTS must be a function"),
        (NUTS(normal, grad=3), [0.0], "grad of NUTS"),
        (NUTS(normal, grad=normal, metric="full"), [0.0], "metric of NUTS"),
        (
            NUTS(eight_schools_density(), metric=np.ones(3)),
            np.zeros(10),
            "metric must have",
        ),
        (NUTS(funnel_density(2), metric=-np.ones(2)), [0.0, 0.0], "positive definite"),
        (NUTS(lambda x: np.log(np.asarray(x)[:, 0])), [1.0], "needs the gradient"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            sample(sampler, 10, init=init, random_state=0)


def test_random_numbers_of_the_loops():
    """Kolmogorov's distance of normals (tails too) and uniforms, at level 1e-4."""
    stream = np.array([7], dtype=np.uint64)
    z = np.array([oracle.draw(stream, True) for _ in range(40_000)])
    u = np.array([oracle.draw(stream, False) for _ in range(10_000)])
    assert stats.kstest(z, "norm").pvalue > 1e-4
    assert stats.kstest(u, "uniform").pvalue > 1e-4
    assert (
        stats.binomtest(int((np.abs(z) > 3.0).sum()), len(z), 0.0026998).pvalue > 1e-4
    )
    assert abs(np.corrcoef(z[:-1], z[1:])[0, 1]) < 0.02


def test_a_few_steps_of_warm_up_are_safe():
    normal = lambda x: (-0.5 * (x**2).sum(axis=1), -x)
    for warmup in (0, 1, 5, 30):
        draws = sample(
            NUTS(normal, grad=True), 50, init=[0.0, 0.0], warmup=warmup, random_state=0
        )  # warnings of divergence are errors here
        assert 0.5 < draws.positions.var() < 2

"""Linear systems: worked numbers, both modes, SciPy, stability; simulators and AR."""

import numpy as np
import pytest
import scipy.signal
from hypothesis import given, settings
from hypothesis import strategies as st

import pansophy
from pansophy import plot
from pansophy.state_space import (
    AutoRegressive,
    DynamicSystem,
    StateSpace,
    companion_system,
    discretize,
    mass_spring_damper,
    poles,
)

SPRING = mass_spring_damper(m=1, c=3, k=2)


def test_worked_spring():
    np.testing.assert_allclose(SPRING.A, [[0, 1], [-2, -3]])
    np.testing.assert_allclose(poles(SPRING.A), [-1, -2])
    ways = {
        "euler": ([[1, 0.1], [-0.2, 0.7]], [0, 0.1]),
        "bilinear": (
            [[0.991342, 0.086580], [-0.173160, 0.731602]],
            [0.004329, 0.086580],
        ),
        "zoh": ([[0.990944, 0.086107], [-0.172213, 0.732624]], [0.004528, 0.086107]),
    }
    for way, (A, B) in ways.items():
        found = discretize(SPRING.A, SPRING.B, 0.1, way)
        np.testing.assert_allclose(found[0], A, atol=5e-7)
        np.testing.assert_allclose(found[1][:, 0], B, atol=5e-7)
        whole = discretize(SPRING, 0.1, way)
        assert whole.dt == discretize(SPRING, dt=0.1).dt == 0.1
        np.testing.assert_array_equal(whole.A, found[0])
    for wrong in [(SPRING,), (SPRING, SPRING.B, 0.1), (SPRING.A, SPRING.B, "zoh")]:
        with pytest.raises(ValueError, match=r"^(dt must be|B is that of the system)"):
            discretize(*wrong)
    np.testing.assert_array_equal(poles(SPRING), poles(SPRING.A))
    steps = SPRING.discretized(0.1, "bilinear")
    kernel = [0.004329, 0.011788, 0.017105, 0.020745, 0.023080]
    np.testing.assert_allclose(steps.kernel(5)[:, 0, 0], kernel, atol=5e-7)
    y = [0.004329, 0.020446, 0.040680, 0.050625, 0.065769]
    for way in ("recurrence", "convolution"):
        found = steps.simulate([1, 2, 0, -1, 3], method=way)
        np.testing.assert_allclose(found[:, 0], y, atol=5e-7)


def test_stability():
    swinging = mass_spring_damper(c=0.4, k=1)
    found = swinging.stability()
    np.testing.assert_allclose(found.poles, [-0.2 + 0.979796j, -0.2 - 0.979796j], 1e-6)
    assert found and SPRING.stability()
    assert mass_spring_damper(c=0, k=4).stability().verdict == "marginal"
    assert mass_spring_damper(c=-1, k=4).stability().verdict == "unstable"
    free = StateSpace([[0, 1], [0, 0]], [0, 1])  # a mass without a spring drifts off
    assert free.stability().verdict == "unstable"
    assert StateSpace(np.eye(2), [1, 1], dt=1).stability().verdict == "marginal"
    stiff = mass_spring_damper(c=50, k=2)
    assert stiff.discretized(0.1, "bilinear").stability()
    assert not stiff.discretized(0.1, "euler").stability()


def test_static_gain_and_responses():
    np.testing.assert_allclose(mass_spring_damper(2, 1, 5).static_gain(), [[1 / 5]])
    t = 0.05 * np.arange(400)
    step = SPRING.step_response(400, dt=0.05)[:, 0, 0]
    exact = 0.5 - np.exp(-(t + 0.05)) + 0.5 * np.exp(-2 * (t + 0.05))
    np.testing.assert_allclose(step, exact, atol=1e-12)
    impulse = SPRING.impulse_response(400, dt=0.05)[:, 0, 0]
    np.testing.assert_allclose(impulse, np.exp(-t) - np.exp(-2 * t), atol=1e-12)
    with pytest.raises(ValueError, match="grows without end"):
        StateSpace([[0.0]], [1.0]).static_gain()


def test_energy_of_a_spring_left_alone_never_rises():
    _, X = SPRING.simulate(np.zeros(200), [1.0, -2.0], dt=0.05, states=True)
    energy = X[:, 1] ** 2 / 2 + 2 * X[:, 0] ** 2 / 2
    assert (np.diff(energy) <= 1e-12).all()


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_recurrence_convolution_and_scipy_agree(seed, k, p, q):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(k, k))
    A *= 0.95 / max(np.abs(np.linalg.eigvals(A)).max(), 1e-3)
    B, C, D = rng.normal(size=(k, p)), rng.normal(size=(q, k)), rng.normal(size=(q, p))
    u, x0 = rng.normal(size=(40, p)), rng.normal(size=k)
    system = StateSpace(A, B, C=C, D=D, dt=1.0)
    a, Xa = system.simulate(u, x0, states=True)
    b, Xb = system.simulate(u, x0, method="convolution", states=True)
    np.testing.assert_allclose(a, b, atol=1e-8)
    np.testing.assert_allclose(Xa, Xb, atol=1e-8)
    # SciPy's x_t+1 = A x_t + B u_t shows C x_t+1 if C and D are moved on by a step
    peer = (A, B, C @ A, C @ B + D, 1.0)
    np.testing.assert_allclose(scipy.signal.dlsim(peer, u, x0=x0)[1], a, atol=1e-8)


def test_companion_has_the_roots_as_poles():
    a = [2.0, -1.0, 3.0, 0.5]
    found = np.sort_complex(companion_system(a).poles())
    np.testing.assert_allclose(found, np.sort_complex(np.roots([1, *a])), atol=1e-9)


def test_bad_systems():
    with pytest.raises(ValueError, match=r"A must have shape \(2, 2\)"):
        StateSpace([[1, 2, 3], [4, 5, 6]], [1, 1])
    with pytest.raises(ValueError, match="B must have shape"):
        StateSpace(np.eye(2), [1, 1, 1])
    with pytest.raises(ValueError, match="dt, the length"):
        SPRING.simulate([1, 2])
    with pytest.raises(ValueError, match="discrete"):
        SPRING.kernel(3)
    with pytest.raises(ValueError, match="u must have shape"):
        SPRING.discretized(0.1).simulate(np.ones((3, 2)))
    with pytest.raises(ValueError, match="method"):
        discretize(np.eye(2), [1, 1], 0.1, "runge")


def test_poles_are_drawn():
    ax = plot.poles(SPRING)
    np.testing.assert_allclose(sorted(ax.lines[-1].get_xdata()), [-2, -1])
    assert plot.poles(SPRING.discretized(0.1)).get_title() == "stable"


def test_simulator_without_noise_is_sure_and_with_it_has_the_moments():
    A, Q = np.array([[0.9, 0.2], [0.0, 0.7]]), np.array([0.3, 0.5])
    linear = lambda x, w: x @ A.T + w
    noise = lambda rng, m: Q * rng.normal(size=(m, 2))
    system = DynamicSystem(linear, noise=noise, observe=lambda x: x[:, :1])
    found = system.simulate(12, [1.0, 2.0], paths=20_000, random_state=0)
    mean, cov = np.array([1.0, 2.0]), np.zeros((2, 2))
    for _ in range(12):
        mean, cov = A @ mean, A @ cov @ A.T + np.diag(Q**2)
    last = found.states[:, -1]
    np.testing.assert_allclose(last.mean(axis=0), mean, atol=0.03)
    np.testing.assert_allclose(np.cov(last.T), cov, rtol=0.05, atol=0.02)
    np.testing.assert_array_equal(found.observations[:, :, 0], found.states[:, :, 0])
    sure = DynamicSystem(lambda x: x @ A.T)
    a, b = (sure.simulate(5, [1.0, 2.0], random_state=s).states for s in (0, 1))
    np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match="transition must give"):
        DynamicSystem(lambda x: x[:, :1]).simulate(2, [1.0, 2.0])


def test_autoregression_is_least_squares_on_lags():
    rng = np.random.default_rng(0)
    x = np.cumsum(rng.normal(size=300)) * 0.1
    model = AutoRegressive(3).fit(x)
    lags = np.column_stack([np.ones(297), x[2:-1], x[1:-2], x[:-3]])
    b = np.linalg.lstsq(lags, x[3:])[0]
    np.testing.assert_allclose(model.intercept_, b[:1])
    np.testing.assert_allclose(model.coef_[:, 0, 0], b[1:])
    np.testing.assert_allclose(model.predict(x)[3:, 0], lags @ b)
    past, mean = list(x), []
    for _ in range(5):
        mean.append(b[0] + b[1:] @ past[-1:-4:-1])
        past.append(mean[-1])
    np.testing.assert_allclose(model.forecast(5).mean[:, 0], mean)


def test_vector_autoregression_as_statsmodels():
    var = pytest.importorskip("statsmodels.tsa.api").VAR
    rng = np.random.default_rng(1)
    X = np.zeros((400, 2))
    A = np.array([[0.5, 0.2], [-0.3, 0.4]])
    for t in range(1, 400):
        X[t] = A @ X[t - 1] + rng.normal(size=2)
    peer = var(X).fit(2, trend="c")
    model = AutoRegressive(2).fit(X)
    np.testing.assert_allclose(model.coef_, peer.coefs)
    np.testing.assert_allclose(model.covariance_, peer.sigma_u_mle)
    ahead = model.forecast(4)
    np.testing.assert_allclose(ahead.mean, peer.forecast(X[-2:], 4))
    scale = peer.sigma_u_mle[0, 0] / peer.sigma_u[0, 0]
    np.testing.assert_allclose(ahead.cov, peer.mse(4) * scale)
    low, high = ahead.interval(0.9)
    assert (low < ahead.mean).all() and (high > ahead.mean).all() and model.is_stable


def test_several_series_and_gaps(tmp_path):
    rng = np.random.default_rng(2)
    parts = [rng.normal(size=(n, 2)) for n in (30, 4, 50)]
    parts[2][10, 1] = np.nan
    model = AutoRegressive(2).fit(parts)
    assert model.n_rows_ == 28 + 2 + 48 - 3
    pansophy.save(model, tmp_path / "ar.pansophy")
    again = pansophy.load(tmp_path / "ar.pansophy")
    np.testing.assert_array_equal(again.forecast(3).mean, model.forecast(3).mean)
    np.testing.assert_array_equal(
        model.sample(4, random_state=0), again.sample(4, random_state=0)
    )
    with pytest.raises(ValueError, match="order is too high"):
        AutoRegressive(5).fit([1.0, 2.0, 3.0])

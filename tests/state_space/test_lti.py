"""Linear systems: worked numbers, both modes, SciPy, stability; simulators and AR."""

import numpy as np
import pytest
import scipy.signal
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy import plot
from pansophy.state_space import (
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

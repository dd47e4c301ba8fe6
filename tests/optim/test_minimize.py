"""`minimize`: choice of method, gradients, callbacks and restarts."""

import numpy as np
import pytest

from pansophy import optim, penalties
from pansophy.core.drivers.iterate import Result

H = np.array([[3.0, 1.0], [1.0, 2.0]])


BEST = np.array([1.0, -0.5])


def f(x):
    return float((x - BEST) @ H @ (x - BEST)) / 2


def slope(x):
    return H @ (x - BEST)


def test_auto_picks_by_what_is_given():
    from pansophy.optim.method_table import MinimizeProblem, default_method

    p = MinimizeProblem(f, f, np.zeros(2))
    none = penalties.l1(1.0)
    cases = [
        ({}, "bfgs"),
        ({"x": np.zeros(500)}, "lbfgs"),
        ({"bounds": [(0, 1)] * 2}, "lbfgs"),
        ({"hessian": lambda x: H}, "newton"),
        ({"product": lambda x: H.__matmul__}, "newton_cg"),
        ({"penalty": none}, "proximal"),
        ({"constraints": (optim.equality_constraint(f),)}, "constrained"),
        ({"x": None, "bounds": [(0, 1)] * 2}, "multi_start"),
    ]
    for given, name in cases:
        assert default_method(p._replace(**given)) == name


@pytest.mark.parametrize("gradient", [slope, None, "numeric"])
def test_ways_to_give_a_gradient(gradient):
    run = optim.minimize(f, np.zeros(2), gradient=gradient)
    assert isinstance(run, Result) and run.reason == "tolerance"
    np.testing.assert_allclose(run.state.position, BEST, atol=1e-6)
    pair = optim.minimize(lambda x: (f(x), slope(x)), [0.0, 0.0], "gradient")
    np.testing.assert_allclose(pair.state.position, BEST, atol=1e-6)


def test_gradient_by_autograd():
    torch = pytest.importorskip("torch")
    g = lambda x: ((x - 1) ** 2).sum()
    run = optim.minimize(g, np.zeros(2), gradient="autodiff")
    np.testing.assert_allclose(run.state.position, [1, 1], atol=1e-6)
    run = optim.minimize(g, torch.zeros(3, dtype=torch.float64))
    assert isinstance(run.state.position, torch.Tensor)
    np.testing.assert_allclose(run.state.position, np.ones(3), atol=1e-6)
    run = optim.minimize(g, torch.zeros(3, dtype=torch.float64), bounds=(None, 0.5))
    np.testing.assert_allclose(run.state.position, np.full(3, 0.5), atol=1e-6)
    with pytest.raises(ValueError, match="tensor"):
        optim.minimize(g, torch.zeros(3), "bfgs")


def test_trajectory_callback_and_reason():
    run = optim.minimize(f, np.zeros(2), "gradient", gradient=slope, trajectory=True)
    path = run.history["position"]
    assert path.shape == (run.n_iter + 1, 2) and run.reason == "tolerance"
    np.testing.assert_array_equal(path[0], [0, 0])
    np.testing.assert_array_equal(path[-1], run.state.position)
    np.testing.assert_allclose([f(x) for x in path[1:]], run.history["objective"])
    seen = []
    stop = lambda s: len(seen) == 2 or seen.append(s.objective)
    run = optim.minimize(f, np.zeros(2), "gradient", gradient=slope, callback=stop)
    assert run.reason == "callback" and run.n_iter == 3
    for method in ("lbfgs", "constrained", "particle_swarm"):
        box = {} if method == "constrained" else {"bounds": (-5, 5)}
        how = {"callback": lambda s: True, **box}
        assert optim.minimize(f, np.zeros(2), method, **how).reason == "callback"
    short = optim.minimize(f, np.zeros(2), "gradient", gradient=slope, max_iter=1)
    assert short.reason == "max_iter" and not short.converged
    away = lambda x: (float(-(x @ x)), -2 * x)
    with np.errstate(over="ignore", invalid="ignore"):
        far = optim.minimize(
            away, np.ones(2), "gradient", rule=optim.constant_step(1e90)
        )
    assert far.reason == "diverged" and np.isfinite(far.objective)


def test_interrupt_keeps_the_last_point():
    calls = []

    def g(x):
        calls.append(1)
        if len(calls) > 6:
            raise KeyboardInterrupt
        return f(x), slope(x)

    for method in ("gradient", "bfgs", "conjugate"):
        calls.clear()
        run = optim.minimize(g, np.array([9.0, 9.0]), method, tol=0.0)
        assert run.interrupted and run.objective <= f(np.array([9.0, 9.0]))


def test_any_shape():
    A = np.arange(6.0).reshape(2, 3)
    g = lambda X: (float(np.sum((X - A) ** 2)), 2 * (X - A))
    run = optim.minimize(g, np.zeros((2, 3)))
    np.testing.assert_allclose(run.state.position, A, atol=1e-6)
    scalar = optim.minimize(lambda x: (x - 2) ** 2, 0.0)
    assert float(scalar.state.position) == pytest.approx(2, abs=1e-6)


def test_newton_gives_way_where_f_is_not_convex():
    valley = lambda x: (x[0] ** 4 / 4 - x[0] ** 2 / 2, np.array([x[0] ** 3 - x[0]]))
    bend = lambda x: np.array([[3 * x[0] ** 2 - 1]])
    run = optim.minimize(valley, [0.1], hessian=bend)
    assert abs(run.state.position[0]) == pytest.approx(1, abs=1e-5)


def test_refusals():
    start = np.zeros(2)
    with pytest.raises(ValueError, match="method must be"):
        optim.minimize(f, start, "magic")
    with pytest.raises(ValueError, match="needs hessian"):
        optim.minimize(f, start, "newton")
    with pytest.raises(ValueError, match="cannot honour bounds"):
        optim.minimize(f, start, "bfgs", bounds=(0, 1))
    with pytest.raises(ValueError, match="cannot honour penalty"):
        optim.minimize(f, start, "lbfgs", penalty=penalties.l1(1.0))
    with pytest.raises(ValueError, match="start x"):
        optim.minimize(f)
    with pytest.raises(ValueError, match="low above high"):
        optim.minimize(f, start, bounds=(1, 0))
    with pytest.raises(ValueError, match="gradient must be"):
        optim.minimize(f, start, gradient="symbolic")


def test_multi_start_finds_the_lower_valley():
    two = lambda x: float(np.sum(x**4 - 8 * x**2 + x))
    single = optim.minimize(two, np.array([3.0]))
    run = optim.minimize(two, bounds=[(-4, 4)], random_state=0)
    assert run.objective < single.objective - 1
    assert run.objective == pytest.approx(run.history["optima"].min())
    assert len(run.history["optima"]) == 10

"""Every able solver reaches the same optimum, and the worked traces of each."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy import losses, optim, penalties
from pansophy.core.drivers.iterate import Result


def ridge_problem(rng, n=40, d=6):
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    H = X.T @ X / n + 0.1 * np.eye(d)
    f = lambda w: (
        float((y - X @ w) @ (y - X @ w)) / (2 * n) + 0.05 * float(w @ w),
        -X.T @ (y - X @ w) / n + 0.1 * w,
    )
    return f, H, np.linalg.solve(H, X.T @ y / n)


def logistic_problem(rng, n=60, d=5):
    X, t = rng.normal(size=(n, d)), rng.integers(0, 2, size=n).astype(float)

    def f(w):
        a = X @ w
        value = losses.logistic.value(t, a).mean() + 0.05 * float(w @ w)
        return value, X.T @ losses.logistic.gradient(t, a) / n + 0.1 * w

    def hessian(w):
        h = losses.logistic.curvature(t, X @ w)
        return (X * h[:, None]).T @ X / n + 0.1 * np.eye(d)

    return f, hessian


none = penalties.l2(0.0)
SMOOTH = {
    "constant": lambda f, H, x: optim.gradient_descent(
        f, x, optim.constant_step(0.2), max_iter=5000, tol=1e-9
    ),
    "backtracking": lambda f, H, x: optim.gradient_descent(f, x, tol=1e-9),
    "bold_driver": lambda f, H, x: optim.gradient_descent(
        f, x, optim.bold_driver(), max_iter=5000, tol=1e-9
    ),
    "exact": lambda f, H, x: optim.gradient_descent(
        f, x, optim.exact_line_search(), tol=5e-7
    ),
    "wolfe": lambda f, H, x: optim.gradient_descent(
        f, x, optim.wolfe_search(), tol=1e-9
    ),
    "bfgs": lambda f, H, x: optim.bfgs(f, x, tol=1e-9),
    "conjugate_hz": lambda f, H, x: optim.conjugate_gradient(f, x, tol=1e-9),
    "conjugate_pr": lambda f, H, x: optim.conjugate_gradient(f, x, beta="pr", tol=1e-9),
    "block": lambda f, H, x: optim.block_descent(f, x, tol=1e-8),
    "newton": lambda f, H, x: optim.newton(f, H, x),
    "newton_keeping": lambda f, H, x: optim.newton(f, H, x, keep=0.9),
    "newton_cg": lambda f, H, x: optim.newton_cg(f, lambda w: H(w).__matmul__, x),
    "lbfgs": lambda f, H, x: optim.lbfgs(f, x, tol=1e-9),
    "proximal": lambda f, H, x: optim.proximal_gradient(f, none, x, accelerate=False),
    "fista": lambda f, H, x: optim.fista(f, none, x),
    "projected": lambda f, H, x: optim.projected_gradient(f, penalties.box(), x),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_optimum(name, rng):
    f, H, best = ridge_problem(rng)
    start = rng.normal(size=len(best))
    run = SMOOTH[name](f, lambda w: H, start)
    assert isinstance(run, Result) and run.converged
    np.testing.assert_allclose(run.state.position, best, atol=1e-6)
    f, hessian = logistic_problem(rng)
    run = SMOOTH[name](f, hessian, np.zeros(5))
    assert np.abs(f(run.state.position)[1]).max() < 1e-6
    assert len(run.history["objective"]) == run.n_iter


@pytest.mark.parametrize("name", optim.METHODS)
def test_front_door_reaches_the_same_optimum(name, rng):
    """Every method of the table, on the same bowl; within bounds where it can."""
    f, H, best = ridge_problem(rng, d=3)
    method = optim.METHODS[name]
    rough = {"random_search": 0.5, "subgradient": 0.01, "simulated_annealing": 1e-4}
    rough = rough.get(name, 1e-5)
    how = {"hessian": lambda w: H} if "newton" in name else {}
    limit = {"subgradient": 3000, "random_search": 3000, "projected": 2000}
    how |= {"max_iter": limit[name]} if name in limit else {}
    if "bounds" in method.takes:
        run = optim.minimize(f, bounds=[(-2, 2)] * 3, x=np.ones(3), method=name,
                             random_state=0, **how)  # fmt: skip
    else:
        run = optim.minimize(f, np.ones(3), name, **how)
    assert isinstance(run, Result) and run.reason in ("tolerance", "max_iter")
    np.testing.assert_allclose(run.state.position, best, atol=rough)
    if "bounds" in method.takes and "x" in method.needs:
        tight = optim.minimize(f, np.full(3, 0.01), name, bounds=(0.0, 0.05), **how)
        oracle = optim.lbfgs(f, np.full(3, 0.01), bounds=[(0.0, 0.05)] * 3, tol=1e-10)
        np.testing.assert_allclose(
            tight.state.position, oracle.state.position, atol=rough
        )


@pytest.mark.parametrize("penalty", [p for p in penalties.PENALTIES if p.kind >= 0])
def test_penalised_optimum(penalty, rng):
    X, y = rng.normal(size=(30, 8)), 3 * rng.normal(size=30)
    f = lambda w: (float((y - X @ w) @ (y - X @ w)) / 2, -X.T @ (y - X @ w))
    runs = [
        optim.fista(f, penalty, np.zeros(8), tol=1e-9),
        optim.proximal_gradient(f, penalty, np.zeros(8), accelerate=False, tol=1e-9),
        optim.coordinate_descent(X, y, penalty),
        optim.coordinate_descent(X, y, penalty, rng=np.random.default_rng(1)),
        optim.coordinate_descent(sp.csc_matrix(X), y, penalty),
    ]
    for run in runs:
        assert run.converged
        w = run.state.position
        assert np.max(penalty.distance(w, f(w)[1])) < 1e-6
        np.testing.assert_allclose(w, runs[0].state.position, atol=1e-7)


@pytest.mark.parametrize("penalty", [p for p in penalties.PENALTIES if p.kind < 0])
def test_coupled_optimum(penalty, rng):
    X, y = rng.normal(size=(30, 6)), 3 * rng.normal(size=30)
    f = lambda w: (float((y - X @ w) @ (y - X @ w)) / 2, -X.T @ (y - X @ w))
    w = optim.fista(f, penalty, np.full(6, 1 / 6), tol=1e-10).state.position
    assert np.max(penalty.distance(w, f(w)[1])) < 1e-5
    with pytest.raises(ValueError, match="separable"):
        optim.coordinate_descent(X, y, penalty)


def trace(transform, steps=5):
    x, state, out = np.array(1.0), None, []
    state = transform.init(x)
    for _ in range(steps):
        move, state = transform.update(x, state, x)  # f = x^2/2 has gradient x
        x = x + move
        out.append(float(x))
    return out


def test_momentum_traces():
    expected = [0.9, 0.72, 0.486, 0.2268, -0.02916]
    np.testing.assert_allclose(trace(optim.momentum(0.1, 0.9)), expected, atol=1e-9)
    plain = [0.9**t for t in range(1, 6)]
    np.testing.assert_allclose(trace(optim.momentum(0.1, 0.0)), plain)


def nesterov_by_lookahead(steps=5, eta=0.1, mu=0.9):
    x, v, out = 1.0, 0.0, []
    for _ in range(steps):
        v = mu * v - eta * (x + mu * v)
        x += v
        out.append(x)
    return out


def test_nesterov_trace():
    # the worked trace is of x; the chain's own variable is x + mu v, one step ahead
    np.testing.assert_allclose(
        nesterov_by_lookahead(), [0.9, 0.729, 0.51759, 0.294589, 0.084499], atol=1e-6
    )
    ahead, x, v = trace(optim.nesterov(0.1, 0.9)), 1.0, 0.0
    for y in ahead:
        v = 0.9 * v - 0.1 * (x + 0.9 * v)
        x += v
        assert y == pytest.approx(x + 0.9 * v, abs=1e-12)


def test_adaptive_traces():
    cases = [
        (optim.adagrad(0.1), [0.9, 0.833104, 0.780456]),
        (optim.rmsprop(0.1, 0.9), [0.683772, 0.498871, 0.369181]),
        (optim.adam(0.1), [0.9, 0.800412, 0.701586]),
    ]
    for transform, expected in cases:
        np.testing.assert_allclose(trace(transform, 3), expected, atol=2e-6)


def test_moving_average_of_a_constant():
    for corrected, factor in ((True, 1.0), (False, 1 - 0.9**4)):
        part = optim.moving_average(0.9, corrected)
        state = part.init(np.zeros(1))
        for _ in range(4):
            out, state = part.update(np.full(1, 7.0), state, None)
        np.testing.assert_allclose(out, 7 * factor)


def test_sgd_full_batch_is_gradient_descent(rng):
    y = rng.normal(size=12)
    f = lambda x, rows: (np.mean((x - y[rows]) ** 2) / 2, x - y[rows].mean())
    full = optim.sgd(
        f, np.zeros(()), 12, optim.scale_by_schedule(0.3), batch_size=12, max_iter=9
    )
    x = 0.0
    for _ in range(9):
        x -= 0.3 * (x - y.mean())
    assert float(full.state.position) == pytest.approx(x)
    seen = []
    spy = lambda x, rows: (seen.append(rows), f(x, rows))[1]
    optim.sgd(spy, np.zeros(()), 12, batch_size=5, max_iter=1, random_state=0)
    assert sorted(np.concatenate(seen)) == list(range(12))
    robbins = optim.sgd(
        f,
        np.zeros(()),
        12,
        optim.scale_by_schedule(lambda t: 1 / (t + 1)),
        batch_size=1,
        max_iter=200,
        tol=0,
        random_state=0,
    )
    assert float(robbins.state.position) == pytest.approx(y.mean(), abs=1e-2)


def test_chain_parts():
    g = np.array([3.0, 4.0])
    chain = optim.chain_transforms(optim.clip_by_norm(1.0), optim.scale_by(-2.0))
    np.testing.assert_allclose(chain.update(g, chain.init(g), g)[0], [-1.2, -1.6])
    decay = optim.add_weight_decay(0.5)
    np.testing.assert_allclose(decay.update(g, decay.init(g), 2 * g)[0], 2 * g)


def test_schedules():
    s = optim.schedules
    assert s.exponential_decay(1.0, 0.9)(10) == pytest.approx(0.34867844)
    inverse = s.inverse_time_decay(0.1, 100)
    np.testing.assert_allclose(
        [inverse(t) for t in (10, 2000, 10000)], [0.1, 0.05, 0.01]
    )
    linear = s.linear_decay(0.1, 0.001, 100)
    np.testing.assert_allclose(
        [linear(t) for t in (25, 50, 200)], [0.07525, 0.0505, 0.001]
    )
    assert s.cosine_decay(1.0, 10)(5) == pytest.approx(0.5)
    assert optim.check_schedule(lambda t: 3 / max(t, 1))
    assert not optim.check_schedule(s.constant_schedule(0.1))
    assert not optim.check_schedule(lambda t: 1 / max(t, 1) ** 2)


def test_derivative_checks(rng):
    f, hessian = logistic_problem(rng)
    w = rng.normal(size=5)
    assert optim.check_gradient(f, w) < 1e-8
    assert optim.check_gradient(lambda w: (f(w)[0], -f(w)[1]), w) > 0.99
    numeric = optim.numeric_hessian(lambda w: f(w)[0], w)
    np.testing.assert_allclose(numeric, hessian(w), atol=1e-4)
    g = optim.numeric_gradient(lambda x: x[0] ** 2 + x[1] ** 2, [3.0, -1.0])
    np.testing.assert_allclose(g, [6, -2], atol=1e-8)


def test_torch_objectives():
    torch = pytest.importorskip("torch")
    goal = torch.tensor([1.0, -2.0], dtype=torch.float64)
    f = lambda x: (torch.sum((x - goal) ** 2), 2 * (x - goal))
    run = optim.gradient_descent(f, torch.zeros(2, dtype=torch.float64))
    np.testing.assert_allclose(run.state.position, goal, atol=1e-6)
    run = optim.fista(f, penalties.box(0.0, 0.5), torch.zeros(2, dtype=torch.float64))
    np.testing.assert_allclose(run.state.position, [0.5, 0.0], atol=1e-9)
